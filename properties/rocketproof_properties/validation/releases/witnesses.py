"""For each switch a short program that distinguishes its values: the witness.

The witnesses are in `witnesses.json` and were found by `search.py`. It runs general programs on the implementation of a profile. The
reference implementation replays them with another value of the switch. Programs whose replay differs are shrunk. A switch without witness
has no effect that a client's program shows.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from ...programs.program import Program
from ...programs.settings import can_be_had

FILE: Final = Path(__file__).with_name("witnesses.json")
SOURCE: Final = "witness of a switch"


@cache
def rows() -> list[dict[str, Any]]:
    """Return the file's rows: the `switch`, the `profile` on which it was found, the `value` that it excludes, `steps` and `needs`."""
    result: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else []
    return result


def program(row: dict[str, Any], number: int = 0) -> Program:
    """Return the program of a row."""
    return Program(number, SOURCE, tuple((name, dict(args)) for name, args in row["steps"]), str(row["needs"]))


def witnesses(first: int, *, configure: bool, start: bool) -> list[Program]:
    """Return all different programs that a target can perform, numbered from `first` on."""
    able = [row for row in rows() if can_be_had(row["needs"], configure=configure, start=start)]
    different = {json.dumps([row["steps"], row["needs"]]): row for row in able}
    return [program(row, number) for number, row in enumerate(different.values(), first)]
