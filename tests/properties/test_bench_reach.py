"""What a program is read to have, and the shares of many, beside those of an earlier version."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from rocketproof_bench import reach
from rocketproof_properties import cli

PROGRAMS = (
    {"needs": "", "steps": [["send", {"topic": "A"}], ["send", {"topic": "B"}]]},
    {"needs": "regionId=eu", "steps": [["delete", {"topic": "A"}]]},
)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    path = tmp_path / "programs.jsonl"
    path.write_text("\n".join(map(json.dumps, PROGRAMS)))
    return path


def test_a_program_counts_once_for_what_it_has(programs: Path) -> None:
    found = reach.shares(reach.kept(programs))
    assert {key: share for key, share in found.items() if key[0] != "boundary"} == {
        ("operation", "send"): 0.5,
        ("operation", "delete_topic"): 0.5,
        ("setting", "regionId"): 0.5,
    }


def test_what_only_the_earlier_version_had_has_a_row_too(programs: Path, tmp_path: Path) -> None:
    before, now = tmp_path / "before.json", tmp_path / "now.json"
    before.write_text(json.dumps([{"kind": "operation", "name": "pull", "before": None, "now": 0.25}]))
    assert cli.run(["bench", "reach", "--of", str(programs), "--before", str(before), "--json", str(now)]) == 0
    rows = {(one["kind"], one["name"]): (one["before"], one["now"]) for one in json.loads(now.read_text())}
    assert rows["operation", "pull"] == (0.25, 0.0)
    assert rows["operation", "send"] == (0.0, 0.5)


@pytest.mark.parametrize("option", ["--of", "--before"])
def test_a_file_of_something_else_is_a_mistake(option: str, programs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}')
    given = {"--of": str(programs), option: str(path)}
    assert cli.run(["bench", "reach", *(token for pair in given.items() for token in pair)]) == 2
    assert f"{option} {path}" in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_picture_has_a_bar_for_each_share_and_is_the_same_each_time(programs: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / name for name in ("one.svg", "other.svg")]
    for path in pictures:
        assert cli.run(["bench", "reach", "--of", str(programs), "--plot", str(path)]) == 0
    one, other = (path.read_text() for path in pictures)
    assert one == other and ">delete_topic<" in one and ">regionId<" in one
