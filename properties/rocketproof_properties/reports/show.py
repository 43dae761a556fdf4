"""Print what changed since another run."""

from __future__ import annotations

from typing import Final

from .output import Page
from .since import Changes

SHOWN: Final = 20
"""Maximum number of lines under a heading; the reports have all."""


def print_changes(changes: Changes) -> None:
    """Print what changed since the other run, or that nothing changed."""
    page = Page()
    page.line(f"\nSince {changes.before}:", "bold")
    if not changes.any:
        page.line("  nothing has changed")
    for heading, lines in changes.sections():
        page.line(f"  {heading}:", "bold red" if heading.startswith("Newly") else "")
        for line in lines[:SHOWN]:
            page.wrapped(" ".join(line.split()), first="    ", indent=6)
        if len(lines) > SHOWN:
            page.line(f"    and {len(lines) - SHOWN:,} more")
