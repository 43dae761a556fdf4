"""The switches that describe a broker: known values are found again, each with a program, and unexplained differences are reported."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rocketproof_profiles import PROFILES
from rocketproof_profiles.differing import SwitchChange, changes, shown, values
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.runner import Bounds
from rocketproof_properties.commands import run
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation.releases import profiling, witnesses
from rocketproof_properties.validation.releases.explaining import excluding, explain
from rocketproof_properties.validation.releases.staging import Stage
from rocketproof_properties.validation.releases.switching import RecordedProgram

SCHEMA = Path(__file__).parents[2] / "properties/docs/schemas/profile.schema.json"
P494, P533 = PROFILES["P494"], PROFILES["P533"]
STEPS: tuple[tuple[Step, ...], ...] = (
    (("send", {"topic": "täg"}),),
    (("send", {"properties": {"WAIT": "TRUE"}}),),
    (("send", {"times": 16, "topic": "%RETRY%h"}),),
    (("send", {"without": "topic"}),),
)


def recorded(profile: str, folder: Path, programs: list[Program]) -> list[RecordedProgram]:
    found = Stage(InProcess(profile), folder, 0, Bounds(2)).record(programs)
    assert sorted(found) == [program.number for program in programs]
    return list(found.values())


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    """Programs on a broker of P494."""
    programs = [Program(number, "test", steps) for number, steps in enumerate(STEPS, 1)]
    return recorded("P494", tmp_path_factory.mktemp("older"), programs)


def test_each_proposed_value_is_that_of_the_broker(older: list[RecordedProgram]) -> None:
    found = explain(older, P533)
    assert not found.unexplained and not found.agreeing
    assert {"illegal_code", "stores_wait", "dlq_beyond", "wants_topic"} <= {one.switch for one in found.changes}
    for one in found.proposals:
        assert getattr(P494, one.change.switch) == one.change.value
        without = [other for other in found.changes if other != one.change]
        assert one.shown
        assert all(each.differences(P533, without) and not each.differences(P533, found.changes) for each in one.shown)


def test_reused_differences_equal_those_of_a_fresh_replay(older: list[RecordedProgram]) -> None:
    """The search before has replayed profiles that read different switches."""
    chance = random.Random(1)
    explain(older, P533)
    saved = 0
    for one in older:
        for given in [chance.sample(changes(P533), 3) for _ in range(10)]:
            before = one.replays
            known = one.differences(P533, given)
            saved += one.replays == before
            assert known == RecordedProgram.read(one.path).differences(P533, given), given
    assert saved > 10


def test_a_profile_that_fits_needs_no_switch(older: list[RecordedProgram]) -> None:
    found = explain(older, P494)
    assert (found.proposals, found.unexplained, len(found.agreeing)) == ([], {}, len(older))


def test_unexplained_difference_is_reported_with_its_cause(older: list[RecordedProgram]) -> None:
    """The first program is answered with a code that no release has."""
    wrong = RecordedProgram.read(older[0].path)
    (asked,) = wrong.history.exchanges
    items = wrong.history.items
    items[items.index(asked)] = replace(asked, outcome={**asked.outcome, "code": 77})
    found = explain([wrong, *older[1:]], P494)
    assert found.proposals == []
    ((cause, group),) = found.unexplained.items()
    assert (cause.about, group) == ("send.code", [wrong])
    assert cause.one.startswith("77:") and "täg" not in cause.one


def test_distinguishable_switches_are_confirmed(older: list[RecordedProgram]) -> None:
    wanted = [SwitchChange("illegal_code", 29), SwitchChange("stores_wait", True), SwitchChange("slave_rejects", True)]
    found = excluding(older, P494, (), wanted, lambda what, done, all_: None)
    assert {change: one.program.number for change, one in found.items()} == {wanted[0]: 1, wanted[1]: 2}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[int, RecordedProgram]:
    """Record the witnesses of P533 that need no setting, on a broker of it, by their row number."""
    programs = [witnesses.program(row, number) for number, row in enumerate(rows(), 1)]
    return {one.program.number: one for one in recorded("P533", tmp_path_factory.mktemp("witnesses"), programs)}


def rows() -> list[dict[str, object]]:
    return [row for row in witnesses.rows() if row["profile"] == "P533" and not row["needs"]]


def test_each_witness_distinguishes_its_switch(seen: dict[int, RecordedProgram]) -> None:
    assert len(seen) > 15
    for number, row in enumerate(rows(), 1):
        name = str(row["switch"])
        (change,) = [one for one in changes(P533) if one.switch == name and shown(one.value) == row["value"]]
        assert not seen[number].differences(P533), row
        assert seen[number].differences(P533, (change,)), row


def test_change_that_causes_more_differences_is_not_proposed(older: list[RecordedProgram], seen: dict[int, RecordedProgram]) -> None:
    """One message was stored as by P494, and many as by P533."""
    found = explain([older[1], *seen.values()], P533)
    assert found.proposals == []
    assert list(found.unexplained.values()) == [[older[1]]]


def test_values_of_switches_are_those_of_the_profiles() -> None:
    assert values()["dlq_perm"] == (2, 6)
    assert values()["check_names"] == (True, False)
    assert all(getattr(profile, name) in found for name, found in values().items() for profile in PROFILES.values())


def test_command_writes_its_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "_programs", lambda request, target: [Program(1, "test", STEPS[0]), Program(2, "test", STEPS[1])])
    folder, file = tmp_path / "report", tmp_path / "profile.json"
    command = ["profile", "inprocess:P494", "--from", "P533", "--report", str(folder), "--json", str(file), "--shrink", "1"]
    assert run(command) == 1
    data = json.loads(file.read_text("utf-8"))
    Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(data)
    assert data == json.loads((folder / profiling.REPORT).read_text("utf-8"))
    (row,) = [one for one in data["proposals"] if one["switch"] == "illegal_code"]
    assert (row["profile"], row["release"]) == ("29", "1")
    assert row["shown"]["steps"] == [["send", {"topic": "täg"}]]
    assert "illegal_code: 1, not 29" in capsys.readouterr().out
    assert run(["profile", "--again", str(folder), "--from", "P494"]) == 0
    assert "0 switches proposed, 0 differences unexplained" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "give either a target"),
        (["--again", "nowhere"], "give the profile"),
        (["--again", "nowhere", "--from", "P49"], "no histories"),
        (["apache:x"], "names no release"),
        (["what"], "the target what: "),
        (["--again", "nowhere", "--from", "P49", "--programs", "5"], "--programs with --again"),
        (["--again", "nowhere", "--from", "P49", "--report", "x"], "--report with --again"),
    ],
)
def test_incomplete_arguments_are_refused(given: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", *given]) == 2
    assert said in capsys.readouterr().err
