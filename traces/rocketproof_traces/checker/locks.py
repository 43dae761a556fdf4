"""The queue locks that groups hold, as far as the requests of a history show them (DLQ-07).

A lock ends when its consumer frees the queue, or some time after its last request for it. A broker that restarts has no locks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from rocketproof_protocol.codes import SUCCESS
from rocketproof_protocol.topics import RETRY_PREFIX

from ..history.exchange import Exchange, kept_body

GROUP_LOCKS: Final = ("lock", "unlock")
"""The requests by which a consumer locks queues for its group, and frees them."""
_LIFE: Final = 60_000
"""Milliseconds after which a lock that was not renewed has expired."""
_INACCURACY: Final = 1000
"""Milliseconds around the end of a lock in which it is unknown whether the broker takes it for expired."""
_Queue = tuple[str, str, str]
_ANY_QUEUE: Final[frozenset[_Queue]] = frozenset({("", "", "")})
"""For a request whose queues are not in the history."""


def group_of(exchange: Exchange) -> str | None:
    """Return the group of a request for locks, None if its body is not in the history or names none."""
    request = LockRequest.of(exchange)
    return None if request is None else request.group


@dataclass(frozen=True)
class LockRequest:
    """A request that locks queues or frees them, and what is read from its body.

    - `queues`: the queues that it names, None if they are not in the history.
    - `held`: the queues that the answer to a lock names, None without such an answer.
    """

    exchange: Exchange
    group: str
    client: object
    queues: frozenset[_Queue] | None
    held: frozenset[_Queue] | None

    @classmethod
    def of(cls, exchange: Exchange) -> LockRequest | None:
        """Read a request; None if it has no group."""
        asked = _body(exchange.request)
        group = asked.get("consumerGroup")
        if not isinstance(group, str):
            return None
        held = _queues(_body(exchange.response or {}).get("lockOKMQSet")) if exchange.code == SUCCESS else None
        return cls(exchange, group, asked.get("clientId"), _queues(asked.get("mqSet")), held)


@dataclass(frozen=True)
class GroupLocks:
    """The requests of a history that lock queues and free them."""

    locks: tuple[LockRequest, ...]
    unlocks: tuple[LockRequest, ...]

    @classmethod
    def of(cls, exchanges: Iterable[Exchange]) -> GroupLocks:
        """Return those among the exchanges that have a group."""
        known = [request for each in exchanges if each.op in GROUP_LOCKS and (request := LockRequest.of(each)) is not None]
        locks, unlocks = (tuple(request for request in known if request.exchange.op == op) for op in GROUP_LOCKS)
        return cls(locks, unlocks)

    def held(self, send: Exchange) -> bool | None:
        """Return whether the group of a retry topic holds a lock while the broker serves a send to that topic. None if unknown.

        It is False for other topics.
        """
        if not send.topic.startswith(RETRY_PREFIX):
            return False
        group = send.topic.removeprefix(RETRY_PREFIX)
        mine = (lock for lock in self.locks if lock.group == group and lock.exchange.broker == send.broker)
        found = {held for lock in mine if _begins_before_end(lock.exchange, send) for held in self._each(lock, send)}
        return True if True in found else None if None in found else False

    def _each(self, request: LockRequest, send: Exchange) -> Iterator[bool | None]:
        """Yield for each queue of a request for locks whether its lock is held during the send."""
        lock = request.exchange
        if lock.code not in (SUCCESS, None):
            return
        begun = request.held is not None and lock.end is not None and lock.end < send.seq
        for queue in request.held if request.held is not None else request.queues or _ANY_QUEUE:
            frees = [unlock.exchange for unlock in self.unlocks if _frees(unlock, request, queue)]
            if _has_expired(lock, send) or any(_is_between(unlock, lock, send) for unlock in frees):
                yield False
            elif begun and _lives(lock, send) and not any(_begins_before_end(unlock, send) for unlock in frees):
                yield True
            else:
                yield None


def _frees(unlock: LockRequest, lock: LockRequest, queue: _Queue) -> bool:
    """Whether a request may free the queue that another one has locked."""
    is_owner = (unlock.exchange.broker, unlock.group, unlock.client) == (lock.exchange.broker, lock.group, lock.client)
    end = unlock.exchange.end
    return is_owner and queue in (unlock.queues or ()) and (end is None or end > lock.exchange.seq)


def _begins_before_end(first: Exchange, other: Exchange) -> bool:
    return other.end is None or first.seq < other.end


def _is_between(unlock: Exchange, lock: Exchange, send: Exchange) -> bool:
    """Whether a request was served after one and before another."""
    follows = lock.end is not None and unlock.seq > lock.end
    return follows and unlock.code == SUCCESS and unlock.end is not None and unlock.end < send.seq


def _lives(lock: Exchange, send: Exchange) -> bool:
    """Whether a lock has certainly not expired when the send is answered."""
    known = lock.sent is not None and send.took is not None
    return known and send.ended_millis - lock.sent_millis < _LIFE - _INACCURACY


def _has_expired(lock: Exchange, send: Exchange) -> bool:
    """Whether a lock has certainly expired when the send begins."""
    known = lock.took is not None and send.sent is not None
    return known and send.sent_millis - lock.ended_millis > _LIFE + _INACCURACY


def _body(message: Any) -> dict[str, Any]:
    """Return the JSON object in the body of a request or response, empty without one."""
    try:
        data = json.loads(kept_body(message) or b"{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _queues(listed: Any) -> frozenset[_Queue] | None:
    """Return the queues of a list in such a body, None if it is no list."""
    if not isinstance(listed, list):
        return None
    queues = (queue for queue in listed if isinstance(queue, dict))
    return frozenset((str(q.get("topic") or ""), str(q.get("brokerName") or ""), str(q.get("queueId") or 0)) for q in queues)


__all__ = ["GROUP_LOCKS", "GroupLocks", "group_of"]
