"""Hazards of the routes of name servers and producers."""

from __future__ import annotations

from dataclasses import replace

from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.codes import REGISTER_BROKER

from ..programs.vocabulary import plain
from .gallery import hazard
from .scenario import HazardScenario


def is_registration(packet: Packet) -> bool:
    return packet.command.code == REGISTER_BROKER and not packet.answer


@hazard("HAZ-01", asserts="CLI-21 TCM-17", properties="LIV-03")
def auto_create_skew(scenario: HazardScenario) -> None:
    """A topic that is created by its first message stays on one broker, regardless of the number of brokers.

    A producer of an unknown topic uses the template's route, which has all brokers (CLI-16). The broker that gets the first message creates
    the topic and registers it at once (TCM-17). From then on the name server has a route with this broker only, every producer gets it at
    its next refresh (CLI-21), and no message reaches the other brokers.

    To avoid it: switch auto-creation off, and create topics by hand on every broker.
    """
    cluster = scenario.cluster(brokers=2)
    first, second = cluster.producer("first"), cluster.producer("second")
    scenario.step("Two brokers. A producer looks up the unknown topic T and gets the route of TBW102.")
    scenario.check("its queues", cluster.find_queues(first), "a0 a1 a2 a3 b0 b1 b2 b3")

    scenario.step("Its first message goes to broker-a, which creates T and registers it.")
    scenario.check("the send", cluster.produce(first, at=0), "SEND_OK, broker-a queue 0 offset 0")
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])

    scenario.step("Another producer starts, and the first one refreshes its routes.")
    cluster.do(first.refresh_all())
    scenario.check("queues of the other", cluster.find_queues(second), "a0 a1 a2 a3")
    scenario.check("queues of the first", cluster.find_queues(first), "a0 a1 a2 a3")

    scenario.step("Both send 20 messages, and refresh.")
    for _ in range(20):
        cluster.produce(first)
        cluster.produce(second)
    cluster.do(first.refresh_all())
    scenario.check("messages on broker-a", len(cluster.stored("broker-a")), 41)
    scenario.check("messages on broker-b", len(cluster.stored("broker-b")), 0)
    scenario.check("T on broker-b", cluster.topic("T", "broker-b"), "unknown")

    cluster = scenario.cluster(brokers=2)
    quick = cluster.producer("quick")
    scenario.step("In another cluster a producer sends 8 messages before its first refresh.")
    cluster.find_queues(quick)
    for _ in range(8):
        cluster.produce(quick)
    cluster.do(quick.refresh_all())
    scenario.check("its queues", cluster.find_queues(quick), "a0 a1 a2 a3 b0 b1 b2 b3")


@hazard("HAZ-11", asserts="CLI-32 NS-10 TCM-18 TCM-17", properties="LIV-01", profiles="P49 P40 P45 P494")
def registration_lost(scenario: HazardScenario) -> None:
    """The registration of a new topic is lost, which has no visible effect for half a minute.

    It is one-way (TCM-17), as a send can be (CLI-32). No sender waits for an answer, so there is no retry before the next periodic
    registration (NS-10). Until then a new producer still gets the template's route, and may create the topic on another broker. An
    exception while the table is written has the same effect: the registration is skipped (TCM-18).

    To avoid it: create topics by hand, because that registration waits for its answer. In 5.x a message's registration waits as well, which
    delays the send.
    """
    cluster = scenario.cluster(brokers=2)
    cluster.network.plan = lambda packet: [] if is_registration(packet) else [0]
    early, late = cluster.producer("early"), cluster.producer("late")
    scenario.step("A first message creates T on broker-a. The registration is lost.")
    scenario.check("the send", cluster.produce(early, at=0), "SEND_OK, broker-a queue 0 offset 0")
    scenario.check("T on broker-a", cluster.topic(), "read 4, write 4, RW-")
    scenario.check("T at the name server", cluster.routed(), [])

    scenario.step("The network works again. A new producer falls back to TBW102, and creates T on broker-b.")
    cluster.network.plan = None
    scenario.check("its queues", cluster.find_queues(late), "a0 a1 a2 a3 b0 b1 b2 b3")
    scenario.check("the send", cluster.produce(late, at=4), "SEND_OK, broker-b queue 0 offset 0")
    scenario.check("T at the name server", cluster.routed(), ["broker-b: read 4, write 4, RW-"])

    scenario.step("broker-a registers again, as it does every 30 seconds.")
    cluster.register()
    scenario.check("T at the name server", cluster.routed(), ["broker-b: read 4, write 4, RW-", "broker-a: read 4, write 4, RW-"])

    step = "write" if cluster.profile.overwrites_in_place else "rename"

    def broken(operation: str, path: str) -> None:
        if operation == step:
            raise RuntimeError("no such operation")

    scenario.step("A first message to U: the write of the table fails with an exception that is not an I/O error.")
    cluster.node().disk.failing = broken
    scenario.check("the answer", cluster.send("U").split(":")[0], "SYSTEM_ERROR")
    cluster.node().disk.failing = None
    scenario.check("U on broker-a", cluster.topic("U"), "read 4, write 4, RW-")
    scenario.check("U at the name server", cluster.routed("U"), [])
    scenario.check("the lock of creation is free", not cluster.broker().topics.lock.held, True)


@hazard("HAZ-16", asserts="CHK-10 CLI-16 TCM-15", properties="INV-31 INV-32", profiles="P49 P45 P40 P494")
def read_write_asymmetry(scenario: HazardScenario) -> None:
    """Messages are stored in queues without a reader, and producers are sent to queues that do not exist.

    The broker compares the queue id with the larger of the read and write counts (CHK-10). A producer limits its count by the template's
    *read* count (CLI-16), the broker by its *write* count (TCM-15).

    To avoid it: use equal counts, for TBW102 too. To shrink a topic, reduce the write count first, then the read count.
    """
    cluster = scenario.cluster()
    scenario.step("T has 4 read queues and 8 write queues. A message goes to queue 6, which no consumer reads.")
    cluster.update_topic("T", 4, 8)
    scenario.check("the answer", cluster.send("T", queue=6), "SUCCESS, queue 6 offset 0")
    scenario.step("U has 8 read queues and 4 write queues, as during shrinking. No message should go to queue 6.")
    cluster.update_topic("U", 8, 4)
    scenario.check("the answer", cluster.send("U", queue=6), "SUCCESS, queue 6 offset 0")

    cluster = scenario.cluster()
    producer = cluster.producer()
    scenario.step("TBW102 has 8 read queues and 2 write queues. A producer looks up V.")
    cluster.broker().topics.update(TopicConfig("TBW102", 8, 2, 7))
    cluster.register()
    scenario.check("its queues", cluster.find_queues(producer, "V"), "a0 a1 a2 a3")
    scenario.step("Its first message goes to queue 2. Only the third attempt finds a queue.")
    answers: list[str] = []
    cluster.network.watch = lambda packet: answers.append((packet.command.remark or "SUCCESS").split(", ")[0]) if packet.answer else None
    scenario.check("the send", cluster.produce(producer, "V", at=2), "SEND_OK, broker-a queue 0 offset 0")
    scenario.check("the answers", answers, ["request queueId[2] is illegal", "request queueId[3] is illegal", "SUCCESS"])
    scenario.check("V on the broker", cluster.topic("V"), "read 2, write 2, RW-")

    cluster = scenario.cluster()
    producer = cluster.producer()
    scenario.step("TBW102 has 2 read queues and 8 write queues. A producer uses 2 of the 4 queues that it creates.")
    cluster.broker().topics.update(TopicConfig("TBW102", 2, 8, 7))
    cluster.register()
    scenario.check("its queues", cluster.find_queues(producer, "W"), "a0 a1")
    cluster.produce(producer, "W")
    scenario.check("W on the broker", cluster.topic("W"), "read 4, write 4, RW-")
    cluster.do(producer.refresh_all())
    scenario.check("its queues after a refresh", cluster.find_queues(producer, "W"), "a0 a1 a2 a3")


@hazard("HAZ-36", asserts="NS-04 TCM-31")
def stale_topics_at_the_name_server(scenario: HazardScenario) -> None:
    """A deleted topic reappears.

    A broker that deletes a topic informs no name server (TCM-31), and a registration without the topic changes nothing: the name server
    never removes a topic because it is missing (NS-04). Producers keep the route and send, and the broker creates the topic again, with the
    queue count of the first sender.

    To avoid it: stop the producers, and delete the topic at the name servers too.
    """
    cluster = scenario.cluster()
    producer = cluster.producer()
    cluster.update_topic("T", 8, 8)
    scenario.step("A producer sends to T, which was created with 8 queues.")
    scenario.check("the send", cluster.produce(producer, at=7), "SEND_OK, broker-a queue 7 offset 0")

    scenario.step("T is deleted, and the broker registers.")
    scenario.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    cluster.register()
    scenario.check("T on the broker", cluster.topic(), "unknown")
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 8, write 8, RW-"])

    scenario.step("The producer refreshes its routes and sends the next message.")
    cluster.do(producer.refresh_all())
    cluster.produce(producer, at=0)
    scenario.check("T on the broker", cluster.topic(), "read 4, write 4, RW-")


@hazard("HAZ-37", asserts="NS-03", profiles="P49 P40 P45 P494")
def data_version_inequality(scenario: HazardScenario) -> None:
    """An old registration that arrives late overwrites a newer one.

    The name server compares versions by inequality (NS-03), so an older version counts as a change, like a newer one. The next registration
    corrects it.

    To avoid it: there is no remedy but to wait. Alarms on a topic's number of queues should allow a minute.
    """
    cluster = scenario.cluster()
    scenario.step("A first message creates T with 4 queues. The registration is in flight.")
    cluster.network.plan = lambda packet: HOLD if is_registration(packet) and packet.command.is_one_way else [0]
    cluster.send()
    scenario.check("T at the name server", cluster.routed(), [])

    scenario.step("An administrator gives T 8 queues. That registration uses another connection and arrives first.")
    scenario.check("the update", cluster.update_topic("T", 8, 8), "SUCCESS")
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 8, write 8, RW-"])

    scenario.step("The first registration arrives.")
    cluster.network.deliver(cluster.network.held[0])
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])

    scenario.step("The broker registers, as it does every 30 seconds.")
    cluster.register()
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 8, write 8, RW-"])


@hazard("HAZ-55", asserts="NS-03 TCM-30", properties="INV-18 LIV-01", profiles="P494 P533")
def one_topic_hides_another(scenario: HazardScenario) -> None:
    """The registration of one topic can hide a change of another.

    A topic that an administrator changes is registered alone (TCM-30), with the version of the whole table when the request is written. If
    another topic changes before that, the version counts that change too. The name server has then stored the version when the other
    topic's own registration arrives, and ignores it (NS-03), and also those of the timer.

    To avoid it: change topics while no message creates any. Then check their routes, and change wrong topics again.
    """
    cluster = scenario.cluster()
    cluster.update_topic("A", 4, 4)
    cluster.update_topic("B", 8, 8)
    cluster.delete_topic("B")
    scenario.step(
        "The name server knows A, and B with 8 queues, which the broker has deleted. The name server is slow: a registration waits."
    )
    cluster.network.plan = lambda packet: HOLD if is_registration(packet) else [0]
    timer = cluster.scheduler.spawn(cluster.broker().registration.register_periodically(), "timer")
    cluster.scheduler.settle()

    scenario.step("Meanwhile an administrator gives A 6 queues, and a message creates B with 4. Both registrations wait for the slow one.")
    update = cluster.calling(plain("topic", topic="A", read=6, write=6))
    create = cluster.calling(cluster.request("B"), client="producer")
    scenario.check("B on the broker", cluster.topic("B"), "read 4, write 4, RW-")

    scenario.step("Now the name server answers. A's registration is written first, and its version counts B's change.")
    cluster.network.plan = None
    cluster.network.deliver(cluster.network.held[0])
    cluster.scheduler.run(timer.done)
    for thread in (update, create):
        cluster.scheduler.run(thread.done)
    scenario.check("A at the name server", cluster.routed("A"), ["broker-a: read 6, write 6, RW-"])
    scenario.check("B at the name server", cluster.routed("B"), ["broker-a: read 8, write 8, RW-"])

    scenario.step("The broker registers, as it does every 30 seconds.")
    cluster.register()
    scenario.check("B at the name server", cluster.routed("B"), ["broker-a: read 8, write 8, RW-"])
    scenario.check("a message to its queue 5", cluster.send("B", queue=5).partition(":")[0], cluster.illegal)

    scenario.step("An administrator changes B again.")
    cluster.update_topic("B", 4, 6)
    scenario.check("B at the name server", cluster.routed("B"), ["broker-a: read 4, write 6, RW-"])


@hazard("HAZ-56", asserts="NS-02 TCM-30", properties="LIV-01", profiles="P494")
def one_topic_is_all(scenario: HazardScenario) -> None:
    """A restarted name server may get one topic of a broker, and none of the others.

    A topic that an administrator changes is registered alone (TCM-30). If that is the broker's first registration at a name server, the
    name server stores the topic with the version of the whole table (NS-02). It then ignores the timer's registrations with that version
    (NS-03).

    To avoid it: after the start of a name server wait 30 seconds before you change a topic. 5.x refuses such a registration.
    """
    cluster = scenario.cluster()
    cluster.update_topic("A", 4, 4)
    cluster.update_topic("B", 4, 4)
    scenario.step("A and B have routes. The name server is restarted, and has to wait for the broker's next registration.")
    cluster.restart_name_server()
    scenario.check("A at the name server", cluster.routed("A"), [])

    scenario.step("Before that an administrator gives B 8 queues.")
    scenario.check("the update", cluster.update_topic("B", 8, 8), "SUCCESS")
    scenario.check("B at the name server", cluster.routed("B"), ["broker-a: read 8, write 8, RW-"])

    scenario.step("The broker registers all its topics, as it does every 30 seconds.")
    cluster.register()
    scenario.check("A at the name server", cluster.routed("A"), [])

    scenario.step("A message creates C, which registers all topics with another version.")
    scenario.check("the answer", cluster.send("C"), "SUCCESS, queue 0 offset 0")
    scenario.check("A at the name server", cluster.routed("A"), ["broker-a: read 4, write 4, RW-"])


@hazard("HAZ-43", asserts="NS-08 CLI-20 CLI-14 CLI-33")
def only_a_slave_is_left(scenario: HazardScenario) -> None:
    """While a master is down, its topics cannot be sent to, though another broker could store the messages.

    While a slave of the same name exists, the name server keeps the queue data (NS-08). A producer omits queues without a master (CLI-20)
    and gets an empty list. Because there is a route, it does not ask for the template's (CLI-14).

    To avoid it: create topics by hand on at least two brokers.
    """
    cluster = scenario.cluster(brokers=2)
    scenario.step("broker-a has a master and a slave. T is on broker-a only.")
    slave = replace(cluster.node("broker-a").settings, broker_id=1, broker_role="SLAVE", listen_port=10912)
    cluster.add(slave)
    cluster.update_topic("T", 4, 4)
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])

    scenario.step("The master crashes.")
    cluster.crash("broker-a")
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])
    scenario.check("addresses of broker-a, by id", list(cluster.name_server.broker_addr_table["broker-a"].broker_addrs), [1])

    scenario.step("A producer looks up T, and an unknown topic.")
    producer = cluster.producer()
    scenario.check("queues of T", cluster.find_queues(producer), "no queue")
    scenario.check("the send to T", cluster.produce(producer), "MQClientException 10005: No route info of this topic: T")
    scenario.check("queues of the other", cluster.find_queues(producer, "U"), "b0 b1 b2 b3")
