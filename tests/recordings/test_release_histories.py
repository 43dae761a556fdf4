"""Responses of releases that were not recorded completely: each switch of their profiles with the program that justifies it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_profiles.differing import SwitchChange
from rocketproof_properties.validation.releases import page
from rocketproof_properties.validation.releases.switching import RecordedProgram

FOLDER = Path(__file__).parents[1] / "data" / "releases"
HISTORIES = sorted(path.name.removesuffix(page.SUFFIX) for path in FOLDER.glob(f"*{page.SUFFIX}"))
PAGE = Path(__file__).parents[2] / "properties/docs/results/release-changes.md"


@pytest.mark.nightly
@pytest.mark.parametrize("name", HISTORIES)
def test_release_follows_new_switch_value_not_old(name: str) -> None:
    profile, _, switch = name.partition("-")
    mine = PROFILES[profile]
    before = SwitchChange(switch, getattr(PROFILES[mine.base], switch))
    program = RecordedProgram.read(FOLDER / f"{name}{page.SUFFIX}")
    assert program.is_comparable
    assert program.differences(mine) == []
    assert program.differences(mine, (before,))


def test_each_switch_that_names_this_data_has_history() -> None:
    named = {
        (name, switch) for name, profile in PROFILES.items() for switch, why in profile.reasons.items() if "tests/data/releases" in why
    }
    assert named == {(name.partition("-")[0], name.partition("-")[2]) for name in HISTORIES}


@pytest.mark.nightly
def test_page_is_generated_from_this_data() -> None:
    """`python -m rocketproof_properties.validation.releases.page tests/data/releases` prints the page."""
    assert page.page(FOLDER) == PAGE.read_text("utf-8")


def test_each_switch_has_its_sentence() -> None:
    assert all(sentence.endswith(".") for sentence in page.sentences().values())
    assert {change.switch for profile in PROFILES.values() if profile.base for change in page.differing(profile)} <= page.sentences().keys()
