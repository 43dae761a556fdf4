"""Steps for the specification's actions: one table for programs, simulated clusters and brokers over the wire.

Crash and restart have no row: a deployment stops and starts its own processes. Producers send their own requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rocketproof_protocol import codes
from rocketproof_protocol.flags import COMMIT, NOT, PREPARED, READ, ROLLBACK, WRITE
from rocketproof_protocol.topics import RETRY_PREFIX, SCHEDULE, TEMPLATE

from .vocabulary import Step

KINDS: Final[Mapping[str, int]] = {"not": NOT, "prepared": PREPARED, "commit": COMMIT, "rollback": ROLLBACK}
"""The sysFlag of each kind of message in the specification."""

TOPICS: Final[Mapping[str, str]] = {
    "template": TEMPLATE,
    "cluster": "DefaultCluster",
    "retry": f"{RETRY_PREFIX}g",
    "forbidden": SCHEDULE,
    "blank": "  ",
    "illegal": "a b",
    "long": "x" * 128,
}
"""A topic of each class of the specification. A program names its ordinary topics itself."""

ANSWERS: Final[Mapping[int, str]] = {
    codes.MESSAGE_ILLEGAL: "MESSAGE_ILLEGAL",
    codes.SUCCESS: "SUCCESS",
    codes.SYSTEM_ERROR: "SYSTEM_ERROR",
    codes.NO_PERMISSION: "NO_PERMISSION",
    codes.TOPIC_NOT_EXIST: "TOPIC_NOT_EXIST",
    codes.SUBSCRIPTION_GROUP_NOT_EXIST: "SUBSCRIPTION_GROUP_NOT_EXIST",
    codes.INVALID_PARAMETER: "INVALID_PARAMETER",
}
"""Response codes by the specification's names."""


def _request(names: Sequence[str], body: int, *, t: int, d: int, numbers: int, queue: int, kind: str = "not") -> Step:
    arguments = {"topic": names[t], "default": names[d], "nums": numbers, "queue": queue, "sys_flag": KINDS[kind]}
    return "send", {**arguments, "body": "", "size": body}


def _update_topic(names: Sequence[str], body: int, *, t: int, read: int, write: int, perm: int) -> Step:
    del body
    return "topic", {"topic": names[t], "read": read, "write": write, "perm": perm}


def _delete_topic(names: Sequence[str], body: int, *, t: int) -> Step:
    del body
    return "delete", {"topic": names[t]}


def _switch_creation(names: Sequence[str], body: int, *, on: bool) -> Step:
    del names, body
    return "configure", {"line": f"autoCreateTopicEnable={str(on).lower()}"}


def _permit(names: Sequence[str], body: int, *, readable: bool, writable: bool) -> Step:
    del names, body
    return "configure", {"line": f"brokerPermission={(READ if readable else 0) | (WRITE if writable else 0)}"}


STEPS: Final[Mapping[str, Callable[..., Step]]] = {
    "request": _request,
    "update_topic": _update_topic,
    "delete_topic": _delete_topic,
    "switch_creation": _switch_creation,
    "permit": _permit,
}
"""The builder of a step for each action that sends a request.

Arguments: the topics' names, the bytes of the body, and the values of the action except its client and broker.
"""
