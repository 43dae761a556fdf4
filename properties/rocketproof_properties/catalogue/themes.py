"""The themes by which reports count the properties of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Final

from . import (
    answers,
    consuming,
    controller,
    counts,
    creation,
    delay,
    deletions,
    device,
    durability,
    entries,
    groups,
    log,
    manual_routes,
    offsets,
    persistence,
    producers,
    queues,
    records,
    retries,
    routes,
    settings,
    sizes,
    timers,
    times,
    topics,
    transactions,
    waits,
)

THEMES: Final[Mapping[str, tuple[ModuleType, ...]]] = {
    "topic creation": (creation, settings),
    "topic table and deletion": (topics, deletions),
    "topic table's file": (persistence,),
    "routes and registration": (routes, manual_routes),
    "producers and waits": (producers, waits),
    "responses": (answers,),
    "queues and offsets": (queues, offsets, entries, counts),
    "log and records": (log, records, sizes),
    "durability and replication": (durability, device, controller),
    "delays and timers": (delay, timers),
    "transactions": (transactions,),
    "retries and dead letters": (retries,),
    "consumer groups": (groups, consuming, times),
}
"""Each theme with the modules that state its properties."""
OTHER: Final = "other"


@cache
def _by_sentence() -> Mapping[tuple[str, str], str]:
    return {
        (case.property, case.sentence): theme
        for theme, modules in THEMES.items()
        for module in modules
        for case in (*getattr(module, "CASES", ()), *getattr(module, "HISTORY_CASES", ()))
    }


def theme_of(property: str, sentence: str) -> str:
    """Return the theme of the property with this id and sentence; `OTHER` if it is not in the catalogue."""
    return _by_sentence().get((property, sentence), OTHER)
