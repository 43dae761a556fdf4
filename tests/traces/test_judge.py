"""The judge explains a real broker's recording, and notices when it is tampered with."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_model import RocketproofError
from rocketproof_traces.checker.recordings import judge_recording

RECORDING = Path(__file__).parents[1] / "data" / "rocketmq-4.9.4.jsonl"


def rows(keep: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    return [row for row in map(json.loads, RECORDING.read_text(encoding="utf-8").splitlines()) if keep(row)]


def write(path: Path, cases: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return path


def first_sends(row: dict[str, Any]) -> bool:
    return row["cfg"] == "A" and row["n"] < 40


@pytest.mark.slow
def test_real_broker_is_explained_case_by_case() -> None:
    verdict = judge_recording(RECORDING, "P494")
    assert not verdict.unexplained, str(verdict.unexplained[0])
    assert verdict.cases == 245
    assert verdict.explained == 245 and not verdict.out_of_reach


def test_first_sends_and_switches_are_explained(tmp_path: Path) -> None:
    verdict = judge_recording(write(tmp_path / "some.jsonl", rows(lambda r: first_sends(r) or r["cfg"] == "N")), "P494")
    assert not verdict.unexplained, str(verdict.unexplained[0])
    assert verdict.explained == 51 and not verdict.out_of_reach


@pytest.mark.slow
def test_p49_does_not_refuse_five_topics_that_494_refuses(tmp_path: Path) -> None:
    names = write(tmp_path / "names.jsonl", rows(lambda r: r["cfg"] == "A" and 116 <= r["n"] <= 149))
    assert not judge_recording(names, "P494").unexplained
    refused = {r.case.split()[0] for r in judge_recording(names, "P49").unexplained}
    assert refused == {"A-136", "A-137", "A-139", "A-140", "A-141"}


def tampered(tmp_path: Path, number: int, change: Callable[[dict[str, Any]], None]) -> str:
    """Return the first refusal after a change to one case of cfg A."""
    cases = rows(lambda r: r["cfg"] == "A" and r["n"] <= number)
    change(next(c for c in cases if c["n"] == number))
    verdict = judge_recording(write(tmp_path / "tampered.jsonl", cases), "P494")
    assert len(verdict.unexplained) == 1
    return str(verdict.unexplained[0])


def test_wrong_answer_names_guard_that_refuses_it(tmp_path: Path) -> None:
    def accept(case: dict[str, Any]) -> None:
        case["response"] = {"code": 0, "remark": None, "extFields": {"queueId": "8", "queueOffset": "0"}}

    text = tampered(tmp_path, 39, accept)
    assert text.startswith("A-39 'send w4r8 qid=8': recorded code 0 SUCCESS, queue 8, offset 0; the specification answers SYSTEM_ERROR")
    assert "accept_queue is refused by guard 'legal queue id' (the queue id is below the larger count)" in text
    values = {"job.queue": 8, "job.read": 8, "job.write": 4}
    for name, value in values.items():
        assert re.search(rf"{re.escape(name)} = {value} \([a-z]", text), f"{name} is not there with its value and its sentence"


@pytest.mark.slow
def test_creation_without_template_is_refused_by_its_guard(tmp_path: Path) -> None:
    def created(case: dict[str, Any]) -> None:
        case["response"] = {"code": 0, "remark": None, "extFields": {"queueId": "0", "queueOffset": "0"}}
        case.pop("topicConfig")

    assert "template_not_inherited" not in tampered(tmp_path, 31, created)
    assert "build is refused by guard 'may inherit'" in tampered(tmp_path, 31, created)


LIES: list[tuple[int, dict[str, object]]] = [
    (36, {"response.extFields.queueOffset": "0"}),
    (6, {"topicConfig.writeQueueNums": 5}),
    (6, {"topicConfig.perm": 7}),
    (32, {"topicConfig.readQueueNums": 4}),
    (7, {"response.extFields.queueId": "4"}),
    (30, {"response.code": 1}),
    *((36, {"response.code": code}) for code in (10, 11, 12, 13, 14, 26, 29)),  # no code puts a plain send out of reach
    *((36, {f"stored.0.{key}": value}) for key, value in (("topic", "elsewhere"), ("queueOffset", 7), ("queueId", 2), ("sysFlag", 8))),
    (25, {"response.code": 1, "body": None}),  # a route
    # properties without effect hide nothing
    (36, {"request.extFields.i": "DELAY\x010\x02TRAN_MSG\x01false\x02", "response.extFields.queueOffset": "9"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "lie"), LIES)
def test_each_recorded_field_is_judged(tmp_path: Path, number: int, lie: dict[str, object]) -> None:
    def change(case: dict[str, Any]) -> None:
        for path, value in lie.items():
            *way, last = path.split(".")
            at: Any = case
            for key in way:
                at = at[int(key)] if isinstance(at, list) else at[key]
            assert at[last] != value
            at[last] = value

    assert f"A-{number} " in tampered(tmp_path, number, change)


def test_records_of_broker_itself_are_granted_once(tmp_path: Path) -> None:
    cases = rows(lambda r: r["cfg"] == "A" and r["n"] in (0, 80, 81, 165))
    cases[-1]["response"]["extFields"]["queueOffset"] = "0"
    cases[-1]["stored"][0]["queueOffset"] = 0
    plain = rows(lambda r: r["cfg"] == "A" and r["n"] == 83)[0]

    def send(number: int, offset: int) -> dict[str, Any]:
        case = json.loads(json.dumps(plain))
        case["n"] = number
        case["request"]["extFields"]["e"] = 2
        case["response"]["extFields"] |= {"queueId": "2", "queueOffset": str(offset)}
        case["stored"][0] |= {"queueId": 2, "queueOffset": offset}
        return case

    skipped = judge_recording(write(tmp_path / "once.jsonl", [*cases, send(300, 1), send(301, 2)]), "P494")
    assert not skipped.unexplained, str(skipped.unexplained[0])
    again = judge_recording(write(tmp_path / "twice.jsonl", [*cases, send(300, 1), send(301, 3)]), "P494")
    assert [r.case.split()[0] for r in again.unexplained] == ["A-301"]


def retried(cases: list[dict[str, Any]], number: int, times: int, **more: object) -> dict[str, Any]:
    """Send a message with `times` retries, answered by a broker that makes it a dead letter."""
    case: dict[str, Any] = json.loads(json.dumps(next(c for c in cases if c["n"] == 154)))
    case["n"], case["request"]["extFields"]["j"] = number, times
    case["response"]["extFields"] |= {"queueId": "0", "queueOffset": "0"}
    case["request"] |= more
    for record in case["stored"]:
        record |= {"topic": "%DLQ%gr1", "queueId": 0, "queueOffset": 0}
    case["request"]["extFields"]["e"] = 0
    return case


def group_of(limit: int, cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Set the group's maximal number of retries."""
    body = {"groupName": "gr1", "retryMaxTimes": limit}
    request = {"code": 200, "extFields": {}, "body_len": 60, "body": body}
    return {**cases[0], "n": 400, "case": "update gr1", "to": "b", "request": request, "response": {"code": 0}, "body": None}


def test_limit_of_group_makes_dead_letters(tmp_path: Path) -> None:
    """A dead letter after retryMaxTimes retries is legal, though the request has no limit."""
    cases = rows(lambda r: r["cfg"] == "A" and r["n"] in (0, 150, 154))
    dead = retried(cases, 402, 3)
    verdict = judge_recording(write(tmp_path / "group.jsonl", [*cases, group_of(2, cases), dead]), "P494")
    assert not verdict.unexplained, str(verdict.unexplained[0])
    assert not verdict.out_of_reach
    unlimited = judge_recording(write(tmp_path / "more.jsonl", [*cases, group_of(9, cases), dead]), "P494")
    assert [event.case.split()[0] for event in unlimited.unexplained] == ["A-402"]


def test_old_request_names_no_limit(tmp_path: Path) -> None:
    """Before version 121 the header's maxReconsumeTimes is ignored: the group's limit applies."""
    cases = rows(lambda r: r["cfg"] == "A" and r["n"] in (0, 150, 154))
    dead = retried(cases, 402, 3, version=99)
    dead["request"]["extFields"]["l"] = 9
    verdict = judge_recording(write(tmp_path / "old.jsonl", [*cases, group_of(2, cases), dead]), "P494")
    assert not verdict.out_of_reach and not verdict.unexplained


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["request"]["extFields"].__setitem__("e", "abc"),
        lambda c: c["request"]["extFields"].pop("c"),
    ],
)
def test_undecodable_header_is_error_without_effect(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    cases = rows(lambda r: r["cfg"] == "A" and r["n"] <= 6)
    change(cases[-1])
    accepted = judge_recording(write(tmp_path / "header.jsonl", cases), "P494")
    assert [event.case.split()[0] for event in accepted.unexplained] == ["A-6"]
    cases[-1] |= {"response": {"code": 1}, "topicConfig": None, "stored": None}
    assert judge_recording(write(tmp_path / "refused.jsonl", cases), "P494").explained == 7


def test_fields_that_recorder_may_leave_out(tmp_path: Path) -> None:
    cases = rows(first_sends)
    for case in cases:
        case["response"] = {k: v for k, v in case["response"].items() if v is not None or k == "code"}
        for record in case.get("stored", ()):
            record.pop("physOffset")
            record.pop("size")
    verdict = judge_recording(write(tmp_path / "few.jsonl", cases), "P494")
    assert not verdict.unexplained, str(verdict.unexplained[0])


def test_switches_are_found_by_their_effects(tmp_path: Path) -> None:
    verdict = judge_recording(write(tmp_path / "n.jsonl", rows(lambda r: r["cfg"] == "N" and r["to"] == "b")), "P494")
    assert not verdict.unexplained, str(verdict.unexplained[0])


def test_answered_queue_beyond_reason_is_only_unexplained(tmp_path: Path) -> None:
    def change(case: dict[str, Any]) -> None:
        case["response"]["extFields"]["queueId"] = "1000000"

    assert "A-7 " in tampered(tmp_path, 7, change)


def test_wrong_route_is_noticed(tmp_path: Path) -> None:
    def fewer(case: dict[str, Any]) -> None:
        case["body"]["queueDatas"][0]["writeQueueNums"] = 3

    assert "route (read 4, write 3, perm 6)" in tampered(tmp_path, 25, fewer)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "holds no case"),
        ("{}\n", ":1: not a recorded case"),
        ("not json\n", ":1: not a recorded case"),
        ("[1]\n", ":1: not a recorded case"),
    ],
)
def test_invalid_recording_is_one_line(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(text)
    with pytest.raises(RocketproofError, match=what) as error:
        judge_recording(path, "P494")
    assert "\n" not in str(error.value)


def test_missing_file_and_unknown_profile(tmp_path: Path) -> None:
    with pytest.raises(RocketproofError, match="cannot be read"):
        judge_recording(tmp_path / "none.jsonl", "P494")
    with pytest.raises(RocketproofError, match="did you mean P4"):
        judge_recording(RECORDING, "P495")
