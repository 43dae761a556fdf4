"""Rules of a user in an audit: the same counts as plain code, errors with file and line, and thresholds that name them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

import rocketproof
from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.catalogue.ownrules import load
from rocketproof_properties.catalogue.stored import settings
from rocketproof_properties.commands import run
from rocketproof_properties.reports.choices import InputError
from rocketproof_traces.audit.fields import AUDITED_ROWS
from rocketproof_traces.audit.own import OwnRules
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.rules import Rule
from rocketproof_traces.audit.run import SavedAnswers, audit, ignore_progress
from rocketproof_traces.common.pools import on_processes
from rocketproof_traces.stored.kinds import BIT
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.segments import log_files, ranges
from rocketproof_traces.stored.walk import Walk

HEAD = "from rocketproof import after, implies\nfrom rocketproof.rules import rule\n"
RULES = (
    HEAD
    + """
FIRST = "topic-000-"

@rule("SHOP-1.key", "messages of the first topic have a key")
def key(record):
    return implies(record.topic == FIRST, record.has("KEYS"))

@rule("SHOP-1.size", "a body of the other topics has at most 200 bytes", severity="warning")
def size(record):
    return implies(record.topic.like("topic-*") & (record.topic != FIRST), record.bodyLength <= 200)

@rule("SHOP-2", "the time of a queue's next record is later", over="line", severity="note")
def later(record):
    return after(record.storeTimestamp) > record.storeTimestamp

@rule("SHOP-3", "bodies become larger along the log", over="log", severity="note")
def grows(record):
    return after(record.bodyLength) >= record.bodyLength, record.bodyLength, after(record.bodyLength)

@rule("SHOP-4", "topics have three queues to read", over="topic", severity="note")
def queues(topic):
    return implies(topic.topic.one_of(FIRST, "none"), topic.readQueueNums == 3)

@rule("SHOP-5", "queues of the first topic have a record", over="queue", severity="note")
def used(queue):
    return implies(queue.topic == FIRST, queue.records == 0)
"""
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("own") / "store"
    fabricate(root, StorePlan(40_000, topics=2, queues=2, bodies=(100, 300), file_size=10_000, queue_file_size=20_000))
    return root


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "shop.py"
    file.write_text(RULES)
    return file


def no_rules() -> Sequence[Rule]:
    return ()


def own(rules: Path) -> OwnRules:
    return load([rules], AUDITED_ROWS, "the audit")


def counts_by_plain_code(store: Path) -> dict[str, int]:
    """Return how many rows break each rule of RULES about records."""
    names, log = NameTable(), list[tuple[str, int, int, int, int, bool]]()
    for part in ranges(log_files([str(store)])):
        for chunk in Walk(part, names):
            columns = (chunk[name].tolist() for name in ("queueId", "sysFlag", "bodyLength", "storeTimestamp", "properties"))
            for topic, (queue, flags, body, time, properties) in zip(
                chunk.text("topic").to_pylist(), zip(*columns, strict=True), strict=True
            ):
                if topic is not None:
                    log.append((topic, queue, body, time, flags & 12, bool(properties & BIT["KEYS"])))
    lines: dict[tuple[str, int], list[int]] = {}
    for topic, queue, _, time, transaction, _ in log:
        if transaction in (0, 8):
            lines.setdefault((topic, queue), []).append(time)
    return {
        "SHOP-1.key": sum(topic == "topic-000-" and not keys for topic, *_, keys in log),
        "SHOP-1.size": sum(topic.startswith("topic-") and topic != "topic-000-" and body > 200 for topic, _, body, *_ in log),
        "SHOP-2": sum(after <= before for times in lines.values() for before, after in pairwise(times)),
        "SHOP-3": sum(after[2] < before[2] for before, after in pairwise(log)),
        "SHOP-4": 1,
        "SHOP-5": sum(topic == "topic-000-" for topic, _ in lines),
    }


@pytest.mark.parametrize("size", [3_000, 1 << 27])
def test_counts_are_those_of_plain_code(size: int, store: Path, rules: Path) -> None:
    """Ranges of 3,000 bytes have borders between nearly all pairs of a queue."""
    plan = AuditPlan(no_rules, tuple(settings("P494").items()), every=True, own=own(rules))
    totals = audit(plan, [str(store)], on_processes(1), SavedAnswers(None), ignore_progress, size).totals[0]
    expected = counts_by_plain_code(store)
    assert all(expected.values())
    assert totals.counts == expected


def test_rules_travel_as_data(rules: Path) -> None:
    """Two loads give equal terms: a plan of the same rules is compiled once in a process that gets it repeatedly."""
    first, second = own(rules), own(rules)
    assert first == second and hash(first) == hash(second)
    assert [rule.claim.formula for rule in first.rules] == [rule.claim.formula for rule in second.rules]
    assert first.rules[0].claim.place == f"{rules}:6:1"


def test_findings_show_the_sides_of_the_comparison(store: Path, rules: Path) -> None:
    audited = rocketproof.audit(store, rules=rules, property=("SHOP-1", "SHOP-2", "SHOP-3", "SHOP-4"), workers=1)
    first = {finding.property: finding for finding in reversed(audited.findings)}
    assert (first["SHOP-1.key"].expected, first["SHOP-1.key"].found) == ("true", "false")
    assert first["SHOP-1.size"].expected == "at most 200" and int(first["SHOP-1.size"].found) > 200
    assert first["SHOP-2"].expected == f"above {first['SHOP-2'].found}"
    assert first["SHOP-3"].expected == "at least " + first["SHOP-3"].expected.removeprefix("at least ")
    assert (first["SHOP-4"].expected, first["SHOP-4"].found, first["SHOP-4"].topic) == ("3", "2", "topic-000-")
    assert first["SHOP-1.size"].severity == "warning" and first["SHOP-4"].file.endswith("topics.json")


def test_thresholds_and_tables_have_own_rules(store: Path, rules: Path, tmp_path: Path) -> None:
    audit = ["audit", str(store), "--engine", "local", "--cores", "1", "--rules", str(rules), "--property", "SHOP-1"]
    assert run(audit) == 1
    assert run([*audit, "--warn", "SHOP-1"]) == 0
    assert run([*audit, "--warn", "SHOP-1.key", "--fail-on", "SHOP-1.size>100000", "--json", str(tmp_path / "found.json")]) == 0
    assert {finding["property"] for finding in json.loads((tmp_path / "found.json").read_text())} == {"SHOP-1.key", "SHOP-1.size"}


WRONG = {
    "unknown field": (
        '@rule("A-1", "s")\ndef a(r):\n    return r.bodylength <= 3', "5:12", "no field bodylength; did you mean bodyLength?",
    ),
    "wrong type": ('@rule("A-1", "s")\ndef a(r):\n    return r.bodyLength == "3"', "5:12", "'3' is not a number"),
    "unknown name": ('@rule("A-1", "s")\ndef a(r):\n    return r.topicClass == "ordnary"', "5:12", "'ordnary' is not a value of"),
    "unknown property": ('@rule("A-1", "s")\ndef a(r):\n    return r.has("KEY")', "5:12", "no property 'KEY' is known; did you mean KEYS?"),
    "topic and number": ('@rule("A-1", "s")\ndef a(r):\n    return r.topic == 3', "5:12", "topic is compared with 3"),
    "text of next row": ('@rule("A-1", "s", over="log")\ndef a(r):\n    return after(r.topic) == "a"', "5:12", "after(topic) asks for"),
    "truth value": ('@rule("A-1", "s")\ndef a(r):\n    return r.realSame and r.originSame', "5:12", "has no truth value"),
    "no condition": ('@rule("A-1", "s")\ndef a(r):\n    return r.size + 1', "3:1", "rule A-1 returns the Int"),
    "no field read": ('@rule("A-1", "s")\ndef a(r):\n    return r.size == r.size', "3:1", "rule A-1 reads no field"),
    "next row": ('@rule("A-1", "s")\ndef a(r):\n    return after(r.size) == r.size', "3:1", "give over='log' or over='line'"),
    "two values": ('@rule("A-1", "s")\ndef a(r):\n    return r.size == 3, 3', "3:1", "rule A-1 returns 2 values"),
    "unknown rows": ('@rule("A-1", "s", over="recrd")\ndef a(r):\n    return r.size == 3', "3:2", "did you mean record?"),
    "severity": ('@rule("A-1", "s", severity="fatal")\ndef a(r):\n    return r.size == 3', "3:2", "use error, warning, note"),
    "id": ('@rule("A 1", "s")\ndef a(r):\n    return r.size == 3', "3:2", "a rule has the id 'A 1'"),
    "no sentence": ('@rule("A-1", " ")\ndef a(r):\n    return r.size == 3', "3:2", "rule A-1 has no sentence"),
    "no row": ('@rule("A-1", "s")\ndef a():\n    return True', "3:2", "decorates no function of one row"),
    "same id": (
        '@rule("A-1", "s")\ndef a(r):\n    return r.size == 3\n@rule("a-1", "s")\ndef a(r):\n    return r.size == 3',
        "6:1", "has the same id as",
    ),
    "id of a built-in": ('@rule("INV-37.mine", "s")\ndef a(r):\n    return r.size == 3', "3:1", "has the id of a rule of rocketproof"),
    "it raises": ('@rule("A-1", "s")\ndef a(r):\n    return {}[r.size]', "5:12", "correct this line of the file of rules"),
    "file raises": ("1 / 0", "3:1", "ZeroDivisionError: division by zero"),
    "syntax": ("def", "3:4", "correct the Python syntax there"),
    "empty": ("", "1:1", "has no rule"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "place", "words"), WRONG.values(), ids=WRONG)
def test_wrong_file_is_one_line_with_its_place(body: str, place: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(HEAD + body)
    with pytest.raises(InputError) as error:
        own(file)
    assert str(error.value).startswith(f"{file}:{place}: ") and words in str(error.value) and "\n" not in str(error.value)


def test_missing_file_and_unknown_id_exit_with_2(store: Path, rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit = ["audit", str(store), "--engine", "local"]
    assert run([*audit, "--rules", str(rules.with_name("shp.py"))]) == 2
    assert "no such file" in capsys.readouterr().err
    assert run([*audit, "--rules", str(rules), "--property", "SHOP-9"]) == 2
    assert "SHOP-5" in capsys.readouterr().err


def test_rule_over_another_commands_rows_is_rejected(rules: Path) -> None:
    with pytest.raises(InputError, match=r"shop\.py:6:1: rule SHOP-1\.key is over 'record', and a judge has"):
        load([rules], ("exchange",), "a judge")


def test_more_than_60_topics_are_rejected(tmp_path: Path) -> None:
    file = tmp_path / "many.py"
    file.write_text(HEAD + '@rule("A-1", "s")\ndef a(r):\n    return r.topic.one_of(*map(str, range(61)))')
    with pytest.raises(InputError, match=r"many\.py:5:12: the rules compare with more than 60 texts"):
        own(file)
