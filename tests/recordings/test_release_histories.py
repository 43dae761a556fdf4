"""What releases answered that were not recorded whole: each switch of their profiles with the program that is its reason."""

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
def test_a_release_did_what_the_switch_says_and_not_what_it_said_before(name: str) -> None:
    profile, _, switch = name.partition("-")
    mine = PROFILES[profile]
    before = SwitchChange(switch, getattr(PROFILES[mine.base], switch))
    one = RecordedProgram.read(FOLDER / f"{name}{page.SUFFIX}")
    assert one.is_comparable
    assert one.differences(mine) == []
    assert one.differences(mine, (before,))


def test_each_switch_that_names_this_data_has_a_history() -> None:
    named = {(name, switch) for name, one in PROFILES.items() for switch, why in one.reasons.items() if "tests/data/releases" in why}
    assert named == {(name.partition("-")[0], name.partition("-")[2]) for name in HISTORIES}


@pytest.mark.nightly
def test_the_page_is_made_of_this_data() -> None:
    """`python -m rocketproof_properties.validation.releases.page tests/data/releases` prints the page."""
    assert page.page(FOLDER) == PAGE.read_text("utf-8")


def test_each_switch_has_its_sentence() -> None:
    assert all(sentence.endswith(".") for sentence in page.sentences().values())
    assert {change.switch for one in PROFILES.values() if one.base for change in page.differing(one)} <= page.sentences().keys()
