"""What notices a mutant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

IMPLEMENTATION: Final = "implementation"
TYPES: Final = "types"


@dataclass(frozen=True)
class Notice:
    """What notices a mutant. `by`: the id of a property, IMPLEMENTATION, or TYPES if the search ends since a value is not in its type.
    `where`: the instance. `how`: the observation in words."""

    by: str
    where: str
    how: str
