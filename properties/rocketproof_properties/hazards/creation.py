"""Hazards of creating a topic by its first message."""

from __future__ import annotations

from typing import Any

from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.tasks import Pause

from .cluster import StoryCluster
from .gallery import hazard
from .story import HazardScenario


def with_template_in_its_file(story: HazardScenario) -> StoryCluster:
    """Auto-creation was on, the table was written, and the broker was started again with auto-creation off."""
    cluster = story.cluster()
    cluster.update_topic("Other", 4, 4)
    cluster.crash()
    cluster.restart(auto_create_topic_enable=False)
    return cluster


@hazard("HAZ-02", asserts="TCM-13 NS-09", properties="INV-16 INV-18")
def template_mutation(story: HazardScenario) -> None:
    """A refused send changes the template topic, and neither the version nor the file nor the name server hears of it.

    With auto-creation off, the request for TBW102 takes INHERIT from the shared table entry itself, without a new version
    (TCM-13). A registration that is not forced first asks whether the version is another one (NS-09), so the name server keeps
    what it has. The file follows with whatever is persisted next.

    To avoid it: keep TBW102 out of topics.json of brokers that do not create topics.
    """
    cluster = with_template_in_its_file(story)
    broker = cluster.broker()
    story.say("TBW102 came back from the file of a time when auto-creation was on.")
    story.check("TBW102 in memory", cluster.topic("TBW102"), "read 8, write 8, RWX")
    story.check("TBW102 at the name server", cluster.routed("TBW102"), ["broker-a: read 8, write 8, RWX"])
    version = broker.topics.data_version.copy()

    story.say("A client sends the first message to T. It is refused, and yet something has changed.")
    story.check("the answer", cluster.send(), "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!")
    story.check("TBW102 in memory", cluster.topic("TBW102"), "read 8, write 8, RW-")
    story.check("TBW102 in the file", cluster.filed("TBW102"), "read 8, write 8, RWX")
    story.check("the version is the old one", broker.topics.data_version == version, True)

    story.say("The broker registers, not forced: the name server has this version already.")
    cluster.do(broker.registration.register_all(False, False, False))
    story.check("TBW102 at the name server", cluster.routed("TBW102"), ["broker-a: read 8, write 8, RWX"])

    story.say("Somebody changes another topic, and the file takes the change along.")
    cluster.update_topic("Other", 8, 8)
    story.check("TBW102 in the file", cluster.filed("TBW102"), "read 8, write 8, RW-")


@hazard("HAZ-03", asserts="PER-04 TCM-03 CLI-18 CLI-30", properties="LIV-08")
def auto_creation_lost_for_good(story: HazardScenario) -> None:
    """Auto-creation that was switched off once cannot be switched on again.

    The refused send of HAZ-02 took INHERIT from TBW102, and the next change of any topic wrote that to the file. At a start the
    constructor makes a good TBW102 (TCM-03), and then the stored entry replaces it (PER-04). The other way round, a stored
    TBW102 outlives the switch: it is registered, so producers take its route (CLI-18) and are refused three times (CLI-30).

    To avoid it: delete TBW102 from topics.json and topics.json.bak when the switch is changed.
    """
    cluster = with_template_in_its_file(story)
    story.say("Auto-creation is off now, but TBW102 is in the file with all its rights, and so it is registered.")
    story.check("TBW102 at the name server", cluster.routed("TBW102"), ["broker-a: read 8, write 8, RWX"])

    story.say("A producer takes the route of TBW102 for T, and the broker refuses.")
    producer = cluster.producer()
    requests = counted_sends(cluster)
    story.check("queues of T, says the producer", cluster.find_queues(producer), "a0 a1 a2 a3")
    ending = cluster.produce(producer)
    story.check("the caller gets TOPIC_NOT_EXIST", ending.startswith("MQClientException 17: Send [3] times, still failed"), True)
    story.check("requests for one message", len(requests), 3)

    story.say("Another topic is changed, which writes the table; then auto-creation is switched on again.")
    cluster.update_topic("Other", 8, 8)
    cluster.crash()
    cluster.restart(auto_create_topic_enable=True)
    story.check("auto-creation is on", cluster.broker().settings.auto_create_topic_enable, True)
    story.check("TBW102 in memory", cluster.topic("TBW102"), "read 8, write 8, RW-")

    story.say("No first message creates a topic any more.")
    story.check("the answer", cluster.send(), "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!")


def counted_sends(cluster: StoryCluster) -> list[int]:
    """A list that grows with every send request on the wire."""
    found: list[int] = []
    cluster.network.watch = lambda packet: found.append(packet.command.code) if packet.command.code == 310 else None
    return found


@hazard("HAZ-04", asserts="TCM-14", properties="INV-14")
def auto_creation_off_does_not_forbid_creation(story: HazardScenario) -> None:
    """With auto-creation off, clients still create topics: they only have to name another template.

    The switch is asked for TBW102 alone. Every other topic with INHERIT serves as a template (TCM-14), and the topic that is
    called like the cluster has it by default.

    To avoid it: clusterTopicEnable=false and brokerTopicEnable=false, and no topic of your own with INHERIT (but see HAZ-05).
    """
    cluster = story.cluster(auto_create_topic_enable=False)
    story.say("Auto-creation is off, and TBW102 gives nothing.")
    story.check("the answer", cluster.send("T"), "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!")

    story.say("A client names the cluster's topic as the default topic.")
    story.check("the template", cluster.topic("DefaultCluster"), "read 16, write 16, RWX")
    story.check("the answer", cluster.send("T", default="DefaultCluster"), "SUCCESS, queue 0 offset 0")
    story.check("T", cluster.topic("T"), "read 4, write 4, RW-")

    story.say("Any topic that was made with INHERIT does the same.")
    cluster.update_topic("Mine", 2, 2, 7)
    story.check("the answer", cluster.send("U", default="Mine"), "SUCCESS, queue 0 offset 0")
    story.check("U", cluster.topic("U"), "read 2, write 2, RW-")


@hazard("HAZ-05", asserts="TCM-15 CHK-11 CLI-20 CLI-33", properties="INV-53")
def topic_without_rights(story: HazardScenario) -> None:
    """A topic is created that nobody may read or write, and the broker stores messages in it.

    With clusterTopicEnable=false the cluster's topic has INHERIT and nothing else. A new topic gets the template's permission
    without INHERIT (TCM-15), which is no permission at all. The broker does not ask a topic's permission when it stores
    (CHK-11), but clients leave out what they may not write (CLI-20).

    To avoid it: name no default topic but TBW102.
    """
    cluster = story.cluster(cluster_topic_enable=False)
    story.say("The cluster's topic may be inherited from, and that is all.")
    story.check("DefaultCluster", cluster.topic("DefaultCluster"), "read 16, write 16, --X")

    story.say("A client names it as the default topic.")
    story.check("the answer", cluster.send("T", default="DefaultCluster"), "SUCCESS, queue 0 offset 0")
    story.check("T", cluster.topic("T"), "read 4, write 4, ---")
    story.check("stored", cluster.stored(), ["T queue 0 offset 0"])

    story.say("A producer that asks the name server finds a route without a queue.")
    story.check("T at the name server", cluster.routed("T"), ["broker-a: read 4, write 4, ---"])
    story.check("the producer's send", cluster.produce(cluster.producer()), "MQClientException 10005: No route info of this topic: T")


@hazard("HAZ-06", asserts="CHK-01 NS-11", properties="INV-52")
def read_only_broker_accepts_and_creates(story: HazardScenario) -> None:
    """A broker that was made read-only still creates topics and stores messages.

    The broker's permission is asked together with the question whether the topic is ordered (CHK-01): only order topics are
    refused. Its registrations say read-only for every topic (NS-11), so it is the clients that stay away, and only after they
    have heard of it.

    To avoid it: wait one route refresh after the change, or stop the broker for clients with old routes.
    """
    cluster = story.cluster(broker_permission=4)
    story.say("The broker has no write permission. A client sends the first message to T.")
    story.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 0")
    story.check("T in memory", cluster.topic(), "read 4, write 4, RW-")
    story.check("T in the file", cluster.filed(), "read 4, write 4, RW-")
    story.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, R--"])

    story.say("Only an order topic is refused.")
    cluster.broker().topics.table["T"].order = True
    story.check("the answer", cluster.send(), "NO_PERMISSION: the broker[127.0.0.1] sending message is forbidden")


@hazard("HAZ-07", asserts="TCM-15 CHK-10 SEND-22 CLI-14", properties="INV-13 INV-09")
def zero_queues(story: HazardScenario) -> None:
    """A topic is created without a single queue, and nothing repairs it.

    The number of queues is the smaller of what the client asks for and what the template has, and 0 is allowed (TCM-15). After
    that no queue id is legal (CHK-10), and a negative one asks for the remainder by zero (SEND-22). The topic exists, so it is
    never created again; its route exists, so producers do not ask for the template's (CLI-14).

    To avoid it: defaultTopicQueueNums of 1 or more in every client. To fix it: update the topic by hand.
    """
    cluster = story.cluster()
    for topic, asked in (("T", 0), ("U", -3)):
        story.say(f"A client that wants {asked} queues sends the first message to {topic}.")
        refused = cluster.send(topic, nums=asked)
        story.check("the answer", refused.split(", ")[0], f"{cluster.illegal}: request queueId[0] is illegal")
        story.check(f"{topic} in memory", cluster.topic(topic), "read 0, write 0, RW-")
        story.check(f"{topic} in the file", cluster.filed(topic), "read 0, write 0, RW-")
        story.check(f"{topic} at the name server", cluster.routed(topic), ["broker-a: read 0, write 0, RW-"])

    story.say("Another client leaves the queue to the broker.")
    story.check("the answer", cluster.send(queue=-1), "SYSTEM_ERROR: java.lang.ArithmeticException: / by zero")
    story.say("A client with sensible settings cannot help it.")
    story.check("the answer", cluster.send().split(", ")[0], f"{cluster.illegal}: request queueId[0] is illegal")
    story.check("the producer's send", cluster.produce(cluster.producer()), "MQClientException 10005: No route info of this topic: T")


@hazard("HAZ-40", asserts="TRX-03", properties="INV-09")
def refused_transaction_leaves_a_topic(story: HazardScenario) -> None:
    """A transactional message that is refused leaves its topic behind.

    Whether a broker takes transactional messages is the last question that it asks (TRX-03). By then the topic has been made,
    written and registered.

    To avoid it: create topics by hand.
    """
    cluster = story.cluster(reject_transaction_message=True)
    story.say("The broker rejects transactions. The first message to T is one.")
    refused = "NO_PERMISSION: the broker[127.0.0.1] sending transaction message is forbidden"
    story.check("the answer", cluster.send(properties={"TRAN_MSG": "true"}), refused)
    story.check("stored", cluster.stored(), [])
    story.check("T in memory", cluster.topic(), "read 4, write 4, RW-")
    story.check("T in the file", cluster.filed(), "read 4, write 4, RW-")
    story.check("T at the name server", cluster.routed(), ["broker-a: read 4, write 4, RW-"])


@hazard("HAZ-41", asserts="CHK-07 BACK-07 TCM-20")
def retry_topic_with_template_counts(story: HazardScenario) -> None:
    """How many queues a retry topic has depends on who needs it first.

    A client's send tries the template first, for retry topics too (CHK-07): 4 queues. A send-back makes it with the group's
    retryQueueNums (BACK-07): 1 queue. Whoever comes second takes it as it is (TCM-20).

    To avoid it: create retry topics by hand, with the group.
    """
    retry = "%RETRY%G"
    cluster = story.cluster()
    cluster.send("T")
    story.say("A client sends to the retry topic of G before any consumer has given a message back.")
    story.check("the answer", cluster.send(retry, queue=3, most=16), "SUCCESS, queue 3 offset 0")
    story.check("the retry topic", cluster.topic(retry), "read 4, write 4, RW-")
    story.say("A consumer gives a message back afterwards.")
    story.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    story.check("the retry topic", cluster.topic(retry), "read 4, write 4, RW-")

    cluster = story.cluster()
    cluster.send("T")
    story.say("In another cluster the consumer comes first.")
    story.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    story.check("the retry topic", cluster.topic(retry), "read 1, write 1, RW-")
    story.say("The same client's message is illegal there.")
    refused = cluster.send(retry, queue=3, most=16)
    story.check("the answer", refused.split(", ")[0], f"{cluster.illegal}: request queueId[3] is illegal")


@hazard("HAZ-44", asserts="CLI-30 TCM-10")
def topic_not_exist_storms(story: HazardScenario) -> None:
    """Each message to a topic that may not be created costs three requests and three turns of the broker's one lock.

    TOPIC_NOT_EXIST is among the answers after which a producer tries again (CLI-30), though trying again cannot help. The
    broker takes the lock of creation before it asks whether it may create at all (TCM-10), so these requests also delay the
    creations that are allowed.

    To avoid it: create the topic, or stop its producers; deleting it on the brokers is not enough (HAZ-36).
    """
    cluster = story.cluster(auto_create_topic_enable=False)
    cluster.update_topic("T", 4, 4)
    producer = cluster.producer()
    cluster.produce(producer)
    story.say("T is deleted on the broker, and auto-creation is off. A producer still has its route.")
    story.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    requests, locked = counted_sends(cluster), []

    def note(_: SimulatedThread[Any], pause: Pause) -> bool:
        if pause.name == "locked":
            locked.append(pause)
        return False

    cluster.scheduler.stops = note
    story.say("It sends 10 messages.")
    endings = [cluster.produce(producer) for _ in range(10)]
    story.check("they end with TOPIC_NOT_EXIST", all(each.startswith("MQClientException 17: Send [3] times") for each in endings), True)
    story.check("requests", len(requests), 30)
    story.check("turns of the lock", len(locked), 30)
