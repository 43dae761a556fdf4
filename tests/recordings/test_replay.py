"""Replay of recordings: compared fields, masked fields, rebuilt values, and refused input."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorder import Recorder, batch

from rocketproof_model import RocketproofError
from rocketproof_properties.commands import run
from rocketproof_properties.judging.reference import bodies, masks
from rocketproof_properties.judging.reference.cases import ReplayCase, read
from rocketproof_properties.judging.reference.recording import EXCEPTIONS, replay

RECORDING = Path(__file__).parents[1] / "data" / "rocketmq-4.9.4.jsonl"

Change = Callable[[dict[str, Any]], object]


def rows(keep: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    return [row for row in map(json.loads, RECORDING.read_text("utf-8").splitlines()) if keep(row)]


def write(path: Path, cases: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    return path


def changed(tmp_path: Path, number: int, change: Change) -> list[tuple[int, str, Any, Any]]:
    """Return the differences after changing one case of cfg A, with the cases up to it."""
    cases = rows(lambda row: row["cfg"] == "A" and row["n"] <= number)
    change(cases[-1])
    replayed = replay(write(tmp_path / "changed.jsonl", cases), "P494")
    return [(difference.case.number, d.field, d.recorded, d.found) for difference in replayed.different for d in difference.differences]


def case_of(number: int) -> ReplayCase:
    return next(case for case in read(RECORDING).cases if case.cfg == "A" and case.number == number)


# Comparison


@pytest.mark.parametrize(
    ("number", "change", "field"),
    [
        (5, lambda row: row["response"].update(code=10), "code"),
        (5, lambda row: row["response"].update(remark="other"), "remark"),
        (5, lambda row: row["response"]["extFields"].update(queueOffset="1"), "extFields.queueOffset"),
        (5, lambda row: row["response"]["extFields"].pop("TRACE_ON"), "extFields.TRACE_ON"),
        (5, lambda row: row["response"]["extFields"].update(more="1"), "extFields.more"),
        (5, lambda row: row["stored"][0].update(reconsumeTimes=1), "stored.reconsumeTimes"),
        (5, lambda row: row["stored"][0].update(magic="00000000"), "stored.magic"),
        (5, lambda row: row["stored"][0]["props"].update(TAGS="t"), "stored.props.TAGS"),
        (5, lambda row: row["stored"].append(row["stored"][0]), "stored"),
        (5, lambda row: row["topicConfig"].update(perm=7), "topicConfig.perm"),
        (5, lambda row: row.update(topicConfig=None), "topicConfig"),
        (30, lambda row: row.update(topicConfig={"perm": 6}), "topicConfig"),
        (4, lambda row: row["body"]["queueDatas"][0].update(perm=6), "body.queueDatas"),
        (184, lambda row: row["response"].update(code=0), "code"),
        (7, lambda row: row["response"].update(code=None, remark="CLIENT:TimeoutError:timed out"), "code"),
        (207, lambda row: row["stored"][1].update(queueOffset=99), "stored[1].queueOffset"),
    ],
)
def test_every_field_is_compared(tmp_path: Path, number: int, change: Change, field: str) -> None:
    found = changed(tmp_path, number, change)
    assert [(n, name) for n, name, _, _ in found] == [(number, field)]


def test_end_of_log_is_compared_once(tmp_path: Path) -> None:
    """A record without origin makes one case differ; later cases are compared without it."""

    def further(row: dict[str, Any]) -> None:
        fields = row["response"]["extFields"]
        if fields and "msgId" in fields:
            fields["msgId"] = f"{fields['msgId'][:16]}{int(fields['msgId'][16:], 16) + 500:016X}"
            row["stored"][0]["physOffset"] += 500

    cases = rows(lambda row: row["cfg"] == "A" and row["n"] <= 60)
    for row in cases[40:]:
        further(row)
    replayed = replay(write(tmp_path / "moved.jsonl", cases), "P494")
    assert [(difference.case.number, [d.field for d in difference.differences]) for difference in replayed.different] == [
        (41, ["position"])
    ]


def test_difference_names_rules(tmp_path: Path) -> None:
    cases = rows(lambda row: row["cfg"] == "A" and row["n"] == 39)
    replayed = replay(write(tmp_path / "one.jsonl", cases), "P494")
    assert "CHK-10" in replayed.different[0].rules  # the topic was made before, so here it has other queues


# Masked values


@pytest.mark.parametrize(
    ("recorded", "found", "alike"),
    [
        ("x Producer: 127.0.0.1:38014", "x Producer: 127.0.0.1:50001", True),
        ("x Producer: 127.0.0.1:38014", "y Producer: 127.0.0.1:38014", False),
        ("full [CL:  0.26 CQ:  0.26 INDEX: -1.00], etc.", "full [CL: -1.00 CQ: -1.00 INDEX: -1.00], etc.", True),
        ("full [CL:  0.26 CQ:  0.26 INDEX: -1.00], etc.", "full [CL: -1.00 CQ: -1.00 INDEX: -1.00], and so on.", False),
        ("gone\nSee http://a.b/c for further details.", "gone\nSee https://d/ for further details.", False),
        ("java.lang.ArithmeticException: / by zero, a.B.c(B.java:690)", "java.lang.ArithmeticException: / by zero, f(g.py:1)", True),
        ("java.lang.ArithmeticException: / by zero, a.B.c(B.java:690)", "java.lang.ArithmeticException: / by zero", True),
        ("java.lang.ArithmeticException: / by zero, a.B.c(B.java:690)", "java.lang.ArithmeticException: overflow, f(g.py:1)", False),
        ('java.lang.NullPointerException: Cannot read "a", a.B.c(B.java:1)', "java.lang.NullPointerException, f(g.py:1)", True),
        ("java.lang.NullPointerException, a.B.c(B.java:1)", "java.lang.IllegalStateException, f(g.py:1)", False),
        ("unable to service, until 2100-01-01 00:00:07,123", "unable to service, until 2100-01-01 09:00:07,123", True),
        ("unable to service, until 2100-01-01 00:00:07,123", "unable to service, until 2100-01-01 00:00:08,123", False),
        (None, "", False),
    ],
)
def test_only_remarks_are_masked(recorded: str | None, found: str | None, alike: bool) -> None:
    assert (masks.remark(recorded) == masks.remark(found)) is alike


def test_values_generated_by_5_are_masked_only_there() -> None:
    assert masks.varies("transactionId", "5.3.3") and masks.varies("UNIQ_KEY", "5.3.3")
    assert not masks.varies("UNIQ_KEY", "4.9.4") and not masks.varies("msgId", "5.3.3")


# Rebuilt values


def test_long_values_have_their_length_again() -> None:
    """The recorded length of the stored value shows that a separator followed it."""
    text = case_of(197).fields["properties"]
    assert len(text) == 32744
    assert text.endswith("v\x02")
    assert len(case_of(199).fields["properties"]) == 32746


def test_long_topic_repeats_its_last_character(tmp_path: Path) -> None:
    row = rows(lambda row: row["n"] == 120)[0]
    row["request"]["extFields"]["b"] = "c" * 60 + "...(4000)"
    [case] = read(write(tmp_path / "long.jsonl", [row])).cases
    assert case.topic == "c" * 4000


def test_fields_travel_as_texts() -> None:
    fields = case_of(5).fields
    assert fields["defaultTopicQueueNums"] == "4" and fields["batch"] == "false"
    assert all(isinstance(value, str) for value in fields.values())


@pytest.mark.parametrize("number", [207, 208, 209, 211, 212, 213, 214])
def test_batches_have_recorded_length(number: int) -> None:
    case = case_of(number)
    assert len(bodies.batch(case)) == case.body_length


def test_refused_batch_is_one_message() -> None:
    body = bodies.batch(case_of(212))
    assert int.from_bytes(body[:4], "big") == len(body) == 129
    assert int.from_bytes(body[16:20], "big") == 129 - bodies.ITEM_SIZE


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"\x00\x00\x00\x50" + bytes(12) + b"\x00\x00\x00\x60", "java.lang.ArrayIndexOutOfBoundsException"),
        (b"\x00\x00\x00\x50" + bytes(8), "java.nio.BufferUnderflowException"),
        (b"\x00\x00\x00\x50" + bytes(12) + b"\x00\x00\x00\x03" + b"abc\x00", "java.nio.BufferUnderflowException"),
        (b"\x00\x00\x00\x50" + bytes(12) + b"\x00\x00\x00\x03" + b"abc\x00\x05", "java.lang.IllegalArgumentException: newPosition"),
    ],
    ids=["body", "head", "length", "properties"],
)
def test_batch_that_ended_too_early_does_so_again(body: bytes, said: str, tmp_path: Path) -> None:
    recorder = Recorder()
    recorder.send("t", body=body, m=True, code=320)
    assert recorder.rows[0]["response"]["remark"].startswith(said)
    assert replay(recorder.save(tmp_path / "early.jsonl"), "P494").same == 1


def test_settings_in_body_are_sent(tmp_path: Path) -> None:
    recorder = Recorder()
    recorder.ask(25, {}, text="autoCreateTopicEnable=false\n")
    recorder.send("t")
    assert recorder.rows[1]["response"]["code"] == 17
    assert replay(recorder.save(tmp_path / "switched.jsonl"), "P494").same == 2
    recorder.rows[0]["request"]["body"] = {"autoCreateTopicEnable": False}
    assert replay(recorder.save(tmp_path / "switched.jsonl"), "P494").same == 2
    recorder.rows[0]["request"]["body"] = "autoCreateTopicEnable=true\n"
    assert [difference.case.number for difference in replay(recorder.save(tmp_path / "switched.jsonl"), "P494").different] == [1]


# Choice of the broker


def test_recording_may_have_its_settings(tmp_path: Path) -> None:
    recorder = Recorder("R", "brokerPermission=4", "brokerRole=SLAVE", "brokerId=1")
    recorder.send("t")
    path = recorder.save(tmp_path / "slave.jsonl")
    assert replay(path, "P494").different
    assert not replay(path, "P494", ["brokerRole=SLAVE", "R:brokerId=1", "R:brokerPermission=4"]).different
    heading = {"cfg": "R", "settings": {"brokerRole": "SLAVE", "brokerId": 1, "brokerPermission": 4}}
    assert not replay(write(tmp_path / "headed.jsonl", [heading, *recorder.rows]), "P494").different


def test_replay_uses_recorded_address(tmp_path: Path) -> None:
    recorder = Recorder("A", "listenPort=12345", "brokerIP1=10.1.2.3")
    recorder.send("t")
    assert not replay(recorder.save(tmp_path / "elsewhere.jsonl"), "P494").different


@pytest.mark.behaviour("SEND-22")
@pytest.mark.parametrize("profile", ["P45", "P494"])
def test_replay_uses_recorded_random_queue(tmp_path: Path, profile: str) -> None:
    for seed in range(4):
        recorder = Recorder(profile=profile, seed=seed)
        for _ in range(6):
            recorder.send("t", queue=-1)
        assert len({row["response"]["extFields"]["queueId"] for row in recorder.rows}) > 1
        assert not replay(recorder.save(tmp_path / "random.jsonl"), profile).different


# Spontaneous writes of the broker


@pytest.mark.behaviour("REC-05")
def test_deliveries_are_found_by_places_of_later_messages(tmp_path: Path) -> None:
    """The recording does not show the passage of time."""
    recorder = Recorder()
    recorder.send("t", i="DELAY\x013\x02KEYS\x01a\x02")
    recorder.sleep(9_500)
    recorder.send("t", queue=1, i="DELAY\x011\x02KEYS\x01long\x02")
    recorder.sleep(600)
    recorder.send("t")
    recorder.sleep(600)
    recorder.send("t", queue=1)
    assert [row["response"]["extFields"]["queueOffset"] for row in recorder.rows] == ["0", "0", "1", "1"]
    assert not replay(recorder.save(tmp_path / "delays.jsonl"), "P494").different


@pytest.mark.behaviour("REC-05")
def test_deliveries_are_found_by_length_of_queue(tmp_path: Path) -> None:
    recorder = Recorder()
    recorder.send("t", i="DELAY\x013\x02")
    recorder.sleep(11_000)
    assert recorder.ask(30, {"topic": "t", "queueId": 0})["response"]["extFields"] == {"offset": "1"}
    assert not replay(recorder.save(tmp_path / "count.jsonl"), "P494").different


@pytest.mark.behaviour("HAZ-22", "APP-07")
def test_message_larger_than_file_is_lost_again(tmp_path: Path) -> None:
    recorder = Recorder()
    for size in (10, 1_100_000, 700_000, 700_000, 10):
        recorder.send("t", body=b"z" * size)
    assert recorder.rows[1]["stored"][0]["magic"] == "cbd43194"
    assert recorder.rows[1]["response"]["extFields"]["queueOffset"] == recorder.rows[2]["response"]["extFields"]["queueOffset"] == "1"
    assert not replay(recorder.save(tmp_path / "large.jsonl"), "P494").different


@pytest.mark.behaviour("BACK-12", "BACK-13", "BACK-15", "INV-48", "INV-49")
def test_chain_of_sent_back_messages_replays(tmp_path: Path) -> None:
    """Each round is visible only in later ones."""
    recorder = Recorder()
    place = recorder.send("t", body=b"hello")["stored"][0]["physOffset"]
    for round_ in range(4):
        recorder.ask(36, {"offset": place, "group": "g", "delayLevel": 1 if round_ < 3 else -1, "unitMode": False, "originMsgId": None})
        recorder.sleep(1500)
        place = recorder.send("other")["stored"][0]["physOffset"]
        last = max(message.physical_offset for message in recorder.broker.store.records() if message.topic != "other")
        place = last
    replayed = replay(recorder.save(tmp_path / "chain.jsonl"), "P494")
    assert not replayed.different, [(difference.case.label, difference.differences) for difference in replayed.different]


def scramble(seed: int) -> Recorder:
    chance = random.Random(seed)
    recorder = Recorder(chance.choice("ANMX"), seed=seed)
    halves: list[dict[str, str]] = []
    places: list[int] = []

    def send(**letters: Any) -> None:
        queue = chance.choice([-1, 0, 1, 2, 3, 5])
        row = recorder.send(letters.pop("topic", f"t{chance.randrange(4)}"), queue, **letters)
        places.extend(entry["physOffset"] for entry in row.get("stored", ()) if entry.get("magic") == "daa320a7")
        if letters.get("f") and "msgId" in (row["response"]["extFields"] or {}):
            halves.append(row["response"]["extFields"])

    def end() -> None:
        half = chance.choice(halves)
        recorder.ask(
            37,
            {
                "producerGroup": chance.choice(["pg", "pg", "other"]),
                "tranStateTableOffset": half["queueOffset"],
                "commitLogOffset": int(half["msgId"][16:], 16),
                "commitOrRollback": chance.choice([0, 8, 12]),
                "fromTransactionCheck": False,
                "msgId": "u",
            },
        )

    items = [(b"", ""), (b"b", "TAGS\x01a"), (b"bb", "TAGS\x01a\x02"), (b"bbb", "TAGS\x01a\x02UNIQ_KEY\x01q\x02")]
    switches = ["autoCreateTopicEnable", "rejectTransactionMessage"]
    for _ in range(80):
        kind = chance.randrange(13)
        if kind == 0:
            send(body=b"y" * chance.choice([0, 100, 5000, 300_000]))
        elif kind == 1:
            send(i=f"DELAY\x01{chance.choice([1, 2, 3, 19])}\x02KEYS\x01{'k' * chance.randrange(1, 9)}\x02")
        elif kind == 2:
            send(topic=f"%RETRY%g{chance.randrange(2)}", j=chance.choice([0, 3, 16]), l=chance.choice([None, 2]))
        elif kind == 3:
            send(f=4, i="TRAN_MSG\x01true\x02PGROUP\x01pg\x02")
        elif kind == 4 and halves:
            end()
        elif kind == 5 and places:
            recorder.ask(36, {"offset": chance.choice(places), "group": "g", "delayLevel": chance.choice([0, 1, -1]), "unitMode": False})
        elif kind == 6:
            body = batch(*(chance.choice(items) for _ in range(chance.randrange(1, 4))))
            send(body=body, m=True, code=chance.choice([310, 320]), i=chance.choice(["", "TRAN_MSG\x01true\x02", "DELAY\x013\x02"]))
        elif kind == 7:
            recorder.ask(30, {"topic": f"t{chance.randrange(4)}", "queueId": chance.randrange(4)})
        elif kind == 8:
            fields = {"readQueueNums": chance.choice([2, 8]), "writeQueueNums": chance.choice([2, 8]), "perm": chance.choice([6, 7])}
            filters = {"topicFilterType": chance.choice(["SINGLE_TAG", "MULTI_TAG", "BAD"]), "order": True, "topicSysFlag": 0}
            recorder.ask(17, {"topic": f"t{chance.randrange(4)}", "defaultTopic": "TBW102"} | fields | filters)
        elif kind == 9:
            recorder.ask(105, {"topic": f"t{chance.randrange(4)}"})
        elif kind == 10:
            recorder.ask(25, {}, text=f"{chance.choice(switches)}={chance.choice(['true', 'false'])}")
        elif kind == 11:
            send(i="K\x01" + "v" * chance.choice([400, 32740, 32744]) + "\x02")
        else:
            recorder.sleep(chance.choice([100, 1000, 12_000]))
    return recorder


@pytest.mark.parametrize("seed", range(12))
def test_any_run_of_implementation_is_reproduced_from_its_recording(tmp_path: Path, seed: int) -> None:
    replayed = replay(scramble(seed).save(tmp_path / "scrambled.jsonl"), "P494")
    assert not replayed.different, [(compared.case.label, compared.differences) for compared in replayed.different[:3]]


# The command


def test_equal_replay_exits_0_and_file_lists_every_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "found.json"
    assert run(["test", "--recording", str(RECORDING), "--profile", "P494", "--json", str(file)]) == 0
    assert capsys.readouterr().out.strip() == "245 cases compared under P494: 245 alike, 0 excepted, 0 different"
    data = json.loads(file.read_text("utf-8"))
    assert [(row["cfg"], row["n"]) for row in data] == [(row["cfg"], row["n"]) for row in rows(lambda _: True)]
    assert set(data[0]) == {"n", "cfg", "case", "alike", "differences", "exception"}
    assert data[0] == {"n": 0, "cfg": "A", "case": "route:TBW102", "alike": True, "differences": [], "exception": None}


def test_different_is_exit_code_1_and_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = rows(lambda row: row["cfg"] == "A" and row["n"] <= 39)
    cases[-1]["response"]["code"] = 0
    file = tmp_path / "found.json"
    reported = tmp_path / "found.run"
    asked = ["--profile", "P494", "--json", str(file), "--report", f"run:{reported}"]
    assert run(["test", "--recording", str(write(tmp_path / "bad.jsonl", cases)), *asked]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "! A-39 'send w4r8 qid=8'",
        "    code",
        "      recorded 0",
        "      found    1",
        "    rules      CHK-10",
        "40 cases compared under P494: 39 alike, 0 excepted, 1 different",
    ]
    assert json.loads(file.read_text("utf-8"))[-1]["differences"] == [{"field": "code", "recorded": 0, "found": 1}]
    results = json.loads(reported.read_text("utf-8"))["results"]
    assert [(result["about"], result["message"]) for result in results if result["outcome"] == "differs"] == [
        ("A-39 send w4r8 qid=8", "code: recorded 0, found 1")
    ]


def test_excepted_case_may_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXCEPTIONS, ("P494", "4.9.4", "A", 39), "for a reason")
    cases = rows(lambda row: row["cfg"] == "A" and row["n"] <= 39)
    cases[-1]["response"]["code"] = 0
    assert run(["test", "--recording", str(write(tmp_path / "bad.jsonl", cases)), "--profile", "P494"]) == 0
    said = capsys.readouterr().out
    assert "? A-39" in said and "for a reason" in said and "39 alike, 1 excepted, 0 different" in said


def test_long_value_is_shown_where_it_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["test", "--recording", str(RECORDING), "--profile", "P49", "--all"]) == 1
    said = capsys.readouterr().out
    assert "4194304B" in said and "128k" in said
    assert all(len(line) <= 80 for line in said.splitlines())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "holds no case"),
        ('{"cfg": "A", "settings": {}}\n', "holds no case"),
        ("{\n", "1: not a recorded case ("),
        ("[1]\n", "1: not a recorded case (list instead of an object)"),
        ('{"n": 1}\n', "1: not a recorded case ('request' is missing)"),
        ('{"n": 1, "cfg": "A", "case": "x", "request": {"code": "x"}, "response": {"code": 0}}\n', "1: not a recorded case ("),
        (
            '{"n": 1, "cfg": "A", "case": "x", "request": {"code": 10}, "response": {"code": 0, "extFields": {"msgId": "'
            + "Z" * 32
            + '"}}}\n',
            "1: not a recorded case (",
        ),
        ('{"cfg": "A", "settings": 3}\n', "1: not a recorded case ("),
    ],
)
def test_invalid_recording_is_one_line(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(RocketproofError) as caught:
        replay(path, "P494")
    assert what in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--recording", "nowhere.jsonl"], "cannot be read as a recording"),
        (["--recording", str(RECORDING), "--profile", "P50"], "unknown profile 'P50'"),
        (["--recording", str(RECORDING), "--set", "autoCreateTopicEnabled=false"], "the nearest of"),
        (["--recording", str(RECORDING), "--set", "autoCreateTopicEnable"], "give name=value"),
        (["--recording", str(RECORDING), "--set", "autoCreateTopicEnable=no"], "does not fit"),
        (["--recording", str(RECORDING), "--set", "brokerPermission=rw"], "does not fit"),
        (["--recording", str(RECORDING), "--programs", "5"], "--programs with --recording"),
        (["--set", "brokerPermission=4"], "--set without --recording"),
        (["--recording", str(RECORDING), "--json", str(RECORDING / "file.json")], "is a file and no folder"),
        (["--seed", "-1"], "--seed -1 is negative"),
    ],
)
def test_usage_mistakes_are_one_line_and_exit_2(options: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["test", *options]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert what in said.err and len(said.err.splitlines()) == 1


# A recording that begins in the middle


@pytest.mark.parametrize(("first", "different"), [(30, []), (100, [187]), (185, [185, 186, 187]), (200, [])])
def test_recording_may_begin_in_middle(first: int, different: list[int], tmp_path: Path) -> None:
    """A-187 queries the number of messages of a queue, A-185 and A-186 commit a message: both refer to earlier cases."""
    replayed = replay(write(tmp_path / "part.jsonl", rows(lambda row: row["cfg"] == "A" and row["n"] >= first)), "P494")
    assert [difference.case.number for difference in replayed.different] == different


def test_setting_for_missing_broker_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["test", "--recording", str(RECORDING), "--profile", "P494", "--set", "Z:brokerPermission=4"]) == 2
    assert "the recording has no broker 'Z'; use A, N, L, M" in capsys.readouterr().err


def test_first_cases_that_differ_are_printed_or_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = rows(lambda row: row["cfg"] == "A" and row["n"] in range(12))
    path = write(tmp_path / "odd.jsonl", [{**row, "response": {**row["response"], "code": 99}} for row in cases])
    printed = []
    for options in ([], ["--all"]):
        assert run(["test", "--recording", str(path), "--profile", "P494", *options]) == 1
        printed.append(capsys.readouterr().out)
    assert [text.count("\n    code\n") for text in printed] == [10, 12]
    assert "and 2 more cases: --all shows them" in printed[0] and "more cases" not in printed[1]
