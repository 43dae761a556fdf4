"""The steps of .ci/run and .ci/nightly: what fails is told and does not end the run, Ctrl-C keeps what ended, and a later run goes on."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from steps_of_ci import CI


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results of the steps, elsewhere."""
    monkeypatch.setattr(CI, "RESULTS", tmp_path / "ci")
    monkeypatch.setattr(CI, "RECORD", tmp_path / "nightly.json")
    monkeypatch.setattr(CI, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # of these tests' pytest
    return tmp_path


def given(monkeypatch: pytest.MonkeyPatch, *steps: Any) -> None:
    monkeypatch.setattr(CI, "RUN", steps)
    monkeypatch.setattr(CI, "NIGHTLY", steps)


def results(places: Path, tier: str = "run") -> dict[str, int]:
    return {one["name"]: one["code"] for one in json.loads((places / "ci" / f"{tier}.json").read_text())["steps"]}


def test_a_step_that_fails_does_not_end_the_run(places: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    given(
        monkeypatch,
        CI.Step("one", "echo of one; exit 4"),
        CI.Step("two", "echo of two", single=True),
        CI.Step("three", "true", single=True),
    )
    assert CI.main(["run"]) == 1
    assert results(places) == {"one": 4, "two": 0, "three": 0}
    said = capfd.readouterr().out
    assert "of one" in said and "of two" in said
    assert "FAILED (4)" in said


def test_each_test_has_a_result(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (places / "test_it.py").write_text("import pytest\ndef test_a(): pass\ndef test_b(): assert 0\n@pytest.mark.skip\ndef test_c(): pass\n")
    given(monkeypatch, CI.Step("tests", "pytest -q -p no:cacheprovider test_it.py"))
    assert CI.main(["run"]) == 1
    (found,) = json.loads((places / "ci" / "run.json").read_text())["steps"]
    assert (found["passed"], found["skipped"], found["failed"]) == (1, 1, ["test_it.py::test_b"])


def test_what_failed_at_a_real_broker_is_tried_once_more(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (places / "test_it.py").write_text("""
from pathlib import Path
def test_late():
    there = Path("seen").exists()
    Path("seen").touch()
    assert there
""")
    (places / "pytest.ini").touch()
    given(monkeypatch, CI.Step("tests", "pytest -q test_it.py", again=True))
    assert CI.main(["run"]) == 0


def test_ctrl_c_keeps_what_ended_and_the_nightly_run_goes_on(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = CI.Step("two", f"test -e {places}/go || {{ kill -INT {os.getpid()}; sleep 60; }}")
    given(monkeypatch, CI.Step("one", f"echo 1 >>{places}/ran"), slow, CI.Step("three", "true"))
    assert CI.main(["nightly"]) == CI.STOPPED
    assert results(places, "nightly") == {"one": 0, "two": CI.STOPPED}
    (places / "go").touch()
    assert CI.main(["nightly", "--resume"]) == 0
    assert results(places, "nightly") == {"one": 0, "two": 0, "three": 0}
    assert (places / "ran").read_text() == "1\n"


def test_a_nightly_run_says_what_changed(places: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    given(monkeypatch, CI.Step("one", "true"), CI.Step("two", "false"))
    assert CI.main(["nightly", "--record"]) == 1
    given(monkeypatch, CI.Step("one", "exit 5"), CI.Step("two", "false"))
    capfd.readouterr()
    assert CI.main(["nightly"]) == 1
    said = capfd.readouterr().out
    assert "one: exit code 0 before, 5 now" in said
    assert "two: exit code" not in said


def test_a_step_that_does_not_exist_is_refused(places: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        CI.main(["run", "nonsense"])
    assert ended.value.code == 2
    assert "there is no step 'nonsense'; there are: page, types, " in capsys.readouterr().err
