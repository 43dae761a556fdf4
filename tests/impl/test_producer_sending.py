"""Sending: attempts, time, results, failures, the three modes, and the bytes on the wire."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest
from client_doubles import ADDRESS, NAME_SERVER, Field, route
from marks import behaviour, every
from simulated import present

from rocketproof_impl.message import Message, parse_properties
from rocketproof_impl.producer import errors
from rocketproof_impl.producer.draft import Draft, batch_of
from rocketproof_impl.producer.errors import BrokerError, ClientError, TooMuchRequest
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo
from rocketproof_impl.producer.result import SendResult, SendStatus, send_result
from rocketproof_impl.producer.settings import RETRY_RESPONSE_CODES, ProducerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import ConnectFailed, SendFailed
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, parse_request_header
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.simulator.network import Packet
from rocketproof_impl.tasks import TaskInterrupted
from rocketproof_protocol import codes
from rocketproof_protocol.properties import UNIQ_KEY, WAIT

A, B = ADDRESS["broker-a"], ADDRESS["broker-b"]


@pytest.fixture
def field() -> Field:
    """Return a field with a topic T that has one queue on broker-a and one on broker-b."""
    made = Field()
    made.server.routes["T"] = route(("broker-a", 1, 1, 6), ("broker-b", 1, 1, 6))
    return made


def send(field: Field, producer: Producer, message: Message | None = None, timeout: int = 3000) -> SendResult:
    result = field.run(producer.send(message or Message("T", body=b"x"), timeout))
    assert isinstance(result, SendResult)
    return result


def requests(field: Field) -> list[int]:
    """Return the number of requests that each broker got."""
    return [len(broker.requests) for broker in field.brokers.values()]


def header(command: Command) -> SendMessageRequestHeader:
    return present(parse_request_header(command.code, command.ext_fields))


# Results


@pytest.fixture
def producer(field: Field) -> Producer:
    return field.producer()


@behaviour("CLI-26", "CLI-29")
def test_a_send_is_checked_routed_addressed_and_sent(producer: Producer, field: Field) -> None:
    result = send(field, producer)
    assert result.status is SendStatus.SEND_OK
    assert (result.queue, result.queue_offset, result.offset_msg_id) == (MessageQueue("T", "broker-a", 0), 5, "7F0000")
    assert (result.region, result.trace_on) == ("DefaultRegion", True)
    assert requests(field) == [1, 0, 0]


@behaviour("CLI-26")
def test_send_pauses_between_route_and_request(producer: Producer, field: Field) -> None:
    field.scheduler.stops = lambda task, pause: True
    task = field.scheduler.spawn(producer.send(Message("T", body=b"x")))
    field.scheduler.settle()
    assert task.at is not None and task.at.name == "routed"
    assert field.server.asked == ["T"]
    field.scheduler.resume(task)
    assert task.at is not None and task.at.name == "chosen"
    assert requests(field) == [0, 0, 0]
    field.scheduler.resume(task)
    assert task.result().status is SendStatus.SEND_OK


@behaviour("CLI-29")
@pytest.mark.parametrize(
    ("code", "status"), [(0, "SEND_OK"), (10, "FLUSH_DISK_TIMEOUT"), (11, "SLAVE_NOT_AVAILABLE"), (12, "FLUSH_SLAVE_TIMEOUT")]
)
def test_four_codes_are_results(field: Field, code: int, status: str) -> None:
    field.brokers["broker-a"].script.append(code)
    assert send(field, field.producer()).status is SendStatus[status]
    assert requests(field) == [1, 0, 0], "a stored message is not sent again"


@behaviour("CLI-29")
def test_result_has_the_fields_of_the_answer() -> None:
    fields = {"msgId": "7F", "queueId": "3", "queueOffset": "9", "MSG_REGION": "r", "TRACE_ON": "false"}
    result = send_result(Command(codes.SUCCESS, fields), "T", "broker-a", "U")
    assert result == SendResult(SendStatus.SEND_OK, "U", MessageQueue("T", "broker-a", 3), 9, "r", False, "7F")
    for code in (codes.SYSTEM_ERROR, codes.SYSTEM_BUSY, codes.MESSAGE_ILLEGAL, 13, 14, 16, 17):
        with pytest.raises(BrokerError) as caught:
            send_result(Command(code, remark="why"), "T", "broker-a", "U")
        assert (caught.value.code, caught.value.remark) == (code, "why")


@behaviour("CLI-29", "HAZ-29")
@pytest.mark.parametrize("code", [codes.FLUSH_DISK_TIMEOUT, codes.FLUSH_SLAVE_TIMEOUT, codes.SLAVE_NOT_AVAILABLE])
def test_result_other_than_ok_is_retried_on_another_broker(field: Field, code: int) -> None:
    producer = field.producer(settings=ProducerSettings(retry_another_broker_when_not_store_ok=True))
    field.brokers["broker-a"].script.append(code)
    assert send(field, producer).status is SendStatus.SEND_OK
    assert requests(field) == [1, 1, 0]
    keys = {parse_properties(header(broker.requests[0]).properties, exact=False)["UNIQ_KEY"] for broker in list(field.brokers.values())[:2]}
    assert len(keys) == 1, "both brokers store the message under the same key"


@behaviour("CLI-29", "CLI-30")
@pytest.mark.parametrize("then", [codes.SYSTEM_ERROR, codes.SYSTEM_BUSY])
def test_kept_result_takes_precedence_over_later_failures(field: Field, then: int) -> None:
    producer = field.producer(settings=ProducerSettings(retry_another_broker_when_not_store_ok=True))
    field.brokers["broker-a"].script.extend([codes.FLUSH_DISK_TIMEOUT, then])
    field.brokers["broker-b"].script.append(then)
    assert send(field, producer).status is SendStatus.FLUSH_DISK_TIMEOUT


@behaviour("CLI-28", "CLI-29")
def test_kept_result_takes_precedence_over_the_timeout(field: Field) -> None:
    """The first broker reports a late flush at the end of the timeout: the message is stored, and no time is left for another broker."""
    producer = field.producer(settings=ProducerSettings(retry_another_broker_when_not_store_ok=True))
    field.brokers["broker-a"].script.append(codes.FLUSH_DISK_TIMEOUT)
    choose_late(field, producer, 101)
    assert send(field, producer, timeout=100).status is SendStatus.FLUSH_DISK_TIMEOUT
    assert requests(field) == [1, 0, 0]


def choose_late(field: Field, producer: Producer, millis: int) -> None:
    """Delay the start of each attempt after the first by this time."""

    def choose(info: PublishInfo, last: str | None) -> MessageQueue:
        if last is not None:
            field.clock.time += millis
        return producer.round_robin.choose(info, last)

    producer.choose = choose


# Retries of a synchronous send


@behaviour("CLI-27", "CLI-30", "CLI-24", "LIV-07", "HAZ-44")
def test_three_attempts_and_no_more(producer: Producer, field: Field) -> None:
    for broker in field.brokers.values():
        broker.script.extend([codes.TOPIC_NOT_EXIST] * 9)
    with pytest.raises(ClientError) as caught:
        send(field, producer)
    text = "Send [3] times, still failed, cost [0]ms, Topic: T, BrokersSent: [broker-a, broker-b, broker-a]\nSee "
    assert caught.value.message.startswith(text)
    assert caught.value.code == codes.TOPIC_NOT_EXIST
    assert requests(field) == [2, 1, 0]


@behaviour("CLI-27", "CLI-35")
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("retries", [0, 1, 4])
def test_the_number_of_retries_is_a_setting(field: Field, retries: int, batch: bool) -> None:
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_failed=retries))
    for broker in field.brokers.values():
        broker.script.extend([codes.SYSTEM_ERROR] * 9)
    message = Message("T", body=b"a")
    with pytest.raises(ClientError, match=rf"^Send \[{retries + 1}\] times"):
        field.run(producer.send_batch([message]) if batch else producer.send(message))
    assert sum(requests(field)) == retries + 1


@behaviour("CLI-30", "M-112")
@pytest.mark.parametrize("code", [17, 14, 1, 16, 204, 205])
def test_these_codes_are_retried(field: Field, code: int) -> None:
    field.brokers["broker-a"].script.append(code)
    assert send(field, field.producer()).queue.broker_name == "broker-b"
    assert requests(field) == [1, 1, 0]


@behaviour("CLI-30", "M-112")
@pytest.mark.parametrize("code", [2, 13, 3, 26, 18, 206])
def test_other_codes_are_not_retried_at_any_attempt(producer: Producer, field: Field, code: int) -> None:
    field.brokers["broker-a"].script.extend([code, code])
    field.brokers["broker-b"].script.append(codes.TOPIC_NOT_EXIST)
    for attempts in ([1, 0, 0], [2, 1, 0]):
        with pytest.raises(BrokerError) as caught:
            send(field, producer)
        assert (caught.value.code, caught.value.remark) == (code, f"code {code}")
        assert requests(field) == attempts


@behaviour("CLI-30")
def test_the_retry_set_is_data(field: Field) -> None:
    assert set(RETRY_RESPONSE_CODES) == {17, 14, 1, 16, 204, 205}
    producer = field.producer(settings=ProducerSettings(retry_response_codes=frozenset({codes.SYSTEM_BUSY})))
    field.brokers["broker-a"].script.append(codes.SYSTEM_BUSY)
    assert send(field, producer).queue.broker_name == "broker-b"


@behaviour("CLI-30")
def test_a_broker_that_cannot_be_reached_is_10001(field: Field) -> None:
    field.network.close(A)
    field.network.close(B)
    with pytest.raises(ClientError, match=r"^Send \[3\] times") as caught:
        send(field, field.producer())
    assert caught.value.code == errors.CONNECT_BROKER_EXCEPTION == 10001
    assert isinstance(caught.value.__cause__, ConnectFailed)


@behaviour("CLI-30")
def test_retry_moves_from_a_dead_to_a_living_broker(field: Field) -> None:
    field.network.close(A)
    assert send(field, field.producer()).queue.broker_name == "broker-b"


@behaviour("CLI-28", "CLI-30", "M-113")
@pytest.mark.parametrize("retries", [0, 2])
def test_timeout_is_10002_and_uses_the_time_of_all_attempts(field: Field, retries: int) -> None:
    """A second and a third attempt start with no time left, which is allowed, and end at once."""
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_failed=retries))
    field.network.plan = lambda packet: [0] if NAME_SERVER in (packet.source, packet.target) else []
    begin = field.clock.now()
    with pytest.raises(ClientError, match=rf"^Send \[{retries + 1}\] times, still failed, cost \[3000\]ms") as caught:
        send(field, producer)
    assert field.clock.now() - begin == 3000
    assert caught.value.code == errors.ACCESS_BROKER_TIMEOUT == 10002


@behaviour("CLI-30")
def test_a_broker_without_an_address_is_10003(producer: Producer, field: Field) -> None:
    send(field, producer)
    producer.client.broker_addr_table.clear()
    with pytest.raises(ClientError, match=r"^Send \[3\] times") as caught:
        send(field, producer)
    assert caught.value.code == errors.BROKER_NOT_EXIST_EXCEPTION == 10003
    assert str(caught.value.__cause__).startswith("The broker[broker-")


@behaviour("CLI-30")
def test_the_last_failure_gives_the_code(field: Field) -> None:
    field.brokers["broker-a"].script.extend([codes.SYSTEM_ERROR, codes.NO_PERMISSION])
    field.network.close(B)
    with pytest.raises(ClientError) as caught:
        send(field, field.producer())
    assert caught.value.code == codes.NO_PERMISSION


@behaviour("CLI-30")
def test_a_lost_connection_has_no_code_of_its_own(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_failed=0))
    field.lose(to=A)
    task = field.scheduler.spawn(producer.send(Message("T", body=b"x")))
    field.scheduler.settle()
    field.network.close(A)
    field.scheduler.settle()
    with pytest.raises(ClientError) as caught:
        task.result()
    assert caught.value.code == -1
    assert isinstance(caught.value.__cause__, SendFailed)


@behaviour("CLI-30")
def test_an_interrupted_send_ends_at_once(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(send_latency_fault_enable=True))
    field.lose(to=A)
    task = field.scheduler.spawn(producer.send(Message("T", body=b"x")))
    field.scheduler.advance(100)
    field.scheduler.interrupt(task, TaskInterrupted())
    with pytest.raises(TaskInterrupted):
        task.result()
    assert requests(field) == [0, 0, 0]
    assert producer.latency_fault is not None
    assert producer.latency_fault.is_available("broker-a"), "100 ms are not isolated"


# Time


@behaviour("CLI-28", "LIV-07", "M-113")
def test_each_attempt_has_the_remaining_time(field: Field) -> None:
    """broker-a answers with a failure after 2 s, broker-b does not answer: its timeout is one second."""
    field.brokers["broker-a"].script.append(codes.SYSTEM_ERROR)
    field.network.plan = lambda packet: [2000] if packet.answer and packet.source == A else [] if packet.target == B else [0]
    begin = field.clock.now()
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_failed=1))
    with pytest.raises(ClientError, match=r"cost \[3000\]ms") as caught:
        send(field, producer)
    assert field.clock.now() - begin == 3000
    assert str(caught.value.__cause__).endswith("timeout, 1000(ms)")


@behaviour("CLI-28")
@pytest.mark.parametrize(("late", "attempts"), [(1000, 2), (1001, 1)])
def test_attempt_can_begin_until_its_cost_exceeds_the_timeout(field: Field, late: int, attempts: int) -> None:
    """A second attempt that begins exactly at the timeout is still sent; one millisecond later it is not."""
    field.brokers["broker-a"].script.append(codes.SYSTEM_ERROR)
    producer = field.producer()
    choose_late(field, producer, late)
    if attempts == 2:
        assert send(field, producer, timeout=1000).status is SendStatus.SEND_OK
    else:
        with pytest.raises(TooMuchRequest, match=r"^sendDefaultImpl call timeout$"):
            send(field, producer, timeout=1000)
    assert sum(requests(field)) == attempts


@behaviour("CLI-28")
def test_route_query_counts_towards_the_timeout(field: Field) -> None:
    field.delay(to=NAME_SERVER, millis=1001)
    with pytest.raises(TooMuchRequest, match="sendDefaultImpl call timeout"):
        send(field, field.producer(), timeout=1000)
    assert requests(field) == [0, 0, 0]


@behaviour("CLI-28")
def test_second_query_for_an_address_counts_towards_the_timeout(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_failed=0))
    send(field, producer)
    producer.choose = lambda info, last: MessageQueue("U", "broker-a", 0)
    field.server.routes["U"] = route(("broker-a", 1, 1, 6))
    producer.client.broker_addr_table.clear()
    field.delay(to=NAME_SERVER, millis=1001)
    with pytest.raises(ClientError) as caught:
        send(field, producer, timeout=1000)
    assert str(caught.value.__cause__) == "sendKernelImpl call timeout"
    producer.client.broker_addr_table.clear()
    del producer.topic_publish_info_table["U"]
    field.delay(to=NAME_SERVER, millis=1000)
    assert send(field, producer, timeout=1000).queue.broker_name == "broker-a"


@behaviour("CLI-28", "HAZ-29")
def test_a_late_answer_leads_to_a_second_copy(field: Field) -> None:
    field.lose(to=A, answers=True)
    producer = field.producer()
    result = send(field, producer)
    assert result.queue.broker_name == "broker-b"
    assert requests(field) == [1, 1, 0]
    first, second = (header(field.brokers[name].requests[0]) for name in ("broker-a", "broker-b"))
    assert first.properties == second.properties
    assert result.msg_id in (first.properties or "")


@behaviour("CLI-28", "M-113")
def test_request_after_a_second_query_has_the_remaining_time(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_failed=0))
    send(field, producer)
    producer.choose = lambda info, last: MessageQueue("U", "broker-a", 0)
    field.server.routes["U"] = route(("broker-a", 1, 1, 6))
    producer.client.broker_addr_table.clear()
    field.network.plan = lambda packet: [400] if packet.source == NAME_SERVER else [] if packet.source == A else [0]
    with pytest.raises(ClientError, match=r"cost \[1000\]ms") as caught:
        send(field, producer, timeout=1000)
    assert str(caught.value.__cause__).endswith("timeout, 600(ms)")


@behaviour("LIV-07")
@pytest.mark.parametrize("slow", ["brokers", "name server"])
def test_a_send_ends_within_its_time_and_two_refreshes(producer: Producer, field: Field, slow: str) -> None:
    """Case 1: brokers that never answer. Case 2: another thread holds the name servers' lock, and answers take almost 3 s."""
    field.server.routes["TBW102"] = route(("broker-a", 4, 4, 7))
    lock = producer.client.name_server_lock
    if slow == "brokers":
        field.network.plan = lambda packet: [] if packet.answer and packet.source != NAME_SERVER else [0]
    else:
        field.run(lock.acquire())
        field.scheduler.after(2999, lock.release)
        field.delay(to=NAME_SERVER, millis=2999)
    begin = field.clock.now()
    with pytest.raises((ClientError, TooMuchRequest)):
        send(field, producer, Message("unknown", body=b"x"), timeout=2500)
    assert field.clock.now() - begin == (2500 if slow == "brokers" else 3 * 2999)
    assert sum(requests(field)) <= 3


# One-way


@behaviour("CLI-32", "CLI-27", "HAZ-26")
def test_one_way_reports_no_failure_after_the_write(producer: Producer, field: Field) -> None:
    field.brokers["broker-a"].script.append(codes.SYSTEM_ERROR)
    assert field.run(producer.send_oneway(Message("T", body=b"x"))) is None
    assert requests(field) == [1, 0, 0]
    assert field.brokers["broker-a"].requests[0].is_one_way


@behaviour("CLI-27", "CLI-32")
def test_one_way_has_one_attempt_and_reports_earlier_failures(producer: Producer, field: Field) -> None:
    field.network.close(A)
    with pytest.raises(ClientError, match=r"^Send \[1\] times, .* BrokersSent: \[broker-a\]") as caught:
        field.run(producer.send_oneway(Message("T", body=b"x")))
    assert caught.value.code == errors.CONNECT_BROKER_EXCEPTION
    assert requests(field) == [0, 0, 0]


# Asynchronous


def send_async(field: Field, producer: Producer, message: Message | None = None, timeout: int = 3000) -> SendResult | Exception:
    """Return the only outcome of an asynchronous send."""
    outcomes: list[SendResult | Exception] = []
    field.run(producer.send_async(message or Message("T", body=b"x"), outcomes.append, timeout))
    (outcome,) = outcomes
    return outcome


class LosesFirst:
    """A network that loses the connection of the first request after these milliseconds and answers the others."""

    def __init__(self, field: Field, late: int) -> None:
        self._field = field
        self._late = late
        self._endpoint = field.network.endpoint("127.0.0.1:50009")
        self.millis: list[int] = []

    async def call(self, address: str, request: Command, millis: int) -> Command:
        self.millis.append(millis)
        if len(self.millis) == 1:
            self._field.clock.time += self._late
            raise SendFailed("lost")
        return await self._endpoint.call(address, request, millis)

    async def post(self, address: str, request: Command) -> None:
        raise AssertionError("nothing here is one-way")


@behaviour("CLI-31")
def test_async_calls_back_with_the_result(field: Field) -> None:
    outcome = send_async(field, field.producer())
    assert isinstance(outcome, SendResult) and outcome.status is SendStatus.SEND_OK


@behaviour("CLI-31")
@pytest.mark.parametrize("code", [codes.TOPIC_NOT_EXIST, codes.SYSTEM_ERROR, codes.SYSTEM_BUSY])
def test_async_never_retries_an_error_answer(field: Field, code: int) -> None:
    field.brokers["broker-a"].script.append(code)
    outcome = send_async(field, field.producer())
    assert isinstance(outcome, BrokerError) and outcome.code == code
    assert requests(field) == [1, 0, 0]


@behaviour("CLI-31")
@pytest.mark.parametrize("retries", [0, 2])
def test_async_retries_requests_without_an_answer(field: Field, retries: int) -> None:
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_async_failed=retries))
    send(field, producer)
    tried: list[str] = []
    field.network.watch = lambda packet: None if packet.answer else tried.append(packet.target)
    field.network.plan = lambda packet: []
    outcome = send_async(field, producer)
    assert isinstance(outcome, ClientError)
    assert outcome.message == f"wait response timeout {0 if retries else 3000}ms"
    assert tried == [B, A, B][: retries + 1]


@behaviour("CLI-31")
def test_async_retries_a_broker_that_cannot_be_reached(producer: Producer, field: Field) -> None:
    field.network.close(A)
    outcome = send_async(field, producer)
    assert isinstance(outcome, SendResult) and outcome.queue.broker_name == "broker-b"
    field.network.close(B)
    assert isinstance(send_async(field, producer), ConnectFailed)


@behaviour("CLI-31")
def test_async_retries_a_lost_connection(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_async_failed=0))
    field.lose(to=A)
    outcomes: list[SendResult | Exception] = []
    field.scheduler.spawn(producer.send_async(Message("T", body=b"x"), outcomes.append))
    field.scheduler.settle()
    field.network.close(A)
    field.scheduler.settle()
    (outcome,) = outcomes
    assert isinstance(outcome, ClientError) and outcome.message == "send request failed"


@behaviour("CLI-31")
@pytest.mark.parametrize(("late", "reached"), [(1000, 2), (1001, 1)])
def test_async_retries_have_the_remaining_time(field: Field, late: int, reached: int) -> None:
    """broker-a loses the connection after this time; the time left for broker-b may be 0, but not negative."""
    producer = field.producer(settings=ProducerSettings(retry_times_when_send_async_failed=1))
    producer.network = network = LosesFirst(field, late)
    outcome = send_async(field, producer, timeout=1000)
    assert network.millis == [1000, 0][:reached]
    assert isinstance(outcome, SendResult if reached == 2 else TooMuchRequest)


@behaviour("CLI-31", "HAZ-28")
def test_retried_request_keeps_its_queue_and_changes_its_opaque(field: Field) -> None:
    field.server.routes["T"] = route(("broker-a", 8, 8, 6), ("broker-b", 4, 4, 6))
    producer = field.producer()
    producer.round_robin.counter.value = 7
    field.lose(to=A, answers=True)
    field.brokers["broker-b"].script.append(codes.SYSTEM_ERROR)
    outcome = send_async(field, producer)
    assert isinstance(outcome, BrokerError) and outcome.code == codes.SYSTEM_ERROR
    (first,), (second,) = field.brokers["broker-a"].requests, field.brokers["broker-b"].requests
    assert header(first) == header(second)
    assert header(second).queue_id == 7
    assert requests(field) == [1, 1, 0]
    sent: list[Packet] = []
    field.network.watch = sent.append
    field.network.plan = lambda packet: []
    send_async(field, producer)
    opaques = [packet.command.opaque for packet in sent if packet.target != NAME_SERVER]
    assert len(set(opaques)) == 3


@behaviour("CLI-31")
def test_async_passes_refusals_to_the_callback(field: Field) -> None:
    assert isinstance(send_async(field, field.producer("one"), Message("a b", body=b"x")), ClientError)
    assert isinstance(send_async(field, field.new("two")), ClientError)


@behaviour("CLI-31")
def test_a_callback_that_raises_is_not_called_again(field: Field) -> None:
    calls: list[object] = []

    def callback(outcome: object) -> None:
        calls.append(outcome)
        raise ValueError("of the user's making")

    with pytest.raises(ValueError, match="of the user's making"):
        field.run(field.producer().send_async(Message("T", body=b"x"), callback))
    assert len(calls) == 1


@behaviour("CLI-31", "CLI-25")
def test_async_attempts_are_noted(field: Field) -> None:
    producer = field.producer(settings=ProducerSettings(send_latency_fault_enable=True))
    assert producer.latency_fault is not None
    field.network.close(A)
    send_async(field, producer)
    assert not producer.latency_fault.is_available("broker-a")
    assert producer.latency_fault.is_available("broker-b")
    field.brokers["broker-b"].script.append(codes.SYSTEM_BUSY)
    send_async(field, producer)
    assert not producer.latency_fault.is_available("broker-b")


@behaviour("CLI-31")
def test_async_fails_if_the_other_broker_has_left(producer: Producer, field: Field) -> None:
    send(field, producer)
    field.network.close(B)
    del producer.client.broker_addr_table["broker-a"]
    outcome = send_async(field, producer)
    assert isinstance(outcome, ConnectFailed)


# The request


def sent(field: Field, message: Message, **settings: Any) -> Command:
    """Return the request that a producer with these settings sends for a message."""
    field.server.routes[message.topic] = route(("broker-a", 4, 4, 6))
    producer = field.producer("pg", settings=ProducerSettings(**settings))
    producer.round_robin.counter.value = 2
    send(field, producer, message)
    (request,) = field.brokers["broker-a"].requests
    return request


@behaviour("CLI-34", "CLI-35")
def test_the_header_of_a_plain_message(field: Field) -> None:
    request = sent(field, Message("T", body=b"abc", flag=9, properties={"TAGS": "x", "UNIQ_KEY": "U"}))
    assert request.code == codes.SEND_MESSAGE_V2 == 310
    assert request.body == b"abc"
    properties = "UNIQ_KEY\x01U\x02TAGS\x01x"
    expected = SendMessageRequestHeader("pg", "T", "TBW102", 4, 2, 0, field.clock.now(), 9, properties, 0, False, None, False)
    assert header(request) == expected
    assert request.ext_fields is not None and set(request.ext_fields) == set("abcdefghijkm")


@behaviour("CLI-35")
def test_without_the_smart_form_the_header_has_long_names(field: Field) -> None:
    request = sent(field, Message("T", body=b"abc"), send_smart_msg=False)
    assert request.code == codes.SEND_MESSAGE == 10
    assert request.ext_fields is not None and request.ext_fields["defaultTopicQueueNums"] == "4"
    assert header(request).queue_id == 2


@behaviour("CLI-34")
def test_settings_in_the_header(field: Field) -> None:
    found = header(sent(field, Message("T", body=b"abc"), create_topic_key="Base", default_topic_queue_nums=6, unit_mode=True))
    assert (found.default_topic, found.default_topic_queue_nums, found.unit_mode) == ("Base", 6, True)


@behaviour("CLI-34")
@pytest.mark.parametrize(("size", "compressed"), [(4095, False), (4096, True), (10_000, True)])
def test_a_long_body_is_compressed(field: Field, size: int, compressed: bool) -> None:
    message = Message("T", body=b"a" * size)
    request = sent(field, message)
    assert header(request).sys_flag == int(compressed)
    assert request.body is not None
    assert (zlib.decompress(request.body) if compressed else request.body) == b"a" * size
    assert message.body == b"a" * size, "the caller's message keeps its body"


@behaviour("CLI-34")
def test_incompressible_body_is_sent_unchanged(field: Field) -> None:
    noise = field.random._random.randbytes(5000)
    request = sent(field, Message("T", body=noise))
    assert (header(request).sys_flag, request.body) == (0, noise)


@behaviour("CLI-34")
@pytest.mark.parametrize(("value", "flag"), [("true", 4), ("TRUE", 4), ("false", 0), ("yes", 0), ("", 0), (None, 0)])
@pytest.mark.parametrize(("size", "compressed"), [(3, 0), (5000, 1)])
def test_a_half_message_is_flagged_and_may_be_compressed(field: Field, value: str | None, flag: int, size: int, compressed: int) -> None:
    message = Message("T", body=b"a" * size, properties={} if value is None else {"TRAN_MSG": value})
    assert header(sent(field, message)).sys_flag == flag | compressed


@behaviour("CLI-34")
@pytest.mark.parametrize(
    ("topic", "counts", "moved"),
    [
        ("%RETRY%G", {"RECONSUME_TIME": "3", "MAX_RECONSUME_TIMES": "16"}, (3, 16)),
        ("%RETRY%G", {"RECONSUME_TIME": "3"}, (3, None)),
        ("%RETRY%G", {}, (0, None)),
        *((name, {"RECONSUME_TIME": "3", "MAX_RECONSUME_TIMES": "16"}, None) for name in ("T", "%DLQ%G", "%retry%G", "x%RETRY%G")),
    ],
)
def test_counts_move_into_the_header_for_retry_topics_alone(
    field: Field, topic: str, counts: dict[str, str], moved: tuple[int, int | None] | None
) -> None:
    others = {"TAGS": "x", "UNIQ_KEY": "U"}
    found = header(sent(field, Message(topic, body=b"abc", properties=counts | others)))
    assert (found.reconsume_times, found.max_reconsume_times) == (moved or (0, None))
    assert parse_properties(found.properties, exact=False) == (others if moved else counts | others)


@behaviour("CLI-34", "HAZ-29")
def test_message_keeps_its_unique_key(field: Field) -> None:
    message = Message("T", body=b"abc")
    first = header(sent(field, message)).properties
    key = message.properties["UNIQ_KEY"]
    assert len(key) == 32
    assert first == f"UNIQ_KEY\x01{key}"
    producer = field.producer("other")
    assert send(field, producer, message).msg_id == key
    assert send(field, producer, Message("T", body=b"x")).msg_id != key


def test_unique_key_has_its_creation_time(field: Field) -> None:
    """The key has the lower 32 bits of the time, which repeat after seven weeks."""
    client = field.producer().client
    for now in (0x123_FFFF_FFFF, 0x124_0000_0000, 0x124_0ABC_DEF0):
        field.clock.time = now
        assert int(client.unique_id()[20:28], 16) == now % (1 << 32)


@behaviour("CLI-34")
def test_attempts_differ_only_in_queue_and_time(field: Field) -> None:
    counts = {"RECONSUME_TIME": "5", "MAX_RECONSUME_TIMES": "7"}
    draft = Draft(Message("%RETRY%G", body=b"a" * 9000, properties=counts | {"UNIQ_KEY": "U"}), "pg", ProducerSettings())
    first, second = draft.request(1, 10), draft.request(2, 20)
    assert [(header(c).queue_id, header(c).born_timestamp) for c in (first, second)] == [(1, 10), (2, 20)]
    assert first.body == second.body
    for each in (header(first), header(second)):
        assert (each.sys_flag, each.reconsume_times, each.max_reconsume_times, each.properties) == (1, 5, 7, "UNIQ_KEY\x01U")


@behaviour("CLI-35")
def test_batch_is_one_request_with_its_own_code(field: Field) -> None:
    producer = field.producer("pg")
    messages = [Message("T", body=body, flag=flag) for body, flag in ((b"one", 1), (b"three", 2))]
    result = field.run(producer.send_batch(messages))
    (request,) = field.brokers["broker-a"].requests
    assert request.code == codes.SEND_BATCH_MESSAGE == 320
    assert header(request).batch
    keys = [message.properties["UNIQ_KEY"] for message in messages]
    assert result.msg_id == ",".join(keys)
    assert request.body is not None
    rest = request.body
    for message, key in zip(messages, keys, strict=True):
        size, magic, crc, flag, length = struct.unpack(">5i", rest[:20])
        assert (magic, crc, flag, rest[20 : 20 + length]) == (0, 0, message.flag, message.body)
        (properties_length,) = struct.unpack(">h", rest[20 + length : 22 + length])
        assert rest[22 + length : size] == f"UNIQ_KEY\x01{key}".encode()
        assert size == 22 + length + properties_length
        rest = rest[size:]
    assert rest == b""


@behaviour("CLI-35")
def test_messages_that_cannot_share_a_batch(producer: Producer, field: Field) -> None:
    one = Message("T", body=b"x")
    field.run(producer.send_batch([Message("T", body=b"x", properties={"DELAY": level}) for level in ("0", "-1")]))  # no delay
    for messages, text in (
        ([], "messages must not be null or empty"),
        ([one, Message("U", body=b"x")], "topic of the messages"),
        ([Message("T", body=b"x", properties={"DELAY": "1"})], "TimeDelayLevel"),
        ([Message("%RETRY%G", body=b"x")], "Retry Group"),
        ([one, Message("T", body=b"x", properties={"WAIT": "false"})], "waitStoreMsgOK"),
        ([one, Message("T", body=b"")], "body length is zero"),
    ):
        with pytest.raises(ClientError, match=text):
            field.run(producer.send_batch(messages))
    with pytest.raises(ClientError, match="service state not OK"):
        field.run(field.new("other").send_batch([one]))


@behaviour("CLI-35")
def test_batch_encodes_a_missing_body_as_empty() -> None:
    """A producer refuses both; a client that encodes bodies itself does not."""
    without, empty = (batch_of([Message("T", body=body, flag=3), Message("T", body=b"x")], lambda: "U") for body in (None, b""))
    assert without.body == empty.body


@behaviour("CLI-34", "CLI-35")
def test_batch_waits_like_its_messages_and_is_not_compressed(field: Field) -> None:
    producer = field.producer("pg")
    field.run(producer.send_batch([Message("T", body=b"a" * 5000, properties={"WAIT": "false"})]))
    (request,) = field.brokers["broker-a"].requests
    found = header(request)
    assert found.sys_flag == 0
    assert parse_properties(found.properties, exact=False)["WAIT"] == "false"


# Differences between releases


@behaviour("SEND-26", "CLI-34")
@every
def test_last_separator_of_properties_depends_on_release(profile: str) -> None:
    """Earlier brokers store the text unchanged, so their records are a byte longer."""
    cluster = Cluster(1, profile=profile)
    cluster.scheduler.complete(cluster.producer().send(Message("T", body=b"x", properties={UNIQ_KEY: "U", "TAGS": "t"})))
    (found,) = cluster.broker().store.records()
    expected = "UNIQ_KEY\x01U\x02TAGS\x01t\x02" if profile in ("P40", "P45") else "UNIQ_KEY\x01U\x02CLUSTER\x01DefaultCluster\x02TAGS\x01t"
    assert found.properties_text == expected
    assert found.store_size == 91 + 1 + 1 + len(expected)


@behaviour("CLI-34", "CLI-35", "BAT-03")
@every
@pytest.mark.parametrize("wait", [None, "false"])
def test_the_messages_of_a_batch_keep_their_own_keys(profile: str, wait: str | None) -> None:
    """The batch has no unique key of its own, which would replace theirs; its properties only state whether to wait."""
    cluster = Cluster(1, profile=profile)
    given = [Message("T", body=b"x", properties={} if wait is None else {WAIT: wait}) for _ in range(2)]
    result = cluster.scheduler.complete(cluster.producer().send_batch(given))
    keys = [record.properties[UNIQ_KEY] for record in cluster.broker().store.records()]
    assert keys == [each.properties[UNIQ_KEY] for each in given]
    assert result.msg_id == ",".join(keys)
    waits = [record.properties.get(WAIT) for record in cluster.broker().store.records()]
    assert waits == [wait if profile in ("P40", "P45") else wait or "true"] * 2
