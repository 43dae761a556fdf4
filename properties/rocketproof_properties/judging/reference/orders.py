"""In which orders a broker may have served what one client sent, if some requests wanted no answer.

Whoever waits for no answer sends the next request while the broker may still be at work on the last one, in another of its threads. So a
send without an answer may be checked, which makes its topic, and be stored later, or not yet when everything is over; or the send behind it
makes the topic, with its own number of queues, and is stored later.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.client import places
from ...brokers.runs.parsed import Other, ParsedHistory

_MOST_CLOSES: Final = 27
"""Orders of closed connections that are tried: all of up to three."""


@dataclass(frozen=True)
class Arrived:
    """A send that is checked here, and served elsewhere or never."""

    asked: Exchange


Item = Exchange | Other | Arrived


def orders(history: ParsedHistory, born: Mapping[str, int], committed: Mapping[str, int]) -> Iterator[list[Item]]:
    """Other orders in which the same may have happened: a broker may serve a request that wants no answer later, or never.

    `born`: where the first record of each time of birth is; `committed`: where a half message's is that was committed, by the place of the
    half one. The first order is that of the log.
    """
    for items in _whole(history, born, committed):
        yield list(items)
        yield _with_arrivals(history, items)
        yield _overtaken(history, items)
        unserved = [Arrived(one) for one in history.asked if one.one_way and one.op == "send" and one not in items]
        if unserved:
            yield [*items, *unserved]  # checked behind what follows, and stored where nobody can look


def asked_first(history: ParsedHistory) -> Sequence[Item]:
    """The order in which everything was asked: a pull that might have been held was answered at once."""
    found = sorted(history.items, key=lambda one: one.seq)
    return list[Item](found)


def late_closes(history: ParsedHistory) -> Iterator[Sequence[Item]]:
    """Orders in which a name server notices a closed connection only when its broker has registered over the next one: it forgets the
    broker then, or leaves it alone, as that has another connection by now."""
    again = [(one, later) for at, one in enumerate(history.items) if (later := _next_registration(history, at)) is not None]
    for effects in itertools.islice(itertools.product(("at once", "late", "none"), repeat=len(again)), 1, _MOST_CLOSES):
        items = list[Item](history.items)
        for (closed, registration), effect in zip(again, effects, strict=True):
            if effect != "at once":
                items.remove(closed)
            if effect == "late":
                items.insert(items.index(registration) + 1, closed)
        yield items


def _next_registration(history: ParsedHistory, at: int) -> Exchange | None:
    """The first registration over the next connection of a broker whose connection is closed by this item."""
    closed = history.items[at]
    if not isinstance(closed, Other) or closed.op != "disconnect":
        return None
    line, later = closed.value["address"], history.items[at + 1 :]
    return next((one for one in later if isinstance(one, Exchange) and one.request.get("line") == line and _registers(one)), None)


def _registers(one: Exchange) -> bool:
    return whole_number(one.request["code"]) == codes.REGISTER_BROKER


def _whole(history: ParsedHistory, born: Mapping[str, int], committed: Mapping[str, int]) -> Iterator[Sequence[Exchange | Other]]:
    """The orders in which each request is served in one piece."""

    def place(one: Exchange | Other) -> int | None:
        if not isinstance(one, Exchange):
            return None
        if one.op == "end_transaction":
            return committed.get(one.fields.get("commitLogOffset", ""))
        if one.one_way:
            return born.get(one.fields.get("bornTimestamp", ""))
        return min(places(one.outcome.get("fields") or {}), default=None)

    stored = [number for number, one in enumerate(history.items) if place(one) is not None]
    in_log = sorted((history.items[number] for number in stored), key=lambda one: place(one) or 0)
    logged = list(history.items)
    for number, one in zip(stored, in_log, strict=True):
        logged[number] = one
    yield logged
    yield [one for one in logged if not _silent(one) or place(one) is not None]
    for later in (1, 2, 3, len(history.items)):
        items = list(history.items)
        for one in reversed(history.asked):
            if one.one_way:
                at = items.index(one)
                items.insert(min(at + 1 + later, len(items)), one)
                del items[at]
        yield items
    yield [one for one in history.items if not _silent(one) or one.op != "send" or place(one) is not None]


def _silent(one: Exchange | Other) -> bool:
    return isinstance(one, Exchange) and one.one_way


def _with_arrivals(history: ParsedHistory, items: Sequence[Exchange | Other]) -> list[Item]:
    """The same order, with the sends that want no answer checked where they were sent."""
    found: list[Item] = list(items)
    behind = 0  # what was sent before has arrived, and what was answered is over
    for one in history.items:
        if isinstance(one, Exchange) and one.one_way and one.op == "send":
            found.insert(behind, Arrived(one))
            behind += 1
        elif not _silent(one):
            behind = max(behind, next(at for at, other in enumerate(found) if other is one) + 1)
    return found


def _overtaken(history: ParsedHistory, items: Sequence[Exchange | Other]) -> list[Item]:
    """The same order, with the answered send behind sends that want no answer checked before these."""
    found: list[Item] = list(items)
    first: Exchange | None = None
    for one in history.items:
        if isinstance(one, Exchange) and one.one_way:
            first = first or (one if one.op == "send" and one in found else None)
            continue
        if first is not None and isinstance(one, Exchange) and one.op == "send" and found.index(first) < found.index(one):
            found.insert(found.index(first), Arrived(one))
        first = None
    return found
