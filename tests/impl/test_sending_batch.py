"""Several messages in one request."""

from __future__ import annotations

import pytest
from marks import ALL_PROFILES, behaviour, every, later
from sending import BY_ZERO, Stand, batch_request, send_request, thrown
from simulated import fields_of

from rocketproof_impl.broker.batch import batch_problem
from rocketproof_impl.message import parse_properties
from rocketproof_impl.topic import MULTI_TAG


@pytest.fixture
def stand(profile: str) -> Stand:
    return Stand(profile)


@every
@behaviour("BAT-01", "BAT-03", "BAT-04", "SEND-05")
def test_a_batch_is_stored_as_its_messages(stand: Stand) -> None:
    stand.send()
    answer = stand.ask(batch_request(queue_id=0, flag=5, reconsume_times=2))
    first, second = stand.stored()[1:]
    assert (first.body, second.body, first.queue_offset, second.queue_offset) == (b"one", b"two", 1, 2)
    assert (first.topic, first.reconsume_times, first.born_host) == ("T", 2, ("127.0.0.1", 50001))
    assert (answer.code, fields_of(answer)["queueOffset"]) == (0, "1")
    assert fields_of(answer)["msgId"] == f"{first.msg_id},{second.msg_id}"
    assert stand.broker.statistics.topic_put_nums == {"T": 3}


@pytest.mark.parametrize(("said", "stored"), [(None, 0), (0, 0), (1, 1), (2, 2)])
@every
@behaviour("BAT-03", "SEND-25")
def test_reconsume_times_are_those_of_the_header_or_0(stand: Stand, said: int | None, stored: int) -> None:
    stand.send(reconsume_times=said)
    assert stand.ask(batch_request(reconsume_times=said)).code == 0
    assert [one.reconsume_times for one in stand.stored()] == [stored] * 3


@every
@behaviour("SEND-05", "BAT-03")
def test_the_header_decides_whether_a_body_is_a_batch(stand: Stand) -> None:
    body = batch_request().body
    assert stand.ask(send_request(code=320, body=body)).code == 0
    assert len(stand.stored()) == 1
    for code, stored in ((310, 3), (10, 5)):
        answer = stand.ask(send_request(code=code, body=body, batch=True))
        assert len(fields_of(answer)["msgId"].split(",")) == 2
        assert len(stand.stored()) == stored


@every
@behaviour("BAT-01", "SEND-22")
def test_broker_chooses_the_queue_of_a_batch(stand: Stand) -> None:
    stand.topic(write=3, read=9)
    stand.random.feed(5)
    answer = stand.ask(batch_request(queue_id=-1))
    assert fields_of(answer)["queueId"] == "2"
    assert {message.queue_id for message in stand.stored()} == {2}


@every
@behaviour("BAT-01", "SEND-21")
def test_batch_to_a_topic_deleted_meanwhile_stores_nothing(stand: Stand) -> None:
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


@behaviour("BAT-02", "SEND-22", "HAZ-38")
def test_only_the_earliest_broker_refuses_batches_to_retry_topics() -> None:
    for profile in ALL_PROFILES[1:]:
        stand = Stand(profile, auto_create_subscription_group=False)
        assert stand.ask(batch_request("%RETRY%g", reconsume_times=99)).code == 0
        assert {(message.topic, message.reconsume_times) for message in stand.stored()} == {("%RETRY%g", 99)}
    stand = Stand("P40")
    answer = stand.ask(batch_request("%RETRY%g"))
    assert (answer.code, answer.remark) == (13, "batch request does not support retry group %RETRY%g")
    assert stand.broker.topics.table["%RETRY%g"].write_queue_nums == 4
    stand.topic("%RETRY%z", write=0, read=1)
    assert thrown(stand.ask(batch_request("%RETRY%z", queue_id=-1)), BY_ZERO)
    assert batch_problem("T", batch_retry=False) is None


@pytest.mark.parametrize(("profile", "cluster"), [("P40", False), ("P45", False), ("P49", True), ("P494", True)])
@behaviour("BAT-03")
def test_later_brokers_add_their_cluster(stand: Stand, cluster: bool) -> None:
    stand.ask(batch_request(properties="TAGS\x01a\x02"))
    text = stand.last().properties_text
    found = parse_properties(text, exact=False)
    assert found == ({"TAGS": "a", "CLUSTER": "DefaultCluster"} if cluster else {})


@every
@behaviour("BAT-03", "DLQ-05")
def test_the_topics_filter_type_marks_each_message(stand: Stand) -> None:
    stand.topic(topic_filter_type=MULTI_TAG)
    stand.ask(batch_request(sys_flag=1))
    assert {message.sys_flag for message in stand.stored()} == {3}


@every
@behaviour("BAT-03", "HAZ-38")
def test_batch_ignores_transactions(profile: str) -> None:
    stand = Stand(profile, reject_transaction_message=True)
    assert stand.ask(batch_request(properties="TRAN_MSG\x01true\x02")).code == 0
    assert {message.topic for message in stand.stored()} == {"T"}


@every
@behaviour("BAT-04", "CL-02")
def test_a_batch_has_no_delay_and_no_transaction_bits(stand: Stand) -> None:
    assert thrown(stand.ask(batch_request(properties="DELAY\x01a\x02")), 'java.lang.NumberFormatException: For input string: "a", ')
    for illegal in (batch_request(sys_flag=4), batch_request(properties="DELAY\x011\x02")):
        assert stand.ask(illegal).code == 13
    assert stand.stored() == []
    assert stand.ask(batch_request(properties="DELAY\x010\x02")).code == 0
    assert len(stand.stored()) == 2


@pytest.mark.parametrize(("profile", "served"), [("P45", False), ("P49", False), ("P492", False), ("P494", True)])
@behaviour("BAT-04", "APP-06", "REM-08")
def test_only_the_recorded_broker_accepts_batch_records_above_the_limit(profile: str, served: bool) -> None:
    stand = Stand(profile, max_message_size=100)
    answer = stand.ask(batch_request(bodies=(b"x" * 28, b"x" * 28)))  # 100 bytes
    assert (answer.code == 0) if served else thrown(answer, "java.lang.RuntimeException: message size exceeded, ")
    assert len(stand.stored()) == (2 if served else 0)
    assert stand.ask(batch_request(bodies=(b"x" * 79,))).code == 13  # 101 bytes


@pytest.mark.parametrize(("profile", "cluster", "ids"), [("P45", 0, 2), ("P49", 22, 3)])
@behaviour("BAT-04", "HAZ-22", "APP-07")
def test_lost_batch_is_answered_with_the_offsets_that_fitted(profile: str, cluster: int, ids: int) -> None:
    """A file has room for two of the three messages; the third has offset 0, or none."""
    size = 93 + cluster
    stand = Stand(profile, mapped_file_size_commit_log=2 * size + 14)
    answer = stand.ask(batch_request("T", (b"a", b"b", b"c")))
    start = stand.settings.mapped_file_size_commit_log
    places = [start, start + size, 0][:ids]
    assert fields_of(answer)["msgId"].split(",") == [f"7F00000100002A9F{place:016X}" for place in places]
    assert stand.stored() == []


@later
@behaviour("BAT-04")
def test_properties_limit_of_a_batch_covers_its_header_alone(stand: Stand) -> None:
    answer = stand.ask(batch_request(properties="K\x01" + "v" * 32767))
    assert thrown(answer, "java.lang.RuntimeException: Properties size of messageExtBatch exceeded!, ")


@pytest.mark.parametrize(("size", "kept"), [(30000, 30025), (40000, 0), (70000, 70025 - 65536)])
@behaviour("BAT-04", "REM-08")
def test_earlier_batch_headers_truncate_lengths_to_a_short(size: int, kept: int) -> None:
    stand = Stand("P492")
    assert stand.ask(batch_request(properties="K\x01" + "v" * size)).code == 0
    assert [len(one.properties_text or "") for one in stand.stored()] == [kept, kept]
    assert [one.store_size for one in stand.stored()] == [91 + len("oneT") + kept] * 2, "the record has no room for the lost bytes"
    answer = stand.ask(batch_request(properties="K\x01" + "v" * size, of_items="A\x01b"))
    assert (answer.code == 0) if kept else thrown(answer, "java.nio.BufferUnderflowException, ")


@pytest.mark.parametrize(("profile", "stored"), [("P410", [0, 0]), ("P420", [0])])
@behaviour("SEND-42", "BAT-01", "INV-02")
def test_batch_of_4_1_is_answered_twice(profile: str, stored: list[int]) -> None:
    for request, codes in (
        (batch_request(), stored),
        (batch_request(queue_id=99), [1]),
        (batch_request(one_way=True), []),
        (send_request(), [0]),
    ):
        stand = Stand(profile)
        stand.broker.receive(stand.channel, request)
        stand.scheduler.advance(10_000)
        assert [answer.code for answer in stand.channel.written] == codes
        assert len({answer.opaque for answer in stand.channel.written}) == bool(codes)
