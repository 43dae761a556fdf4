"""The gallery of known hazards: each happens as described in every profile that shows it, and the command reports it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties import hazards
from rocketproof_properties.catalogue.rules import rules
from rocketproof_properties.commands import run
from rocketproof_properties.hazards import HAZARDS
from rocketproof_properties.hazards.gallery import Hazard, hazard, perform
from rocketproof_properties.hazards.scenario import HazardScenario

EVERY = [
    pytest.param(one, profile, id=f"{one.id}-{profile}", marks=pytest.mark.behaviour(one.id, *one.asserts))
    for one in HAZARDS.values()
    for profile in one.profiles
]


@pytest.mark.parametrize(("one", "profile"), EVERY)
def test_a_hazard_happens_as_described(one: Hazard, profile: str) -> None:
    performed = perform(one, profile)
    assert not performed.finding, performed.finding
    assert performed.shown


def test_every_hazard_has_its_own_number() -> None:
    assert list(HAZARDS)[:46] == [f"HAZ-{number:02}" for number in range(1, 47)]
    assert list(HAZARDS) == sorted(HAZARDS), "hazards that were found later have numbers of their own"
    assert len(HAZARDS) == len(hazards._FOUND), "two hazards have the same number"


@pytest.mark.parametrize("one", HAZARDS.values(), ids=HAZARDS)
def test_a_hazard_states_facts_cause_and_remedy(one: Hazard) -> None:
    performed = perform(one, one.profiles[0])
    assert one.title.endswith(".")
    assert len(one.title) <= 120
    assert any(paragraph.startswith("To avoid it: ") for paragraph in one.about)
    assert one.rules
    assert set(one.asserts) <= set(rules())
    assert all(step.text.endswith((".", ":", "?")) for step in performed.steps)
    assert sum(len(step.facts) for step in performed.steps) >= 2


@hazard("HAZ-99", asserts="TCM-15")
def wrong(scenario: HazardScenario) -> None:
    """A scenario with a wrong fact.

    To avoid it: correct the fact.
    """
    cluster = scenario.cluster()
    scenario.step("A client sends the first message to T.")
    scenario.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 0")
    scenario.check("T on the broker", cluster.topic(), "read 8, write 8, RW-")
    scenario.step("This step is not reached.")


@hazard("HAZ-98")
def broken(scenario: HazardScenario) -> None:
    """A scenario that ends with an exception."""
    scenario.step("A broker that is not there is asked.")
    scenario.cluster().broker("broker-z")


def test_different_fact_is_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(hazards.HAZARDS, "HAZ-99", wrong)
    assert run(["hazard", "HAZ-99"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "! T on the broker: expected read 8, write 8, RW-; found read 4, write 4, RW-" in said
    assert "HAZ-99 is not as described in P49" in said
    assert "This step is not reached" not in said


def test_a_list_with_a_finding_marks_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(hazards, "HAZARDS", {"HAZ-07": HAZARDS["HAZ-07"], "HAZ-99": wrong})
    assert run(["hazard"]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("  HAZ-07  P49")
    assert second.startswith("! HAZ-99  P49")


def test_an_exception_is_a_finding() -> None:
    performed = perform(broken, "P49")
    assert performed.finding == "the program ends with KeyError: 'broker-z'"
    assert [step.text for step in performed.steps] == ["A broker that is not there is asked."]


def test_the_command_shows_a_hazard_with_its_facts_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hazard", "haz-03"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        "HAZ-03 Auto-creation that was switched off once cannot be switched on again. (P49)",
        "4 No first message creates a topic any more. the answer TOPIC_NOT_EXIST: topic[T] not exist, apply first please!",
        "rule PER-04",
        "mutant M-60",
        "HAZ-03 is shown in P49: ",
    ):
        assert part in said


def test_the_command_lists_all_hazards_in_a_line_each(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert run(["hazard"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  HAZ-")]
    assert listed == list(HAZARDS)
    assert any(line.startswith(f"{len(HAZARDS)} shown; ") for line in lines)


def test_profile_omits_hazards_that_it_does_not_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "hazards.json"
    assert run(["hazard", "--profile", "p40", "--json", str(file)]) == 0
    found = json.loads(file.read_text())
    assert {one["profile"] for one in found} == {"P40"}
    assert [one["id"] for one in found] == [hazard.id for hazard in HAZARDS.values() if "P40" in hazard.profiles]
    assert f"{len(HAZARDS) - len(found)} left out" in capsys.readouterr().out


def test_the_json_has_the_steps_with_their_facts(tmp_path: Path) -> None:
    file = tmp_path / "hazards.json"
    assert run(["hazard", "HAZ-07", "--json", str(file)]) == 0
    (seven,) = json.loads(file.read_text())
    assert list(seven)[:6] == ["id", "title", "profile", "steps", "shown", "seconds"]
    assert (seven["id"], seven["profile"], seven["shown"], seven["finding"]) == ("HAZ-07", "P49", True, "")
    assert {"what": "T in memory", "found": "read 0, write 0, RW-"} in seven["steps"][0]["facts"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["HAZ-4"], f"unknown hazard 'HAZ-4'; the nearest of {len(HAZARDS)} are HAZ-04, "),
        (["4"], f"unknown hazard '4'; the nearest of {len(HAZARDS)} are HAZ-04"),
        (["the skew of queues"], f"unknown hazard 'the skew of queues'; there are {len(HAZARDS)}, such as HAZ-01, "),
        (["HAZ-31", "--profile", "P49"], "HAZ-31 does not show in P49; use --profile P45 or P40"),
        (["--profile", "P4"], f"unknown profile 'P4'; the nearest of {len(PROFILES)} are P49, P45, P40"),
        (["--json", "pyproject.toml/file.json"], "is a file and no folder"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hazard", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
