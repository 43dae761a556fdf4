"""Programs of findings are remembered, tried first in the next run, and forgotten when they pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client as session
from rocketproof_properties.commands import run
from rocketproof_properties.judging.verdicts import JudgedProgram, ProgramFinding
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import FUTURE, NARROW
from rocketproof_properties.reports import failures
from rocketproof_properties.validation import memory
from rocketproof_properties.validation.report import ValidationFinding, ValidationReport
from rocketproof_properties.validation.validate import ValidationRequest, validate

SEND = Program(0, "", (("send", {"body": "hello"}),))
BACK = Program(0, "", (("back", {}),))


@contextmanager
def wrong_remarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each recorded response has a remark that no release sends."""
    right = session.answer_data
    with monkeypatch.context() as changed:
        changed.setattr(session, "answer_data", lambda answer: {**right(answer), "remark": "all is well"})
        yield


@pytest.mark.slow
def test_failing_program_is_tried_first_until_it_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    few = ["--programs", "3", "--no-witnesses", "--workers", "1", "--shrink", "3"]
    asked = ["validate", "--target", "inprocess", "--profile", "P494", *few]
    with wrong_remarks(monkeypatch):
        assert run([*asked, "--report", "first"]) == 1
        assert "tried first" not in capsys.readouterr().out
        (kept,) = failures.FOLDER.iterdir()
        assert kept.name.startswith("validate-") and kept.name.endswith("-P494.json")
        rows = json.loads(kept.read_text())["failures"]
        assert rows and all(set(row) == {"source", "needs", "steps"} for row in rows)
        assert run([*asked, "--report", "second"]) == 1
        assert f"of earlier findings tried first: {len(rows)} still show one" in capsys.readouterr().out
        assert kept.exists()
    before = kept.read_bytes()
    assert run([*asked, "--report", "without", "--no-remember"]) == 0
    assert kept.read_bytes() == before and "tried first" not in capsys.readouterr().out
    remembered = len(json.loads(before)["failures"])
    assert run([*asked, "--report", "third"]) == 0
    assert f"tried first: 0 still show one, {remembered} no more and are forgotten" in " ".join(capsys.readouterr().out.split())
    assert not kept.exists()
    headers = [json.loads(path.read_text().splitlines()[0]) for path in sorted((tmp_path / "third/histories").iterdir())]
    numbers = [header["origin"]["program"]["number"] for header in headers]
    assert max(numbers[:remembered]) > 3 and sorted(numbers) == list(range(1, 4 + remembered))


def test_interrupted_run_resumes_same_programs(tmp_path: Path) -> None:
    def request(*, resumes: bool) -> ValidationRequest:
        return ValidationRequest(InProcess(), tmp_path / "r", 3, 7, workers=1, shrink=0, resumes=resumes, remembered=[SEND])

    def progress(what: str, done: int, all_: int) -> None:
        if what == "program" and done == 2:
            raise KeyboardInterrupt

    assert validate(request(resumes=False), progress).stopped == "Ctrl-C"
    report = validate(request(resumes=True))
    assert sorted(program.program for program in report.judged) == [1, 2, 3, 4] and report.exit_code == 0
    assert report.notes == ["1 program of earlier findings tried first: 0 still show one, 1 no more and are forgotten"]


def test_unreached_or_unperformable_programs_stay_remembered(tmp_path: Path) -> None:
    needy = [Program(0, "", SEND.steps, FUTURE), Program(0, "", SEND.steps, NARROW)]
    assert [program.needs for program in memory.numbered([SEND, *needy], 10, configure=False, start=False)] == [""]
    tried = memory.numbered([SEND, BACK, *needy], 10, configure=True, start=True)
    assert [program.number for program in tried] == [11, 12, 13, 14]
    report = ValidationReport({}, "P494", 1, 10)
    report.judged = [_judged(11), _judged(12, ProgramFinding("claims", "INV-30", "is wrong"))]
    report.findings = [ValidationFinding(report.judged[1].findings[0], SEND, "h")]
    assert memory.told(report, tried) == (
        "4 programs of earlier findings tried first: 1 still show one, 1 no more and are forgotten, 2 were not reached"
    )
    assert memory.keep(report, tried, tmp_path / "kept.json") == ""
    kept = memory.programs(failures.read(tmp_path / "kept.json"))
    assert kept == [SEND, BACK, *needy]


def _judged(number: int, *verdicts: ProgramFinding) -> JudgedProgram:
    return JudgedProgram(number, Path("h"), "", frozenset(), list(verdicts))


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "{}", '{"schema": "rocketproof-failures", "version": 2, "failures": []}',
     '{"schema": "rocketproof-failures", "version": 1, "failures": [1, {}, {"steps": 1, "source": "", "needs": ""}]}',
     '{"schema": "rocketproof-failures", "version": 1, "failures": [{"steps": [["send", {}]], "source": "", "needs": "unheard of"}]}'],
)  # fmt: skip
def test_file_that_cannot_be_read_is_nothing_remembered(tmp_path: Path, text: str) -> None:
    (tmp_path / "kept.json").write_text(text)
    assert memory.programs(failures.read(tmp_path / "kept.json")) == []


def test_unwritable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = failures.keep(tmp_path / "file/kept.json", [{"a": 1}])
    assert said.startswith("failures are not remembered: ") and "cannot be written" in said


def test_file_names_contain_target_name() -> None:
    names: list[Any] = [failures.file_of("validate", name, "P494").name for name in ("127.0.0.1:10911", "../my broker", "")]
    assert names == ["validate-127.0.0.1-10911-P494.json", "validate-my-broker-P494.json", "validate-any-P494.json"]
