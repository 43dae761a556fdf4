"""`bench feedback`, which measures waiting times: one row per run next to earlier runs, and the steps of `.ci`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rocketproof_lab.bench import feedback
from rocketproof_properties.commands import run


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set up a part that reports the location of its cache, and the record of a step."""
    program = "import os, sys; open('said', 'a').write(' '.join([os.environ['ROCKETPROOF_CACHE'], *sys.argv[1:]]) + chr(10))"
    runs = {"cold": (), "warm": ("--fresh",)}
    monkeypatch.setattr(feedback, "PARTS", {"quick": feedback.TimedCommand((sys.executable, "-c", program), runs)})
    (tmp_path / "run.json").write_text(json.dumps({"steps": [{"name": "types", "cpu_seconds": 50.0, "wall_seconds": 60.0}]}))
    monkeypatch.setattr(feedback, "RECORDS", {"ci": tmp_path / "run.json", "nightly": tmp_path / "none.json"})
    return tmp_path


def test_each_run_has_row_with_both_clocks(parts: Path) -> None:
    rows = feedback.measure()
    assert [(row["part"], row["run"]) for row in rows] == [("quick", "cold"), ("quick", "warm"), ("ci", "types")]
    assert all(row.keys() == set(feedback.TABLE.keys) and row["wall_seconds"] > 0 for row in rows)
    assert (rows[2]["cpu_seconds"], rows[2]["wall_seconds"]) == (50.0, 60.0)


def test_earlier_run_is_shown_next_to_current(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "feedback", "--part", "ci", "--json", str(parts / "old.json")]) == 0
    (parts / "run.json").write_text(json.dumps({"steps": [{"name": "types", "cpu_seconds": 20.0, "wall_seconds": 25.0}]}))
    (row,) = feedback.measure(["ci"], before=parts / "old.json")
    assert (row["cpu_seconds"], row["cpu_before"], row["wall_before"]) == (20.0, 50.0, 60.0)
    assert feedback.TABLE.text([row]).splitlines()[2].split() == ["ci", "types", "0", "20", "25", "50", "60"]


def test_report_shows_load_next_to_busy_processes(parts: Path) -> None:
    assert [row["load"] for row in feedback.measure(["quick"], load=1)] == [1, 1]


@pytest.mark.parametrize("text", ["[", '{"a": 1}', "[1]", None])
def test_foreign_file_is_refused(parts: Path, text: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    if text is not None:
        (parts / "old.json").write_text(text)
    assert run(["bench", "feedback", "--before", str(parts / "old.json")]) == 2
    assert f"--before {parts / 'old.json'}" in capsys.readouterr().err


def test_unknown_part_is_refused(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "feedback", "--part", "quik"]) == 2
    assert "--part quik: there are quick, ci, nightly" in capsys.readouterr().err
