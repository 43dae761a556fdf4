"""Hazards of topic creation by a first message."""

from __future__ import annotations

from typing import Any

from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.tasks import Pause

from .cluster import HazardCluster
from .gallery import hazard
from .scenario import HazardScenario


def with_template_in_its_file(scenario: HazardScenario) -> HazardCluster:
    """Return a cluster whose file has TBW102: auto-creation was on, and the broker restarted with auto-creation off."""
    cluster = scenario.cluster()
    cluster.update_topic("Other", 4, 4)
    cluster.crash()
    cluster.restart(auto_create_topic_enable=False)
    return cluster


@hazard("HAZ-02", asserts="TCM-13 NS-09", properties="INV-16 INV-18")
def template_mutation(scenario: HazardScenario) -> None:
    """A refused send changes the template topic in memory, without a new version, file or registration.

    With auto-creation off, the request for TBW102 removes INHERIT from the shared table entry itself, without a new version (TCM-13). A
    registration that is not forced first asks whether the version has changed (NS-09), so the name server keeps the old entry. The next
    persist writes the change to the file.

    To avoid it: keep TBW102 out of topics.json of brokers that do not create topics.
    """
    cluster = with_template_in_its_file(scenario)
    broker = cluster.broker()
    scenario.step("TBW102 was loaded from a file that was written when auto-creation was on.")
    scenario.check("TBW102 in memory", cluster.topic("TBW102"), "read 8, write 8, RWX")
    scenario.check("TBW102 at the name server", cluster.routed("TBW102"), ["broker-a: read 8, write 8, RWX"])
    version = broker.topics.data_version.copy()

    scenario.step("A client sends the first message to T. It is refused, but it changes TBW102.")
    scenario.check("the answer", cluster.send(), "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!")
    scenario.check("TBW102 in memory", cluster.topic("TBW102"), "read 8, write 8, RW-")
    scenario.check("TBW102 in the file", cluster.filed("TBW102"), "read 8, write 8, RWX")
    scenario.check("the version is the old one", broker.topics.data_version == version, True)

    scenario.step("The broker registers without force: the name server already has this version.")
    cluster.do(broker.registration.register_all(False, False, False))
    scenario.check("TBW102 at the name server", cluster.routed("TBW102"), ["broker-a: read 8, write 8, RWX"])

    scenario.step("An administrator changes another topic, and the file gets the change of TBW102 too.")
    cluster.update_topic("Other", 8, 8)
    scenario.check("TBW102 in the file", cluster.filed("TBW102"), "read 8, write 8, RW-")


@hazard("HAZ-03", asserts="PER-04 TCM-03 CLI-18 CLI-30", properties="LIV-08")
def auto_creation_lost_for_good(scenario: HazardScenario) -> None:
    """Auto-creation that was switched off once cannot be switched on again.

    The refused send of HAZ-02 removed INHERIT from TBW102, and the next change of any topic wrote that to the file. At a start the
    constructor makes a valid TBW102 (TCM-03), but then the stored entry replaces it (PER-04). Conversely, a stored TBW102 remains when the
    switch is off: it is registered, so producers use its route (CLI-18) and are refused three times (CLI-30).

    To avoid it: delete TBW102 from topics.json and topics.json.bak when the switch is changed.
    """
    cluster = with_template_in_its_file(scenario)
    scenario.step("Auto-creation is off now, but TBW102 is in the file with all its rights, and so it is registered.")
    scenario.check("TBW102 at the name server", cluster.routed("TBW102"), ["broker-a: read 8, write 8, RWX"])

    scenario.step("A producer takes the route of TBW102 for T, and the broker refuses.")
    producer = cluster.producer()
    requests = counted_sends(cluster)
    scenario.check("queues of T at the producer", cluster.find_queues(producer), "a0 a1 a2 a3")
    ending = cluster.produce(producer)
    scenario.check("the caller gets TOPIC_NOT_EXIST", ending.startswith("MQClientException 17: Send [3] times, still failed"), True)
    scenario.check("requests for one message", len(requests), 3)

    scenario.step("Another topic is changed, which writes the table; then auto-creation is switched on again.")
    cluster.update_topic("Other", 8, 8)
    cluster.crash()
    cluster.restart(auto_create_topic_enable=True)
    scenario.check("auto-creation is on", cluster.broker().settings.auto_create_topic_enable, True)
    scenario.check("TBW102 in memory", cluster.topic("TBW102"), "read 8, write 8, RW-")

    scenario.step("No first message creates a topic any more.")
    scenario.check("the answer", cluster.send(), "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!")


def counted_sends(cluster: HazardCluster) -> list[int]:
    """Return a list that grows with every send request on the wire."""
    requests: list[int] = []
    cluster.network.watch = lambda packet: requests.append(packet.command.code) if packet.command.code == 310 else None
    return requests


@hazard("HAZ-04", asserts="TCM-14", properties="INV-14")
def auto_creation_off_does_not_forbid_creation(scenario: HazardScenario) -> None:
    """With auto-creation off, clients can still create topics by naming another template.

    The switch applies only to TBW102. Every other topic with INHERIT serves as a template (TCM-14), and the topic named after the cluster
    has INHERIT by default.

    To avoid it: clusterTopicEnable=false and brokerTopicEnable=false, and no topic of your own with INHERIT (but see HAZ-05).
    """
    cluster = scenario.cluster(auto_create_topic_enable=False)
    scenario.step("Auto-creation is off, so TBW102 is no template.")
    scenario.check("the answer", cluster.send("T"), "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!")

    scenario.step("A client names the cluster's topic as the default topic.")
    scenario.check("the template", cluster.topic("DefaultCluster"), "read 16, write 16, RWX")
    scenario.check("the answer", cluster.send("T", default="DefaultCluster"), "SUCCESS, queue 0 offset 0")
    scenario.check("T", cluster.topic("T"), "read 4, write 4, RW-")

    scenario.step("Any topic created with INHERIT is a template too.")
    cluster.update_topic("Mine", 2, 2, 7)
    scenario.check("the answer", cluster.send("U", default="Mine"), "SUCCESS, queue 0 offset 0")
    scenario.check("U", cluster.topic("U"), "read 2, write 2, RW-")


@hazard("HAZ-05", asserts="TCM-15 CHK-11 CLI-20 CLI-33", properties="INV-53")
def topic_without_rights(scenario: HazardScenario) -> None:
    """A topic is created without read and write permission, and the broker stores messages in it.

    With clusterTopicEnable=false the cluster's topic has INHERIT and nothing else. A new topic gets the template's permission without
    INHERIT (TCM-15), which is no permission. The broker does not check a topic's permission when it stores (CHK-11), but clients omit
    queues that they may not write to (CLI-20).

    To avoid it: name no default topic other than TBW102.
    """
    cluster = scenario.cluster(cluster_topic_enable=False)
    scenario.step("The cluster's topic has INHERIT and no other permission.")
    scenario.check("DefaultCluster", cluster.topic("DefaultCluster"), "read 16, write 16, --X")

    scenario.step("A client names it as the default topic.")
    scenario.check("the answer", cluster.send("T", default="DefaultCluster"), "SUCCESS, queue 0 offset 0")
    scenario.check("T", cluster.topic("T"), "read 4, write 4, ---")
    scenario.check("stored", cluster.stored(), ["T queue 0 offset 0"])

    scenario.step("A producer that asks the name server finds a route without a queue.")
    scenario.check("T at the name server", cluster.routed("T"), ["broker-a: read 4, write 4, ---"])
    scenario.check("the producer's send", cluster.produce(cluster.producer()), "MQClientException 10005: No route info of this topic: T")


@hazard("HAZ-06", asserts="CHK-01 NS-11", properties="INV-52")
def read_only_broker_accepts_and_creates(scenario: HazardScenario) -> None:
    """A broker that was made read-only still creates topics and stores messages.

    The broker checks its own permission together with the topic's order flag (CHK-01), so it refuses only order topics. Its registrations
    mark every topic as read-only (NS-11). Clients therefore stop sending, but only after their next route refresh.

    To avoid it: wait for one route refresh after the change, or stop the broker for clients with old routes.
    """
    cluster = scenario.cluster(broker_permission=4)
    scenario.step("The broker has no write permission. A client sends the first message to T.")
    scenario.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 0")
    scenario.check("T in memory", cluster.topic(), "read 4, write 4, RW-")
    scenario.check("T in the file", cluster.filed(), "read 4, write 4, RW-")
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, R--"])

    scenario.step("Only an order topic is refused.")
    cluster.broker().topics.table["T"].order = True
    scenario.check("the answer", cluster.send(), "NO_PERMISSION: the broker[127.0.0.1] sending message is forbidden")


@hazard("HAZ-07", asserts="TCM-15 CHK-10 SEND-22 CLI-14", properties="INV-13 INV-09")
def zero_queues(scenario: HazardScenario) -> None:
    """A topic is created without a single queue, and nothing repairs it.

    The number of queues is the smaller of the client's request and the template's count, and 0 is allowed (TCM-15). After that no queue id
    is legal (CHK-10), and a negative id leads to a division by zero (SEND-22). The topic exists, so it is never created again. Its route
    exists, so producers do not use the template's (CLI-14).

    To avoid it: set defaultTopicQueueNums to 1 or more in every client. To fix it: update the topic by hand.
    """
    cluster = scenario.cluster()
    for topic, count in (("T", 0), ("U", -3)):
        scenario.step(f"A client that requests {count} queues sends the first message to {topic}.")
        refused = cluster.send(topic, nums=count)
        scenario.check("the answer", refused.split(", ")[0], f"{cluster.illegal}: request queueId[0] is illegal")
        scenario.check(f"{topic} in memory", cluster.topic(topic), "read 0, write 0, RW-")
        scenario.check(f"{topic} in the file", cluster.filed(topic), "read 0, write 0, RW-")
        scenario.check(f"{topic} at the name server", cluster.routed(topic), ["broker-a: read 0, write 0, RW-"])

    scenario.step("Another client lets the broker choose the queue.")
    scenario.check("the answer", cluster.send(queue=-1), "SYSTEM_ERROR: java.lang.ArithmeticException: / by zero")
    scenario.step("A client with valid settings fails as well.")
    scenario.check("the answer", cluster.send().split(", ")[0], f"{cluster.illegal}: request queueId[0] is illegal")
    scenario.check("the producer's send", cluster.produce(cluster.producer()), "MQClientException 10005: No route info of this topic: T")


@hazard("HAZ-40", asserts="TRX-03", properties="INV-09")
def refused_transaction_leaves_a_topic(scenario: HazardScenario) -> None:
    """A transactional message that is refused leaves its topic behind.

    A broker checks last whether it accepts transactional messages (TRX-03). By then the topic has been created, persisted and registered.

    To avoid it: create topics by hand.
    """
    cluster = scenario.cluster(reject_transaction_message=True)
    scenario.step("The broker rejects transactions. The first message to T is transactional.")
    refused = "NO_PERMISSION: the broker[127.0.0.1] sending transaction message is forbidden"
    scenario.check("the answer", cluster.send(properties={"TRAN_MSG": "true"}), refused)
    scenario.check("stored", cluster.stored(), [])
    scenario.check("T in memory", cluster.topic(), "read 4, write 4, RW-")
    scenario.check("T in the file", cluster.filed(), "read 4, write 4, RW-")
    scenario.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])


@hazard("HAZ-41", asserts="CHK-07 BACK-07 TCM-20")
def retry_topic_with_template_counts(scenario: HazardScenario) -> None:
    """The number of queues of a retry topic depends on which request creates it first.

    A client's send tries the template first, for retry topics too (CHK-07): 4 queues. A send-back creates it with the group's
    retryQueueNums (BACK-07): 1 queue. A later request uses the topic as it is (TCM-20).

    To avoid it: create retry topics by hand, together with the group.
    """
    retry = "%RETRY%G"
    cluster = scenario.cluster()
    cluster.send("T")
    scenario.step("A client sends to the retry topic of G before any consumer has given a message back.")
    scenario.check("the answer", cluster.send(retry, queue=3, most=16), "SUCCESS, queue 3 offset 0")
    scenario.check("the retry topic", cluster.topic(retry), "read 4, write 4, RW-")
    scenario.step("A consumer gives a message back afterwards.")
    scenario.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    scenario.check("the retry topic", cluster.topic(retry), "read 4, write 4, RW-")

    cluster = scenario.cluster()
    cluster.send("T")
    scenario.step("In another cluster the consumer's request is first.")
    scenario.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    scenario.check("the retry topic", cluster.topic(retry), "read 1, write 1, RW-")
    scenario.step("The same client's message is illegal there.")
    refused = cluster.send(retry, queue=3, most=16)
    scenario.check("the answer", refused.split(", ")[0], f"{cluster.illegal}: request queueId[3] is illegal")


@hazard("HAZ-44", asserts="CLI-30 TCM-10")
def topic_not_exist_storms(scenario: HazardScenario) -> None:
    """Each message to a topic that may not be created costs three requests and takes the broker's creation lock three times.

    TOPIC_NOT_EXIST is among the answers after which a producer retries (CLI-30), though a retry cannot help. The broker takes the creation
    lock before it checks whether it may create the topic (TCM-10), so these requests also delay permitted creations.

    To avoid it: create the topic, or stop its producers. Deleting the topic on the brokers is not enough (HAZ-36).
    """
    cluster = scenario.cluster(auto_create_topic_enable=False)
    cluster.update_topic("T", 4, 4)
    producer = cluster.producer()
    cluster.produce(producer)
    scenario.step("T is deleted on the broker, and auto-creation is off. A producer still has its route.")
    scenario.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    requests, locked = counted_sends(cluster), []

    def note(_: SimulatedThread[Any], pause: Pause) -> bool:
        if pause.name == "locked":
            locked.append(pause)
        return False

    cluster.scheduler.stops = note
    scenario.step("It sends 10 messages.")
    endings = [cluster.produce(producer) for _ in range(10)]
    scenario.check(
        "they end with TOPIC_NOT_EXIST", all(ending.startswith("MQClientException 17: Send [3] times") for ending in endings), True
    )
    scenario.check("requests", len(requests), 30)
    scenario.check("turns of the lock", len(locked), 30)
