"""The one pool of what programs for a broker are put together from, and how its parts are chosen: by what has been seen least.

A phrase is a step, or some steps that mean something behind each other, with the values that their arguments may have: the first one is the
ordinary one. A program is a few phrases. Each is chosen by how often it, and it behind the one before it, were there, and so is each value;
most arguments stay ordinary, so that a request is not always refused for the first of several reasons. What is counted is what
was drawn and what the boundaries say of its requests, never what was answered, so that a seed means the same programs whatever comes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from rocketproof_impl.java import LONG_MAX
from rocketproof_profiles import Profile
from rocketproof_protocol.codes import SEND_MESSAGE, SEND_MESSAGE_V2
from rocketproof_protocol.topics import TEMPLATE

from ..steps.call import Stored
from ..steps.vocabulary import STEPS, Step, is_request, plain, request_of
from . import boundaries
from .settings import ASKED, READ_ONLY
from .strategies import NAMES, ODD_NAMES
from .wire import LONGEST_WAIT

T = TypeVar("T")
Values = Mapping[str, Sequence[Any]]
MOST_PHRASES: Final = 4
WAITING: Final = ("time", "question", "notified")
"""Steps that take seconds."""


@dataclass(frozen=True)
class Phrase:
    """Steps with the values of their arguments. `boundary`: the one that it meets, and the side. `lasting`: something of it comes later, or
    without an answer, so that nobody knows what a process that ends leaves of it. `large`: more bytes than a small file has. `server`: it
    asks a name server. `unread`: what of it nobody can read again, in the catalogue's words. `needs`: the settings without which it
    means nothing. `switch`: a switch and its value in the releases that are asked so."""

    name: str
    steps: tuple[tuple[str, Values], ...]
    boundary: tuple[str, str] | None = None
    lasting: bool = False
    large: bool = False
    server: bool = False
    unread: str = ""
    needs: str = ""
    switch: tuple[str, bool] | None = None

    @property
    def waits(self) -> bool:
        """Whether it lets time pass."""
        return any(name in WAITING for name, _ in self.steps)

    @property
    def concurrent(self) -> bool:
        """Whether it takes several clients."""
        return any("client" in values for _, values in self.steps)

    @property
    def worth(self) -> int:
        """How often it comes while another comes once: the more, the more values it has to show."""
        return 1 + sum(len(of) - 1 for _, values in self.steps for of in values.values()) // 3


def _one(kind: str, values: Values, /, *, name: str = "", lasting: bool = False, server: bool = False) -> Phrase:
    return Phrase(name or kind, ((kind, values),), lasting=lasting, server=server)


def _many(
    name: str,
    /,
    *steps: tuple[str, Values],
    lasting: bool = False,
    server: bool = False,
    needs: str = "",
    switch: tuple[str, bool] | None = None,
) -> Phrase:
    return Phrase(name, steps, lasting=lasting, server=server, needs=needs, switch=switch)


def _formed(kind: str, values: Values, /, *, but: Collection[str] = ()) -> tuple[Phrase, ...]:
    """A request that lacks one of its fields, `but` none of these, and one that has no number where there should be one."""
    fields = {name: text for name, text in (plain(kind).ext_fields or {}).items() if name not in but}
    texts = [(name, "x") for name, text in fields.items() if text.isdecimal()]
    lacking = _one(kind, {**values, "without": [*fields]}, name=f"{kind} without a field")
    return lacking, *([_one(kind, {**values, "altered": texts}, name=f"{kind} without a number")] if texts else [])


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
    "without": (
        None, "producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag",
        "properties", "reconsumeTimes", "unitMode", "maxReconsumeTimes", "batch",
    ),
    "altered": (None, *_TEXTS),
}  # fmt: skip
_BACK: Final[Values] = {
    "record": (0, 1, 2, 3),
    "group": ("g", "h"),
    "level": (-1, 0, 1, 3, 18, 30),
    "most": (16, 0, 1, None),
    "version": (399, 120),
    "unit": (False, True),
    "named": (True, False),
    "without": (None, "group", "offset", "delayLevel", "unitMode"),
}
_TOPIC: Final[Values] = {
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
_ANY: Final[Values] = {"topic": ("A",), "queue": (0, 1, -1), "properties": ({}, {"TAGS": "t"})}
_KEYED: Final[Values] = {
    "topic": ("A", "B"),
    "queue": (0, 1),
    "properties": tuple(
        {"KEYS": keys, **more} for keys, more in (("a b", {"UNIQ_KEY": "0D"}), ("a", {}), ("b  a", {}), ("a a", {}), ("Aa", {}), ("BB", {}))
    ),
    "sys_flag": (0, 12, 4, 8),
}
"""Two keys of these have one hash."""
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
_DELAYED: Final[Values] = {"topic": ("A", "B"), "properties": tuple({"DELAY": level} for level in _LEVELS)}
_TIMED: Final[Values] = {
    "topic": ("A",),
    "queue": (0, 1),
    "properties": (
        *({"TIMER_DELAY_SEC": text} for text in ("1", "x")),
        {"TIMER_DELAY_MS": "1500"},
        {"TIMER_DELIVER_MS": "32503680000000"},
        {"TIMER_DELAY_SEC": "1", "DELAY": "1"},
    ),
}
"""Releases before 5.0 keep such a property as any other; later ones put all that waits so into one topic, which programs share."""
_RETRIED: Final[Values] = {
    "topic": ("%RETRY%g",),
    "times": (1, 0, 16),
    "most": (16, None),
    "properties": ({"TRAN_MSG": "true", "PGROUP": "producers", "DELAY": "3"}, {"DELAY": "3"}, {"TRAN_MSG": "true", "PGROUP": "producers"}),
}
"""As consumers send what they could not give back: with all properties that the message had, those of a transaction among them."""
_HALF_ONE: Final = ("send", {**_ANY, **HALF})
_HEARD: Final = (True, False)
_COMMITTED: Final = ("end", {"commit": (True,), "one_way": _HEARD})
_LATER: Final = ("time", {"millis": (LONGEST_WAIT,)})
_DELETED: Final = ("delete", {"topic": ("A",)})
_REGISTERED: Final[Values] = {
    "address": ("10.0.0.1:1", "10.0.0.2:1"),
    "broker_id": (0, 1),
    "topics": ({"A": (8, 2, 4), "B": (4, 4, 6)}, {"A": (4, 4, 6)}, {}),
    "version": (1, 2),
}
"""The first of a broker is refused by later name servers where it has one topic alone."""
_OF_A: Final[Values] = {"topic": ("A",)}
_ROUTE_OF_A: Final = ("route", _OF_A)
_BROKERS: Final = ("broker-x", "broker-y")
_CLUSTERS: Final = ("cluster", "other")
_OF_GROUP: Final[Values] = {"topic": ("A",), "queue": (0,), "group": ("g",)}
_BEGINS: Final = (None, ("setZeroIfNotFound", "false"), ("setZeroIfNotFound", "true"))

PHRASES: Final[tuple[Phrase, ...]] = (
    _one("send", _SENT),
    _one("send", _BATCH, name="a batch"),
    _one("send", {"items": _ITEMS[:-2], "cut": (1, 2, 3, 6, 9, 20, 0), "more": (0, -2, 1, 2**20, -400)}, name="a batch that ends early"),
    _one("send", _DELAYED, name="a delayed message", lasting=True),
    _many("a message with a time of its own", ("send", _TIMED), switch=("timers", False)),
    _one("send", {**_ANY, "one_way": (True,)}, name="a message nobody answers", lasting=True),
    # what comes when its time is over
    _many("a delayed message comes", ("send", {**_ANY, "properties": ({"DELAY": "1"}, {"DELAY": "1", "TAGS": "t"})}), _LATER, lasting=True),
    _many(
        "a delayed half message", ("send", {**_ANY, "properties": ({"TRAN_MSG": "true", "PGROUP": "producers", "DELAY": "1"},)}), _LATER,
        ("end", {"commit": (True, False)}), lasting=True,
    ),
    _many("a retry comes", ("send", _ANY), ("back", {**_BACK, "level": (1,)}), _LATER, ("pull", {"topic": ("%RETRY%g",)}), lasting=True),
    _many("a message again", ("send", _ANY), ("send", _ANY), ("earliest", _PLAIN)),
    # what comes back
    _one("send", _RETRIED, name="a retry by a send", lasting=True),
    _one("back", _BACK, lasting=True),
    _many("a record given up", ("send", _ANY), ("back", {**_BACK, "level": (-1,), "record": (0, 1)})),
    _many("a record given back", ("send", _ANY), ("back", {**_BACK, "level": (0, 1, 3)}), lasting=True),
    _many("a record given back to who may not write", ("send", _ANY), ("back", {**_BACK, "level": (-1, 0)}), needs=READ_ONLY),
    _one("back", {"offset": (-1, 10**9, 2**40), "group": ("g",)}, name="a place given back"),
    # transactions
    _many("a half message", _HALF_ONE),
    _many("commit", _HALF_ONE, _COMMITTED, lasting=True),
    _many("roll back", _HALF_ONE, ("end", {"commit": (False,), "one_way": _HEARD}), lasting=True),
    _many("commit twice", _HALF_ONE, _COMMITTED, ("end", {"commit": (True, False), "one_way": _HEARD}), lasting=True),
    _many(
        "two half messages", _HALF_ONE, _HALF_ONE, ("end", {"record": (1,)}),
        ("end", {"record": (0,), "commit": (False, True)}),
        lasting=True,
    ),
    _many(
        "the end of a half message of no group", ("send", {**_ANY, "properties": ({"TRAN_MSG": "true"},)}),
        ("end", {"commit": (True, False), "one_way": (False,)}), lasting=True,
    ),
    _many(
        "comments among settings",
        ("configure", {"line": ("#brokerPermission=6\n\n!brokerPermission=6\n", "\n", "# a = b\n ! c\n\n")}), ("send", _ANY),
        lasting=True, needs=READ_ONLY,
    ),
    _one("end", {"offset": (10**9, -1), "commit": (True, False), "one_way": _HEARD}, name="the end of nothing", lasting=True),
    _many(
        "a half message that is asked about", ("heartbeat", {"group": ("producers",)}),
        ("send", {**_ANY, **HALF, "body": ("a", "täg"), "flag": (0, 7)}), ("question", {}),
        ("end", {"commit": (True, False), "one_way": (False,)}),
        lasting=True, needs=ASKED,
    ),
    # topics and groups
    _one("topic", _TOPIC),
    _many(
        "a topic changed", ("topic", _TOPIC), ("send", _ANY), ("topic", {**_TOPIC, "topic": ("A",)}),
        ("send", {**_ANY, "queue": (0, 3, 7)}),
    ),
    _many(
        "a topic as a refusal tells it", ("topic", {**_TOPIC, "topic": ("A",)}), ("send", {"topic": ("A",), "queue": (99, -99)}),
        ("topic", {**_TOPIC, "topic": ("A",), "order": (True, False), "filter_type": ("MULTI_TAG", "SINGLE_TAG")}),
        ("send", {"topic": ("A",), "queue": (99,)}),
    ),
    _many(
        "a template", ("topic", {**_TOPIC, "topic": ("T",), "perm": (7, 6, 3, 5, 15)}),
        ("send", {**_ANY, "default": ("T",), "nums": (4, 1, 9, 0)}),
    ),
    _many(
        "a topic with an order, of a broker that may not write", ("topic", {"topic": ("A",), "order": (True,), "perm": (6, 4, 7)}),
        ("send", {**_ANY, "code": _SENT["code"]}), ("send", {**_BATCH, "topic": ("A",)}), needs=READ_ONLY,
    ),
    _one("group", _GROUP),
    _many(
        "a group's limit", ("group", _GROUP), ("send", {"topic": ("%RETRY%g",), "times": (0, 2, 16, 17)}),
        ("back", {**_BACK, "level": (0, -1)}), lasting=True,
    ),
    # what was deleted
    _many("a topic deleted", ("send", _ANY), _DELETED),
    _many("a deleted topic", ("send", _PLAIN), _DELETED, ("max_offset", {"topic": ("A",)}), ("pull", {"topic": ("A",)})),
    _many("a topic made anew", ("send", _PLAIN), _DELETED, ("topic", {**_TOPIC, "topic": ("A",)})),
    _many(
        "progress in a topic made anew", ("send", {"topic": ("A",), "queue": (0,)}), ("commit", {**_OF_GROUP, "offset": (1, 100)}),
        _DELETED, ("topic", _OF_A), ("progress", _OF_GROUP), lasting=True,
    ),
    _one("delete", {"topic": ("nowhere", "T", "%RETRY%g", "B")}),
    _many(
        "a group deleted", ("group", _GROUP), ("delete_group", {"group": ("g",)}), ("send", _PLAIN),
        ("back", {"level": (-1,), "group": ("g",)}),
    ),
    _one("delete_group", {"group": ("g", "nobody")}),
    _one("group", {"named": (False,)}, name="a group without a name"),
    # who only looks
    _one("max_offset", {"topic": _NAMED, "queue": (0, 1, 7, -1)}),
    _one("stats", {"topic": _NAMED}),
    _one("earliest", {"topic": _NAMED, "queue": (0, 1, 8, -1)}),
    _one("search", {"topic": _NAMED, "queue": (0, 1, 8, -1), "time": (0, LONG_MAX, -1), "upper": (None, True, False)}),
    _many("messages by a time", ("send", {**_BATCH, "topic": ("A",)}), ("search", {**_OF_A, "time": (LONG_MAX, 0), "upper": (None, True)})),
    _one("pull", {"topic": _NAMED, "queue": (0, 1, 4, -1), "offset": (0, 1, 100, -1), "most": (32, 1, 0)}),
    _many("a pull behind the end", ("send", _PLAIN), ("pull", {"topic": ("A",), "offset": (2, 1, 3)}), lasting=True),
    _many(
        "a pull that is held", ("send", {"topic": ("W",)}), ("meet", {}),
        ("pull", {"topic": ("W",), "offset": (1,), "tags": ("*", "t"), "hold": (1000,), "client": (1,)}),
        ("time", {"millis": (300,)}), ("send", {"topic": ("W",), "properties": ({"TAGS": "t"},)}), ("meet", {}), lasting=True,
    ),
    _one(
        "pull", {"topic": ("nowhere",), "hold": (300,), "without": ("suspendTimeoutMillis", "sysFlag"), "tags": ("*", None)},
        name="a pull that does not say how long it may wait",
    ),
    _many(
        "a pull that waits for its tag", ("send", {"topic": ("W",)}), ("meet", {}),
        ("pull", {"topic": ("W",), "offset": (1,), "tags": ("t",), "hold": (3000,), "client": (1,)}), ("time", {"millis": (300,)}),
        ("send", {"topic": ("W",), "properties": ({"TAGS": "u"}, {})}), ("time", {"millis": (100,)}),
        ("send", {"topic": ("W",), "properties": ({"TAGS": "t"},)}), ("meet", {}), lasting=True,
    ),
    _many(
        "a pull whose client is gone", ("send", {"topic": ("W",)}), ("meet", {}),
        ("pull", {"topic": ("W",), "offset": (1,), "hold": (1000,), "one_way": (True,), "client": (1,)}),
        ("pull", {"topic": ("W",), "offset": (1,), "hold": (1000,), "client": (2,)}),
        ("time", {"millis": (200,), "client": (1,)}),
        ("hang_up", {"client": (1,)}), ("time", {"millis": (400,)}), ("send", {"topic": ("W",)}), ("meet", {}), lasting=True,
    ),
    _one("progress", {"topic": _NAMED, "queue": (0, 7), "group": ("g", "nobody"), "altered": _BEGINS}),
    _many(
        "a pull whose time is over", ("send", {"topic": ("W",)}),
        ("pull", {"topic": ("W",), "offset": (1,), "hold": (300,), "commit": (None, 1)}), ("time", {"millis": (300,)}), lasting=True,
    ),
    _many(
        "progress of a deleted group", ("send", _PLAIN), ("group", {"group": ("g",)}), ("commit", {**_OF_GROUP, "offset": (5, 1)}),
        ("delete_group", {"group": ("g",), "altered": (None, ("removeOffset", "false"))}), ("progress", _OF_GROUP),
    ),
    _many("progress not told", ("send", _PLAIN), ("progress", {**_OF_GROUP, "altered": _BEGINS, "topic": ("A", "nowhere")}), lasting=True),
    _many("progress told", ("send", _PLAIN), ("commit", {**_OF_GROUP, "offset": (1, 0, 100)}), ("progress", _OF_GROUP), lasting=True),
    _one("view", {"place": (-1, 2**40)}),
    _one("find", {"topic": _NAMED, "key": ("k", "", "täg"), "most": (32, 0, -1), "begin": (0, -1), "unique": (False, True)}),
    _many("messages by a key", ("send", _KEYED), ("send", _KEYED), ("find", _SOUGHT), lasting=True),
    _many("a half message by its key", ("send", {**_ANY, "properties": ({**HALF["properties"][0], "KEYS": "a"},)}), _COMMITTED,
          ("find", _SOUGHT), lasting=True),
    _many(
        "a group that may not consume", ("send", _PLAIN), ("group", {"group": ("g",), "more": ({"consumeEnable": False},)}),
        ("pull", {"topic": ("A",), "group": ("g", "h")}),
    ),
    _many(
        "what a consumer has subscribed to", ("send", {**_ANY, "queue": (0,)}),
        ("consumer", {"topic": ("A", "B"), "version": (1, 2), "tag": ("", "t"), "model": ("CLUSTERING", "BROADCASTING")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,), "version": (0, 1, 2)}), lasting=True,
    ),
    _many(
        "a subscription that changes", ("send", {**_ANY, "queue": (0,)}), ("consumer", {"topic": ("A",), "version": (2,)}),
        ("consumer", {"topic": ("A", "B"), "version": (3, 1, 2), "tag": ("t", "")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,), "version": (2, 1, 3)}), lasting=True,
    ),
    _many(
        "a subscription of the same version", ("send", {**_ANY, "queue": (0,)}), ("consumer", {"topic": ("A",), "version": (2,)}),
        ("consumer", {"topic": ("A",), "version": (2, 1), "tag": ("t",)}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,), "version": (2,)}), lasting=True,
    ),
    _many(
        "no broadcast", ("group", {"group": ("g",), "more": ({"consumeBroadcastEnable": False},)}), ("send", _PLAIN),
        ("consumer", {"topic": ("A",), "model": ("BROADCASTING", "CLUSTERING")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,)}), ("leave", {"group": ("g", "h")}),
        ("pull", {"topic": ("A",), "group": ("g",), "tags": (None,)}), lasting=True,
    ),
    _many(
        "consumers that are told of each other", ("group", {"group": ("h",), "more": ({"notifyConsumerIdsChangedEnable": False},)}),
        ("consumer", _OF_A), ("consumer", {**_OF_A, "group": ("h",)}), ("notified", {}), ("meet", {}),
        ("consumer", {**_OF_A, "client": (1,)}), ("consumer", {**_OF_A, "group": ("h",), "client": (1,)}), ("meet", {}), ("notified", {}),
        ("meet", {}), ("leave", {"client": (1,)}), ("leave", {"group": ("h",), "client": (1,)}), ("meet", {}), ("notified", {}),
        lasting=True,
    ),
    _many(
        "a consumer whose connection is closed", ("group", {"group": ("g",), "more": ({"notifyConsumerIdsChangedEnable": False},)}),
        ("consumer", {"topic": ("A",)}), ("meet", {}), ("consumer", {"topic": ("A",), "client": (1,)}), ("meet", {}), ("notified", {}),
        ("meet", {}), ("hang_up", {"client": (1,)}), ("meet", {}), ("notified", {}), lasting=True,
    ),
    # requests that lack something
    # 5.3.3 fails at other places: where it counts creations, compares an equal topic, or looks for a topic's mapping
    *_formed("topic", _OF_A, but=("topic", "topicFilterType")),
    *(phrase for kind in ("delete", "max_offset", "stats") for phrase in _formed(kind, _OF_A)),
    *(phrase for kind in ("pull", "commit") for phrase in _formed(kind, {**_OF_A, "group": ("g",)})),
    *_formed("progress", {**_OF_A, "group": ("g",)}, but=("topic",)),
    *_formed("delete_group", {"group": ("g",)}),
    *_formed("search", {**_OF_A, "time": (0,)}),
    *_formed("view", {"place": (-1,)}),
    *_formed("find", {**_OF_A, "key": ("k",)}),
    _one("heartbeat", {"group": (None, "g")}),
    _one("unknown", {"code": (9999, 38), "one_way": (False, True)}, lasting=True),
    # routes
    _one("route", {"topic": ("A", "B", "T", "nowhere", TEMPLATE)}, server=True),
    _many("a topic's route", ("topic", {**_TOPIC, "topic": ("A",)}), _ROUTE_OF_A, server=True),
    _many("a topic's rights", ("topic", {"topic": ("A",), "perm": _TOPIC["perm"]}), ("send", _ANY), _ROUTE_OF_A, server=True),
    _many("a first message's route", ("send", _ANY), _ROUTE_OF_A, server=True),
    _many("brokers that register", ("register", _REGISTERED), _ROUTE_OF_A, lasting=True, server=True),
    _many("brokers of before that register", ("register", {**_REGISTERED, "packed": (True,)}), _ROUTE_OF_A, lasting=True, server=True),
    _many(
        "an address replaced", ("register", _REGISTERED), ("register", {**_REGISTERED, "address": ("10.0.0.2:1", "10.0.0.1:1")}),
        ("unregister", {"address": ("10.0.0.1:1", "10.0.0.2:1"), "broker_id": (0, 1)}), _ROUTE_OF_A, lasting=True, server=True,
    ),
    _many(
        "an address under another id", ("register", _REGISTERED), ("register", {**_REGISTERED, "broker_id": (1, 0)}), _ROUTE_OF_A,
        lasting=True, server=True,
    ),
    _many(
        "a broker's connection closed", ("register", _REGISTERED), ("lose", {"address": ("10.0.0.1:1", "10.0.0.2:1")}), _ROUTE_OF_A,
        lasting=True, server=True,
    ),
    _many(
        "a version that a broker has", ("register", _REGISTERED),
        ("has_to_register", {"address": ("10.0.0.1:1", "10.0.0.2:1"), "version": (1, 2)}), lasting=True, server=True,
    ),
    _many(
        "write permission in a name server", ("register", _REGISTERED), ("permit_writes", {"permitted": (False, True), "name": _BROKERS}),
        _ROUTE_OF_A, lasting=True, server=True,
    ),
    _many(
        "a topic that a name server forgets", ("register", {"topics": ({"R": (4, 4, 6), "S": (4, 4, 6)},), "cluster": _CLUSTERS}),
        ("forget_topic", {"topic": ("R",), "cluster": (None, "cluster", "nobody")}), ("route", {"topic": ("R", "S")}),
        lasting=True, server=True,
    ),
    _many(
        "a topic that a name server is told of", ("register", _REGISTERED),
        ("register_topic", {
            "topic": ("R", "A"),
            "brokers": (
                {"broker-x": (4, 2, 6)}, {"broker-x": (0, 1, 4)}, {"broker-y": (4, 4, 6)}, {},
                {"broker-y": (4, 4, 6), "broker-x": (4, 2, 6)}, {"broker-x": (4, 2, 6), "broker-y": (4, 4, 6)},
            ),
        }),
        ("route", {"topic": ("R", "A")}), lasting=True, server=True, switch=("takes_topics", True),
    ),
    _many(
        "brokers and clusters", ("register", _REGISTERED),
        ("register", {"name": _BROKERS, "address": ("10.0.0.3:1",), "cluster": _CLUSTERS}), ("cluster", {}), lasting=True, server=True,
    ),
    _many(
        "a value that a name server keeps", ("put_value", {"key": ("k", "täg"), "value": ("v", "")}),
        ("put_value", {"key": ("k2", "k"), "value": ("w",)}), ("values", {"space": ("space", "nothing")}), lasting=True, server=True,
    ),
)  # fmt: skip
"""All but those at boundaries, which the table of boundaries gives (`phrases`)."""


def phrases(profile: Profile) -> tuple[Phrase, ...]:
    """The whole pool of a release."""
    asked = (one for one in PHRASES if one.switch is None or getattr(profile, one.switch[0]) == one.switch[1])
    return (*asked, *(_bounded(one, side, profile) for one in boundaries.BOUNDARIES if one.there(profile) for side in one.sides))


def _bounded(one: boundaries.Boundary, side: int, profile: Profile) -> Phrase:
    steps = one.at(side, profile)
    lasting = lasts(steps) or any(name == "back" and args.get("level") != -1 for name, args in steps)
    measured = (one._replace(trace=trace) for one in requests(steps, profile) for trace in ("true", "false"))  # whatever its broker has
    lost = set().union(*map(boundaries.unread, measured))
    drawn = tuple((name, {key: (value,) for key, value in args.items()}) for name, args in steps)
    where = one.name, boundaries.SIDES[side]
    return Phrase(" ".join(where), drawn, where, lasting, one.large, unread=" ".join(lost), needs=one.needs)


def requests(steps: Iterable[Step], profile: Profile) -> Iterator[boundaries.Sent]:
    """What the requests of steps are measured as, when nobody sends them."""
    where = boundaries.context(profile.name)
    where.known = [Stored(0, 0, True, True, where.names.topic("A")), Stored(200, 1, False, True, where.names.topic("A"))]
    for step in steps:
        call = request_of(step, where) if is_request(step[0]) else None
        if call is not None:
            yield boundaries.sent(call, profile)


@dataclass
class Seen:
    """How often everything was drawn. `plain`: the choice does not care, which is what to compare with."""

    chance: random.Random
    plain: bool = False
    counts: Counter[Hashable] = field(default_factory=Counter)

    def rarest(self, choices: Sequence[T], features: Callable[[T], Sequence[Hashable]], worth: Callable[[T], int] = lambda one: 1) -> T:
        """The choice whose features were seen least, for its worth: the first ones count more, and chance decides where all are equal."""
        if self.plain:
            return self.chance.choice(choices)
        seen = [tuple(self.counts[feature] / worth(one) for feature in features(one)) for one in choices]
        least = min(seen)
        return self.chance.choice([one for one, often in zip(choices, seen, strict=True) if often == least])

    def note(self, features: Iterable[Hashable]) -> None:
        self.counts.update(features)


def program(seen: Seen, pool: Sequence[Phrase], most: int = MOST_PHRASES) -> list[Step]:
    """A program of a few phrases."""
    before, steps = "", list[Step]()
    for _ in range(seen.chance.randint(1, most)):
        one = seen.rarest(pool, lambda phrase: _features(phrase, before), lambda phrase: phrase.worth)  # noqa: B023 - called at once
        seen.note(_features(one, before))
        steps += [(name, _values(seen, one.name, number, values, STEPS[name].arguments)) for number, (name, values) in enumerate(one.steps)]
        before = one.name
    return steps


def filling(seen: Seen, first: Sequence[Phrase], pool: Sequence[Phrase]) -> list[Step]:
    """A program that begins with one of a few phrases, such as something that is as large as a message may be, and what may come behind
    it, if anything may."""
    return [*program(seen, first, 1), *(program(seen, pool, 1) if pool else ())]


def lasts(steps: Iterable[Step]) -> bool:
    """Whether something of the steps comes later: nobody knows what a process that ends leaves of it."""
    return any(args.get("one_way") or any(word in str(args) for word in ("DELAY", "TRAN_MSG")) for _, args in steps)


def _features(one: Phrase, before: str) -> tuple[Hashable, ...]:
    return one.name, (before, one.name)


def _values(seen: Seen, phrase: str, number: int, values: Values, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each argument: one or two are not the ordinary ones, more often than not. None is said where the step has something else
    for what is left out."""
    drawn = {name: of[0] for name, of in values.items()}
    open_ = [name for name, of in values.items() if len(of) > 1]
    for _ in range(min(len(open_), seen.chance.choice((0, 1, 1, 2)))):
        name = seen.rarest(open_, lambda name: [(phrase, number, name)], lambda name: len(values[name]) - 1)
        place = seen.rarest(range(len(values[name])), lambda place: [(phrase, number, name, place)])  # noqa: B023 - called at once
        seen.note([(phrase, number, name), (phrase, number, name, place)])
        drawn[name] = values[name][place]
    return {name: value for name, value in drawn.items() if value is not None or defaults.get(name) is not None}
