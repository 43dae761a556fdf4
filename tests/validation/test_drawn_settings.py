"""Settings of programs: each legal value is drawn, a history states it, and every judge knows its effects."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.broker.settingstext import FIELDS
from rocketproof_lab.bench.released import CONFIGS, released
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, setup_of
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.settings import NAME_SERVER_FIELDS, change, name_server_settings
from rocketproof_properties.judging.statistics import ProgramStatistics
from rocketproof_properties.programs.program import POOL, Program, ProgramOptions, generate
from rocketproof_properties.programs.settings import (
    ALONE,
    CONFIGURED,
    ENDED,
    LEGAL,
    NO_TOPICS,
    NOT_DRAWN,
    ORDERED,
    PROGRAMS_PER_START,
    READ_ONLY,
    STARTED,
    WITHOUT_EFFECT,
    at_start,
    can_be_had,
    dealt,
    is_known,
    needs_of,
    of_name_server,
    settings_of,
    stages,
    while_running,
)
from rocketproof_properties.validation import memory
from rocketproof_properties.validation.validate import ValidationRequest, validate

BOTH = needs_of({"regionId": "eu", "defaultTopicQueueNums": "3"})


def of(profile: str, programs: int = 2000, *, configure: bool = True, start: bool = True) -> list[str]:
    """The sets of settings that are drawn for so many programs."""
    found = islice(dealt(random.Random(1), PROFILES[profile], configure=configure, start=start), programs // PROGRAMS_PER_START)
    return [*dict.fromkeys(needs for needs_ in found for needs in needs_)]


def test_every_setting_is_drawn_or_has_reason_why_not() -> None:
    listed = [name for table in (LEGAL, NOT_DRAWN, WITHOUT_EFFECT) for name in table]
    assert len(listed) == len(set(listed))
    assert {*FIELDS, *NAME_SERVER_FIELDS} <= {*listed}
    of_releases = {row.name for row in released() if row.owner in CONFIGS}
    assert {*listed} <= {*FIELDS, *of_releases}


def test_every_drawn_value_is_valid_and_not_default() -> None:
    for name, legal in nonempty(LEGAL.items()):
        assert len(set(legal.values)) == len(legal.values) > 1
        for value in legal.values:
            if legal.name_server:
                name_server_settings({name: value})
            else:
                change(BrokerSettings(), name, value)


def test_every_non_default_value_known_to_profile_is_drawn() -> None:
    found = {pair for needs in of("P533") for pair in settings_of(needs).items()}
    assert found == {(name, value) for name, legal in LEGAL.items() for value in legal.values[1:]}
    older = {name for needs in of("P40") for name in settings_of(needs)}
    assert older == {name for name, legal in LEGAL.items() if not legal.switch or getattr(PROFILES["P40"], legal.switch)}


def test_settings_are_drawn_about_equally() -> None:
    """Two sets share a broker's start settings, and no name occurs twice in a set."""
    often = Counter(pair for needs in of("P533") for pair in settings_of(needs).items())
    for start in (True, False):
        counts = [times for (name, _), times in often.items() if LEGAL[name].start is start]
        assert max(counts) <= 2 * min(counts) + 2


def test_target_gets_only_supported_settings() -> None:
    assert of("P494", configure=False, start=False) == []
    assert not any(at_start(needs) for needs in of("P494", start=False))
    assert not any(while_running(needs) for needs in of("P494", configure=False))
    few = generate(ProgramOptions("P494", 60, configure=True, start=True))
    assert {one.needs for one in few} <= {"", *CONFIGURED, *STARTED}, "a short run starts no broker with drawn settings"


def test_needs_separate_settings_of_name_server() -> None:
    both = needs_of({"orderMessageEnable": "true", "defaultTopicQueueNums": "3"})
    assert setup_of(both) == Setup(settings={"defaultTopicQueueNums": "3"}, name_server={"orderMessageEnable": "true"})
    assert setup_of(ORDERED).name_server.keys() == {*NAME_SERVER_FIELDS} and setup_of(ORDERED).settings == at_start(ORDERED)
    assert can_be_had(both, configure=False, start=True)
    assert not can_be_had(both, configure=True, start=True, start_name_server=False)
    assert stages([both, needs_of({"defaultTopicQueueNums": "3"})]) == [(needs_of({"defaultTopicQueueNums": "3"}),), (both,)]
    for more in ({"start_name_server": False}, {"name_server": False}):
        choice = ProgramOptions("P533", 600, 3, configure=True, start=True, **more)
        assert not any(of_name_server(program.needs) for program in generate(choice))


def test_needs_separate_start_settings_from_later_changes() -> None:
    assert at_start(BOTH) == {"defaultTopicQueueNums": "3"}
    assert while_running(BOTH) == {"regionId": "eu"}
    assert settings_of(BOTH) == {**at_start(BOTH), **while_running(BOTH)}
    assert (at_start(ENDED), while_running(ENDED)) == (STARTED[ENDED], {})
    assert (at_start(READ_ONLY), while_running(READ_ONLY)) == ({}, CONFIGURED[READ_ONLY])
    assert (at_start(""), while_running("")) == ({}, {})


@pytest.mark.parametrize(
    ("needs", "known"), [("", True), (BOTH, True), (ALONE, True), ("regionId", False), ("nothing=1", False), ("x", False)]
)
def test_unsupported_settings_are_unknown(needs: str, known: bool) -> None:
    assert is_known(needs) is known


def test_programs_with_equal_start_settings_share_broker() -> None:
    other = needs_of({"traceOn": "false", "defaultTopicQueueNums": "3"})
    later = needs_of({"traceOn": "false"})
    found = stages(["", BOTH, NO_TOPICS, ENDED, other, later])
    assert found == [("", later, NO_TOPICS), (ENDED,), tuple(sorted((BOTH, other)))]


def test_programs_have_drawn_settings_unless_they_are_not_wanted() -> None:
    choice = ProgramOptions("P494", 200, 3, configure=True, start=True)
    named = {"", *CONFIGURED, *STARTED}
    made = [program for program in generate(choice) if program.needs not in named]
    assert len(made) > 10 and {program.source for program in made} == {POOL}
    assert all(settings_of(program.needs) == program.settings for program in made)
    assert not [
        program
        for program in generate(ProgramOptions("P494", 200, 3, configure=True, start=True, drawn=False))
        if program.needs not in named
    ]


def test_remembered_programs_are_those_with_supported_settings() -> None:
    program = Program(0, "", (("send", {}),), BOTH)
    assert memory.programs([program.data(), {**program.data(), "needs": "nothing=1"}]) == [program]
    assert len(memory.numbered([program], 0, configure=True, start=True)) == 1
    assert memory.numbered([program], 0, configure=True, start=False) == memory.numbered([program], 0, configure=False, start=True) == []


def test_program_with_settings_is_performed_judged_and_reported(tmp_path: Path) -> None:
    program = Program(0, "", (("send", {"nums": 8}), ("send", {"queue": 5})), BOTH)
    report = validate(ValidationRequest(InProcess("P494"), tmp_path / "r", 0, shrink=0, remembered=(program,)))
    assert not report.findings and not report.stopped
    (judged,) = report.judged
    assert judged.by == ("claims", "reference")  # the specification does not know other numbers of queues
    assert report.done.values == {("regionId", "eu"): 1, ("defaultTopicQueueNums", "3"): 1}
    assert report.done.data()["values"] == {"defaultTopicQueueNums": {"3": 1}, "regionId": {"eu": 1}}
    text = judged.path.read_text("utf-8")
    assert '"MSG_REGION":"eu"' in text.replace(": ", ":") and "illegal" in text  # three queues, so that the sixth is none


def test_setting_not_applied_by_broker_is_reported(tmp_path: Path) -> None:
    class Deaf(InProcess):
        def open(self, setup: Setup = DEFAULT) -> Deployment:
            return super().open()

    program = Program(0, "", (("send", {}),), needs_of({"defaultTopicQueueNums": "3"}))
    report = validate(ValidationRequest(Deaf("P494"), tmp_path / "r", 0, shrink=0, remembered=(program,)))
    assert [note for note in report.notes if "may ignore" in note and note.endswith(": defaultTopicQueueNums")]


def test_programs_that_share_settings_are_counted_by_value() -> None:
    done = ProgramStatistics(settings=Counter({BOTH: 3, "regionId=eu": 2, "": 7, "no trace": 1}))
    assert done.values == {("regionId", "eu"): 5, ("defaultTopicQueueNums", "3"): 3, ("traceOn", "false"): 1}
