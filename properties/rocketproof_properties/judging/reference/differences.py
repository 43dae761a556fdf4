"""Compare a target with the reference implementation over all possible orders and moments of a program.

One-way requests may be served later than the requests after them, and delayed messages may have been delivered before the queues were read.
If one such order and moment explains everything, there is no difference. A name server may notice a closed connection late: after further
requests, or after its broker has registered again. With `unregisters_later` it may also remove an unregistered broker late. A difference
that this explains is by chance. It is a finding only if it recurs in every repetition of the program. If administrative requests overlap,
all of this is tried for each of their orders.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from rocketproof_impl.store.delay import LEVELS
from rocketproof_profiles import Profile
from rocketproof_protocol.flags import COMMIT
from rocketproof_protocol.properties import DELAY
from rocketproof_traces.common.outcomes import JudgingOutcome, decisive
from rocketproof_traces.history.exchange import Exchange

from ...brokers.runs.parsed import ParsedHistory, held_millis
from .comparison import ENTRY, FieldDifference
from .following import DELAY_STEP
from .orders import (
    Item,
    at_once,
    by_sending_time,
    first_overlap,
    late_removals,
    newer_backups,
    orders,
    others_deletions,
    swapped,
)
from .program import ReferenceReplay
from .readback import NEXT_OFFSET

_SHORTEST_DELAY: Final = 900
_MOST_MOMENTS: Final = 6
_MOST_DUE: Final = 12


def differences(history: ParsedHistory, profile: Profile) -> list[FieldDifference]:
    """Return the differences in order. The list is empty if a possible order and moment explains everything, or if the history cannot be
    compared (`is_comparable`). If an order explains all but differences by chance, only those are returned.

    A broker does not lock overlapping requests against each other, so differences of responses from the first overlap on are by chance.
    """
    overlapping = None if _is_open(history) else at_once(history)
    if overlapping is None:
        return []
    overlap = first_overlap(history)

    def compared(items: Sequence[Item], until: int | None = None, last: bool = False) -> Iterator[FieldDifference]:
        replay = ReferenceReplay(history, profile, items, until=until, last=last)
        return _from_overlap_by_chance(replay.compare(), overlap)

    reference = ReferenceReplay(history, profile, history.items)
    differing = list(_from_overlap_by_chance(reference.compare(), overlap))
    if not differing:
        return []
    in_recorded_order = _by_chance(differing)
    moments = _moments(history)
    possible: list[Sequence[Item]] = [history.items]
    if any(exchange.one_way for exchange in history.exchanges):
        born = {str(message.born_timestamp): at for at, message in reversed(reference.followed.theirs.items())}
        ends = {
            str(message.prepared_transaction_offset): at
            for at, message in reversed(reference.followed.theirs.items())
            if message.transaction == COMMIT
        }
        possible += orders(history, born, ends)
        missing = [
            each.fields.get("topic", "") for each in history.exchanges if each.one_way and each.fields.get("bornTimestamp") not in born
        ]
        differing = [each for each in differing if not _is_less(each, missing)]
    possible += newer_backups(history)
    if any(held_millis(exchange) is not None for exchange in history.exchanges):
        possible.append(by_sending_time(history))
    possible = list(itertools.starmap(swapped, itertools.product(possible, overlapping)))
    possible += itertools.chain.from_iterable(others_deletions(history, swapped(history.items, each)) for each in overlapping)
    which = (False, True) if any(event.op == "disconnect" for event in history.recorded.others) else (False,)
    candidates = itertools.product(possible, (None, *moments), which)
    others = itertools.islice(candidates, 1, None)  # the first candidate, the recorded order, is compared already
    alternatives = (_by_chance(compared(*candidate)) for candidate in others)
    remaining = decisive(itertools.chain([in_recorded_order], alternatives), outcome=_outcome, progress=lambda _: 0)
    if remaining == []:
        return []
    late_orders = itertools.product(late_removals(history, after_responses=profile.unregisters_later), which, overlapping)
    if any(not list(compared(swapped(items, swaps), last=last)) for items, last, swaps in late_orders):
        return [replace(each, by_chance=True) for each in differing if each.seq >= 0]
    if remaining:
        return remaining
    for until in moments:  # a real difference occurs for every moment of reading the queues
        differing_then = {(each.where, each.field) for each in compared(history.items, until)}
        differing = [each for each in differing if (each.where, each.field) in differing_then]
    return differing


def differences_before_overlap(history: ParsedHistory, profile: Profile) -> list[FieldDifference]:
    """Return the differences in the responses before the first requests that overlap, in order.

    The list is empty if another program's deletion or another moment explains each of them, or if one-way requests, held pulls or lost
    connections before the overlap leave the order open.
    """
    begin = first_overlap(history)
    if begin is None or _is_open(history):
        return []
    items = [item for item in history.items if item.seq < begin]
    unordered = any(item.one_way or held_millis(item) is not None for item in items if isinstance(item, Exchange))
    if unordered or any(event.op == "disconnect" and event.seq < begin for event in history.recorded.others):
        return []
    possible = itertools.product([items, *others_deletions(history, items)], (None, *_moments(history)))
    compared = (ReferenceReplay(history, profile, order, until=until).compare() for order, until in possible)
    return _unless_explained([each for each in differing if 0 <= each.seq < begin] for differing in compared)


def _unless_explained(alternatives: Iterable[list[FieldDifference]]) -> list[FieldDifference]:
    """Return the differences of the first alternative; none if an alternative has none."""
    first: list[FieldDifference] = []
    for differing in alternatives:
        if not differing:
            return []
        first = first or differing
    return first


def is_comparable(history: ParsedHistory) -> bool:
    """Whether the reference implementation can follow the history: at most administrative requests of several clients overlap, and no lost
    frame leaves open which half message was checked or ended."""
    return not _is_open(history) and at_once(history) is not None


def _from_overlap_by_chance(differing: Iterable[FieldDifference], overlap: int | None) -> Iterator[FieldDifference]:
    """Yield the differences; those of responses to requests after the first overlap are by chance."""
    return (replace(each, by_chance=True) if overlap is not None and each.seq >= overlap else each for each in differing)


def _by_chance(differing: Iterable[FieldDifference]) -> list[FieldDifference] | None:
    """Return these differences, None if one of them is not by chance. Later differences are not computed then."""
    by_chance = []
    for difference in differing:
        if not difference.by_chance:
            return None
        by_chance.append(difference)
    return by_chance


def _outcome(left: Sequence[FieldDifference] | None) -> JudgingOutcome:
    """Return the outcome of an order with these differences by chance, None if it has others."""
    return JudgingOutcome.REFUSED if left is None else JudgingOutcome.UNDECIDED if left else JudgingOutcome.EXPLAINED


def _is_open(history: ParsedHistory) -> bool:
    """Whether it is unknown which copy of a half message was checked or ended, since the check request or an end may have been lost."""
    questions = [event for event in history.recorded.others if event.op == "question"]
    lost = any(exchange.one_way or exchange.code is None for exchange in history.exchanges)
    return bool(questions) and (lost or any("error" in question.value for question in questions))


def _moments(history: ParsedHistory) -> list[int]:
    """Return the moments (ms) at which the queues may have been read, for a run so slow that delayed messages may have been delivered
    meanwhile. On a busy machine the other queries after the program take much longer than reading the queues."""
    if history.millis < _SHORTEST_DELAY:
        return []
    first = max((exchange.sent_millis for exchange in history.exchanges), default=0)
    read = max((event.time or 0 for event in history.reports if event.op == "queues"), default=0) // 1_000_000
    return [*_spread(first, read), *_spread(first, history.millis), *_due(history, first), history.millis]


def _due(history: ParsedHistory, first: int) -> list[int]:
    """Return the moments (ms) from `first` on when single delayed messages have just arrived: of two that are due soon after each other,
    one may be in its queue."""
    begun = [exchange.sent_millis for exchange in history.exchanges if exchange.op == "send_back" or DELAY in exchange.properties]
    due = {sent + level + DELAY_STEP for sent in begun for level in LEVELS}
    return sorted(moment for moment in due if first <= moment <= history.millis)[:_MOST_DUE]


def _spread(first: int, last: int) -> range:
    return range(first, last, max(DELAY_STEP, (last - first) // _MOST_MOMENTS))


def _is_less(difference: FieldDifference, topics: Collection[str]) -> bool:
    """Whether one of these topics is missing, or has fewer messages in a queue, than after all requests are served."""
    less = (
        difference.recorded is None
        if difference.field == ENTRY
        else difference.field == NEXT_OFFSET and difference.recorded < difference.found
    )
    return less and any(difference.where.endswith(f" {topic}") for topic in topics)
