"""Hazards between two steps of a request: locks that are held, what is visible early, what changes in the middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.tasks import Pause

from .cluster import StoryCluster, answer
from .gallery import hazard
from .story import HazardScenario


def at(pause: str) -> Callable[[SimulatedThread[Any], Pause], bool]:
    """Stop the first thread that comes to this place, and nobody after it."""
    stopped: list[SimulatedThread[Any]] = []

    def stops(task: SimulatedThread[Any], here: Pause) -> bool:
        if here.name != pause or stopped:
            return False
        stopped.append(task)
        return True

    return stops


def stopped(cluster: StoryCluster) -> SimulatedThread[Any]:
    """The thread of broker-a that stands at a pause."""
    threads = [task for pool in cluster.node().executors.values() for task in pool.running]
    return next(task for task in threads if task.at is not None)


@hazard("HAZ-08", asserts="TCM-10 CHK-09 TCM-21", properties="INV-20 INV-25 REA-03")
def lock_timeout_reported_as_missing_topic(story: HazardScenario) -> None:
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
def lock_held_during_file_io(story: HazardScenario) -> None:
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
def visible_before_durable(story: HazardScenario) -> None:
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
def deleted_between_check_and_use(story: HazardScenario) -> None:
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


@hazard("HAZ-60", asserts="TCM-30", properties="LIV-01", profiles="P470 P461 P460 P452")
def changed_behind_the_answer(story: HazardScenario) -> None:
    """Who has made a topic is told SUCCESS, and the topic is not there yet.

    Up to 4.7.0 a broker answers an administrator as soon as the topic's name will do; it changes the table, writes the file and registers
    behind that (TCM-30). A message that comes at once is refused. One that comes a little later and makes another topic has that hidden:
    the registration of the first is written late, and counts it (HAZ-55), though nobody has asked for two things at a time.

    To avoid it: ask for the topic before it is used; then look at its route, and at those of the topics that were made after it.
    """
    cluster = story.cluster(auto_create_topic_enable=False)
    cluster.scheduler.stops = at("answered")
    story.say("An administrator makes T. The broker's thread has answered, and has done nothing else.")
    story.check("the answer", cluster.update_topic("T", 4, 4), "SUCCESS")
    story.check("a message to T", cluster.send("T").partition(":")[0], "TOPIC_NOT_EXIST")
    story.say("The thread goes on.")
    cluster.scheduler.resume(stopped(cluster))
    story.check("a message to T", cluster.send("T"), "SUCCESS, queue 0 offset 0")

    cluster = story.cluster()
    cluster.scheduler.stops = at("registration wanted")
    story.say("On another broker the thread has made T, and has not registered it yet. Who was answered sends the first message to A.")
    story.check("the answer", cluster.update_topic("T", 4, 4), "SUCCESS")
    slow = stopped(cluster)
    cluster.scheduler.stops = at("unlocked")
    first = cluster.calling(cluster.request("A"))
    story.check("A on the broker", cluster.topic("A"), "read 4, write 4, RW-")
    story.say("T is registered, with the version that counts A. Then A is, and its message stored.")
    cluster.scheduler.resume(slow)
    cluster.scheduler.resume(stopped(cluster))
    story.check("the answer", answer(first.result()), "SUCCESS, queue 0 offset 0")
    story.check("T at the name server", cluster.routed("T"), ["broker-a: read 4, write 4, RW-"])
    story.check("A at the name server", cluster.routed("A"), [])
