"""What a history shows of the queue locks of a group while a send to its retry topic is served."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocketproof_traces.checker.locks import GroupLocks
from rocketproof_traces.history.exchange import Exchange

SECOND = 1_000_000_000


def queues(*numbers: int) -> list[dict[str, Any]]:
    return [{"topic": "A", "brokerName": "b", "queueId": number} for number in numbers]


def asked(op: str, seq: int, *numbers: int, held: tuple[int, ...] = (), client: str = "c", second: int = 0, **more: Any) -> Exchange:
    """A request for locks of these queues that is answered with the queues `held`, by the next event and within the same second."""
    body = {"consumerGroup": "g", "clientId": client, "mqSet": queues(*numbers)}
    answer = {"code": 0, "body": json.dumps({"lockOKMQSet": queues(*held)}).encode()}
    values: dict[str, Any] = {"closed": "ok", "outcome": answer, "end": seq + 1, "sent": second * SECOND, "took": 0} | more
    return Exchange(client, op, "b", seq, {"body": json.dumps(body).encode()}, **values)


def sent(seq: int = 10, *, topic: str = "%RETRY%g", second: int = 0, **more: Any) -> Exchange:
    values: dict[str, Any] = {"closed": "ok", "outcome": {"code": 0}, "end": seq + 1, "sent": second * SECOND, "took": 0} | more
    return Exchange("p", "send", "b", seq, {"fields": {"topic": topic}}, **values)


LOST: dict[str, Any] = {"closed": "info", "outcome": {}, "end": None, "took": None}
LOCK = asked("lock", 0, 0, held=(0,))


@pytest.mark.behaviour("DLQ-07")
@pytest.mark.parametrize(
    ("exchanges", "send", "held"),
    [
        ([], sent(), False),
        ([LOCK], sent(), True),
        ([LOCK], sent(topic="%RETRY%h"), False),
        ([LOCK], sent(topic="A"), False),
        ([asked("lock", 0, 0)], sent(), False),
        ([asked("lock", 0, 0, **LOST)], sent(), None),
        ([asked("lock", 20, 0, held=(0,))], sent(), False),
        ([asked("lock", 9, 0, held=(0,), end=12)], sent(), None),
        ([LOCK, asked("unlock", 2, 0)], sent(), False),
        ([LOCK, asked("unlock", 2, 0, client="d")], sent(), True),
        ([LOCK, asked("unlock", 2, 1)], sent(), True),
        ([LOCK, asked("unlock", 2, 0, **LOST)], sent(), None),
        ([LOCK, asked("unlock", 9, 0, end=12)], sent(), None),
        ([LOCK, asked("unlock", 2, 0), asked("lock", 4, 0, held=(0,))], sent(), True),
        ([asked("lock", 0, 0, 1, held=(0, 1)), asked("unlock", 2, 0)], sent(), True),
        ([LOCK], sent(second=58), True),
        ([LOCK], sent(second=60), None),
        ([LOCK], sent(second=62), False),
        ([LOCK, asked("lock", 2, 0, held=(0,), second=50)], sent(second=62), True),
        ([LOCK], sent(sent=None, took=None), None),
        ([LOCK], sent(**LOST), None),
    ],
)  # fmt: skip
def test_lock_is_held_free_or_unknown(exchanges: list[Exchange], send: Exchange, held: bool | None) -> None:
    assert GroupLocks.of([*exchanges, send]).held(send) is held


@pytest.mark.parametrize("body", [None, b"", b"[]", b"{", b'{"clientId":"c"}'])
def test_request_without_a_group_is_left_out(body: bytes | None) -> None:
    lock = Exchange("c", "lock", "b", 0, {"body": body}, "ok", {"code": 0}, 1)
    assert GroupLocks.of([lock]) == GroupLocks((), ())
