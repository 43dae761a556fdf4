"""Where a target and the reference implementation differ in a program, over the orders and moments that are possible.

Requests that want no answer may be served later than what follows them, and what was delayed may have been delivered before the queues
were read: where one such order and moment explains everything, there is no difference. A name server may also notice a closed connection
late: what that explains is a difference by chance, which is a finding only if it comes again whenever the program is repeated.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import COMMIT
from rocketproof_traces.common.outcomes import JudgingOutcome, decisive

from ...brokers.runs.parsed import Other, ParsedHistory, held_millis
from .comparison import ENTRY, FieldDifference
from .following import DELAY_STEP
from .orders import Item, asked_first, late_closes, orders
from .program import ReferenceReplay
from .readback import NEXT_OFFSET

_SHORTEST_DELAY: Final = 900
_MOST_MOMENTS: Final = 6


def differences(history: ParsedHistory, profile: Profile) -> list[FieldDifference]:
    """Where they differ, in order; nowhere if a possible order and moment explain everything, or for several clients at a time; only by
    chance, where one explains all else."""
    if history.concurrent or _is_open(history):
        return []
    reference = ReferenceReplay(history, profile, history.items)
    found = list(reference.compare())
    if not found:
        return []
    as_asked = _by_chance(found)
    moments = _moments(history)
    possible: list[Sequence[Item]] = [history.items]
    if any(one.one_way for one in history.asked):
        born = {str(one.born_timestamp): at for at, one in reversed(reference.followed.theirs.items())}
        ends = {
            str(one.prepared_transaction_offset): at for at, one in reversed(reference.followed.theirs.items()) if one.transaction == COMMIT
        }
        possible += orders(history, born, ends)
        missing = [one.fields.get("topic", "") for one in history.asked if one.one_way and one.fields.get("bornTimestamp") not in born]
        found = [one for one in found if not _is_less(one, missing)]
    if any(held_millis(one) is not None for one in history.asked):
        possible.append(asked_first(history))
    lost = any(isinstance(one, Other) and one.op == "disconnect" for one in history.items)
    ways = itertools.product(possible, (None, *moments), (False, True) if lost else (False,))
    others = itertools.islice(ways, 1, None)  # the first one is as it was asked, which is known
    compared = (_by_chance(ReferenceReplay(history, profile, items, until=until, last=last).compare()) for items, until, last in others)
    left = decisive(itertools.chain([as_asked], compared), outcome=_outcome, progress=lambda _: 0)
    if left == []:
        return []
    late = itertools.product(late_closes(history), (False, True))
    if any(not list(ReferenceReplay(history, profile, items, last=last).compare()) for items, last in late):
        return [replace(one, by_chance=True) for one in found if one.seq >= 0]
    if left:
        return left
    for until in moments:  # what differs whenever the queues were read does differ
        then = {(one.where, one.field) for one in ReferenceReplay(history, profile, history.items, until=until).compare()}
        found = [one for one in found if (one.where, one.field) in then]
    return found


def _by_chance(found: Iterable[FieldDifference]) -> list[FieldDifference] | None:
    """All of these, None if one is not by chance: nobody looks for what comes behind that one."""
    left = []
    for one in found:
        if not one.by_chance:
            return None
        left.append(one)
    return left


def _outcome(left: Sequence[FieldDifference] | None) -> JudgingOutcome:
    """The outcome of an order with these differences by chance, None if there are others."""
    return JudgingOutcome.REFUSED if left is None else JudgingOutcome.UNDECIDED if left else JudgingOutcome.EXPLAINED


def _is_open(history: ParsedHistory) -> bool:
    """Whether nobody knows which copy of a half message was asked about, or ended: the question or an end may have been lost."""
    asked = [one for one in history.items if isinstance(one, Other) and one.op == "question"]
    lost = any(one.one_way or one.code is None for one in history.asked)
    return bool(asked) and (lost or any("error" in one.value for one in asked))


def _moments(history: ParsedHistory) -> list[int]:
    """When the queues may have been read, in milliseconds, in a run so slow that what was delayed may have been delivered meanwhile."""
    if history.millis < _SHORTEST_DELAY:
        return []
    first = max((one.sent_millis for one in history.asked), default=0)
    step = max(DELAY_STEP, (history.millis - first) // _MOST_MOMENTS)
    return [*range(first, history.millis, step), history.millis]


def _is_less(one: FieldDifference, topics: Collection[str]) -> bool:
    """Whether one of these topics is not there, or has less in a queue, than once everything is served."""
    less = one.recorded is None if one.field == ENTRY else one.field == NEXT_OFFSET and one.recorded < one.found
    return less and any(one.where.endswith(f" {topic}") for topic in topics)
