"""For each switch a short program that tells its values: the witness.

They are data, `witnesses.json`, and were found by search: general programs on the implementation of a profile, whose histories the
reference implementation of the profile with another value would not have answered so; then made smaller. `search.py` does that, and finds
those of a switch that is new. A switch without a witness is one that no program of clients shows.
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
    """The file: of each `switch` the `profile` on which it was found, the `value` that would be told, `steps` and `needs`."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else []
    return found


def program(row: dict[str, Any], number: int = 0) -> Program:
    """The program of a row."""
    return Program(number, SOURCE, tuple((name, dict(args)) for name, args in row["steps"]), str(row["needs"]))


def witnesses(first: int, *, configure: bool, start: bool) -> list[Program]:
    """All different programs that a target can perform, numbered from `first` on."""
    able = [row for row in rows() if can_be_had(row["needs"], configure=configure, start=start)]
    different = {json.dumps([row["steps"], row["needs"]]): row for row in able}
    return [program(row, number) for number, row in enumerate(different.values(), first)]
