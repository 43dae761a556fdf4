"""Queue selection: round robin, another broker on a retry, and the latency-fault mode."""

from __future__ import annotations

import pytest
from client_doubles import ADDRESS, Field, route
from marks import behaviour
from simulated import present

from rocketproof_impl.java import INT_MAX, INT_MIN
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import ClientError
from rocketproof_impl.producer.publish import PublishInfo, publish_info
from rocketproof_impl.producer.selection import Counter, LatencyFault, RoundRobin, not_available_duration, position, random_counter
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.scheduler import SimulatedClock
from rocketproof_protocol.codes import SYSTEM_ERROR


def info_of(**queues: int) -> PublishInfo:
    """Return a publish info of brokers a, b … with these numbers of queues."""
    return publish_info("T", route(*((f"broker-{name}", count, count, 6) for name, count in queues.items())))


def places(info: PublishInfo) -> list[str]:
    return [f"{queue.broker_name[-1]}{queue.queue_id}" for queue in info.message_queue_list]


def choices(robin: RoundRobin, info: PublishInfo, last: str | None, count: int) -> list[str]:
    chosen = [robin.choose(info, last) for _ in range(count)]
    return [f"{queue.broker_name[-1]}{queue.queue_id}" for queue in chosen]


# Round robin


@behaviour("CLI-23", "CLI-24", "HAZ-34")
@pytest.mark.parametrize(
    ("start", "info", "last", "queues"),
    [
        (0, info_of(a=2, b=1), None, "a0 a1 b0 a0 a1 b0 a0"),
        (2, info_of(a=2, b=1), None, "b0 a0"),
        (INT_MAX - 1, info_of(a=5), None, "a1 a2 a0 a2 a1"),  # the counter wraps, and its absolute value decreases
        (1, info_of(a=2), "broker-c", "a1"),  # a broker that is not in the list excludes nothing
    ],
)
def test_queues_are_taken_in_turn(start: int, info: PublishInfo, last: str | None, queues: str) -> None:
    assert choices(RoundRobin(Counter(start)), info, last, len(queues.split())) == queues.split()


@behaviour("CLI-23", "HAZ-34")
@pytest.mark.parametrize(
    ("value", "size", "expected"),
    [(0, 3, 0), (5, 3, 2), (-5, 3, 2), (INT_MAX, 4, 3), (INT_MIN, 3, 0), (INT_MIN, 4, 0), (INT_MIN + 1, 4, 3)],
)
def test_positions_in_javas_arithmetic(value: int, size: int, expected: int) -> None:
    """In Java, abs of the smallest int is negative and its remainder by 3 is -2: the position becomes 0."""
    assert position(value, size) == expected


@behaviour("CLI-23")
@pytest.mark.parametrize(("drawn", "start"), [(7, 7), (-7, 7), (0, 0), (INT_MIN, 0), (INT_MAX, INT_MAX)])
def test_the_counter_starts_at_a_number_that_is_not_negative(drawn: int, start: int) -> None:
    random = SimulatedRandomness()
    random.feed(drawn)
    assert random_counter(random).value == start


@behaviour("CLI-24")
def test_a_retry_takes_the_next_queue_of_another_broker() -> None:
    robin = RoundRobin(Counter(0))
    info = info_of(a=3, b=2)
    assert choices(robin, info, "broker-a", 3) == ["b0", "b1", "b0"]
    assert choices(robin, info, "broker-b", 1) == ["a0"]
    assert robin.counter.value == 11, "the positions that were passed over are used up"


@behaviour("CLI-24")
def test_retry_on_the_only_broker_continues_after_one_round() -> None:
    robin = RoundRobin(Counter(0))
    assert choices(robin, info_of(a=3), "broker-a", 2) == ["a0", "a1"]
    assert robin.counter.value == 8, "twice three positions checked and one taken"


@behaviour("CLI-23")
def test_producer_shares_one_counter_over_all_topics() -> None:
    field = Field()
    producer = field.producer()
    field.server.routes["T"] = route(("broker-a", 4, 4, 6))
    field.server.routes["U"] = route(("broker-a", 4, 4, 6))
    taken = [field.run(producer.send(Message(topic, body=b"x"))).queue.queue_id for topic in "TUT"]
    assert taken == [0, 1, 2]
    producer.choose = lambda info, last: info.message_queue_list[3]
    assert field.run(producer.send(Message("T", body=b"x"))).queue.queue_id == 3


# Latency-fault mode


class Faults:
    """Latency-fault mode on a clock, with counters that start at 0."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        random = SimulatedRandomness()
        random.feed(0)
        self.mode = LatencyFault(RoundRobin(Counter(0)), self.clock, random)

    def choose(self, info: PublishInfo) -> str:
        queue = self.mode.choose(info, None)
        return f"{queue.broker_name[-1]}{queue.queue_id}"


@behaviour("CLI-25")
@pytest.mark.parametrize(
    ("latency", "duration"),
    [
        (0, 0),
        (49, 0),
        (50, 0),
        (100, 0),
        (549, 0),
        (550, 30_000),
        (999, 30_000),
        (1000, 60_000),
        (1999, 60_000),
        (2000, 120_000),
        (2999, 120_000),
        (3000, 180_000),
        (14_999, 180_000),
        (15_000, 600_000),
        (30_000, 600_000),
    ],
)
def test_slow_broker_is_avoided_for_a_time_by_latency(latency: int, duration: int) -> None:
    assert not_available_duration(latency) == duration


@behaviour("CLI-25")
def test_avoided_broker_becomes_available_after_its_time() -> None:
    faults = Faults()
    assert faults.mode.is_available("broker-a")
    faults.mode.update("broker-a", 550, isolation=False)
    faults.clock.time += 29_999
    assert not faults.mode.is_available("broker-a")
    faults.clock.time += 1
    assert faults.mode.is_available("broker-a")
    faults.mode.update("broker-a", 1, isolation=True)
    faults.clock.time += 599_999
    assert not faults.mode.is_available("broker-a"), "a failure counts as 30 s, which is 600 s of rest"
    faults.mode.update("broker-a", 1, isolation=False)
    assert faults.mode.is_available("broker-a")


@behaviour("CLI-25")
def test_available_brokers_are_preferred() -> None:
    faults = Faults()
    info = info_of(a=2, b=2)
    assert [faults.choose(info) for _ in range(3)] == ["a0", "a1", "b0"]
    faults.mode.update("broker-a", 3000, isolation=False)
    assert [faults.choose(info) for _ in range(4)] == ["b1", "b0", "b0", "b0"]
    assert places(info) == ["a0", "a1", "b0", "b1"]


@behaviour("CLI-25", "HAZ-27")
def test_without_available_brokers_a_cached_queue_is_overwritten() -> None:
    faults = Faults()
    info = info_of(a=2, b=2)
    faults.mode.update("broker-a", 5000, isolation=True)
    faults.mode.update("broker-b", 10, isolation=True)
    assert faults.choose(info) == "b0", "the counter is at 0, 1 gives the queue, 2 its id"
    assert places(info) == ["a0", "b0", "b0", "b1"], "the list has b0 twice and no a1"
    assert faults.mode.items["broker-b"].current_latency == 10


@behaviour("CLI-25", "HAZ-27")
@pytest.mark.parametrize(
    ("info", "latencies", "chosen", "known", "queues"),
    [
        (info_of(a=1, b=2), (10, 20), "a0", {"broker-a", "broker-b"}, "a0 a0 b1"),  # a broker with a single queue is eligible
        (info_of(a=2), (20, 10), "a1", {"broker-a"}, "a0 a1"),  # a broker that has left the route is removed
    ],
)
def test_without_available_brokers_the_route_decides(
    info: PublishInfo, latencies: tuple[int, int], chosen: str, known: set[str], queues: str
) -> None:
    faults = Faults()
    for broker, latency in zip(("broker-a", "broker-b"), latencies, strict=True):
        faults.mode.update(broker, latency, isolation=True)
    assert faults.choose(info) == chosen
    assert (set(faults.mode.items), places(info)) == (known, queues.split())


@behaviour("CLI-25")
def test_better_half_of_the_brokers_is_eligible() -> None:
    """Available before unavailable, then the faster, then the earlier return."""
    faults = Faults()
    for name, latency in (("d", 4), ("c", 3), ("b", 2), ("a", 1)):
        faults.mode.update(name, latency, isolation=True)
    assert [faults.mode._pick_one_at_least() for _ in range(3)] == ["a", "b", "a"]
    faults.mode.update("d", 4, isolation=False)
    assert [faults.mode._pick_one_at_least() for _ in range(2)] == ["a", "d"]
    faults.clock.time += 1
    faults.mode.update("a", 2, isolation=True)
    assert [faults.mode._pick_one_at_least() for _ in range(2)] == ["b", "d"]


@behaviour("CLI-25")
def test_equally_slow_brokers_are_ordered_by_earlier_return() -> None:
    faults = Faults()
    for name in ("a", "b"):
        faults.mode.update(name, 5, isolation=True)
    faults.clock.time += 1
    faults.mode.update("a", 5, isolation=True)
    assert [faults.mode._pick_one_at_least() for _ in range(2)] == ["b", "b"]


@behaviour("CLI-25")
def test_attempts_are_recorded_with_their_latency() -> None:
    field = Field()
    assert field.producer("other").latency_fault is None, "the mode is off by default"
    producer = field.producer(settings=ProducerSettings(send_latency_fault_enable=True, retry_times_when_send_failed=0))
    mode = present(producer.latency_fault)
    field.server.routes["T"] = route(("broker-a", 1, 1, 6), ("broker-b", 1, 1, 6))
    field.delay(to=ADDRESS["broker-a"], millis=600)
    field.run(producer.send(Message("T", body=b"x")))
    now = field.clock.now()
    assert (mode.items["broker-a"].current_latency, mode.items["broker-a"].start_timestamp) == (600, now + 30_000)
    field.brokers["broker-b"].script.append(SYSTEM_ERROR)
    with pytest.raises(ClientError):
        field.run(producer.send(Message("T", body=b"x")))
    item = mode.items["broker-b"]
    assert (item.current_latency, item.start_timestamp) == (0, now + 600_000), "an error answer isolates"
