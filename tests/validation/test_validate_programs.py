"""Programs for the wire: the seed determines them, every step becomes a request, and no two programs share a name."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.call import Context, StoredPlace
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.phrases import MOST_CLIENTS
from rocketproof_properties.programs.pool import PHRASES
from rocketproof_properties.programs.program import Program, ProgramOptions, generate
from rocketproof_properties.programs.selections import WIRED
from rocketproof_properties.programs.settings import ALONE, ASKED, CONFIGURED, ENDED, FLUSHED, LARGE, READ_ONLY, STARTED, WHEEL
from rocketproof_properties.programs.vocabulary import STEPS, is_request, request_of
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.stages import FIRST, LONG, looks, stages_of
from rocketproof_protocol.codes import SEND_BATCH_MESSAGE, SEND_MESSAGE_V2

EVERYTHING = ProgramOptions("P494", 300, 7, configure=True, start=True, end=True)
NAMES = ProgramNames("p1-", 1)


def context() -> Context:
    places = [StoredPlace(0, 0, True, True, "A"), StoredPlace(200, 1, False, True, "A")]
    times = defaultdict[tuple[str, str, int], dict[int, int]](lambda: {0: 1000, 1: 1005, 5: 1100})
    return Context(NAMES, "broker-a", places, 65_536, pulled=places, store_times=times)


@cache
def everything() -> list[Program]:
    return generate(EVERYTHING)


def test_same_seed_gives_same_programs() -> None:
    assert generate(EVERYTHING) == everything()
    assert generate(replace(EVERYTHING, count=20, seed=8)) != generate(replace(EVERYTHING, count=20))


def test_existing_sources_do_not_affect_seed(tmp_path: Path) -> None:
    """Hypothesis sometimes draws constants of modules outside site-packages, which differ between checkouts."""
    before = everything()
    more = tmp_path / "edited.py"
    more.write_text(f"NUMBERS = {tuple(range(100, 1100))}\n")
    spec = spec_from_file_location("edited", more)
    assert spec is not None and spec.loader is not None
    sys.modules["edited"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules["edited"])
        assert generate(EVERYTHING) == before
    finally:
        del sys.modules["edited"]


def test_first_message_of_each_queue_is_queried() -> None:
    """The query follows the send of the same program, to the same queue; legal and illegal queues are drawn."""
    phrases = [each for each in PHRASES if each.name.startswith("the first message of queue")]
    assert {values["queue"] for each in phrases for name, values in each.steps if name != "topic"} == {(n,) for n in (*range(9), -1, -2)}
    for each in nonempty(phrases):
        sent, asked = ({key: values[key] for key in ("topic", "queue")} for name, values in each.steps[-2:])
        assert sent == asked and [name for name, _ in each.steps[-2:]] == ["send", "earliest"]


def test_a_program_depends_on_seed_and_number_alone() -> None:
    assert generate(replace(EVERYTHING, count=120)) == everything()[:120]


def test_every_source_and_configuration_has_programs() -> None:
    programs = everything()
    assert len(programs) == 300
    with_restarts = generate(replace(EVERYTHING, stop=True, corrupt=True, clocks=True))
    for drawn in (programs, with_restarts):
        assert {program.needs for program in drawn} >= {"", *CONFIGURED, *STARTED} - {LARGE, WHEEL}
    assert WHEEL not in {program.needs for program in programs}, "4.9.4 has no timers"
    timers = generate(ProgramOptions("P533", 300, configure=True, start=True, end=True))
    assert {str(step) for program in timers if program.needs == WHEEL for step in program.steps if "TIMER_DEL_UNIQKEY" in str(step)}
    older = generate(replace(EVERYTHING, profile="P45"))  # whose group commit regards a message in a new file as late
    assert {LARGE, FLUSHED} & {program.needs for program in older} == {LARGE}
    assert max(program.clients for program in programs) == MOST_CLIENTS
    assert any(program.concurrent for program in programs)


def test_programs_with_checks_of_half_messages_have_only_answered_requests() -> None:
    steps = [step for program in everything() if program.needs == ASKED for step in program.steps]
    assert any(name == "question" for name, _ in steps)
    assert not [step for step in steps if {**STEPS[step[0]].arguments, **step[1]}.get("one_way")]


def test_programs_on_write_protected_broker_query_routes() -> None:
    mine = [program for program in everything() if program.needs == READ_ONLY]
    assert mine and all(program.steps[-1][0] == "route" for program in mine if any(name in ("send", "topic") for name, _ in program.steps))


def test_programs_ending_process_come_early_and_only_once() -> None:
    groups: dict[str, list[Program]] = {}
    for generated in generate(replace(EVERYTHING, count=600)):
        groups.setdefault(generated.needs, []).append(generated)
    stages = stages_of(groups)
    first, large, *rest = stages
    assert [*first] == [ENDED] and 0 < len(first[ENDED]) < len(groups[ENDED])
    waiting = [program for program in groups[ENDED] if program.waits]
    assert any(program.steps[-1] == ("question", {}) for program in waiting)
    assert first[ENDED][-len(waiting) :] == waiting and len(first[ENDED]) > len(waiting)
    assert large == {FLUSHED: groups[FLUSHED]}
    assert next(iter(rest[0])) == ""
    performed = [program for stage in stages for group in stage.values() for program in group]
    assert sorted(program.number for program in performed) == [*range(1, 601)]
    assert stages_of({ENDED: groups[ENDED]}) == [{ENDED: groups[ENDED]}]


def test_many_programs_that_need_nothing_keep_no_settings_waiting() -> None:
    groups: dict[str, list[Program]] = {}
    for generated in everything() * 4:
        groups.setdefault(generated.needs, []).append(replace(generated, number=len(groups)))
    stages = stages_of(groups)
    with_nothing = [number for number, stage in enumerate(stages) if "" in stage]
    assert with_nothing[-1] == len(stages) - 1 and [*stages[-1]] == [""]
    assert len(stages[with_nothing[0]][""]) == FIRST
    assert [program for stage in stages for program in stage.get("", ())] == groups[""]
    assert {*groups} == {needs for stage in stages for needs in stage}
    few = {"": groups[""][: 2 * FIRST - 1], **{needs: group for needs, group in groups.items() if needs}}
    assert len([stage for stage in stages_of(few) if "" in stage]) == 1
    assert stages_of({"": groups[""]}) == [{"": groups[""]}]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("send", {}), ("route", {})], True),
        ([("route", {}), ("topic", {})], True),
        ([("route", {}), ("pull", {})], False),
        ([("send", {}), ("pull", {})], False),
        ([("send", {}), ("time", {"millis": LONG - 1}), ("route", {})], True),
        ([("send", {}), ("time", {"millis": LONG}), ("route", {})], False),
        ([("send", {"client": 1}), ("route", {})], False),
    ],
)
def test_programs_whose_routes_others_would_hide_run_alone(steps: list[tuple[str, dict[str, object]]], expected: bool) -> None:
    assert looks(Program(1, "", tuple(steps))) is expected


def test_target_without_capabilities_gets_no_demanding_program() -> None:
    programs = generate(ProgramOptions("P494", 200, 7))
    assert {program.needs for program in programs} == {""}
    assert len(programs) == 200


SPECIAL = {(ENDED, "crash"), (ENDED, "question"), (ASKED, "question"), (ASKED, "checked")}


def test_every_step_is_request_or_known_exception() -> None:
    for program in nonempty(everything()):
        for name, args in nonempty(program.steps):
            assert is_request(name) or name in (*WIRED, "hang_up", "notified") or (program.needs, name) in SPECIAL
            if is_request(name):
                call = request_of((name, args), context())
                assert call is not None, (name, args)
                assert call.command().ext_fields is not None or not call.fields


def test_names_belong_to_program_except_broker_names() -> None:
    assert NAMES.topic("A") == "p1-A"
    assert NAMES.topic("%RETRY%g") == "%RETRY%p1-g"
    assert NAMES.topic("%DLQ%g") == "%DLQ%p1-g"
    assert NAMES.topic("TBW102") == "TBW102"
    assert NAMES.topic(" ") == " "
    assert len(NAMES.topic("x" * 127)) == 127
    assert len(NAMES.topic("x" * 128)) == 128
    assert NAMES.is_mine("%DLQ%p1-g")
    assert not NAMES.is_mine("SCHEDULE_TOPIC_XXXX")


def test_born_times_are_unique_within_run() -> None:
    first, other = Context(ProgramNames("p1-", 1), "broker-a"), Context(ProgramNames("p2-", 2), "broker-a")
    births = [first.born() for _ in range(500)] + [other.born() for _ in range(500)]
    assert len(set(births)) == 1000
    assert all(birth in first.births for birth in births[:500])


@pytest.mark.behaviour("REM-04")
def test_message_uses_short_names_and_is_recorded_with_full_names() -> None:
    call = request_of(("send", {"topic": "A", "queue": 3, "times": 5, "most": 7, "unit": True}), context())
    assert call is not None
    assert call.code == SEND_MESSAGE_V2
    assert call.fields["queueId"] == "3"
    sent = call.command().ext_fields
    assert sent is not None
    assert (sent["b"], sent["e"], sent["j"], sent["k"], sent["l"]) == ("p1-A", "3", "5", "true", "7")


@pytest.mark.parametrize(
    ("wanted", "time"),
    [
        ({"record": 0}, 1000),
        ({"record": -1, "plus": 1}, 1101),
        ({"record": 4}, 1005),
        ({"record": (0, 1)}, 1002),
        ({"time": 7, "plus": -8}, -1),
    ],
)
def test_search_names_time_by_pulled_records(wanted: dict[str, Any], time: int) -> None:
    call = request_of(("search", wanted), context())
    assert call is not None and call.fields["timestamp"] == str(time)


def test_search_by_record_of_queue_without_pulled_records_does_nothing() -> None:
    assert request_of(("search", {"record": 0}), Context(NAMES, "broker-a")) is None


def test_batch_has_its_own_code() -> None:
    call = request_of(("send", {"items": [("a", {}), ("bb", {"TAGS": "t"})]}), context())
    assert call is not None
    assert (call.op, call.code, call.fields["batch"]) == ("batch", SEND_BATCH_MESSAGE, "true")


@pytest.mark.behaviour("APP-06", "APP-07")
def test_body_fills_file_up_to_remaining_bytes() -> None:
    where = context()
    where.end = 65_536 + 300
    call = request_of(("send", {"topic": "A", "body": "", "leave": 8}), where)
    assert call is not None and call.body is not None
    assert 300 + where.overhead("broker-a", "p1-A", {}) + len(call.body) == 65_536 - 8


@pytest.mark.behaviour("SEND-25")
@pytest.mark.parametrize(("profile", "longer"), [("P40", 9), ("P49", 0), ("P533", 10)])
def test_record_is_as_long_as_its_profile_stores_it(profile: str, longer: int) -> None:
    """The oldest and newest profiles store WAIT; the newest text has a byte more for each property."""
    where = replace(context(), profile=PROFILES[profile])
    assert where.overhead("broker-a", "p1-A", {"WAIT": "true"}) - where.overhead("broker-a", "p1-A", {}) == longer


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (("sned", {}), f"unknown step 'sned'; the nearest of {len(STEPS)} are send"),
        (("send", {"tpoic": "A"}), "step send has no argument 'tpoic'"),
    ],
)
def test_unknown_step_is_one_line(step: tuple[str, dict[str, object]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        request_of(step, context())


def test_file_filling_programs_form_separate_group() -> None:
    assert all(name == "send" for program in everything() if program.needs == ALONE for name, _ in program.steps)
