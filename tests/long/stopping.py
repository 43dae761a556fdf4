"""Start a command, send it a signal during its run, and measure how it ends."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import uuid4
from xml.etree import ElementTree

import rocketproof_impl
import rocketproof_lab
import rocketproof_model
import rocketproof_properties
import rocketproof_traces

PACKAGES: Final = (rocketproof_model, rocketproof_impl, rocketproof_traces, rocketproof_properties, rocketproof_lab)
PATH: Final = os.pathsep.join(str(Path(str(one.__file__)).parents[1]) for one in PACKAGES)
COMMAND: Final = (sys.executable, "-c", "from rocketproof_properties.commands import main; main()")
STOPPED: Final = 3
TICKS: Final = os.sysconf("SC_CLK_TCK")
PATIENCE: Final = 60.0
"""Seconds after which a command that does not end is killed."""
UNDECIDED: Final = "before anything was decided"
"""Output of a command that has no results yet."""
KEPT: Final = ("made/audit.part", "made/summary.json", "made/verdicts/*/_SUCCESS")
"""Files that exist only after something was decided."""
COUNTED: Final = re.compile(r"(?:auditing|replaying case|mutants, run|level): [1-9][0-9,.]* of [0-9,.]+")
"""Lines of progress that count decided items."""
GRACE: Final = 1.0
"""Seconds in which the guardian removes folders after the command has ended."""
_MARK: Final = "ROCKETPROOF_STOPPED_TRIAL"


@dataclass(frozen=True)
class Case:
    """A command to stop. `seconds`: the moments are drawn from this many seconds of its run, or from all of a shorter run.

    `broker`: it starts brokers or Spark, and has more time to stop them. `served`: it runs until a signal, so its code is 0. `needs`: it
    runs only if `STOPPED_WITH` names this. `cold`: no compiled code of an earlier run is reused.
    """

    name: str
    arguments: Sequence[str]
    seconds: float = 8.0
    broker: bool = False
    served: bool = False
    needs: str = ""
    cold: bool = False

    @property
    def limit(self) -> float:
        """Seconds within which it must end."""
        return 5.0 if self.broker else 2.0


@dataclass
class Trial:
    """How a command ended. Times are seconds: `took` from the signal to the end, `cpu` computed by its processes meanwhile."""

    moment: float
    took: float
    cpu: float
    code: int
    output: str
    folder: Path
    left: list[str] = field(default_factory=list)
    finished: bool = False

    missing: list[str] = field(default_factory=list)
    """Requested result files that are incomplete."""
    decided: list[str] = field(default_factory=list)
    """Evidence that something was decided."""

    @property
    def undecided(self) -> bool:
        """Return whether it printed that it has no results."""
        return UNDECIDED in self.output

    @property
    def wrote(self) -> bool:
        """Return whether it ended with results, and all of them are in their files."""
        return not self.undecided and not self.missing

    def faults(self, case: Case, codes: Iterable[int]) -> list[str]:
        """Return what is wrong with this end."""
        found = []
        if self.took > case.limit:
            found.append(f"it took {self.took:.1f} s")
        if not self.finished and self.code not in codes:
            found.append(f"exit code {self.code}")
        if self.missing and not self.undecided:
            found.append(f"results are lost: {', '.join(self.missing)}")
        if self.decided and self.undecided:
            found.append(f"it printed that nothing was decided, but there is {', '.join(self.decided)}")
        if self.left:
            found.append(f"left behind: {', '.join(self.left)}")
        found += [f"printed {word!r}" for word in ("Traceback", "Exception ignored", "Error:") if word in self.output]
        return found


def moments(name: str, count: int, seconds: float) -> list[float]:
    """Draw this many moments in this time by the name, one in each part. Early parts are shorter, because more happens there."""
    draw = random.Random(name)
    return [seconds * ((number + draw.random()) / count) ** 2 for number in range(count)]


def start(case: Case, folder: Path, mark: str) -> subprocess.Popen[bytes]:
    """Start the command in its own session, with its own folders."""
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "PYTHONPATH": PATH, "NO_COLOR": "1", "COLUMNS": "100", "TMPDIR": str(folder / "tmp"), _MARK: mark}
    env.pop("PYTEST_CURRENT_TEST", None)
    if case.cold:
        env |= dict.fromkeys(("ROCKETPROOF_CACHE", "NUMBA_CACHE_DIR"), str(folder / "cache"))
    with (folder / "output.txt").open("wb") as output:
        return subprocess.Popen(
            [*COMMAND, *case.arguments],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_hears,
        )


def _hears() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run_time(case: Case, folder: Path) -> tuple[float, int | None]:
    """Return the seconds that the command takes, at most the case's, and its exit code if it ended."""
    mark = uuid4().hex
    process = start(case, folder, mark)
    began = time.monotonic()
    try:
        code = process.wait(case.seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        _ended(process)
        return case.seconds, None
    finally:
        _kill(marked(mark))
    return time.monotonic() - began, code


def stop(case: Case, folder: Path, moment: float, number: signal.Signals) -> Trial:
    """Send the command a signal this long after its start: SIGINT to its group, as a terminal does, SIGTERM to itself."""
    mark = uuid4().hex
    process = start(case, folder, mark)
    try:
        _catches(process)
        time.sleep(moment)
        finished = process.poll() is not None
        before = _cpu(marked(mark))
        began = time.monotonic()
        if not finished and number is signal.SIGINT:
            os.killpg(process.pid, number)
        elif not finished:
            os.kill(process.pid, number)
        code, after = _watched(process, mark)
        took = time.monotonic() - began
        left = _left(mark, folder)
    finally:
        _kill(marked(mark))
    output = (folder / "output.txt").read_text("utf-8", "replace")
    missing = [name for name in results_of(case.arguments) if not is_whole(folder / name)]
    decided = [name for name in results_of(case.arguments) if (folder / name).exists() and "--generated" not in case.arguments]
    decided += [str(path.relative_to(folder)) for name in KEPT for path in folder.glob(name) if path.is_file()]
    decided += [f"the line {line!r}" for line in COUNTED.findall(output)]
    return Trial(moment, took, max(0.0, after - before), code, output, folder, left, finished, missing, decided)


def results_of(arguments: Sequence[str]) -> list[str]:
    """Return the result files in a command line, by their names in its folder. Files outside of it do not count."""
    found = []
    for option, value in pairwise(arguments):
        kind, _, name = value.partition(":")
        if option == "--json":
            found.append(value)
        elif option == "--html":
            found.append(value if value.endswith(".html") else f"{value}/index.html")
        elif option == "--report" and kind in ("junit", "sarif", "markdown", "run", "html"):
            found.append(f"{name}/index.html" if kind == "html" else name)
    return found


def is_whole(path: Path) -> bool:
    """Return whether a result file exists and is complete."""
    try:
        text = path.read_text("utf-8")
        if path.suffix == ".xml":
            ElementTree.fromstring(text)
        elif path.suffix in (".json", ".sarif"):
            json.loads(text)
        else:
            return text.endswith("\n") or text.rstrip().endswith("</html>")
    except (OSError, ValueError, ElementTree.ParseError):
        return False
    return True


def _catches(process: subprocess.Popen[bytes]) -> None:
    """Wait until the command handles SIGTERM; before that Python is starting, and a signal ends it."""
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        if int(status.partition("SigCgt:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.005)


def _watched(process: subprocess.Popen[bytes], mark: str) -> tuple[int, float]:
    """Return the exit code, and the measured CPU seconds of the command and its children."""
    cpu, until = 0.0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            return process.wait(0.1), cpu
        except subprocess.TimeoutExpired:
            cpu = max(cpu, _cpu(marked(mark)))
    process.kill()
    return process.wait(), cpu


def _ended(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def marked(mark: str) -> dict[int, str]:
    """Return the running processes of a trial, with their commands."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if f"{_MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:160]
        except OSError:
            continue
    return found


def _cpu(pids: Iterable[int]) -> float:
    """Return the CPU seconds of the processes, and of their children that have ended."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(one) for one in fields[11:15])
    return total / TICKS


def _left(mark: str, folder: Path) -> list[str]:
    """Return processes and temporary folders that remain after the guardian's time."""
    until = time.monotonic() + GRACE
    while True:
        found = [f"process {pid}: {command}" for pid, command in marked(mark).items()]
        found += [str(one.relative_to(folder)) for one in sorted((folder / "tmp").iterdir())]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.05)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def trials(case: Case, base: Path, count: int, number: signal.Signals, seconds: float) -> Iterator[Trial]:
    """Stop the command at this many moments, each time in its own folder.

    A run that took too long is repeated once, because other programs may have kept the machine busy.
    """
    for at, moment in enumerate(moments(f"{case.name} {number.name}", count, seconds)):
        made = stop(case, base / f"{at:02}", moment, number)
        if made.took > case.limit:
            made = stop(case, base / f"{at:02} again", moment, number)
        yield made
