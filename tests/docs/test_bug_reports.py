"""The table of public bug reports: its page, its programs, and verdicts that agree with what was measured."""

from __future__ import annotations

import re

import pytest

from nonempty import nonempty
from rocketproof_lab.bugreports import (
    FIRST_INPUTS,
    OUT_OF_REACH,
    PAGE,
    REFUTED,
    REPRODUCED,
    VALIDATED,
    VERDICTS,
    measured,
    measured_text,
    page,
    programs,
    reports,
)
from rocketproof_profiles.releases import nearest_profile, startable
from rocketproof_properties.catalogue.promises.broken import KnownBreach, breaches, line_number
from rocketproof_properties.catalogue.promises.statements import promises
from rocketproof_properties.validation.knownbugs.bugs import bugs

STEPS = 10


def test_page_has_the_reports() -> None:
    assert PAGE.read_text("utf-8") == page()


def test_every_program_belongs_to_a_report() -> None:
    named = {name for report in reports() for name in report.programs}
    assert named | set(FIRST_INPUTS) == set(programs()) == set(measured())


@pytest.mark.parametrize("name", sorted(programs()))
def test_program_has_at_most_ten_steps_and_a_condition(name: str) -> None:
    program = programs()[name]
    assert len(program.steps) <= STEPS
    assert (program.shows is not None or program.finding) and program.sentence.endswith(".")


def test_reports_are_distinct_and_no_known_bugs() -> None:
    numbers = [report.number for report in reports()]
    assert len(numbers) == len(set(numbers)) >= 30
    known = {int(number) for bug in bugs() for number in re.findall(r"\d{3,}", bug.issue)}
    assert not known & set(numbers)
    assert all(report.verdict in VERDICTS and report.text and report.claim.endswith(".") for report in reports())


def test_at_least_twenty_reports_are_decided() -> None:
    assert sum(report.verdict != OUT_OF_REACH for report in reports()) >= 20


def test_verdicts_agree_with_the_measured_releases() -> None:
    for report in nonempty(reports()):
        shown = {release for name in report.programs for release in measured()[name].shows}
        tried = {release for name in report.programs for release in measured()[name].tried}
        assert (report.validate in VALIDATED) == (report.verdict == REPRODUCED), report.number
        if report.verdict == REPRODUCED:
            assert shown, report.number
        elif report.verdict == REFUTED:
            named = set(re.findall(r"\d+\.\d+(?:\.\d+)?", report.named))
            affected = {release for release in shown if any(release == name or release.startswith(f"{name}.") for name in named)}
            assert not affected and tried, report.number


def test_measured_releases_can_be_started() -> None:
    for name, found in nonempty(measured().items()):
        assert set(found.shows) <= set(found.tried) <= set(startable()) | {"4.9.7"}, name
        assert set(found.undecided) <= set(found.tried), name


def test_broken_promises_exist() -> None:
    known = {promise.id for promise in promises()}
    assert {name for report in reports() for name in re.findall(r"PRO-\d+", report.broken)} <= known


RACES = {"registered-on-a-new-connection"}
"""Programs that do not show their problem on each affected release."""


@pytest.mark.parametrize("entry", [entry for entry in breaches() if entry.measured], ids=lambda entry: f"{entry.promise}-{entry.measured}")
def test_documented_releases_are_the_measured_ones(entry: KnownBreach) -> None:
    found = measured()[entry.measured]
    decided = [release for release in found.tried if release not in found.undecided]
    shown = {line_number(nearest_profile(release)) for release in found.shows}
    tried = {line_number(nearest_profile(release)) for release in decided}
    assert shown <= set(entry.lines)
    assert entry.measured in RACES or shown == tried & set(entry.lines)


def test_trials_become_measured_releases() -> None:
    row = {"release": "4.9.4", "problem": "", "shows": "yes", "broken": [{"judge": "claims", "property": "PRO-28"}]}
    other = {"release": "5.0.0", "problem": "", "shows": "unknown", "broken": []}
    failed = {"release": "5.1.0", "problem": "there is no java", "shows": "unknown", "broken": []}
    text = measured_text([{"program": "a/b.py", "releases": [row, other, failed]}])
    assert text.endswith('[b]\ntried = ["4.9.4", "5.0.0"]\nshows = ["4.9.4"]\nundecided = ["5.0.0"]\nbroken = ["PRO-28"]\n')
