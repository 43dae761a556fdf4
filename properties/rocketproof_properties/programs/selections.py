"""Selections of phrases: what the programs of each condition of the catalogue may do, and the cluster that they run on.

Each selection avoids steps that would break its claims for another reason. It makes its own subject frequent, because every run must find
the known violations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rocketproof_protocol.topics import SCHEDULE

from ..catalogue import conditions as about
from .phrase import Phrase, PhraseStep, phrase, step
from .settings import ClusterSettings
from .values import ANY_MAP, DELAYED, FILE_SIZES, HALF_DELAYED, HALVES, LONG_ITEMS, NAMES, ORDINARY, WAITING_HALVES, one_of
from .vocabulary import Step

FILE, LIMIT = 4096, 1500
SMALL_FILES = {"mapped_file_size_commit_log": FILE, "max_message_size": LIMIT}
EDGES: Final = "batches of every size"
LEFT_OUT: Final = "fields left out"


@dataclass(frozen=True)
class Selection:
    """Phrases of one step, each with the weight `often`, from which programs are drawn: the steps `first`, then at most `most` others.

    `setting`: the simulated cluster. `least`: the minimum number of drawn steps.
    """

    phrases: tuple[Phrase, ...]
    setting: ClusterSettings
    most: int = 15
    first: tuple[Step, ...] = ()
    least: int = 3

    @property
    def performed(self) -> tuple[Phrase, ...]:
        """The phrases that a client can perform too."""
        return tuple(each for each in self.phrases if all(name in WIRED for name, _ in each.steps))


WIRED: Final = (
    "send",
    "back",
    "end",
    "unknown",
    "topic",
    "group",
    "lock",
    "unlock",
    "register",
    "unregister",
    "lose",
    "time",
    "route",
    "earliest",
    "meet",
)
"""Steps of simulated clusters that a client can perform too."""


_CHANGES: Final = (0, 1, 2, 3, 4)


def _of(*choices: tuple[int, PhraseStep]) -> tuple[Phrase, ...]:
    """Return phrases of one step with their weights."""
    return tuple(phrase(f"{number} {each[0]}", each, often=weight, changes=_CHANGES) for number, (weight, each) in enumerate(choices))


_UNMIXED: Final[tuple[Mapping[str, str], ...]] = ({}, {"WAIT": "true"}, {"WAIT": "false"})
_CALLED: Final = "body size one_way version code nums queue"
_any_send = step(
    "send", f"topic sys_flag flag times unit most {_CALLED}",
    properties=one_of(*ANY_MAP), broker=one_of(0, 1), sys_flag=0,
)  # fmt: skip
_plain_send = step("send", "body size nums queue one_way", topic=one_of("A", "B", "C"), properties=one_of(*_UNMIXED))
_one_queue = step("send", "sys_flag packed", topic="A", body=one_of("a", "b", "value"))
_fill = step("send", topic=one_of("A", "B"), leave=one_of(*range(17)))
_batch = step("send", "items nums queue one_way", topic=one_of(*NAMES, "%DLQ%g"), sys_flag=one_of(0, 4), properties=one_of(
    {}, {"TAGS": "u"}, {"DELAY": "2"}, {"WAIT": "false"},
))  # fmt: skip
_back = step("back", "record group level most version unit")
_lost_back = step("back", offset=one_of(-1, 10**9))
_end = step("end", "record commit")
_time = step("time", millis=one_of(0, 500, 1000, 5000, 10_000, 60_000, 7_200_000))
_topic = step("topic", "read write perm", topic=one_of("A", "B", "%RETRY%g"))
_group = step("group", "group retries", queues=one_of(1, 2, 4))  # without queues a send-back stores nothing (HAZ-30)
_configure = step("configure", "line")
_hooks = step("hooks", "send consume")
_trouble = (
    (1, step("flush", "stuck")),
    (1, step("replica", "state")),
    (1, step("store", state=one_of("good", "full"))),
    (1, step("disk", "full")),
)
_delayed = step("send", topic=one_of("A", "B"), properties=one_of(*DELAYED), queue=one_of(0, 1, 3), sys_flag=one_of(0, 8))
_half = step("send", topic=one_of("A", "B"), properties=one_of(*WAITING_HALVES), queue=one_of(0, 1, 3), sys_flag=one_of(0, 4))
_to_send_back = step("send", topic=one_of("A", "B"), properties=one_of({}, {"TAGS": "t"}), queue=one_of(0, 1))
_under_lock = step("send", topic=one_of("%RETRY%g", "%RETRY%h"), times=one_of(0, 1, 15), queue=one_of(0, 1))
_back_of_group = step("back", "record group", level=one_of(0, 1, 18), most=one_of(16, 3))
_registered = (
    (1, step("register", "name broker_id address topics version")),
    (1, step("unregister", "name broker_id address")),
    (1, step("lose", "address")),
)
_MOVING = "10.0.0.4:1"
_waiting_send = step("send", topic=one_of("A", "B"), properties=one_of({}, {"TAGS": "t"}), queue=one_of(0, 1, 3), size=one_of(0, 200))
_power = step("crash", "seed", power=True)
_slow = step("faults", "name seed")

_STORE = ClusterSettings(settings=SMALL_FILES)
_LARGE_FILES = ClusterSettings(settings={"mapped_file_size_commit_log": 65_536})

_UNREAD: Mapping[str, tuple[Step, ...]] = {
    about.WIDE_NAMES: (("send", {}), ("back", {"group": "値" * 60, "level": -1})),
    about.OWN_PROPERTIES: (("send", {"items": [("a", {"p": "v" * 32_760})]}),),
    about.LONGER_HOSTS: (("send", {"sys_flag": 16}),),
}
"""Steps that store a record that cannot be read again (HAZ-49 to HAZ-51)."""
_UNCOUNTED: tuple[Step, ...] = (
    ("heartbeat", {"group": "producers"}),
    ("send", {"properties": {**HALVES[0], "p": "v" * 32_600}}),
    ("send", {"properties": HALVES[0]}),
    ("question", {}),
)
"""A half message with properties so long that the count of its checks does not fit."""
_END: tuple[Step, ...] = (("send", {"topic": "B"}), ("crash", {}))


def _store(*choices: tuple[int, PhraseStep], most: int = 15) -> Selection:
    """Return a selection for a broker with small files."""
    return Selection(_of(*choices), _STORE, most)


SELECTIONS: Mapping[str, Selection] = {
    about.ANYTHING: _store(
        (8, _any_send), (3, _plain_send), (4, _one_queue), (4, _fill), (2, _batch), (5, _back), (1, _lost_back), (2, _end), (2, _time),
        (1, _topic), (1, _group), (1, _configure), (1, _hooks), *_trouble, most=20,
    ),
    about.PLAIN: _store((5, _plain_send), (2, _fill), (1, _time)),
    about.SENT: Selection(
        _of((12, _any_send), (6, _plain_send), (4, _batch), (4, _fill), (2, _end), (2, _time), *_trouble),
        ClusterSettings(brokers=2, settings=SMALL_FILES),
    ),
    about.DELAYED: _store((5, _delayed), (1, _plain_send), (1, _time)),
    about.HALF_ONES: _store((4, _half), (1, _plain_send), (1, _time)),
    about.HALF_DELAYED: _store(
        (4, step("send", topic=one_of("A", "B"), properties=one_of(*HALF_DELAYED), queue=one_of(0, 1))), (1, _time), most=5
    ),
    about.AT_LIMIT: _store((1, step("send", topic=one_of("%RETRY%g", "%RETRY%h"), times=one_of(16, 0, 15, 17), queue=one_of(0, 1, 3)))),
    about.LOCKED: Selection(
        _of((1, step("lock", "queues", group=one_of("g", "h"))), (1, step("unlock", "queues")), (2, _under_lock), (1, _time)),
        _STORE,
        most=6,
        first=(("lock", {}),),
    ),
    about.SENT_BACK: _store((2, _to_send_back), (3, _back_of_group), (2, _time)),
    about.GIVEN_UP: _store((2, _to_send_back), (3, step("back", "record group", level=one_of(-1, 0), most=one_of(16, 3))), (1, _time)),
    about.NO_RETRY: _store(
        (1, step("group", "group", queues=one_of(0, -1, 1))), (2, _to_send_back), (3, step("back", "group"))
    ),
    about.TOO_LARGE: Selection(
        _of((1, step("send", size=one_of(10, 100, 300, 390, 400, 500)))),
        ClusterSettings(settings={"mapped_file_size_commit_log": 512, "max_message_size": LIMIT}),
    ),
    about.DRAWN: _store((1, step("send", queue=-1, nums=one_of(1, 4, 8))), most=8),
    about.BATCHED: _store((2, _batch), (1, _plain_send), most=8),
    about.REFUSED: _store((1, step("send", queue=one_of(0, 1), properties=one_of({}, {"TAGS": "t"}, {"p": "v" * 32_768}))), most=8),
    about.THROWN: _store(
        (1, _hooks), (1, step("store", state=one_of("full", "good"))), (4, step("send", "one_way", body=one_of(None, "a")))
    ),
    about.FULL: _store((1, step("executor", "full")), (1, step("store", state=one_of("full", "good"))), (3, step("send"))),
    about.BUSY: _store((1, step("store", state=one_of("busy", "good"))), (3, _plain_send), most=8),
    about.UNKNOWN: _store((1, step("unknown", "code one_way", one_way=True)), (1, _plain_send), most=8),
    about.HOOKED: Selection(
        _of((1, _hooks), (3, step("send", properties=one_of(*ORDINARY))), (1, _batch)),
        ClusterSettings(settings=SMALL_FILES, twin=True), most=8,
    ),
    about.BY_NAME: _store(
        (2, step("send", topic=one_of(SCHEDULE, "A"), properties=one_of({}, {"DELAY": "2"}), queue=one_of(0, 2))), (1, _time), most=8
    ),
    about.FAILING: Selection(
        _of((1, _to_send_back), (1, step("fail", "record group level most"))), _LARGE_FILES, most=2, least=0,
        first=(("send", {}), ("fail", {})),
    ),
    about.CRASHED: _store((4, _waiting_send), (2, _delayed), (1, _time), (2, step("crash")), (1, _slow)),
    about.WAITING: Selection(
        _of((5, _waiting_send), (1, _time), (2, _power), (1, _slow)),
        ClusterSettings(settings={**SMALL_FILES, "flush_disk_type": "SYNC_FLUSH"}),
    ),
    about.HASTY: _store((4, _waiting_send), (2, _power)),
    **{
        condition: Selection(_of((2, _waiting_send), (1, step("crash"))), _LARGE_FILES, most=4, first=(*stored, *_END), least=0)
        for condition, stored in _UNREAD.items()
    },
    about.UNCOUNTED: Selection(_of((2, _waiting_send), (1, _half)), _LARGE_FILES, most=4, first=_UNCOUNTED, least=0),
    about.SET_BACK: _store((3, _plain_send), (2, step("clock", "millis")), (1, _time), most=8),
    about.REGISTERED: Selection(_of(*_registered), _STORE, most=12),
    about.MOVED: Selection(
        _of(*_registered), _STORE, most=8, least=0,
        first=(("register", {"broker_id": 1, "address": _MOVING}), ("register", {"address": _MOVING})),
    ),
    about.LOST: Selection(
        _of(
            (3, step("produce", "topic producer")),
            (1, step("lossy", "lossy")),
            (2, step("time", millis=one_of(1000, 7000, 35_000, 70_000))),
        ),
        ClusterSettings(brokers=2, periodic=True, settings=SMALL_FILES),
        most=8,
        first=(("time", {"millis": 1000}),),
    ),
}  # fmt: skip
"""The selection of each condition of the catalogue."""

_filled = step("send", topic="A", body="", size=10, leave=one_of(8, 0, 1, 4, 7, 9, 12, 100))
_short = step("send", topic=one_of("A", "B"), queue=one_of(0, 1), body=one_of("a", "b"))
OTHERS: Final[Mapping[str, Sequence[Phrase]]] = {
    about.TOO_LARGE: _of((1, step("send", topic="A", body="", size=one_of(*FILE_SIZES), queue=one_of(0, 1))), (1, _filled)),
    EDGES: _of(
        (1, step("send", "items", topic=one_of("A", "B"))), (3, step("send", items=one_of(*LONG_ITEMS), queue=one_of(0, 1))), (2, _short)
    ),
    LEFT_OUT: _of(
    (4, step("send", "without most version code", topic=one_of("A", "%RETRY%g"), times=one_of(0, 16))),
        (1, _short),
        (1, step("back", "group named version", level=one_of(0, 1, -1), most=one_of(None, 16))),
    ),
}  # fmt: skip
"""Selections for real brokers: small files, and frequent differences between releases.

Batches with properties of about the maximum length are separate, because of a bug in releases 4.8 to 5.3. There a batch's properties, with
what the broker adds, can be longer than their length field states. Nothing after such a message is dispatched.
"""
