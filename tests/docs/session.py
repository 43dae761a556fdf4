"""Run a document: its blocks are a session in an empty folder, from top to bottom.

A Python block is appended to a file, after an empty line. A diff block changes the file; a comment `<!-- undo -->` reverts the last diff.
In a console block `$` lines are commands, and the lines below must appear in the output in this order. `...` matches any text, and seconds
can differ. Commands exit with 0 unless a comment `<!-- exit N -->` precedes the block. Blocks of pycon are doctests. Other blocks are only
read.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocketproof_properties import commands as cli

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 100

BLOCK = re.compile(r"^<!-- (?P<comment>undo|exit \d) -->$|^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
SECONDS = re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b")


@dataclass(frozen=True)
class Block:
    """A block, or a comment (`undo`, `exit 1`) in place of the language."""

    language: str
    text: str
    line: int


def blocks(path: Path) -> list[Block]:
    text = path.read_text()
    return [Block(m["language"] or m["comment"], m["text"] or "", text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


def follow(document: Path, folder: Path, file: str) -> None:
    """Execute the document with `file` as the target of its Python blocks. Raises AssertionError where the document is wrong."""
    source = before = ""
    code = 0
    for block in blocks(document):
        where = f"{document.name}:{block.line}"
        if block.language == "python":
            source = f"{source}\n{block.text}" if source else block.text
        elif block.language == "diff":
            before, source = source, patched(source, block.text, where)
        elif block.language == "undo":
            source = before
        elif block.language.startswith("exit"):
            code = int(block.language.split()[1])
        elif block.language == "console":
            (folder / file).write_text(source)
            for command, expected in commands(block.text):
                compare(where, command, expected, code, run(command, folder))
            code = 0
        elif block.language == "pycon":
            (folder / file).write_text(source)
            converse(block, where, folder)


def compare(where: str, command: str, expected: list[str], code: int, done: subprocess.CompletedProcess[str]) -> None:
    said = f"{where}: $ {command}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == code, f"expected exit code {code}: {said}"
    lacks = missing(expected, done.stdout)
    assert lacks is None, f"no line like {lacks!r} at the expected position: {said}"


def converse(block: Block, where: str, folder: Path) -> None:
    """Run a block of `>>>` lines in its own process, which can import the folder's files."""
    script = folder / "conversation.txt"
    script.write_text(block.text)
    program = f"import doctest; raise SystemExit(doctest.testfile({str(script)!r}, False, optionflags={doctest.ELLIPSIS}).failed)"
    done = python("-c", program, folder=folder)
    assert done.returncode == 0, f"{where}: {done.stdout}{done.stderr}"


def patched(source: str, diff: str, where: str) -> str:
    """Apply a diff to its only matching position in the source."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] or "\n" for line in lines if line[0] in " -\n")
    new = "".join(line[1:] or "\n" for line in lines if line[0] in " +\n")
    assert source.count(old) == 1, f"{where}: the lines of the diff occur {source.count(old)} times in the current file:\n{old}"
    return source.replace(old, new)


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Return each command of a console block with the expected lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def environment() -> dict[str, str]:
    paths = [".", *(str(ROOT / room) for room in ("model", "impl", "traces", "properties"))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": str(WIDTH), "NO_COLOR": "1"}


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line; `python` and `rocketproof` are this environment's, whether on the path or not.

    A `rocketproof` command without shell syntax runs in this process, which has already imported the modules.
    """
    if command.startswith("rocketproof ") and not set(command) & set("|&;<>$`*"):
        return ours(shlex.split(command)[1:], folder)
    functions = f'python() {{ "{sys.executable}" "$@"; }}\nrocketproof() {{ python -m rocketproof_properties.commands "$@"; }}'
    script = f"{functions}\n{command}\n"
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False)


def ours(tokens: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of this project in this process, in an environment like that of a new process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.chdir(folder)
        patch.setenv("COLUMNS", str(WIDTH))
        patch.setenv("NO_COLOR", "1")
        code = cli.run(tokens)
    return subprocess.CompletedProcess(tokens, code, out.getvalue(), err.getvalue())


def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False)


def normal(line: str) -> str:
    return " ".join(SECONDS.sub("#", line).split())


def matches(expected: str, line: str) -> bool:
    pattern = ".*".join(re.escape(part.strip()) for part in normal(expected).split("..."))
    return re.fullmatch(pattern, normal(line)) is not None


def missing(expected: list[str], printed: str) -> str | None:
    """Return the first expected line that is missing in the output, in order; None if all are present."""
    lines = iter(printed.splitlines())
    for line in expected:
        if line.strip() in ("", "..."):
            continue
        if not any(matches(line, other) for other in lines):
            return line
    return None
