"""A slave of the programs' broker: what it does not have of its master is found, and what is not known is no success."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.broker.slave import SlaveSynchronize
from rocketproof_impl.periodic import Periodic
from rocketproof_impl.store import haclient
from rocketproof_impl.store.commitlog import CommitLog
from rocketproof_impl.store.delay import ScheduleMessageService
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.commands.program import run
from rocketproof_properties.judging import slaves as judging
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_properties.validation import slaves
from rocketproof_properties.validation.faults import replicas
from rocketproof_properties.validation.states import StateReport

MARK = "r0a0a0a-"
TOPIC = f"{MARK}1-A"
VIEW: dict[str, Any] = {
    "topics": {"T": {"perm": 6, "attributes": {"queue.type": "SimpleCQ"}}},
    "groups": {"g": {"retryMaxTimes": 3}},
    "offsets": {"T@g 0": 2},
    "delays": {"1": 3},
    "queues": {"queue 0 of T": [0, 2, ["0", "90"]]},
    "records": {"0": 1, "90": 2},
    "keys": {"key k of T": ["90"]},
}


@pytest.mark.parametrize(
    ("changed", "property_", "text"),
    [
        (
            {"topics": {"T": {"perm": 6}}},
            "slave.topic_attributes",
            "T: attributes is None, {'queue.type': 'SimpleCQ'} on the master",
        ),
        ({"topics": {}, "queues": {}}, "slave.topic_attributes", "T: None, present on the master"),
        ({"topics": {**VIEW["topics"], "U": {}}}, "slave.topic_attributes", "U: present, None on the master"),
        ({"groups": {**VIEW["groups"], "h": {}}}, "slave.groups", "h: present, None on the master"),
        ({"offsets": {}}, "slave.offsets", "T@g 0: None, 2 on the master"),
        ({"offsets": {"T@g 0": 2, "T@h 0": 1}}, "slave.deleted_offsets", "T@h 0: 1, None on the master"),
        ({"delays": {"1": 2}}, "slave.delays", "1: 2, 3 on the master"),
        ({"queues": {"queue 0 of T": [0, 1, ["0"]]}}, "slave.queues", "queue 0 of T from offset 0 to 1: 1, 2 on the master"),
        ({"queues": {}}, "slave.queues", "queue 0 of T has no ends"),
        ({"records": {"0": 1, "90": 3}}, "slave.records", "the record at 90 is another one"),
        ({"keys": {"key k of T": []}}, "slave.keys", "key k of T does not find the record at 90"),
    ],
)
def test_difference_from_master_is_named(changed: dict[str, Any], property_: str, text: str) -> None:
    assert list(judging.breaches(VIEW, VIEW)) == []
    assert list(judging.breaches(VIEW, {**VIEW, **changed})) == [(property_, text)]


def test_topics_without_attributes_are_a_property_of_their_own() -> None:
    master = {"topics": {"T": {"perm": 6, "attributes": {}}}}
    assert list(judging.breaches(master, {"topics": {"T": {"perm": 4, "attributes": {}}}})) == [
        ("slave.topics", "T: perm is 4, 6 on the master")
    ]


def judged_state(folder: Path, profile: str = "P494", **state: Any) -> JudgedProgram:
    return StateReport(folder, 0, "", {"prefix": MARK}, profile).judged("broker-a", judging.STATE, judging.SOURCE, state)


def test_late_slave_is_undecided(tmp_path: Path) -> None:
    judged = judged_state(tmp_path, unknown="after 30 s the slave has 4 bytes")
    assert not judged.deviations and not judged.claims
    assert judged.left_open == dict.fromkeys(judging.SENTENCES, "after 30 s the slave has 4 bytes")


def test_slave_with_another_log_is_a_finding_and_the_rest_undecided(tmp_path: Path) -> None:
    judged = judged_state(tmp_path, unknown="", log="9 bytes are as those of its master up to 3, which has 9")
    assert [finding.property for finding in judged.findings] == ["slave.log"]
    assert judged.left_open.keys() == judging.SENTENCES.keys() - {"slave.log"}


@pytest.mark.parametrize(
    ("property_", "changed", "profiles"),
    [
        ("slave.topic_attributes", {"topics": {}}, {"P533"}),
        ("slave.offsets", {"offsets": {}}, {"P540", "P550"}),
        ("slave.deleted_offsets", {"offsets": {"T@g 0": 2, "T@h 0": 1}}, {"P494", "P520", "P533", "P540", "P550"}),
        ("slave.recreated_queues", {"queues": {"queue 0 of T": [0, 3, []]}}, {"P494", "P520", "P533", "P540", "P550"}),
        ("slave.queues", {"queues": {"queue 0 of T": [0, 3, []]}}, set()),
        ("slave.records", {"records": {"0": 2}}, set()),
    ],
)
def test_known_differences_depend_on_release(property_: str, changed: dict[str, Any], profiles: set[str], tmp_path: Path) -> None:
    recreated = ["T"] if property_ == "slave.recreated_queues" else []
    state = {"unknown": "", "log": "", "master": VIEW, "slave": {**VIEW, **changed}, "recreated": recreated}
    for profile in ("P494", "P520", "P533", "P540", "P550"):
        folder = tmp_path / profile
        folder.mkdir()
        known = {finding.property: finding.known for finding in judged_state(folder, profile, **state).deviations}
        assert known[property_] == (profile in profiles), profile


def test_slave_that_does_not_start_is_undecided(tmp_path: Path) -> None:
    with InProcess().open() as running:
        judged = slaves.compare(running, TargetError("no port"), ProgramNames(MARK, 0), StateReport(tmp_path, 0, "", {}, "P494"))
    assert set(judged.left_open.values()) == {"the slave does not start: no port"} and not judged.deviations


def test_target_without_files_has_no_slave(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "127.0.0.1:9", "--profile", "P494", "--slave"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--slave with 127.0.0.1:9, which does not offer start, store; leave it out" in line


STEPS = [
    ("topic", {"topic": TOPIC, "attributes": "+message.type=NORMAL"}),
    ("group", {"group": f"{MARK}1-g"}),
    ("send", {"topic": TOPIC, "properties": {"KEYS": "k", "DELAY": "1"}}),
    ("send", {"topic": TOPIC, "body": "first", "properties": {"KEYS": "k"}}),
    ("commit", {"topic": TOPIC, "group": f"{MARK}1-g", "offset": 1}),
]


def followed(folder: Path, profile: str) -> JudgedProgram:
    """Judge a slave of the current implementation after some requests to its master."""
    target = InProcess(profile)
    with target.open() as running, slaves.following(target, running) as slave:
        with running.connect("broker-a") as line:
            for name, arguments in STEPS:
                assert line.ask(plain(name, **arguments), 5.0).code == 0
        running.act("time", millis=1500)
        return slaves.compare(running, slave, ProgramNames(MARK, 0), StateReport(folder, 0, "", {"prefix": MARK}, profile))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slave that requests its master's data twice a second, and judges that wait for seconds only."""
    monkeypatch.setattr(SlaveSynchronize, "PERIODIC", (Periodic("sync_all", 200, 500),))
    monkeypatch.setattr(haclient, "RETRY", 200)
    monkeypatch.setattr(replicas, "asks", lambda profile: 1.0)
    for name in ("_LATER", "_DISPATCHED", "CAUGHT"):
        monkeypatch.setattr(replicas, name, 4.0)


@pytest.mark.slow
@pytest.mark.behaviour("INV-27", "REC-05")
@pytest.mark.parametrize("profile", ["P494", "P550"])
def test_slave_equals_its_master(profile: str, tmp_path: Path, quick: None) -> None:
    judged = followed(tmp_path, profile)
    assert (judged.deviations, judged.left_open) == ([], {})
    other = "slave.topics" if PROFILES[profile].topic_attributes else "slave.topic_attributes"
    assert judged.exercised == judging.SENTENCES.keys() - {"slave.deleted_offsets", "slave.recreated_queues", other}


def forgets_attributes(self: SlaveSynchronize, data: Any) -> None:
    for entry in data["topicConfigTable"].values():
        entry["attributes"] = {}
    take_topics(self, data)


async def stores_other_bytes(self: CommitLog, where: int, data: bytes) -> bool:
    return await append(self, where, data.replace(b"first", b"FIRST"))


take_topics, append = SlaveSynchronize._take_topics, CommitLog.append_data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "method", "planted", "property_"),
    [
        (SlaveSynchronize, "_take_topics", forgets_attributes, "slave.topic_attributes"),
        (ConsumerOffsetManager, "take", lambda self, text: None, "slave.offsets"),
        (ScheduleMessageService, "take", lambda self, text: None, "slave.delays"),
        (CommitLog, "append_data", stores_other_bytes, "slave.log"),
    ],
)
def test_planted_fault_of_replication_is_found(
    owner: type, method: str, planted: Callable[..., object], property_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    monkeypatch.setattr(owner, method, planted)
    assert [finding.property for finding in followed(tmp_path, "P520").findings] == [property_]
