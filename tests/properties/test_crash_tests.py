"""Brokers killed under load: the state found afterwards, and that a loss is detected."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from rocketproof_properties.brokers.served import Served
from rocketproof_properties.judging.wholelog import files, log_of
from rocketproof_properties.validation.faults import campaign, kills
from rocketproof_properties.validation.faults.found import FaultTests
from rocketproof_properties.validation.faults.store import queue_entries
from unpacking import unpack

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    unpack(DATA / "store-4.9.4.tar.gz", tmp_path)
    (store,) = tmp_path.iterdir()
    return store


def test_consume_queues_of_recorded_store_lead_to_its_records(recorded: Path) -> None:
    found = files(recorded)
    assert found is not None
    places = {record.at: record for record in log_of(*found).records}
    queues: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for folder in (recorded / "consumequeue").glob("*/*"):
        queues[folder.parent.name, int(folder.name)] = queue_entries(recorded, folder.parent.name, int(folder.name))
    assert sum(map(len, queues.values())) > 100
    for (topic, queue), entries in queues.items():
        for number, (place, size) in enumerate(entries):
            record = places[place]
            assert (record.topic, record.queue_id, record.queue_offset, record.total_size) == (topic, queue, number, size)
    assert queue_entries(recorded, "NoSuchTopic", 0) == []


@pytest.mark.slow
@pytest.mark.behaviour("INV-06", "INV-27", "INV-34", "REC-02", "REC-03", "PER-05", "FLU-03")
def test_acknowledged_messages_survive_kill() -> None:
    done: list[tuple[int, int]] = []
    faults = FaultTests("kill")
    campaign.run(Served("P494"), faults, 3, seed=11, progress=lambda number, of: done.append((number, of)))
    assert faults.findings == [] == faults.known
    assert (faults.rounds, faults.states) == (3, 3)
    assert sorted(set(done)) == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert faults.acknowledged > 30
    assert faults.topics > 5


@pytest.mark.slow
@pytest.mark.behaviour("FLU-06")
def test_broker_with_transient_pool_loses_acknowledged_messages() -> None:
    """The loss is by design: the pool's buffers are lost with the process. The campaign reports it; in this test the buffers are never
    written.
    """
    settings = {
        "transientStorePoolEnable": "true", "commitCommitLogLeastPages": "100000", "commitCommitLogThoroughInterval": "600000",
        "mappedFileSizeCommitLog": str(64 << 20),  # a full file would be taken out of its buffer
    }  # fmt: skip
    faults = FaultTests("kill")
    kills.run(Served("P494"), faults, 1, seed=3, settings=settings)
    assert faults.acknowledged > 0
    assert sum(": lost: " in finding for finding in faults.findings) == faults.acknowledged
