"""Rules of a user over the exchanges of histories and over verdicts: counts, findings, exit codes, and what is judged again."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from many_histories import PROFILE, history, write

from rocketproof_properties.catalogue.ownrules import load
from rocketproof_properties.commands import run
from rocketproof_traces.audit.fields import JUDGED_ROWS
from rocketproof_traces.bulk import local, ownrules
from rocketproof_traces.bulk.results import Summary
from rocketproof_traces.bulk.work import JudgingJob

RULES = """
from rocketproof import implies
from rocketproof.rules import rule

@rule("SLOW", "a send to T1 or T2 takes at most two seconds", over="exchange")
def slow(exchange):
    return implies((exchange.op == "send") & exchange.topic.one_of("T1", "T2") & exchange.answered, exchange.took <= 2_000_000_000)

@rule("LOST.answer", "each request of client 0 has a response", over="exchange", severity="warning")
def lost(exchange):
    return implies(exchange.process.like("* 0"), exchange.answered)

@rule("PARTS", "a part has at most 3 explained responses", over="verdict", severity="note")
def parts(verdict):
    return implies(~verdict.whole & verdict.part.like("*T0*"), verdict.explained <= 3)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a history of 10 rounds that loses three responses, and a file of rules."""
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "lost.ndjson", *history(sends=10, lost=True))
    (tmp_path / "rules.py").write_text(RULES)
    return tmp_path


def judged(folder: Path, out: str, rules: str = RULES) -> Summary:
    (folder / "rules.py").write_text(rules)
    own = load([folder / "rules.py"], JUDGED_ROWS, "the judge")
    return local.judge(JudgingJob((str(folder / "in"),), PROFILE, str(folder / out), str(folder / "pieces"), own=own))


def test_counts_and_findings(folder: Path) -> None:
    summary = judged(folder, "out")
    header, events = history(sends=10, lost=True)
    opened = {}
    took = []
    for event in events:
        if event.type == "invoke":
            opened[event.process] = event
        elif event.process in opened and event.op == "send":
            begun = opened[event.process]
            assert event.time is not None and begun.time is not None
            took.append((begun, event.type, event.time - begun.time))
    slow = [begun.seq for begun, type_, time in took if begun.value["fields"]["topic"] != "T0" and type_ == "ok" and time > 2e9]
    lost = [begun.seq for begun, type_, _ in took if begun.process == "client 0" and type_ == "info"]
    assert header.origin and slow and lost
    assert summary.rules == {"SLOW": len(slow), "LOST.answer": len(lost), "PARTS": 1}
    found = [(row["rule"], row["seq"], row["severity"]) for row in summary.findings if row["rule"] in ("SLOW", "LOST.answer")]
    assert sorted(found) == sorted([("SLOW", seq, "error") for seq in slow] + [("LOST.answer", seq, "warning") for seq in lost])
    first = next(row for row in summary.findings if row["rule"] == "SLOW")
    assert (first["op"], first["process"], first["specified"], first["recorded"]) == (
        "send",
        "client 0",
        "at most 2000000000",
        "3000000000",
    )
    table = pq.read_table(folder / "out" / "findings.parquet").to_pylist()
    assert {row["kind"] for row in table} == {"rule broken"} and summary.verdict == "ok"


def test_other_rules_judge_again(folder: Path) -> None:
    judged(folder, "out")
    assert len(list((folder / "out" / "verdicts").iterdir())) == 1
    judged(folder, "out")
    assert len(list((folder / "out" / "verdicts").iterdir())) == 1
    assert judged(folder, "out", RULES.replace("2_000", "4_000")).rules.keys() == {"LOST.answer", "PARTS"}
    assert len(list((folder / "out" / "verdicts").iterdir())) == 2


def test_at_most_100_findings_of_a_rule_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownrules, "KEPT", 2)
    monkeypatch.setattr(ownrules, "_ROWS", 7)  # blocks of seven exchanges
    whole = judged(folder, "whole")
    assert whole.rules["SLOW"] > 2 and sum(row["rule"] == "SLOW" for row in whole.findings) == 2


def test_command_judges_one_history_without_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["judge", str(folder / "in" / "lost.ndjson"), "--profile", PROFILE, "--cores", "1", "--rules", str(folder / "rules.py")]
    assert run([*words, "--json", str(folder / "found.json")]) == 1
    out = capsys.readouterr().out
    assert "rule SLOW is broken" in out and "explains all histories; 3 own rules are broken" in out and "are in" not in out
    assert json.loads((folder / "found.json").read_text())["rules"].keys() == {"LOST.answer", "PARTS", "SLOW"}
    (folder / "rules.py").write_text(
        RULES.replace('over="exchange"', 'over="exchange", severity="note"').replace(', severity="warning"', "")
    )
    assert run(words) == 0


def test_rule_over_records_is_rejected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rules.py").write_text(
        RULES.replace('over="verdict"', 'over="record"').replace("~verdict.whole & verdict.part", "verdict.topic")
    )
    assert run(["judge", str(folder / "in"), "--profile", PROFILE, "--cores", "1", "--out", "o", "--rules", str(folder / "rules.py")]) == 2
    assert "rules.py:13:1: rule PARTS is over 'record', and the judge has exchange, verdict" in capsys.readouterr().err
