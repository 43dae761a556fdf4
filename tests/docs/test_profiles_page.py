"""The table of releases: its page, its order, and the profile of each release."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_profiles.releases import LINES, Line, is_recorded, line_of, nearest_profile, table

DOCS = Path(__file__).parents[2] / "properties" / "docs"
ROOT = DOCS.parents[1]


def test_the_page_shows_the_table() -> None:
    assert (DOCS / "profiles.md").read_text("utf-8").endswith(f"\n\n{table()}")


def test_no_other_page_repeats_the_table() -> None:
    for name in ("traces/docs/audit.md", "properties/docs/releases.md", "README.md"):
        text = (ROOT / name).read_text("utf-8")
        assert sum(f"{line.profile} for {line.name}" in text for line in LINES) == 0, name


def test_releases_ascend_and_have_different_profiles() -> None:
    assert all(before.first < after.first for before, after in pairwise(LINES))
    assert len({line.profile for line in LINES}) == len(LINES) > 20
    assert {line.profile for line in LINES} == PROFILES.keys() - {"P45", "P49"}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_a_profile_names_the_releases_that_it_was_made_from(line: Line) -> None:
    about = PROFILES[line.profile].about
    words = {"articles": "as described", "programs": ", by programs", "recording": "as recorded"}
    assert words[line.evidence] in about
    first, last = line.examined[:1], line.examined[-1:]
    assert all(version in about for version in (*first, *last))
    assert all(line_of(version) is line for version in line.examined)
    assert all(is_recorded(version) == (line.evidence == "recording") for version in line.examined)


def test_later_releases_start_with_the_settings_of_5() -> None:
    started = {line.name: (dict(line.start.settings), "rocketmq" in line.start.logback) for line in LINES}
    assert started["4.9.4"] == ({}, False)
    assert started["5.0"] == started["5.5"] == ({"timerWheelEnable": "false"}, True)


@pytest.mark.parametrize(
    ("version", "profile"),
    [
        ("3.2.6", "P40"),
        ("4.0.0", "P40"),
        ("4.3.0", "P430"),
        ("4.3.2", "P432"),
        ("4.9.3", "P493"),
        ("4.9.7", "P494"),
        ("5.1.3", "P511"),
        ("5.3.3-SNAPSHOT", "P533"),
        ("5.5.0", "P550"),
        ("6.0.0", "P550"),
    ],
)
def test_a_release_has_the_profile_of_the_line_before_it(version: str, profile: str) -> None:
    assert nearest_profile(version) == profile
