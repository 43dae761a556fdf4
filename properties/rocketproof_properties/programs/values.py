"""The values of each argument of each step: the one table that phrases, selections and hostile frames draw from.

`VALUES[step][argument]` lists them, the default of generated programs first. A phrase names the arguments that vary. It may fix an argument
to a value of its own, or restrict it to some of these values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rocketproof_impl.java import LONG_MAX
from rocketproof_impl.store.record import PROPERTIES_LIMIT
from rocketproof_protocol.codes import SEND_MESSAGE, SEND_MESSAGE_V2
from rocketproof_protocol.fields import SHORT_NAMES
from rocketproof_protocol.topics import SCHEDULE, TEMPLATE

from .corruption import HOWS
from .vocabulary import EVERY

Values = Mapping[str, Sequence[Any]]
"""The possible values of arguments, the default first."""

LONGEST_WAIT: Final = 2500
"""The longest time in ms that a step lets pass: enough for the first delay level."""

# Names
NAMES: Final = ("A", "B", "topic-with-a-longer-name", "%RETRY%g", "%RETRY%h")
ODD_NAMES: Final = (
    *("%DLQ%g", TEMPLATE, SCHEDULE, "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "BenchmarkTest", "DefaultCluster"),
    *("", " ", "  ", "a b", "a.b", "a\n", "%a|b", "ä", "täg", "a" * 120, "x" * 127, "x" * 128, "%RETRY%" + "g" * 121),
)
_QUERIED: Final = ("A", "B", "nowhere", "%RETRY%g", "%DLQ%g")
_GROUPS: Final = ("g", "h", "nobody")
_BROKERS: Final = ("broker-x", "broker-y")
_ADDRESSES: Final = ("10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1")

# Properties by what they do
_PLAIN_MAPS: Final[Sequence[Mapping[str, str]]] = ({}, {"TAGS": "t"}, {"KEYS": "a b", "UNIQ_KEY": "0A"})
_WAITS: Final = ({"WAIT": "true"}, {"WAIT": "false"}, {"WAIT": "TRUE", "TAGS": "t"}, {"WAIT": "", "KEYS": "k"})
_TEXTS: Final = ({"täg": "値"}, {"a": ""}, {"": "a"}, {"CLUSTER": "mine"}, {"a": "b\x01c"}, {"long": "v" * 700}, {"TAGS": "u"})
BROKERS_OWN: Final = (
    *({"CLUSTER": "mine", **more} for more in ({}, {"TAGS": "t"})), {"MSG_REGION": "mine"}, {"TRACE_ON": "mine"},
    {"ORIGIN_MESSAGE_ID": "mine"}, {"RECONSUME_TIME": "7"}, {"MAX_RECONSUME_TIMES": "1"}, {"TRANSACTION_CHECK_TIMES": "1"},
)  # fmt: skip
"""Properties that brokers write themselves: of these, a stored message has the broker's or the sender's."""
UNUSUAL_TEXTS: Final = (
    "KEYS\1a\2KEYS\1b\2", "täg\1値\2", "KEYS\1k\2TAGS\1t\2", "KEYS\1k\2TAGS\1t", "KEYS\1k\2TAGS", "\2\2KEYS\1k", "a\1b\1c\2",
    "TAGS\1t\2KEYS\1k\2TAGS\1u\2", "z\1a\2täg\1値\2b\1c\2Ä\1d\2", "TRAN_MSG\1true\2DELAY\0013\2", "DELAY\0012\2RETRY_TOPIC\1B\2",
    "INNER_NUM\0012\2",
)  # fmt: skip
"""Texts of properties: with repeated names, without values or ends, and in an order that differs from that of Java's maps."""
LEVELS: Final = ("1", "3", "17", "18", "19", "99")
_NO_LEVELS: Final = ("0", "-1", "x", "", "2147483648")
_DELAYS: Final = tuple({"DELAY": level} for level in (*LEVELS, *_NO_LEVELS))
HALVES: Final = (
    {"TRAN_MSG": "true", "PGROUP": "producers"},
    {"TRAN_MSG": "true", "PGROUP": "p", "TAGS": "t"},
    {"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": "0C"},
    {"TRAN_MSG": "TRUE", "PGROUP": "producers", "WAIT": "true"},
)
_NO_HALVES: Final = ({"TRAN_MSG": "false"}, {"TRAN_MSG": ""}, {"TRAN_MSG": "1", "WAIT": "false"})
TIMERS: Final = (
    *({"TIMER_DELAY_SEC": text} for text in ("100", "x")),
    {"TIMER_DELAY_MS": "100500"},
    *({"TIMER_DELIVER_MS": text} for text in ("32503680000000", "1", "x")),
    *({name: text} for name in ("TIMER_DELAY_SEC", "TIMER_DELAY_MS") for text in ("0", "-1")),
    {"TIMER_DELAY_SEC": "100", "DELAY": "1"},
)
"""Releases before 5.0 treat these properties like any other. Programs end before the delivery times, whose exact second is not predictable.
"""
KEYED: Final = tuple(
    {"KEYS": keys, **more}
    for keys, more in (("a b", {"UNIQ_KEY": "0D"}), ("a", {}), ("b  a", {}), ("a a", {}), ("Aa", {}), ("BB", {}), ("täg", {}))
)
"""Two of these keys have the same hash."""
LONG_MAPS: Final = tuple({"p": letter * size} for letter, size in (("v", 32_760), ("v", 32_700), ("ä", 16_380), ("ä", 16_300)))
"""Properties of about the maximum length, in characters of one and of two bytes."""


def mixed(*kinds: Sequence[Mapping[str, str]]) -> tuple[Mapping[str, str], ...]:
    """Combine property maps: one map of each kind, in all different combinations."""
    maps: list[Mapping[str, str]] = [{}]
    for kind in kinds:
        maps = [{**before, **more} for before in maps for more in kind]
    return tuple({repr(each): each for each in maps}.values())


_PAIRS_OF_TIMES: Final = (
    ("TIMER_DELAY_SEC", "1", "TIMER_DELAY_MS"), ("TIMER_DELAY_MS", "1100", "TIMER_DELAY_SEC"), ("TIMER_DELAY_SEC", "2", "TIMER_DELIVER_MS"),
)  # fmt: skip
"""A message has one delivery time, whatever it names: of two names, one that is soon and one that is late or long ago."""
TIMED: Final = mixed(
    ({"UNIQ_KEY": "U1"},),
    (
        *({"TIMER_DELAY_SEC": "2"}, {"TIMER_DELAY_MS": "1100"}, {"TIMER_DELAY_SEC": "1", "TAGS": "t"}),
        *({"TIMER_DELAY_SEC": str(LONG_MAX)}, {"TIMER_DELAY_MS": str(LONG_MAX)}),
        *({first: soon, second: "200500"} for first, soon, second in _PAIRS_OF_TIMES),
    ),
)
CANCELLING: Final = mixed(
    ({"UNIQ_KEY": "U2"},),
    ({"TIMER_DELAY_SEC": "2"}, {"TIMER_DELAY_SEC": "1"}),
    tuple({"TIMER_DEL_UNIQKEY": key} for key in ("U1", "A+U1", "B+U1", "U2")),
)
"""Timers that a broker with a timer wheel delivers within five seconds or, of two names, in days; and messages that cancel one. The largest
delays wrap around in 64 bits: their time is in the past."""
IMMUNE: Final = tuple(
    {**HALVES[0], "CHECK_IMMUNITY_TIME_IN_SECONDS": seconds} for seconds in ("2000000000", "1", "0", "-1", "x", "9223372036854775")
)
"""Half messages that name a time before which their producer is not asked about them (TRX-05)."""
HALF_DELAYED: Final = mixed(({"TRAN_MSG": "true", "PGROUP": "producers"}, HALVES[-1]), tuple({"DELAY": level} for level in LEVELS))
DELAYED: Final = mixed(({}, *_WAITS), _DELAYS)
"""Delay levels and texts that are none, with each form of WAIT and with a key."""
WAITING_HALVES: Final = mixed(({}, *_WAITS), HALVES)
ORDINARY: Final = mixed(({}, *_WAITS), (*_PLAIN_MAPS, *_TEXTS))
"""Properties without an effect of their own, with each form of WAIT."""
ANY_MAP: Final = (*ORDINARY, *DELAYED, *WAITING_HALVES, *mixed(({}, *_WAITS), _NO_HALVES))
_FIELD_TEXTS: Final = (
    *(("properties", text) for text in UNUSUAL_TEXTS),
    *(("queueId", "x"), ("queueId", "2147483648"), ("unitMode", "1"), ("batch", "TRUE"), ("flag", "")),
)  # fmt: skip
_ITEM_MAPS: Final[Sequence[Mapping[str, str]]] = ({}, {"TAGS": "t"}, {"DELAY": "3"})
_ITEMS: Final[Sequence[Sequence[tuple[str, Mapping[str, str]]]]] = (
    [("a", {}), ("bb", {"TAGS": "t"})],
    [("a", {})],
    [("a", {"DELAY": "3"}), ("b", {"WAIT": "false"})],
    [("x" * 300, {"KEYS": "k", "UNIQ_KEY": "0B"})] * 3,
    [("a", {"UNIQ_KEY": "ID1"}), ("b", {"UNIQ_KEY": "ID2"})],
    [("a", {"UNIQ_KEY": "ID1", "KEYS": "k", "TAGS": "t"}), ("bb", {"UNIQ_KEY": "ID2", "KEYS": "a b", "TAGS": "u", "own": "1"})],
    [("a", {"TAGS": "täg"})] * 17,
    *([("bb", first), ("x" * 300, second)] for first in _ITEM_MAPS for second in _ITEM_MAPS),
    [],
    [("", {}), ("b", {"a": ""})],
)
_BELOW_LIMIT: Final = (0, 1, 2, 10, 25, 26, 30, 60, 70, 100)
_PADDED: Final = tuple({"p": "v" * (PROPERTIES_LIMIT - len("p\1") - less)} for less in _BELOW_LIMIT)
LONG_ITEMS: Final = (*([("a", named)] for named in _PADDED), *([("a", {"KEYS": "k"}), ("b", named)] for named in _PADDED))
"""Batches whose properties are up to 100 bytes shorter than the limit. Brokers add up to about 60 bytes."""
FILE_SIZES: Final = (65_000, 10, 20_000, 30_000, 65_536, 70_000)
"""Bytes of a body that nearly fills a small file, or does not fit into one."""
COMMENTS: Final = ("#brokerPermission=6\n\n!brokerPermission=6\n", "\n", "# a = b\n ! c\n\n")
"""Bodies of a request to change settings that change none."""
_FLAGS: Final = ("consumeEnable", "consumeFromMinEnable", "consumeBroadcastEnable", "notifyConsumerIdsChangedEnable")
_COUNTS: Final = (4, 8, 2, 1, 0, 16)
_ATTRIBUTES: Final = (
    *(f"+message.type={kind}" for kind in ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "UNSPECIFIED", "PRIORITY", "MIXED", "x")),
    *("-message.type", "message.type=FIFO", "+message.type", "+message.type=", "+message.type=FIFO,-message.type", "+message.type=FIFO,"),
    *("+queue.type=SimpleCQ", "+queue.type=SimpleCQ,+message.type=DELAY", "+cleanup.policy=DELETE", "-queue.type", "+queue.type=x"),
    *("+reserve.time=5", "+reserve.time=-2", "+reserve.time=x", "-reserve.time", "+nowhere=1", "-nowhere", "", ",", "+=1", "a+b=1"),
)
"""Changes of a topic's attributes, accepted or not. A queue type or cleanup policy with other files is not among them."""
_QUERIED_QUEUES: Final = (0, 1, 7, 8, -1)
_TIMES: Final = (1_000_000_000_000, 4_102_444_800_000)
"""Times in ms before and after all records."""
_LOCKED: Final = ((0,), (0, 1), (1,), (1, 2, 7), ())
"""Queues that a consumer locks together."""
_HOLDERS: Final = ("c1", "c2")
_BOOLEANS: Final = (False, True)

VALUES: Final[Mapping[str, Values]] = {
    "send": {
        "topic": (*NAMES, "C", "T", *ODD_NAMES),
        "queue": (0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -5),
        "nums": (4, 1, 2, 3, 8, 9, 16, 0, -1, -3),
        "body": ("a", "", "täg", "message", None),
        "size": (0, 40, 200, 700, 1300, 1400, 2000),
        "properties": ORDINARY,
        "items": _ITEMS,
        "sys_flag": (0, 1, 2, 4, 8, 9, 12, 64, 128),
        "flag": (0, -7, 2**31 - 1),
        "times": (0, 1, 2, 15, 16, 17),
        "most": (16, 3, 0, None),
        "unit": _BOOLEANS,
        "code": (SEND_MESSAGE_V2, SEND_MESSAGE),
        "version": (399, 121, 120),
        "default": (TEMPLATE, "DefaultCluster", "SELF_TEST_TOPIC", "nowhere", "B", "T"),
        "packed": _BOOLEANS,
        "one_way": _BOOLEANS,
        "leave": (8, 9, 7, 0, 1, 4, 12, 16, 100),
        "cut": (1, 2, 3, 6, 9, 20, 0),
        "more": (0, -2, 1, 2**20, -400),
        "due": (0, 1, 999, 100_000, None),
        "ended": _BOOLEANS,
        "without": (None, *SHORT_NAMES, EVERY),
        "altered": (None, *_FIELD_TEXTS),
    },
    "back": {
        "record": (0, 1, 2, 3, 5, 9, 14, 30),
        "group": ("g", "h"),
        "level": (0, -1, 1, 3, 18, 30),
        "most": (16, 0, 1, 3, None),
        "version": (399, 120),
        "unit": _BOOLEANS,
        "named": (True, False),
        "offset": (-1, 10**9, 2**40),
        "without": (None, "group", "offset", "delayLevel", "unitMode", EVERY),
        "altered": (None, ("originTopic", "B"), ("originTopic", ""), ("originMsgId", "x")),
    },
    "end": {
        "record": (0, 1, 2, 5),
        "commit": (True, False),
        "one_way": (True, False),
        "offset": (10**9, -1),
        "without": (
            "commitLogOffset", "commitOrRollback", "tranStateTableOffset", "producerGroup", "fromTransactionCheck", "msgId", EVERY,
        ),
        "altered": (
            None, ("fromTransactionCheck", "true"), ("producerGroup", "others"), ("tranStateTableOffset", "99"), ("transactionId", "t"),
            ("msgId", "x"), ("topic", "B"), ("commitOrRollback", "4"),
        ),
    },
    "unknown": {"code": (9999, 203), "one_way": _BOOLEANS},
    "topic": {
        "topic": ("A", "B", "T", "%RETRY%g", "%DLQ%g", "a b", "täg", TEMPLATE),
        "read": _COUNTS,
        "write": _COUNTS,
        "perm": (6, 7, 4, 2, 0, 1, 3, 5, 15),
        "filter_type": ("SINGLE_TAG", "MULTI_TAG"),
        "sys_flag": (0, 1, 2, 3),
        "order": _BOOLEANS,
        "attributes": (None, *_ATTRIBUTES),
        "altered": (None, ("force", "true"), ("force", "x"), ("defaultTopic", "nowhere")),
    },
    "group": {
        "group": ("g", "h"),
        "queues": (1, 2, 4, 0, -1, None),
        "retries": (16, 2, 0, -1, None),
        "more": (None, *({name: False} for name in _FLAGS), {"brokerId": 1}, {"whichBrokerWhenConsumeSlowly": 0}),
    },
    "configure": {
        "line": (
            *(f"brokerPermission={permission}" for permission in (4, 6)), "traceOn=false",
            *(f"{name}={value}" for name in ("autoCreateTopicEnable", "rejectTransactionMessage") for value in ("false", "true")),
        )
    },
    "delete": {"topic": ("A", "B", "T", "nowhere", "%RETRY%g")},
    "delete_group": {"group": _GROUPS, "altered": (None, ("removeOffset", "false"), ("cleanOffset", "false"))},
    "max_offset": {"topic": _QUERIED, "queue": _QUERIED_QUEUES, "altered": (None, ("committed", "true"), ("committed", "false"))},
    "stats": {"topic": _QUERIED},
    "earliest": {"topic": _QUERIED, "queue": (0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2)},
    "search": {
        "topic": _QUERIED,
        "queue": _QUERIED_QUEUES,
        "time": (0, LONG_MAX, -1, *_TIMES),
        "upper": (None, True, False),
        "record": (0, -1, 1, (0, -1), (0, 1)),
        "plus": (0, 1, -1),
    },
    "pull": {
        "topic": _QUERIED,
        "queue": (0, 1, 4, -1),
        "offset": (0, 1, 2, 3, 100, -1),
        "most": (32, 1, 0),
        "group": ("g", "h"),
        "tags": ("*", None, "t", "t||", "t || u", "||t", " t ", "||", " ", "u|| ||t", "t|u", "t||*", "täg"),
        "version": (0, 1, 2, 3),
        "commit": (None, 1),
        "hold": (3000, 300),
        "without": ("suspendTimeoutMillis", "sysFlag"),
        "altered": (
            None, *(("expressionType", text) for text in ("SQL92", "x", "tag")), ("maxMsgBytes", "1"), ("maxMsgBytes", "-1"),
            ("requestSource", "0"),
        ),
    },
    "progress": {
        "topic": _QUERIED,
        "queue": (0, 7),
        "group": ("g", "nobody"),
        "altered": (None, ("setZeroIfNotFound", "false"), ("setZeroIfNotFound", "true")),
    },
    "commit": {"topic": ("A", "B"), "queue": (0, 1, 7), "group": ("g", "h"), "offset": (1, 0, 2, 3, 5, 100, -1, LONG_MAX)},
    "view": {"place": (-1, 2**40), "altered": (None, ("topic", "A"))},
    "find": {
        "topic": _QUERIED,
        "key": ("k", "", "täg", "a", "b", "0D", "BB", "a b", "A"),
        "most": (32, 1, 2, 0, -1, 100),
        "begin": (0, -1, *_TIMES),
        "end": (LONG_MAX, *_TIMES, 0),
        "unique": _BOOLEANS,
    },
    "heartbeat": {"group": (None, "g")},
    "consumer": {
        "topic": ("A", "B"),
        "version": (1, 2, 3),
        "tag": ("", "t", "täg"),
        "model": ("CLUSTERING", "BROADCASTING"),
    },
    "leave": {
        "group": ("g", "h"), "producers": (None, "producers"), "altered": (None, ("producerGroup", "g"), ("clientID", "nobody")),
    },
    "members": {"group": ("g", "h", "nobody")},
    "lock": {"topic": ("A", "B"), "queues": _LOCKED, "group": ("g", "h"), "holder": _HOLDERS},
    "unlock": {"topic": ("A", "B"), "queues": _LOCKED, "group": ("g", "h"), "holder": _HOLDERS},
    # A name server
    "route": {
        "topic": ("A", "B", "T", "nowhere", "R", "S", TEMPLATE, "DefaultCluster", SCHEDULE, "  ", "a b", "x" * 128),
        "altered": (None, ("acceptStandardJsonOnly", "true"), ("acceptStandardJsonOnly", "false")),
    },
    "register": {
        "name": _BROKERS,
        "address": _ADDRESSES,
        "broker_id": (0, 1, 2),
        "topics": (
            {"A": (8, 2, 4), "B": (4, 4, 6)}, {"A": (4, 4, 6)}, {"A": (8, 8, 6), "B": (4, 4, 6)}, {"B": (2, 2, 4)}, {},
            {"A": (4, 4, 7), "B": (2, 2, 3)}, {"A": (4, 4, 5), "B": (1, 1, 1)},
            {"A": (4, 4, 6), "B": (2, 2, 6), "R": (1, 1, 6), "S": (4, 8, 2)},
        ),
        "version": (1, 2, 3),
        "cluster": ("cluster", "other"),
        "sys_flag": (0, 1, 2, 3),
        "lacking": ("", "perm", "readQueueNums", "writeQueueNums", "topicSysFlag", "topicFilterType", "order"),
        "filters": ((), ("10.0.0.9:1",), ("10.0.0.9:1", "10.0.0.8:1")),
        "checked": _BOOLEANS,
        "empty": _BOOLEANS,
        "altered": (
            None, ("bodyCrc32", "1"), ("heartbeatTimeoutMillis", "60000"), ("enableActingMaster", "true"), ("enableActingMaster", "false"),
        ),
    },
    "unregister": {
        "name": _BROKERS, "broker_id": (0, 1), "address": _ADDRESSES[:2], "altered": (None, ("clusterName", "other"), ("clusterName", "")),
    },
    "lose": {"address": _ADDRESSES},
    "has_to_register": {
        "name": _BROKERS, "broker_id": (0, 1), "address": _ADDRESSES[:2], "version": (1, 2, 3), "altered": (None, ("clusterName", "other")),
        "without": (None, "clusterName", "brokerName", "brokerId"),
    },
    "permit_writes": {"permitted": _BOOLEANS, "name": _BROKERS},
    "forget_topic": {"cluster": (None, "nobody", "other", "cluster")},
    "register_topic": {
        "topic": ("R", "A"),
        "brokers": (
            {"broker-x": (4, 2, 6)}, {"broker-x": (0, 1, 4)}, {"broker-y": (4, 4, 6)}, {},
            {"broker-y": (4, 4, 6), "broker-x": (4, 2, 6)}, {"broker-x": (4, 2, 6), "broker-y": (4, 4, 6)},
        ),
    },
    "put_value": {"key": ("k", "k2", "täg"), "value": ("v", "w", "")},
    "values": {"space": ("space", "nothing")},
    # Steps of simulated clusters
    "time": {"millis": (LONGEST_WAIT, 0, 500, 1000, 5000, 7000, 10_000, 35_000, 60_000, 70_000, 7_200_000)},
    "clock": {"millis": (-3_600_000, -1, 60_000)},
    "crash": {"seed": tuple(range(100))},
    "restart": {"clock": (3_600_000, -3_600_000, -1000, 90_000_000, -90_000_000)},
    "corrupt": {"how": HOWS, "kill": _BOOLEANS},
    "faults": {"name": (None, "slow disk", "slow network", "bad network", "cut from the name server"), "seed": (0, 1)},
    "disk": {"full": _BOOLEANS},
    "store": {"state": ("good", "full", "busy")},
    "flush": {"stuck": _BOOLEANS},
    "replica": {"state": ("none", "slow", "quick")},
    "lossy": {"lossy": (True, False)},
    "executor": {"full": (True, False)},
    "hooks": {"send": (True, False), "consume": (True, False)},
    "produce": {"topic": ("A", "B"), "producer": (0, 1)},
    "fail": {"record": (0, 1, 2, 5, 9), "group": ("g", "h"), "level": (0, 1, 18), "most": (16, 3)},
}  # fmt: skip


class ValueSubset(tuple[Any, ...]):
    """The values to which a phrase restricts an argument, the default first."""


def one_of(*values: Any) -> ValueSubset:
    """Return a restriction of an argument to some of its values."""
    return ValueSubset(values)


def values_of(kind: str, vary: Iterable[str], fixed: Mapping[str, Any]) -> Values:
    """Return the values of a step's arguments.

    An argument in `vary` has all values of the table. If `fixed` has it too, that value is its default. Other arguments in `fixed` have
    this value only. A `ValueSubset` in `fixed` always is a restriction.
    """
    drawn: dict[str, Sequence[Any]] = {
        name: (fixed[name], *(value for value in VALUES[kind][name] if not _same(value, fixed[name])))
        if name in fixed
        else VALUES[kind][name]
        for name in vary
    }
    restricted = {name: value if isinstance(value, ValueSubset) else (value,) for name, value in fixed.items()}
    return {**drawn, **{name: values for name, values in restricted.items() if name not in drawn or isinstance(values, ValueSubset)}}


def _same(value: Any, other: Any) -> bool:
    """Compare with types: 0 is not False."""
    return type(value) is type(other) and value == other
