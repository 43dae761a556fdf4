"""Why nothing has to notice a change that survived or that no program reaches: it is equivalent, or the wire does not show it.

An entry names a module, a function of it or a change by how its id begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from .results import SURVIVED, UNREACHED, UNSEEN, Row

ARGUMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "producer/": (UNSEEN, "no producer of ours runs when a broker is validated"),
}


def argued(row: Row) -> Row:
    """The row with the argument for it, if it needs one and there is one."""
    if row.verdict not in (SURVIVED, UNREACHED):
        return row
    found = next((one for begin, one in ARGUMENTS.items() if row.id.startswith(begin)), None)
    return row if found is None else replace(row, verdict=found[0], how=found[1])
