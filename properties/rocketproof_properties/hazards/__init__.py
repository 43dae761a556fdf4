"""The gallery of known hazards: each a short program on the simulated cluster that shows what happens, and why.

To add one: write a function with `@hazard` in the module of its theme. Its docstring is the text of the gallery: the title,
why it happens with the ids of the rules, how to avoid it.
"""

from __future__ import annotations

from . import client, creation, routing
from .gallery import HAZARDS as _FOUND
from .gallery import Hazard, Told, perform

__all__ = ["HAZARDS", "Hazard", "Told", "client", "creation", "perform", "routing"]

HAZARDS: dict[str, Hazard] = dict(sorted(_FOUND.items()))
