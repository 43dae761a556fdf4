"""Several messages in one request."""

from __future__ import annotations

import pytest
from marks import behaviour, every
from sending import Stand, batch_request, send_request
from simulated import fields_of

from rocketproof_impl.broker.batch import batch_problem
from rocketproof_impl.message import parse_properties
from rocketproof_impl.topic import MULTI_TAG


@every
@behaviour("BAT-01", "BAT-03", "BAT-04", "SEND-05")
def test_a_batch_is_stored_as_its_messages(profile: str) -> None:
    stand = Stand(profile)
    stand.send()
    answer = stand.ask(batch_request(queue_id=0, flag=5, reconsume_times=2))
    first, second = stand.stored()[1:]
    assert (first.body, second.body, first.queue_offset, second.queue_offset) == (b"one", b"two", 1, 2)
    assert (first.topic, first.reconsume_times, first.born_host) == ("T", 2, ("127.0.0.1", 50001))
    assert (answer.code, fields_of(answer)["queueOffset"]) == (0, "1")
    assert fields_of(answer)["msgId"] == f"{first.msg_id},{second.msg_id}"
    assert stand.broker.statistics.topic_put_nums == {"T": 3}


@every
@behaviour("SEND-05")
def test_the_header_says_whether_a_body_is_a_batch(profile: str) -> None:
    stand = Stand(profile)
    body = batch_request().body
    assert stand.ask(send_request(code=320, body=body)).code == 0
    assert len(stand.stored()) == 1
    assert stand.ask(send_request(code=310, body=body, batch=True)).code == 0
    assert len(stand.stored()) == 3


@every
@behaviour("BAT-01", "SEND-22")
def test_a_batch_may_leave_the_queue_to_the_broker(profile: str) -> None:
    stand = Stand(profile)
    stand.topic(write=3, read=9)
    stand.random.feed(5)
    answer = stand.ask(batch_request(queue_id=-1))
    assert fields_of(answer)["queueId"] == "2"
    assert {message.queue_id for message in stand.stored()} == {2}


@every
@behaviour("BAT-01", "SEND-21")
def test_a_batch_for_a_topic_deleted_after_the_check_stores_nothing(profile: str) -> None:
    stand = Stand(profile)
    stand.topic()
    stand.scheduler.stops = lambda _, pause: pause.name == "append"
    stand.request(batch_request())
    stand.broker.topics.delete("T")
    stand.scheduler.stops = None
    stand.scheduler.resume(stand.executors["send"].running[0])
    (answer,) = stand.channel.written
    assert str(answer.remark).startswith("java.lang.NullPointerException")
    assert stand.stored() == []


@pytest.mark.parametrize(("length", "code"), [(127, 0), (128, 13)])
@behaviour("BAT-02")
def test_earlier_brokers_measure_the_topic_of_a_batch(length: int, code: int) -> None:
    stand = Stand("P45")
    answer = stand.ask(batch_request("x" * length))
    assert answer.code == code
    if code:
        assert answer.remark == "message topic length too long 128"
        assert answer.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


@pytest.mark.parametrize(("profile", "code"), [("P40", 13), ("P45", 0), ("P49", 0), ("P494", 0)])
@behaviour("BAT-02", "HAZ-38")
def test_only_the_earliest_brokers_refuse_a_batch_to_a_retry_topic(profile: str, code: int) -> None:
    stand = Stand(profile, auto_create_subscription_group=False)
    answer = stand.ask(batch_request("%RETRY%g", reconsume_times=99))
    assert answer.code == code
    if code:
        assert answer.remark == "batch request does not support retry group %RETRY%g"
    else:
        assert {(message.topic, message.reconsume_times) for message in stand.stored()} == {("%RETRY%g", 99)}
    assert batch_problem("T", batch_retry=False) is None


@pytest.mark.parametrize(("profile", "cluster"), [("P40", False), ("P45", False), ("P49", True), ("P494", True)])
@behaviour("BAT-03")
def test_later_brokers_add_their_cluster(profile: str, cluster: bool) -> None:
    stand = Stand(profile)
    stand.ask(batch_request(properties="TAGS\x01a\x02"))
    text = stand.last().properties_text
    found = parse_properties(text, exact=False)
    assert found == ({"TAGS": "a", "CLUSTER": "DefaultCluster"} if cluster else {})


@every
@behaviour("BAT-03", "DLQ-05")
def test_the_topics_filter_type_marks_each_message(profile: str) -> None:
    stand = Stand(profile)
    stand.topic(topic_filter_type=MULTI_TAG)
    stand.ask(batch_request(sys_flag=1))
    assert {message.sys_flag for message in stand.stored()} == {3}


@every
@behaviour("BAT-03", "HAZ-38")
def test_a_batch_knows_no_transactions(profile: str) -> None:
    stand = Stand(profile, reject_transaction_message=True)
    assert stand.ask(batch_request(properties="TRAN_MSG\x01true\x02")).code == 0
    assert {message.topic for message in stand.stored()} == {"T"}


@pytest.mark.parametrize("fields", [{"sys_flag": 4}, {"properties": "DELAY\x013\x02"}])
@every
@behaviour("BAT-04")
def test_a_batch_has_no_delay_and_no_transaction_bits(profile: str, fields: dict[str, object]) -> None:
    stand = Stand(profile)
    assert stand.ask(batch_request(**fields)).code == 13  # type: ignore[arg-type]
    assert stand.stored() == []
