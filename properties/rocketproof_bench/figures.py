"""What all measurements share: a row of figures, and rows as a table with the machine that they belong to."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from typing import Any

Bench = dict[str, Any]
Tell = Callable[[str], None]


def machine_line() -> str:
    """The machine that figures belong to."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def aligned(lines: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines of cells in columns; the first `left` columns are words, the others numbers."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return ["  ".join(c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))) for line in lines]
