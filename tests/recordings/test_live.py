"""Replaying a recording on a broker that draws and delivers for itself: here a simulated one, in tests/real Apache's."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_replay import LiveReplay, Queues

from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_properties.brokers.simulated import SimulatedDeployment
from rocketproof_properties.judging.reference.cases import read
from rocketproof_properties.judging.reference.comparison import FieldDifference
from rocketproof_properties.judging.reference.settings import settings_of

DATA = Path(__file__).parents[1] / "data"


def different(version: str, profile: str, cfg: str) -> list[tuple[str, tuple[FieldDifference, ...]]]:
    """Return the differing cases of a `cfg` on a broker at another address than the recorded one."""
    cases = [case for case in read(DATA / f"rocketmq-{version}.jsonl").cases if case.cfg == cfg]
    cluster = Cluster(0, profile=profile)
    cluster.add(settings_of(cfg, (), {}, ("listenPort=23456",)))
    (broker,) = cluster.nodes
    found = list(LiveReplay(SimulatedDeployment(cluster), broker, cases).play())
    assert len(found) == len(cases) > 0
    return [(case.label, each) for case, each in zip(cases, found, strict=True) if each]


@pytest.mark.parametrize(("version", "profile"), [("4.9.4", "P494"), ("5.3.3", "P533")])
@pytest.mark.parametrize("cfg", ["A", "N", "M", "L"])
def test_separate_broker_answers_as_recorded(version: str, profile: str, cfg: str) -> None:
    assert not different(version, profile, cfg)


def test_another_profile_differs() -> None:
    assert "A-136" in {label.partition(" ")[0] for label, _ in different("4.9.4", "P49", "A")}


def test_messages_that_may_arrive_unasked_are_counted() -> None:
    queues, queue = Queues(), ("t", 0)
    assert queues.explains(queue, 0) and not queues.explains(queue, 1)
    queues.seen(queue, 1)
    queues.delays(queue)
    assert [offset for offset in range(5) if queues.explains(queue, offset)] == [1, 2]
    queues.seen(queue, 2)
    assert [offset for offset in range(5) if queues.explains(queue, offset)] == [2], "it has come"
    queues.commits(queue)
    assert [offset for offset in range(5) if queues.explains(queue, offset)] == [3], "it must have come"
