"""Further cases of two releases: changed placements and earlier refusals are explained, false answers are not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from recorder import Recorder

from rocketproof_traces.checker.recordings import judge_recording

DATA = Path(__file__).parents[1] / "data"
VERSIONS = {"P494": "4.9.4", "P533": "5.3.3"}
Row = dict[str, Any]
Lie = Callable[[Row], object]


@cache
def recorded(profile: str) -> tuple[str, ...]:
    with gzip.open(DATA / f"further-{VERSIONS[profile]}.jsonl.gz", "rt", encoding="utf-8") as file:
        return tuple(file)


def judged(folder: Path, profile: str, rows: list[Row]) -> list[str]:
    """Return the cases that are not explained."""
    path = folder / "recording.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = judge_recording(path, profile)
    assert not found.out_of_reach and found.cases == len(rows)
    return [case.case.split()[0] for case in found.unexplained]


def rows(profile: str, cfg: str, upto: int = 999) -> list[Row]:
    return [row for row in map(json.loads, recorded(profile)) if row["cfg"] == cfg and row["n"] <= upto]


@pytest.mark.behaviour("BACK-03", "BACK-05", "BACK-08", "BACK-09", "BACK-12", "BACK-13", "DLQ-02", "DLQ-04", "TRX-04", "CL-02", "BAT-04")
@pytest.mark.parametrize("profile", VERSIONS)
@pytest.mark.parametrize("cfg", ["A", "N", "L", "M"])
def test_every_case_is_explained(tmp_path: Path, profile: str, cfg: str) -> None:
    assert judged(tmp_path, profile, rows(profile, cfg)) == []


def code(number: int) -> Lie:
    return lambda row: row["response"].update(code=number, remark=None)


def answered(**fields: str) -> Lie:
    return lambda row: row["response"]["extFields"].update(fields)


def stored(**fields: object) -> Lie:
    return lambda row: row["stored"][0].update(fields)


def asked(**fields: object) -> Lie:
    return lambda row: row["request"]["extFields"].update(fields)


PLACE = {"queueId": "0", "queueOffset": "20", "msgId": "0" * 32}
LIES: dict[str, tuple[str, int, Lie]] = {
    "a group that is given up is no error": ("A", 13, code(1)),
    "a retry topic that is not writable": ("A", 17, code(0)),
    "a record that is there": ("A", 4, code(1)),
    "a group that a look-up makes": ("A", 10, code(26)),
    "one dead letter less": ("A", 41, answered(offset="6")),
    "one message more in a retry topic": ("A", 44, answered(queueOffset="1")),
    "a message at its limit of retries": ("A", 46, stored(topic="%RETRY%three")),
    "a message below its limit": ("A", 49, stored(topic="%DLQ%three")),
    "an offset of the dead letters": ("A", 50, answered(queueOffset="9")),
    "properties that are too long": ("A", 70, code(0)),
    "properties that are not": ("A", 60, code(13)),
    "a body that is too large": ("A", 74, code(0)),
    "a batch's second record": ("A", 79, lambda row: row["stored"][1].update(queueOffset=13)),
    "a delayed batch": ("A", 82, lambda row: row["response"].update(code=0, extFields=PLACE)),
    "another level": ("A", 93, stored(queueId=15)),
    "the last level's queue": ("A", 95, stored(queueOffset=9)),
    "a level that is no number": ("A", 97, code(0)),
    "a prepared message does not wait": ("A", 102, stored(topic="SCHEDULE_TOPIC_XXXX", queueId=16)),
    "a half message has no transaction bits": ("A", 109, stored(sysFlag=4)),
    "a half message's queue": ("A", 113, answered(queueOffset="0")),
    "a group that has not begun it": ("A", 117, code(0)),
    "a half message that is there": ("A", 110, code(1)),
    "a commit stores once more": ("A", 127, answered(offset="6")),
    "a header that cannot be read": ("A", 135, code(0)),
    "a group that is not there": ("N", 4, code(0)),
    "a group that is there now": ("N", 6, code(26)),
    "a deleted group": ("N", 13, code(0)),
    "a slave's answer to a bad end": ("L", 11, code(0)),
    "a slave's route": ("L", 13, code(0)),
    "a message that does not wait": ("M", 1, code(11)),
}


@pytest.mark.behaviour("BACK-03", "BACK-05", "BACK-08", "BACK-12", "DLQ-02", "DLQ-04", "TRX-04", "CL-02", "APP-05", "BAT-04", "STO-02")
@pytest.mark.parametrize("lie", LIES)
def test_false_recording_is_not_explained(tmp_path: Path, lie: str) -> None:
    cfg, number, change = LIES[lie]
    told = rows("P494", cfg, number)
    change(told[-1])
    assert f"{cfg}-{number}" in judged(tmp_path, "P494", told)


@pytest.mark.behaviour("CL-08")
def test_a_record_that_fits_no_file_takes_no_offset(tmp_path: Path) -> None:
    """It is acknowledged with an offset that the next record reuses; the offset of a small record is never reused."""
    recorder = Recorder()
    for size in (1, 2_000_000, 1, 1):
        recorder.send("w", body=bytes(size))
    offsets = [row["response"]["extFields"]["queueOffset"] for row in recorder.rows]
    assert offsets == ["0", "1", "1", "2"]
    assert judged(tmp_path, "P494", recorder.rows) == []
    recorder.rows[1]["request"]["body_len"] = 1
    assert judged(tmp_path, "P494", recorder.rows) == ["A-1"]


def test_group_without_recorded_settings_can_have_any_limit(tmp_path: Path) -> None:
    told = rows("P494", "A", 60)
    for row in told:
        row["request"].pop("body", None)
    assert judged(tmp_path, "P494", told) == []
