"""Boundaries of requests as data: what is measured, the limit, and steps that reach it.

The generator draws programs from this table. Reports list which boundaries a run has met. The judge learns from it which records a broker
may store but cannot read again.

A request meets a boundary below, at or above its limit: with one less, exactly the limit, or one more. Some brokers add data of their own
after the check; the sum is then a separate boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rocketproof_impl.remoting.command import V3_4_9
from rocketproof_impl.store.delay import MAX_LEVEL
from rocketproof_impl.store.record import BLANK_SIZE, PROPERTIES_LIMIT, TOPIC_LIMIT
from rocketproof_model.language import JAVA_INT
from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.flags import BORN_IPV6
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.properties import DELAY, PGROUP, TRAN_MSG
from rocketproof_protocol.topics import DLQ_PREFIX
from rocketproof_spec.bounds import is_read_as_another
from rocketproof_traces.history.exchanges import SENDS

from ..catalogue import conditions as about
from . import measures
from .call import Context, RecordedCall
from .measures import MeasuredRequest
from .names import ProgramNames
from .requests import ITEM
from .settings import ALONE, ENDED, SMALL_FILE
from .sizes import added_length, half_length, left_of_file, overhead, stored_length

SIDES: Final = {-1: "below", 0: "at", 1: "above"}
BODY_LIMIT: Final = 4 << 20
GROUP_LIMIT: Final = 255
_LONG: Final = 2**63 - 1
_WIDE: Final = "値"  # three bytes

Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Boundary:
    """A limit of requests.

    - `measure`: the numbers of a request that are compared with the limit.
    - `steps`: steps with a request that has the given number.
    - `sides`: the sides that occur (-1 below, 0 at, 1 above).
    - `unread`: the condition of the catalogue for records that cannot be read again, or that block other work of the broker.
    - `garbles`: whether a number leads to such a record in a profile.
    - `applies`: whether the profile has the boundary.
    - `large`: the steps need a file of megabytes.
    - `needs`: the settings that the steps require.
    """

    name: str
    rules: str
    limit: int
    measure: Callable[[MeasuredRequest], Iterable[int]]
    steps: Callable[[int, Profile], Sequence[Step]]
    sides: tuple[int, ...] = (-1, 0, 1)
    unread: str = ""
    garbles: Callable[[int, Profile], bool] = lambda n, profile: False
    applies: Callable[[Profile], bool] = lambda profile: True
    large: bool = False
    needs: str = ""

    def at(self, side: int, profile: Profile) -> list[Step]:
        """Return the steps that meet the boundary on this side."""
        return [*self.steps(self.limit + side, profile)]


# Steps


def _named(size: int, wide: int = 0) -> str:
    """Return a name of `size` bytes with `wide` characters of three bytes."""
    return "x" * (size - 3 * wide) + _WIDE * wide


def _given_up(group: str) -> list[Step]:
    return [("send", {}), ("back", {"group": group, "level": -1}), ("send", {"topic": "B"})]


def _batch(text: int) -> list[Step]:
    return [("send", {"items": [("a", {"p": "v" * (text - 2)}), ("b", {})]}), ("send", {"topic": "B"})]


def _filled(size: int, profile: Profile) -> list[Step]:
    """A message whose record has `size` bytes, sent to the dead letters by its consumer. Its topic's name has the same length in every
    program."""
    topic = _named(60)
    return [("send", {"topic": topic, "body": "", "size": size - overhead(topic, stored_length({}, profile))}), ("back", {"level": -1})]


def _ending(left: int, **named: Any) -> list[Step]:
    """A short message, a message that leaves `left` bytes of the file, and one after it."""
    return [("send", {"body": "", "size": 40}), ("send", {"leave": left, **named}), ("send", {})]


def _own(profile: Profile) -> int:
    """Return the bytes that the broker adds to the property `p` of a message."""
    return stored_length({"p": "v"}, profile) - len("p\1v")


def _unchecked(size: int, profile: Profile) -> list[Step]:
    """A half message whose properties have `size` bytes after its first check, a second one, and their producer, which waits for a check.

    Names have the same number of bytes in every program.
    """
    group, topic = "g" * 40, _named(60)
    named = {TRAN_MSG: "true", PGROUP: group}
    filled = {**named, "p": "v" * (1 + size - half_length({**named, "p": "v"}, topic, "0", profile))}
    sends = (("send", {"topic": topic, "properties": filled}), ("send", {"topic": "B", "properties": named}))
    return [("heartbeat", {"group": group}), *sends, ("question", {})]


def _own_item(profile: Profile) -> int:
    added = added_length("", profile)
    return added + bool(added)


_MISREADING: Final = ("P49", "P491", "P492", "P493", "P494", "P514", "P533", "P550")
"""Profiles for which a batch with an IPv6 flag was tried on a release and has no lasting effect.

From 4.6.1 to 4.9.0 a broker that scans two of these records runs out of memory. 5.0.0 and 5.1.0 count them in their queue.
"""

BOUNDARIES: Final[tuple[Boundary, ...]] = (
    Boundary(
        "characters of a topic", "CHK-02 STO-02 BAT-02", TOPIC_LIMIT,
        lambda request: measures.topic_characters(request) if request.op in SENDS else (), lambda n, _: [("send", {"topic": _named(n)})],
    ),
    Boundary(
        "characters of an administrator's topic", "TCM-30 STO-02", TOPIC_LIMIT,
        lambda request: measures.topic_characters(request) if request.op == "update_topic" else (),
        lambda n, _: [("topic", {"topic": _named(n)})],
    ),
    Boundary(
        "bytes of a topic", "APP-08 STO-02", TOPIC_LIMIT, lambda request: measures.topic_bytes(request) if request.op in SENDS else (),
        lambda n, _: [("send", {"topic": _named(n, 20)}), ("send", {"topic": "B"})],
        unread=about.WIDE_NAMES, garbles=lambda n, profile: not profile.check_names and is_read_as_another(n),
    ),
    Boundary(
        "characters of a dead-letter topic", "STO-02 BACK-16 HAZ-20", TOPIC_LIMIT,
        lambda request: measures.topic_characters(request) if request.op == "send_back" else (),
        lambda n, _: _given_up(_named(n - len(DLQ_PREFIX))),
    ),
    Boundary(
        "bytes of a dead-letter topic", "APP-08 HAZ-49", TOPIC_LIMIT,
        lambda request: measures.topic_bytes(request) if request.op == "send_back" else (),
        lambda n, _: _given_up(_named(n - len(DLQ_PREFIX), 20)),
        unread=about.WIDE_NAMES,
        garbles=lambda n, profile: not (profile.check_groups or profile.limits_name_bytes) and is_read_as_another(n),
    ),
    Boundary(
        "characters of a group", "CLI-04 DLQ-02", GROUP_LIMIT, measures.group_characters,
        lambda n, _: [("send", {}), ("back", {"group": _named(n)})],
    ),
    Boundary(
        "bytes of properties", "APP-05 STO-02", PROPERTIES_LIMIT, measures.text_bytes,
        lambda n, _: [("send", {"properties": {"p": "v" * (n - 2)}})],
    ),
    Boundary(
        "bytes of properties, with the broker's own", "APP-05 SEND-25", PROPERTIES_LIMIT, measures.text_stored,
        lambda n, profile: [("send", {"properties": {"p": "v" * (n - _own(profile) - 2)}})],
    ),
    Boundary(
        "bytes of properties with wide letters, with the broker's own", "APP-05 STO-02", PROPERTIES_LIMIT, measures.wide_stored,
        lambda n, profile: [("send", {"properties": {"p": _named(n - _own(profile) - 2, 1000)}})],
    ),
    Boundary(
        "bytes of an item's properties", "BAT-04", PROPERTIES_LIMIT, measures.item_bytes, lambda n, _: _batch(n), sides=(-1, 0),
    ),
    Boundary(
        "bytes of an item's properties, with the broker's own", "BAT-03 APP-08 HAZ-50", PROPERTIES_LIMIT, measures.item_stored,
        lambda n, profile: _batch(n - _own_item(profile)), unread=about.OWN_PROPERTIES,
        garbles=lambda n, profile: profile.stores_parsed and n > PROPERTIES_LIMIT,
        applies=lambda profile: profile.stores_parsed,
    ),
    Boundary(
        "bytes of a half message's properties, with the count of its checks", "TRX-04 STO-02 HAZ-61", PROPERTIES_LIMIT,
        measures.half_stored,
        _unchecked, unread=about.UNCOUNTED, garbles=lambda n, _: n > PROPERTIES_LIMIT, applies=lambda profile: profile.half_messages,
        needs=ENDED,
    ),
    Boundary("bytes of a record", "APP-06 STO-02 BACK-16", BODY_LIMIT, measures.record_bytes, _filled, large=True),
    Boundary(
        "bytes that a record leaves of its file", "APP-07", BLANK_SIZE, measures.left("send"), lambda n, _: _ending(n), needs=ALONE,
    ),
    Boundary(
        "bytes that a batch leaves of its file", "APP-07 BAT-04", BLANK_SIZE, measures.left("batch"),
        lambda n, _: _ending(n, items=[("a", {}), ("b", {"TAGS": "t"})]), needs=ALONE,
    ),
    Boundary(
        "bytes of a body", "APP-06 CLI-12", BODY_LIMIT, measures.body("send"), lambda n, _: [("send", {"body": "", "size": n})], large=True,
    ),
    Boundary(
        "bytes of a batch", "APP-06 BAT-04", BODY_LIMIT, measures.body("batch"),
        lambda n, _: [("send", {"items": [("x" * 1_000_000, {}), ("x" * (n - 1_000_000 - 2 * (ITEM.size + 2)), {})]})],
        sides=(1,), large=True,
    ),
    Boundary(
        "tries of a message", "DLQ-03 BACK-11", RETRY_MAX_TIMES, measures.tries,
        lambda n, _: [("send", {"topic": "%RETRY%g", "times": n})],
    ),
    Boundary(
        "version of a sender", "DLQ-03", V3_4_9, measures.version("send"),
        lambda n, _: [("send", {"topic": "%RETRY%g", "times": 3, "most": 2, "version": n})],
    ),
    Boundary(
        "version of who gives back", "BACK-11", V3_4_9, measures.version("send_back"),
        lambda n, _: [("send", {}), ("back", {"most": 0, "version": n})],
    ),
    Boundary("delay levels of a message", "CL-02", MAX_LEVEL, measures.levels, lambda n, _: [("send", {"properties": {DELAY: str(n)}})]),
    Boundary(
        "delay levels of what comes back", "CL-02 BACK-12", MAX_LEVEL,
        lambda request: measures.levels(request) if request.op == "send_back" else (),
        lambda n, _: [("send", {}), ("back", {"level": n})],
    ),
    Boundary("queues that a sender wants", "CHK-10 SEND-22", 0, measures.queue, lambda n, _: [("send", {"queue": 4 + n, "nums": 4})]),
    Boundary(
        "queues read and queues written", "TCM-30 HAZ-16", 0, measures.counts,
        lambda n, _: [("topic", {"read": 4 + n, "write": 4}), ("send", {"queue": 3 + n})],
    ),
    Boundary("Java's largest int", "REM-04", JAVA_INT[1], measures.any_number, lambda n, _: [("send", {"queue": n})]),
    Boundary("Java's smallest int", "REM-04", JAVA_INT[0], measures.any_number, lambda n, _: [("send", {"altered": ("flag", str(n))})]),
    Boundary("Java's largest long", "REM-04", _LONG, measures.any_number, lambda n, _: [("back", {"offset": n})]),
    Boundary(
        "flags of IPv6", "APP-08 HAZ-51", 0, lambda request: measures.flags(request) if request.op == "send" else (),
        lambda n, _: [("send", {"sys_flag": n * BORN_IPV6}), ("send", {"topic": "B"})],
        sides=(0, 1), unread=about.LONGER_HOSTS,
        garbles=lambda n, profile: is_read_as_another(longer=bool(n), by_flag=profile.hosts_by_flag),
    ),
    Boundary(
        "flags of IPv6 of a batch", "APP-08 HAZ-51", 0, lambda request: measures.flags(request) if request.op == "batch" else (),
        lambda n, _: [("send", {"items": [("a", {})] * items, "sys_flag": n * BORN_IPV6}) for items in (1, 2)], sides=(0, 1),
        unread=about.FAILED_IN_LOCK, garbles=lambda n, profile: bool(n) and profile.hosts_by_flag and not profile.resets_lock_time,
        applies=lambda profile: profile.name in _MISREADING,
    ),
)  # fmt: skip
"""All boundaries. Where records may become unreadable, the steps end with messages that are lost together with them."""


def met(request: MeasuredRequest) -> Iterator[tuple[str, str]]:
    """Yield each boundary that a request meets, with its side."""
    for boundary in BOUNDARIES:
        for side in {number - boundary.limit for number in boundary.measure(request)}:
            if side in boundary.sides:
                yield boundary.name, SIDES[side]


def unread(request: MeasuredRequest) -> set[str]:
    """Return the conditions under which the broker may store this request but cannot read it again."""
    if any(number > TOPIC_LIMIT for number in measures.topic_characters(request)) and request.op in SENDS:
        return set()
    return {
        boundary.unread
        for boundary in BOUNDARIES
        if boundary.unread and any(boundary.garbles(n, request.profile) for n in boundary.measure(request))
    }


def measured(call: RecordedCall, profile: Profile, cluster: str = "DefaultCluster", free: int | None = None) -> MeasuredRequest:
    """Return a call as a request that can be measured."""
    return MeasuredRequest(call.op, call.fields, call.body, len(call.body or b""), profile, cluster, version=call.version, free=free)


def end_after(end: int, size: int, file_size: int) -> int:
    """Return the end of the log after records of `size` bytes. Records that leave no room for a blank go to the next file (APP-07)."""
    free = left_of_file(end, file_size)
    return end + size if size + BLANK_SIZE <= free else end + free + size


def context(profile: str) -> Context:
    """Return a context for requests that are measured but not sent: names as long as in a run, and small files."""
    return Context(ProgramNames("r000000-1000-", 0), "broker-a", file_size=SMALL_FILE, profile=PROFILES[profile])
