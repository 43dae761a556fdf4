"""Whole logs: what no client sees of a broker's files, and targets that are started while others are in use."""

from __future__ import annotations

import base64
import errno
import itertools
import json
import os
import random
import shutil
import tempfile
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_model import interrupts
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, TargetError, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import ParsedHistory, load
from rocketproof_properties.brokers.staging import in_turn
from rocketproof_properties.commands import run as command
from rocketproof_properties.judging.wholelog import CLAIMS, FOLDER, PACKED, judge_log, read, record, stored_log
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.reports.exitcode import STOPPED
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.entries import entries
from rocketproof_properties.validation.stores import BrokerStore, judge_store
from rocketproof_properties.validation.suite.outcomes import outcomes
from rocketproof_properties.validation.validate import ValidationRequest, validate
from rocketproof_traces.common.errors import TraceError

PROFILE = "P494"
FILE = "00000000000000000000"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs") / "report"
    report = validate(ValidationRequest(InProcess(PROFILE), folder, 24, 5, shrink=0))
    assert [str(finding.verdict) for finding in report.findings] == []
    assert report.logs and all(log.claims for log in report.logs)
    return folder


def logged(done: Path) -> ParsedHistory:
    """Return the recorded log of the broker with the most records."""
    found = (load(path) for path in sorted((done / "logs").glob("*.ndjson")))
    return max(
        (history for history in found if "log" in history.states), key=lambda history: len(read(history, PROFILE, done / "logs").records)
    )


@pytest.mark.slow
def test_whole_log_of_each_broker_is_judged_and_kept(done: Path) -> None:
    data = json.loads((done / "report.json").read_text())
    assert data["logs"] == len(list((done / "logs").glob("*.ndjson"))) >= 1
    assert {row["id"] for row in data["verdicts"]} >= {"INV-37", "INV-38.records", "INV-39"}
    log = read(logged(done), PROFILE, done / "logs")
    assert log.damage is None and len(log.records) > 24 and log.end == log.records[-1].end
    assert len(again(done, None, ()).logs) == data["logs"]


def test_shared_topics_are_judged_over_all_programs(done: Path) -> None:
    data = json.loads((done / "report.json").read_text())["shared"]
    assert (data["unknown"], [part.findings for part in again(done, None, ()).shared]) == ([], [[]] * data["parts"])
    assert data["explained"] > data["parts"] > 0


def stored(done: Path, folder: Path, change: Callable[[bytearray, list[int]], None]) -> Path:
    """Return a store with that broker's log, changed at the offsets of its records, and its history."""
    log = read(logged(done), PROFILE, done / "logs")
    target = folder / "store" / FOLDER
    target.mkdir(parents=True)
    data = bytearray(source(done))
    change(data, [record.at for record in log.records])
    (target / FILE).write_bytes(data.ljust(log.file_size, b"\0"))
    path = folder / "logs" / "1.ndjson"
    deleted = logged(done).origin["deleted"]
    assert record(folder / "store", path, "broker-a", "", {"prefix": "r", "deleted": deleted}, ())
    return path


def source(done: Path) -> bytes:
    return zlib.decompress((done / "logs" / logged(done).states["log"]["file"]).read_bytes())


@pytest.mark.parametrize(
    ("place", "value", "found"),
    [
        (28, (1 << 40).to_bytes(8, "big"), "INV-37"),
        (8, b"\0\0\0\1", "INV-41"),
        (4, b"\0\0\0\1", "INV-37"),
        (56, (1 << 50).to_bytes(8, "big"), "INV-42"),
    ],
    ids=["place", "checksum", "magic", "store time"],
)
@pytest.mark.behaviour("INV-37", "INV-41", "INV-42")
def test_wrong_byte_of_log_is_found(done: Path, tmp_path: Path, place: int, value: bytes, found: str) -> None:
    def change(data: bytearray, places: list[int]) -> None:
        at = places[1] + place
        data[at : at + len(value)] = value

    assert found in {finding.property for finding in judge_log(stored(done, tmp_path, change), PROFILE).findings}
    assert not judge_log(stored(done, tmp_path / "right", lambda data, places: None), PROFILE).findings


@pytest.mark.parametrize(
    ("profile", "millis", "found"), [("P490", 9_000, set()), ("P490", 11_000, {"INV-42"}), ("P491", 9_000, {"INV-42"})]
)
@pytest.mark.behaviour("INV-42")
def test_batch_may_have_earlier_store_time_up_to_490(done: Path, tmp_path: Path, profile: str, millis: int, found: set[str]) -> None:
    """A real 4.5.1 stored one 7 ms before the preceding record."""

    def change(data: bytearray, places: list[int]) -> None:
        times = slice(places[1] + 56, places[1] + 64)
        before = int.from_bytes(data[places[0] + 56 : places[0] + 64], "big")
        data[times] = (before - millis).to_bytes(8, "big")

    assert {finding.property for finding in judge_log(stored(done, tmp_path, change), profile).findings} & {"INV-42"} == found


def test_store_without_log_is_not_judged(tmp_path: Path) -> None:
    assert not record(tmp_path, tmp_path / "logs" / "1.ndjson", "broker-a", "", {}, ())


# Targets in turn


class Fake(Deployment):
    def __init__(self, told: list[str], name: str) -> None:
        self.told, self.name = told, name
        told.append(f"open {name}")

    def close(self) -> None:
        self.told.append(f"close {self.name}")


class Fakes(ValidationTarget):
    """Targets named by a setting; the one called bad cannot be opened."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        if setup.settings["name"] == "bad":
            raise TargetError("bad")
        return Fake(self.log, setup.settings["name"])


def setups(*names: str) -> list[Setup]:
    return [Setup(settings={"name": name}) for name in names]


def test_every_target_is_closed_before_next_is_used() -> None:
    target = Fakes()
    for running in in_turn(target, setups("a", "b", "c")):
        target.log.append(f"use {running.name}")
    assert sorted(target.log) == sorted(f"{word} {name}" for word in ("open", "use", "close") for name in "abc")
    assert [entry for entry in target.log if not entry.startswith("open")] == [
        f"{word} {name}" for name in "abc" for word in ("use", "close")
    ]


def test_whoever_stops_early_leaves_nothing_running() -> None:
    target = Fakes()
    turns = in_turn(target, setups("a", "b"))
    next(turns)
    turns.close()
    assert target.log.count("close a") == 1
    assert ("open b" in target.log) == ("close b" in target.log)


def test_unavailable_target_is_reported_at_its_turn() -> None:
    target = Fakes()
    turns = in_turn(target, setups("a", "bad"))
    assert next(turns).name == "a"
    with pytest.raises(TargetError, match="bad"):
        next(turns)
    assert target.log == ["open a", "close a"]


# Large logs


def large(folder: Path, size: int) -> Path:
    """Write a log of two files of this size with incompressible bytes."""
    (folder / "store" / FOLDER).mkdir(parents=True)
    for number in range(2):
        data = random.Random(number).randbytes(size if number == 0 else size // 2)
        (folder / "store" / FOLDER / f"{number * size:020}").write_bytes(data.ljust(size, b"\0"))
    return folder / "store"


def test_log_is_written_down_without_being_held_in_memory(tmp_path: Path) -> None:
    size = 16 << 20
    store, path = large(tmp_path, size), tmp_path / "logs/1.ndjson"
    tracemalloc.start()
    try:
        assert record(store, path, "broker-a", "", {"prefix": "r"}, ())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < size // 2, f"{most:,} bytes for files of {size:,}"
    assert zlib.decompress(path.with_suffix(PACKED).read_bytes()) == b"".join(stored_log(store).chunks())  # type: ignore[union-attr]
    assert read(load(path), PROFILE, path.parent).damage is not None


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../../outside"},
        {"file": "missing"},
        {"file": 3},
        {"fileSize": 0},
        {"fileSize": "1G"},
        {"size": 1},
        {"size": 1 << 50},
        {"size": -1},
        {"file": None, "zlib": "no base64!"},
    ],
    ids=str,
)
def test_log_bytes_contradicting_history_are_refused_in_one_line(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "logs/1.ndjson"
    assert record(large(tmp_path, 4096), path, "broker-a", "", {"prefix": "r"}, ())
    (tmp_path / "outside").write_bytes(path.with_suffix(PACKED).read_bytes())
    header, event, *_ = path.read_text().splitlines()
    made = json.loads(event)
    made["value"] = {name: value for name, value in {**made["value"], **change}.items() if value is not None}
    path.write_text(f"{header}\n{json.dumps(made)}\n")
    with pytest.raises(TraceError, match="the log's bytes cannot be read"):
        judge_log(path, PROFILE)


def test_log_kept_by_earlier_version_in_history_is_read(tmp_path: Path) -> None:
    path = tmp_path / "logs/1.ndjson"
    assert record(large(tmp_path, 4096), path, "broker-a", "", {"prefix": "r"}, ())
    packed = path.with_suffix(PACKED)
    header, event, *_ = path.read_text().splitlines()
    made = json.loads(event)
    del made["value"]["file"]
    made["value"]["zlib"] = base64.b64encode(packed.read_bytes()).decode()
    before = read(load(path), PROFILE, path.parent)
    path.write_text(f"{header}\n{json.dumps(made)}\n")
    packed.unlink()
    assert read(load(path), PROFILE, path.parent) == before


# Logs that cannot be looked at


def full(packed: Path) -> None:
    """Simulate a full disk for the file."""
    packed.parent.mkdir(parents=True, exist_ok=True)
    packed.symlink_to("/dev/full")


def unreadable(store: Path) -> None:
    """Put an unreadable second file next to the log's first one."""
    (store / FOLDER / f"{4096:020}").unlink()
    (store / FOLDER / f"{4096:020}").symlink_to(f"{4096:020}")


@pytest.mark.parametrize("why", ["full", "unreadable", "changing"])
def test_unreadable_log_leaves_its_claims_undecided(why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, path = large(tmp_path, 4096), tmp_path / "logs/1.ndjson"
    if why == "full":
        full(path.with_suffix(PACKED))
    elif why == "unreadable":
        unreadable(store)
    else:
        looks = itertools.count(1)
        monkeypatch.setattr(interrupts, "pause", lambda _: (store / FOLDER / FILE).write_bytes(bytes([next(looks)]) * 4096))
    second = store / FOLDER / f"{4096:020}"
    said = {
        "full": f"{path.with_suffix(PACKED)} cannot be written (No space left on device); make room there, and run it again",
        "unreadable": f"{second} cannot be read (Too many levels of symbolic links); make it readable, and run it again",
        "changing": f"the files in {store / FOLDER} go on changing; stop what writes to the broker, and run it again",
    }[why]
    assert record(store, path, "broker-a", "", {"prefix": "r"}, ())
    assert not os.path.lexists(path.with_suffix(PACKED))
    judged = judge_log(path, PROFILE)
    assert (judged.claims, judged.exercised, set(judged.left_open.values())) == ({}, frozenset(), {said})
    assert {"INV-37", "INV-39"} <= judged.left_open.keys() <= set(CLAIMS)


def test_full_temporary_folder_leaves_log_claims_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "logs/1.ndjson"
    assert record(large(tmp_path, 4096), path, "broker-a", "", {"prefix": "r"}, ())

    def no_file() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "TemporaryFile", no_file)
        (reason,) = set(judge_log(path, PROFILE).left_open.values())
    assert "has no room for the log (No space left on device); make room there" in reason
    assert not judge_log(path, PROFILE).left_open


def test_report_without_kept_log_is_undecided(done: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, number = shutil.copytree(done, tmp_path / "report"), len(list((done / "logs").glob("*.ndjson")))
    full(folder / "logs" / f"{number + 1}{PACKED}")
    store = BrokerStore(large(tmp_path, 4096), "broker-b", "", (), {"prefix": "r"})
    (found,) = judge_store(store, folder, number, PROFILE, audits=False)
    assert found.left_open
    assert command(["validate", "--again", str(folder)]) == STOPPED
    told = " ".join(capsys.readouterr().out.split())
    assert f"a broker's files by the claims (logs/{number + 1}.ndjson): " in told and "decide it with a larger bound" not in told
    data = json.loads((folder / "report.json").read_text())
    (open_,) = data["undecided"]
    assert "cannot be written (No space left on device); make room there" in open_["reason"]
    row = next(row for row in data["verdicts"] if row["id"] == "INV-37")
    assert (row["undecided"], row["broken"], row["agrees"]) == (1, 0, None)
    items = [entry for entry in entries(PROFILE, frozenset(Capability)) if entry.id in ("INV-37", "INV-39")]
    for outcome in nonempty(outcomes(again(folder, None, ()), items, folder).values()):
        assert outcome.status == "undecided" and open_["reason"] in outcome.words
