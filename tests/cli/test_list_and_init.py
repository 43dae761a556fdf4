"""`rocketproof list` and `rocketproof init`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.description import read
from rocketproof_properties.brokers.forms import TargetForm, form_of, profile_named
from rocketproof_properties.commands import listing, starting
from rocketproof_properties.commands.checks.plan import CheckRequest, plan
from rocketproof_properties.hazards import HAZARDS
from rocketproof_spec import NAMES

Run = Callable[..., Any]


@pytest.mark.parametrize("kind", get_args(listing.Kind))
def test_list_prints_every_entry_with_a_sentence(kind: str, rocketproof: Run) -> None:
    done = rocketproof("list", kind, "--json", "out.json")
    assert done.code == 0
    rows = json.loads(Path("out.json").read_text())
    assert all(row["name"] and row["about"] for row in rows)
    least = {"properties": 300, "profiles": 27, "scopes": 30, "hazards": 60, "releases": 25, "rules": 200, "promises": 40, "steps": 40}
    assert len(rows) >= least[kind]
    assert rows[0]["name"] in done.out


def test_list_has_the_names_that_other_commands_take() -> None:
    names = {kind: [entry.name for entry in listing._LISTINGS[kind].entries()] for kind in get_args(listing.Kind)}
    assert names["profiles"] == list(PROFILES)
    assert names["scopes"] == list(NAMES)
    assert names["hazards"] == list(HAZARDS)


def test_search_words_select_entries_in_any_case_and_order(rocketproof: Run) -> None:
    done = rocketproof("list", "hazards", "DELETED", "acknowledged")
    assert done.code == 0
    assert "HAZ-62" in done.out
    assert "HAZ-03" not in done.out
    assert "of 62 hazards contain DELETED and acknowledged" in done.out
    assert rocketproof("list", "hazards", "acknowledged", "deleted").out.count("HAZ-") == done.out.count("HAZ-")


def test_a_search_without_a_result_says_so(rocketproof: Run) -> None:
    done = rocketproof("list", "rules", "zebra")
    assert done.code == 0
    assert "0 of 204 rules contain zebra" in done.out


@pytest.mark.parametrize("kind", get_args(starting.Kind))
def test_init_never_overwrites_a_file(kind: starting.Kind, rocketproof: Run) -> None:
    assert rocketproof("init", kind).code == 0
    file = starting.TEMPLATES[kind].default
    file.write_text("mine")
    done = rocketproof("init", kind)
    assert done.code == 2
    assert done.err.startswith(f"rocketproof: {file} exists")
    assert file.read_text() == "mine"
    assert rocketproof("init", kind, "other/file").code == 0
    assert Path("other/file").stat().st_size


def test_a_written_model_is_checked(rocketproof: Run) -> None:
    rocketproof("init", "model")
    done = rocketproof("check", "model.py")
    assert done.code == 0, done.out + done.err
    assert "3 verdicts, all as expected" in done.out


def test_a_written_target_is_a_description(rocketproof: Run) -> None:
    rocketproof("init", "target")
    described = read(Path("broker.toml"))
    assert (described.name, described.profile) == ("my-broker", "P494")


def test_a_written_workflow_is_yaml_with_a_known_command(rocketproof: Run) -> None:
    rocketproof("init", "ci")
    workflow = yaml.safe_load(Path(".github/workflows/rocketproof.yml").read_text())
    (run,) = [step["run"] for step in workflow["jobs"]["validate"]["steps"] if "validate" in step.get("run", "")]
    assert run.split()[:4] == ["rocketproof", "validate", "--target", "broker.toml"]


def test_a_release_selects_the_nearest_profile_with_a_verdict_for_each_property() -> None:
    tasks = plan(CheckRequest(profiles=("4.9.4",))).tasks
    assert {task.source.profile for task in tasks} == {"P494", "P49", "P45"}  # P45: claims that do not depend on later changes
    by_property = {(task.property, task.claim): set[str]() for task in tasks}
    for task in tasks:
        by_property[task.property, task.claim].add(task.source.profile)
    assert all(len(profiles) == 1 for profiles in by_property.values())
    named = {(task.property, task.claim) for task in plan(CheckRequest(profiles=("P494",))).tasks}
    assert {claim for claim, profiles in by_property.items() if profiles == {"P494"}} == named


def test_a_release_is_a_profile_and_a_target(rocketproof: Run) -> None:
    assert profile_named("4.7.1") == "P471"
    assert form_of("5.3.3") == TargetForm("apache", "5.3.3")
    done = rocketproof("hazard", "HAZ-03", "--profile", "4.9.4")
    assert (done.code, "(P494)" in done.out) == (0, True)
