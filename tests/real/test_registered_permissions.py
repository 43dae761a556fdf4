"""The permissions that a write-protected broker registers, of all topics together and of a single one, as its name server returns them
(NS-11).
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rocketproof_impl.route import decode_route
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import call
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.waiting import until
from rocketproof_properties.programs.vocabulary import plain

COMMANDS = ("java", "mvn")
BROKER = "broker-a"
TOPICS = {"W": 2, "R": 4, "X": 6}
OWN, MASKED = {"W": 4, "R": 4, "X": 4}, {"W": 0, "R": 4, "X": 4}
TOLD = {
    "4.9.4": [OWN, OWN],
    "5.0.0": [MASKED, OWN],
    "5.1.1": [MASKED, OWN],
    "5.1.4": [MASKED, MASKED],
    "5.3.3": [MASKED, MASKED],
}
"""By the release, what is registered of all topics at a start, and of each when an administrator changes it."""
BESIDE = {"4.9.4": [2, 2], "5.0.0": [2, 0], "5.1.1": [2, 0], "5.1.4": [0, 0]}
"""By the release, what a broker that may not read registers of a topic: alone, and when a message makes another one."""
SOON = 5.0


@pytest.mark.parametrize("version", TOLD)
@pytest.mark.behaviour("NS-11", "HAZ-06")
def test_write_protected_broker_registers_recorded_permissions(version: str) -> None:
    with Apache(version).open() as running:
        assert told(running) == TOLD[version]
    with InProcess(nearest_profile(version)).open() as ours:
        assert told(ours) == TOLD[version]


@pytest.mark.parametrize("version", BESIDE)
@pytest.mark.behaviour("NS-11", "TCM-17")
def test_message_creating_topic_registers_recorded_topics(version: str) -> None:
    setup = Setup(settings={"brokerPermission": "2"})
    with Apache(version).open(setup) as running:
        assert beside_another(running) == BESIDE[version]
    with InProcess(nearest_profile(version)).open(setup) as ours:
        assert beside_another(ours) == BESIDE[version]


def beside_another(running: Deployment) -> list[int]:
    """Return the permission in the route of a read-only topic, before and after a message creates another topic."""
    change(running, "R", 4, 4)
    before = settled(running, 4, ("R",))
    assert call(running.brokers[BROKER], plain("send", topic="B", default="TBW102", nums=4)).code == 0
    behind = until(lambda: routes(running, ("R", "B")), lambda rows: rows["B"] != (-1, -1), SOON, 0.1)
    return [before["R"], behind["R"][0]]


def told(running: Deployment) -> list[dict[str, int]]:
    for topic, perm in TOPICS.items():
        change(running, topic, perm, 4)
    assert settled(running, 4) == TOPICS
    running.stop(BROKER)
    running.restart(BROKER, {"brokerPermission": "4"})
    at_start = settled(running, 4)
    for topic, perm in TOPICS.items():
        change(running, topic, perm, 3)
    return [at_start, settled(running, 3)]


def change(running: Deployment, topic: str, perm: int, read: int) -> None:
    assert call(running.brokers[BROKER], plain("topic", topic=topic, perm=perm, read=read, write=4)).code == 0


def settled(running: Deployment, read: int, topics: Iterable[str] = TOPICS) -> dict[str, int]:
    """Return the permissions in the topics' routes once these have `read` read queues."""
    found = until(lambda: routes(running, topics), lambda rows: all(row == (row[0], read) for row in rows.values()), SOON, 0.1)
    return {topic: perm for topic, (perm, _) in found.items()}


def routes(running: Deployment, topics: Iterable[str]) -> dict[str, tuple[int, int]]:
    assert running.name_server is not None
    found = {}
    for topic in topics:
        answer = call(running.name_server, plain("route", topic=topic))
        queues = decode_route(answer.body or b"").queue_datas if answer.code == 0 else []
        found[topic] = (queues[0].perm, queues[0].read_queue_nums) if queues else (-1, -1)
    return found
