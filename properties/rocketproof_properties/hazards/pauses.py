"""Hazards between two steps of a request: held locks, early visibility, and changes in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.tasks import Pause

from .cluster import HazardCluster, answer
from .gallery import hazard
from .scenario import HazardScenario


def at(pause: str) -> Callable[[SimulatedThread[Any], Pause], bool]:
    """Return a predicate that stops only the first thread that reaches this pause."""
    stopped: list[SimulatedThread[Any]] = []

    def stops(task: SimulatedThread[Any], here: Pause) -> bool:
        if here.name != pause or stopped:
            return False
        stopped.append(task)
        return True

    return stops


def stopped(cluster: HazardCluster) -> SimulatedThread[Any]:
    """Return the thread of broker-a that is stopped at a pause."""
    threads = [task for pool in cluster.node().executors.values() for task in pool.running]
    return next(task for task in threads if task.at is not None)


@hazard("HAZ-08", asserts="TCM-10 CHK-09 TCM-21", properties="INV-20 INV-25 REA-03")
def lock_timeout_reported_as_missing_topic(scenario: HazardScenario) -> None:
    """A slow creation makes the broker report another topic as missing, though it would create that topic.

    One lock guards all creations. A request that waits 3 seconds for it gives up silently (TCM-10), and is answered as if the template were
    missing (CHK-09). For a retry topic the fallback waits again (TCM-21): 6 seconds in total, long after the client's timeout.

    To avoid it: create topics by hand, or put the broker's configuration on a fast disk.
    """
    cluster = scenario.cluster()
    cluster.scheduler.stops = at("persisted")
    scenario.step("A first message to T1 creates it; the disk takes a long time to write the file.")
    slow = cluster.calling(cluster.request("T1"))
    scenario.check("T1 is answered", slow.done.done, False)

    scenario.step("Meanwhile first messages to T2 and to the retry topic of G arrive. 3 seconds pass.")
    second = cluster.calling(cluster.request("T2"))
    retry = cluster.calling(cluster.request("%RETRY%G", most=16))
    cluster.scheduler.advance(2999)
    scenario.check("T2 is answered after 2999 ms", second.done.done, False)
    cluster.scheduler.advance(1)
    scenario.check("T2 is answered after 3000 ms", second.done.done, True)
    scenario.check("the answer", answer(second.result()), "TOPIC_NOT_EXIST: topic[T2] not exist, apply first please!")
    scenario.check("%RETRY%G is answered", retry.done.done, False)

    scenario.step("3 more seconds pass.")
    cluster.scheduler.advance(3000)
    scenario.check("the answer", answer(retry.result()), "TOPIC_NOT_EXIST: topic[%RETRY%G] not exist, apply first please!")

    scenario.step("The disk has written T1. The same message to T2 now succeeds.")
    cluster.scheduler.resume(stopped(cluster))
    scenario.check("the answer about T1", answer(slow.result()), "SUCCESS, queue 0 offset 0")
    scenario.check("the answer about T2", cluster.send("T2"), "SUCCESS, queue 0 offset 0")


@hazard("HAZ-09", asserts="TCM-16 TCM-10", properties="INV-20")
def lock_held_during_file_io(scenario: HazardScenario) -> None:
    """One slow file write blocks sends to unrelated topics.

    The table is written while the creation lock is held (TCM-16). Each first message to another topic occupies one of the few send threads
    and waits up to 3 seconds for the lock (TCM-10). When all threads wait, messages to existing topics queue up after them. The answers of
    a broker whose queue is full or too old (REM-07, REM-10) are not implemented yet.

    To avoid it: as for HAZ-08, and more send threads than topics that are created at a time.
    """
    cluster = scenario.cluster()
    cluster.update_topic("Old", 4, 4)
    cluster.node().executors["send"].threads = 4
    cluster.scheduler.stops = at("persisted")
    scenario.step("Four send threads. Four first messages to four topics arrive; the disk is slow to finish the first.")
    firsts = [cluster.calling(cluster.request(f"New{number}")) for number in range(4)]
    scenario.check("busy threads", len(cluster.node().executors["send"].running), 4)
    scenario.check("New0 in the file", cluster.filed("New0"), "read 4, write 4, RW-")
    scenario.check("the lock of creation is free", not cluster.broker().topics.lock.held, False)

    scenario.step("A message to an existing topic arrives.")
    old = cluster.calling(cluster.request("Old"))
    cluster.scheduler.advance(2999)
    scenario.check("it is answered after 2999 ms", old.done.done, False)

    scenario.step("After 3 seconds the waiting threads give up, and the message is processed.")
    cluster.scheduler.advance(1)
    refused = [answer(first.result()).split(":")[0] for first in firsts[1:]]
    scenario.check("the answers about the new topics", refused, ["TOPIC_NOT_EXIST"] * 3)
    scenario.check("the answer about the existing topic", answer(old.result()), "SUCCESS, queue 0 offset 0")


@hazard("HAZ-10", asserts="TCM-04", properties="REA-04 REA-06")
def visible_before_durable(scenario: HazardScenario) -> None:
    """A message is stored and acknowledged in a topic that is gone after a crash.

    Every thread sees a topic once it is in the table (TCM-04); the file is written later (TCM-16). A crash in between leaves records of a
    topic that the broker does not know. The next first message creates the topic again, with the queue count of its sender.

    To avoid it: create topics by hand before they are used.
    """
    cluster = scenario.cluster()
    cluster.scheduler.stops = at("versioned")
    scenario.step("A first message creates T with 4 queues; it is in the table and not yet in the file.")
    cluster.calling(cluster.request())
    scenario.check("T in memory", cluster.topic(), "read 4, write 4, RW-")
    scenario.check("T in the file", cluster.filed(), "unknown")

    scenario.step("Another client's message finds T and is stored.")
    scenario.check("the answer", cluster.send(queue=3), "SUCCESS, queue 3 offset 0")

    scenario.step("The broker crashes and restarts.")
    cluster.scheduler.stops = None
    cluster.crash()
    cluster.restart()
    scenario.check("T in memory", cluster.topic(), "unknown")
    scenario.check("stored", cluster.stored(), ["T queue 3 offset 0"])

    scenario.step("The next first message is from a client that requests 2 queues: no consumer will read queue 3.")
    scenario.check("the answer", cluster.send(nums=2), "SUCCESS, queue 0 offset 0")
    scenario.check("T in memory", cluster.topic(), "read 2, write 2, RW-")


@hazard("HAZ-18", asserts="SEND-21")
def deleted_between_check_and_use(scenario: HazardScenario) -> None:
    """If a topic is deleted at the wrong moment, the broker answers with a null-pointer exception.

    The topic is looked up for the checks, and again for the queue, without a lock (SEND-21). Nothing is stored. The answer is the same as
    for any exception (REM-08); it even lacks the region that other errors have (SEND-11).

    To avoid it: stop the producers of a topic before it is deleted.
    """
    cluster = scenario.cluster()
    cluster.update_topic("T", 4, 4)
    cluster.scheduler.stops = at("append")
    scenario.step("A message to T has passed all checks.")
    sending = cluster.calling(cluster.request())
    scenario.step("An administrator deletes T, and the send goes on.")
    scenario.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    cluster.scheduler.resume(stopped(cluster))
    scenario.check("the answer", answer(sending.result()), "SYSTEM_ERROR: java.lang.NullPointerException")
    scenario.check("it has extFields", sending.result().ext_fields is not None, False)
    scenario.check("stored", cluster.stored(), [])


@hazard("HAZ-60", asserts="TCM-30", properties="LIV-01", profiles="P470 P461 P460 P452")
def changed_behind_the_answer(scenario: HazardScenario) -> None:
    """A broker answers the creation of a topic with SUCCESS before the topic exists.

    Up to 4.7.0 a broker answers an administrator once the topic's name is accepted. Only then does it change the table, write the file and
    register (TCM-30). A message sent at once is refused. A slightly later message that creates another topic can lose that topic's
    registration: the first registration is written late, with a version that counts both (HAZ-55). The requests did not even overlap.

    To avoid it: query the topic before it is used; then check its route, and the routes of topics created after it.
    """
    cluster = scenario.cluster(auto_create_topic_enable=False)
    cluster.scheduler.stops = at("answered")
    scenario.step("An administrator creates T. The broker's thread has answered, and has done nothing else.")
    scenario.check("the answer", cluster.update_topic("T", 4, 4), "SUCCESS")
    scenario.check("a message to T", cluster.send("T").partition(":")[0], "TOPIC_NOT_EXIST")
    scenario.step("The thread continues.")
    cluster.scheduler.resume(stopped(cluster))
    scenario.check("a message to T", cluster.send("T"), "SUCCESS, queue 0 offset 0")

    cluster = scenario.cluster()
    cluster.scheduler.stops = at("registration wanted")
    scenario.step(
        "On another broker the thread has created T, and has not registered it yet. After the answer a client sends the first message to A."
    )
    scenario.check("the answer", cluster.update_topic("T", 4, 4), "SUCCESS")
    slow = stopped(cluster)
    cluster.scheduler.stops = at("unlocked")
    first = cluster.calling(cluster.request("A"))
    scenario.check("A on the broker", cluster.topic("A"), "read 4, write 4, RW-")
    scenario.step("T is registered, with the version that counts A. Then A is registered, and its message is stored.")
    cluster.scheduler.resume(slow)
    cluster.scheduler.resume(stopped(cluster))
    scenario.check("the answer", answer(first.result()), "SUCCESS, queue 0 offset 0")
    scenario.check("T at the name server", cluster.routed("T"), ["broker-a: read 4, write 4, RW-"])
    scenario.check("A at the name server", cluster.routed("A"), [])
