"""Which record each send-back of a program has stored; the response does not contain it.

A candidate has the same born timestamp as the message sent back (unique in a program) and a higher place in the log. It is a dead letter or
waits for its retry. A message may be sent back more than once, and some of the records may be unreadable: dead letters may be write-only
(HAZ-31). Each send-back therefore first chooses among records of the kind that it asks for, a retry or a dead letter of its group (BACK-11,
BACK-12). It takes another one only if no other send-back asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from rocketproof_protocol import codes
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import REAL_TOPIC
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE
from rocketproof_spec.bounds import is_given_up, retry_limit_of
from rocketproof_traces.history.exchange import Exchange

from ...catalogue.history import BrokerRequest
from .recording import body_of


@dataclass(frozen=True)
class Group:
    """The retries and retry queues of a consumer group, as set by an administrator or by the broker's defaults."""

    retries: int = RETRY_MAX_TIMES
    queues: int = 1

    @property
    def silent(self) -> bool:
        """Whether messages that are sent back to it are stored nowhere (BACK-05)."""
        return self.queues <= 0


def updated_group(update: Exchange) -> tuple[str, Group]:
    """Return the name and settings of the group that an administrator changes."""
    return group_in(body_of(update.request))


def group_in(body: bytes | None) -> tuple[str, Group]:
    """Return the name and settings of the group in a request's body; "" and the defaults if it cannot be parsed."""
    try:
        data = json.loads(body or b"{}")
        group = Group(whole_number(data.get("retryMaxTimes", RETRY_MAX_TIMES)), whole_number(data.get("retryQueueNums", 1)))
        return str(data.get("groupName")), group
    except (ValueError, TypeError, AttributeError):
        return "", Group()


def groups_of(requests: Iterable[Exchange], named: Iterable[str]) -> Iterator[Group]:
    """Yield the group that each request names, with its settings when the requests are served in this order."""
    known: dict[str, Group] = {}
    for request, name in zip(requests, named, strict=True):
        yield known.get(name, Group())
        if request.op == "update_group" and request.code == codes.SUCCESS:
            name, group = updated_group(request)
            known[name] = group
        elif request.op == "delete_group" and request.code == codes.SUCCESS:
            known.pop(request.fields.get("groupName", ""), None)


class ReadRecord(Protocol):
    """A record, independent of its reader."""

    @property
    def topic(self) -> str: ...
    @property
    def born_timestamp(self) -> int: ...
    @property
    def reconsume_times(self) -> int: ...
    @property
    def properties(self) -> Mapping[str, str]: ...


def choose(
    request: BrokerRequest, group: Group, before: ReadRecord, records: Iterable[tuple[int, ReadRecord]], *, asked: bool
) -> int | None:
    """Return the place of the first of these records that a send-back of `before` may have stored, None if there is none.

    `asked`: accept only the kind of record that the send-back asks for.
    """
    limit = retry_limit_of(request.max_reconsume_times, request.version, group.retries)
    given_up = is_given_up(before.reconsume_times, limit, back=True, level=request.delay_level)
    wanted = None if group.silent else (DLQ_PREFIX if given_up else RETRY_PREFIX) + request.group
    for place, record in records:
        waits, real = record.topic == SCHEDULE, record.properties.get(REAL_TOPIC, "")
        becomes, delivered = real if waits else record.topic, real == record.topic
        dead = becomes.startswith(DLQ_PREFIX)
        if place <= request.offset or record.born_timestamp != before.born_timestamp or not (dead or waits):
            continue
        if (becomes == wanted and not delivered) if asked else (dead or request.delay_level >= 0):
            return place
    return None
