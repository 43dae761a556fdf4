"""An interrupted run resumes: recorded programs are judged and not run again, an incomplete one is repeated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.commands import run
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.resume import is_over
from rocketproof_properties.validation.validate import ValidationRequest, validate

PROGRAMS, SEED = 8, 7


def request(folder: Path, *, resumes: bool = False) -> ValidationRequest:
    return ValidationRequest(InProcess(), folder, PROGRAMS, SEED, workers=1, shrink=0, resumes=resumes)


def interrupted(folder: Path, after: int) -> None:
    """Send Ctrl-C after `after` judged programs."""

    def progress(what: str, done: int, all_: int) -> None:
        if what == "program" and done == after:
            raise KeyboardInterrupt

    assert validate(request(folder), progress).stopped == "Ctrl-C"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "histories").glob("*.ndjson")}


def numbers(folder: Path) -> list[int]:
    return sorted(json.loads(data.splitlines()[0])["origin"]["program"]["number"] for data in contents(folder).values())


@pytest.mark.nightly
def test_recorded_programs_are_not_run_again(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    interrupted(folder, 5)
    before = contents(folder)
    assert len(before) < PROGRAMS
    report = validate(request(folder, resumes=True))
    after = contents(folder)
    assert before.items() <= after.items()
    assert numbers(folder) == list(range(1, PROGRAMS + 1))
    assert (len(report.judged), report.stopped, report.exit_code) == (PROGRAMS, "", 0)
    plain = validate(request(tmp_path / "plain"))
    assert sorted((program.program, program.source, program.requests) for program in report.judged) == sorted(
        (program.program, program.source, program.requests) for program in plain.judged
    )


@pytest.mark.nightly
def test_truncated_program_runs_again_and_history_is_set_aside(tmp_path: Path) -> None:
    """As after kill -9: no report, and a truncated history."""
    folder = tmp_path / "report"
    interrupted(folder, 6)
    (folder / "report.json").unlink()
    cut, headless, *_ = sorted((folder / "histories").glob("*.ndjson"))
    cut.write_bytes(cut.read_bytes()[:-40])
    headless.write_bytes(b"")
    report = validate(request(folder, resumes=True))
    assert (len(report.judged), report.exit_code) == (PROGRAMS, 0)
    assert numbers(folder) == list(range(1, PROGRAMS + 1))
    assert sorted(path.name for path in (folder / "interrupted").iterdir()) == sorted((cut.name, headless.name))


@pytest.mark.nightly
def test_run_that_is_over_needs_no_target(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    first = validate(request(folder))

    class Gone(InProcess):
        def open(self, setup: Setup = DEFAULT) -> Deployment:
            raise AssertionError

    again = validate(ValidationRequest(Gone(), folder, PROGRAMS, SEED, shrink=0, resumes=True))
    assert (len(again.judged), again.exit_code) == (PROGRAMS, 0)
    assert len(again.logs) == len(first.logs)
    assert all(is_over(path) for path in (folder / "histories").iterdir())


@pytest.mark.nightly
def test_programs_of_other_release_are_kept_separate(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    interrupted(folder, 3)
    path = next(path for path in sorted((folder / "histories").iterdir()) if is_over(path))
    head, _, rest = path.read_text("utf-8").partition("\n")
    header = json.loads(head)
    header["origin"]["program"]["steps"].append(["send", {}])
    path.write_text(f"{json.dumps(header)}\n{rest}", "utf-8")
    with pytest.raises(InputError, match="is of a program that this seed does not give any more"):
        validate(request(folder, resumes=True))


def test_command_resumes_with_its_original_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "report"
    asked = ("--target", "inprocess", "--programs", "9", "--seed", "2", "--report", str(folder), "--no-witnesses", "--shrink", "0")
    assert run(["validate", *asked, "--time", "0.0001"]) == 3
    assert "stopped: --time" in capsys.readouterr().out
    assert run(["validate", "--resume", str(folder)]) == 0
    assert "9 programs" in capsys.readouterr().out
    assert json.loads((folder / "report.json").read_text("utf-8"))["witnesses"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no run.json"),
        ("[", "its run.json was not written by validate"),
        ("{}", "its run.json was not written by validate"),
        ('{"schema": "rocketproof-validation-run", "version": 1}', "has version 1"),
        ('{"schema": "rocketproof-validation-run", "version": 3}', "has version 3"),
    ],
)
def test_foreign_folder_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text, "utf-8")
    assert run(["validate", "--resume", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
