"""Measures of requests: the numbers that boundaries compare with their limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from rocketproof_impl.java import utf8
from rocketproof_impl.message import parse_properties
from rocketproof_impl.remoting.command import VERSION
from rocketproof_profiles import Profile
from rocketproof_protocol.flags import HOSTS_IPV6
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, TRAN_MSG
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from rocketproof_traces.history.exchanges import SENDS

from .requests import batch_items
from .sizes import added_length, batch_length, half_length, item_length, overhead, stored_length

_BEYOND_LONGS: Final = range(-(10**22), 10**22)


class MeasuredRequest(NamedTuple):
    """A request with all that its measures depend on.

    `size`: bytes of the body. `version`: the sender's. `profile`, `cluster` and `trace` (traceOn): the broker's. `free`: bytes left in the
    log's last file, None if unknown.
    """

    op: str
    fields: Mapping[str, str]
    body: bytes | None
    size: int
    profile: Profile
    cluster: str
    trace: str = "true"
    version: int = VERSION
    free: int | None = None


def _topics(request: MeasuredRequest) -> Iterator[str]:
    """Yield the topics that a request names or, for a message sent back, its retry and dead-letter topics."""
    if request.op in (*SENDS, "update_topic"):
        yield request.fields.get("topic", "")
    elif request.op == "send_back":
        heads = (DLQ_PREFIX,) if request.fields.get("delayLevel", "").startswith("-") else (RETRY_PREFIX, DLQ_PREFIX)
        yield from (head + request.fields.get("group", "") for head in heads)


def topic_characters(request: MeasuredRequest) -> Iterator[int]:
    return map(len, _topics(request))


def topic_bytes(request: MeasuredRequest) -> Iterator[int]:
    """Yield the UTF-8 lengths of topics that contain non-ASCII characters."""
    return (size for name in _topics(request) if (size := len(utf8(name))) > len(name))


def group_characters(request: MeasuredRequest) -> Iterator[int]:
    if request.op in ("send_back", "pull"):
        yield len(request.fields.get("group", request.fields.get("consumerGroup", "")))
    elif request.op == "update_group":
        data = _json(request.body)
        yield len(str(data.get("groupName", "")))


def _text(request: MeasuredRequest) -> Iterator[str]:
    if request.op in SENDS and request.fields.get("properties"):
        yield request.fields["properties"]


def text_bytes(request: MeasuredRequest) -> Iterator[int]:
    return (len(utf8(text)) for text in _text(request))


def text_stored(request: MeasuredRequest) -> Iterator[int]:
    if request.op == "send":
        for text in _text(request):
            yield stored_length(parse_properties(text, exact=request.profile.exact_properties), request.profile, cluster=request.cluster)


def wide_stored(request: MeasuredRequest) -> Iterator[int]:
    """Yield the stored lengths of properties with non-ASCII characters: a store first checks the number of characters."""
    if not all(text.isascii() for text in _text(request)):
        yield from text_stored(request)


def _items(request: MeasuredRequest) -> Iterator[bytes]:
    """Return the properties of each message of a batch (BAT-04), as far as the body can be parsed."""
    return (properties for _, properties in batch_items(request.body or b"" if request.op == "batch" else b""))


def item_bytes(request: MeasuredRequest) -> Iterator[int]:
    return map(len, _items(request))


def item_stored(request: MeasuredRequest) -> Iterator[int]:
    """Yield the stored length of each item's properties, with the batch's own and those that the broker adds (BAT-03)."""
    return (item_length(text, _added(request)) for text in _items(request))


def _added(request: MeasuredRequest) -> int:
    return added_length(request.fields.get("properties"), request.profile, cluster=request.cluster, traced=request.trace == "true")


def half_stored(request: MeasuredRequest) -> Iterator[int]:
    """Yield the stored length of a half message's properties: with its real topic and queue and the count of its first check (TRX-04)."""
    for text in _text(request) if request.op == "send" and request.profile.half_messages else ():
        named = parse_properties(text, exact=request.profile.exact_properties)
        if named.get(TRAN_MSG, "").lower() == "true":
            yield half_length(
                named, request.fields.get("topic", ""), request.fields.get("queueId", ""), request.profile, cluster=request.cluster
            )


def record_bytes(request: MeasuredRequest) -> Iterator[int]:
    """Yield the record size of a plain message, including what the broker adds."""
    if request.op == "send":
        properties = parse_properties(request.fields.get("properties"), exact=request.profile.exact_properties)
        yield request.size + overhead(request.fields.get("topic", ""), stored_length(properties, request.profile, cluster=request.cluster))


def records_bytes(request: MeasuredRequest) -> int:
    """Return the bytes of all records of a plain message or a batch, 0 for other requests."""
    if request.op != "batch":
        return sum(record_bytes(request))
    return batch_length(batch_items(request.body or b""), request.fields.get("topic", ""), _added(request))


def left(*ops: str) -> Callable[[MeasuredRequest], Iterator[int]]:
    """Measure the bytes that the records leave in the log's last file; negative if they do not fit."""
    return lambda request: iter((request.free - records_bytes(request),) if request.op in ops and request.free is not None else ())


def body(*ops: str) -> Callable[[MeasuredRequest], Iterator[int]]:
    return lambda request: iter((request.size,) if request.op in ops else ())


def tries(request: MeasuredRequest) -> Iterator[int]:
    """Yield `reconsumeTimes` of a message to a retry topic."""
    if request.op == "send" and request.fields.get("topic", "").startswith(RETRY_PREFIX):
        yield from _numbers(request, "reconsumeTimes")


def version(op: str) -> Callable[[MeasuredRequest], Iterator[int]]:
    """Measure the sender's version, for requests that set `maxReconsumeTimes`."""
    return lambda request: iter(
        (request.version,) if request.op == op and "maxReconsumeTimes" in request.fields and next(tries(request), 1) else ()
    )


def levels(request: MeasuredRequest) -> Iterator[int]:
    if request.op == "send":
        for text in _text(request):
            yield from _number(parse_properties(text, exact=False).get(DELAY))
    elif request.op == "send_back":
        yield from _numbers(request, "delayLevel")


def queue(request: MeasuredRequest) -> Iterator[int]:
    """Yield the queue id minus the number of queues that the sender wants."""
    if request.op in SENDS:
        for queue, count in zip(_numbers(request, "queueId"), _numbers(request, "defaultTopicQueueNums"), strict=False):
            yield queue - count


def counts(request: MeasuredRequest) -> Iterator[int]:
    """Yield the number of read queues minus that of write queues."""
    if request.op == "update_topic":
        for read, write in zip(_numbers(request, "readQueueNums"), _numbers(request, "writeQueueNums"), strict=False):
            yield read - write


def any_number(request: MeasuredRequest) -> Iterator[int]:
    for name in request.fields:
        if name not in ("bornTimestamp", "properties", "topic", "group"):
            yield from _numbers(request, name)


def flags(request: MeasuredRequest) -> Iterator[int]:
    """Yield 1 if an IPv6 flag is set, which changes the layout of a record, else 0."""
    if request.op in SENDS:
        yield from (flag & HOSTS_IPV6 and 1 for flag in _numbers(request, "sysFlag"))


def _numbers(request: MeasuredRequest, name: str) -> Iterator[int]:
    return _number(request.fields.get(name))


def _number(text: str | None) -> Iterator[int]:
    with suppress(ValueError):
        yield whole_number(text or "", _BEYOND_LONGS)


def _json(body: bytes | None) -> dict[str, Any]:
    try:
        data = json.loads(body or b"{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
