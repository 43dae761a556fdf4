"""Coverage from histories: counts by operation, response and boundary; promised but missing; estimated unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.statistics import ProgramStatistics
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import Step, request_of
from rocketproof_properties.reports.estimates import unseen

STEPS: tuple[Step, ...] = (
    ("send", {"topic": "x" * 127}),
    ("send", {"topic": "x" * 128}),
    ("send", {"queue": 3, "nums": 4}),
    ("back", {"record": 0, "level": -1}),
    ("end", {}),
    ("send", {"one_way": True}),
)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> ProgramStatistics:
    with InProcess("P494").open() as running:
        runner = Runner(running, tmp_path_factory.mktemp("done"), {"profile": "P494"}, Bounds(1), "r000000-")
        path: Path = runner.perform(Program(1, "", STEPS))
        runner.close()
    return judge_file(path, "P494", ()).done


def test_requests_are_counted_by_operation_and_answer(done: ProgramStatistics) -> None:
    assert done.answers == {("send", "0"): 2, ("send", "1"): 1, ("send", "one-way"): 1, ("send_back", "0"): 1}
    assert done.pairs == {("send", "send"): 2, ("send", "send_back"): 1, ("send_back", "send"): 1}


def test_boundaries_are_those_of_sent_names(done: ProgramStatistics) -> None:
    assert done.boundaries["characters of a topic", "at"] == 1
    assert done.boundaries["characters of a topic", "above"] == 1
    assert done.boundaries["queues that a sender wants", "below"] == 1


def test_promised_but_missing_coverage_is_reported(done: ProgramStatistics) -> None:
    assert done.never == {"operation end_transaction": 1}  # there was no half message
    assert done.data()["never"] == done.never


def test_programs_together_are_their_sums(done: ProgramStatistics) -> None:
    both = ProgramStatistics()
    both.add(done)
    both.add(done)
    assert both.answers["send", "0"] == 4
    assert both.kinds["then", "send", "send"] == 4
    assert not [kind for kind, times in both.kinds.items() if times == 1]


def test_single_occurrences_estimate_unseen_kinds() -> None:
    """Of 100 requests, 4 are unique in their kind, and 2 kinds occurred twice."""
    kinds = {"often": 92, "a": 1, "b": 1, "c": 1, "d": 1, "e": 2, "f": 2}
    assert unseen(kinds) == {"share": 0.04, "kinds": 2.0}
    assert unseen({"often": 10}) == {"share": 0.0, "kinds": 0.0}


def test_any_request_field_can_be_omitted_or_replaced() -> None:
    where = Context(ProgramNames("p1-", 1), "broker-a", profile=PROFILES["P494"])
    call = request_of(("topic", {"topic": "A", "without": "perm", "altered": ("readQueueNums", "x")}), where)
    assert call is not None
    assert "perm" not in call.fields and call.fields["readQueueNums"] == "x"


def test_name_tested_for_length_keeps_characters_and_bytes() -> None:
    name = "x" * 60 + "値" * 20
    found = ProgramNames("r000000-12-", 12).topic(name)
    assert found.startswith("r000000-12-x")
    assert (len(found), len(found.encode())) == (len(name), len(name.encode()))
    assert ProgramNames("r000000-12-", 12).topic("xxx") == "r000000-12-xxx"
