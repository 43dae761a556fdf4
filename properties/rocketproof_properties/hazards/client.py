"""Hazards that the producer itself causes."""

from __future__ import annotations

from rocketproof_impl.java import INT_MAX, INT_MIN, absolute, remainder
from rocketproof_impl.message import Message, parse_properties
from rocketproof_impl.producer.result import SendResult
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_protocol.properties import UNIQ_KEY

from .cluster import HazardCluster, failed, queues, sent
from .gallery import hazard
from .scenario import HazardScenario


def unique_keys(cluster: HazardCluster, broker: str) -> list[str]:
    """Return the UNIQ_KEYs of the messages in a broker's log."""
    exact = cluster.profile.exact_properties
    return [parse_properties(message.properties_text, exact=exact)[UNIQ_KEY] for message in cluster.broker(broker).store.records()]


def is_answer_to_a_send(packet: Packet) -> bool:
    return packet.answer and "queueOffset" in (packet.command.ext_fields or {})


@hazard("HAZ-27", asserts="CLI-25")
def queue_object_is_changed(scenario: HazardScenario) -> None:
    """A producer that avoids slow brokers loses a queue from its list.

    If no broker is available, latency-fault mode takes the next queue of the list and writes its own choice of broker and queue id into
    that object (CLI-25). The list then has one queue twice and lacks another, until a route arrives that differs from the cached one
    (CLI-19).

    To avoid it: sendLatencyFaultEnable=false, which is the default.
    """
    cluster = scenario.cluster(brokers=2)
    for broker in ("broker-a", "broker-b"):
        cluster.update_topic("T", 2, 2, to=broker)
    producer = cluster.producer(settings=ProducerSettings(send_latency_fault_enable=True))
    scenario.step("A producer in latency-fault mode; T has two queues on each of two brokers.")
    scenario.check("its queues", cluster.find_queues(producer), "a0 a1 b0 b1")

    scenario.step("Both brokers were slow, broker-b more so.")
    assert producer.latency_fault is not None
    producer.latency_fault.update("broker-a", 15_000, isolation=True)
    producer.latency_fault.update("broker-b", 20_000, isolation=True)
    scenario.step("The next message would go to b1, but the producer prefers broker-a.")
    scenario.check("the send", cluster.produce(producer, at=2), "SEND_OK, broker-a queue 0 offset 0")
    scenario.check("its queues", queues(producer), "a0 a1 b0 a0")

    scenario.step("Later both are fast again, and the routes are refreshed.")
    cluster.scheduler.advance(600_000)
    cluster.do(producer.refresh_all())
    scenario.check("its queues", queues(producer), "a0 a1 b0 a0")
    scenario.step("Only a changed route replaces the list.")
    cluster.update_topic("T", 3, 3, to="broker-b")
    cluster.do(producer.refresh_all())
    scenario.check("its queues", queues(producer), "a0 a1 b0 b1 b2")


@hazard("HAZ-28", asserts="CLI-31")
def async_retry_with_foreign_queue_id(scenario: HazardScenario) -> None:
    """An asynchronous send is retried on another broker with a queue id of the first one, and fails.

    The retry sends the same request, with the same queue id in its header (CLI-31). A broker where the topic has fewer queues refuses it
    (CHK-10), and an error answer is never retried.

    To avoid it: use the same number of queues on every broker.
    """
    cluster = scenario.cluster(brokers=2)
    cluster.update_topic("T", 8, 8, to="broker-a")
    cluster.update_topic("T", 4, 4, to="broker-b")
    producer = cluster.producer()
    scenario.step("T has 8 queues on broker-a and 4 on broker-b.")
    scenario.check("the producer's queues", cluster.find_queues(producer), "a0 a1 a2 a3 a4 a5 a6 a7 b0 b1 b2 b3")

    scenario.step("broker-a has crashed. An asynchronous send chooses its queue 7, and is retried on broker-b.")
    cluster.crash("broker-a")
    producer.round_robin.counter.value = 7
    ends: list[SendResult | Exception] = []
    cluster.do(producer.send_async(Message("T", body=b"hello"), ends.append))
    answers = [failed(end) if isinstance(end, Exception) else sent(end) for end in ends]
    refused = f"MQBrokerException, {cluster.illegal}: request queueId[7] is illegal"
    scenario.check("the callback gets", [answer.split(", TopicConfig")[0] for answer in answers], [refused])
    scenario.check("stored on broker-b", cluster.stored("broker-b"), [])


@hazard("HAZ-29", asserts="CLI-29")
def duplicate_by_retry(scenario: HazardScenario) -> None:
    """One send stores a message twice or more.

    A producer cannot distinguish a lost message from a lost answer, so it tries again after every network failure (CLI-30). With
    retryAnotherBrokerWhenNotStoreOK it also tries again after answers for messages that are stored, but not as safely as requested
    (CLI-29). All copies have the same UNIQ_KEY.

    To avoid it: make consumers ignore duplicates by UNIQ_KEY, or by a key of your own.
    """
    cluster = scenario.cluster(brokers=2)
    for broker in ("broker-a", "broker-b"):
        cluster.update_topic("T", 1, 1, to=broker)
    producer = cluster.producer()
    cluster.find_queues(producer)
    scenario.step("broker-a stores a message, and crashes before its answer has arrived. The producer tries broker-b.")
    producer.round_robin.counter.value = 0
    cluster.network.plan = lambda packet: HOLD if is_answer_to_a_send(packet) and packet.source == "127.0.0.1:10911" else [0]
    sending = cluster.scheduler.spawn(producer.send(Message("T", body=b"hello")))
    cluster.scheduler.settle()
    cluster.crash("broker-a")
    scenario.check("the send", sent(cluster.scheduler.run(sending.done)), "SEND_OK, broker-b queue 0 offset 0")

    scenario.step("broker-a restarts.")
    cluster.network.plan = None
    cluster.restart("broker-a")
    scenario.check("stored on broker-a", cluster.stored("broker-a"), ["T queue 0 offset 0"])
    scenario.check("stored on broker-b", cluster.stored("broker-b"), ["T queue 0 offset 0"])
    scenario.check("UNIQ_KEY is the same", unique_keys(cluster, "broker-a") == unique_keys(cluster, "broker-b"), True)

    if cluster.profile.counts_replicas:
        return  # such a master counts itself and does not wait
    cluster = scenario.cluster(brokers=2, broker_role="SYNC_MASTER")
    producer = cluster.producer(settings=ProducerSettings(retry_another_broker_when_not_store_ok=True))
    scenario.step("Two masters that require a replica but have no slave; a producer that retries when a message is not safe.")
    scenario.check("the send", cluster.produce(producer).split(",")[0], "SLAVE_NOT_AVAILABLE")
    keys = unique_keys(cluster, "broker-a") + unique_keys(cluster, "broker-b")
    scenario.check("records", len(keys), 3)
    scenario.check("different values of UNIQ_KEY", len(set(keys)), 1)


@hazard("HAZ-34", asserts="SEND-22 CLI-23", properties="INV-33", profiles="P45 P40")
def arithmetic(scenario: HazardScenario) -> None:
    """The absolute value of a random number is not always positive, and a remainder is not the same in every language.

    The smallest 32-bit int has no positive counterpart, so abs(r) % n can be negative. The broker takes the remainder by 99999999 first,
    which is never the smallest int (SEND-22). The producer replaces a negative position by 0 (CLI-23). A port to a language whose remainder
    has the sign of the divisor gets other queues. Later profiles draw from 0 to 99999998. That is no multiple of most numbers of queues, so
    queues are not equally likely.

    To avoid it: in a port, implement Java's remainder.
    """
    scenario.step("Java's absolute value of the smallest int.")
    scenario.check("abs(-2147483648) % 3", remainder(absolute(INT_MIN), 3), -2)

    cluster = scenario.cluster()
    random = cluster.node().random
    cluster.update_topic("Three", 3, 3)
    cluster.update_topic("Four", 4, 4)
    scenario.step("A broker draws the smallest int for a topic with 3 queues.")
    random.feed(INT_MIN)
    scenario.check("the answer", cluster.send("Three", queue=-1), "SUCCESS, queue 2 offset 0")
    scenario.step("It draws -1 for a topic with 4 queues.")
    random.feed(-1)
    scenario.check("the answer", cluster.send("Four", queue=-1), "SUCCESS, queue 1 offset 0")
    scenario.check("the same formula with Python's remainder", abs(-1 % 99_999_999) % 4, 2)

    scenario.step("The counter of a producer of Three overflows.")
    producer = cluster.producer()
    cluster.find_queues(producer, "Three")
    scenario.check("at the largest int", cluster.produce(producer, "Three", at=INT_MAX), "SEND_OK, broker-a queue 1 offset 0")
    scenario.check("the counter", producer.round_robin.counter.value, INT_MIN)
    scenario.check("at the smallest int", cluster.produce(producer, "Three"), "SEND_OK, broker-a queue 0 offset 0")

    cluster = scenario.cluster(profile="P49")
    cluster.update_topic("Four", 4, 4)
    scenario.step("A later broker (P49) draws the largest number that it can, for a topic with 4 queues.")
    cluster.node().random.feed(99_999_998)
    scenario.check("the answer", cluster.send("Four", queue=-1), "SUCCESS, queue 2 offset 0")
    scenario.check("draws that give queue 2", len(range(2, 99_999_999, 4)), 25_000_000)
    scenario.check("draws that give queue 3", len(range(3, 99_999_999, 4)), 24_999_999)
