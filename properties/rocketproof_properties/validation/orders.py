"""In which orders a broker may have served what one client sent, if some requests wanted no answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .session import places
from .told import Asked, Other, Told


def orders(told: Told, born: Mapping[str, int]) -> Iterator[list[Asked | Other]]:
    """Other orders in which the same may have happened: a broker may serve a request that wants no answer later, or never.

    `born`: where the first record of each time of birth is. The first order is that of the log.
    """

    def place(one: Asked | Other) -> int | None:
        if not isinstance(one, Asked):
            return None
        return (
            min(places(one.answer.get("fields") or {}), default=None) if not one.one_way else born.get(one.fields.get("bornTimestamp", ""))
        )

    stored = [number for number, one in enumerate(told.items) if place(one) is not None]
    in_log = sorted((told.items[number] for number in stored), key=lambda one: place(one) or 0)
    logged = list(told.items)
    for number, one in zip(stored, in_log, strict=True):
        logged[number] = one
    yield logged
    for later in (1, 2, 3, len(told.items)):
        items = list(told.items)
        for one in reversed(told.asked):
            if one.one_way:
                at = items.index(one)
                items.insert(min(at + 1 + later, len(items)), one)
                del items[at]
        yield items
    yield [one for one in told.items if not isinstance(one, Asked) or not one.one_way or one.fields.get("bornTimestamp") in born]
