"""The action and the build examples are valid YAML, their commands exist, and the action implements its inputs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from session import ROOT, blocks

from rocketproof_properties.commands.program import app
from rocketproof_properties.reports.options import KINDS, is_kind

ACTION = ROOT / "action.yml"
PAGE = ROOT / "properties/docs/ci.md"
EXAMPLES = [yaml.safe_load(block.text) for block in blocks(PAGE) if block.language == "yaml"]


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text("utf-8"))
    return found


def script() -> str:
    return next(str(step["run"]) for step in action()["runs"]["steps"] if step.get("id") == "run")


def texts(value: object) -> list[str]:
    """Return all texts in a document."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    return [text for each in value for text in texts(each)] if isinstance(value, list) else [str(value)]


def accepted(command: str) -> None:
    """Parse a command line; raises cyclopts' error for an unknown option."""
    name, *words = shlex.split(re.sub(r"\$\{\{.*?\}\}|\$\w+", "1", command))
    assert name == "rocketproof"
    reports = [following for word, following in pairwise(words) if word == "--report"]
    assert all(is_kind(report) and report.partition(":")[0] in KINDS for report in reports)
    app.parse_args(words, exit_on_error=False, print_error=False)


def used() -> list[dict[str, Any]]:
    """Return the inputs that the examples pass to the action."""
    steps = [step for example in EXAMPLES for job in example.get("jobs", {}).values() for step in job["steps"]]
    return [step["with"] for step in steps if step.get("uses", "") == "./rocketproof"]


def test_each_command_of_the_page_exists() -> None:
    lines = [line.strip() for line in PAGE.read_text("utf-8").splitlines() if line.startswith("    rocketproof ")]
    lines += [text for example in EXAMPLES for text in texts(example) if text.startswith("rocketproof ")]
    assert len(lines) >= 3
    for line in lines:
        accepted(line)


def test_examples_use_only_inputs_and_outputs_of_the_action() -> None:
    given = used()
    assert len(given) == 2
    for one in given:
        assert one.keys() <= action()["inputs"].keys()
        accepted(f"rocketproof {one['command']} {one['arguments']}" + (" --since run.json" if "since" in one else ""))
    outputs = {name for text in texts(EXAMPLES) for name in re.findall(r"steps\.night\.outputs\.([\w-]+)", text)}
    assert outputs == set(action()["outputs"])


def test_action_uses_each_input_and_none_in_a_script() -> None:
    steps = action()["runs"]["steps"]
    assert set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text("utf-8"))) == set(action()["inputs"])
    assert not [step["run"] for step in steps if "${{" in step.get("run", "")]  # an input can contain commands


def test_the_page_has_a_row_for_each_kind_of_report() -> None:
    rows = re.findall(r"^\| `(\w+)(?::\w+)?`", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(KINDS)


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_action_passes_arguments_and_exit_code(tmp_path: Path, code: int) -> None:
    command = tmp_path / "temp/rocketproof/bin/rocketproof"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > words\nexit {code}\n')
    command.chmod(0o755)
    (tmp_path / "old.json").touch()
    given = {
        "RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_OUTPUT": str(tmp_path / "output"), "COMMAND": "check", "REPORTS": "our reports",
        "ARGUMENTS": "--condition 'auto-create off, $(touch harm)' --time 3; touch harm", "SINCE": "old.json" if code else "missing.json",
    }  # fmt: skip
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script()], cwd=tmp_path, env={**os.environ, **given}, check=False)
    assert done.returncode == code and (tmp_path / "output").read_text() == f"exit-code={code}\n"
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:7] == ["check", "--condition", "auto-create off, $(touch harm)", "--time", "3;", "touch", "harm"]
    assert words[7:9] == (["--since", "old.json"] if code else ["--report", "junit:our reports/junit.xml"])
    assert not (tmp_path / "harm").exists() and (tmp_path / "our reports").is_dir()
    accepted(shlex.join(["rocketproof", "check", *words[words.index("--report") :]]))
