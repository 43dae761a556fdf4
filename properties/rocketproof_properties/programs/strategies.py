"""The programs of each condition: Hypothesis strategies of steps, and the cluster that they run on.

Each condition avoids steps that would break its claims for another reason. It makes its own subject frequent, because every run must find
the known violations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from rocketproof_protocol.topics import SCHEDULE

from ..catalogue import conditions as about
from .draws import Steps, mixed, step, weighted
from .settings import ClusterSettings
from .vocabulary import Step

FILE, LIMIT = 4096, 1500
SMALL_FILES = {"mapped_file_size_commit_log": FILE, "max_message_size": LIMIT}
NAMES = ("A", "B", "topic-with-a-longer-name", "%RETRY%g", "%RETRY%h")
ODD_NAMES = ("%DLQ%g", "TBW102", SCHEDULE, "RMQ_SYS_TRANS_HALF_TOPIC", "", " ", "a b", "täg", "x" * 127, "x" * 128, "%RETRY%" + "g" * 121)
_WAITS: Sequence[Mapping[str, str]] = ({}, {"WAIT": "true"}, {"WAIT": "false"}, {"WAIT": "TRUE", "TAGS": "t"}, {"WAIT": "", "KEYS": "k"})
_TEXTS = (
    {"TAGS": "t"},
    {"KEYS": "a b", "UNIQ_KEY": "0A"},
    {"täg": "値"},
    {"a": ""},
    {"": "a"},
    {"CLUSTER": "mine"},
    {"a": "b\x01c"},
    {"long": "v" * 700},
)
_LEVELS = tuple({"DELAY": level} for level in ("1", "3", "17", "18", "19", "99"))
_NO_LEVELS = tuple({"DELAY": level} for level in ("0", "-1", "x", "", "2147483648"))
_HALVES = ({"TRAN_MSG": "true", "PGROUP": "producers"}, {"TRAN_MSG": "TRUE", "PGROUP": "producers", "WAIT": "true"})
_NO_HALVES = ({"TRAN_MSG": "false"}, {"TRAN_MSG": ""}, {"TRAN_MSG": "1", "WAIT": "false"})
_LATER = (0, 500, 1000, 5000, 10_000, 60_000, 7_200_000)


@dataclass(frozen=True)
class ProgramStrategy:
    """The programs of a condition: the steps `first`, then at most `most` drawn ones."""

    steps: Steps
    setting: ClusterSettings
    most: int = 15
    first: tuple[Step, ...] = ()


_NUMBERS = {"nums": (4, 4, 4, 1, 0, -1, 16), "queue": (0, 0, 1, 3, 7, -1, -5)}
_BODIES = {"body": ("a", "", "b", "täg", "message"), "size": (0, 0, 40, 200, 700, 1300, 1400, 2000)}
_CALLERS = {"one_way": (False, False, False, True), "version": (399, 121, 120), "code": (310, 310, 10)}
_ANY_MAP = mixed(({}, *_WAITS), ({}, {}, *_TEXTS, *_LEVELS, *_NO_LEVELS, *_HALVES, *_NO_HALVES))

_any_send = step(
    "send",
    topic=(*NAMES, *NAMES, *NAMES, *ODD_NAMES),
    properties=_ANY_MAP,
    sys_flag=(0, 0, 0, 1, 2, 4, 8, 12),
    flag=(0, -7),
    times=(0, 0, 1, 15, 16, 17),
    unit=(False, True),
    most=(16, 16, 3, 0),
    broker=(0, 0, 1),
    **_NUMBERS,
    **_BODIES,
    **_CALLERS,
)
_plain_send = step(
    "send", topic=("A", "B", "C"), properties=mixed(_WAITS), nums=(4, 1, 2), queue=(0, 0, 1, -1), **_BODIES, one_way=(False, True)
)
_one_queue = step("send", topic=("A",), sys_flag=(0, 4, 8, 12, 1, 9), body=("a", "b", "value"), packed=(False, True))
_fill = step("send", topic=("A", "B"), leave=st.integers(0, 16))
_batch = step(
    "send",
    topic=(*NAMES, "%DLQ%g"),
    items=st.lists(st.tuples(st.sampled_from(("a", "bb", "x" * 300)), st.sampled_from(({}, {"TAGS": "t"}, {"DELAY": "3"}))), max_size=4),
    properties=({}, {"TAGS": "u"}, {"DELAY": "2"}, {"WAIT": "false"}),
    sys_flag=(0, 0, 0, 4),
    **_NUMBERS,
    one_way=(False, True),
)
_back = step(
    "back",
    record=st.integers(0, 30),
    group=("g", "h"),
    level=(0, 0, 1, 3, 30, -1),
    most=(16, 16, 1, 0),
    version=(399, 120),
    unit=(False, True),
)
_lost_back = step("back", offset=(-1, 10**9))
_end = step("end", record=st.integers(0, 9), commit=(True, True, False))
_time = step("time", millis=_LATER)
_administration = st.one_of(
    step("topic", topic=("A", "B", "%RETRY%g"), read=(4, 8, 0), write=(4, 2, 8), perm=(6, 7, 4, 2)),
    step("group", group=("g", "h"), queues=(1, 2, 4), retries=(16, 2, 0)),
    step(
        "configure",
        line=(
            "brokerPermission=4",
            "brokerPermission=6",
            "autoCreateTopicEnable=false",
            "autoCreateTopicEnable=true",
            "rejectTransactionMessage=true",
            "rejectTransactionMessage=false",
            "traceOn=false",
        ),
    ),
)
_hooks = step("hooks", send=(True, False), consume=(True, False))
_trouble = st.one_of(
    step("flush", stuck=(True, False)),
    step("replica", state=("none", "slow", "quick")),
    step("store", state=("full", "good", "good", "good")),
    step("disk", full=(True, False)),
)
_anything = weighted(
    (8, _any_send),
    (3, _plain_send),
    (4, _one_queue),
    (4, _fill),
    (2, _batch),
    (5, _back),
    (1, _lost_back),
    (2, _end),
    (2, _time),
    (1, _administration),
    (1, _hooks),
    (1, _trouble),
)
_delayed = step(
    "send",
    topic=("A", "B"),
    properties=mixed(_WAITS, (*_LEVELS, *_LEVELS, *_NO_LEVELS)),
    queue=(0, 1, 3),
    sys_flag=(0, 8),
    body=("a", "b"),
)
_half = step("send", topic=("A", "B"), properties=mixed(_WAITS, _HALVES), queue=(0, 1, 3), sys_flag=(0, 4), body=("a", "b"))
_to_send_back = step("send", topic=("A", "B"), properties=({}, {"TAGS": "t"}), queue=(0, 1), body=("a", "b"))
_registered = st.one_of(
    step(
        "register",
        name=("broker-x", "broker-y"),
        broker_id=(0, 0, 0, 1, 2),
        address=("10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"),
        topics=({}, {"A": (4, 4, 6)}, {"A": (8, 8, 6), "B": (4, 4, 6)}, {"B": (2, 2, 4)}),
        version=(1, 2, 3),
    ),
    step("unregister", name=("broker-x", "broker-y"), broker_id=(0, 1), address=("10.0.0.1:1", "10.0.0.2:1")),
    step("lose", address=("10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1")),
)
_MOVING = "10.0.0.4:1"
_waiting_send = step("send", topic=("A", "B"), properties=({}, {"TAGS": "t"}), queue=(0, 1, 3), body=("a", "b"), size=(0, 0, 200))
_power = step("crash", power=(True,), seed=st.integers(0, 99))
_slow = step("faults", name=(None, "slow disk", "slow network", "bad network", "cut from the name server"), seed=(0, 1))
_GROUP = {"group": ("g", "h"), "most": (16, 3)}

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
    ("send", {"properties": {**_HALVES[0], "p": "v" * 32_600}}),
    ("send", {"properties": _HALVES[0]}),
    ("question", {}),
)
"""A half message with properties so long that the count of its checks does not fit."""
_END: tuple[Step, ...] = (("send", {"topic": "B"}), ("crash", {}))

PROGRAMS: Mapping[str, ProgramStrategy] = {
    about.ANYTHING: ProgramStrategy(_anything, _STORE, most=20),
    about.PLAIN: ProgramStrategy(weighted((5, _plain_send), (2, _fill), (1, _time)), _STORE),
    about.SENT: ProgramStrategy(
        weighted((6, _any_send), (3, _plain_send), (2, _batch), (2, _fill), (1, _end), (1, _time), (1, _trouble)),
        ClusterSettings(brokers=2, settings=SMALL_FILES),
    ),
    about.DELAYED: ProgramStrategy(weighted((5, _delayed), (1, _plain_send), (1, _time)), _STORE),
    about.HALF_ONES: ProgramStrategy(weighted((4, _half), (1, _plain_send), (1, _time)), _STORE),
    about.HALF_DELAYED: ProgramStrategy(
        weighted((4, step("send", topic=("A", "B"), properties=mixed(_HALVES, _LEVELS), queue=(0, 1))), (1, _time)), _STORE, most=5
    ),
    about.AT_LIMIT: ProgramStrategy(step("send", topic=("%RETRY%g", "%RETRY%h"), times=(0, 15, 16, 17), queue=(0, 1, 3)), _STORE),
    about.SENT_BACK: ProgramStrategy(
        weighted((2, _to_send_back), (3, step("back", record=st.integers(0, 9), level=(0, 1, 18), **_GROUP)), (2, _time)), _STORE
    ),
    about.GIVEN_UP: ProgramStrategy(
        weighted((2, _to_send_back), (3, step("back", record=st.integers(0, 9), level=(-1, -1, 0), **_GROUP)), (1, _time)), _STORE
    ),
    about.NO_RETRY: ProgramStrategy(
        weighted((1, step("group", group=("g", "h"), queues=(0, -1, 1))), (2, _to_send_back), (3, step("back", group=("g", "h")))),
        _STORE,
    ),
    about.TOO_LARGE: ProgramStrategy(
        step("send", size=(10, 100, 300, 390, 400, 500)),
        ClusterSettings(settings={"mapped_file_size_commit_log": 512, "max_message_size": LIMIT}),
    ),
    about.DRAWN: ProgramStrategy(step("send", queue=(-1,), nums=(1, 4, 8)), _STORE, most=8),
    about.BATCHED: ProgramStrategy(weighted((2, _batch), (1, _plain_send)), _STORE, most=8),
    about.REFUSED: ProgramStrategy(step("send", queue=(0, 0, 1), properties=({}, {"TAGS": "t"}, {"p": "v" * 32_768})), _STORE, most=8),
    about.THROWN: ProgramStrategy(
        weighted((1, _hooks), (1, step("store", state=("full", "good"))), (4, step("send", body=(None, None, "a"), one_way=(False, True)))),
        _STORE,
    ),
    about.FULL: ProgramStrategy(
        weighted((1, step("executor", full=(True, False))), (1, step("store", state=("full", "good"))), (3, step("send", body=("a",)))),
        _STORE,
    ),
    about.BUSY: ProgramStrategy(weighted((1, step("store", state=("busy", "good"))), (3, _plain_send)), _STORE, most=8),
    about.UNKNOWN: ProgramStrategy(st.one_of(step("unknown", code=(9999, 38), one_way=(True, False)), _plain_send), _STORE, most=8),
    about.HOOKED: ProgramStrategy(
        weighted((1, _hooks), (3, step("send", properties=mixed(_WAITS, ({}, *_TEXTS)), body=("a",))), (1, _batch)),
        ClusterSettings(settings=SMALL_FILES, twin=True),
        most=8,
    ),
    about.BY_NAME: ProgramStrategy(
        weighted((2, step("send", topic=(SCHEDULE, "A"), properties=mixed(({}, {"DELAY": "2"})), queue=(0, 2))), (1, _time)),
        _STORE,
        most=8,
    ),
    about.FAILING: ProgramStrategy(
        weighted(
            (1, _to_send_back), (1, step("fail", record=st.integers(0, 9), group=("g", "h"), level=(0, 0, 0, 1, 18), most=(16, 16, 3)))
        ),
        _LARGE_FILES,
        most=2,
        first=(("send", {}), ("fail", {})),
    ),
    about.CRASHED: ProgramStrategy(weighted((4, _waiting_send), (2, _delayed), (1, _time), (2, step("crash")), (1, _slow)), _STORE),
    about.WAITING: ProgramStrategy(
        weighted((5, _waiting_send), (1, _time), (2, _power), (1, _slow)),
        ClusterSettings(settings={**SMALL_FILES, "flush_disk_type": "SYNC_FLUSH"}),
    ),
    about.HASTY: ProgramStrategy(weighted((4, _waiting_send), (2, _power)), _STORE),
    **{
        condition: ProgramStrategy(weighted((2, _waiting_send), (1, step("crash"))), _LARGE_FILES, most=4, first=(*stored, *_END))
        for condition, stored in _UNREAD.items()
    },
    about.UNCOUNTED: ProgramStrategy(weighted((2, _waiting_send), (1, _half)), _LARGE_FILES, most=4, first=_UNCOUNTED),
    about.SET_BACK: ProgramStrategy(
        weighted((3, _plain_send), (2, step("clock", millis=(-3_600_000, -1, 60_000))), (1, _time)), _STORE, most=8
    ),
    about.REGISTERED: ProgramStrategy(_registered, _STORE, most=12),
    about.MOVED: ProgramStrategy(
        _registered, _STORE, most=8, first=(("register", {"broker_id": 1, "address": _MOVING}), ("register", {"address": _MOVING}))
    ),
    about.LOST: ProgramStrategy(
        weighted(
            (3, step("produce", topic=("A", "B"), producer=(0, 1))),
            (1, step("lossy", lossy=(True, True, False))),
            (2, step("time", millis=(1000, 7000, 35_000, 70_000))),
        ),
        ClusterSettings(brokers=2, periodic=True, settings=SMALL_FILES),
        most=8,
        first=(("time", {"millis": 1000}),),
    ),
}
