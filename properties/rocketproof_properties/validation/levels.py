"""Levels of broker maturity: what a new broker must do first, what next, and which requests that needs.

A level is data. `trials` are short programs that a broker of this level performs correctly. `asks` are the steps whose requests it must
serve for them. The judges of every program decide what is correct, not this module. `ids` are the entries of the catalogue (`entries.py`)
that count from this level on. `exercised` are claims that the trials must exercise, so that no level is reached because nothing could be
observed. An entry without a level is a detail of the release (`MANNERS`), such as an exact property of a record or field of a response. A
whole validation checks these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from rocketproof_protocol.properties import DELAY, PGROUP, TRAN_MSG
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, TEMPLATE

from ..programs.parts import Capability
from ..programs.vocabulary import Step

Interruption = Literal["", "stop", "kill"]


class LevelTrial(NamedTuple):
    """A program of one client.

    `interruption` is how the broker ends after `steps`. It is then started again, and runs the steps `after`.
    """

    steps: tuple[Step, ...]
    interruption: Interruption = ""
    after: tuple[Step, ...] = ()

    @property
    def needs(self) -> frozenset[Capability]:
        """The capabilities that a target needs for it."""
        ends = {"stop": Capability.STOP, "kill": Capability.KILL}
        return frozenset({ends[self.interruption], Capability.RESTART}) if self.interruption else frozenset()

    @property
    def name_server(self) -> bool:
        """Whether only the name server receives requests."""
        return all(name == "route" for name, _ in self.steps)


@dataclass(frozen=True)
class Level:
    """A level: its name, a sentence on what a broker of this level does, and the fields described above."""

    name: str
    sentence: str
    asks: tuple[str, ...]
    trials: tuple[LevelTrial, ...]
    ids: frozenset[str] = frozenset()
    exercised: frozenset[str] = frozenset()


def _ids(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _half(body: str) -> Step:
    return "send", {"properties": {TRAN_MSG: "true", PGROUP: "producers"}, "body": body}


_STORED: Final[tuple[Step, ...]] = (
    ("send", {"body": "first"}),
    ("send", {"body": "second"}),
    ("send", {"body": "third", "queue": 1}),
)
_A_WHILE: Final[Step] = ("time", {"millis": 1000})
"""Long enough for one-way requests. Their effects must be visible after it."""
_ONE_MORE: Final[Step] = ("send", {"body": "fourth"})

LEVELS: Final = (
    Level(
        "answers a route",
        "the name server answers a query for the route of TBW102 with its queues and the address of a broker",
        ("route",),
        (LevelTrial((("route", {"topic": TEMPLATE}),)),),
        _ids("INV-01 INV-02 INV-04 INV-05 INV-59.tables INV-60 NS-06 REM-05 REM-08"),
        _ids("INV-01 INV-60"),
    ),
    Level(
        "takes a send",
        "a first message creates its topic; each send is answered with queue, offset and id; the name server has the route",
        ("send", "max_offset"),
        (LevelTrial((("send", {}), ("send", {"queue": 1}), ("route", {}))),),
        _ids(
            "INV-30.records SEND-12 SEND-41 SEND-42 SEND-46 CHK-01 CHK-02 CHK-03 CHK-09 CHK-10 APP-05 FLU-02 FLU-07 "
            "specification.send reference.send reference.route"
        ),
        _ids("INV-01"),
    ),
    Level(
        "keeps queues",
        "acknowledged messages are in their queue with the offsets 0, 1, 2 and the sent bodies, also after a restart",
        ("pull", "max_offset"),
        (LevelTrial(_STORED), LevelTrial(_STORED, "stop", (_ONE_MORE,))),
        _ids(
            "INV-06.records INV-07.records INV-34.records INV-36.records INV-37 INV-39 INV-40 INV-40.limit INV-41 INV-42 INV-43 INV-44 "
            "APP-02 APP-09 APP-10 CL-01 SEND-20 SEND-22 BAT-04 TCM-14 TCM-15 TCM-30 CHK-08 specification.topics specification.update_topic "
            "reference.queue reference.record reference.topic.made reference.topic.queues reference.topic.perm reference.earliest"
        ),
        _ids("INV-34.records INV-36.records"),
    ),
    Level(
        "retries and dead letters",
        "a message sent back is delivered again in its group's retry topic after its delay, and finally becomes a dead letter",
        ("back",),
        (
            LevelTrial((("send", {}), ("back", {"level": 1}), ("time", {"millis": 2500}))),
            LevelTrial((("send", {}), ("back", {"level": -1}), ("send", {"properties": {DELAY: "1"}}), ("time", {"millis": 2500}))),
        ),
        _ids(
            "INV-45 INV-46 INV-47 INV-48 INV-49 INV-50 INV-51 BACK-03 BACK-04 BACK-08 BACK-09 BACK-10 BACK-12 BACK-13 BACK-14 "
            "DLQ-02 DLQ-04 CL-02 reference.send_back"
        ),
        _ids("INV-45 INV-48 INV-50 INV-51"),
    ),
    Level(
        "transactions",
        "a half message is in no queue before it is committed, in its queue once after that, and in none if it is rolled back",
        ("end",),
        (LevelTrial((_half("committed"), ("end", {}), _half("rolled back"), ("end", {"record": 1, "commit": False}), _A_WHILE)),),
        _ids("INV-03 INV-35.records TRX-01 TRX-04 APP-04"),
        _ids("INV-35.records"),
    ),
    Level(
        "recovers",
        "after kill -9 and a restart all acknowledged messages exist, and each queue continues after them",
        (),
        (LevelTrial((*_STORED, _half("half")), "kill", (_ONE_MORE, ("send", {"body": "fifth", "queue": 1}))),),
        frozenset(),
        _ids("INV-34.records INV-36.records"),
    ),
)
"""From the lowest: each level requires those before it."""

MANNERS: Final = "the manners of the release"
"""The topic of findings that keep no broker from a level."""


class LevelRequest(NamedTuple):
    """A request that a validation sends.

    `level` is the first level that needs it, 0 for none. `lost` is what cannot be checked or used if it is not served. `given` are
    arguments that change nothing, for a request that only checks whether it is served.
    """

    level: int
    lost: str
    given: Mapping[str, object] = {}


_LOOKS: Final = "records: whether what was acknowledged was stored, where, and how often"
REQUESTS: Final[Mapping[str, LevelRequest]] = {
    "route": LevelRequest(1, "clients find no broker; nothing about routes is judged", {"topic": "nowhere"}),
    "cluster": LevelRequest(0, "brokers by their name server: give the address of each broker instead"),
    "send": LevelRequest(2, "everything: nothing can be stored"),
    "max_offset": LevelRequest(2, "everything: the broker is not recognised", {"topic": "nowhere"}),
    "pull": LevelRequest(3, _LOOKS, {"topic": "nowhere"}),
    "view": LevelRequest(0, "records by their place in the log: whether an id leads to its message", {"place": 0}),
    "find": LevelRequest(0, "keys: whether a message is found by its keys", {"topic": "nowhere"}),
    "topics": LevelRequest(0, "the topic table: whether a refused send left a topic, with how many queues and which permission"),
    "settings": LevelRequest(0, "settings: the defaults of the profile's release are assumed"),
    "back": LevelRequest(4, "retries and dead letters", {"offset": 0}),
    "end": LevelRequest(5, "transactions: a half message is never committed, and no response shows it"),
    "topic": LevelRequest(0, "topics created by an administrator: other queue counts, permissions, orders, templates"),
    "group": LevelRequest(0, "consumer groups created by an administrator: retry limits, numbers of retry queues"),
    "search": LevelRequest(0, "the offset of a queue by a time", {"topic": "nowhere"}),
    "earliest": LevelRequest(0, "the time of a queue's first message", {"topic": "nowhere"}),
    "heartbeat": LevelRequest(0, "producers known to the broker: it checks no half message"),
    "members": LevelRequest(0, "members of a consumer group: which consumers share the queues of a topic"),
    "lock": LevelRequest(0, "locks of queues: which consumer an orderly group lets read a queue", {"queues": ()}),
    "unlock": LevelRequest(0, "locks of queues: whether a queue is free again", {"queues": ()}),
    "register": LevelRequest(0, "several brokers of one name server in a route"),
    "unregister": LevelRequest(0, "how a name server forgets a broker"),
    "delete": LevelRequest(0, "nothing; topics of the programs stay"),
    "delete_group": LevelRequest(0, "nothing; groups of the programs stay"),
    "forget_topic": LevelRequest(0, "nothing; topics of the programs stay in the name server"),
    "register_topic": LevelRequest(0, "nothing; routes registered by other clients are not tried"),
    "configure": LevelRequest(0, "settings of a running broker: programs that need others are left out"),
}
"""The requests by the steps that send them (`programs.vocabulary`)."""

REQUEST: Final = "request."
"""Prefix of the property of a finding about an unserved request; its step follows."""
_NOT_PROBED: Final = ("send", "end", "register", "unregister", "configure", "delete", "delete_group", "forget_topic", "register_topic")
PROBED: Final = tuple(name for name in REQUESTS if name not in _NOT_PROBED)
"""Requests that can be sent to check whether they are served.

They have a response and change nothing except under their own names. A registration is excluded: a simple name server may take it for a
registration of the one broker that it knows.
"""


def level_of_entry(id_: str) -> int:
    """Return the level from which an entry of the catalogue counts, 0 for a detail of the release."""
    return next((number for number, level in enumerate(LEVELS, 1) if id_ in level.ids), 0)


def level_of_finding(property_: str, id_: str) -> int:
    """Return the level from which a finding about a field, such as send.remark, or about a request counts.

    A response's remark and the order of a record's properties count for no level.
    """
    if property_.startswith(REQUEST):
        return REQUESTS[property_.removeprefix(REQUEST)].level
    return 0 if property_.endswith((".remark", ".propertiesText")) else level_of_entry(id_)


def level_of_steps(steps: Iterable[Step]) -> int:
    """Return the highest level that the steps of a program need."""
    return max((_level_of_step(*step) for step in steps), default=0)


def _level_of_step(name: str, args: Mapping[str, object]) -> int:
    given = args.get("properties")
    properties = given if isinstance(given, Mapping) else {}
    topic = str(args.get("topic", ""))
    if TRAN_MSG in properties:
        return REQUESTS["end"].level
    if DELAY in properties or topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        return REQUESTS["back"].level
    return REQUESTS[name].level if name in REQUESTS else 0


def described(number: int) -> str:
    """Return a text such as `level 3, keeps queues`."""
    return f"level {number}, {LEVELS[number - 1].name}" if number else MANNERS
