"""The features that `bench reach` reads from a program, and their shares in many programs next to those of an earlier version."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from rocketproof_lab.bench import reach
from rocketproof_properties import commands as cli
from rocketproof_properties.validation.report import HISTORIES
from rocketproof_traces.history import Header, Writer

PROGRAMS = (
    ("", (("send", {"topic": "A"}), ("send", {"topic": "B"})), (("send", 0), ("send", 0), ("send", 17))),
    ("regionId=eu", (("delete", {"topic": "A"}),), (("delete_topic", 0), ("view", None))),
)
"""Of each program its settings, its steps, and what was answered; None where nothing was."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "report" / HISTORIES).mkdir(parents=True)
    for number, (needs, steps, answers) in enumerate(PROGRAMS, 1):
        header = Header({"program": {"needs": needs, "steps": steps}})
        with Writer(tmp_path / "report" / HISTORIES / f"{number}.ndjson", header) as written:
            for op, code in answers:
                written.add("invoke", "client 0", op, {})
                written.add("ok" if code is not None else "info", "client 0", op, {} if code is None else {"code": code})
    return tmp_path / "report"


def test_program_counts_once_per_feature(programs: Path) -> None:
    found = reach.shares(reach.performed(programs))
    assert {key: share for key, share in found.items() if key[0] != "boundary"} == {
        ("answer", "send: 0 SUCCESS"): 0.5,
        ("answer", "send: 17 TOPIC_NOT_EXIST"): 0.5,
        ("answer", "delete_topic: 0 SUCCESS"): 0.5,
        ("operation", "send"): 0.5,
        ("operation", "delete_topic"): 0.5,
        ("setting", "regionId"): 0.5,
    }


def test_feature_reached_only_by_earlier_version_has_row(programs: Path, tmp_path: Path) -> None:
    before, now = tmp_path / "before.json", tmp_path / "now.json"
    before.write_text(json.dumps([{"kind": "operation", "name": "pull", "before": None, "now": 0.25}]))
    assert cli.run(["bench", "reach", "--of", str(programs), "--before", str(before), "--json", str(now)]) == 0
    rows = {(row["kind"], row["name"]): (row["before"], row["now"]) for row in json.loads(now.read_text())}
    assert rows["operation", "pull"] == (0.25, 0.0)
    assert rows["operation", "send"] == (0.0, 0.5)


@pytest.mark.parametrize("option", ["--of", "--before"])
def test_foreign_file_is_mistake(option: str, programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}')
    given = {"--of": str(programs), option: str(path)}
    assert cli.run(["bench", "reach", *(token for pair in given.items() for token in pair)]) == 2
    assert f"{option} {path}" in capsys.readouterr().err


def test_history_of_other_system_is_named(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (programs / HISTORIES / "2.ndjson").write_text("{}")
    assert cli.run(["bench", "reach", "--of", str(programs)]) == 2
    assert "2.ndjson is no history of a program" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
def test_picture_has_bar_per_share_and_is_deterministic(programs: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / name for name in ("one.svg", "other.svg")]
    for path in pictures:
        assert cli.run(["bench", "reach", "--of", str(programs), "--plot", str(path)]) == 0
    one, other = (path.read_text() for path in pictures)
    assert one == other and all(f">{name}<" in one for name in ("delete_topic", "regionId", "send: 17 TOPIC_NOT_EXIST"))
