"""Every command on every page is accepted by the command line, cheap ones run, and pages with sessions print what they show."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest
from cyclopts import CycloptsError, MissingArgumentError
from session import ROOT, blocks, follow, ours
from shown_commands import commands

from rocketproof_properties.commands.pages import SECTIONS
from rocketproof_properties.commands.program import app, with_values
from rocketproof_properties.validation.suite import options

PAGES = sorted({path for paths in SECTIONS.values() for path in paths} | {"traces/explorer/README.md"})
CHEAP = ("hazard HAZ-03", "docs", "docs porting", "zoo", "zoo A24")
SESSIONS = ("README.md", "traces/docs/counterexamples.md")
"""Pages whose console blocks run here. The tutorial and the page on histories have tests of their own."""


def refusal(words: list[str]) -> str:
    """Return why the command line rejects a command, or an empty text. A command's name alone is accepted in the text of a page."""
    try:
        app.parse_args(with_values(words), exit_on_error=False, print_error=False)
    except MissingArgumentError as error:
        return "" if len(words) == 1 else str(error)
    except CycloptsError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_accepted(page: str) -> None:
    assert [refused for words in commands(page, "rocketproof") if (refused := refusal(words))] == []


@pytest.mark.parametrize("page", PAGES)
def test_options_of_pytest_and_modules_exist(page: str) -> None:
    known = {option.flag for option in options.ALL}
    named = {word.partition("=")[0] for words in commands(page, "pytest") for word in words if word.startswith("--rocketproof")}
    assert named <= known
    modules = [words[1] for words in commands(page, "python") if words[0] == "-m"]
    assert all(importlib.util.find_spec(name) for name in modules if name.startswith("rocketproof"))
    scripts = re.findall(r"^    (\.ci/\w+)", (ROOT / page).read_text("utf-8"), re.M)
    assert all((ROOT / script).is_file() for script in scripts)


def test_a_wrong_command_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        "    rocketproof check --propery INV-16    # wrong\n\nSee `rocketproof diff` and `rocketproof show A`.\n"
    )
    (wrong, *right) = commands("page.md", "rocketproof", tmp_path)
    assert "--propery" in refusal(wrong) and [refusal(words) for words in right] == ["", ""]


def test_pages_have_commands() -> None:
    assert sum(len(commands(page, "rocketproof")) for page in PAGES) > 150
    assert sum(len(commands(page, "pytest")) for page in PAGES) > 10


@pytest.mark.parametrize("line", CHEAP)
def test_cheap_commands_run(line: str, tmp_path: Path) -> None:
    assert any(shlex.split(line) == words for page in PAGES for words in commands(page, "rocketproof"))
    assert ours(shlex.split(line), tmp_path).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", SESSIONS)
def test_sessions_print_what_the_page_shows(page: str, tmp_path: Path) -> None:
    assert any(block.language == "console" for block in blocks(ROOT / page))
    follow(ROOT / page, tmp_path, "unused.py")
