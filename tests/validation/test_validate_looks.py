"""Queries at the end of a program: wrong bytes, ids, tags, groups and queues are found, and the finding names the field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proportion import few
from rocketproof_impl.remoting.command import Command
from rocketproof_lab.mutation.generated.target import Forked
from rocketproof_lab.mutation.patch import Patch, Text, prepare
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.queries import response_data as said_of
from rocketproof_properties.brokers.runs.readback import Reader
from rocketproof_properties.brokers.runs.recording import HistoryRecorder
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging import restarts
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.verdicts import JudgedProgram, ProgramFinding
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation.restarts import Late, in_time, restart_each, restart_name_server
from rocketproof_properties.validation.states import StateReport

PROFILE = "P494"
SEND = ("send", {"topic": "A", "body": "hello", "properties": {"TAGS": "t", "KEYS": "k"}})
KEYED = ("send", {"topic": "A", "properties": {"KEYS": "k l", "UNIQ_KEY": "0A"}})
HALF = ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}})
BATCH = ("send", {"topic": "A", "items": [("a", {}), ("b", {})]})
PREFIX = "r0a0a0a-"


@contextmanager
def changed(*patch: Text) -> Iterator[Deployment]:
    target = Forked(PROFILE, prepare(patch) if patch else None)
    try:
        yield target.open()
    finally:
        target.end()


def performed(running: Deployment, folder: Path, *steps: Step, prefix: str = PREFIX) -> list[ProgramFinding]:
    (folder / prefix).mkdir()
    runner = Runner(running, folder / prefix, {"profile": PROFILE}, Bounds(1), prefix, clean=True)
    try:
        return judge_file(runner.perform(Program(1, "plain messages", steps)), PROFILE).findings
    finally:
        runner.close()


RECORD = "rocketproof_impl.store.record"
INSPECTION = "rocketproof_impl.broker.inspection:InspectionProcessor"
FAULTS: dict[str, tuple[Patch, tuple[Step, ...], str]] = {
    "time of birth": (
        [
            Text(
                "rocketproof_impl.broker.sending:fill",
                "message.born_timestamp = header.born_timestamp",
                "message.born_timestamp = header.born_timestamp + 1",
            )
        ],
        (SEND,),
        "record.bornTimestamp",
    ),
    "a batch's second id": (
        [Text("rocketproof_impl.store.commitlog:CommitLog._append_batch", "ids.append(", "ids.append(ids[-1] if ids else ")],
        (BATCH,),
        "record.",
    ),
    "the last separator": (
        [Text("rocketproof_impl.message:properties_text", "if trailing and properties", "if not trailing and properties")],
        (SEND,),
        "record.propertiesText",
    ),
    "tags in a queue": (
        [Text("rocketproof_impl.store.consumequeue:tags_code", "return string_hash(", "return 1 + string_hash(")],
        (SEND,),
        "pull.",
    ),
    "a group's limit": (
        [Text("rocketproof_impl.broker.groups:group_to_data", '"retryMaxTimes": config.retry_max_times', '"retryMaxTimes": 16')],
        (("group", {"group": "g", "retries": 3}),),
        "group.retryMaxTimes",
    ),
    "a question that changes something": (
        [Text(f"{INSPECTION}._get_min_offset", "header = read", "self._broker.topics.table.popitem()\nheader = read")],
        (SEND,),
        "stats.code",
    ),
    "the earlier message for a time between two": (
        [Text("rocketproof_impl.store.bytime:_nearest", "key=itemgetter(0)", "key=itemgetter(1)")],
        (SEND, ("time", {"millis": 300}), SEND),
        "search.offset",
    ),
    "another message of a time": (
        [Text("rocketproof_impl.store.bytime:_nearest", "if stored == time:", "if False:")],
        (BATCH,),
        "search.offset",
    ),
    "another answer each time": (
        [
            Text(
                f"{INSPECTION}._get_min_offset",
                "str(self._broker.store.min_offset",
                "str(self._broker.clock.now() + self._broker.store.min_offset",
            )
        ],
        (SEND,),
        "min_offset.",
    ),
    "a topic that cannot be deleted": (
        [Text("rocketproof_impl.broker.topics:TopicConfigManager.delete", "self.table.pop(", "self.table.get(")],
        (SEND,),
        "max_offset.offset",
    ),
    "a place that a pull does not note": (
        [Text("rocketproof_impl.broker.pull:PullMessageProcessor._answer", "header.sys_flag & PULL_COMMITS_OFFSET", "header.queue_id < 0")],
        (SEND,),
        "progress.offset",
    ),
    "a consumer that cannot leave": (
        [
            Text(
                "rocketproof_impl.broker.heartbeat:ClientManageProcessor._unregister_client",
                "if header.consumer_group is not None",
                "if False",
            )
        ],
        (SEND,),
        "pull.code",
    ),
    "a queue that outlives its topic": (
        [
            Text(
                "rocketproof_impl.broker.admin:AdminBrokerProcessor._delete_topic",
                "self._broker.store.clean_unused_topics(self._broker.topics.table)",
                "pass",
            )
        ],
        (SEND,),
        "max_offset.offset",
    ),
    "an index without unique keys": (
        [Text("rocketproof_impl.store.index:keys_of", "if unique is not None", "if False")],
        (KEYED,),
        "find.records",
    ),
    "a key that hides the others": (
        [Text("rocketproof_impl.store.indexfile:MappedIndexFile.put", "previous = self._valid(", "previous = 0 * self._valid(")],
        (KEYED, KEYED),
        "find.records",
    ),
    "the oldest records of a key": (
        [Text("rocketproof_impl.store.index:IndexService.query", "offsets.append(offset)", "offsets[:] = [offset]")],
        (KEYED, KEYED),
        "find.records",
    ),
    "records of a key at any time": (
        [
            Text("rocketproof_impl.store.index:IndexService.query", "file.touches(begin, end)", "True"),
            Text("rocketproof_impl.store.indexfile:MappedIndexFile.find", "begin <= time <= end", "True"),
        ],
        (KEYED,),
        "find.records",
    ),
    "an index that ends too early": (
        [Text("rocketproof_impl.store.index:IndexService.reaches", "last.end_physical_offset", "last.begin_physical_offset - 1")],
        (KEYED,),
        "find.indexLastUpdatePhyoffset",
    ),
    "a topic of the broker's own": (
        [Text("rocketproof_impl.broker.topics:system_topics", "TopicConfig(BENCHMARK_TOPIC, 1024, 1024)", "TopicConfig(BENCHMARK_TOPIC)")],
        (SEND,),
        "topic.readQueueNums",
    ),
    "a topic that the broker lacks": (
        [Text("rocketproof_impl.broker.topics:system_topics", "configs.append(TopicConfig(OFFSET_MOVED_TOPIC, 1, 1))", "pass")],
        (SEND,),
        "topic.the broker's entry",
    ),
    "a note of an end": (
        [Text("rocketproof_impl.broker.transaction:operation_record", '{WAIT: "true"', '{WAIT: "false"')],
        (HALF, ("end", {})),
        "record.property WAIT",
    ),
    "a pull that is not held as long as it may": (
        [Text("rocketproof_impl.broker.hold:PullRequestHoldService.arriving", "now >= pull.until", "True")],
        (SEND, ("pull", {"topic": "A", "offset": 1, "hold": 6000})),
        "pull.waits",
    ),
    "attributes of topics": (
        [Text("rocketproof_impl.broker.topics:system_topics", "if profile.topic_attributes", "if True")],
        (SEND,),
        "topic.attributes",
    ),
    "attributes of a topic that was made": (
        [
            Text(
                "rocketproof_impl.broker.topics:TopicConfigManager._put",
                "if self._profile.topic_attributes and config.attributes is None",
                "if config.attributes is None",
            )
        ],
        (SEND,),
        "topic.attributes",
    ),
    "a batch that is no error": (
        [Text("rocketproof_impl.store.commitlog:_misread", "{size} > {size - missing}", "{size - missing} > {size}")],
        (("send", {"items": [("a", {})], "sys_flag": 16}),),
        "batch.remark",
    ),
    "a broker's address": (
        [Text("rocketproof_impl.broker.settings:BrokerSettings.address", "self.listen_port", "self.listen_port + 1")],
        (SEND, ("route", {"topic": "A"})),
        "route.address",
    ),
}


@pytest.mark.parametrize("fault", few(FAULTS, 8))
def test_planted_fault_is_found_by_its_field(fault: str, tmp_path: Path) -> None:
    patch, steps, property_ = FAULTS[fault]
    with changed(*patch) as running:
        found = performed(running, tmp_path, *steps)
    assert any(finding.property.startswith(property_) for finding in found), [str(finding) for finding in found]


def test_without_fault_nothing_is_found(tmp_path: Path) -> None:
    with changed() as running:
        assert performed(running, tmp_path, SEND, BATCH, ("group", {"group": "g"})) == []
        asked = (KEYED, KEYED, ("find", {"key": "l", "most": 1}), ("find", {"key": "k", "end": 1}), ("route", {"topic": "A"}))
        assert performed(running, tmp_path, *asked, prefix="r0b0b0b-") == []


def test_half_message_of_transaction_is_known_but_client_flag_not(tmp_path: Path) -> None:
    """The second program's offsets differ between the target and the reference, where the first message is at 0."""
    half = ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}})
    with changed() as running:
        assert performed(running, tmp_path, SEND) == []
        assert performed(running, tmp_path, ("send", {"topic": "A", "sys_flag": 9}), prefix="r0b0b0b-") == []
        assert (
            performed(running, tmp_path, half, ("end", {"commit": True}), ("send", {"topic": "A", "sys_flag": 8}), prefix="r0c0c0c-") == []
        )


def test_dead_letter_belongs_to_send_back_with_retry_queues(tmp_path: Path) -> None:
    """Two send-backs of one message succeed; the first stores nothing, because its group retries nothing."""
    given_up = ("back", {"level": -1})
    with changed() as running:
        steps = (("group", {"queues": 0}), SEND, ("back", {}), ("group", {"queues": 1}), given_up)
        assert performed(running, tmp_path, *steps) == []
        steps = (("group", {"queues": 0}), ("delete_group", {}), SEND, ("back", {}), given_up)
        assert performed(running, tmp_path, *steps, prefix="r0b0b0b-") == []


# Starts


LOST: dict[str, tuple[Patch, str]] = {
    "topics that are not persisted": (
        [Text("rocketproof_impl.broker.topics:TopicConfigManager.persist", "persistence.persist(", "(lambda *a, **k: None)(")],
        "restart.topics",
    ),
    "groups that are not persisted": (
        [Text("rocketproof_impl.broker.groups:SubscriptionGroupManager.persist", "persistence.persist(", "(lambda *a, **k: None)(")],
        "restart.groups",
    ),
    "progress that is not persisted": (
        [Text("rocketproof_impl.broker.offsets:ConsumerOffsetManager.persist", "persistence.persist(", "(lambda *a, **k: None)(")],
        "restart.progress",
    ),
    "an index that is not read": (
        [Text("rocketproof_impl.store.indexfile:MappedIndexFile.load", "self.region.read(0, HEADER_SIZE)", "bytes(HEADER_SIZE)")],
        "restart.keys",
    ),
    "none": ([], ""),
}


@pytest.mark.nightly
@pytest.mark.parametrize("fault", LOST)
def test_data_lost_by_restart_is_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, property_ = LOST[fault]
    monkeypatch.setattr("rocketproof_properties.validation.restarts.STARTED", 3.0)  # the full timeout is spent on missing messages
    with changed(*patch) as running:
        runner = Runner(running, tmp_path, {"profile": PROFILE}, Bounds(1), PREFIX)
        runner.perform(Program(1, "plain messages", (SEND, KEYED, ("group", {"group": "g", "retries": 3}))))
        runner.close()
        written = StateReport(tmp_path, 0, "", {"prefix": PREFIX}, PROFILE)
        (judged,) = restart_each(running, restarts.STOPPED, [], ProgramNames(PREFIX, 0), written)
        (again,) = restart_each(running, restarts.KILLED, [], ProgramNames(PREFIX, 0), written)
    found = {finding.property for finding in judged.findings}
    assert property_ in found if property_ else not found and not again.findings
    assert judged.path.exists() and "restart.topics" in judged.exercised | {property_}


REGISTRATION = "rocketproof_impl.broker.registration:Registration"
UNTOLD: dict[str, tuple[Patch, bool, bool]] = {
    "brokers that register once": (
        [Text(f"{REGISTRATION}.register_periodically", "await self.register_all(True, False, True)", "pass")], True, False,
    ),
    "brokers that tell one name server": (
        [Text(f"{REGISTRATION}._call_all", "in self._settings.name_servers:", "in self._settings.name_servers[:1]:")], False, True,
    ),
    "none": ([], False, False),
}  # fmt: skip
"""A fault, and whether it shows when the name server is started again, and when a broker has two."""


@pytest.mark.nightly
@pytest.mark.parametrize("fault", UNTOLD)
@pytest.mark.behaviour("NS-10")
def test_data_missing_at_name_server_is_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch, *shows = UNTOLD[fault]
    monkeypatch.setattr("rocketproof_properties.validation.restarts.STARTED", 3.0)  # the full timeout is spent on missing messages
    monkeypatch.setattr("rocketproof_properties.validation.restarts.REGISTERED", 20.0)  # the first time is 10 s after the start
    target = Forked(PROFILE, prepare(patch) if patch else None)
    try:
        running, other = target.open(), target.open(Setup(brokers=0))
        runner = Runner(running, tmp_path, {"profile": PROFILE}, Bounds(1), PREFIX)
        runner.perform(Program(1, "plain messages", (SEND,)))
        runner.close()
        written = StateReport(tmp_path, 0, "", {"prefix": PREFIX}, PROFILE)
        (again,) = restart_name_server(running, ProgramNames(PREFIX, 0), written)
        servers = [str(deployment.name_server) for deployment in (running, other)]
        (further,) = restart_each(running, restarts.STOPPED, [], ProgramNames(PREFIX, 0), written, servers)
    finally:
        target.end()
    for judged, shown in zip((again, further), shows, strict=True):
        assert {finding.property for finding in judged.findings} == ({restarts.ROUTES} if shown else set())
        assert restarts.ROUTES in judged.exercised
    assert set(again.claims) == {restarts.ROUTES}
    assert len(load(further.path).states[restarts.STATE]["after"]["others"]) == 1


def judged_restart(
    folder: Path, before: restarts.View, after: restarts.View, profile: str = PROFILE, how: str = restarts.STOPPED
) -> JudgedProgram:
    """Judge a restart with these queries before and after it."""
    path = folder / "1.ndjson"
    recording = HistoryRecorder(path, {"program": Program(0, restarts.SOURCE, ()).data(), "prefix": PREFIX})
    recording.add("state", "b", restarts.STATE, {"how": how, "before": before, "after": after})
    recording.close()
    return restarts.judge(load(path), path, profile)


VIEW = {"topics": {}, "groups": {}, "progress": {}, "queues": {}, "records": {}, "routes": None, "delayed": []}


@pytest.mark.parametrize(
    ("before", "after", "killed", "said"),
    [
        ({"queues": {"q": [0, 2, ["0", "9"]]}}, {"queues": {"q": [0, 3, ["0", "9", "20"]]}}, False, ""),
        ({"queues": {"q": [0, 2, ["0", "9"]]}}, {"queues": {"q": [0, 1, ["0"]]}}, False, "q ends at 1, and ended at 2"),
        ({"queues": {"q": [0, 2, ["0", "9"]]}}, {"queues": {"q": [1, 2, ["9"]]}}, False, "q begins at 1, and began at 0"),
        ({"queues": {"q": [0, 2, ["0", "9"]]}}, {"queues": {"q": [0, 2, ["0", "8"]]}}, False, "q has records at"),
        ({"queues": {"q": [0, 2, ["0", "9"]]}}, {}, False, "q has no ends any more"),
        ({"queues": {"q": [0, 2, ["0", "9"]]}, "topics": {"T": {}}}, {}, False, "T is gone"),
        ({"keys": {"key k of T": ["0"]}}, {"keys": {"key k of T": ["9"]}}, False, "key k of T does not find the record at 0 any more"),
        ({"keys": {"key k of T": ["0"]}}, {"keys": {"key k of T": ["0", "9"]}}, False, ""),
        ({"keys": {"key k of T": ["0"]}}, {"keys": {"key k of T": []}}, True, ""),
        ({"records": {"0": 1}}, {"records": {"0": 2}}, False, "the record at 0 is another one"),
        ({"topics": {"T": {"perm": 4}}}, {"topics": {"T": {"perm": 6}}}, False, "T: perm is 6, and was 4"),
        ({"progress": {"T": None}}, {"progress": {"T": 0}}, False, "T was not there, and is"),
        ({}, {"delayed": [["q, born 1", 1, 1, 0]]}, True, "0 messages, 1 were delayed and 1 due"),
        ({}, {"delayed": [["q, born 1", 1, 1, 2]]}, False, "2 messages, 1 were delayed"),
        ({}, {"delayed": [["q, born 1", 0, 1, 0], ["q, born 2", 1, 1, 1]]}, False, ""),
        ({}, {"delayed": [["q, born 1", 1, 1, 2]]}, True, ""),
        ({"topics": {"T": {"perm": 6}}}, {"topics": {"T": {"perm": 6}}, "routes": {"T": None}}, False, "T has no route"),
        ({"topics": {"T": {"perm": 6}}}, {"topics": {"T": {"perm": 6}}, "routes": {"T": {"perm": 4}}}, False, "T: the route's perm is 4"),
        ({"topics": {"T": {"perm": 6}}}, {"topics": {"T": {"perm": 6}}, "routes": {"T": {"perm": 6}}}, False, ""),
        ({}, {"topics": {}, "routes": {}, "others": [{}, None]}, False, ""),
        (
            {"topics": {"T": {"perm": 6}}},
            {"topics": {"T": {"perm": 6}}, "routes": {"T": {"perm": 6}}, "others": [{"T": {"perm": 6}}, {"T": None}]},
            False,
            "T has no route",
        ),
    ],
)
def test_restart_may_change_only_some_data(before: restarts.View, after: restarts.View, killed: bool, said: str) -> None:
    found = [text for _, text in restarts.breaches({**VIEW, **before}, {**VIEW, **after}, killed=killed)]
    assert len(found) == bool(said) and all(said in text for text in found)


@pytest.mark.parametrize("routes", [None, {}, {"T": {"perm": 6}}])
def test_route_known_to_no_name_server_is_invalid(routes: dict[str, Any] | None, tmp_path: Path) -> None:
    before = {**VIEW, "topics": {"T": {"perm": 6}}, "routes": {"T": {"perm": 6}}, "missed": []}
    judged = judged_restart(tmp_path, before, {**before, "routes": routes})
    assert not judged.deviations and "restart.topics" in judged.claims
    assert ("restart.routes" in judged.claims, "restart.routes" in judged.exercised) == (routes is not None, bool(routes))


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        (b'{"offsetTable":{{"queueId":1,"topic":"T"}:{"maxOffset":2}}}', {"1": {"maxOffset": 2}}),
        (b'{"offsetTable":{{"queueId":1,"topic":"T"}:{maxOffset:2}}}', {"1": {}}),
        (b"{", {}),
    ],
)
def test_ends_that_cannot_be_read_are_none(body: bytes, ends: dict[str, Any]) -> None:
    assert said_of(Command(0, body=body))["queues"] == ends


@pytest.mark.parametrize("entry", [{"readQueueNums": 4}, {"readQueueNums": "many", "writeQueueNums": 4}, None])
def test_table_that_cannot_be_read_is_not_known(entry: object, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(InProcess("P494").open(), "b")
    try:
        table = json.dumps({"topicConfigTable": {"T": entry}}).encode()
        monkeypatch.setattr(reader, "_asked", lambda name, given: Command(0, body=table))
        assert reader.topics() is None
        assert reader.take() == ([], ["topics, whose answer says nothing that can be read"])
    finally:
        reader.deployment.close()


@pytest.mark.parametrize(
    ("profile", "known"), [("P494", False), ("P520", False), ("P514", True), ("P500", True), ("P492", True), ("P432", True)]
)
def test_known_restart_losses_depend_on_release(profile: str, known: bool, tmp_path: Path) -> None:
    before, after = ({**VIEW, "delayed": [["T", 1, 1, came]], "missed": [], "routes": None} for came in (1, 0))
    judged = judged_restart(tmp_path, before, after, profile)
    assert [(verdict.property, verdict.known) for verdict in judged.deviations] == [("restart.delayed", known)]
    assert judged.claims["restart.delayed"][1] == ("violated" if known else "holds")


@pytest.mark.parametrize(
    ("profile", "known"),
    [("P494", True), ("P491", True), ("P500", True), ("P511", True), ("P492", False), ("P514", False), ("P533", False)],
)
def test_empty_file_is_known_to_stop_some_releases(profile: str, known: bool, tmp_path: Path) -> None:
    after = {**VIEW, "routes": None, "unsized": ["0/00000000000000000000"]}
    judged = judged_restart(tmp_path, VIEW, after, profile, restarts.KILLED)
    (verdict,) = judged.deviations
    assert (verdict.property, verdict.known) == ("restart.unsized", known)
    assert "it started only without 0/00000000000000000000" in verdict.text and "restart.unsized" in judged.exercised


@pytest.mark.parametrize(("missed", "undecided"), [([], False), (["progress"], True)])
def test_unanswered_query_proves_nothing(missed: list[str], undecided: bool, tmp_path: Path) -> None:
    judged = judged_restart(tmp_path, {**VIEW, "progress": {"T": None}, "missed": missed}, {**VIEW, "progress": {"T": 0}})
    assert (not judged.deviations, not judged.claims) == (undecided, undecided)


def test_late_messages_are_reported_with_due_time() -> None:
    late = Late("T", 0, 5, 1000)
    assert late[:3] == ("T", 0, 5)


@pytest.mark.behaviour("REC-05")
@pytest.mark.parametrize(
    ("came", "due", "missed", "enough"), [(0, 0, [], True), (0, 1, [], False), (1, 1, [], True), (1, 1, ["view"], False)]
)
def test_recently_started_broker_is_awaited_before_next_kill(came: int, due: int, missed: list[str], enough: bool) -> None:
    assert in_time({**VIEW, "delayed": [["queue 0 of T, born 1", due, 1, came]], "missed": missed}) is enough
