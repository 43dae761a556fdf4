"""Exact bounds: a range of the log, an empty store, a stop with nothing left to do, the parts of an id."""

from __future__ import annotations

import pytest
from marks import behaviour
from sending import Stand as BrokerStand
from simulated import present
from storing import Stand, message
from test_store_threads import Running

from nonempty import nonempty
from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.store.reput import STOP_PAUSE, ReputMessageService
from rocketproof_impl.topic import TopicConfig

WIDE = "täg値"


def test_log_range_has_the_records_that_begin_in_it() -> None:
    stand = Stand("P494", mapped_file_size_commit_log=1000)
    for number in range(12):  # over three files, with a blank at the end of each
        stand.put(message(body=b"x" * (10 + 20 * number)))
    log = stand.store.commit_log
    places = [record.physical_offset for record in stand.store.records()]
    bounds = [*places, log.files.max_offset]
    for start in nonempty(places):
        for end in nonempty({near for place in bounds for near in (place, place + 1)}):
            found = [one.physical_offset for _, one in log.records(start, end) if one is not None]
            assert found == [place for place in places if start <= place < end]


def test_empty_store_begins_at_0() -> None:
    stand = Stand("P494")
    assert stand.store.load()
    files = stand.store.commit_log.files
    assert (files.min_offset, files.max_offset, files.flushed_where, files.committed_where) == (0, 0, 0, 0)


@pytest.mark.parametrize("left", [0, 1])
def test_stop_waits_only_for_records_not_yet_dispatched(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Running("P494")
    service: ReputMessageService = stand.service(ReputMessageService)
    monkeypatch.setattr(service, "_behind", lambda: left)
    stopping = stand.scheduler.spawn(service.shutdown())
    stand.scheduler.advance(STOP_PAUSE // 2)
    assert stopping.done.done is (left == 0)


@behaviour("SEND-46")
def test_generated_id_has_host_time_and_counter() -> None:
    stand = BrokerStand("P533", broker_ip1="10.1.2.3", listen_port=10_912)
    stand.topic()
    for later in (0, 5):
        stand.scheduler.advance(later)
        stand.send(properties="")
    first, second = (bytes.fromhex(one.properties["UNIQ_KEY"]) for one in stand.stored())
    assert first[:4] == bytes((10, 1, 2, 3))
    assert int.from_bytes(first[4:6]) == 10_912
    assert first[:10] == second[:10]
    assert int.from_bytes(second[10:14]) > int.from_bytes(first[10:14])
    assert (int.from_bytes(first[14:]), int.from_bytes(second[14:])) == (0, 1)


@behaviour("PER-01")
def test_names_are_stored_unescaped() -> None:
    stand = BrokerStand("P494")
    broker = stand.broker
    broker.topics.update(TopicConfig(WIDE))
    broker.groups.update(SubscriptionGroupConfig(WIDE))
    broker.offsets.commit(WIDE, WIDE, 0, 7)
    for table in (broker.topics, broker.groups, broker.offsets):
        table.persist()
        assert WIDE.encode() in present(stand.disk.read(table.path))
