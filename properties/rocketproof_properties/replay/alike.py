"""What counts as the same in two brokers' answers: remarks, lists of ids, queues, routes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from rocketproof_impl import fastjson
from rocketproof_impl.message import Message

from . import masks

_BARE = re.compile(r"java(\.\w+)+")


def how_many(text: str | None) -> int | None:
    """How many values a field has, where the values themselves are each side's own."""
    return None if text is None else len([one for one in text.split(",") if one])


def same_remark(one: str | None, other: str | None) -> bool:
    """Whether two remarks say the same. A Java machine that has thrown an exception often leaves out its message and frame."""
    if one is not None and other is not None and _BARE.fullmatch(one):
        return other == one or other.startswith((f"{one}:", f"{one},"))
    return masks.remark(one) == masks.remark(other)


def queue_of(message: Message) -> int:
    """The queue that was meant."""
    return int(message.properties.get("REAL_QID", message.queue_id))


def queue_data(body: bytes | None) -> Sequence[Any]:
    try:
        rows = fastjson.loads(body or b"{}").get("queueDatas", [])
        keys = ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag", "topicSynFlag")
        return sorted([sorted((key, row[key]) for key in keys if key in row and row[key] is not None) for row in rows])
    except (ValueError, AttributeError, TypeError):
        return ["no JSON"]


def broker_data(body: bytes | None, mine: Callable[[str], bool]) -> Sequence[Any]:
    """The addresses of those brokers whose names are `mine`."""
    try:
        rows = [row for row in fastjson.loads(body or b"{}").get("brokerDatas", []) if mine(str(row["brokerName"]))]
        return sorted([str(row["brokerName"]), row.get("cluster"), sorted(row["brokerAddrs"].items())] for row in rows)
    except (ValueError, AttributeError, TypeError, KeyError):
        return ["no JSON"]
