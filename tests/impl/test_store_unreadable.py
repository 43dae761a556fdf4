"""Acknowledged records that cannot be read: dispatch and recovery, as in a real 4.9.4 (HAZ-49 to HAZ-51)."""

from __future__ import annotations

import re

import pytest
from marks import behaviour
from storing import Stand, appended, message

from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message
from rocketproof_impl.store.record import IPV6_MORE
from rocketproof_properties.programs.requests import batch_item
from rocketproof_protocol.flags import BORN_IPV6, STORE_IPV6


@behaviour("REC-01", "REC-04", "HAZ-49")
def test_dispatch_skips_from_an_unreadable_record_to_the_end() -> None:
    stand = Stand("P45")
    stand.put(message("é" * 64))
    stand.put(message())
    assert [record.topic for record in stand.store.records()] == ["TopicTest"]
    assert stand.store.dispatch() == 0
    assert stand.store.behind() == 0
    stand.put(message())
    assert stand.store.dispatch() == 1
    assert stand.store.max_offset("TopicTest", 0) == 2  # after the entries that fill the queue up to its index


@behaviour("REC-04")
def test_entries_that_fill_a_queue_are_no_messages() -> None:
    """A real 5.1.0 that starts on such a queue reports that it begins at 0 and that no message is stored there."""
    stand = Stand("P510")
    stand.put(message(body=b"x" * (4 * 1024 * 1024 + 1)))  # refused, but takes an offset
    stand.put(message())
    stand.store.dispatch()
    assert stand.store.min_offset("TopicTest", 0) == 1
    stand = stand.reopen()
    assert stand.store.min_offset("TopicTest", 0) == 0
    assert [stand.store.get_message("TopicTest", 0, index) is None for index in range(2)] == [True, False]


@behaviour("REC-04", "HAZ-50")
def test_dispatch_continues_past_the_log_after_inconsistent_lengths() -> None:
    """Messages up to this length of the log have no entry, and the first read after it starts inside a record."""
    stand = Stand("P494")
    item = batch_item(b"a", "k\x01" + "v" * 32700)
    stand.put_batch(Message("T", body=item, properties={"CLUSTER": "c" * 100}))
    size = stand.store.max_phy_offset
    assert stand.store.dispatch() == 0
    assert stand.store.behind() == -size
    stand.put(message(body=b"x" * size))
    assert stand.store.dispatch() == 0
    assert stand.store.behind() == 0
    stand.put(message())
    assert stand.store.dispatch() == 1


@behaviour("REC-04", "HAZ-51")
@pytest.mark.parametrize(("role", "goes_on"), [("ASYNC_MASTER", 1), ("SLAVE", 0)])
def test_slave_waits_at_a_record_that_it_cannot_read(role: str, goes_on: int) -> None:
    """Its master may still send the rest of the record."""
    master, stand = Stand("P494"), Stand("P494", broker_role=role)
    master.put(message(sys_flag=BORN_IPV6))
    cut = master.store.max_phy_offset
    master.put(message())
    log = master.log()[: master.store.max_phy_offset]
    assert stand.scheduler.complete(stand.store.commit_log.append_data(0, log[:cut]))
    assert stand.store.dispatch() == 0
    assert stand.store.behind() == (0 if goes_on else cut)
    assert stand.scheduler.complete(stand.store.commit_log.append_data(cut, log[cut:]))
    assert stand.store.dispatch() == goes_on
    assert stand.store.behind() == (0 if goes_on else len(log))


@behaviour("REC-04", "HAZ-50")
def test_later_release_continues_at_the_end_of_the_log() -> None:
    stand = Stand("P533")
    stand.put_batch(Message("T", body=batch_item(b"a", "k\x01" + "v" * 32700), properties={"CLUSTER": "c" * 100}))
    assert stand.store.dispatch() == 0
    stand.put(message())
    assert stand.store.dispatch() == 1


@behaviour("BAT-04", "HAZ-51")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_batch_with_an_ipv6_flag_is_an_error(count: int) -> None:
    stand = Stand("P494")
    argument, index = "java.lang.IllegalArgumentException: newPosition > limit: ", "java.lang.ArrayIndexOutOfBoundsException: Index "
    texts = {1: f"{argument}(117 > 105)", 2: f"{index}2 out of bounds for length 2", 3: f"{index}3 out of bounds for length 3"}
    batch = Message("TopicTest", body=batch_item(b"hello", "") * count, sys_flag=BORN_IPV6)
    with pytest.raises(JavaError, match=f"^{re.escape(texts[count])}$"):
        stand.put_batch(batch)
    assert stand.store.max_phy_offset == 0


@behaviour("APP-08", "APP-02", "HAZ-51")
@pytest.mark.parametrize("flags", [BORN_IPV6, STORE_IPV6, BORN_IPV6 | STORE_IPV6])
def test_ipv6_flag_makes_a_record_unreadable(flags: int) -> None:
    """As in 4.9.4; in releases without IPv6 the bits have no meaning."""
    for profile, more in (("P45", 0), ("P494", IPV6_MORE * flags.bit_count())):
        stand = Stand(profile)
        put = appended(stand.put(message(sys_flag=flags)))
        assert put.wrote_bytes == 105 + more
        assert len(put.msg_id) == (56 if more and flags & STORE_IPV6 else 32)
        stand.put(message())
        assert stand.store.dispatch() == (0 if more else 2)
        late = 56 + (IPV6_MORE if more and flags & BORN_IPV6 else 0)  # the store time follows the first host
        assert int.from_bytes(stand.log()[late : late + 8]) == stand.clock.now()
        assert stand.reopen().store.max_phy_offset == (0 if more else 210)
