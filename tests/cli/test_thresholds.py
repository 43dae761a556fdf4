"""Thresholds of an audit: which broken rules give exit code 1."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.catalogue.stored import stored_rules
from rocketproof_properties.commands import run
from rocketproof_properties.commands.audits.thresholds import Thresholds, thresholds_of
from rocketproof_properties.reports.choices import InputError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that breaks two warnings: INV-28.stored once and APP-08.reconsumeTimes twice."""
    root = tmp_path_factory.mktemp("audited") / "store"
    fabricate(root, StorePlan(20_000, topics=2, queues=1, bodies=(100, 300), file_size=5_000, queue_file_size=20_000))
    (root / "config" / "topics.json").unlink()
    for log in sorted((root / "commitlog").iterdir())[:2]:
        with log.open("r+b") as file:
            file.seek(72)
            file.write(b"\xff" * 4)
    return root


def code(store: Path, *options: str) -> int:
    return run(["audit", str(store), "--engine", "local", "--cores", "1", *options])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), 1),
        (("--fail-on", "warning"), 1),
        (("--fail-on", "error"), 0),
        (("--warn", "APP-08"), 1),
        (("--warn", "INV-28.stored"), 1),
        (("--warn", "APP-08", "--warn", "INV-28.stored"), 0),
        (("--fail-on", "error", "--fail-on", "APP-08>2"), 0),
        (("--fail-on", "error", "--fail-on", "APP-08>1"), 1),
        (("--fail-on", "error", "--fail-on", "APP-08 > 2", "--fail-on", "INV-28.stored"), 1),
    ],
)
def test_exit_code_by_thresholds(options: tuple[str, ...], expected: int, store: Path) -> None:
    assert code(store, *options) == expected


def test_output_and_reports_agree_with_the_exit_code(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "found.run"
    assert code(store, "--fail-on", "error", "--fail-on", "APP-08>2", "--report", f"run:{saved}") == 0
    assert capsys.readouterr().out.rstrip().endswith("; within the thresholds")
    results = json.loads(saved.read_text())["results"]
    assert {one["outcome"] for one in results} == {"ok"}
    messages = [one["message"] for one in results if one["id"] == "APP-08.reconsumeTimes"]
    assert len(messages) == 2 and messages[0].startswith("within the threshold: expected")
    assert code(store, "--fail-on", "APP-08>1") == 1
    assert "beyond the thresholds: APP-08.reconsumeTimes, INV-28.stored" in capsys.readouterr().out


def test_error_fails_unless_its_rule_is_tolerated(store: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(store, tmp_path / "store"))
    with max((damaged / "commitlog").iterdir()).open("r+b") as file:
        file.seek(4)
        file.write(b"\0")
    assert code(damaged, "--fail-on", "error", "--out", str(tmp_path / "found")) == 1
    rules = json.loads((tmp_path / "found" / "summary.json").read_text())["rules"]
    broken = [rule["property"] for rule in rules if rule["count"] and rule["severity"] == "error"]
    assert broken
    assert code(damaged, "--fail-on", "error", *(word for id_ in broken for word in ("--warn", id_))) == 0
    assert code(damaged, "--fail-on", "error", *(word for id_ in broken for word in ("--fail-on", f"{id_}>1000"))) == 0


def test_file_holds_thresholds_and_options_override_it(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "thresholds.toml"
    file.write_text('fail-on = "error"\nwarn = ["INV-28.stored"]\n[limits]\n"APP-08" = 2\n')
    assert code(store, "--thresholds", str(file)) == 0
    assert code(store, "--thresholds", str(file), "--fail-on", "APP-08>1") == 1
    assert code(store, "--thresholds", str(file), "--fail-on", "INV-28.stored") == 1


def test_file_of_the_page_is_accepted(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "traces/docs/audit.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "thresholds.toml").write_text(block)
    read = thresholds_of(tmp_path / "thresholds.toml", (), (), stored_rules())
    assert read.severity == tomllib.loads(block)["fail-on"] and read.limits["INV-28.stored"] == 0 and "INV-34.again" in read.warned


@pytest.mark.parametrize(
    ("fail_on", "warn", "file", "said"),
    [
        (("INV-37>many",), (), None, "--fail-on INV-37>many: many is no number of rows"),
        (("INV-37>-1",), (), None, "-1 is no number of rows"),
        (("INV-999",), (), None, "--fail-on INV-999: no rule about stored data has this id"),
        ((), ("HAZ-01",), None, "--warn HAZ-01: no rule"),
        ((), (), "fail_on = 'error'", "unknown key 'fail_on'"),
        ((), (), "Fail-On = 'error'", "unknown key 'Fail-On'"),
        ((), (), "fail-on = 3", "wrong form; give fail-on"),
        ((), (), "[limits]\n'INV-37' = -1", "limits: INV-37 = -1 is no number of rows; give 0 or more"),
        ((), (), "fail-on", "is not TOML"),
    ],
)
def test_wrong_thresholds_are_one_line(
    fail_on: tuple[str, ...], warn: tuple[str, ...], file: str | None, said: str, tmp_path: Path
) -> None:
    path = None
    if file is not None:
        path = tmp_path / "thresholds.toml"
        path.write_text(file)
    with pytest.raises(InputError) as caught:
        thresholds_of(path, fail_on, warn, stored_rules())
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_default_thresholds_are_those_of_errors_and_warnings() -> None:
    assert thresholds_of(None, (), (), stored_rules()) == Thresholds()
