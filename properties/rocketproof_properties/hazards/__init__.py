"""The gallery of known hazards: each a short program on the simulated cluster that shows what happens, and why.

To add one: write a function with `@hazard` in the module of its theme. Its docstring is the text of the gallery: the title,
why it happens with the ids of the rules, how to avoid it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..reports.choices import known
from . import client, creation, pauses, persistence, remoting, routing, sendback, sizes, store
from .gallery import Hazard

__all__ = ["HAZARDS", "chosen"]

_THEMES = (client, creation, pauses, persistence, remoting, routing, sendback, sizes, store)
_FOUND = [one for theme in _THEMES for one in vars(theme).values() if isinstance(one, Hazard)]

HAZARDS: dict[str, Hazard] = {one.id: one for one in sorted(_FOUND, key=lambda one: one.id)}
"""Every hazard by its id, in the order of the ids."""


def chosen(ids: Sequence[str], profile: str | None = None) -> list[Hazard]:
    """The hazards with these ids; without any, all that the profile shows. Raises InputError for an unknown id."""
    if ids:
        return [HAZARDS[id_] for id_ in dict.fromkeys(known("hazard", given, HAZARDS) for given in ids)]
    return [one for one in HAZARDS.values() if profile is None or profile in one.profiles]
