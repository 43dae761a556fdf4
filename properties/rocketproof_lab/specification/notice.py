"""What notices a mutant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

IMPLEMENTATION: Final = "implementation"
TYPES: Final = "types"


@dataclass(frozen=True)
class Notice:
    """What notices a mutant: the id of a property, IMPLEMENTATION, or TYPES: the search ends as a value leaves its type. `where` is the
    instance, `how` in words what was seen."""

    by: str
    where: str
    how: str
