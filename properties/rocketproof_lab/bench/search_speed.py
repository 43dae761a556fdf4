"""Measure the speed of the search: the routing model in three sizes and with symmetry, the specification, and other model checkers on the
same model.

Every measurement is a fresh process, and tools alternate, since the machine's speed drifts. Figures are medians. The first process starts
with an empty cache and measures compilation, the others measure loading.
"""

from __future__ import annotations

import itertools
import runpy
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import rocketproof_spec as specification
from rocketproof_model import RocketproofError
from rocketproof_properties.reports.choices import InputError

from .figures import (
    MODELS,
    Bench,
    FigureColumn,
    FigureTable,
    Tell,
    apart,
    benchmark,
    code_caches,
    mebibytes,
    medians,
    needs_checkout,
    ratio,
)  # fmt: skip
from .measure import measure
from .peers import PEERS, Peer, PeerError

SCOPES = ("small", "main", "three")
PROFILE = "P49"
TABLE = FigureTable(
    (
        FigureColumn("tool", "tool"), FigureColumn("version", "version"), FigureColumn("model", "model"), FigureColumn("scope", "scope"),
        FigureColumn("threads", "threads", "d"), FigureColumn("distinct", "distinct", ",d"), FigureColumn("cpu s", "cpu_seconds", ".2f"),
        FigureColumn("wall s", "wall_seconds", ".2f"), FigureColumn("compile s", "compile_seconds", ".2f"),
        FigureColumn("warm s", "warm_compile_seconds", ".2f"), FigureColumn("cold cpu s", "cold_cpu_seconds", ".2f"),
        FigureColumn("bytes/state", "bytes_per_state", ".2f"), FigureColumn("MiB", "peak_rss_bytes", mebibytes),
        FigureColumn("states/cpu s", "distinct_per_cpu_second", ",.0f"),
        FigureColumn("generated/cpu s", "generated_per_cpu_second", ",.0f"),
        FigureColumn("reads/cpu s", "random_reads_per_cpu_second", ",.0f"), FigureColumn("reads a state", "of_memory", ".1f"),
        FigureColumn("of ours", "of_ours", ".1f"), FigureColumn("cold of ours", "cold_of_ours", ".1f"),
    ),
    more=("generated",),
)  # fmt: skip


@benchmark
def run_search_bench(
    scopes: Sequence[str] = SCOPES,
    threads: Sequence[int] = (1, 2),
    peers: bool = False,
    *,
    repeats: int = 3,
    specification_scopes: Sequence[str] | None = None,
    reach_seconds: float = 60.0,
    tell: Tell,
) -> Iterator[Bench]:
    """Return rows of TABLE: the routing model searched by us (and by the installed peers), then the specification.

    `specification_scopes` are all by default. The last row is the largest scope of the specification searched within `reach_seconds` of
    wall time (0 leaves it out). Times are in seconds.

    - `compile_seconds`: CPU time with an empty cache, `warm_compile_seconds` with a full cache.
    - `cold_cpu_seconds`: CPU time of the whole process that started with an empty cache; for a peer with its compilation.
    - `of_ours`: median over the rounds of its CPU time divided by ours; `cold_of_ours` the same from a cold start.
    - `bytes_per_state`: the search's arrays, None for peers.
    - `of_memory`: random cache lines that the machine reads in the CPU time of one generated state, with the same threads and table size. A
      search limited only by memory has 1.

    Raises InputError for an unknown scope, RocketproofError if two tools count different states.
    """
    file = str(needs_checkout(MODELS / "routing.py", "search"))
    known = runpy.run_path(file)["SCOPES"]
    for scope in scopes:
        if scope not in known:
            raise InputError(f"the routing model has no scope {scope}; its scopes are {', '.join(known)}")
    rows: list[Bench] = []
    for scope in scopes:
        with_peers = peers and not known[scope].get("symmetric")  # peers visit all states
        of_scope = routing(scope, tuple(known[scope][letter] for letter in "BPMKC"), threads, repeats, with_peers, tell)
        rows += of_scope
        yield from of_scope
    disagreement(rows)
    if "main" in scopes:
        yield from ours("routing", "main, up to symmetry", {"file": file, "scope": "symmetric"}, threads, repeats, tell)
    for scope in specification.SCOPES if specification_scopes is None else specification_scopes:
        yield from ours("specification", scope, {"scope": scope, "profile": PROFILE}, threads, repeats, tell)
    if reach_seconds:
        yield from reach(threads[-1], reach_seconds, tell)


@dataclass(frozen=True, eq=False)
class _Contender:
    """A tool on one model. `run` searches once with a number of threads. Without `repeat` it takes part in the first round only."""

    tool: str
    version: str
    run: Callable[[int], Bench]
    compile_seconds: float | None = None
    repeat: bool = True
    runs: dict[int, list[Bench]] = field(default_factory=dict)


def routing(scope: str, sizes: tuple[int, ...], threads: Sequence[int], repeats: int, peers: bool, tell: Tell) -> list[Bench]:
    """Return the rows of the routing model in one scope, searched alternately by us and the installed peers. Missing peers are reported
    with `tell`."""
    with ExitStack() as stack:
        contenders = [_ourselves({"file": str(MODELS / "routing.py"), "scope": scope}, stack)]
        for name, prepare in PEERS.items() if peers else ():
            try:
                tell(f"{name}: building routing {scope}")
                peer, folder = stack.enter_context(prepare(MODELS, sizes, threads))
                run = partial(_searched, peer, folder)
                contenders.append(_Contender(name, peer.version, run, peer.compile_seconds, peer.repeat))
            except PeerError as problem:
                tell(f"{name}: left out, {problem}")
        return _in_turns("routing", scope, contenders, threads, repeats, tell)


def ours(model: str, scope: str, order: Bench, threads: Sequence[int], repeats: int, tell: Tell) -> list[Bench]:
    """Return the rows of our own search, one per number of threads."""
    with ExitStack() as stack:
        return _in_turns(model, scope, [_ourselves(order, stack)], threads, repeats, tell)


def _ourselves(order: Bench, stack: ExitStack) -> _Contender:
    cache: dict[int, str] = {}

    def run(n: int) -> Bench:
        if n not in cache:
            cache[n] = stack.enter_context(tempfile.TemporaryDirectory())
        return _measured({**order, "threads": n, "probe": True}, cache[n])

    return _Contender("rocketproof", _version(), run)


def _searched(peer: Peer, folder: Path, threads: int) -> Bench:
    return peer.run(threads, folder)


def _measured(order: Bench, cache: str) -> Bench:
    """Perform one measurement in a fresh process with its caches in this folder."""
    return apart(measure, order, places=code_caches(cache))


def _in_turns(model: str, scope: str, contenders: Sequence[_Contender], threads: Sequence[int], repeats: int, tell: Tell) -> list[Bench]:
    """Run every tool once per round, in reverse order every other round. A tool that fails is left out from then on."""
    failed: set[_Contender] = set()
    for number, n in itertools.product(range(repeats), threads):
        for each in contenders[:: -1 if number % 2 else 1]:
            if each in failed or (number and not each.repeat):
                continue
            tell(f"{each.tool}: {model} {scope}, {n} thread{'s' * (n > 1)}, round {number + 1} of {repeats}")
            try:
                each.runs.setdefault(n, []).append(each.run(n))
            except PeerError as problem:
                failed.add(each)
                tell(f"{each.tool}: left out, {problem}")
    return [_figures(model, scope, each, contenders[0], n) for each in contenders for n in threads if each.runs.get(n)]


def _figures(model: str, scope: str, each: _Contender, first: _Contender, n: int) -> Bench:
    """Return the row of a tool's runs: medians, and their ratio to our CPU time, for the search and from a cold start."""
    runs, own = each.runs[n], first.runs[n]
    if each is first:
        warm = [run["compile_seconds"] for run in runs[1:]]
        figures = medians(runs, "bytes_per_state") | {"warm_compile_seconds": statistics.median(warm) if warm else None}
        figures["cold_cpu_seconds"] = runs[0]["process_cpu_seconds"]
    else:
        figures = {**medians(runs), "compile_seconds": each.compile_seconds}
        figures["cold_cpu_seconds"] = figures["cpu_seconds"] + (each.compile_seconds or 0)
        figures["of_ours"] = ratio([run["cpu_seconds"] for run in runs], [run["cpu_seconds"] for run in own])
        figures["cold_of_ours"] = figures["cold_cpu_seconds"] / own[0]["process_cpu_seconds"]
    return _row(each.tool, each.version, model, scope, n, figures)


def _row(tool: str, release: str, model: str, scope: str, threads: int, measured: Bench) -> Bench:
    rate = measured["distinct"] / measured["cpu_seconds"] if measured["cpu_seconds"] else None
    generated = measured["generated"] / measured["cpu_seconds"] if measured["cpu_seconds"] else None
    reads = measured.get("random_reads_per_cpu_second")
    factor = reads / generated if reads and generated else None
    place = {"tool": tool, "version": release, "model": model, "scope": scope, "threads": threads}
    rates = {"distinct_per_cpu_second": rate, "generated_per_cpu_second": generated, "of_memory": factor}
    return TABLE.row({**measured, **place, **rates})


def reach(threads: int, seconds: float, tell: Tell) -> list[Bench]:
    """Find the largest scope of two brokers and two producers that is searched completely within the time, by doubling its sends."""
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
            measured = _measured(order, cache)
        if not measured.pop("finished"):
            break
        best = [_row("rocketproof", _version(), "specification", scope, threads, measured)]
    return best


def _memory() -> int | None:
    from rocketproof_properties.commands.checks.matrix import default_memory

    return default_memory()


def disagreement(rows: Iterable[Bench]) -> None:
    """Raise RocketproofError if two tools count different states in one scope."""
    seen: dict[tuple[str, str], Bench] = {}
    for each in rows:
        first = seen.setdefault((each["model"], each["scope"]), each)
        for key in ("distinct", "generated"):
            if each[key] != first[key]:
                raise RocketproofError(
                    f"{each['tool']} counts {each[key]} {key} states of {each['model']} {each['scope']}, {first['tool']} {first[key]}; "
                    "one of the models differs"
                )


def _version() -> str:
    try:
        return version("rocketproof")
    except PackageNotFoundError:
        return "checkout"
