"""`audit --follow` and `judge --follow`: findings as they come, an end by Ctrl-C, and a continuation that judges nothing twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_model import interrupts
from rocketproof_properties.commands import run
from rocketproof_traces.history import Header, Writer

PAGE = (Path(__file__).parents[2] / "traces" / "docs" / "follow.md").read_text("utf-8")
FILE_SIZE = 20_000
SENT = {
    "producerGroup": "p", "topic": "A", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0", "sysFlag": "0",
    "bornTimestamp": "1600000000000", "flag": "0", "properties": "", "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of several files; the reconsume times of the first record of each file are negative."""
    root = tmp_path_factory.mktemp("followed") / "store"
    fabricate(root, StorePlan(70_000, topics=2, queues=1, bodies=(100, 300), file_size=FILE_SIZE, queue_file_size=20_000))
    for path in (root / "commitlog").iterdir():
        with path.open("r+b") as file:
            file.seek(72)
            file.write(b"\xff" * 4)
    return root


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store" / "commitlog").mkdir(parents=True)
    return tmp_path / "store"


def add_file(whole: Path, store: Path, number: int) -> None:
    name = sorted(path.name for path in (whole / "commitlog").iterdir())[number]
    shutil.copy(whole / "commitlog" / name, store / "commitlog" / name)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets what happens in each pause between two rounds; after the last there is Ctrl-C."""

    def during(*steps: Callable[[], object]) -> None:
        left: Iterator[Callable[[], object]] = iter(steps)

        def pause(_seconds: float) -> None:
            step = next(left, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr(interrupts, "pause", pause)

    return during


def follow(store: Path, *tokens: str | Path) -> int:
    kept = store.parent / "kept"
    return run(["audit", str(store), "--follow", "--checkpoint", str(kept), "--engine", "local", "--cores", "1", *map(str, tokens)])


def test_findings_are_printed_as_they_come_and_once(
    whole: Path, store: Path, pauses: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    add_file(whole, store, 0)
    pauses(lambda: add_file(whole, store, 1), lambda: None)
    assert follow(store) == 1
    printed = capsys.readouterr().out
    assert printed.count("! APP-08.reconsumeTimes") + printed.count("? APP-08.reconsumeTimes") == 3, "two findings, and their number"
    shown = " ".join(PAGE.partition("```text\n")[2].partition("; Ctrl-C stops\n")[0].split())
    assert shown and shown in " ".join(printed.split())
    assert "stopped by Ctrl-C, the same command goes on" in printed.replace("\n ", "")
    add_file(whole, store, 2)
    assert follow(store, "--once", "--json", store.parent / "found.json") == 1
    printed = capsys.readouterr().out
    assert f"{store}/commitlog/{FILE_SIZE * 2:020d} at 40,000" in printed
    assert f"{store}/commitlog/{FILE_SIZE:020d}" not in printed
    found = json.loads((store.parent / "found.json").read_text())
    assert [(row["property"], row["offset"]) for row in found] == [("APP-08.reconsumeTimes", n * FILE_SIZE) for n in range(3)]


def test_deleted_file_is_undecided(whole: Path, store: Path, pauses: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    add_file(whole, store, 0)

    def skip() -> None:
        add_file(whole, store, 2)
        (store / "commitlog" / f"{0:020d}").unlink()

    pauses(skip, lambda: None)
    assert follow(store, "--warn", "APP-08") == 3
    assert f"offsets {FILE_SIZE:,} to {2 * FILE_SIZE:,} were deleted before they were read: not judged" in capsys.readouterr().out


def test_rewritten_store_is_unreadable(whole: Path, store: Path, pauses: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    add_file(whole, store, 0)

    def rewrite() -> None:
        (store / "commitlog" / f"{0:020d}").write_bytes(bytes(FILE_SIZE))

    pauses(rewrite, lambda: None)
    assert follow(store) == 2
    assert capsys.readouterr().out.count("now has other bytes before it") == 1


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        (("--follow",), "--follow without --checkpoint; give the folder that keeps findings and positions"),
        (("--follow", "--checkpoint", "kept", "--out", "out"), "--follow with --out: it belongs to an audit of whole stores"),
        (("--follow", "--checkpoint", "kept", "--html", "pages"), "--follow with --html: it belongs to an audit of whole stores"),
        (("--once",), "--once without --follow; add --follow, or leave it out"),
        (("--interval", "3"), "--interval without --follow"),
        (("--follow", "--checkpoint", "kept", "--property", "INV-36"), "its rules need the whole store; audit it without --follow"),
        (("--follow", "--checkpoint", "kept"), "has no commit log; give a store's folder"),
    ],
)
def test_mistakes_are_one_line(
    store: Path, tokens: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    assert run(["audit", str(store), "--engine", "local", *tokens]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_checkpoint_of_other_profile_is_refused(whole: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_file(whole, store, 0)
    follow(store, "--once")
    assert follow(store, "--once", "--profile", "P49") == 2
    assert "belongs to an audit with another profile; give the same options, or a new folder" in capsys.readouterr().err


RULES = """
from rocketproof.rules import rule

@rule("SHOP-1", "no record is of the first topic")
def first(record):
    return record.topic != "topic-000-"

@rule("SHOP-2", "no successive records of a queue are of the second topic", over="line", severity="note")
def second(record):
    return ~record.topic.like("topic-001*")

@rule("SHOP-3", "a queue has records", over="queue")
def used(queue):
    return queue.records > 0
"""


def test_rules_of_user_are_judged_and_belong_to_checkpoint(whole: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules that compare the topic of records need the log only."""
    rules = store.parent / "shop.py"
    rules.write_text(RULES)
    for number in (0, 1):
        add_file(whole, store, number)
        assert follow(store, "--once", "--rules", rules, "--property", "SHOP-1", "--property", "SHOP-2", "--property", "SHOP-3") == 1
    followed = capsys.readouterr().out.replace("\n ", "")
    assert "2 rules judge each new record; 1 rule needs" in followed
    run(["audit", str(store), "--engine", "local", "--cores", "1", "--rules", str(rules), "--property", "SHOP-1", "--property", "SHOP-2"])
    audited = capsys.readouterr().out.splitlines()
    numbers = [line.partition(":")[0] for line in audited if " SHOP-" in line and " times" in line]
    assert len(numbers) == 2 and all(number in followed for number in numbers)
    rules.write_text(RULES.replace("topic-000-", "topic-00"))
    assert follow(store, "--once", "--rules", rules, "--property", "SHOP-1", "--property", "SHOP-2", "--property", "SHOP-3") == 2
    assert "belongs to an audit with another file of rules; give the same options, or a new folder" in capsys.readouterr().err


def record(path: Path, offset: int) -> None:
    """Write a history of one send that got a queue offset."""
    writer = Writer(path, Header({"broker": "broker-a", "profile": "P494"}, ""))
    asked = {"to": "broker-a", "code": 310, "fields": SENT, "version": 399, "oneWay": False, "bodySize": 1, "body": "YQ=="}
    answer = {"code": 0, "remark": None, "fields": {"queueId": "0", "queueOffset": str(offset)}, "bodySize": 0, "body": None}
    writer.add("invoke", "client 0", "send", asked, 0)
    writer.add("ok", "client 0", "send", answer, 0)
    writer.close()


def test_new_histories_are_judged_once(tmp_path: Path, pauses: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is written in two looks is judged after the second."""
    (tmp_path / "in").mkdir()
    record(tmp_path / "in" / "a.ndjson", 0)
    whole = tmp_path / "b.ndjson"
    record(whole, 7)
    text, target = whole.read_text(), tmp_path / "in" / "b.ndjson"
    given: list[Any] = ["judge", tmp_path / "in", "--profile", "P494", "--out", tmp_path / "out", "--follow", "--cores", "1"]

    def nothing() -> None:
        return None

    pauses(nothing, lambda: target.write_text(text[:-60]), lambda: target.write_text(text), nothing, nothing)
    assert run(list(map(str, given))) == 1
    assert capsys.readouterr().out.count("not explained:") == 2, "when it is found, and at the end"
    judged = [pq.read_table(batch)["history"].to_pylist() for batch in sorted((tmp_path / "out" / "verdicts").iterdir())]
    assert [len(set(names)) for names in judged] == [1, 1] and set(judged[0]) != set(judged[1])
    pauses(nothing, nothing)
    assert run(list(map(str, given))) == 1
    assert len(list((tmp_path / "out" / "verdicts").iterdir())) == len(judged), "nothing was judged again"


@pytest.mark.parametrize("tokens", [("--follow",), ("--interval", "3", "--out", "out")])
def test_mistakes_of_judge_are_one_line(tmp_path: Path, tokens: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path / "a.ndjson", 0)
    assert run(["judge", str(tmp_path / "a.ndjson"), "--profile", "P494", *tokens]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rocketproof: {tokens[0]} without --")
