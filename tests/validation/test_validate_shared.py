"""Topics that programs share: what no single program's history explains, all of them together do, and a wrong answer there is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from seeded import SeededFault

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.reference.differences import differences
from rocketproof_properties.judging.shared import Touched, judge_topics
from rocketproof_properties.judging.specification import EXPANDED, judge_shared
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_properties.programs.program import Program
from rocketproof_properties.validation.validate import mark
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE
from rocketproof_traces.history import read

PROFILE = "P494"
CLUSTER = "DefaultCluster"
PREPARED = 4
SENDS = (
    ("send", {"topic": CLUSTER, "queue": 0}),
    ("send", {"topic": CLUSTER, "queue": 0, "sys_flag": PREPARED}),
    ("send", {"topic": CLUSTER, "queue": 0}),
)
PROGRAMS = [Program(number, "", SENDS) for number in range(1, 4)]


def judged(target: ValidationTarget, folder: Path, programs: list[Program], *, clean: bool = True, workers: int = 2) -> list[JudgedProgram]:
    """Judge each program on a target by itself."""
    folder.mkdir(exist_ok=True)
    with target.open() as running:
        runner = Runner(running, folder, {}, Bounds(workers), mark(), clean=clean)
        try:
            return [judge_file(path, PROFILE) for _, path in runner.run(programs)]
        finally:
            runner.close()


@pytest.mark.behaviour("INV-34")
def test_programs_together_explain_each_queue_of_shared_topic(tmp_path: Path) -> None:
    (found,) = judge_shared(judged(InProcess(PROFILE), tmp_path, PROGRAMS), PROFILE)
    assert (found.findings, found.unknown) == ([], ())
    assert found.explained == len(PROGRAMS) * (len(SENDS) + 1)  # and what each saw of the topic at its end


@pytest.mark.slow
def test_wrong_offset_in_shared_topic_is_found(tmp_path: Path) -> None:
    """Planted: every message counts in its queue, prepared ones too. No single program shows the correct end of the queue."""
    programs = judged(SeededFault("M-78"), tmp_path, PROGRAMS)
    assert [program.findings for program in programs] == [[]] * len(PROGRAMS)
    (found,) = judge_shared(programs, PROFILE)
    (verdict,) = found.findings
    assert (verdict.property, found.program) == ("specification.send", 0)
    assert CLUSTER in verdict.text and "offset" in verdict.text
    answer = next(event for event in read(found.path)[1] if event.seq == verdict.seq)
    assert (answer.type, answer.op) == ("ok", "send")


def shifted(touched: Touched, by: int) -> Touched:
    """Shift the offset of the broker's last message by `by`."""
    *others, last = (each for each in touched.exchanges if each.op == "send")
    assert last.response is not None
    fields = {**last.response["fields"], "queueOffset": str(int(last.response["fields"]["queueOffset"]) + by)}
    later = replace(last, outcome={**last.response, "fields": fields})
    return replace(touched, exchanges=(*others, later, *(each for each in touched.exchanges if each.op != "send")))


@pytest.mark.behaviour("INV-34")
def test_pending_data_of_earlier_configuration_may_still_arrive(tmp_path: Path) -> None:
    delayed = Program(1, "", (("send", {"topic": CLUSTER, "queue": 0, "properties": {"DELAY": "1"}}),))
    after = Program(2, "", (SENDS[0], SENDS[0]))
    first, second = (program.shared for program in judged(InProcess(PROFILE), tmp_path, [delayed, after], workers=1))
    assert first is not None and second is not None

    def explained(*programs: Touched) -> list[bool]:
        return [verdict.finding is None for verdict in judge_topics(programs, PROFILE, EXPANDED)]

    second = replace(second, needs="other settings")
    assert explained(first, second) == [True, True]
    assert explained(first, shifted(second, 1)) == [True, True]
    assert explained(shifted(second, 1)) == [False]
    assert explained(first, shifted(second, 2)) == [True, False]
    assert explained(replace(first, deployment=("another",)), shifted(second, 1)) == [True, False]


@pytest.mark.behaviour("TCM-10", "CHK-10")
def test_topic_created_under_earlier_settings_exists(tmp_path: Path) -> None:
    """A broker that does not check names creates a blank topic, which programs have to share."""
    made = Program(1, "", (("send", {"topic": "  ", "nums": 1}),))
    after = Program(2, "", (("send", {"topic": "  ", "queue": 1}), ("send", {"topic": "  ", "nums": 2})))
    first, second = (program.shared for program in judged(InProcess("P452"), tmp_path, [made, after], workers=1))
    assert first is not None and second is not None
    second = replace(second, needs="other settings")

    def explained(*programs: Touched) -> list[bool]:
        return [verdict.finding is None for verdict in judge_topics(programs, "P452", EXPANDED)]

    assert explained(first, second) == [True, True]
    assert explained(second) == [False]
    assert explained(replace(first, deployment=("another",)), second) == [True, False]


def test_queue_is_drawn_among_queues_of_creating_program(tmp_path: Path) -> None:
    """Before 4.9 the first send creates the schedule topic."""
    first = Program(1, "", (("send", {"topic": SCHEDULE, "nums": 4}),))
    drawn = Program(2, "", tuple(("send", {"topic": SCHEDULE, "nums": 1, "queue": -1}) for _ in range(8)))
    _, found = judged(InProcess("P452"), tmp_path, [first, drawn], workers=1)
    queues = {exchange.response_fields["queueId"] for exchange in load(found.path).exchanges}
    assert queues - {"0"}
    assert differences(load(found.path), PROFILES["P452"]) == []


def test_brokers_that_others_use_too_are_left_out(tmp_path: Path) -> None:
    assert {program.shared for program in judged(InProcess(PROFILE), tmp_path, PROGRAMS[:2], clean=False)} == {None}


def test_automatically_created_topic_is_judged_by_its_responses(tmp_path: Path) -> None:
    """The first half message creates the half topic, to which clients may never send."""
    refused = ("send", {"topic": HALF_TOPIC})
    half = ("send", {"topic": "A", "properties": {"TRAN_MSG": "true"}})
    (found,) = judge_shared(judged(InProcess(PROFILE), tmp_path, [Program(1, "", (refused, half, refused))]), PROFILE)
    assert (found.findings, found.explained) == ([], 2)


def test_broker_filled_topic_is_skipped_once_clients_fill_it(tmp_path: Path) -> None:
    """Before 4.9.4 clients may send to the half messages' topic."""
    programs = [Program(1, "", (("send", {"topic": HALF_TOPIC}), SENDS[0]))]
    (program,) = judged(InProcess("P49"), tmp_path, programs)
    assert program.shared is not None
    assert [found.topic for found in judge_topics([program.shared], "P49", EXPANDED)] == [CLUSTER]


def test_two_half_messages_may_share_offset(tmp_path: Path) -> None:
    """Another program's deletion removes the half topic's queue, which restarts at 0; each end names its message's offset."""
    half = {"queue": 0, "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}
    steps = (("send", half), ("end", {"commit": True}), ("send", half), ("end", {"commit": True}))
    (found,) = judged(InProcess(PROFILE), tmp_path, [Program(1, "", steps)])
    text, first, second = found.path.read_text("utf-8"), '"queueOffset": "0"', '"queueOffset": "1"'
    assert text.count(second) == 1
    found.path.write_text(text.replace(second, first), "utf-8")
    assert differences(load(found.path), PROFILES[PROFILE]) == []


def test_end_names_half_message_offset_even_with_delay(tmp_path: Path) -> None:
    """It is stored among delayed messages (HAZ-39); on a broker with earlier records its offset is not the reference's."""
    half = ("send", {"topic": "A", "queue": 0, "properties": {"TRAN_MSG": "true", "PGROUP": "producers", "DELAY": "1"}})
    programs = [Program(1, "", (SENDS[0],)), Program(2, "", (half, ("end", {"commit": True})))]
    _, found = judged(InProcess(PROFILE), tmp_path, programs, workers=1)
    assert differences(load(found.path), PROFILES[PROFILE]) == []


def test_topic_created_when_time_is_due_may_have_route(tmp_path: Path) -> None:
    """The minutely check of half messages creates it; sending to it is forbidden in any case."""
    steps = (("route", {"topic": HALF_TOPIC}), ("route", {"topic": "nowhere"}), ("send", {"topic": HALF_TOPIC}))
    (found,) = judged(InProcess(PROFILE), tmp_path, [Program(1, "", steps)])
    text = found.path.read_text("utf-8")
    assert {(exchange.op, exchange.code) for exchange in load(found.path).exchanges} == {("route", 17), ("send", 16)}

    def differs(before: str, after: str) -> set[str]:
        found.path.write_text(text.replace(before, after), "utf-8")
        history = load(found.path)
        return {history.names.bare(difference.where.partition("(")[2]) for difference in differences(history, PROFILES[PROFILE])}

    assert differs('"code": 17', '"code": 0') == {"route nowhere)"}
    assert differs('"code": 16', '"code": 1') == {f"send {HALF_TOPIC})"}
