"""The phrases for a broker: requests of clients and administrators. `values.py` has the values of their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from rocketproof_impl.store.record import PROPERTIES_LIMIT
from rocketproof_protocol.fields import REQUIRED_OF_A_SEND, SHORT_NAMES
from rocketproof_protocol.topics import CHECK_MAX_TIME_TOPIC

from .corruption import PLACES, TABLES
from .phrase import Phrase, PhraseStep, formed, phrase, step
from .settings import ASKED, NO_TEMPLATE, NO_TOPICS, READ_ONLY, WHEEL, WRITE_ONLY
from .values import (
    BROKERS_OWN,
    CANCELLING,
    COMMENTS,
    DELAYED,
    HALVES,
    IMMUNE,
    KEYED,
    LONG_MAPS,
    LONGEST_WAIT,
    NAMES,
    TIMED,
    TIMERS,
    UNUSUAL_TEXTS,
    VALUES,
    WAITING_HALVES,
    one_of,
)
from .vocabulary import EVERY

_TAGGED: Final = one_of({}, {"TAGS": "t"})
_TYPES: Final = one_of(0, 4, 8, 12)
"""Transaction flags. They decide whether a message is delayed and whether it enters its queue."""
_OPTIONAL: Final = tuple(name for name in SHORT_NAMES if name not in REQUIRED_OF_A_SEND)
"""Optional fields of a send. Each is left out alone, so that no earlier check rejects the request."""
_SENT: Final = "topic queue nums body size properties sys_flag flag times most unit code version default without altered"
"""Whatever a message can have."""
MOST_CLIENTS: Final = 8


def sent(vary: str = "", /, **fixed: Any) -> PhraseStep:
    """A message to topic A: to any of three queues, with or without a tag."""
    return step("send", vary, **{"topic": "A", "queue": one_of(0, 1, -1), "properties": _TAGGED, **fixed})


def copied(**fixed: Any) -> PhraseStep:
    """A message that the broker stores again later: it differs from the default in queue, body and flag, so that a lost field shows."""
    return sent(**{"queue": one_of(1, 0, -1), "body": one_of("täg", "a"), "flag": one_of(7, 0), **fixed})


_PLAIN: Final = step("send", topic="A", queue=one_of(0, 1))
_HALF: Final = copied(properties=one_of(*HALVES[:-1]))
_HELD: Final = step("send", topic="W")
_WAIT: Final = step("time", millis=LONGEST_WAIT)
_SOON: Final = step("time", millis=300)
_DISPATCHED: Final = step("time", millis=100)
"""Time in which sent messages reach their queues: an earlier pull may miss them, so that a wrong number of messages is no finding."""
_MEET: Final = step("meet")
_NOTIFIED: Final = step("notified")
_CHECKED: Final = step("checked")
_DELETED: Final = step("delete", topic="A")
_END: Final = step("end", "commit one_way altered")
_COMMIT: Final = step("end", "one_way altered", commit=True)
_GROUPS: Final = step("group", group=one_of("g", "h"))
"""Later releases reject the progress of an unknown group."""
_PROGRESS: Final = step("progress", topic="A", queue=0, group="g")
_TOPIC: Final = "read write perm filter_type sys_flag order"
_COMMITTED: Final = step("commit", topic="A", queue=0, group="g")
TOPIC_A: Final = step("topic", _TOPIC, topic="A")
_BACK: Final = "record group level most version unit named without altered"
_KEYED: Final = step("send", topic=one_of("A", "B"), queue=one_of(0, 1), properties=one_of(*KEYED), sys_flag=_TYPES)
_SOUGHT: Final = step("find", "key most begin end unique", topic=one_of("A", "B"), key="a")
_CONSUMED: Final = step("pull", topic="A", group="g", tags=None)


def _first_requests(clients: int) -> Phrase:
    """Several clients send the first messages of two topics at once, while an administrator creates one of them."""

    def requests() -> Iterator[PhraseStep]:
        for client in range(clients):
            own = {"client": client} if client else {}
            yield step("send", "nums queue default sys_flag", topic=("A", "A", "%RETRY%g")[client % 3], **own)
            if client == 1:
                yield step("topic", "read write perm", topic="A", **own)

    rounds = [each for _ in range(2 if clients < 5 else 1) for each in (*requests(), _MEET)]
    return phrase(f"first messages of {clients} clients", *rounds, step("route", topic="A"), lasting=True, server=True, often=12)


OF_BROKERS: Final[tuple[Phrase, ...]] = (
    phrase("", step("send", _SENT)),
    phrase("messages with several odd fields", *[step("send", f"{_SENT} packed")] * 2, changes=(3, 4, 5), often=30),
    phrase("properties of about the maximum length", step(
        "send", "nums body", topic=one_of("A", "%RETRY%g"), properties=one_of(*LONG_MAPS, {"p": "v" * (PROPERTIES_LIMIT + 1)}),
    )),
    phrase("a batch with odd fields", step("send", "items queue nums flag times most unit default sys_flag", topic=one_of(
        "A", "B", "%RETRY%g", "C",
    )), changes=(1, 2, 3), often=20),
    phrase("a batch", step("send", "items queue", topic=one_of(*NAMES, "%RETRY%g"), sys_flag=one_of(0, 4, 1), properties=one_of(
        {}, {"TAGS": "u"}, {"DELAY": "2"}, {"WAIT": "false"}, {"UNIQ_KEY": "0F"}, {"KEYS": "b"},
    ))),
    phrase(
        "a batch of an earlier client", step("send", "items", topic=one_of("A", "B"), ended=True, sys_flag=one_of(0, 4), properties=one_of(
            {}, {"TAGS": "u"}, {"UNIQ_KEY": "0F"},
        )),
    ),
    phrase("a batch that ends early", step("send", "items cut more")),
    phrase("a delayed message", step("send", topic=one_of("A", "B"), properties=one_of(*DELAYED)), lasting=True, changes=(1, 2)),
    phrase(
        "a delayed message with the flags of a transaction",
        step("send", topic="A", properties=one_of({"DELAY": "1"}, {"DELAY": "3"}), sys_flag=one_of(4, 8, 12)), lasting=True,
    ),
    phrase("a message with a time of its own", step("send", topic="A", queue=one_of(0, 1), properties=one_of(*TIMERS), sys_flag=_TYPES)),
    phrase(
        "an unusual text of properties",
        step("send", "queue", topic="A", altered=one_of(*(("properties", text) for text in UNUSUAL_TEXTS))),
        step("find", topic="A", key=one_of("b", "a", "k")), lasting=True, changes=(0, 1, 1), often=10,
    ),
    phrase(
        "a property that the broker writes", sent(properties=one_of(*BROKERS_OWN)), step("back", "group", level=one_of(0, -1, 1)), _PLAIN,
        lasting=True, changes=(0, 1, 1), often=8,
    ),
    phrase("a message nobody answers", sent(one_way=True), lasting=True),
    phrase("a batch nobody answers", step("send", "items queue", topic="A", one_way=True), lasting=True),
    phrase("a message of no body", step("send", "queue", topic="A", body=None)),
    # delayed messages that are delivered
    phrase("a delayed message comes", copied(properties=one_of({"DELAY": "1"}, {"DELAY": "1", "TAGS": "t"})), _WAIT, lasting=True),
    phrase("a delayed half message", sent(properties={**HALVES[0], "DELAY": "1"}), _WAIT, step("end", "commit"), lasting=True),
    phrase("a delayed half message that ends at once", sent(properties={**HALVES[0], "DELAY": "3"}), step(
        "end", "commit one_way", one_way=False,
    ), lasting=True),
    phrase("a retry comes", copied(), step("back", _BACK, level=1), _WAIT, step("pull", topic="%RETRY%g"), lasting=True),
    phrase(
        "a retry that is sent back again",
        copied(), step("back", level=1, most=one_of(16, 2)), _WAIT, step("pull", topic="%RETRY%g"),
        step("back", "level most", pulled=True, level=one_of(1, 0, 3, -1)), _WAIT, step("pull", topic="%RETRY%g"),
        step("pull", topic="%DLQ%g"), step("back", level=0, pulled=True, record=one_of(1, 0)), lasting=True, often=10,
    ),
    phrase("a message again", sent(), sent(), step("earliest", topic="A", queue=one_of(0, 1))),
    # queues and templates
    *(
        phrase(
            f"the first message of queue {queue}",
            step("topic", "read write", topic=topic),
            *(step(kind, topic=topic, queue=queue) for kind in ("send", "earliest")),
        )
        for queue in VALUES["earliest"]["queue"]
        for topic in (("A", "%RETRY%g")[queue % 2],)
    ),
    phrase("a topic made by its first message", sent("nums queue", topic=one_of("A", "B")), step("earliest", "queue", topic="A")),
    phrase("a topic made by a unit", step("send", "nums", topic=one_of("C", "%RETRY%h", "A"), unit=True), often=4, changes=(1,)),
    phrase("a topic made by a retry", step("group", "queues retries", group="g"), step(
        "send", "nums queue default times unit version most", topic=one_of("%RETRY%g", "%RETRY%h"),
    )),
    phrase("a template", step("topic", _TOPIC, topic="T", perm=one_of(7, 5, 3)), sent("nums queue unit", default="T")),
    phrase(
        "a template whose other fields differ", step(
            "topic", topic="T", perm=7, filter_type=one_of("MULTI_TAG", "SINGLE_TAG"), sys_flag=one_of(1, 0, 2), order=one_of(True, False),
        ), sent("queue", default="T"), changes=(0, 1, 2), often=6,
    ),
    phrase("a template without creation", step("topic", _TOPIC, topic="T", perm=7), sent("nums queue", default="T"), needs=NO_TOPICS),
    phrase(
        "a template with unequal counts", step("topic", topic="T", perm=7, read=one_of(4, 16, 2), write=one_of(16, 8, 4)),
        sent("queue", default="T", nums=one_of(16, 8, 9)), changes=(1, 2), often=10,
    ),
    phrase(
        "a topic with unequal counts", step("topic", topic="A", read=one_of(8, 1, 4, 16, 2), write=one_of(1, 8, 2, 4)),
        *[step("send", topic="A", queue=one_of(-1, -5))] * 3, changes=(1, 2), often=10,
    ),
    phrase(
        "a template from the start", step("topic", _TOPIC, topic="T", perm=one_of(7, 5, 3)), sent("nums queue", default="T"),
        needs=NO_TEMPLATE,
    ),
    # messages that are sent back
    phrase(
        "a retry by a send", step("send", topic="%RETRY%g", times=one_of(1, 0, 16), most=one_of(16, None), properties=one_of(
            {**HALVES[0], "DELAY": "3"}, {"DELAY": "3"}, HALVES[0],
        )), lasting=True,
    ),
    phrase("", step("back", _BACK, level=-1), lasting=True),
    phrase("a record given up", sent(), step("back", _BACK, level=-1, record=one_of(0, 1))),
    phrase("a record given up without its topic", sent(), step("back", "group", level=-1, named=False)),
    phrase("a record given back", sent(), step("back", _BACK, level=one_of(0, 1, 3)), lasting=True),
    phrase("records of a group given back", step("group", "queues retries", group="g"), sent(), sent(), *(
        step("back", "level most version", group="g", record=record) for record in (0, 1)
    ), lasting=True),
    phrase("a topic where nobody may write", step("topic", _TOPIC, topic="A", perm=2), needs=READ_ONLY),
    phrase("a topic where nobody may read", step("topic", _TOPIC, topic="A", perm=4), needs=WRITE_ONLY),
    phrase("a record given back to who may not write", sent(), step("back", _BACK, level=one_of(-1, 0)), needs=READ_ONLY),
    phrase("a place given back", step("back", "offset", group="g")),
    # messages whose topic is gone when they arrive
    phrase(
        "a delayed message of a deleted topic", sent(properties=one_of({"DELAY": "1"}, {"DELAY": "1", "TAGS": "t"})),
        step("delete", topic=one_of("A", "B")), _WAIT, step("max_offset", "queue", topic="A"), TOPIC_A, step("pull", topic="A"),
        lasting=True,
    ),
    phrase(
        "a retry of a deleted topic", sent(), step("back", "group", level=1), step("delete", topic=one_of("A", "%RETRY%g")), _WAIT,
        step("pull", topic="%RETRY%g"), step("max_offset", topic="%RETRY%g"), lasting=True,
    ),
    # messages with a time of their own that are delivered
    phrase(
        "a timer that is due", sent(properties=one_of(*TIMED)), _WAIT, _WAIT, step("pull", topic="A"), lasting=True, needs=WHEEL,
        switch=("timers", True),
    ),
    phrase(
        "a timer with its own delivery time", sent("due", properties=one_of({"UNIQ_KEY": "U1"}, *TIMED[:2])), _WAIT, _WAIT,
        step("pull", topic="A"), lasting=True, needs=WHEEL, switch=("timers", True), often=8,
    ),
    phrase(
        "a timer that is cancelled", step("send", topic="A", properties=TIMED[0]),
        step("send", topic=one_of("A", "B"), properties=one_of(*CANCELLING)), _WAIT, _WAIT, step("pull", topic="A"), lasting=True,
        needs=WHEEL, switch=("timers", True), often=12,
    ),
    phrase(
        "a timer of a deleted topic", sent(properties=one_of(*TIMED)), step("delete", topic=one_of("A", "B")), _WAIT, _WAIT,
        step("max_offset", topic="A"), TOPIC_A, step("pull", topic="A"), lasting=True, needs=WHEEL, switch=("timers", True), often=6,
    ),
    # transactions
    phrase("a half message", _HALF),
    phrase("a half message with each form of WAIT", sent("sys_flag", properties=one_of(*WAITING_HALVES)), changes=(1, 2)),
    phrase("commit", _HALF, _COMMIT, lasting=True),
    phrase("roll back", _HALF, step("end", "one_way altered", commit=False), lasting=True),
    phrase("an end that decides nothing", _HALF, step("end", altered=("commitOrRollback", "0")), _COMMIT, lasting=True),
    phrase("commit twice", _HALF, _COMMIT, _END, lasting=True),
    phrase("two half messages", _HALF, _HALF, step("end", record=1), step("end", "commit", record=0, commit=False), lasting=True),
    phrase(
        "the end of a half message of no group", sent(properties={"TRAN_MSG": "true"}), step("end", "commit", one_way=False), lasting=True
    ),
    phrase("comments among settings", step("configure", line=one_of(*COMMENTS)), sent(), lasting=True, needs=READ_ONLY),
    phrase("the end of nothing", step("end", "offset commit one_way"), lasting=True),
    phrase(
        "a half message that is asked about", step("heartbeat", group="producers"),
        _HALF, step("question"),
        step("end", "commit", one_way=False), _CHECKED, lasting=True, needs=ASKED,
    ),
    phrase(
        "a half message that is asked about as often as may be", step("heartbeat", group="producers"), _HALF, step("question"),
        _CHECKED, _CHECKED, _CHECKED, lasting=True, needs=ASKED,
    ),
    phrase(
        "producers of which one leaves", step("heartbeat", group="producers"), _MEET, step("heartbeat", group="producers", client=1), _MEET,
        step("leave", producers="producers", client=1), _MEET, sent(properties=HALVES[0]),
        step("question"), lasting=True, needs=ASKED, often=6,
    ),
    phrase(
        "a half message that is not asked about yet", step("heartbeat", group="producers"), sent(properties=one_of(*IMMUNE)), _CHECKED,
        _CHECKED, _CHECKED, step("max_offset", topic=CHECK_MAX_TIME_TOPIC), step("pull", topic=CHECK_MAX_TIME_TOPIC), lasting=True,
        needs=ASKED, often=6,
    ),
    # topics and groups
    phrase("", step("topic", f"topic {_TOPIC}"), changes=(1, 2, 3)),
    phrase("a topic with a further field", step("topic", "altered read order", topic=one_of("A", "B")), sent(), changes=(1, 2)),
    phrase(
        "attributes of a topic", step("topic", "attributes perm write filter_type sys_flag", topic="A"),
        step("topic", "attributes read", topic="A"),
        step("send", topic="A", queue=one_of(0, 99)), changes=(1, 2), often=12,
    ),
    phrase(
        "each kind of message to a topic with other settings",
        step("topic", _TOPIC, topic="A", filter_type=one_of("MULTI_TAG", "SINGLE_TAG"), sys_flag=one_of(1, 0, 2, 3)), sent("queue"),
        step("send", "items queue flag", topic="A", items=VALUES["send"]["items"][0]), _HALF, _COMMIT, step("back", "level", group="g"),
        lasting=True, changes=(0, 1, 2), often=12,
    ),
    phrase("a topic changed", step("topic", f"topic {_TOPIC}"), sent(), TOPIC_A, sent("queue")),
    phrase(
        "a topic as a refusal tells it", TOPIC_A, step("send", topic="A", queue=one_of(99, -99)),
        step("topic", _TOPIC, topic="A", order=True, filter_type="MULTI_TAG"), step("send", topic="A", queue=99),
    ),
    phrase(
        "a topic with an order, of a broker that may not write",
        step("topic", topic="A", order=True, sys_flag=one_of(1, 2, 3, 0), perm=one_of(6, 4, 7)), sent("code"),
        step("send", "items queue", topic="A"), needs=READ_ONLY,
    ),
    phrase("", step("group", "group queues retries more")),
    phrase(
        "a group's limit", step("group", "group queues retries more"), step("send", "times", topic="%RETRY%g"),
        step("back", _BACK, level=one_of(0, -1)), lasting=True,
    ),
    # deletions
    phrase("a topic deleted", sent(), _DELETED),
    phrase("a deleted topic", _PLAIN, _DELETED, step("max_offset", topic="A"), step("pull", topic="A")),
    phrase("a topic made anew", _PLAIN, _DELETED, TOPIC_A),
    phrase(
        "progress in a topic made anew", _GROUPS, step("send", topic="A", queue=0),
        step("commit", topic="A", queue=0, group="g", offset=one_of(1, 100)), _DELETED, step("topic", topic="A"), _PROGRESS, lasting=True,
    ),
    phrase("", step("delete", "topic", topic="nowhere")),
    phrase("a group deleted", step("group", "group queues retries more"), step("delete_group", group="g"), _PLAIN, step(
        "back", level=-1, group="g",
    )),
    phrase("", step("delete_group", "group altered"), changes=(1, 2)),
    phrase("a group without a name", step("group", named=False)),
    # queries
    phrase("", step("max_offset", "topic queue altered"), changes=(1, 2)),
    phrase("", step("stats", "topic"), changes=(1, 2)),
    phrase("", step("earliest", "topic queue"), changes=(1, 2)),
    phrase("", step("search", "topic queue time upper"), changes=(1, 2)),
    phrase("messages by a time", step("send", "items queue", topic="A"), step("search", "time upper", topic="A")),
    phrase(
        "messages by a time near theirs", step("send", "items", topic="A"), _DISPATCHED, step("send", "items", topic="A"), _DISPATCHED,
        step("pull", topic="A"), *[step("search", "record plus upper", topic="A")] * 2, changes=(1, 1, 2),
    ),
    phrase("", step("pull", "topic queue most offset group commit version altered"), changes=(1, 2, 3)),
    phrase(
        "a pull with a further field", step("send", "items", topic="A"), step("pull", "altered offset most tags", topic="A"),
        changes=(1, 2),
    ),
    phrase(
        "a pull of fewer messages", step("send", "items", topic="A"), _PLAIN, step("send", "items", topic="A"), _DISPATCHED,
        *[step("pull", "offset", topic="A", most=one_of(3, 2, *range(4, 34)))] * 2, changes=(1, 2),
    ),
    phrase(
        "a pull of many messages", *[step("send", topic="A", items=VALUES["send"]["items"][6])] * 2, _DISPATCHED,
        step("pull", "offset", topic="A", most=one_of(33, 32, 31, 34, 64)), changes=(0, 1, 2), often=6,
    ),
    phrase(
        "a tag that a consumer selects", step("send", topic="A", queue=0, properties=one_of({"TAGS": "täg"}, {"TAGS": "t"}, {})),
        step("send", topic="A", queue=0, properties=one_of({"TAGS": "t"}, {"TAGS": "値"})),
        step("consumer", topic="A", version=2, tag=one_of("täg", "t")), step("pull", topic="A", group="g", tags=None, version=2),
        step("pull", topic="A", tags=one_of("täg", "t", "täg||t")), lasting=True, changes=(0, 1), often=8,
    ),
    phrase(
        "a pull of several tags", step("send", topic="A", queue=0, properties=_TAGGED),
        step("send", topic="A", queue=0, properties=one_of({"TAGS": "t"}, {"TAGS": "u"}, {})),
        step("pull", "tags", topic="A", tags="t||"), lasting=True, changes=(1,),
    ),
    phrase("a pull of an empty queue", step("topic", topic="A"), step("pull", "offset", topic="A"), changes=(1,)),
    phrase("a pull behind the end", _PLAIN, step("pull", topic="A", offset=one_of(2, 1, 3)), lasting=True),
    phrase(
        "a pull that is held", _HELD, _MEET, step("pull", topic="W", offset=1, tags=one_of("*", "t"), hold=1000, client=1), _SOON,
        step("send", topic="W", properties={"TAGS": "t"}), _MEET, lasting=True,
    ),
    phrase(
        "a pull that does not say how long it may wait", step("pull", "without", topic="nowhere", hold=300, tags=one_of("*", None)),
    ),
    phrase(
        "a pull that waits for its tag", _HELD, _MEET, step("pull", topic="W", offset=1, tags="t", hold=3000, client=1), _SOON,
        step("send", topic="W", properties=one_of({"TAGS": "u"}, {})), step("time", millis=100),
        step("send", topic="W", properties={"TAGS": "t"}), _MEET, lasting=True,
    ),
    phrase(
        "a held pull that wants no answer", _HELD, step("pull", topic="W", offset=1, hold=1000, one_way=True), _SOON,
        step("send", topic="W", queue=one_of(0, 1)), lasting=True,
    ),
    phrase(
        "a pull whose client is gone", _HELD, _MEET, step("pull", topic="W", offset=1, hold=1000, one_way=True, client=1),
        step("pull", topic="W", offset=1, hold=1000, client=2), step("time", millis=200, client=1), step("hang_up", client=1),
        step("time", millis=400), _HELD, _MEET, lasting=True,
    ),
    phrase("", step("progress", "topic queue group altered"), changes=(1, 2, 3)),
    phrase(
        "several offsets of groups", _GROUPS, _PLAIN, *[step("commit", "topic queue group offset")] * 3,
        *[step("progress", "altered", topic=one_of("A", "B"), queue=one_of(0, 1, 7), group=one_of("g", "h"))] * 2, lasting=True, often=12,
        changes=(1, 2, 3),
    ),
    phrase("a pull whose time is over", _HELD, step("pull", "hold commit", topic="W", offset=1), _SOON, lasting=True),
    phrase(
        "progress of a deleted group", _PLAIN, step("group", group="g"),
        step("commit", topic="A", queue=0, group="g", offset=one_of(5, 1)), step("delete_group", "altered", group="g"), _PROGRESS,
    ),
    phrase("progress not told", _PLAIN, step("progress", "altered", topic=one_of("A", "nowhere"), queue=0, group="g"), lasting=True),
    phrase(
        "progress told", _GROUPS, _PLAIN, step("commit", "offset", topic="A", queue=0, group="g"), _PROGRESS, lasting=True
    ),
    phrase("", step("view", "place altered"), changes=(1, 2)),
    phrase("", step(
        "find", "topic unique end", key=one_of("k", "", "täg"), most=one_of(32, 0, -1), begin=one_of(0, -1),
    ), changes=(1, 2, 3)),
    phrase("messages by a key", *[_KEYED] * 2, _SOUGHT, lasting=True),
    phrase(
        "messages of a batch by a key", step("send", "items", topic="A", items=VALUES["send"]["items"][4], properties=one_of(
            {}, {"UNIQ_KEY": "0F"}, {"KEYS": "b"}, {"UNIQ_KEY": "ID2", "KEYS": "a"},
        )), *[step("find", "unique", topic="A", key=one_of("ID1", "ID2", "0F", "k", "a", "b"))] * 2, lasting=True, often=12,
    ),
    phrase("a half message by its key", sent(properties={**HALVES[0], "KEYS": "a"}), _COMMIT, _SOUGHT, lasting=True),
    phrase(
        "a group that may not consume", _PLAIN, step("group", group="g", more={"consumeEnable": False}), step("pull", "group", topic="A")
    ),
    phrase(
        "what a consumer has subscribed to", sent(queue=0), step("send", topic="B", queue=0),
        step("consumer", "topic tag model", version=one_of(1, 2)), step("pull", topic="A", group="g", tags=None, version=one_of(0, 1, 2)),
        step("pull", topic="B", group="g", tags=None), lasting=True,
    ),
    phrase(
        "a subscription that changes", sent(queue=0), step("consumer", topic="A", version=2),
        step("consumer", "topic tag version", version=3, tag="t"),
        step("pull", "version", topic="A", group="g", tags=None, version=2), lasting=True,
    ),
    phrase(
        "a subscription of the same version", sent(queue=0), step("consumer", topic="A", version=2),
        step("consumer", topic="A", version=2, tag="t"), step("pull", topic="A", group="g", tags=None, version=2), lasting=True,
    ),
    phrase(
        "a subscription of an earlier version", sent(queue=0), step("consumer", topic="A", version=2),
        step("consumer", topic="A", version=1, tag="t"), step("pull", topic="A", group="g", tags=None, version=2), lasting=True,
    ),
    phrase(
        "no broadcast", step("group", group="g", more={"consumeBroadcastEnable": False}), _PLAIN,
        step("consumer", "model", topic="A", model="BROADCASTING"), _CONSUMED, step("leave", "group altered"), _CONSUMED, lasting=True,
        changes=(1, 2, 3),
    ),
    phrase(
        "consumers that are told of each other", step("group", group="h", more={"notifyConsumerIdsChangedEnable": False}),
        step("consumer", topic="A"), step("consumer", topic="A", group="h"), _NOTIFIED, _MEET, step("consumer", topic="A", client=1),
        step("consumer", topic="A", group="h", client=1), _MEET, _NOTIFIED, _MEET, step("leave", client=1),
        step("leave", group="h", client=1), _MEET, _NOTIFIED, lasting=True,
    ),
    phrase(
        "a consumer whose connection is closed", step("group", group="g", more={"notifyConsumerIdsChangedEnable": False}),
        step("consumer", topic="A"), _MEET, step("consumer", topic="A", client=1), _MEET, _NOTIFIED, _MEET, step("hang_up", client=1),
        _MEET, _NOTIFIED, lasting=True,
    ),
    # consumers that share the queues of a topic
    phrase(
        "members of a group", step("consumer", topic="A"), step("members", "group"), step("consumer", topic="A", group="h"),
        step("members", group="h"), step("leave", "group"), step("members", group=one_of("g", "h")), lasting=True, changes=(0, 1),
    ),
    phrase(
        "members of a group with two connections", step("consumer", topic="A"), _MEET, step("consumer", topic="A", client=1), _MEET,
        step("members"), _MEET, step("leave", client=1), _MEET, step("members"), lasting=True,
    ),
    phrase(
        "queues that are locked", step("lock", "topic queues", holder="c1"), step("lock", "topic group queues", holder=one_of("c2", "c1")),
        step("unlock", "topic group queues", holder=one_of("c1", "c2")), step("lock", "queues", holder=one_of("c2", "c1")), lasting=True,
        changes=(0, 1, 2), often=12,
    ),
    # several clients at once
    *(
        phrase(
            f"two requests to {kind} at once", *before, _MEET, step(kind, vary, **own), step(kind, vary, **own, client=1), _MEET, *after,
            lasting=True, changes=(1, 2, 3),
        )
        for kind, vary, own, before, after in (
            ("topic", "read write perm order", {"topic": "A"}, (), (sent("queue"),)),
            ("delete", "", {"topic": one_of("A", "B")}, (_PLAIN,), (step("max_offset", topic="A"), TOPIC_A)),
            ("group", "queues retries more", {"group": "g"}, (_PLAIN,), (step("back", level=0, group="g"),)),
            ("delete_group", "", {"group": one_of("g", "h")}, (_GROUPS, _PLAIN, _COMMITTED), (_PROGRESS,)),
            ("commit", "offset", {"topic": "A", "queue": 0, "group": "g"}, (_GROUPS, _PLAIN), (_PROGRESS,)),
        )
    ),
    *map(_first_requests, (2, 3, 4, MOST_CLIENTS)),
    # malformed requests
    *(phrase(f"a send without its {name}", step("send", topic="A", without=name)) for name in _OPTIONAL),
    # 5.3.3 fails at different places: when it counts creations, compares an equal topic, or looks up a topic's mapping
    *formed(step("topic", topic="A"), but=("topic", "topicFilterType", EVERY)),
    *(malformed for kind in ("delete", "max_offset", "stats") for malformed in formed(step(kind, topic="A"))),
    *(malformed for kind in ("pull", "commit") for malformed in formed(step(kind, topic="A", group="g"))),
    *formed(step("progress", topic="A", group="g"), but=("topic",)),
    *formed(step("delete_group", group="g")),
    *formed(step("search", topic="A", time=0)),
    *formed(step("view", place=-1)),
    *formed(step("find", topic="A", key="k")),
    phrase(
        "an end that lacks something", _HALF, step("end", "commit without", one_way=False), lasting=True, switch=("half_messages", True)
    ),
    phrase(
        "an end that does not fit its half message", _HALF,
        step("end", commit=True, one_way=False, altered=("tranStateTableOffset", "1000000")),
        step("end", commit=True, one_way=False, altered=one_of(("tranStateTableOffset", "-1"), ("producerGroup", "others"))),
        lasting=True, switch=("half_messages", True),
    ),
    phrase("", step("heartbeat", "group")),
    phrase("", step("unknown", "code one_way"), lasting=True),
)  # fmt: skip

_AFTER: Final = (step("send", topic="B"), step("max_offset", topic="B"), step("pull", topic="B"), step("earliest", topic="B"))
"""What a program does after a restart: it stores a record where the last one may have been dropped, and reads the queue."""
CORRUPTIONS: Final[tuple[Phrase, ...]] = tuple(
    phrase(f"{file} with another {place}", step("corrupt", "how" if file in TABLES else "how kill", **where), *_AFTER)
    for file, place in PLACES
    for where in ({"file": file, "place": place, **({"kill": True} if file in TABLES else {})},)
)
"""A file with changed bytes. A table is changed after a kill, because some releases write all tables when they stop."""
CLOCKS: Final[tuple[Phrase, ...]] = (phrase("a start with another clock", step("restart", "clock"), *_AFTER),)
