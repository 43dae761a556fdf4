"""Timer messages: their waiting time, the delivered message, and their state after a start."""

from __future__ import annotations

import pytest
from marks import behaviour
from storing import Stand, message

from rocketproof_impl.java import JavaError
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.store.timers import to_timer_topic
from rocketproof_protocol.flags import INNER_BATCH
from rocketproof_protocol.properties import REAL_QID, REAL_TOPIC, UNIQ_KEY
from rocketproof_protocol.topics import WHEEL_TIMER_TOPIC

ILLEGAL, OFF = PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL, PutMessageStatus.WHEEL_TIMER_NOT_ENABLE
NOW = 1_700_000_000_300
OUT = "TIMER_OUT_MS"


def bench(profile: str = "P533", **settings: object) -> Stand:
    stand = Stand(profile, **settings)
    stand.clock.time = NOW
    return stand


def timed(stand: Stand, key: str = "U", **properties: object) -> PutMessageStatus:
    found = message("T", 2, properties={UNIQ_KEY: key} | {name: str(value) for name, value in properties.items()})
    status = stand.put(found).status
    stand.store.dispatch()
    return status


def delivered(stand: Stand, topic: str = "T") -> list[str]:
    """Return the keys of the messages in a topic, once everything due has been put."""
    stand.deliver()
    stand.store.dispatch()
    return [found.properties[UNIQ_KEY] for found in stand.store.records() if found.topic == topic]


@behaviour("CL-02")
@pytest.mark.parametrize(
    ("properties", "out"),
    [
        ({"TIMER_DELAY_SEC": "3"}, "1700000003000"),
        ({"TIMER_DELAY_MS": "2700"}, "1700000002000"),  # due at a whole second: the one before it
        ({"TIMER_DELAY_MS": "2701"}, "1700000003000"),
        ({"TIMER_DELIVER_MS": str(NOW + 1)}, "1700000000000"),
        ({"TIMER_DELIVER_MS": str(NOW)}, None),
        ({"TIMER_DELAY_SEC": "3", "TIMER_DELAY_MS": "x"}, "1700000003000"),
        ({"TIMER_DELAY_SEC": str(2**63 - 1)}, None),  # a second before now, as a long wraps
        ({"TIMER_DELAY_SEC": "3", OUT: "5"}, None),
        ({"TIMER_DELAY_SEC": "259200"}, "1700259200000"),
    ],
)
def test_message_with_a_future_time_goes_to_the_timer_topic(properties: dict[str, str], out: str | None) -> None:
    found = message("T", 2, properties=dict(properties))
    assert to_timer_topic(found, bench().settings, NOW, trailing=True) is None
    if out is None:
        assert (found.topic, found.queue_id, found.properties) == ("T", 2, properties)
    else:
        assert (found.topic, found.queue_id) == (WHEEL_TIMER_TOPIC, 0)
        assert found.properties == properties | {OUT: out, REAL_TOPIC: "T", REAL_QID: "2"}
        assert f"{OUT}\x01{out}\x02" in (found.properties_text or "")


@behaviour("CL-02")
def test_illegal_times_are_refused() -> None:
    stand = bench()
    for name in ("TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"):
        assert timed(stand, **{name: "x"}) is ILLEGAL
    assert timed(stand, TIMER_DELAY_SEC=259_201) is ILLEGAL
    assert timed(stand, TIMER_DELAY_SEC=259_200) is PutMessageStatus.PUT_OK
    assert timed(stand, TIMER_DELAY_MS=0, TIMER_DEL_UNIQKEY="T+U") is ILLEGAL
    assert timed(stand, TIMER_DELAY_MS=0) is PutMessageStatus.PUT_OK
    assert timed(stand, INNER_NUM=1) is PutMessageStatus.MESSAGE_ILLEGAL
    assert stand.put(message(sys_flag=INNER_BATCH)).status is PutMessageStatus.MESSAGE_ILLEGAL
    off = bench(timer_wheel_enable=False)
    assert timed(off, TIMER_DELAY_SEC="x") is OFF
    with pytest.raises(JavaError):
        timed(stand, TIMER_DELAY_SEC=1, DELAY="x")
    earlier = Stand("P494")
    assert timed(earlier, TIMER_DELAY_SEC="x", INNER_NUM=1) is PutMessageStatus.PUT_OK


@behaviour("REC-05")
def test_message_is_put_unchanged_when_its_second_is_over() -> None:
    stand = bench()
    timed(stand, TIMER_DELAY_SEC=3, TAGS="t")
    stand.scheduler.advance(3699)
    assert delivered(stand) == []
    stand.scheduler.advance(1)
    assert delivered(stand) == ["U"]
    assert delivered(stand) == ["U"], "once"
    *_, again = stand.store.records()
    assert (again.queue_id, again.queue_offset) == (2, 0)
    assert again.properties == {
        UNIQ_KEY: "U", "TIMER_DELAY_SEC": "3", "TAGS": "t", OUT: "1700000003000", REAL_TOPIC: "T", REAL_QID: "2",
        "TIMER_ENQUEUE_MS": "1700000003000", "TIMER_DEQUEUE_MS": "1700000004000",
    }  # fmt: skip


@behaviour("REC-05")
@pytest.mark.parametrize(
    ("profile", "expected"),
    [("P533", ["kept", "late"]), *((profile, ["gone", "late"]) for profile in ("P500", "P510", "P520", "P540", "P550"))],
)
def test_message_is_cancelled_by_a_recall_of_its_second(profile: str, expected: list[str]) -> None:
    """5.3.3 compares topic and key, the other releases only the key."""
    stand = bench(profile)
    for key in ("kept", "gone", "late"):
        timed(stand, key, TIMER_DELAY_SEC=3)
    timed(stand, "a", TIMER_DELAY_SEC=3, TIMER_DEL_UNIQKEY="kept")
    timed(stand, "b", TIMER_DELAY_SEC=3, TIMER_DEL_UNIQKEY="T+gone")
    timed(stand, "c", TIMER_DELAY_SEC=4, TIMER_DEL_UNIQKEY="T+late")
    stand.scheduler.advance(10_000)
    assert delivered(stand) == expected


@behaviour("HAZ-58")
def test_message_without_its_second_blocks_all_later_messages() -> None:
    stand = bench()
    timed(stand, "before", TIMER_DELAY_SEC=3)
    stand.put(message(WHEEL_TIMER_TOPIC, properties={UNIQ_KEY: "anybody's"}))
    timed(stand, "behind", TIMER_DELAY_SEC=3)
    stand.scheduler.advance(100_000)
    assert delivered(stand) == ["before"]
    stand.store.persist_delays()
    again = stand.reopen()
    again.scheduler.advance(100_000)
    assert delivered(again) == ["before"]


@behaviour("REC-05")
@pytest.mark.parametrize("written", [False, True])
def test_start_knows_the_deliveries_in_the_checkpoint_file(written: bool) -> None:
    stand = bench()
    timed(stand, "first", TIMER_DELAY_SEC=1)
    timed(stand, "second", TIMER_DELAY_SEC=30)
    stand.scheduler.advance(5000)
    assert delivered(stand) == ["first"]
    timed(stand, "third", TIMER_DELAY_MS=1)
    if written:
        stand.store.persist_delays()
    again = stand.reopen()
    assert delivered(again) == ["first", *([] if written else ["first"])]
    again.scheduler.advance(40_000)
    assert sorted(delivered(again)) == ["first", *([] if written else ["first"]), "second", "third"]


@behaviour("REC-05")
def test_failed_timer_delivery_is_retried() -> None:
    stand = bench()
    for key in ("first", "second"):
        timed(stand, key, TIMER_DELAY_SEC=1)
    stand.scheduler.advance(5000)
    stand.store.flags.bits = 2
    assert delivered(stand) == []
    stand.store.flags.bits = 0
    assert delivered(stand) == ["first", "second"]


@behaviour("REC-05")
@pytest.mark.parametrize("timed_flush", [False, True])
@pytest.mark.parametrize(("wheel", "found"), [(True, ["U"]), (False, [])])
def test_disabled_wheel_delivers_nothing(wheel: bool, found: list[str], timed_flush: bool) -> None:
    stand = bench(flush_commit_log_timed=timed_flush)
    timed(stand, TIMER_DELAY_SEC=1)
    stand.scheduler.advance(5000)
    stand.settings.timer_wheel_enable = wheel
    assert delivered(stand) == found


@behaviour("HAZ-54")
def test_half_message_with_a_time_returns_to_the_half_topic() -> None:
    stand = bench()
    half = message("RMQ_SYS_TRANS_HALF_TOPIC", 0, properties={REAL_TOPIC: "T", UNIQ_KEY: "H", "TIMER_DELAY_SEC": "1"})
    stand.put(half)
    stand.store.dispatch()
    stand.scheduler.advance(3000)
    assert delivered(stand) == [] and delivered(stand, "RMQ_SYS_TRANS_HALF_TOPIC") == ["H"]
    *_, again = stand.store.records()
    assert again.properties[REAL_TOPIC] == "RMQ_SYS_TRANS_HALF_TOPIC"


@behaviour("TCM-31")
@pytest.mark.parametrize(("profile", "left"), [("P49", 0), ("P494", 0), ("P500", 1), ("P520", 1), ("P533", 1)])
def test_deletion_of_a_topic_keeps_queues_of_system_topics_from_500_on(profile: str, left: int) -> None:
    stand = bench(profile)
    stand.put(message("RMQ_SYS_TRANS_HALF_TOPIC", 0))
    stand.put(message("gone", 0))
    stand.store.dispatch()
    stand.store.clean_unused_topics({"T"})
    assert stand.store.max_offset("RMQ_SYS_TRANS_HALF_TOPIC", 0) == left
    assert stand.store.max_offset("gone", 0) == 0


@behaviour("TCM-31")
def test_timer_survives_deletion_of_a_topic() -> None:
    """In 5.2.0 the timers' topic is in no table."""
    stand = bench("P520")
    timed(stand, TIMER_DELAY_SEC=1)
    stand.store.clean_unused_topics({"T"})
    stand.scheduler.advance(5000)
    assert delivered(stand) == ["U"]
