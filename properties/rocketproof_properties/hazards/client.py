"""Hazards of a producer's own making."""

from __future__ import annotations

from rocketproof_impl.java import INT_MAX, INT_MIN, absolute, remainder
from rocketproof_impl.message import Message, parse_properties
from rocketproof_impl.producer.result import SendResult
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_protocol.properties import UNIQ_KEY

from .cluster import StoryCluster, failed, queues, sent
from .gallery import hazard
from .story import HazardScenario


def unique_keys(cluster: StoryCluster, broker: str) -> list[str]:
    """The client's own ids of the messages in a broker's log."""
    exact = cluster.profile.exact_properties
    return [parse_properties(message.properties_text, exact=exact)[UNIQ_KEY] for message in cluster.broker(broker).store.records()]


def is_answer_to_a_send(packet: Packet) -> bool:
    return packet.answer and "queueOffset" in (packet.command.ext_fields or {})


@hazard("HAZ-27", asserts="CLI-25")
def queue_object_is_changed(story: HazardScenario) -> None:
    """A producer that avoids slow brokers loses a queue from its list.

    When no broker is available, latency-fault mode takes the next queue of the list and writes broker and queue id of its
    choice into that very object (CLI-25). The list then has one queue twice and another one not at all, until a route comes
    that differs from the cached one (CLI-19).

    To avoid it: sendLatencyFaultEnable=false, as it is by default.
    """
    cluster = story.cluster(brokers=2)
    for broker in ("broker-a", "broker-b"):
        cluster.update_topic("T", 2, 2, to=broker)
    producer = cluster.producer(settings=ProducerSettings(send_latency_fault_enable=True))
    story.say("A producer in latency-fault mode; T has two queues on each of two brokers.")
    story.check("its queues", cluster.find_queues(producer), "a0 a1 b0 b1")

    story.say("Both brokers were slow, broker-b more so.")
    assert producer.latency_fault is not None
    producer.latency_fault.update("broker-a", 15_000, isolation=True)
    producer.latency_fault.update("broker-b", 20_000, isolation=True)
    story.say("The next message would go to b1, but the producer prefers broker-a.")
    story.check("the send", cluster.produce(producer, at=2), "SEND_OK, broker-a queue 0 offset 0")
    story.check("its queues", queues(producer), "a0 a1 b0 a0")

    story.say("Later both are quick again, and the routes are refreshed.")
    cluster.scheduler.advance(600_000)
    cluster.do(producer.refresh_all())
    story.check("its queues", queues(producer), "a0 a1 b0 a0")
    story.say("Only a changed route brings a new list.")
    cluster.update_topic("T", 3, 3, to="broker-b")
    cluster.do(producer.refresh_all())
    story.check("its queues", queues(producer), "a0 a1 b0 b1 b2")


@hazard("HAZ-28", asserts="CLI-31")
def async_retry_with_foreign_queue_id(story: HazardScenario) -> None:
    """An asynchronous send is retried on another broker with a queue id of the first one, and fails.

    The retry takes the same request, with the queue id in its header (CLI-31). A broker where the topic has fewer queues
    refuses it (CHK-10), and an error answer is never retried.

    To avoid it: the same number of queues on every broker.
    """
    cluster = story.cluster(brokers=2)
    cluster.update_topic("T", 8, 8, to="broker-a")
    cluster.update_topic("T", 4, 4, to="broker-b")
    producer = cluster.producer()
    story.say("T has 8 queues on broker-a and 4 on broker-b.")
    story.check("the producer's queues", cluster.find_queues(producer), "a0 a1 a2 a3 a4 a5 a6 a7 b0 b1 b2 b3")

    story.say("broker-a has crashed. An asynchronous send chooses its queue 7, and is retried on broker-b.")
    cluster.crash("broker-a")
    producer.round_robin.counter.value = 7
    ends: list[SendResult | Exception] = []
    cluster.do(producer.send_async(Message("T", body=b"hello"), ends.append))
    answers = [failed(end) if isinstance(end, Exception) else sent(end) for end in ends]
    refused = f"MQBrokerException, {cluster.illegal}: request queueId[7] is illegal"
    story.check("the callback gets", [each.split(", TopicConfig")[0] for each in answers], [refused])
    story.check("stored on broker-b", cluster.stored("broker-b"), [])


@hazard("HAZ-29", asserts="CLI-29")
def duplicate_by_retry(story: HazardScenario) -> None:
    """One send stores a message twice or more.

    A producer cannot tell a lost message from a lost answer, and tries again after every failure of the network (CLI-30). With
    retryAnotherBrokerWhenNotStoreOK it also tries again after answers that say: stored, but not as safe as it should be
    (CLI-29). All copies have the same UNIQ_KEY.

    To avoid it: consumers that look for UNIQ_KEY, or a key of your own.
    """
    cluster = story.cluster(brokers=2)
    for broker in ("broker-a", "broker-b"):
        cluster.update_topic("T", 1, 1, to=broker)
    producer = cluster.producer()
    cluster.find_queues(producer)
    story.say("broker-a stores a message, and crashes before its answer has arrived. The producer tries broker-b.")
    producer.round_robin.counter.value = 0
    cluster.network.plan = lambda packet: HOLD if is_answer_to_a_send(packet) and packet.source == "127.0.0.1:10911" else [0]
    sending = cluster.scheduler.spawn(producer.send(Message("T", body=b"hello")))
    cluster.scheduler.settle()
    cluster.crash("broker-a")
    story.check("the send", sent(cluster.scheduler.run(sending.done)), "SEND_OK, broker-b queue 0 offset 0")

    story.say("broker-a starts again.")
    cluster.network.plan = None
    cluster.restart("broker-a")
    story.check("stored on broker-a", cluster.stored("broker-a"), ["T queue 0 offset 0"])
    story.check("stored on broker-b", cluster.stored("broker-b"), ["T queue 0 offset 0"])
    story.check("UNIQ_KEY is the same", unique_keys(cluster, "broker-a") == unique_keys(cluster, "broker-b"), True)

    if cluster.profile.counts_replicas:
        return  # such a master counts itself, and waits for nobody
    cluster = story.cluster(brokers=2, broker_role="SYNC_MASTER")
    producer = cluster.producer(settings=ProducerSettings(retry_another_broker_when_not_store_ok=True))
    story.say("Two masters that want a replica and have no slave; a producer that tries again when a message is not safe.")
    story.check("the send", cluster.produce(producer).split(",")[0], "SLAVE_NOT_AVAILABLE")
    keys = unique_keys(cluster, "broker-a") + unique_keys(cluster, "broker-b")
    story.check("records", len(keys), 3)
    story.check("different values of UNIQ_KEY", len(set(keys)), 1)


@hazard("HAZ-34", asserts="SEND-22 CLI-23", properties="INV-33", profiles="P45 P40")
def arithmetic(story: HazardScenario) -> None:
    """The absolute value of a random number is not always positive, and a remainder is not the same in every language.

    The smallest 32-bit int has no positive counterpart, so abs(r) % n can be negative. The broker takes the remainder by
    99999999 first, which is never the smallest int (SEND-22); the producer turns a negative position into 0 (CLI-23). A port
    to a language whose remainder has the sign of the divisor gets other queues. Later profiles draw 0 to 99999998, which is no
    multiple of most numbers of queues, so the queues are not quite equally likely.

    To avoid it: in a port, copy Java's remainder.
    """
    story.say("What Java says of the smallest int.")
    story.check("abs(-2147483648) % 3", remainder(absolute(INT_MIN), 3), -2)

    cluster = story.cluster()
    random = cluster.node().random
    cluster.update_topic("Three", 3, 3)
    cluster.update_topic("Four", 4, 4)
    story.say("A broker that draws it for a topic with 3 queues.")
    random.feed(INT_MIN)
    story.check("the answer", cluster.send("Three", queue=-1), "SUCCESS, queue 2 offset 0")
    story.say("It draws -1 for a topic with 4 queues.")
    random.feed(-1)
    story.check("the answer", cluster.send("Four", queue=-1), "SUCCESS, queue 1 offset 0")
    story.check("the same formula with Python's remainder", abs(-1 % 99_999_999) % 4, 2)

    story.say("The counter of a producer of Three runs over.")
    producer = cluster.producer()
    cluster.find_queues(producer, "Three")
    story.check("at the largest int", cluster.produce(producer, "Three", at=INT_MAX), "SEND_OK, broker-a queue 1 offset 0")
    story.check("the counter", producer.round_robin.counter.value, INT_MIN)
    story.check("at the smallest int", cluster.produce(producer, "Three"), "SEND_OK, broker-a queue 0 offset 0")

    cluster = story.cluster(profile="P49")
    cluster.update_topic("Four", 4, 4)
    story.say("A later broker (P49) draws the largest number that it can, for a topic with 4 queues.")
    cluster.node().random.feed(99_999_998)
    story.check("the answer", cluster.send("Four", queue=-1), "SUCCESS, queue 2 offset 0")
    story.check("draws that give queue 2", len(range(2, 99_999_999, 4)), 25_000_000)
    story.check("draws that give queue 3", len(range(3, 99_999_999, 4)), 24_999_999)
