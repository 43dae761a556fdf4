"""Every long command stops soon after Ctrl-C or SIGTERM, with exit code 3, its results, and no process or folder left.

`STOPPED_MOMENTS` is the number of moments of each command and signal (default 2). `STOPPED_TABLE` is a file that gets a row for each:
median and longest seconds, CPU seconds, runs that left results, faults. `STOPPED_WITH` names further programs that may be started, such as
`spark java`.

All commands at 20 moments:

STOPPED_MOMENTS=20 STOPPED_WITH="spark java" STOPPED_TABLE=stopped.md pytest -n 4 -m '' tests/long/test_stopped_commands.py
"""

from __future__ import annotations

import atexit
import gzip
import os
import shutil
import signal
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Final

import pytest
from stopping import STOPPED, Case, Trial, run_time, trials

from rocketproof_lab.bench.contention import Load, contend
from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.conformance.witnesses.known import find
from rocketproof_properties.reports.exitcode import USAGE
from rocketproof_traces.history import event_line, header_line
from rocketproof_traces.witness import itf
from wide import MANY, wide

DATA: Final = Path(__file__).parents[1] / "data"
PROJECT: Final = Path(__file__).parents[2]
MOMENTS: Final = int(os.environ.get("STOPPED_MOMENTS", "2"))
WITH: Final = os.environ.get("STOPPED_WITH", "").split()
TABLE: Final = os.environ.get("STOPPED_TABLE")


@cache
def shared() -> Path:
    """Return a folder with the inputs of the cases: a model, a history, a recording, a store, histories, a witness."""
    folder = Path(mkdtemp(prefix="stopped-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "wide.py").write_text(wide(MANY))
    header, events = contend(Load(events=8_000, producers=8, topics=1))
    (folder / "history.ndjson").write_text("\n".join([header_line(header), *map(event_line, events)]) + "\n")
    many = folder / "histories"
    many.mkdir()
    for seed in range(12):
        header, events = contend(Load(events=2_000, producers=8, topics=1), seed)
        (many / f"{seed}.ndjson").write_text("\n".join([header_line(header), *map(event_line, events)]) + "\n")
    with gzip.open(DATA / "later-4.9.4.jsonl.gz") as packed, (folder / "later.jsonl").open("wb") as file:
        shutil.copyfileobj(packed, file)
    source = ModelSource("tiny", "P49", ())
    witness = find(source, "REA-01")
    assert witness is not None
    itf.write(witness, folder / "witness.itf.json", source.record())
    fabricate(folder / "store", StorePlan(600_000_000, bodies=(64, 64), file_size=100_000_000))
    return folder


def path(name: str) -> str:
    return str(shared() / name)


def cases() -> list[Case]:
    json_out = ("--json", "out.json")
    reports = ("--report", "junit:out.xml", "--report", "sarif:out.sarif", "--report", "markdown:out.md", "--html", "page")
    explicit, one, two = ("--engine", "explicit"), ("--workers", "1"), ("--workers", "2")
    return [
        Case("check", ("check", *json_out, *reports), 12),
        Case("check explicit", ("check", *explicit, *one, *json_out), 8),
        Case("check wide", ("check", "{wide.py}", *explicit, *one, *json_out), 6),
        Case("check wide 2", ("check", "{wide.py}", *explicit, *two, *json_out), 6),
        Case("check checkpoint", ("check", "{wide.py}", *explicit, "--memory", "100", "--disk", "3000", "--checkpoint", "kept",
                                  *json_out), 10),
        Case("check symbolic", ("check", "--engine", "symbolic", *one, *json_out), 8),
        Case("check spacer", ("check", "--engine", "symbolic", "--proof", "spacer", *one, *json_out), 8),
        Case("check invariants", ("check", "--engine", "symbolic", "--proof", "invariants", *one, *json_out), 8),
        Case("check simulate", ("check", "--engine", "simulate", *two, *json_out), 8),
        Case("check stateful", ("check", "--engine", "stateful", *two, *json_out), 8),
        Case("check all engines", ("check", "{wide.py}", "--engine", "all", *json_out), 8),
        Case("test", ("test", *json_out, *reports), 8),
        Case("test 1", ("test", *one, *json_out), 8),
        Case("test recording", ("test", "--recording", "{later.jsonl}", "--profile", "P494", *json_out, *reports), 8),
        Case("validate served", ("validate", "--target", "served", "--report", "made", *json_out, *reports), 12, broker=True),
        Case("validate faults", ("validate", "--target", "served", "--programs", "20", "--faults", "kill:5,power,threads", "--no-witnesses",
                                 "--report", "made", *json_out), 25, broker=True),
        Case("validate inprocess", ("validate", "--target", "inprocess", "--report", "made", *json_out), 12, broker=True),
        Case("level", ("level", "--target", "served", *json_out, *reports), 8, broker=True),
        Case("validate self-test", ("validate", "--target", "served", "--self-test", *json_out), 8, broker=True),
        Case("compare", ("compare", "inprocess:P49", "inprocess", "--report", "made", *json_out), 10,
             broker=True),
        Case("profile", ("profile", "inprocess", "--report", "made", *json_out), 10, broker=True),
        Case("judge history", ("judge", "{history.ndjson}", "--profile", "P49", *json_out, *reports), 6),
        Case("judge recording", ("judge", "{later.jsonl}", "--profile", "P494", *json_out, *reports), 6),
        Case("judge many", ("judge", "{histories}", "--profile", "P49", "--out", "made", *json_out, *reports), 8),
        Case("audit", ("audit", "{store}", "--engine", "local", "--out", "made", *json_out, *reports), 10),
        Case("audit cold", ("audit", "{store}", "--engine", "local", "--out", "made", *json_out, *reports), 25, cold=True),
        Case("replay", ("replay", "{witness.itf.json}", *json_out), 5),
        Case("replay served", ("replay", "{witness.itf.json}", "--target", "served", *json_out), 8, broker=True),
        Case("campaign", ("campaign", "--engine", "local", "--out", "made", *json_out), 8),
        Case("campaign 1", ("campaign", "--engine", "local", "--out", "made", *one, *json_out), 8),
        Case("mutate", ("mutate", "--tests", str(PROJECT / "tests"), *json_out), 12),
        Case("mutate specification", ("mutate", "--specification", *json_out), 10),
        Case("mutate generated", ("mutate", "--generated", "6", *json_out), 20, broker=True),
        Case("hazard", ("hazard", *json_out), 6),
        Case("explore", ("explore", "--no-browser"), 5, served=True),
        Case("explore html", ("explore", "--property", "INV-01", "--html", "page.html"), 6),
        Case("serve", ("serve", "--port", "0", "--nameserver-port", "0", "--brokers", "2", "--store", "made"), 5, broker=True, served=True),
        Case("requirements", ("requirements", "--tests", str(PROJECT / "tests" / "model"), *json_out), 30),
        Case("graph", ("graph", "--output", "graph.dot"), 5),
        Case("export", ("export", "tla", "--output", "made"), 5),
        Case("audit Spark", ("audit", "{store}", "--engine", "spark", "--out", "made", *json_out), 15, broker=True, needs="spark"),
        Case("judge many Spark", ("judge", "{histories}", "--profile", "P49", "--engine", "spark", "--out", "made", *json_out), 15,
             broker=True, needs="spark"),
        Case("campaign Spark", ("campaign", "--engine", "spark", "--out", "made", *json_out), 15, broker=True, needs="spark"),
        Case("zoo bad", ("zoo", "A4", "--on", "bad", "--report", "made", *json_out), 60, broker=True, needs="java"),
        Case("zoo good", ("zoo", "A4", "--on", "good", "--report", "made", *json_out), 60, broker=True, needs="java"),
        Case("zoo against", ("zoo", "A7", "--on", "bad", "--report", "made", *json_out), 60, broker=True, needs="java"),
        Case("replay release", ("replay", "{witness.itf.json}", "--target", "apache:4.9.4", *json_out), 12, broker=True, needs="java"),
        Case("validate release", ("validate", "--target", "apache:4.9.4", "--report", "made", *json_out), 15, broker=True, needs="java"),
        *(Case(f"bench {name}", ("bench", name, *more, *json_out), 6)
          for name, *more in (("search", "--rounds", "1"), ("disk",), ("judge",), ("liveness",), ("simulate",), ("skew",), ("start",),
                              ("scan", "{store}"), ("audit", "--no-spark", "--sizes", "0.25"), ("reach",))),
    ]  # fmt: skip


NAMES: Final = [case.name for case in cases()]


def placed(case: Case) -> Case:
    """Return the case with the paths of its inputs."""
    return replace(case, arguments=[path(word[1:-1]) if word[:1] == "{" else word for word in case.arguments])


def codes(case: Case, ended: int | None) -> set[int]:
    """Return the permitted exit codes: for a server that of its orderly end, otherwise that of a stopped or of a complete run."""
    return {0, STOPPED} if case.served else {STOPPED, 1} if ended is None else {STOPPED, ended}


def row(case: Case, number: signal.Signals, made: list[Trial], faults: list[str]) -> None:
    """Add a row to the table."""
    if TABLE is not None:
        took, cpu = [one.took for one in made], max(one.cpu for one in made)
        seconds = [f"{one:.2f}" for one in (median(took), max(took), cpu)]
        cells = [case.name, number.name, len(made), *seconds, sum(one.wrote for one in made), "; ".join(faults) or "none"]
        with Path(TABLE).open("a") as file:
            file.write(f"| {' | '.join(map(str, cells))} |\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_command_ends_soon_and_leaves_nothing(name: str, number: signal.Signals, tmp_path: Path) -> None:
    case = next(one for one in cases() if one.name == name)
    if case.needs and case.needs not in WITH:
        pytest.skip(f"STOPPED_WITH does not name {case.needs}")
    case = placed(case)
    seconds, ended = run_time(case, tmp_path / "whole")
    assert ended != USAGE, "the case's command line is refused"
    made, faults = [], []
    for one in trials(case, tmp_path, MOMENTS, number, seconds):
        made.append(one)
        found = one.faults(case, codes(case, ended))
        faults += [f"at {one.moment:.2f} s: {fault}" for fault in found] + ([one.output[-3000:]] if found else [])
        shutil.rmtree(one.folder, ignore_errors=True)
    row(case, number, made, [fault for fault in faults if fault.startswith("at ")])
    assert not faults, "\n".join(faults)
