"""Find the commands that a page shows, in its code blocks and in its text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from session import ROOT

FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SHELL: Final = ("", "console", "sh", "bash", "text", "yaml")


def lines(page: str, root: Path = ROOT) -> Iterator[str]:
    """Yield the lines of code blocks, and code in the text that begins with a command."""
    text = (root / page).read_text("utf-8").replace("\\\n", " ")
    for language, block in FENCE.findall(text):
        if language in SHELL:
            yield from (line.removeprefix("$ ").strip().removeprefix("- ") for line in block.splitlines())
    rest = FENCE.sub("", text)
    yield from (line.strip() for line in rest.splitlines() if line.startswith("    "))
    yield from (span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", rest))


def commands(page: str, start: str, root: Path = ROOT) -> list[list[str]]:
    """Return the commands of a page that begin with a word, split as a shell splits them. Prefixes such as `uv run` are removed."""
    found = []
    for line in lines(page, root):
        for part in re.split(r" && | \|\| ", line):
            whole = re.sub(r"^(\.venv/bin/)?(uv run )?(--(extra|group) \w+ )*(\.venv/bin/)?", "", part)
            if whole.startswith(f"{start} ") and "..." not in whole and "COMMAND" not in whole and "—" not in whole:
                found.append(shlex.split(re.sub(r"\$\{\{.*?\}\}", "1", whole), comments=True)[1:])
    return found
