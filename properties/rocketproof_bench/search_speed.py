"""How fast the search is: the routing model in its three sizes and up to symmetry, the specification, and the peers on the same model.

Every measurement is a fresh process. Figures are medians; the first process starts with an empty cache and so tells what
compiling costs, the others what loading costs.
"""

from __future__ import annotations

import json
import runpy
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rocketproof_model import RocketproofError, specification
from rocketproof_properties.choices import InputError

from .figures import Bench, Column, Tell, child, medians, quiet, row, table
from .peers import PEERS, PeerError

MODELS = Path(__file__).resolve().parents[1] / "bench"
SCOPES = ("small", "main", "three")
PROFILE = "P49"
KEYS = (
    "tool", "version", "model", "scope", "threads", "distinct", "generated", "cpu_seconds", "wall_seconds", "compile_seconds",
    "warm_compile_seconds", "bytes_per_state", "peak_rss_bytes", "distinct_per_cpu_second",
)  # fmt: skip


def run_search_bench(
    scopes: Sequence[str] = SCOPES,
    threads: Sequence[int] = (1, 2),
    peers: bool = False,
    *,
    repeats: int = 3,
    specification_scopes: Sequence[str] | None = None,
    reach_seconds: float = 60.0,
    tell: Tell = quiet,
    into: list[Bench] | None = None,
) -> list[Bench]:
    """Rows of KEYS: the routing model by us (and by the peers that are installed), then the specification.

    `specification_scopes` are all by default. The last row is the largest scope of the specification searched within
    `reach_seconds` of wall time (0 leaves it out). Times are seconds; `compile_seconds` is CPU time with an empty cache,
    `warm_compile_seconds` with a full one; `bytes_per_state` counts the search's arrays and is None for peers. Rows are
    added to `into` as they come. Raises RocketproofError if two tools count different states.
    """
    if not (MODELS / "routing.py").is_file():
        raise InputError("the benchmark's models are not installed; run `rocketproof bench search` in a checkout of the project")
    rows = [] if into is None else into
    for scope in scopes:
        order = {"file": str(MODELS / "routing.py"), "scope": scope}
        rows += ours("routing", scope, order, threads, repeats, tell)
        if peers:
            rows += theirs(scope, threads, repeats, tell)
    disagreement(rows)
    if "main" in scopes:
        rows += ours("routing", "main, up to symmetry", {"file": str(MODELS / "routing.py"), "scope": "symmetric"}, threads, repeats, tell)
    for scope in specification.SCOPES if specification_scopes is None else specification_scopes:
        rows += ours("specification", scope, {"scope": scope, "profile": PROFILE}, threads, repeats, tell)
    if reach_seconds:
        rows += reach(threads[-1], reach_seconds, tell)
    return rows


def ours(model: str, scope: str, order: Bench, threads: Iterable[int], repeats: int, tell: Tell) -> list[Bench]:
    """Rows of our own search, one for each number of threads."""
    rows = []
    for n in threads:
        tell(f"rocketproof: {model} {scope}, {n} thread{'s' * (n > 1)}")
        with tempfile.TemporaryDirectory() as cache:
            found = [_measured({**order, "threads": n}, cache) for _ in range(repeats)]
        warm = [f["compile_seconds"] for f in found[1:]]
        figures = medians(found, "bytes_per_state") | {"warm_compile_seconds": statistics.median(warm) if warm else None}
        rows.append(_row("rocketproof", _version(), model, scope, n, figures))
    return rows


def _measured(order: Bench, cache: str) -> Bench:
    """One measurement in a fresh process whose caches lie in this folder."""
    command = [sys.executable, "-m", "rocketproof_bench.measure", json.dumps(order)]
    return child(command, places={"ROCKETPROOF_CACHE": cache, "NUMBA_CACHE_DIR": cache})


def theirs(scope: str, threads: Sequence[int], repeats: int, tell: Tell) -> list[Bench]:
    """Rows of the peers that are installed; the others are told of."""
    numbers = runpy.run_path(str(MODELS / "routing.py"))["SCOPES"][scope]
    sizes = tuple(numbers[letter] for letter in "BPMKC")
    rows = []
    for name, prepare in PEERS.items():
        try:
            tell(f"{name}: building routing {scope}")
            with prepare(MODELS, sizes, threads) as (peer, folder):
                for n in threads:
                    tell(f"{name}: routing {scope}, {n} thread{'s' * (n > 1)}")
                    runs = [peer.run(n, folder) for _ in range(repeats if peer.repeat else 1)]
                    rows.append(_row(name, peer.version, "routing", scope, n, {**medians(runs), "compile_seconds": peer.compile_seconds}))
        except PeerError as problem:
            tell(f"{name}: left out, {problem}")
    return rows


def _row(tool: str, release: str, model: str, scope: str, threads: int, found: Bench) -> Bench:
    rate = found["distinct"] / found["cpu_seconds"] if found["cpu_seconds"] else None
    place = {"tool": tool, "version": release, "model": model, "scope": scope, "threads": threads}
    return row(KEYS, {**found, **place, "distinct_per_cpu_second": rate})


def reach(threads: int, seconds: float, tell: Tell) -> list[Bench]:
    """The largest scope of two brokers and two producers that is searched to its end in time, by doubling its sends."""
    best: list[Bench] = []
    for sends in (2**k for k in range(1, 12)):
        scope = f"small, {sends} sends"
        tell(f"rocketproof: specification {scope}, {threads} threads, at most {seconds:g} s")
        order = {
            "scope": "small",
            "sizes": {"sends": sends},
            "profile": PROFILE,
            "threads": threads,
            "seconds": seconds,
            "memory": _memory(),
        }
        with tempfile.TemporaryDirectory() as cache:
            found = _measured(order, cache)
        if not found.pop("finished"):
            break
        best = [_row("rocketproof", _version(), "specification", scope, threads, found)]
    return best


def _memory() -> int | None:
    from rocketproof_properties.checks.matrix import default_memory

    return default_memory()


def disagreement(rows: Iterable[Bench]) -> None:
    """Raise RocketproofError if tools differ in a count of one scope."""
    seen: dict[tuple[str, str], Bench] = {}
    for each in rows:
        first = seen.setdefault((each["model"], each["scope"]), each)
        for key in ("distinct", "generated"):
            if each[key] != first[key]:
                raise RocketproofError(
                    f"{each['tool']} counts {each[key]} {key} states of {each['model']} {each['scope']}, {first['tool']} {first[key]}; "
                    "one of the models differs"
                )


COLUMNS = (
    Column("tool", "tool"), Column("model", "model"), Column("scope", "scope"), Column("threads", "threads", "d"),
    Column("distinct", "distinct", ",d"), Column("cpu s", "cpu_seconds", ".2f"), Column("wall s", "wall_seconds", ".2f"),
    Column("compile s", "compile_seconds", ".2f"), Column("warm s", "warm_compile_seconds", ".2f"),
    Column("bytes/state", "bytes_per_state", ".2f"), Column("states/cpu s", "distinct_per_cpu_second", ",.0f"),
)  # fmt: skip
text = partial(table, COLUMNS)


def _version() -> str:
    try:
        return version("rocketproof")
    except PackageNotFoundError:
        return "checkout"
