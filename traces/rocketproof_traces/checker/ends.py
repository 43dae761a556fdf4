"""How far queues were told to be: a queue's entries are only ever appended (REC-04), so its end does not go back.

No state needs to remember that. If of any two questions, one over before the other began, the later answer is not the smaller one, then
there is an order in which the ends grow, each as late as it can be; so the greatest earlier answer is all that an answer has to be held
against. Records in flight (`committed`: false) are another end than dispatched ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..history.exchange import Exchange


def told_before(asked: Sequence[Exchange]) -> dict[int, int]:
    """By the event of each question, the greatest answer to one about the same end that was over before; questions in the order in which
    they began."""
    over = sorted((one for one in asked if one.end is not None), key=lambda one: one.end or 0, reverse=True)
    furthest: dict[tuple[str, int, str], int] = {}
    found = {}
    for one in asked:
        while over and (over[-1].end or 0) < one.seq:
            before = over.pop()
            furthest[_end(before)] = max(furthest.get(_end(before), 0), before.answered("offset") or 0)
        found[one.seq] = furthest.get(_end(one), 0)
    return found


def _end(asked: Exchange) -> tuple[str, int, str]:
    """Which end of which queue is asked for."""
    return asked.topic, asked.number("queueId"), str(asked.fields.get("committed", True)).lower()


__all__ = ["told_before"]
