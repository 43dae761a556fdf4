"""Where a target is not as the reference implementation, in words."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """Where the target is not as the reference implementation: at an event, in a field."""

    seq: int
    what: str
    field: str
    found: Any
    due: Any

    def is_less(self, topics: Collection[str]) -> bool:
        """Whether there is less in a queue of one of these topics than there may be once everything is served."""
        return self.field == "next offset" and self.found < self.due and any(self.what.endswith(f" {topic}") for topic in topics)

    def __str__(self) -> str:
        return f"{self.what}: {self.field} is {_short(self.found)}, and the reference implementation has {_short(self.due)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else text[:197] + "..."
