"""Boundaries of requests, as data beside the rules that have them: what is measured, the limit, and steps that lie at it.

One table serves who draws programs, who reports which boundaries a run has met, and who knows what a broker may store without being able to
read it again. A request meets a boundary below, at or above its limit: with one less, as much, or one more. Where a broker adds something
of its own behind its test, the sum is a boundary of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rocketproof_impl.java import utf8
from rocketproof_impl.message import parse_properties
from rocketproof_impl.remoting.command import V3_4_9, VERSION
from rocketproof_impl.store.delay import MAX_LEVEL
from rocketproof_impl.store.record import BLANK_SIZE, PROPERTIES_LIMIT, TOPIC_LIMIT
from rocketproof_model.language import JAVA_INT
from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.flags import BORN_IPV6, HOSTS_IPV6
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, PGROUP, TRAN_MSG
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from rocketproof_spec.bounds import is_read_as_another

from ..catalogue import conditions as about
from .call import Context, RecordedCall
from .names import ProgramNames
from .requests import ITEM, batch_items
from .settings import ALONE, ENDED, SMALL_FILE
from .sizes import added_length, batch_length, half_length, item_length, left_of_file, overhead, stored_length

SIDES: Final = {-1: "below", 0: "at", 1: "above"}
BODY_LIMIT: Final = 4 << 20
GROUP_LIMIT: Final = 255
_LONG: Final = 2**63 - 1
_BEYOND_LONGS: Final = range(-(10**22), 10**22)
_WIDE: Final = "値"  # three bytes
SENDS: Final = ("send", "batch")

Step = tuple[str, dict[str, Any]]


class MeasuredRequest(NamedTuple):
    """A request as it is measured. `size` is that of its body, `version` its sender's, `profile`, `cluster` and `trace` (its traceOn) the
    broker's; `free` are the bytes that are left of the log's last file, None where nobody knows."""

    op: str
    fields: Mapping[str, str]
    body: bytes | None
    size: int
    profile: Profile
    cluster: str
    trace: str = "true"
    version: int = VERSION
    free: int | None = None


@dataclass(frozen=True)
class Boundary:
    """A limit of requests. `measure` gives the numbers that a request has of it, `steps` what to do for such a number. `sides` are those
    that there are. `unread`: the condition of the catalogue under which records are stored that nobody can read again, or that stop what
    the broker does for others, for the numbers for which they are (`garbles`). `there`: whether the profile has it; `large`: its steps
    need a file of megabytes; `needs`: the settings without which they mean nothing."""

    name: str
    rules: str
    limit: int
    measure: Callable[[MeasuredRequest], Iterable[int]]
    steps: Callable[[int, Profile], Sequence[Step]]
    sides: tuple[int, ...] = (-1, 0, 1)
    unread: str = ""
    garbles: Callable[[int, Profile], bool] = lambda n, profile: False
    there: Callable[[Profile], bool] = lambda profile: True
    large: bool = False
    needs: str = ""

    def at(self, side: int, profile: Profile) -> list[Step]:
        """What meets it on a side."""
        return [*self.steps(self.limit + side, profile)]


# What is measured


def _topics(sent: MeasuredRequest) -> Iterator[str]:
    """The topics that a request names, or that a message which comes back gets."""
    if sent.op in (*SENDS, "update_topic"):
        yield sent.fields.get("topic", "")
    elif sent.op == "send_back":
        heads = (DLQ_PREFIX,) if sent.fields.get("delayLevel", "").startswith("-") else (RETRY_PREFIX, DLQ_PREFIX)
        yield from (head + sent.fields.get("group", "") for head in heads)


def _topic_characters(sent: MeasuredRequest) -> Iterator[int]:
    return map(len, _topics(sent))


def _topic_bytes(sent: MeasuredRequest) -> Iterator[int]:
    """Of names with other bytes than characters."""
    return (size for name in _topics(sent) if (size := len(utf8(name))) > len(name))


def _group_characters(sent: MeasuredRequest) -> Iterator[int]:
    if sent.op in ("send_back", "pull"):
        yield len(sent.fields.get("group", sent.fields.get("consumerGroup", "")))
    elif sent.op == "update_group":
        data = _json(sent.body)
        yield len(str(data.get("groupName", "")))


def _text(sent: MeasuredRequest) -> Iterator[str]:
    if sent.op in SENDS and sent.fields.get("properties"):
        yield sent.fields["properties"]


def _text_bytes(sent: MeasuredRequest) -> Iterator[int]:
    return (len(utf8(text)) for text in _text(sent))


def _text_stored(sent: MeasuredRequest) -> Iterator[int]:
    if sent.op == "send":
        for text in _text(sent):
            yield stored_length(parse_properties(text, exact=sent.profile.exact_properties), sent.profile, cluster=sent.cluster)


def _wide_stored(sent: MeasuredRequest) -> Iterator[int]:
    """Of properties that have fewer letters than bytes: a store counts the former first."""
    if not all(text.isascii() for text in _text(sent)):
        yield from _text_stored(sent)


def _items(sent: MeasuredRequest) -> Iterator[bytes]:
    """The properties of a batch's messages, as far as it is one (BAT-04)."""
    return (properties for _, properties in batch_items(sent.body or b"" if sent.op == "batch" else b""))


def _item_bytes(sent: MeasuredRequest) -> Iterator[int]:
    return map(len, _items(sent))


def _item_stored(sent: MeasuredRequest) -> Iterator[int]:
    """With the batch's own, and those that the broker adds (BAT-03)."""
    return (item_length(text, _added(sent)) for text in _items(sent))


def _added(sent: MeasuredRequest) -> int:
    return added_length(sent.fields.get("properties"), sent.profile, cluster=sent.cluster, traced=sent.trace == "true")


def _half_stored(sent: MeasuredRequest) -> Iterator[int]:
    """Of a half message, with the topic and queue that it is for, and the count of its first check (TRX-04)."""
    for text in _text(sent) if sent.op == "send" and sent.profile.half_messages else ():
        named = parse_properties(text, exact=sent.profile.exact_properties)
        if named.get(TRAN_MSG, "").lower() == "true":
            yield half_length(named, sent.fields.get("topic", ""), sent.fields.get("queueId", ""), sent.profile, cluster=sent.cluster)


def _record_bytes(sent: MeasuredRequest) -> Iterator[int]:
    """Of a plain message, with what the broker adds."""
    if sent.op == "send":
        found = parse_properties(sent.fields.get("properties"), exact=sent.profile.exact_properties)
        yield sent.size + overhead(sent.fields.get("topic", ""), stored_length(found, sent.profile, cluster=sent.cluster))


def records_bytes(sent: MeasuredRequest) -> int:
    """Of all records of a plain message or of a batch, 0 for other requests."""
    if sent.op != "batch":
        return sum(_record_bytes(sent))
    return batch_length(batch_items(sent.body or b""), sent.fields.get("topic", ""), _added(sent))


def _left(*ops: str) -> Callable[[MeasuredRequest], Iterator[int]]:
    """What records leave of the file in which the one before them ends, if they fit."""
    return lambda sent: iter((sent.free - records_bytes(sent),) if sent.op in ops and sent.free is not None else ())


def _body(*ops: str) -> Callable[[MeasuredRequest], Iterator[int]]:
    return lambda sent: iter((sent.size,) if sent.op in ops else ())


def _tries(sent: MeasuredRequest) -> Iterator[int]:
    """How often a message was tried, as its sender says, against how often it may be."""
    if sent.op == "send" and sent.fields.get("topic", "").startswith(RETRY_PREFIX):
        yield from _numbers(sent, "reconsumeTimes")


def _version(op: str) -> Callable[[MeasuredRequest], Iterator[int]]:
    """The version of who may say how often a message is tried."""
    return lambda sent: iter((sent.version,) if sent.op == op and "maxReconsumeTimes" in sent.fields and next(_tries(sent), 1) else ())


def _levels(sent: MeasuredRequest) -> Iterator[int]:
    if sent.op == "send":
        for text in _text(sent):
            yield from _number(parse_properties(text, exact=False).get(DELAY))
    elif sent.op == "send_back":
        yield from _numbers(sent, "delayLevel")


def _queue(sent: MeasuredRequest) -> Iterator[int]:
    """A queue's number, against how many the sender wants."""
    if sent.op in SENDS:
        for queue, count in zip(_numbers(sent, "queueId"), _numbers(sent, "defaultTopicQueueNums"), strict=False):
            yield queue - count


def _counts(sent: MeasuredRequest) -> Iterator[int]:
    """How many queues more are read than written."""
    if sent.op == "update_topic":
        for read, write in zip(_numbers(sent, "readQueueNums"), _numbers(sent, "writeQueueNums"), strict=False):
            yield read - write


def _any_number(sent: MeasuredRequest) -> Iterator[int]:
    for name in sent.fields:
        if name not in ("bornTimestamp", "properties", "topic", "group"):
            yield from _numbers(sent, name)


def _flags(sent: MeasuredRequest) -> Iterator[int]:
    """The flags of IPv6, which move a record's fields."""
    if sent.op in SENDS:
        yield from (flag & HOSTS_IPV6 and 1 for flag in _numbers(sent, "sysFlag"))


def _numbers(sent: MeasuredRequest, name: str) -> Iterator[int]:
    return _number(sent.fields.get(name))


def _number(text: str | None) -> Iterator[int]:
    with suppress(ValueError):
        yield whole_number(text or "", _BEYOND_LONGS)


def _json(body: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# What is done


def _named(size: int, wide: int = 0) -> str:
    """A name of so many bytes, of which so many characters have three."""
    return "x" * (size - 3 * wide) + _WIDE * wide


def _given_up(group: str) -> list[Step]:
    return [("send", {}), ("back", {"group": group, "level": -1}), ("send", {"topic": "B"})]


def _batch(text: int) -> list[Step]:
    return [("send", {"items": [("a", {"p": "v" * (text - 2)}), ("b", {})]}), ("send", {"topic": "B"})]


def _filled(size: int, profile: Profile) -> list[Step]:
    """A message whose record has so many bytes, given up by its consumer; its topic's name has as many bytes in each program."""
    topic = _named(60)
    return [("send", {"topic": topic, "body": "", "size": size - overhead(topic, stored_length({}, profile))}), ("back", {"level": -1})]


def _ending(left: int, **named: Any) -> list[Step]:
    """A message before, one that leaves so many bytes of the file, and one behind it."""
    return [("send", {"body": "", "size": 40}), ("send", {"leave": left, **named}), ("send", {})]


def _own(profile: Profile) -> int:
    """What the broker adds to properties `p` of a message."""
    return stored_length({"p": "v"}, profile) - len("p\1v")


def _unchecked(size: int, profile: Profile) -> list[Step]:
    """A half message so long when it was checked for the first time, one behind it, and their producer, who waits for a question. Names
    have as many bytes in each program."""
    group, topic = "g" * 40, _named(60)
    named = {TRAN_MSG: "true", PGROUP: group}
    filled = {**named, "p": "v" * (1 + size - half_length({**named, "p": "v"}, topic, "0", profile))}
    sends = (("send", {"topic": topic, "properties": filled}), ("send", {"topic": "B", "properties": named}))
    return [("heartbeat", {"group": group}), *sends, ("question", {})]


def _own_item(profile: Profile) -> int:
    added = added_length("", profile)
    return added + bool(added)


_MISREADING: Final = ("P49", "P491", "P492", "P493", "P494", "P514", "P533", "P550")
"""Where a batch with a flag of IPv6 was tried on a release and leaves nothing behind. From 4.6.1 to 4.9.0 a broker that goes over two such
records runs out of memory, and 5.0.0 and 5.1.0 count them in their queue."""

BOUNDARIES: Final[tuple[Boundary, ...]] = (
    Boundary(
        "characters of a topic", "CHK-02 STO-02 BAT-02", TOPIC_LIMIT, lambda sent: _topic_characters(sent) if sent.op in SENDS else (),
        lambda n, _: [("send", {"topic": _named(n)})],
    ),
    Boundary(
        "characters of an administrator's topic", "TCM-30 STO-02", TOPIC_LIMIT,
        lambda sent: _topic_characters(sent) if sent.op == "update_topic" else (), lambda n, _: [("topic", {"topic": _named(n)})],
    ),
    Boundary(
        "bytes of a topic", "APP-08 STO-02", TOPIC_LIMIT, lambda sent: _topic_bytes(sent) if sent.op in SENDS else (),
        lambda n, _: [("send", {"topic": _named(n, 20)}), ("send", {"topic": "B"})],
        unread=about.WIDE_NAMES, garbles=lambda n, profile: not profile.check_names and is_read_as_another(n),
    ),
    Boundary(
        "characters of a dead-letter topic", "STO-02 BACK-16 HAZ-20", TOPIC_LIMIT,
        lambda sent: _topic_characters(sent) if sent.op == "send_back" else (), lambda n, _: _given_up(_named(n - len(DLQ_PREFIX))),
    ),
    Boundary(
        "bytes of a dead-letter topic", "APP-08 HAZ-49", TOPIC_LIMIT, lambda sent: _topic_bytes(sent) if sent.op == "send_back" else (),
        lambda n, _: _given_up(_named(n - len(DLQ_PREFIX), 20)),
        unread=about.WIDE_NAMES,
        garbles=lambda n, profile: not (profile.check_groups or profile.limits_name_bytes) and is_read_as_another(n),
    ),
    Boundary(
        "characters of a group", "CLI-04 DLQ-02", GROUP_LIMIT, _group_characters,
        lambda n, _: [("send", {}), ("back", {"group": _named(n)})],
    ),
    Boundary(
        "bytes of properties", "APP-05 STO-02", PROPERTIES_LIMIT, _text_bytes,
        lambda n, _: [("send", {"properties": {"p": "v" * (n - 2)}})],
    ),
    Boundary(
        "bytes of properties, with the broker's own", "APP-05 SEND-25", PROPERTIES_LIMIT, _text_stored,
        lambda n, profile: [("send", {"properties": {"p": "v" * (n - _own(profile) - 2)}})],
    ),
    Boundary(
        "bytes of properties with wide letters, with the broker's own", "APP-05 STO-02", PROPERTIES_LIMIT, _wide_stored,
        lambda n, profile: [("send", {"properties": {"p": _named(n - _own(profile) - 2, 1000)}})],
    ),
    Boundary(
        "bytes of an item's properties", "BAT-04", PROPERTIES_LIMIT, _item_bytes, lambda n, _: _batch(n), sides=(-1, 0),
    ),
    Boundary(
        "bytes of an item's properties, with the broker's own", "BAT-03 APP-08 HAZ-50", PROPERTIES_LIMIT, _item_stored,
        lambda n, profile: _batch(n - _own_item(profile)), unread=about.OWN_PROPERTIES,
        garbles=lambda n, profile: profile.stores_parsed and n > PROPERTIES_LIMIT,
        there=lambda profile: profile.stores_parsed,
    ),
    Boundary(
        "bytes of a half message's properties, with the count of its checks", "TRX-04 STO-02 HAZ-61", PROPERTIES_LIMIT, _half_stored,
        _unchecked, unread=about.UNCOUNTED, garbles=lambda n, _: n > PROPERTIES_LIMIT, there=lambda profile: profile.half_messages,
        needs=ENDED,
    ),
    Boundary("bytes of a record", "APP-06 STO-02 BACK-16", BODY_LIMIT, _record_bytes, _filled, large=True),
    Boundary(
        "bytes that a record leaves of its file", "APP-07", BLANK_SIZE, _left("send"), lambda n, _: _ending(n), needs=ALONE,
    ),
    Boundary(
        "bytes that a batch leaves of its file", "APP-07 BAT-04", BLANK_SIZE, _left("batch"),
        lambda n, _: _ending(n, items=[("a", {}), ("b", {"TAGS": "t"})]), needs=ALONE,
    ),
    Boundary("bytes of a body", "APP-06 CLI-12", BODY_LIMIT, _body("send"), lambda n, _: [("send", {"body": "", "size": n})], large=True),
    Boundary(
        "bytes of a batch", "APP-06 BAT-04", BODY_LIMIT, _body("batch"),
        lambda n, _: [("send", {"items": [("x" * 1_000_000, {}), ("x" * (n - 1_000_000 - 2 * (ITEM.size + 2)), {})]})],
        sides=(1,), large=True,
    ),
    Boundary("tries of a message", "DLQ-03 BACK-11", RETRY_MAX_TIMES, _tries, lambda n, _: [("send", {"topic": "%RETRY%g", "times": n})]),
    Boundary(
        "version of a sender", "DLQ-03", V3_4_9, _version("send"),
        lambda n, _: [("send", {"topic": "%RETRY%g", "times": 3, "most": 2, "version": n})],
    ),
    Boundary(
        "version of who gives back", "BACK-11", V3_4_9, _version("send_back"),
        lambda n, _: [("send", {}), ("back", {"most": 0, "version": n})],
    ),
    Boundary("delay levels of a message", "CL-02", MAX_LEVEL, _levels, lambda n, _: [("send", {"properties": {DELAY: str(n)}})]),
    Boundary(
        "delay levels of what comes back", "CL-02 BACK-12", MAX_LEVEL, lambda sent: _levels(sent) if sent.op == "send_back" else (),
        lambda n, _: [("send", {}), ("back", {"level": n})],
    ),
    Boundary("queues that a sender wants", "CHK-10 SEND-22", 0, _queue, lambda n, _: [("send", {"queue": 4 + n, "nums": 4})]),
    Boundary(
        "queues read and queues written", "TCM-30 HAZ-16", 0, _counts,
        lambda n, _: [("topic", {"read": 4 + n, "write": 4}), ("send", {"queue": 3 + n})],
    ),
    Boundary("Java's largest int", "REM-04", JAVA_INT[1], _any_number, lambda n, _: [("send", {"queue": n})]),
    Boundary("Java's smallest int", "REM-04", JAVA_INT[0], _any_number, lambda n, _: [("send", {"altered": ("flag", str(n))})]),
    Boundary("Java's largest long", "REM-04", _LONG, _any_number, lambda n, _: [("back", {"offset": n})]),
    Boundary(
        "flags of IPv6", "APP-08 HAZ-51", 0, lambda sent: _flags(sent) if sent.op == "send" else (),
        lambda n, _: [("send", {"sys_flag": n * BORN_IPV6}), ("send", {"topic": "B"})],
        sides=(0, 1), unread=about.LONGER_HOSTS,
        garbles=lambda n, profile: is_read_as_another(longer=bool(n), by_flag=profile.hosts_by_flag),
    ),
    Boundary(
        "flags of IPv6 of a batch", "APP-08 HAZ-51", 0, lambda sent: _flags(sent) if sent.op == "batch" else (),
        lambda n, _: [("send", {"items": [("a", {})] * items, "sys_flag": n * BORN_IPV6}) for items in (1, 2)], sides=(0, 1),
        unread=about.FAILED_IN_LOCK, garbles=lambda n, profile: bool(n) and profile.hosts_by_flag and not profile.resets_lock_time,
        there=lambda profile: profile.name in _MISREADING,
    ),
)  # fmt: skip
"""All of them. The steps behind a boundary whose records may not be read again are messages that go with them."""


def met(sent: MeasuredRequest) -> Iterator[tuple[str, str]]:
    """The boundaries that a request meets, each with its side."""
    for one in BOUNDARIES:
        for side in {number - one.limit for number in one.measure(sent)}:
            if side in one.sides:
                yield one.name, SIDES[side]


def unread(sent: MeasuredRequest) -> set[str]:
    """The conditions under which the broker may store this and not be able to read it again."""
    if any(number > TOPIC_LIMIT for number in _topic_characters(sent)) and sent.op in SENDS:
        return set()
    return {one.unread for one in BOUNDARIES if one.unread and any(one.garbles(n, sent.profile) for n in one.measure(sent))}


def sent(call: RecordedCall, profile: Profile, cluster: str = "DefaultCluster", free: int | None = None) -> MeasuredRequest:
    """A request as it is measured."""
    return MeasuredRequest(call.op, call.fields, call.body, len(call.body or b""), profile, cluster, version=call.version, free=free)


def end_behind(end: int, size: int, file_size: int) -> int:
    """Where a log ends whose next records have so many bytes: those that leave no room for a blank are in the next file (APP-07)."""
    free = left_of_file(end, file_size)
    return end + size if size + BLANK_SIZE <= free else end + free + size


def context(profile: str) -> Context:
    """Where requests are made that nobody sends, to be measured: names are as long as in a run, and files are small."""
    return Context(ProgramNames("r000000-1000-", 0), "broker-a", file_size=SMALL_FILE, profile=PROFILES[profile])
