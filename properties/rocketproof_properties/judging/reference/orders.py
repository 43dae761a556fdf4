"""The orders in which a broker may have served a client's requests if some of them are one-way.

A client does not wait after a one-way request, so threads of the broker may serve it and the next request at the same time. A one-way send
may be checked, which creates its topic, but stored later or not before the program ends. It is also possible that the following send
creates the topic, with its own number of queues, and the one-way send is stored later.

Administrative requests of several clients may overlap. A broker serves them in some order (`at_once`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import SENDS

from ...brokers.runs.parsed import ParsedHistory, held_millis
from ...programs.corruption import TABLES, damaged_file
from ...programs.parts import NAME_SERVER
from ...programs.settings import ALONE

ADMINISTRATIVE: Final = frozenset({"update_topic", "delete_topic", "update_group", "delete_group", "commit"})
"""Requests that, if several of one kind overlap, have the effect of one order. A change and a deletion may mix: a topic that is created
during its deletion keeps its queues."""
_CREATING: Final = frozenset({"update_topic", *SENDS, "send_back"})
"""Requests after which their topic, or their group's retry topic, is in a table."""
_MOST_AT_ONCE: Final = 4
_MOST_ORDERS: Final = 24
_MOST_LATER: Final = 8
"""Requests to a name server that are tried as served before it removes a broker, the next ones."""
_MOST_REMOVALS: Final = 3
"""Brokers that are tried as removed late, the first ones."""
_MOST_REMOVAL_ORDERS: Final = 100
"""Orders of late removals that are tried, those with few and short delays."""
_MOST_DELETIONS: Final = 8
"""Moments of another program's deletion that are tried, the last ones while a topic is in no table."""


@dataclass(frozen=True)
class Arrived:
    """A send that is checked here, and stored elsewhere or never."""

    exchange: Exchange


@dataclass(frozen=True)
class Cleaned:
    """At this time another program deletes a topic of its own. The broker then destroys the queues of every topic that is in no table."""

    millis: int


Item = Exchange | Event | Arrived | Cleaned
Swaps = Mapping[int, Exchange]
"""An order of overlapping requests: by the number of a request's event, the request that is served in its place."""


def orders(history: ParsedHistory, born: Mapping[str, int], committed: Mapping[str, int]) -> Iterator[list[Item]]:
    """Yield further possible orders of the same requests: a broker may serve one-way requests later or never.

    `born`: the place of the first record with each birth time. `committed`: the place of a committed message by the place of its half
    message. The first order is the order of the log.
    """
    for items in _whole(history, born, committed):
        yield list(items)
        yield _with_arrivals(history, items)
        yield _overtaken(history, items)
        unserved = [Arrived(each) for each in history.exchanges if each.one_way and each.op in SENDS and each not in items]
        if unserved:
            yield [*items, *unserved]  # checked after later requests, and stored where it cannot be read back


def at_once(history: ParsedHistory) -> list[Swaps] | None:
    """Return all orders of the administrative requests of one kind that overlap. None if other requests do, or with too many orders.

    An order keeps two requests apart if one ended before the other began. A history without overlapping requests has one order.
    """
    groups = [*_overlapping(history)]
    for group in groups:
        (op, *others), ended = {exchange.op for exchange in group}, all(exchange.end is not None for exchange in group)
        if others or op not in ADMINISTRATIVE or not ended:
            return None
    choices = [[each for each in itertools.permutations(group) if _in_time(each)] for group in groups if len(group) <= _MOST_AT_ONCE]
    if len(choices) < len(groups) or math.prod(map(len, choices)) > _MOST_ORDERS:
        return None
    return [
        {before.seq: after for group, order in zip(groups, chosen, strict=True) for before, after in zip(group, order, strict=True)}
        for chosen in itertools.product(*choices)
    ]


def swapped(items: Sequence[Item], swaps: Swaps) -> list[Item]:
    """Return an order of a history with its overlapping requests in another order."""
    return [swaps.get(item.seq, item) if isinstance(item, Exchange) else item for item in items]


def first_overlap(history: ParsedHistory) -> int | None:
    """Return the number of the event with which the first requests begin that overlap, None if no requests overlap."""
    return next((group[0].seq for group in _overlapping(history)), None)


def _overlapping(history: ParsedHistory) -> Iterator[list[Exchange]]:
    """Yield the groups of several requests, in the order in which they were served, so that requests of different groups do not overlap."""
    group: list[Exchange] = []
    for exchange in history.exchanges:
        if held_millis(exchange) is not None:
            continue
        if group and all(each.end is not None and each.end < exchange.seq for each in group):
            if len(group) > 1:
                yield group
            group = []
        group.append(exchange)
    if len(group) > 1:
        yield group


def _in_time(order: Sequence[Exchange]) -> bool:
    return not any(later.end is not None and later.end < each.seq for each, later in itertools.combinations(order, 2))


def by_sending_time(history: ParsedHistory) -> Sequence[Item]:
    """Return the order in which requests were sent: a pull that might have been held was answered immediately."""
    by_seq = sorted(history.items, key=lambda item: item.seq)
    return list[Item](by_seq)


def newer_backups(history: ParsedHistory) -> Iterator[Sequence[Item]]:
    """Return variants in which the backups of damaged tables are as new as the tables, as if these were not damaged.

    A backup has the content before the last write (PER-02). How often a broker writes a table after a change is stated by no rule: 4.9.4
    does so more than once.
    """
    choices = [(item, *_undamaged_table(item)) for item in history.items]
    return itertools.islice(itertools.product(*choices), 1, None)  # the first variant is the recorded one


def _undamaged_table(item: Exchange | Event) -> Iterator[Event]:
    """Yield the end of a process without its damage, if that is a table's."""
    if isinstance(item, Event) and damaged_file(item.value) in TABLES:
        yield replace(item, value={name: value for name, value in item.value.items() if name != "corrupt"})


def others_deletions(history: ParsedHistory, order: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield variants of an order in which another program deletes a topic while a topic that this program deleted is in no table.

    A delayed message that arrives after the deletion of its topic has a queue and no entry in a table, until that (TCM-31).
    """
    if history.program.needs == ALONE:
        return
    absent = set[str]()
    moments = list[tuple[int, int]]()
    for at, item in enumerate(order):
        if not isinstance(item, Exchange):
            continue
        if absent:
            moments.append((at, item.sent_millis))
        if item.op == "delete_topic":
            absent.add(item.topic)
        elif item.op in _CREATING and item.code == codes.SUCCESS:
            absent -= {item.topic, RETRY_PREFIX + item.fields.get("group", "")}
    if absent:
        moments.append((len(order), history.millis))
    for at, millis in moments[-_MOST_DELETIONS:]:
        yield [*order[:at], Cleaned(millis), *order[at:]]


def late_removals(history: ParsedHistory, *, after_responses: bool) -> Iterator[Sequence[Item]]:
    """Yield orders in which a name server removes brokers only after requests that followed the end of their connections.

    If a broker has registered over a new connection before that, it is then removed, or stays because of the new connection.
    `after_responses`: brokers are also removed after requests that followed the response to their unregistration.
    """
    left = [at for at, item in enumerate(history.items) if _is_closed(item) or (after_responses and _has_left(item))][:_MOST_REMOVALS]
    moments = [[at, *_moments_after(history, at)] for at in left]
    orders = sorted(itertools.product(*(range(len(places)) for places in moments)), key=lambda delays: (-delays.count(0), sum(delays)))
    for delays in itertools.islice(orders, 1, _MOST_REMOVAL_ORDERS):
        moved = {at: places[delay] for at, places, delay in zip(left, moments, delays, strict=True) if delay}
        items = list[Item]()
        for place, item in enumerate(history.items):
            items += [] if place in moved else [item]
            items += [history.items[at] for at, after in moved.items() if after == place]
        yield items


def _moments_after(history: ParsedHistory, at: int) -> list[int | None]:
    """Return the places of the next requests to a name server, until the broker has registered over a new connection. None: never."""
    later = [place for place, item in enumerate(history.items) if place > at and _asks_name_server(item)]
    registration = _next_registration(history, at)
    if registration is None:
        return [*later[:_MOST_LATER]]
    registered = history.items.index(registration)
    return [*[place for place in later if place < registered][:_MOST_LATER], registered, None]


def _asks_name_server(item: Item) -> bool:
    return isinstance(item, Exchange) and item.broker == NAME_SERVER


def _has_left(item: Item) -> bool:
    """Whether a broker has unregistered."""
    return isinstance(item, Exchange) and _has_code(item, codes.UNREGISTER_BROKER) and item.code == codes.SUCCESS


def _is_closed(item: Item) -> TypeGuard[Event]:
    """Whether a broker has closed its connection."""
    return isinstance(item, Event) and item.op == "disconnect"


def _next_registration(history: ParsedHistory, at: int) -> Exchange | None:
    """Return the first registration over the broker's next connection after the connection that this item closes."""
    closed = history.items[at]
    if not _is_closed(closed):
        return None
    line, later = closed.value["address"], history.items[at + 1 :]
    registers = (item for item in later if isinstance(item, Exchange) and _has_code(item, codes.REGISTER_BROKER))
    return next((item for item in registers if item.request.get("line") == line), None)


def _has_code(exchange: Exchange, code: int) -> bool:
    return whole_number(exchange.request["code"]) == code


def _whole(history: ParsedHistory, born: Mapping[str, int], committed: Mapping[str, int]) -> Iterator[Sequence[Exchange | Event]]:
    """Yield the orders in which each request is served without interruption."""

    def place(item: Exchange | Event) -> int | None:
        if not isinstance(item, Exchange):
            return None
        if item.op == "end_transaction":
            return committed.get(item.fields.get("commitLogOffset", ""))
        if item.one_way:
            return born.get(item.fields.get("bornTimestamp", ""))
        return min(item.places, default=None)

    stored = [number for number, item in enumerate(history.items) if place(item) is not None]
    in_log = sorted((history.items[number] for number in stored), key=lambda item: place(item) or 0)
    logged = list(history.items)
    for number, item in zip(stored, in_log, strict=True):
        logged[number] = item
    yield logged
    yield [item for item in logged if not _silent(item) or place(item) is not None]
    for later in (1, 2, 3, len(history.items)):
        order = list(history.items)
        for item in reversed(history.exchanges):
            if item.one_way:
                at = order.index(item)
                order.insert(min(at + 1 + later, len(order)), item)
                del order[at]
        yield order
    yield [item for item in history.items if not _silent(item) or item.op not in SENDS or place(item) is not None]


def _silent(item: Exchange | Event) -> bool:
    return isinstance(item, Exchange) and item.one_way


def _with_arrivals(history: ParsedHistory, items: Sequence[Exchange | Event]) -> list[Item]:
    """Return the same order with one-way sends checked when they were sent."""
    order: list[Item] = list(items)
    next_free = 0  # earlier requests have arrived, and answered requests are complete
    for item in history.items:
        if isinstance(item, Exchange) and item.one_way and item.op in SENDS:
            order.insert(next_free, Arrived(item))
            next_free += 1
        elif not _silent(item):
            next_free = max(next_free, next(at for at, other in enumerate(order) if other is item) + 1)
    return order


def _overtaken(history: ParsedHistory, items: Sequence[Exchange | Event]) -> list[Item]:
    """Return the same order, but an answered send after one-way sends is checked before them."""
    order: list[Item] = list(items)
    first: Exchange | None = None
    for item in history.items:
        if isinstance(item, Exchange) and item.one_way:
            first = first or (item if item.op in SENDS and item in order else None)
            continue
        if first is not None and isinstance(item, Exchange) and item.op in SENDS and order.index(first) < order.index(item):
            order.insert(order.index(first), Arrived(item))
        first = None
    return order
