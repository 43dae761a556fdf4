"""Check the store times of records against the times of the requests that stored them (CL-01, CL-06).

A broker sets the time when it stores a record: after the request was sent, and before the response arrives. The clocks of client and broker
may differ, but by the same amount for every record of a program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rocketproof_impl.message import Message
from rocketproof_protocol.flags import COMMIT

from ...brokers.runs.parsed import ParsedHistory
from .comparison import FieldDifference

FIELD: Final = "storeTimestamp"
_CLOCKS: Final = 50
"""Milliseconds by which two clocks may drift apart during a program."""


class _Bounds(NamedTuple):
    """A record's place and store time (ms), and the times (ms since the start) between which it was stored; no `latest` if unknown."""

    place: int
    stored: int
    earliest: int
    latest: int | None

    def allows(self, ahead: int) -> bool:
        """Return whether the time is possible on a clock that is `ahead` milliseconds ahead of the history's."""
        at = self.stored - ahead
        return self.earliest - _CLOCKS <= at and (self.latest is None or at <= self.latest + _CLOCKS)


def differences(history: ParsedHistory, records: Mapping[int, Message]) -> Iterator[FieldDifference]:
    """Yield the records, by place, whose store time no single difference of the clocks explains together with most other records."""
    if history.clocks:
        return
    bounds = sorted({*_acknowledged(history, records), *_committed(history, records)})
    possible = [each.stored - latest for each in bounds if (latest := each.latest) is not None]
    if not possible:
        return
    ahead = max(possible, key=lambda difference: sum(each.allows(difference) for each in bounds))
    for each in bounds:
        if not each.allows(ahead):
            message = records[each.place]
            bound = "" if each.latest is None else f" and at most {ahead + each.latest}"
            where = f"the record at {each.place} ({message.topic}, queue {message.queue_id})"
            text = f"at least {ahead + each.earliest}{bound}"
            yield FieldDifference(FIELD, each.stored, text, where, beside="by the times of request and response it is")


def _acknowledged(history: ParsedHistory, records: Mapping[int, Message]) -> Iterator[_Bounds]:
    """Yield the bounds of records that a response acknowledges. A place that two responses name was given again after a restart."""
    times = Counter(place for exchange in history.exchanges for place in exchange.places)
    for exchange in history.exchanges:
        if exchange.closed == "ok" and exchange.took is not None:
            for place in exchange.places:
                if place in records and times[place] == 1:
                    yield _Bounds(place, records[place].store_timestamp, exchange.sent_millis, exchange.ended_millis)


def _committed(history: ParsedHistory, records: Mapping[int, Message]) -> Iterator[_Bounds]:
    """Yield the bounds of committed messages, which are stored after the first request to end their half messages."""
    asked: dict[int, int] = {}
    for exchange in history.exchanges:
        if exchange.op == "end_transaction" and exchange.sent is not None:
            half = exchange.number("commitLogOffset", -1)
            asked[half] = min(exchange.sent_millis, asked.get(half, exchange.sent_millis))
    for place, message in records.items():
        if message.transaction == COMMIT and message.prepared_transaction_offset in asked:
            yield _Bounds(place, message.store_timestamp, asked[message.prepared_transaction_offset], None)
