"""The gallery of known hazards: each is a short program on the simulated cluster that shows the problem.

To add one, write a function with `@hazard` in the module of its theme. Its docstring is the text in the gallery: the title, the cause with
the ids of the rules, and how to avoid it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..reports.choices import known
from . import client, creation, pauses, persistence, remoting, routing, sendback, sizes, store
from .gallery import Hazard

__all__ = ["HAZARDS", "chosen"]

_THEMES = (client, creation, pauses, persistence, remoting, routing, sendback, sizes, store)
_FOUND = [value for theme in _THEMES for value in vars(theme).values() if isinstance(value, Hazard)]

HAZARDS: dict[str, Hazard] = {entry.id: entry for entry in sorted(_FOUND, key=lambda entry: entry.id)}
"""Every hazard by its id, in the order of the ids."""


def chosen(ids: Sequence[str], profile: str | None = None) -> list[Hazard]:
    """Return the hazards with these ids, or all hazards that the profile shows. Raises InputError for an unknown id."""
    if ids:
        return [HAZARDS[id_] for id_ in dict.fromkeys(known("hazard", id_, HAZARDS) for id_ in ids)]
    return [entry for entry in HAZARDS.values() if profile is None or profile in entry.profiles]
