"""Releases that show a problem: which are tried, what is kept, and what the result names. Profiles of the implementation play releases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocketproof_profiles.releases import LINES, nearest_profile, startable, version_key
from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.commands import run
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.handwritten import releases, trial
from rocketproof_properties.validation.handwritten.condition import ANY_BROKEN, ShowCondition, condition_of
from rocketproof_properties.validation.handwritten.programfile import ProgramFile, load
from rocketproof_properties.validation.handwritten.releases import bisect, perform_on_releases, releases_between, with_first_problem
from rocketproof_properties.validation.handwritten.trial import ProgramTrial, perform

OPERATIONS = Path(__file__).resolve().parents[2] / "properties" / "examples" / "bug-reports" / "operations-forgotten.py"
RELEASES = ["4.7.0", "4.7.1", "4.9.3", "4.9.4"]


def profiles(program: ProgramFile, release: str, folder: Path, times: int) -> Sequence[ProgramTrial]:
    """Perform a program on the implementation with the release's profile."""
    return perform(program, InProcess(nearest_profile(release)), folder, times=times)


def never(program: ProgramFile, release: str, folder: Path, times: int) -> Sequence[ProgramTrial]:
    raise AssertionError(f"{release} is started again")


def test_every_line_has_a_release_that_can_be_started() -> None:
    assert [version_key(release) for release in startable()] == sorted({version_key(release) for release in startable()})
    assert {nearest_profile(release) for release in startable()} == {line.profile for line in LINES}
    assert startable()[:3] == ("4.0.0-incubating", "4.1.0-incubating", "4.2.0") and startable()[-1] == "5.5.0"


def test_ends_of_a_range_belong_to_it() -> None:
    assert releases_between("4.9.2", "4.9.4") == ["4.9.2", "4.9.3", "4.9.4"]
    assert releases_between("4.9.7", "5.1.0") == ["4.9.7", "5.0.0", "5.1.0"]
    assert releases_between("4.1.0", "4.1.0") == ["4.1.0-incubating"]
    for first, last in (("5.0.0", "4.9.4"), ("4.9", "5.0.0"), ("x", "5.0.0")):
        with pytest.raises(InputError):
            releases_between(first, last)


def test_releases_are_named_and_kept(tmp_path: Path) -> None:
    program = load(str(OPERATIONS))
    condition = condition_of(program, None, None)
    result = bisect(program, RELEASES, condition, folder=tmp_path, try_release=profiles)
    assert [row.shows for row in result.rows] == ["yes", "yes", "no", "no"]
    assert (result.first, result.last, result.without, result.exit_code) == ("4.7.0", "4.7.1", "4.9.3", 1)
    assert result.rows[2].differs == ["7 offset: 0 -> 1"] and result.rows[1].differs == []
    again = bisect(program, RELEASES, condition_of(program, None, "7.offset=1"), folder=tmp_path, try_release=never)
    assert [row.shows for row in again.rows] == ["no", "no", "yes", "yes"] and all(row.tried.cached for row in again.rows)
    with pytest.raises(AssertionError, match="is started again"):
        bisect(program, RELEASES, condition, folder=tmp_path, times=2, try_release=never)


def test_without_a_condition_the_first_difference_counts(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text('STEPS = [("send", {"topic": "A"}), ("pull", {"topic": "A", "queue": 7})]\n')
    result = with_first_problem(
        bisect(load(str(tmp_path / "program.py")), RELEASES[-2:], ANY_BROKEN, folder=tmp_path, try_release=profiles)
    )
    assert result.condition.text == "a response differs from that of 4.9.3" and [row.shows for row in result.rows] == ["no", "no"]
    shown = load(str(OPERATIONS))
    broken = with_first_problem(bisect(shown, RELEASES[-2:], ANY_BROKEN, folder=tmp_path, try_release=profiles))
    assert broken.condition.text == "INV-44 is broken" and broken.first == "4.9.3"


def test_halving_tries_few_releases(tmp_path: Path) -> None:
    program = load(str(OPERATIONS))
    tried: list[str] = []

    def counting(program: ProgramFile, release: str, folder: Path, times: int) -> Sequence[ProgramTrial]:
        tried.append(release)
        return profiles(program, release, folder, times)

    between = releases_between("4.7.0", "4.9.4")
    condition = condition_of(program, None, None)
    result = bisect(program, between, condition, folder=tmp_path, binary=True, try_release=counting)
    whole = bisect(program, between, condition, folder=tmp_path, try_release=profiles)
    assert len(tried) < len(between) and (result.first, result.without) == (whole.first, whole.without)


def test_release_that_does_not_start_is_undecided(tmp_path: Path) -> None:
    def failing(program: ProgramFile, release: str, folder: Path, times: int) -> Sequence[ProgramTrial]:
        raise TargetError("there is no java")

    program = load(str(OPERATIONS))
    result = bisect(program, ["4.9.4"], ShowCondition("it", lambda answers, broken: False), folder=tmp_path, try_release=failing)
    assert (result.exit_code, result.undecided) == (3, ["4.9.4"]) and result.rows[0].tried.problem == "there is no java"


def test_programs_with_equal_setups_share_brokers(tmp_path: Path) -> None:
    made: list[str] = []

    def target_of(release: str) -> InProcess:
        made.append(release)
        return InProcess(nearest_profile(release))

    plain = ['STEPS = [("send", {"topic": "A"})]\n', 'STEPS = [("send", {"topic": "A"}), ("pull", {"topic": "A"})]\nTIMES = 2\n']
    alone = ['STEPS = [("max_offset", {"topic": "RMQ_SYS_TRANS_OP_HALF_TOPIC"})]\n', 'STEPS = [("send", {}), ("crash", {})]\n']
    programs = []
    for number, text in enumerate([*plain, *alone]):
        (tmp_path / f"program{number}.py").write_text(text)
        programs.append(load(str(tmp_path / f"program{number}.py")))
    perform_on_releases(programs[:3], ["4.9.4"], folder=tmp_path, target_of=target_of)
    assert len(made) == 2
    condition = ShowCondition("it", lambda answers, broken: answers[1].code == 0)
    for program in programs[:3]:
        result = bisect(program, ["4.9.4"], condition, folder=tmp_path, try_release=never)
        assert len(result.rows[0].tried.trials) == program.times and result.shown == "4.9.4"
    perform_on_releases(programs[:3], ["4.9.4"], folder=tmp_path, target_of=target_of)
    assert len(made) == 2
    assert len(releases._groups(programs)) == 3


def test_program_that_a_busy_machine_disturbs_runs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = iter([True, True, False])
    monkeypatch.setattr(trial, "_was_busy", lambda history: next(busy))
    (tmp_path / "program.py").write_text('STEPS = [("send", {"topic": "A"})]\n')
    perform(load(str(tmp_path / "program.py")), InProcess("P494"), tmp_path)
    assert next(busy, None) is None and len(list(tmp_path.glob("*.ndjson"))) == 3


def test_command_prints_a_table_of_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(releases, "_perform", profiles)
    assert run(["bisect", str(OPERATIONS), "--from", "4.7.1", "--to", "4.9.4", "--json", "out.json"]) == 1
    said = capsys.readouterr().out
    assert "first release that shows it: 4.7.1 (the earliest tried)" in said and "first later release that does not: 4.9" in said
    assert run(["bisect", str(OPERATIONS), "--from", "4.9.4", "--to", "4.7.1"]) == 2
    (tmp_path / "plain.py").write_text('STEPS = [("send", {})]')
    assert run(["bisect", "plain.py", "--binary"]) == 2
