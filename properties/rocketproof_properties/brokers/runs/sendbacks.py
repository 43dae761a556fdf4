"""Which record each send-back of a program has stored: its answer does not say.

A record that may be its own is of the same message (no two messages of a program share a time of birth), behind the one that was given
back, and a dead letter or one that waits for its retry. A message may be given back more than once, and not all that comes of it can be
read: dead letters may be write-only (HAZ-31). So a send-back has first choice of what it asks for, a retry or a dead letter of its group
(BACK-11, BACK-12), and takes something else only if no other asks for that.
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
    """How often a consumer group retries a message, and over how many queues, as an administrator has set it or a broker by itself."""

    retries: int = RETRY_MAX_TIMES
    queues: int = 1

    @property
    def silent(self) -> bool:
        """Whether what is given back to it is stored nowhere (BACK-05)."""
        return self.queues <= 0


def made(update: Exchange) -> tuple[str, Group]:
    """The group that an administrator changes, by its name; of a body that cannot be read the group "", as a broker makes it."""
    try:
        data = json.loads(body_of(update.request) or b"{}")
        group = Group(whole_number(data.get("retryMaxTimes", RETRY_MAX_TIMES)), whole_number(data.get("retryQueueNums", 1)))
        return str(data.get("groupName")), group
    except (ValueError, TypeError, AttributeError):
        return "", Group()


def groups_of(asked: Iterable[Exchange], named: Iterable[str]) -> Iterator[Group]:
    """The group that each of these requests names, as it is when they are served in this order."""
    known: dict[str, Group] = {}
    for one, name in zip(asked, named, strict=True):
        yield known.get(name, Group())
        if one.op == "update_group" and one.code == codes.SUCCESS:
            name, group = made(one)
            known[name] = group
        elif one.op == "delete_group" and one.code == codes.SUCCESS:
            known.pop(one.fields.get("groupName", ""), None)


class ReadRecord(Protocol):
    """A record, whoever has read it."""

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
    """Of these records, by their places, the first that this send-back of the record `before` may have stored; with `asked`, that is what
    it asks for."""
    limit = retry_limit_of(request.max_reconsume_times, request.version, group.retries)
    given_up = request.delay_level < 0 or is_given_up(before.reconsume_times, limit)
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
