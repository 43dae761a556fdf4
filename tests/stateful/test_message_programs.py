"""Claims about histories: each verdict on the implementation, each check on fabricated histories, and the saved tests."""

import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocketproof_model.result import BOUND, TIME
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.runs.simulated import history_of
from rocketproof_properties.catalogue.history import (
    BrokerRequest,
    History,
    QueueEntry,
    Response,
    Routes,
    StoredExchange,
    TopicEvent,
    WaitedProducer,
)
from rocketproof_properties.catalogue.table import HISTORY_CASES, HISTORY_CLAIMS
from rocketproof_properties.commands import run
from rocketproof_properties.commands.checks.plan import CheckRequest as Asked
from rocketproof_properties.commands.checks.plan import plan
from rocketproof_properties.commands.checks.programs import tasks
from rocketproof_properties.commands.checks.rows import undecided
from rocketproof_properties.conformance.stateful.history import CLAIMS, BrokenClaim, ClaimBroken, as_test, campaign, run_program, save
from rocketproof_properties.programs.selections import LIMIT, SELECTIONS, SMALL_FILES
from rocketproof_properties.programs.settings import ClusterSettings
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.reports.choices import InputError
from rocketproof_protocol import codes
from rocketproof_traces.stored.record import LogRecords, StoredRecord, read_log

FEW = 10  # programs of a case

UNITS: dict[tuple[str, str], dict[str, str]] = {}
for _case in HISTORY_CASES:
    UNITS.setdefault((_case.profile, _case.condition), {})[_case.claim] = _case.expected
for _task in tasks("P494"):
    if _task.kind == "history":
        UNITS.setdefault(("P494", _task.condition), {})[_task.claim] = _task.expected


def _plain(id_: str) -> str:
    return id_.partition(".")[0]


# Verdicts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "condition"),
    [
        pytest.param(*key, id=" ".join(key), marks=pytest.mark.behaviour(*dict.fromkeys(_plain(id_) for id_ in due)))
        for key, due in UNITS.items()
    ],
)
def test_verdicts_on_implementation(profile: str, condition: str) -> None:
    due = UNITS[profile, condition]
    result = campaign(profile, condition, due, programs=FEW, seed=1)
    broken = {id_: (breach.text, breach.steps) for id_, breach in result.breaches.items()}
    assert broken.keys() == {id_ for id_, verdict in due.items() if verdict == "violated"}, broken


def test_every_claim_has_case_and_every_condition_its_programs() -> None:
    assert {case.claim for case in HISTORY_CASES} == {claim.id for claim in HISTORY_CLAIMS}
    assert {case.condition for case in HISTORY_CASES} == SELECTIONS.keys()


@pytest.mark.behaviour("INV-51", "HAZ-30")
def test_programs_under_no_condition_keep_retry_queues() -> None:
    """A send-back to a group without retry queues stores nothing (BACK-05). It has a condition of its own."""
    given = [arguments["queues"] for each in SELECTIONS[""].phrases for name, arguments in each.steps if name == "group"]
    assert given and all(count > 0 for counts in given for count in counts)


def test_profile_without_verdicts_inherits_refined_ones() -> None:
    named = {(task.claim, task.condition): task.expected for task in tasks("P49") if task.kind == "history"}
    derived = {(task.claim, task.condition): task.expected for task in tasks("P494") if task.kind == "history"}
    assert derived == {**named, ("INV-03", "requests with unknown codes"): "unknown"}
    assert {task.source.profile for task in tasks("P494")} == {"P494"}


def test_same_seed_same_programs() -> None:
    first, two = (campaign("P49", "messages with a delay", {"INV-44": "violated"}, programs=5, seed=7) for _ in range(2))
    assert first.breaches == two.breaches and (first.programs, first.steps) == (two.programs, two.steps)


@pytest.mark.behaviour("INV-44", "HAZ-13")
def test_violation_is_shrunk_to_minimum() -> None:
    result = campaign("P49", "messages with a delay", {"INV-44": "violated"}, programs=5, seed=1)
    [(name, args)] = result.breaches["INV-44"].steps
    assert name == "send" and args.keys() == {"properties"} and args["properties"].keys() == {"DELAY"}


# Programs that single rules decide, written down


@pytest.mark.behaviour("INV-34", "INV-35", "INV-36")
@pytest.mark.parametrize("profile", ["P40", "P49"])
def test_queue_offsets_with_records_that_do_not_count(profile: str) -> None:
    steps: list[Step] = [("send", {"sys_flag": flag, "leave": leave}) for leave in (None, 5, 8) for flag in (0, 4, 8, 12, 8, 0, 4)]
    for id_ in ("INV-34.records", "INV-35.records", "INV-36.records"):
        history = run_program(profile=profile, condition="", property=id_, steps=steps)
        assert len(history.exchanges) == len(steps)


@pytest.mark.behaviour("INV-37", "INV-38", "INV-39", "INV-40", "INV-43", "APP-07")
@pytest.mark.parametrize("leave", range(14))
def test_end_of_file(leave: int) -> None:
    steps: list[Step] = [
        ("send", {"size": 1200}),
        ("send", {"size": 1200}),
        ("send", {"leave": leave}),
        ("send", {}),
        ("send", {"size": 1300}),
    ]
    for id_ in ("INV-06.records", "INV-37", "INV-38.records", "INV-39", "INV-40", "INV-43"):
        history = run_program(profile="P49", condition="", property=id_, steps=steps)
        _, blank = history.logs["broker-a"].blanks[0]
        assert blank == leave if leave >= 8 else blank > 1000


@pytest.mark.behaviour("SEND-25", "APP-07")
@pytest.mark.parametrize("profile", ["P40", "P45", "P49", "P494", "P533"])
@pytest.mark.parametrize("properties", [{}, {"WAIT": "true", "TAGS": "t"}, {"täg": "値", "WAIT": "false"}])
def test_remaining_bytes_follow_profile(profile: str, properties: dict[str, str]) -> None:
    """The record's length depends on whether WAIT is stored, and on the properties' length in bytes, not characters."""
    steps: list[Step] = [("send", {"size": 1200}), ("send", {"size": 1200}), ("send", {"properties": properties, "leave": 12})]
    log = run_program(profile=profile, condition="", steps=[*steps, ("send", {})]).logs["broker-a"]
    assert [size for _, size in log.blanks] == [12]


@pytest.mark.behaviour("INV-41")
def test_checksum_without_its_sign_bit() -> None:
    history = run_program(profile="P49", condition="", property="INV-41", steps=[("send", {}), ("send", {"packed": True, "sys_flag": 1})])
    assert history.logs["broker-a"].records[0].body_crc == 1756872259  # the raw one is 3904355907


@pytest.mark.behaviour("LIV-06", "INV-48", "INV-49", "INV-51")
@pytest.mark.parametrize("profile", ["P40", "P45", "P49", "P494"])
def test_message_that_always_fails_is_dead_after_17_deliveries(profile: str) -> None:
    steps: list[Step] = [("send", {}), ("fail", {})]
    for id_ in ("LIV-06", "INV-48", "INV-49", "INV-51", "INV-47"):
        run_program(profile=profile, condition="messages whose consumption always fails", property=id_, steps=steps)
    history = run_program(profile=profile, condition="messages whose consumption always fails", steps=steps)
    log = history.logs["broker-a"]
    seen = [r for r in log.records if r.topic in ("A", "%RETRY%g")]
    dead = [r for r in log.records if r.topic == "%DLQ%g"]
    assert len(seen) == 17 and len(dead) == 1 and dead[0].reconsume_times == 17


HALF = {"TRAN_MSG": "true", "PGROUP": "producers"}
UNCHECKED: list[Step] = [
    ("heartbeat", {"group": "producers"}),
    ("send", {"properties": {**HALF, "p": "v" * 32_650}}),
    ("send", {"properties": HALF}),
    ("question", {}),
]
KNOWN: list[tuple[str, str, str, str, list[Step]]] = [
    ("HAZ-13", "P49", "INV-44", "messages with a delay", [("send", {"properties": {"DELAY": "1"}})]),
    ("HAZ-13", "P45", "INV-44", "half messages", [("send", {"properties": {"TRAN_MSG": "true"}})]),
    ("HAZ-14", "P49", "INV-55", "messages with a delay", [("send", {"properties": {"DELAY": "1"}})]),
    ("HAZ-15", "P49", "INV-44", "retried messages sent at their limit", [("send", {"topic": "%RETRY%g", "times": 16})]),
    ("HAZ-19", "P40", "INV-56", "a send hook", [("hooks", {}), ("send", {})]),
    ("HAZ-22", "P49", "INV-06.records", "records larger than a file", [("send", {"size": 500})]),
    (
        "HAZ-24",
        "P49",
        "INV-01",
        "no body, a send hook and a store that refuses",
        [("hooks", {}), ("store", {"state": "full"}), ("send", {"body": None})],
    ),
    (
        "HAZ-25",
        "P49",
        "INV-01",
        "an executor with no room for what follows a put",
        [("store", {"state": "full"}), ("executor", {}), ("send", {})],
    ),
    ("HAZ-26", "P49", "INV-03", "requests with unknown codes", [("unknown", {})]),
    ("HAZ-30", "P40", "INV-51", "groups without retry queues", [("group", {"queues": 0}), ("send", {}), ("back", {})]),
    ("HAZ-32", "P40", "INV-50", "messages given up when they are sent back", [("send", {}), ("back", {"level": -1})]),
    ("HAZ-39", "P49", "INV-45", "half messages with a delay", [("send", {"properties": {"TRAN_MSG": "true", "DELAY": "2"}})]),
    ("HAZ-61", "P49", "AUX-33.asked", "half messages without room for the count of their checks", UNCHECKED),
    ("HAZ-61", "P45", "AUX-33.asked", "half messages without room for the count of their checks", UNCHECKED),
    ("HAZ-42", "P45", "INV-46", "sends to the schedule topic by its name", [("send", {"topic": "SCHEDULE_TOPIC_XXXX"})]),
]


@pytest.mark.parametrize(
    ("profile", "property", "condition", "steps"),
    [
        pytest.param(profile, id_, condition, steps, id=f"{hazard} {profile} {id_}", marks=pytest.mark.behaviour(hazard, _plain(id_)))
        for hazard, profile, id_, condition, steps in KNOWN
    ],
)
def test_known_problems(profile: str, property: str, condition: str, steps: list[Step]) -> None:
    with pytest.raises(ClaimBroken, match=property):
        run_program(profile=profile, condition=condition, property=property, steps=steps)


# Made-up histories


BROKER = "b"


def _record(at: int = 0, **more: object) -> StoredRecord:
    made = StoredRecord(at, 100, 0, 0, 0, 0, at, 0, 1, ("h", 1), 0, ("127.0.0.1", 10911), 0, b"x" * 8, "T", "", 100)
    return replace(made, **more)  # type: ignore[arg-type]


def _exchange(
    kind: str = "send", code: int | None = 0, *, stored: tuple[int, ...] = (), answers: int = 1, opaque: int = 1, **more: object
) -> StoredExchange:
    asked = replace(BrokerRequest(kind, 1, topic="T", bodies=(b"x" * 8,)), **more)  # type: ignore[arg-type]
    fields = {"msgId": f"7F00000100002A9F{(stored or (0,))[0]:016X}", "queueId": "0", "queueOffset": "0"}
    given = [] if code is None else [Response(code, opaque, None, fields)] * answers
    return StoredExchange(BROKER, asked, 0, given, stored=stored, queues=(4, 4))


def _history(*exchanges: StoredExchange, records: tuple[StoredRecord, ...] = (), file_size: int = 1000, **more: object) -> History:
    log = LogRecords(file_size, max((r.end for r in records), default=0), list(records))
    made = History(list(exchanges), {BROKER: log}, {BROKER: {}}, {BROKER: {}}, {BROKER: {}}, end=10**9)
    return replace(made, **more)  # type: ignore[arg-type]


def _delayed() -> StoredRecord:
    return _record(topic="SCHEDULE_TOPIC_XXXX", queue_id=2, properties_text="DELAY\x013\x02REAL_TOPIC\x01T\x02REAL_QID\x010")


def _back(level: int = 0, *, code: int = 0, stored: tuple[int, ...] = (100,)) -> StoredExchange:
    return _exchange("send_back", code, stored=stored, topic="", group="g", delay_level=level, max_reconsume_times=16)


def _again(**more: object) -> StoredRecord:
    text = "RETRY_TOPIC\x01T\x02ORIGIN_MESSAGE_ID\x01ID"
    return replace(_record(100, topic="%RETRY%g", reconsume_times=1, properties_text=text), **more)  # type: ignore[arg-type]


def _chain(deliveries: int, *, dead: bool) -> History:
    """Build a message that failed at each of `deliveries` deliveries."""
    seen = [_record(100 * n, topic="%RETRY%g" if n else "T", reconsume_times=n) for n in range(deliveries)]
    last = [_record(100 * deliveries, topic="%DLQ%g", reconsume_times=deliveries)] if dead else []
    backs = [replace(_back(stored=(record.at + 100,)), request=replace(_back().request, offset=record.at)) for record in seen]
    return _history(*backs, records=(*seen, *last), file_size=10**6)


def _unburied(deliveries: int) -> History:
    """Omit the failure of the last delivery."""
    history = _chain(deliveries, dead=False)
    history.exchanges.pop()
    return history


GOOD_CRC = 0x7FFFFFFF & zlib.crc32(b"x" * 8)
FITS = _record(total_size=91 + 8 + 1)

SIDES: list[tuple[str, Callable[[], History], Callable[[], History]]] = [
    ("INV-01", lambda: _history(_exchange(code=None, one_way=True)), lambda: _history(_exchange(code=None))),
    ("INV-02", lambda: _history(_exchange()), lambda: _history(_exchange(answers=2))),
    ("INV-03", lambda: _history(_exchange(code=None, one_way=True)), lambda: _history(_exchange(one_way=True))),
    ("INV-04", lambda: _history(_exchange()), lambda: _history(_exchange(opaque=2))),
    ("INV-05", lambda: _history(_exchange(code=1)), lambda: _history(_exchange(code=-1))),
    ("INV-06.records", lambda: _history(_exchange(stored=(0,)), records=(FITS,)), lambda: _history(_exchange(), records=(FITS,))),
    (
        "INV-06.records",
        lambda: _history(_exchange(code=1)),
        lambda: _history(_exchange(stored=(0,)), records=(_record(body=b"other"),)),
    ),
    ("INV-07.records", lambda: _history(_exchange(code=1)), lambda: _history(_exchange(code=1, stored=(0,)), records=(FITS,))),
    ("INV-30.records", lambda: _history(_exchange()), lambda: _history(replace(_exchange(), queues=(0, 0)))),
    (
        "INV-34.records",
        lambda: _history(records=(_record(), _record(100, sys_flag=4), _record(200, queue_offset=1, sys_flag=8))),
        lambda: _history(records=(_record(), _record(100, queue_offset=2))),
    ),
    (
        "INV-35.records",
        lambda: _history(records=(_record(), _record(100, sys_flag=4)), next_offsets={BROKER: {"T-0": 1}}),
        lambda: _history(records=(_record(), _record(100, sys_flag=12, queue_offset=1)), next_offsets={BROKER: {"T-0": 1}}),
    ),
    (
        "INV-35.records",
        lambda: _history(next_offsets={BROKER: {"T-0": 0}}),
        lambda: _history(records=(_record(sys_flag=4),), next_offsets={BROKER: {"T-0": 1}}),
    ),
    (
        "INV-36.records",
        lambda: _history(entries={BROKER: {("T", 0): [QueueEntry(0, 100)]}}, next_offsets={BROKER: {"T-0": 1}}),
        lambda: _history(entries={BROKER: {("T", 0): [QueueEntry(0, 100)]}}, next_offsets={BROKER: {"T-0": 2}}),
    ),
    ("INV-37", lambda: _history(records=(_record(100),)), lambda: _history(records=(_record(100, physical_offset=99),))),
    ("INV-38.records", lambda: _history(records=(_record(892),)), lambda: _history(records=(_record(893),))),
    ("INV-38.records", lambda: _history(records=(_record(900),)), lambda: _history(records=(_record(899),))),
    ("INV-39", lambda: _history(records=(_record(900),)), lambda: _history(records=(_record(901),))),
    ("INV-40", lambda: _history(records=(FITS,)), lambda: _history(records=(replace(FITS, total_size=92),))),
    ("INV-40.limit", lambda: _history(records=(FITS,), max_message_size=100), lambda: _history(records=(FITS,), max_message_size=99)),
    (
        "INV-40.limit",
        lambda: _history(records=(FITS,), max_message_size=8, limits_record=False),
        lambda: _history(records=(FITS,), max_message_size=7, limits_record=False),
    ),
    ("INV-41", lambda: _history(records=(_record(body_crc=GOOD_CRC),)), lambda: _history(records=(_record(body_crc=GOOD_CRC - 2**31),))),
    (
        "INV-42",
        lambda: _history(records=(_record(store_timestamp=5), _record(100, store_timestamp=5))),
        lambda: _history(records=(_record(store_timestamp=5), _record(100, store_timestamp=4))),
    ),
    (
        "INV-43",
        lambda: _history(_exchange(stored=(100,)), records=(_record(100),)),
        lambda: _history(_exchange(stored=(100,)), records=(_record(100, store_host=("127.0.0.2", 10911)),)),
    ),
    (
        "INV-43",
        lambda: _history(_exchange(stored=(0,)), _exchange(stored=(100,)), records=(_record(), _record(100))),
        lambda: _history(_exchange(stored=(0,)), _exchange(stored=(0,)), records=(_record(), _record(100))),
    ),
    (
        "INV-44",
        lambda: _history(_exchange(stored=(0,)), entries={BROKER: {("T", 0): [QueueEntry(0, 100)]}}),
        lambda: _history(_exchange(stored=(0,)), entries={BROKER: {("T", 0): [QueueEntry(100, 100)]}}),
    ),
    (
        "INV-45",
        lambda: _history(_exchange(stored=(0,)), records=(_delayed(),)),
        lambda: _history(_exchange(stored=(0,)), records=(replace(_delayed(), queue_id=3),)),
    ),
    ("INV-45", lambda: _history(records=(_delayed(),)), lambda: _history(records=(replace(_delayed(), properties_text="DELAY\x013"),))),
    (
        "INV-45",
        lambda: _history(_exchange(stored=(0,)), records=(_record(properties_text="DELAY\x010"),)),
        lambda: _history(_exchange(stored=(0,)), records=(_record(properties_text="DELAY\x013"),)),
    ),
    (
        "INV-45",
        lambda: _history(_exchange(stored=(0,), queue_id=-1), records=(_delayed(),)),
        lambda: _history(_exchange(stored=(0,), queue_id=1), records=(_delayed(),)),
    ),
    (
        "INV-45",
        lambda: _history(_exchange(stored=(0,), topic="T"), records=(_delayed(),)),
        lambda: _history(_exchange(stored=(0,), topic="U"), records=(_delayed(),)),
    ),
    (
        "INV-46",
        lambda: _history(_exchange(stored=(0,)), records=(_delayed(),)),
        lambda: _history(_exchange(stored=(0,), topic="SCHEDULE_TOPIC_XXXX"), records=(_delayed(),)),
    ),
    (
        "INV-47",
        lambda: _history(_exchange(stored=(0,), topic="%RETRY%g", reconsume_times=16), records=(_record(topic="%DLQ%g"),)),
        lambda: _history(_exchange(stored=(0,), topic="%RETRY%g", reconsume_times=15), records=(_record(topic="%DLQ%g"),)),
    ),
    (
        "INV-47",
        lambda: _history(_back(-1), records=(_record(), _again(topic="%DLQ%g"))),
        lambda: _history(_back(), records=(_record(), _again(topic="%DLQ%g"))),
    ),
    (
        "INV-48",
        lambda: _history(_back(), records=(_record(), _again())),
        lambda: _history(_back(), records=(_record(), _again(reconsume_times=0))),
    ),
    (
        "INV-48",
        lambda: _history(_back(), records=(_record(reconsume_times=15), _again(reconsume_times=16))),
        lambda: _history(_back(), records=(_record(reconsume_times=16), _again(reconsume_times=17))),
    ),
    (
        "INV-49",
        lambda: _history(_back(), records=(_record(), _again())),
        lambda: _history(_back(), records=(_record(), _again(properties_text="RETRY_TOPIC\x01%RETRY%g"))),
    ),
    (
        "INV-50",
        lambda: _history(_back(), records=(_record(), _again())),
        lambda: _history(_back(), records=(_record(), _again(properties_text="RETRY_TOPIC\x01T"))),
    ),
    ("INV-51", lambda: _history(_back(code=1, stored=())), lambda: _history(_back(stored=()))),
    (
        "INV-54",
        lambda: _history(_exchange(stored=(0,)), counts={BROKER: {"other": 1}}),
        lambda: _history(_exchange(stored=(0,)), counts={BROKER: {"T": 2}}),
    ),
    (
        "INV-55",
        lambda: _history(_exchange(stored=(0,)), counts={BROKER: {"T": 1}}),
        lambda: _history(_exchange(stored=(0,)), counts={BROKER: {"other": 1}}),
    ),
    (
        "INV-56",
        lambda: _history(_exchange(stored=(0,)), records=(_record(properties_text="a"),), twin={0: ("a",)}),
        lambda: _history(_exchange(stored=(0,)), records=(_record(properties_text="a"),), twin={0: ("",)}),
    ),
    (
        "INV-57",
        lambda: _history(records=(_record(properties_text="TAGS\x01WAIT"),)),
        lambda: _history(records=(_record(properties_text="WAIT\x01false"),)),
    ),
    (
        "INV-59.tables",
        lambda: _history(routes=[Routes({"T": ("a", "b")}, {})]),
        lambda: _history(routes=[Routes({"T": ("a", "a")}, {})]),
    ),
    (
        "INV-60",
        lambda: _history(routes=[Routes({}, {"a": {0: "x", 1: "y"}})]),
        lambda: _history(routes=[Routes({}, {"a": {0: "x", 1: "x"}})]),
    ),
    (
        "LIV-01",
        lambda: _history(events=[TopicEvent(0, "created", "T", "a"), TopicEvent(30_000, "routed", "T", "a")]),
        lambda: _history(events=[TopicEvent(0, "created", "T", "a"), TopicEvent(30_001, "routed", "T", "a")]),
    ),
    (
        "LIV-02",
        lambda: _history(
            events=[TopicEvent(0, "used", "T", by="p"), TopicEvent(1000, "routed", "T", "a"), TopicEvent(34_000, "known", "T", "a", "p")]
        ),
        lambda: _history(
            events=[TopicEvent(0, "used", "T", by="p"), TopicEvent(1000, "routed", "T", "a"), TopicEvent(34_001, "known", "T", "a", "p")]
        ),
    ),
    (
        "LIV-02",
        lambda: _history(
            events=[TopicEvent(0, "known", "T", "a", "p"), TopicEvent(1, "used", "T", by="p"), TopicEvent(2, "routed", "T", "a")]
        ),
        lambda: _history(
            events=[
                TopicEvent(0, "known", "T", "a", "p"),
                TopicEvent(0, "forgotten", "T", "a", "p"),
                TopicEvent(1, "used", "T", by="p"),
                TopicEvent(2, "routed", "T", "a"),
            ]
        ),
    ),
    (
        "AUX-33.asked",
        lambda: _history(waited=[WaitedProducer("p", ("T",), True)]),
        lambda: _history(waited=[WaitedProducer("p", ("T",), False)]),
    ),
    (
        "AUX-33.asked",
        lambda: _history(waited=[WaitedProducer("p", (), False)]),
        lambda: _history(waited=[WaitedProducer("p", ("T", "U"), False)]),
    ),
    ("LIV-06", lambda: _chain(17, dead=True), lambda: _chain(18, dead=True)),
    ("LIV-06", lambda: _chain(16, dead=False), lambda: _chain(17, dead=False)),
    ("LIV-06", lambda: _chain(17, dead=True), lambda: _chain(16, dead=True)),
    ("LIV-06", lambda: _chain(5, dead=False), lambda: _unburied(18)),
]


@pytest.mark.parametrize(
    ("id_", "good", "bad"),
    [pytest.param(*side, id=f"{side[0]}-{n}", marks=pytest.mark.behaviour(_plain(side[0]))) for n, side in enumerate(SIDES)],
)
def test_check_distinguishes_its_two_sides(id_: str, good: Callable[[], History], bad: Callable[[], History]) -> None:
    check = CLAIMS[id_].check
    assert check(good()) is None
    assert check(bad())


def test_every_check_is_tried_on_both_sides() -> None:
    assert {side[0] for side in SIDES} == CLAIMS.keys()


# Reading a log


def _written(profile: str = "P49") -> tuple[bytes, LogRecords]:
    from rocketproof_impl.simulator.cluster import Cluster
    from rocketproof_profiles import PROFILES
    from rocketproof_properties.brokers.runs.simulated import SimulatedRun
    from rocketproof_properties.programs.settings import ClusterSettings

    made = SimulatedRun(PROFILES[profile], ClusterSettings(settings={"mapped_file_size_commit_log": 512}))
    for size in (10, 300, 200):
        made.step(("send", {"size": size, "properties": {"TAGS": "t"}}))
    cluster: Cluster = made.cluster
    files = cluster.broker().store.commit_log.files.files
    return b"".join(f.region.read(0, 512) for f in files), made.history().logs["broker-a"]


@pytest.mark.behaviour("APP-06", "INV-40")
def test_under_body_limit_longer_record_is_no_violation() -> None:
    steps: list[Step] = [("send", {"size": LIMIT})]
    found = history_of(PROFILES["P494"], ClusterSettings(settings=SMALL_FILES), steps)
    assert [len(record.body) for record in found.logs["broker-a"].records] == [LIMIT]
    assert CLAIMS["INV-40.limit"].check(found) is None
    assert CLAIMS["INV-40.limit"].check(replace(found, limits_record=True))
    assert history_of(PROFILES["P49"], ClusterSettings(settings=SMALL_FILES), steps).exchanges[0].code == codes.MESSAGE_ILLEGAL


@pytest.mark.behaviour("APP-08", "INV-37", "INV-40")
def test_log_is_read_from_its_bytes() -> None:
    _, log = _written()
    assert log.damage is None and len(log.records) == 3 and len(log.blanks) == 2
    first = log.records[0]
    assert (first.at, first.topic, first.body, first.queue_offset) == (0, "A", b"a" + b"x" * 9, 0)
    assert first.store_host == ("127.0.0.1", 10911) and first.born_host == ("127.0.0.1", 50_000)
    assert first.properties == {"TAGS": "t", "CLUSTER": "DefaultCluster"}


@pytest.mark.parametrize(("place", "reason"), [(3, "LENGTHS"), (4, "MAGIC"), (84, "LENGTHS")], ids=["size", "magic", "body length"])
def test_damage_is_reported_with_location(place: int, reason: str) -> None:
    data, log = _written()
    spoilt = bytearray(data)
    spoilt[log.records[1].at + place] ^= 0x11
    found = read_log(bytes(spoilt), 512, log.end)
    assert found.damage is not None and (found.damage.reason.name, found.damage.at) == (reason, log.records[1].at)
    assert CLAIMS["INV-37"].check(History(logs={"b": found})) and CLAIMS["INV-40"].check(History(logs={"b": found}))


def test_blank_has_to_end_its_file() -> None:
    data, log = _written()
    at, size = log.blanks[0]
    spoilt = data[:at] + (size - 1).to_bytes(4, "big") + data[at + 4 :]
    found = read_log(spoilt, 512, log.end)
    assert found.damage is not None and found.damage.reason.name == "BLANK"


# Saved findings, and the output of the command


BREACH = BrokenClaim(CLAIMS["INV-44"], 'said """so"""', (("send", {"properties": {"DELAY": "3"}}),))


def _run(text: str) -> None:
    space: dict[str, object] = {}
    exec(compile(text, "kept", "exec"), space)
    [test] = [value for name, value in space.items() if name.startswith("test_")]
    assert callable(test)
    test()


def test_known_violation_is_kept_as_test_that_passes(tmp_path: Path) -> None:
    path = save(str(tmp_path / "kept" / "one.py"), "P49", "messages with a delay", BREACH, "violated")
    assert path is not None
    _run(Path(path).read_text(encoding="utf-8"))
    assert save(path, "P49", "messages with a delay", None, "violated") is None
    assert not Path(path).exists()


def test_unknown_violation_is_kept_as_test_that_fails() -> None:
    with pytest.raises(ClaimBroken, match="INV-44 is violated"):
        _run(as_test("P49", "messages with a delay", BREACH, "unknown"))


def test_wrong_names_are_one_line() -> None:
    with pytest.raises(InputError, match="condition"):
        run_program(profile="P49", condition="nonsense", steps=[])
    with pytest.raises(InputError, match="property"):
        run_program(profile="P49", condition="", property="INV-99", steps=[])


def test_known_violation_that_is_not_shown_any_more_differs() -> None:
    [task] = plan(Asked(properties=("INV-45",), profiles=("P49",), condition="half messages with a delay")).tasks
    assert undecided(task, BOUND).agrees is False
    assert undecided(task, TIME).agrees is None
    assert undecided(replace(task, expected="unknown"), BOUND).agrees is True


@pytest.mark.behaviour("INV-45", "HAZ-39")
def test_check_shows_row_for_each_condition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    code = run(["check", "--property", "INV-45", "--profile", "P49", "--condition", "half", "--workers", "1"])
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert "half messages with a delay" in shown and "violated" in shown and "rocketproof show .rocketproof" in shown


def test_cases_are_planned_only_where_they_are_wished() -> None:
    assert not [task for task in plan(Asked()).tasks if task.kind == "history"]
    assert {task.kind for task in plan(Asked(properties=("INV-46",))).tasks} == {"history"}
    stateful = plan(Asked(engine="stateful", profiles=("P49",))).tasks
    assert {task.claim for task in stateful if task.kind == "history"} == CLAIMS.keys()
    assert {task.expected for task in stateful if task.kind == "history"} == {"unknown", "violated"}
    with pytest.raises(InputError, match="stateful"):
        plan(Asked(engine="explicit", properties=("INV-46",)))
    with pytest.raises(InputError, match="scope"):
        plan(Asked(scope="tiny", properties=("INV-46",)))
