"""The phrases for a broker: requests of clients and administrators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rocketproof_impl.java import LONG_MAX
from rocketproof_protocol.codes import SEND_MESSAGE, SEND_MESSAGE_V2
from rocketproof_protocol.fields import REQUIRED_OF_A_SEND, SHORT_NAMES
from rocketproof_protocol.topics import TEMPLATE

from .phrase import Phrase, Values, formed, series, single
from .settings import ASKED, READ_ONLY, WRITE_ONLY
from .strategies import NAMES, ODD_NAMES
from .vocabulary import EVERY
from .wire import LONGEST_WAIT

HALF: Final[Values] = {
    "properties": (
        {"TRAN_MSG": "true", "PGROUP": "producers"},
        {"TRAN_MSG": "true", "PGROUP": "p", "TAGS": "t"},
        {"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": "0C"},
    )
}
_TEXTS: Final = (
    ("properties", "KEYS\1k\2TAGS\1t\2"),
    ("properties", "KEYS\1k\2TAGS\1t"),
    ("properties", "KEYS\1k\2TAGS"),
    ("properties", "\2\2KEYS\1k"),
    ("properties", "KEYS\1a\2KEYS\1b\2"),
    ("properties", "täg\1値\2"),
    ("properties", "TRAN_MSG\1true\2DELAY\0013\2"),
    ("properties", "DELAY\0012\2RETRY_TOPIC\1B\2"),
    ("properties", "INNER_NUM\0012\2"),
    ("queueId", "x"),
    ("unitMode", "1"),
    ("batch", "TRUE"),
)
_SENT: Final[Values] = {
    "topic": (*NAMES, *ODD_NAMES),
    "queue": (0, 1, 3, 4, 7, -1, -5),
    "nums": (4, 1, 8, 0, -1, 16),
    "body": ("a", "", "täg", "message"),
    "size": (0, 40, 700, 2000),
    "properties": ({}, {"TAGS": "t"}, {"KEYS": "a b", "UNIQ_KEY": "0A"}, {"WAIT": "false"}, {"": "a"}, {"a": ""}, {"CLUSTER": "mine"}),
    "sys_flag": (0, 1, 2, 4, 8, 12, 64, 128),
    "flag": (0, -7, 2**31 - 1),
    "times": (0, 1, 15, 16),
    "most": (16, 3, 0, None),
    "unit": (False, True),
    "code": (SEND_MESSAGE_V2, SEND_MESSAGE),
    "version": (399, 121, 120),
    "default": (TEMPLATE, "DefaultCluster", "SELF_TEST_TOPIC", "nowhere", "B"),
    "without": (None, *SHORT_NAMES, EVERY),
    "altered": (None, *_TEXTS),
}
_OPTIONAL: Final = tuple(name for name in SHORT_NAMES if name not in REQUIRED_OF_A_SEND)
"""Optional fields of a send. Each is left out alone, so that no earlier check rejects the request."""
_BACK: Final[Values] = {
    "record": (0, 1, 2, 3),
    "group": ("g", "h"),
    "level": (-1, 0, 1, 3, 18, 30),
    "most": (16, 0, 1, None),
    "version": (399, 120),
    "unit": (False, True),
    "named": (True, False),
    "without": (None, "group", "offset", "delayLevel", "unitMode", EVERY),
}
TOPIC: Final[Values] = {
    "topic": ("A", "B", "T", "%RETRY%g", "%DLQ%g", "a b", "täg", TEMPLATE),
    "read": (4, 8, 2, 1, 0, 16),
    "write": (4, 2, 8, 1, 0, 16),
    "perm": (6, 7, 4, 2, 0, 1, 3, 5, 15),
    "filter_type": ("SINGLE_TAG", "MULTI_TAG"),
    "sys_flag": (0, 1, 2, 3),
    "order": (False, True),
}
_SWITCHES: Final = ("consumeEnable", "consumeFromMinEnable", "consumeBroadcastEnable", "notifyConsumerIdsChangedEnable")
_GROUP: Final[Values] = {
    "group": ("g", "h"),
    "queues": (1, 2, 4, 0),
    "retries": (16, 2, 0, -1),
    "more": (None, *({name: False} for name in _SWITCHES), {"brokerId": 1}, {"whichBrokerWhenConsumeSlowly": 0}),
}
_NAMED: Final = ("A", "B", "nowhere", "%RETRY%g", "%DLQ%g")
_PLAIN: Final[Values] = {"topic": ("A",), "queue": (0, 1)}
ANY: Final[Values] = {"topic": ("A",), "queue": (0, 1, -1), "properties": ({}, {"TAGS": "t"})}
_KEYED: Final[Values] = {
    "topic": ("A", "B"),
    "queue": (0, 1),
    "properties": tuple(
        {"KEYS": keys, **more} for keys, more in (("a b", {"UNIQ_KEY": "0D"}), ("a", {}), ("b  a", {}), ("a a", {}), ("Aa", {}), ("BB", {}))
    ),
    "sys_flag": (0, 12, 4, 8),
}
"""Two of these keys have the same hash."""
_SOUGHT: Final[Values] = {
    "topic": ("A", "B"),
    "key": ("a", "b", "0D", "BB", "a b", "A"),
    "most": (32, 1, 2, 0, 100),
    "begin": (0, 4_102_444_800_000),
    "end": (2**63 - 1, 1_000_000_000_000),
    "unique": (False, True),
}
_ITEMS: Final[Sequence[Sequence[tuple[str, Mapping[str, str]]]]] = (
    [("a", {}), ("bb", {"TAGS": "t"})],
    [("a", {})],
    [("a", {"DELAY": "3"}), ("b", {"WAIT": "false"})],
    [("x" * 300, {"KEYS": "k", "UNIQ_KEY": "0B"})] * 3,
    [("a", {"TAGS": "täg"})] * 17,
    [],
    [("", {}), ("b", {"a": ""})],
)
_BATCH: Final[Values] = {
    "items": _ITEMS,
    "topic": (*NAMES, "%RETRY%g"),
    "queue": (0, 1, 3, 4, -1),
    "sys_flag": (0, 4, 1),
    "properties": ({}, {"TAGS": "u"}, {"DELAY": "2"}, {"WAIT": "false"}),
}
_LEVELS: Final = ("1", "3", "18", "0", "-1", "x", "", "99")
_TYPES: Final = (4, 8, 12)
"""Transaction flags. They decide whether a message is delayed and whether it enters its queue."""
_DELAYED: Final[Values] = {"topic": ("A", "B"), "properties": tuple({"DELAY": level} for level in _LEVELS)}
_TIMED: Final[Values] = {
    "topic": ("A",),
    "queue": (0, 1),
    "properties": (
        *({"TIMER_DELAY_SEC": text} for text in ("100", "x")),
        {"TIMER_DELAY_MS": "100500"},
        {"TIMER_DELIVER_MS": "32503680000000"},
        {"TIMER_DELAY_SEC": "100", "DELAY": "1"},
    ),
    "sys_flag": (0, *_TYPES),
}
"""Releases before 5.0 treat these properties like any other. Programs end before the delivery times, whose exact second is not predictable.
"""
_RETRIED: Final[Values] = {
    "topic": ("%RETRY%g",),
    "times": (1, 0, 16),
    "most": (16, None),
    "properties": ({"TRAN_MSG": "true", "PGROUP": "producers", "DELAY": "3"}, {"DELAY": "3"}, {"TRAN_MSG": "true", "PGROUP": "producers"}),
}
"""Messages that consumers send if sending back fails: with all original properties, including those of a transaction."""
_HALF_ONE: Final = ("send", {**ANY, **HALF})
_ONE_WAY: Final = (True, False)
_COMMITTED: Final = ("end", {"commit": (True,), "one_way": _ONE_WAY})
_LATER: Final = ("time", {"millis": (LONGEST_WAIT,)})
_DELETED: Final = ("delete", {"topic": ("A",)})
OF_A: Final[Values] = {"topic": ("A",)}
_OF_GROUP: Final[Values] = {"topic": ("A",), "queue": (0,), "group": ("g",)}
_GROUP_G: Final = ("group", {"group": ("g", "h")})
"""Later releases reject the progress of an unknown group."""
_BEGINS: Final = (None, ("setZeroIfNotFound", "false"), ("setZeroIfNotFound", "true"))

OF_BROKERS: Final[tuple[Phrase, ...]] = (
    single("send", _SENT),
    single("send", _BATCH, name="a batch"),
    single("send", {"items": _ITEMS[:-2], "cut": (1, 2, 3, 6, 9, 20, 0), "more": (0, -2, 1, 2**20, -400)}, name="a batch that ends early"),
    single("send", _DELAYED, name="a delayed message", lasting=True),
    single(
        "send", {"topic": ("A",), "properties": ({"DELAY": "1"}, {"DELAY": "3"}), "sys_flag": _TYPES},
        name="a delayed message with the flags of a transaction", lasting=True,
    ),
    single("send", _TIMED, name="a message with a time of its own"),
    single("send", {**ANY, "one_way": (True,)}, name="a message nobody answers", lasting=True),
    # delayed messages that are delivered
    series("a delayed message comes", ("send", {**ANY, "properties": ({"DELAY": "1"}, {"DELAY": "1", "TAGS": "t"})}), _LATER, lasting=True),
    series(
        "a delayed half message", ("send", {**ANY, "properties": ({"TRAN_MSG": "true", "PGROUP": "producers", "DELAY": "1"},)}), _LATER,
        ("end", {"commit": (True, False)}), lasting=True,
    ),
    series(
        "a delayed half message that ends at once",
        ("send", {**ANY, "properties": ({"TRAN_MSG": "true", "PGROUP": "producers", "DELAY": "3"},)}),
        ("end", {"commit": (True, False), "one_way": (False, True)}), lasting=True,
    ),
    series("a retry comes", ("send", ANY), ("back", {**_BACK, "level": (1,)}), _LATER, ("pull", {"topic": ("%RETRY%g",)}), lasting=True),
    series("a message again", ("send", ANY), ("send", ANY), ("earliest", _PLAIN)),
    # messages that are sent back
    single("send", _RETRIED, name="a retry by a send", lasting=True),
    single("back", _BACK, lasting=True),
    series("a record given up", ("send", ANY), ("back", {**_BACK, "level": (-1,), "record": (0, 1)})),
    series("a record given up without its topic", ("send", ANY), ("back", {"level": (-1,), "named": (False,), "group": ("g", "h")})),
    series("a record given back", ("send", ANY), ("back", {**_BACK, "level": (0, 1, 3)}), lasting=True),
    series("a topic where nobody may write", ("topic", {**TOPIC, "topic": ("A",), "perm": (2, 6, 1, 7, 0)}), needs=READ_ONLY),
    series("a topic where nobody may read", ("topic", {**TOPIC, "topic": ("A",), "perm": (4, 6, 1, 7, 0)}), needs=WRITE_ONLY),
    series("a record given back to who may not write", ("send", ANY), ("back", {**_BACK, "level": (-1, 0)}), needs=READ_ONLY),
    single("back", {"offset": (-1, 10**9, 2**40), "group": ("g",)}, name="a place given back"),
    # transactions
    series("a half message", _HALF_ONE),
    series("commit", _HALF_ONE, _COMMITTED, lasting=True),
    series("roll back", _HALF_ONE, ("end", {"commit": (False,), "one_way": _ONE_WAY}), lasting=True),
    series("commit twice", _HALF_ONE, _COMMITTED, ("end", {"commit": (True, False), "one_way": _ONE_WAY}), lasting=True),
    series(
        "two half messages", _HALF_ONE, _HALF_ONE, ("end", {"record": (1,)}),
        ("end", {"record": (0,), "commit": (False, True)}),
        lasting=True,
    ),
    series(
        "the end of a half message of no group", ("send", {**ANY, "properties": ({"TRAN_MSG": "true"},)}),
        ("end", {"commit": (True, False), "one_way": (False,)}), lasting=True,
    ),
    series(
        "comments among settings",
        ("configure", {"line": ("#brokerPermission=6\n\n!brokerPermission=6\n", "\n", "# a = b\n ! c\n\n")}), ("send", ANY),
        lasting=True, needs=READ_ONLY,
    ),
    single("end", {"offset": (10**9, -1), "commit": (True, False), "one_way": _ONE_WAY}, name="the end of nothing", lasting=True),
    series(
        "a half message that is asked about", ("heartbeat", {"group": ("producers",)}),
        ("send", {**ANY, **HALF, "body": ("a", "täg"), "flag": (0, 7)}), ("question", {}),
        ("end", {"commit": (True, False), "one_way": (False,)}), ("checked", {}),
        lasting=True, needs=ASKED,
    ),
    series(
        "a half message that is asked about as often as may be", ("heartbeat", {"group": ("producers",)}), ("send", {**ANY, **HALF}),
        ("question", {}), ("checked", {}), ("checked", {}), ("checked", {}), lasting=True, needs=ASKED,
    ),
    # topics and groups
    single("topic", TOPIC),
    series(
        "a topic changed", ("topic", TOPIC), ("send", ANY), ("topic", {**TOPIC, "topic": ("A",)}),
        ("send", {**ANY, "queue": (0, 3, 7)}),
    ),
    series(
        "a topic as a refusal tells it", ("topic", {**TOPIC, "topic": ("A",)}), ("send", {"topic": ("A",), "queue": (99, -99)}),
        ("topic", {**TOPIC, "topic": ("A",), "order": (True, False), "filter_type": ("MULTI_TAG", "SINGLE_TAG")}),
        ("send", {"topic": ("A",), "queue": (99,)}),
    ),
    series(
        "a template", ("topic", {**TOPIC, "topic": ("T",), "perm": (7, 6, 3, 5, 15)}),
        ("send", {**ANY, "default": ("T",), "nums": (4, 1, 9, 0)}),
    ),
    series(
        "a topic with an order, of a broker that may not write",
        ("topic", {"topic": ("A",), "order": (True,), "sys_flag": (1, 2, 3, 0), "perm": (6, 4, 7)}),
        ("send", {**ANY, "code": _SENT["code"]}), ("send", {**_BATCH, "topic": ("A",)}), needs=READ_ONLY,
    ),
    single("group", _GROUP),
    series(
        "a group's limit", ("group", _GROUP), ("send", {"topic": ("%RETRY%g",), "times": (0, 2, 16, 17)}),
        ("back", {**_BACK, "level": (0, -1)}), lasting=True,
    ),
    # deletions
    series("a topic deleted", ("send", ANY), _DELETED),
    series("a deleted topic", ("send", _PLAIN), _DELETED, ("max_offset", {"topic": ("A",)}), ("pull", {"topic": ("A",)})),
    series("a topic made anew", ("send", _PLAIN), _DELETED, ("topic", {**TOPIC, "topic": ("A",)})),
    series(
        "progress in a topic made anew", _GROUP_G, ("send", {"topic": ("A",), "queue": (0,)}),
        ("commit", {**_OF_GROUP, "offset": (1, 100)}),
        _DELETED, ("topic", OF_A), ("progress", _OF_GROUP), lasting=True,
    ),
    single("delete", {"topic": ("nowhere", "T", "%RETRY%g", "B")}),
    series(
        "a group deleted", ("group", _GROUP), ("delete_group", {"group": ("g",)}), ("send", _PLAIN),
        ("back", {"level": (-1,), "group": ("g",)}),
    ),
    single("delete_group", {"group": ("g", "nobody")}),
    single("group", {"named": (False,)}, name="a group without a name"),
    # queries
    single("max_offset", {"topic": _NAMED, "queue": (0, 1, 7, -1)}),
    single("stats", {"topic": _NAMED}),
    single("earliest", {"topic": _NAMED, "queue": (0, 1, 8, -1)}),
    single("search", {"topic": _NAMED, "queue": (0, 1, 8, -1), "time": (0, LONG_MAX, -1), "upper": (None, True, False)}),
    series("messages by a time", ("send", {**_BATCH, "topic": ("A",)}), ("search", {**OF_A, "time": (LONG_MAX, 0), "upper": (None, True)})),
    single("pull", {"topic": _NAMED, "queue": (0, 1, 4, -1), "offset": (0, 1, 100, -1), "most": (32, 1, 0)}),
    series(
        "a pull of several tags", ("send", {"topic": ("A",), "queue": (0,), "properties": ({}, {"TAGS": "t"})}),
        ("send", {"topic": ("A",), "queue": (0,), "properties": ({"TAGS": "t"}, {"TAGS": "u"}, {})}),
        ("pull", {"topic": ("A",), "tags": ("t||", "t || u", "||t", " t ", "||", " ", "u|| ||t", "t|u", "t||*")}), lasting=True,
    ),
    series("a pull behind the end", ("send", _PLAIN), ("pull", {"topic": ("A",), "offset": (2, 1, 3)}), lasting=True),
    series(
        "a pull that is held", ("send", {"topic": ("W",)}), ("meet", {}),
        ("pull", {"topic": ("W",), "offset": (1,), "tags": ("*", "t"), "hold": (1000,), "client": (1,)}),
        ("time", {"millis": (300,)}), ("send", {"topic": ("W",), "properties": ({"TAGS": "t"},)}), ("meet", {}), lasting=True,
    ),
    single(
        "pull", {"topic": ("nowhere",), "hold": (300,), "without": ("suspendTimeoutMillis", "sysFlag"), "tags": ("*", None)},
        name="a pull that does not say how long it may wait",
    ),
    series(
        "a pull that waits for its tag", ("send", {"topic": ("W",)}), ("meet", {}),
        ("pull", {"topic": ("W",), "offset": (1,), "tags": ("t",), "hold": (3000,), "client": (1,)}), ("time", {"millis": (300,)}),
        ("send", {"topic": ("W",), "properties": ({"TAGS": "u"}, {})}), ("time", {"millis": (100,)}),
        ("send", {"topic": ("W",), "properties": ({"TAGS": "t"},)}), ("meet", {}), lasting=True,
    ),
    series(
        "a held pull that wants no answer", ("send", {"topic": ("W",)}),
        ("pull", {"topic": ("W",), "offset": (1,), "hold": (1000,), "one_way": (True,)}), ("time", {"millis": (300,)}),
        ("send", {"topic": ("W",), "queue": (0, 1)}), lasting=True,
    ),
    series(
        "a pull whose client is gone", ("send", {"topic": ("W",)}), ("meet", {}),
        ("pull", {"topic": ("W",), "offset": (1,), "hold": (1000,), "one_way": (True,), "client": (1,)}),
        ("pull", {"topic": ("W",), "offset": (1,), "hold": (1000,), "client": (2,)}),
        ("time", {"millis": (200,), "client": (1,)}),
        ("hang_up", {"client": (1,)}), ("time", {"millis": (400,)}), ("send", {"topic": ("W",)}), ("meet", {}), lasting=True,
    ),
    single("progress", {"topic": _NAMED, "queue": (0, 7), "group": ("g", "nobody"), "altered": _BEGINS}),
    series(
        "a pull whose time is over", ("send", {"topic": ("W",)}),
        ("pull", {"topic": ("W",), "offset": (1,), "hold": (3000, 300), "commit": (None, 1)}), ("time", {"millis": (300,)}), lasting=True,
    ),
    series(
        "progress of a deleted group", ("send", _PLAIN), ("group", {"group": ("g",)}), ("commit", {**_OF_GROUP, "offset": (5, 1)}),
        ("delete_group", {"group": ("g",), "altered": (None, ("removeOffset", "false"))}), ("progress", _OF_GROUP),
    ),
    series("progress not told", ("send", _PLAIN), ("progress", {**_OF_GROUP, "altered": _BEGINS, "topic": ("A", "nowhere")}), lasting=True),
    series(
        "progress told", _GROUP_G, ("send", _PLAIN), ("commit", {**_OF_GROUP, "offset": (1, 0, 100)}), ("progress", _OF_GROUP),
        lasting=True,
    ),
    single("view", {"place": (-1, 2**40)}),
    single("find", {"topic": _NAMED, "key": ("k", "", "täg"), "most": (32, 0, -1), "begin": (0, -1), "unique": (False, True)}),
    series("messages by a key", ("send", _KEYED), ("send", _KEYED), ("find", _SOUGHT), lasting=True),
    series("a half message by its key", ("send", {**ANY, "properties": ({**HALF["properties"][0], "KEYS": "a"},)}), _COMMITTED,
          ("find", _SOUGHT), lasting=True),
    series(
        "a group that may not consume", ("send", _PLAIN), ("group", {"group": ("g",), "more": ({"consumeEnable": False},)}),
        ("pull", {"topic": ("A",), "group": ("g", "h")}),
    ),
    series(
        "what a consumer has subscribed to", ("send", {**ANY, "queue": (0,)}), ("send", {"topic": ("B",), "queue": (0,)}),
        ("consumer", {"topic": ("A", "B"), "version": (1, 2), "tag": ("", "t"), "model": ("CLUSTERING", "BROADCASTING")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,), "version": (0, 1, 2)}),
        ("pull", {"topic": ("B",), "group": ("g",), "tags": (None,)}), lasting=True,
    ),
    series(
        "a subscription that changes", ("send", {**ANY, "queue": (0,)}), ("consumer", {"topic": ("A",), "version": (2,)}),
        ("consumer", {"topic": ("A", "B"), "version": (3, 1, 2), "tag": ("t", "")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,), "version": (2, 1, 3)}), lasting=True,
    ),
    series(
        "a subscription of the same version", ("send", {**ANY, "queue": (0,)}), ("consumer", {"topic": ("A",), "version": (2,)}),
        ("consumer", {"topic": ("A",), "version": (2, 1), "tag": ("t",)}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,), "version": (2,)}), lasting=True,
    ),
    series(
        "no broadcast", ("group", {"group": ("g",), "more": ({"consumeBroadcastEnable": False},)}), ("send", _PLAIN),
        ("consumer", {"topic": ("A",), "model": ("BROADCASTING", "CLUSTERING")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,)}), ("leave", {"group": ("g", "h")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,)}), lasting=True,
    ),
    series(
        "consumers that are told of each other", ("group", {"group": ("h",), "more": ({"notifyConsumerIdsChangedEnable": False},)}),
        ("consumer", OF_A), ("consumer", {**OF_A, "group": ("h",)}), ("notified", {}), ("meet", {}),
        ("consumer", {**OF_A, "client": (1,)}), ("consumer", {**OF_A, "group": ("h",), "client": (1,)}), ("meet", {}), ("notified", {}),
        ("meet", {}), ("leave", {"client": (1,)}), ("leave", {"group": ("h",), "client": (1,)}), ("meet", {}), ("notified", {}),
        lasting=True,
    ),
    series(
        "a consumer whose connection is closed", ("group", {"group": ("g",), "more": ({"notifyConsumerIdsChangedEnable": False},)}),
        ("consumer", {"topic": ("A",)}), ("meet", {}), ("consumer", {"topic": ("A",), "client": (1,)}), ("meet", {}), ("notified", {}),
        ("meet", {}), ("hang_up", {"client": (1,)}), ("meet", {}), ("notified", {}), lasting=True,
    ),
    # malformed requests
    *(single("send", {**OF_A, "without": (name,)}, name=f"a send without its {name}") for name in _OPTIONAL),
    # 5.3.3 fails at different places: when it counts creations, compares an equal topic, or looks up a topic's mapping
    *formed("topic", OF_A, but=("topic", "topicFilterType", EVERY)),
    *(phrase for kind in ("delete", "max_offset", "stats") for phrase in formed(kind, OF_A)),
    *(phrase for kind in ("pull", "commit") for phrase in formed(kind, {**OF_A, "group": ("g",)})),
    *formed("progress", {**OF_A, "group": ("g",)}, but=("topic",)),
    *formed("delete_group", {"group": ("g",)}),
    *formed("search", {**OF_A, "time": (0,)}),
    *formed("view", {"place": (-1,)}),
    *formed("find", {**OF_A, "key": ("k",)}),
    series(
        "an end that lacks something", _HALF_ONE,
        ("end", {
            "commit": (True, False), "one_way": (False,),
            "without": (
                "commitLogOffset", "commitOrRollback", "tranStateTableOffset", "producerGroup", "fromTransactionCheck", "msgId", EVERY,
            ),
        }), lasting=True, switch=("half_messages", True),
    ),
    single("heartbeat", {"group": (None, "g")}),
    single("unknown", {"code": (9999, 38), "one_way": (False, True)}, lasting=True),
)  # fmt: skip
