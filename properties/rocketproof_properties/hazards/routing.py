"""Hazards of what name servers and producers believe about topics."""

from __future__ import annotations

from dataclasses import replace

from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.codes import REGISTER_BROKER

from ..programs.vocabulary import plain
from .gallery import hazard
from .story import HazardScenario


def is_registration(packet: Packet) -> bool:
    return packet.command.code == REGISTER_BROKER and not packet.answer


@hazard("HAZ-01", asserts="CLI-21 TCM-17", properties="LIV-03")
def auto_create_skew(story: HazardScenario) -> None:
    """A topic that is created by its first message stays on one broker, however many there are.

    A producer of an unknown topic takes the template's route, which names all brokers (CLI-16). The broker that gets the first
    message creates the topic and registers it at once (TCM-17). From then on the name server has a route with this one broker,
    every producer gets it at its next refresh (CLI-21), and no message reaches the others any more.

    To avoid it: auto-creation off, and topics created by hand on every broker.
    """
    cluster = story.cluster(brokers=2)
    first, second = cluster.producer("first"), cluster.producer("second")
    story.say("Two brokers. A producer looks for the unknown topic T and gets the route of TBW102.")
    story.check("its queues", cluster.find_queues(first), "a0 a1 a2 a3 b0 b1 b2 b3")

    story.say("Its first message goes to broker-a, which creates T and registers it.")
    story.check("the send", cluster.produce(first, at=0), "SEND_OK, broker-a queue 0 offset 0")
    story.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])

    story.say("Another producer comes, and the first one refreshes its routes.")
    cluster.do(first.refresh_all())
    story.check("queues of the other", cluster.find_queues(second), "a0 a1 a2 a3")
    story.check("queues of the first", cluster.find_queues(first), "a0 a1 a2 a3")

    story.say("Both send 20 messages, and refresh.")
    for _ in range(20):
        cluster.produce(first)
        cluster.produce(second)
    cluster.do(first.refresh_all())
    story.check("messages on broker-a", len(cluster.stored("broker-a")), 41)
    story.check("messages on broker-b", len(cluster.stored("broker-b")), 0)
    story.check("T on broker-b", cluster.topic("T", "broker-b"), "unknown")

    cluster = story.cluster(brokers=2)
    quick = cluster.producer("quick")
    story.say("Elsewhere a producer is quick: it sends 8 messages before its first refresh.")
    cluster.find_queues(quick)
    for _ in range(8):
        cluster.produce(quick)
    cluster.do(quick.refresh_all())
    story.check("its queues", cluster.find_queues(quick), "a0 a1 a2 a3 b0 b1 b2 b3")


@hazard("HAZ-11", asserts="CLI-32 NS-10 TCM-18 TCM-17", properties="LIV-01", profiles="P49 P40 P45 P494")
def registration_lost(story: HazardScenario) -> None:
    """The registration of a new topic gets lost, and nobody notices for half a minute.

    It is sent one way (TCM-17), as a send can be (CLI-32): nobody waits for an answer, so nothing is tried again before the
    next periodic registration (NS-10). Until then a new producer still gets the template's route, and may make the topic
    elsewhere. An exception while the table is written has the same effect: the registration is skipped (TCM-18).

    To avoid it: create topics by hand; that registration waits for its answer. In 5.x a message's does too, and its send is as slow.
    """
    cluster = story.cluster(brokers=2)
    cluster.network.plan = lambda packet: [] if is_registration(packet) else [0]
    early, late = cluster.producer("early"), cluster.producer("late")
    story.say("A first message creates T on broker-a. The registration is lost on its way.")
    story.check("the send", cluster.produce(early, at=0), "SEND_OK, broker-a queue 0 offset 0")
    story.check("T on broker-a", cluster.topic(), "read 4, write 4, RW-")
    story.check("T at the name server", cluster.routed(), [])

    story.say("The network is well again. A producer that comes now falls back on TBW102, and makes T on broker-b.")
    cluster.network.plan = None
    story.check("its queues", cluster.find_queues(late), "a0 a1 a2 a3 b0 b1 b2 b3")
    story.check("the send", cluster.produce(late, at=4), "SEND_OK, broker-b queue 0 offset 0")
    story.check("T at the name server", cluster.routed(), ["broker-b: read 4, write 4, RW-"])

    story.say("broker-a registers again, as it does every 30 seconds.")
    cluster.register()
    story.check("T at the name server", cluster.routed(), ["broker-b: read 4, write 4, RW-", "broker-a: read 4, write 4, RW-"])

    step = "write" if cluster.profile.overwrites_in_place else "rename"

    def broken(operation: str, path: str) -> None:
        if operation == step:
            raise RuntimeError("no such operation")

    story.say("A first message to U: the write of the table fails with an exception that is not one of input or output.")
    cluster.node().disk.failing = broken
    story.check("the answer", cluster.send("U").split(":")[0], "SYSTEM_ERROR")
    cluster.node().disk.failing = None
    story.check("U on broker-a", cluster.topic("U"), "read 4, write 4, RW-")
    story.check("U at the name server", cluster.routed("U"), [])
    story.check("the lock of creation is free", not cluster.broker().topics.lock.held, True)


@hazard("HAZ-16", asserts="CHK-10 CLI-16 TCM-15", properties="INV-31 INV-32", profiles="P49 P45 P40 P494")
def read_write_asymmetry(story: HazardScenario) -> None:
    """Messages are stored in queues that nobody reads, and producers are sent to queues that do not exist.

    The broker compares the queue id with the larger of the read and write counts (CHK-10). A producer cuts the template's
    *read* count (CLI-16), the broker its *write* count (TCM-15).

    To avoid it: equal counts, of TBW102 too; while a topic shrinks, first write, then read.
    """
    cluster = story.cluster()
    story.say("T has 4 read queues and 8 write queues. A message goes to queue 6, into which no consumer looks.")
    cluster.update_topic("T", 4, 8)
    story.check("the answer", cluster.send("T", queue=6), "SUCCESS, queue 6 offset 0")
    story.say("U has 8 read queues and 4 write queues, as while it shrinks. Queue 6 is not to be written to.")
    cluster.update_topic("U", 8, 4)
    story.check("the answer", cluster.send("U", queue=6), "SUCCESS, queue 6 offset 0")

    cluster = story.cluster()
    producer = cluster.producer()
    story.say("TBW102 has 8 read queues and 2 write queues. A producer looks for V.")
    cluster.broker().topics.update(TopicConfig("TBW102", 8, 2, 7))
    cluster.register()
    story.check("its queues", cluster.find_queues(producer, "V"), "a0 a1 a2 a3")
    story.say("Its first message goes to queue 2. Only the third attempt finds a queue.")
    answers: list[str] = []
    cluster.network.watch = lambda packet: answers.append((packet.command.remark or "SUCCESS").split(", ")[0]) if packet.answer else None
    story.check("the send", cluster.produce(producer, "V", at=2), "SEND_OK, broker-a queue 0 offset 0")
    story.check("the answers", answers, ["request queueId[2] is illegal", "request queueId[3] is illegal", "SUCCESS"])
    story.check("V on the broker", cluster.topic("V"), "read 2, write 2, RW-")

    cluster = story.cluster()
    producer = cluster.producer()
    story.say("TBW102 has 2 read queues and 8 write queues. A producer uses 2 of the 4 queues that it creates.")
    cluster.broker().topics.update(TopicConfig("TBW102", 2, 8, 7))
    cluster.register()
    story.check("its queues", cluster.find_queues(producer, "W"), "a0 a1")
    cluster.produce(producer, "W")
    story.check("W on the broker", cluster.topic("W"), "read 4, write 4, RW-")
    cluster.do(producer.refresh_all())
    story.check("its queues after a refresh", cluster.find_queues(producer, "W"), "a0 a1 a2 a3")


@hazard("HAZ-36", asserts="NS-04 TCM-31")
def stale_topics_at_the_name_server(story: HazardScenario) -> None:
    """A deleted topic comes back by itself.

    A broker that deletes a topic tells nobody (TCM-31), and a registration without the topic changes nothing: the name server
    never removes a topic because it is missing (NS-04). Producers keep the route and send, and the broker creates the topic
    again, with the numbers of whoever comes first.

    To avoid it: delete at the name servers too, after the producers were stopped.
    """
    cluster = story.cluster()
    producer = cluster.producer()
    cluster.update_topic("T", 8, 8)
    story.say("A producer sends to T, which was made with 8 queues.")
    story.check("the send", cluster.produce(producer, at=7), "SEND_OK, broker-a queue 7 offset 0")

    story.say("T is deleted, and the broker registers.")
    story.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    cluster.register()
    story.check("T on the broker", cluster.topic(), "unknown")
    story.check("T at the name server", cluster.routed(), ["broker-a: read 8, write 8, RW-"])

    story.say("The producer refreshes its routes and sends the next message.")
    cluster.do(producer.refresh_all())
    cluster.produce(producer, at=0)
    story.check("T on the broker", cluster.topic(), "read 4, write 4, RW-")


@hazard("HAZ-37", asserts="NS-03", profiles="P49 P40 P45 P494")
def data_version_inequality(story: HazardScenario) -> None:
    """An old registration that arrives late overwrites a newer one.

    The name server compares versions by inequality (NS-03), so an older version counts as a change like a newer one. The
    next registration corrects it.

    To avoid it: nothing but to wait; alarms on a topic's number of queues should allow a minute.
    """
    cluster = story.cluster()
    story.say("A first message creates T with 4 queues. The registration is on its way.")
    cluster.network.plan = lambda packet: HOLD if is_registration(packet) and packet.command.is_one_way else [0]
    cluster.send()
    story.check("T at the name server", cluster.routed(), [])

    story.say("An administrator gives T 8 queues. That registration takes another connection and is quicker.")
    story.check("the update", cluster.update_topic("T", 8, 8), "SUCCESS")
    story.check("T at the name server", cluster.routed(), ["broker-a: read 8, write 8, RW-"])

    story.say("The first registration arrives.")
    cluster.network.deliver(cluster.network.held[0])
    story.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])

    story.say("The broker registers, as it does every 30 seconds.")
    cluster.register()
    story.check("T at the name server", cluster.routed(), ["broker-a: read 8, write 8, RW-"])


@hazard("HAZ-55", asserts="NS-03 TCM-30", properties="INV-18 LIV-01", profiles="P494 P533")
def one_topic_hides_another(story: HazardScenario) -> None:
    """The registration of one topic can hide what has become of another one.

    A topic that an administrator changes is registered alone (TCM-30), with the version of the whole table, which is read when the
    request is written. If another topic changes before that, the version counts its change too, and the name server has it stored
    when the other's own registration comes: it is ignored (NS-03), and so are those of the timer.

    To avoid it: change topics while no message creates any; then look at their routes, and change once more what is not as it should be.
    """
    cluster = story.cluster()
    cluster.update_topic("A", 4, 4)
    cluster.update_topic("B", 8, 8)
    cluster.delete_topic("B")
    story.say("The name server knows A, and B with 8 queues, which the broker has deleted. It is slow: a registration waits.")
    cluster.network.plan = lambda packet: HOLD if is_registration(packet) else [0]
    timer = cluster.scheduler.spawn(cluster.broker().registration.register_periodically(), "timer")
    cluster.scheduler.settle()

    story.say("Meanwhile an administrator gives A 6 queues, and a message creates B with 4. Both registrations wait for the slow one.")
    update = cluster.calling(plain("topic", topic="A", read=6, write=6))
    create = cluster.calling(cluster.request("B"), client="producer")
    story.check("B on the broker", cluster.topic("B"), "read 4, write 4, RW-")

    story.say("Now the name server answers. A is written first, and its version counts B's change.")
    cluster.network.plan = None
    cluster.network.deliver(cluster.network.held[0])
    cluster.scheduler.run(timer.done)
    for thread in (update, create):
        cluster.scheduler.run(thread.done)
    story.check("A at the name server", cluster.routed("A"), ["broker-a: read 6, write 6, RW-"])
    story.check("B at the name server", cluster.routed("B"), ["broker-a: read 8, write 8, RW-"])

    story.say("The broker registers, as it does every 30 seconds.")
    cluster.register()
    story.check("B at the name server", cluster.routed("B"), ["broker-a: read 8, write 8, RW-"])
    story.check("a message to its queue 5", cluster.send("B", queue=5).partition(":")[0], cluster.illegal)

    story.say("An administrator changes B once more.")
    cluster.update_topic("B", 4, 6)
    story.check("B at the name server", cluster.routed("B"), ["broker-a: read 4, write 6, RW-"])


@hazard("HAZ-56", asserts="NS-02 TCM-30", properties="LIV-01", profiles="P494")
def one_topic_is_all(story: HazardScenario) -> None:
    """A name server that was restarted may learn one topic, and none of the others for ever.

    A topic that an administrator changes is registered alone (TCM-30). If that is the first that a name server hears of the broker, it
    stores the topic with the version of the whole table (NS-02), and ignores what the timer registers with that version (NS-03).

    To avoid it: let 30 seconds pass after the start of a name server before a topic is changed. 5.x refuses such a registration.
    """
    cluster = story.cluster()
    cluster.update_topic("A", 4, 4)
    cluster.update_topic("B", 4, 4)
    story.say("A and B have routes. The name server is restarted, and has to wait for the broker's next registration.")
    cluster.restart_name_server()
    story.check("A at the name server", cluster.routed("A"), [])

    story.say("Before that an administrator gives B 8 queues.")
    story.check("the update", cluster.update_topic("B", 8, 8), "SUCCESS")
    story.check("B at the name server", cluster.routed("B"), ["broker-a: read 8, write 8, RW-"])

    story.say("The broker registers all its topics, as it does every 30 seconds.")
    cluster.register()
    story.check("A at the name server", cluster.routed("A"), [])

    story.say("A message creates C, which registers all topics with another version.")
    story.check("the answer", cluster.send("C"), "SUCCESS, queue 0 offset 0")
    story.check("A at the name server", cluster.routed("A"), ["broker-a: read 4, write 4, RW-"])


@hazard("HAZ-43", asserts="NS-08 CLI-20 CLI-14 CLI-33")
def only_a_slave_is_left(story: HazardScenario) -> None:
    """While a master is away, its topics cannot be sent to, though another broker would take them.

    As long as a slave of the same name is there, the name server keeps the queue data (NS-08). A producer leaves out queues
    without a master (CLI-20) and gets an empty list; as there is a route, it does not ask for the template's (CLI-14).

    To avoid it: topics on two brokers at least, created by hand.
    """
    cluster = story.cluster(brokers=2)
    story.say("broker-a has a master and a slave. T is on broker-a only.")
    slave = replace(cluster.node("broker-a").settings, broker_id=1, broker_role="SLAVE", listen_port=10912)
    cluster.add(slave)
    cluster.update_topic("T", 4, 4)
    story.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])

    story.say("The master crashes.")
    cluster.crash("broker-a")
    story.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])
    story.check("addresses of broker-a, by id", list(cluster.name_server.broker_addr_table["broker-a"].broker_addrs), [1])

    story.say("A producer looks for T, and for a topic that nobody knows.")
    producer = cluster.producer()
    story.check("queues of T", cluster.find_queues(producer), "no queue")
    story.check("the send to T", cluster.produce(producer), "MQClientException 10005: No route info of this topic: T")
    story.check("queues of the other", cluster.find_queues(producer, "U"), "b0 b1 b2 b3")
