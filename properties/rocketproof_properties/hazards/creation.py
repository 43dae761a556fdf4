"""Hazards of creating a topic by its first message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_impl.simulator.scheduler import Task
from rocketproof_impl.tasks import Pause

from .gallery import hazard
from .scene import Scene, answer
from .story import Story


def at(pause: str) -> Callable[[Task[Any], Pause], bool]:
    """Stop the first thread that comes to this place, and nobody after it."""
    stopped: list[Task[Any]] = []

    def stops(task: Task[Any], here: Pause) -> bool:
        if here.name != pause or stopped:
            return False
        stopped.append(task)
        return True

    return stops


def stopped(cluster: Scene) -> Task[Any]:
    """The thread of broker-a that stands at a pause."""
    threads = [task for pool in cluster.node().executors.values() for task in pool.running]
    return next(task for task in threads if task.at is not None)


def with_template_in_its_file(story: Story) -> Scene:
    """Auto-creation was on, the table was written, and the broker was started again with auto-creation off."""
    cluster = story.cluster()
    cluster.update_topic("Other", 4, 4)
    cluster.crash()
    cluster.restart(auto_create_topic_enable=False)
    return cluster


@hazard("HAZ-02", asserts="TCM-13 NS-09", properties="INV-16 INV-18")
def template_mutation(story: Story) -> None:
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
def auto_creation_lost_for_good(story: Story) -> None:
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
    said = cluster.produce(producer)
    story.check("the caller gets TOPIC_NOT_EXIST", said.startswith("MQClientException 17: Send [3] times, still failed"), True)
    story.check("requests for one message", len(requests), 3)

    story.say("Another topic is changed, which writes the table; then auto-creation is switched on again.")
    cluster.update_topic("Other", 8, 8)
    cluster.crash()
    cluster.restart(auto_create_topic_enable=True)
    story.check("auto-creation is on", cluster.broker().settings.auto_create_topic_enable, True)
    story.check("TBW102 in memory", cluster.topic("TBW102"), "read 8, write 8, RW-")

    story.say("No first message creates a topic any more.")
    story.check("the answer", cluster.send(), "TOPIC_NOT_EXIST: topic[T] not exist, apply first please!")


def counted_sends(cluster: Scene) -> list[int]:
    """A list that grows with every send request on the wire."""
    found: list[int] = []
    cluster.network.watch = lambda letter: found.append(letter.command.code) if letter.command.code == 310 else None
    return found


@hazard("HAZ-04", asserts="TCM-14", properties="INV-14")
def auto_creation_off_does_not_forbid_creation(story: Story) -> None:
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
def topic_without_rights(story: Story) -> None:
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
def read_only_broker_accepts_and_creates(story: Story) -> None:
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
def zero_queues(story: Story) -> None:
    """A topic is created without a single queue, and nothing repairs it.

    The number of queues is the smaller of what the client asks for and what the template has, and 0 is allowed (TCM-15). After
    that no queue id is legal (CHK-10), and a negative one asks for the remainder by zero (SEND-22). The topic exists, so it is
    never created again; its route exists, so producers do not ask for the template's (CLI-14).

    To avoid it: defaultTopicQueueNums of 1 or more in every client. To mend it: update the topic by hand.
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


@hazard("HAZ-08", asserts="TCM-10 CHK-09 TCM-21", properties="INV-20 INV-25 REA-03")
def lock_timeout_reported_as_missing_topic(story: Story) -> None:
    """A slow creation makes the broker say of another topic that it does not exist, though it would create it.

    One lock guards all creations. Who waits 3 seconds for it gives up without a word (TCM-10), and that is answered like a
    template that gives nothing (CHK-09). A retry topic has a second way, which waits again (TCM-21): 6 seconds, when the client
    has long gone.

    To avoid it: create topics by hand, or put the broker's configuration on a fast disk.
    """
    cluster = story.cluster()
    cluster.scheduler.stops = at("persisted")
    story.say("A first message to T1 creates it; the disk takes a long time to write the file.")
    slow = cluster.calling(cluster.request("T1"))
    story.check("T1 is answered", slow.done.done, False)

    story.say("First messages to T2 and to the retry topic of G come meanwhile. 3 seconds pass.")
    second = cluster.calling(cluster.request("T2"))
    retry = cluster.calling(cluster.request("%RETRY%G", most=16))
    cluster.scheduler.advance(2999)
    story.check("T2 is answered after 2999 ms", second.done.done, False)
    cluster.scheduler.advance(1)
    story.check("T2 is answered after 3000 ms", second.done.done, True)
    story.check("the answer", answer(second.result()), "TOPIC_NOT_EXIST: topic[T2] not exist, apply first please!")
    story.check("%RETRY%G is answered", retry.done.done, False)

    story.say("3 more seconds pass.")
    cluster.scheduler.advance(3000)
    story.check("the answer", answer(retry.result()), "TOPIC_NOT_EXIST: topic[%RETRY%G] not exist, apply first please!")

    story.say("The disk is done with T1. The same message to T2 is welcome now.")
    cluster.scheduler.resume(stopped(cluster))
    story.check("the answer about T1", answer(slow.result()), "SUCCESS, queue 0 offset 0")
    story.check("the answer about T2", cluster.send("T2"), "SUCCESS, queue 0 offset 0")


@hazard("HAZ-09", asserts="TCM-16 TCM-10", properties="INV-20")
def lock_held_during_file_io(story: Story) -> None:
    """One slow write of a file stops the sends of topics that have nothing to do with it.

    The table is written while the lock of creation is held (TCM-16). Each first message to another topic takes one of the few
    send threads and waits up to 3 seconds for the lock (TCM-10). When all threads wait, messages to old topics queue up behind
    them. What a broker answers when the queue is full or its head is too old (REM-07, REM-10) is not built yet.

    To avoid it: as for HAZ-08, and more send threads than topics that are created at a time.
    """
    cluster = story.cluster()
    cluster.update_topic("Old", 4, 4)
    cluster.node().executors["send"].threads = 4
    cluster.scheduler.stops = at("persisted")
    story.say("Four send threads. Four first messages come to four topics; the disk is slow to finish the first.")
    firsts = [cluster.calling(cluster.request(f"New{number}")) for number in range(4)]
    story.check("busy threads", len(cluster.node().executors["send"].running), 4)
    story.check("New0 in the file", cluster.filed("New0"), "read 4, write 4, RW-")
    story.check("the lock of creation is free", not cluster.broker().topics.lock.held, False)

    story.say("A message comes to a topic that everybody knows.")
    old = cluster.calling(cluster.request("Old"))
    cluster.scheduler.advance(2999)
    story.check("it is answered after 2999 ms", old.done.done, False)

    story.say("After 3 seconds the waiting threads give up their topics, and the message gets its turn.")
    cluster.scheduler.advance(1)
    refused = [answer(first.result()).split(":")[0] for first in firsts[1:]]
    story.check("the answers about the new topics", refused, ["TOPIC_NOT_EXIST"] * 3)
    story.check("the answer about the old one", answer(old.result()), "SUCCESS, queue 0 offset 0")


@hazard("HAZ-10", asserts="TCM-04", properties="REA-04 REA-06")
def visible_before_durable(story: Story) -> None:
    """A message is stored and acknowledged in a topic that is gone after a crash.

    A topic is seen by every thread as soon as it is in the table (TCM-04); the file comes later (TCM-16). A crash between the
    two leaves records of a topic that the broker does not know. The next first message creates it anew, with the numbers of
    whoever sends it.

    To avoid it: create topics by hand before they are used.
    """
    cluster = story.cluster()
    cluster.scheduler.stops = at("versioned")
    story.say("A first message creates T with 4 queues; it is in the table and not yet in the file.")
    cluster.calling(cluster.request())
    story.check("T in memory", cluster.topic(), "read 4, write 4, RW-")
    story.check("T in the file", cluster.filed(), "unknown")

    story.say("Another client's message finds T and is stored.")
    story.check("the answer", cluster.send(queue=3), "SUCCESS, queue 3 offset 0")

    story.say("The broker crashes and starts again.")
    cluster.scheduler.stops = None
    cluster.crash()
    cluster.restart()
    story.check("T in memory", cluster.topic(), "unknown")
    story.check("stored", cluster.stored(), ["T queue 3 offset 0"])

    story.say("The next first message is of a client that wants 2 queues: no consumer will look into queue 3.")
    story.check("the answer", cluster.send(nums=2), "SUCCESS, queue 0 offset 0")
    story.check("T in memory", cluster.topic(), "read 2, write 2, RW-")


@hazard("HAZ-18", asserts="SEND-21")
def deleted_between_check_and_use(story: Story) -> None:
    """A topic that is deleted at the wrong moment makes the broker answer with a null pointer.

    The topic is looked up for the checks and looked up again for the queue, without a lock (SEND-21). Nothing is stored. The
    answer is the one for any exception (REM-08) and lacks even the region that other errors have (SEND-11).

    To avoid it: stop the producers of a topic before it is deleted.
    """
    cluster = story.cluster()
    cluster.update_topic("T", 4, 4)
    cluster.scheduler.stops = at("append")
    story.say("A message to T has passed all checks.")
    sending = cluster.calling(cluster.request())
    story.say("An administrator deletes T, and the send goes on.")
    story.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    cluster.scheduler.resume(stopped(cluster))
    story.check("the answer", answer(sending.result()), "SYSTEM_ERROR: java.lang.NullPointerException")
    story.check("it has extFields", sending.result().ext_fields is not None, False)
    story.check("stored", cluster.stored(), [])


@hazard("HAZ-40", asserts="TRX-03", properties="INV-09")
def refused_transaction_leaves_a_topic(story: Story) -> None:
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
def retry_topic_with_template_counts(story: Story) -> None:
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
def topic_not_exist_storms(story: Story) -> None:
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

    def note(_: Task[Any], pause: Pause) -> bool:
        if pause.name == "locked":
            locked.append(pause)
        return False

    cluster.scheduler.stops = note
    story.say("It sends 10 messages.")
    said = [cluster.produce(producer) for _ in range(10)]
    story.check("they end with TOPIC_NOT_EXIST", all(each.startswith("MQClientException 17: Send [3] times") for each in said), True)
    story.check("requests", len(requests), 30)
    story.check("turns of the lock", len(locked), 30)
