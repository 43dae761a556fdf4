"""Hazards of messages that a consumer could not consume: retry topics and dead letters."""

from __future__ import annotations

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_protocol.topics import SCHEDULE

from ..programs.vocabulary import plain
from .cluster import place
from .gallery import hazard
from .story import HazardScenario

RETRY, DEAD = "%RETRY%G", "%DLQ%G"


@hazard("HAZ-15", asserts="DLQ-04 DLQ-06", properties="INV-44")
def dead_letter_answer(story: HazardScenario) -> None:
    """The answer about a dead letter names a queue that its topic does not have.

    A message that was retried 16 times goes to the group's dead-letter topic, whose only queue is 0 (DLQ-04). The answer keeps
    the queue that was chosen for the retry topic, beside id and offset of the dead letter (DLQ-06).

    To avoid it: as for HAZ-13.
    """
    cluster = story.cluster()
    story.say("The retry topic of G has 4 queues. A message that was consumed 16 times goes to its queue 3.")
    cluster.update_topic(RETRY, 4, 4)
    cluster.send(DEAD)
    answered = cluster.send(RETRY, queue=3, times=16, most=16 - cluster.profile.dlq_beyond)
    story.check("the answer", answered, "SUCCESS, queue 3 offset 1")
    story.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 1")
    story.say("One that was consumed 15 times goes where it says.")
    answered = cluster.send(RETRY, queue=3, times=15, most=16)
    story.check("the answer", answered, "SUCCESS, queue 3 offset 0")
    story.check("the record", place(cluster.last()), f"{RETRY} queue 3 offset 0")


@hazard("HAZ-17", asserts="SEND-24 BACK-12", profiles="P49 P494")
def property_reset_lost(story: HazardScenario) -> None:
    """A dead letter that still has a delay goes to the schedule topic first.

    The step that finds the dead-letter topic takes the delay away, and after it the map of properties is replaced by the
    request's (SEND-24). On the way of a send-back the same step works (BACK-12).

    To avoid it: a client that sends to a retry topic itself should leave DELAY out in the last round.
    """
    cluster = story.cluster()
    story.say("A client sends to the retry topic of G for the 16th time, with delay level 5.")
    cluster.send(RETRY, times=16, properties={"DELAY": "5"})
    story.check("the record", place(cluster.last()), f"{SCHEDULE} queue 4 offset 0")
    story.check("its REAL_TOPIC", cluster.stored_properties()["REAL_TOPIC"], DEAD)

    story.say("Another consumer gives that record back for good: its delay is taken away.")
    story.check("the answer", cluster.send_back(0, level=-1), "SUCCESS")
    story.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")


@hazard("HAZ-20", asserts="BACK-07 BACK-16 STO-01 CLI-04", properties="INV-09", profiles="P49 P45 P40 P494 P533")
def group_names_too_long_for_derived_topics(story: HazardScenario) -> None:
    """A legal consumer group cannot retry, because the name of its retry topic is too long.

    A group's name may have 255 characters (CLI-04), a topic's 127. The retry topic is made from the group's name without a look
    at it (BACK-07), and only the put refuses it (STO-01); that status is the remark of the answer (BACK-16). The topic stays.

    To avoid it: groups of at most 120 characters.
    """
    cluster = story.cluster()
    cluster.send("T")
    for length in (120, 121):
        group = "G" * length
        story.say(f"A group with {length} characters gives a message back.")
        expected = "SUCCESS" if length == 120 else "SYSTEM_ERROR: MESSAGE_ILLEGAL"
        cluster.producer(group)
        story.check("the answer", cluster.send_back(0, group, most=16), expected)
        story.check("the retry topic", cluster.topic(f"%RETRY%{group}"), "read 1, write 1, RW-")
        story.check("characters of its name", len(f"%RETRY%{group}"), 7 + length)
    for length in (122, 123):
        group = "G" * length
        story.say(f"A group with {length} characters gives a message up.")
        expected = "SUCCESS" if length == 122 else "SYSTEM_ERROR: MESSAGE_ILLEGAL"
        story.check("the answer", cluster.send_back(0, group, level=-1, most=16), expected)
        story.check("characters of the dead-letter topic's name", len(f"%DLQ%{group}"), 5 + length)


@hazard("HAZ-30", asserts="BACK-05", properties="INV-51")
def send_back_gives_up_silently(story: HazardScenario) -> None:
    """A message that is given back is lost, and the consumer hears that all is well.

    A group with retryQueueNums 0 has nowhere to retry. The broker answers SUCCESS and stores nothing (BACK-05); the consumer
    goes on to the next message.

    To avoid it: retryQueueNums of 1 or more; retryMaxTimes 0 sends everything to the dead letters instead.
    """
    cluster = story.cluster()
    cluster.send("T")
    cluster.broker().groups.update(SubscriptionGroupConfig("G", retry_queue_nums=0))
    story.say("Group G has no retry queues. A consumer gives the only message of T back.")
    story.check("the answer", cluster.send_back(0), "SUCCESS")
    story.check("stored", cluster.stored(), ["T queue 0 offset 0"])
    story.check("the retry topic", cluster.topic(RETRY), "unknown")
    story.check("the dead-letter topic", cluster.topic(DEAD), "unknown")


@hazard("HAZ-31", asserts="BACK-12", profiles="P45 P40")
def dead_letters_cannot_be_read(story: HazardScenario) -> None:
    """Nobody may read the dead letters.

    P40 and P45 make the dead-letter topic with write permission only (BACK-12, DLQ-04). Later profiles give both rights.

    To avoid it: give the topic permission 6 by hand when somebody has to look.
    """
    for profile, expected in ((story.profile, "-W-"), ("P49", "RW-")):
        cluster = story.cluster(profile=profile)
        cluster.send("T")
        story.say(f"A consumer gives a message up, in {profile}.")
        story.check("the answer", cluster.send_back(0, level=-1, most=16), "SUCCESS")
        story.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")
        story.check("the topic", cluster.topic(DEAD), f"read 1, write 1, {expected}")
        story.check("the route for consumers", cluster.routed(DEAD), [f"broker-a: read 1, write 1, {expected}"])


@hazard("HAZ-32", asserts="BACK-15", properties="INV-50", profiles="P45 P40")
def origin_message_id_missing(story: HazardScenario) -> None:
    """A dead letter does not say which message it was.

    The text of the properties is made before ORIGIN_MESSAGE_ID is put into the map (BACK-15). A message that is retried with a
    delay is serialised once more by the store and keeps the id; one that goes to the dead letters is not. Later profiles
    serialise twice.

    To avoid it: put an id of your own into KEYS.
    """
    for profile in (story.profile, "P49"):
        cluster = story.cluster(profile=profile)
        cluster.send("T")
        story.say(f"A consumer gives a message back to have it again, in {profile}.")
        story.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
        story.check("the record names its origin", "ORIGIN_MESSAGE_ID" in cluster.stored_properties(), True)
        story.say("It gives the same message up.")
        story.check("the answer", cluster.send_back(0, level=-1, most=16), "SUCCESS")
        story.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")
        story.check("it names its origin", "ORIGIN_MESSAGE_ID" in cluster.stored_properties(), profile == "P49")


@hazard("HAZ-33", asserts="BACK-11", profiles="P45 P40")
def missing_limit_is_a_null_pointer(story: HazardScenario) -> None:
    """A consumer that does not say how often it retries cannot give anything back.

    From version 121 (3.4.9) on a client can name the limit in its request, and P40 and P45 take it without asking whether it is
    there (BACK-11). The consumer gets an exception as answer and tries again for ever. The retry topic has been made by then.

    To avoid it: clients in other languages should always set maxReconsumeTimes.
    """
    for profile in (story.profile, "P49"):
        cluster = story.cluster(profile=profile)
        cluster.send("T")
        story.say(f"A consumer gives a message back without maxReconsumeTimes, in {profile}.")
        expected = "SUCCESS" if profile == "P49" else "SYSTEM_ERROR: java.lang.NullPointerException"
        story.check("the answer", cluster.send_back(0, version=121), expected)
        story.check("records", len(cluster.stored()), 2 if profile == "P49" else 1)
        story.check("the retry topic", cluster.topic(RETRY), "read 1, write 1, RW-")
        if profile != "P49":
            story.say("A consumer of version 120 does the same.")
            story.check("the answer", cluster.send_back(0, version=120), "SUCCESS")


@hazard("HAZ-45", asserts="BACK-12 BACK-14 DLQ-04", properties="LIV-06", profiles="P49 P494 P45 P40")
def a_retry_less_by_a_send(story: HazardScenario) -> None:
    """A message that its consumer sends to the retry topic is dead one delivery earlier than one that it gives back.

    A send-back is asked how often the message was retried before (BACK-12), a send how often with this time (DLQ-04). With 2
    retries the one means 3 deliveries and the other 2. Java's concurrent consumers send where they may not give back, for instance
    to a broker that may not be written to (BACK-04). 5.x lets a send have the retry that is missing.

    To avoid it: do not count on the last delivery; a consumer that only sends can ask for one retry more.
    """
    cluster = story.cluster()
    cluster.send("T")
    story.say("A consumer that retries twice fails three times, and gives the message back each time.")
    for delay in (10_000, 30_000, 0):
        story.check("the answer", cluster.send_back(cluster.last().physical_offset, most=2), "SUCCESS")
        cluster.act("time", millis=delay)
    if cluster.profile.dlq_clears_delay:
        story.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")
    story.check("deliveries before it was dead", cluster.last().reconsume_times, 3)
    story.say("Another one fails twice, and sends the message each time.")
    story.check("the answer", cluster.send(RETRY, times=1, most=2), "SUCCESS, queue 0 offset 2")
    cluster.send(RETRY, times=2, most=2)
    story.check("the topic of the record", cluster.last().topic, DEAD)
    story.check("deliveries before it was dead", cluster.last().reconsume_times, 2)


@hazard("HAZ-46", asserts="BACK-06 BACK-07 TCM-20", properties="LIV-06 INV-31")
def a_retry_in_a_queue_that_nobody_reads(story: HazardScenario) -> None:
    """Half of all retries is lost when a group is given a second retry queue.

    The queue is drawn from as many as the group has (BACK-06), and a retry topic that is there stays as it is (TCM-20): nobody asks
    how many it has (BACK-07). The consumer hears SUCCESS, and the message comes to lie in a queue in which no consumer looks. The
    same happens where a send has made the retry topic before, with a single queue.

    To avoid it: give the retry topic as many queues first, and the group its retryQueueNums then.
    """
    cluster = story.cluster()
    cluster.send("T")
    story.say("G retries over one queue, and its retry topic is there.")
    story.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    story.check("the retry topic", cluster.topic(RETRY), "read 1, write 1, RW-")
    story.say("An administrator gives G a second one. The next message that is given back is drawn for that.")
    cluster.ask(plain("group", group="G", queues=2))
    cluster.node().random.feed(1)
    story.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    cluster.act("time", millis=10_000)
    story.check("the record", place(cluster.last()), f"{RETRY} queue 1 offset 0")
    story.check("the retry topic", cluster.topic(RETRY), "read 1, write 1, RW-")
    story.say("A consumer has no such queue in its route, and if it asks for it, it is refused.")
    story.check("the route", cluster.routed(RETRY), ["broker-a: read 1, write 1, RW-"])
    refused = cluster.ask(plain("pull", topic=RETRY, queue=1, group="G"))
    story.check("the answer", refused.partition(",")[0], f"{cluster.illegal}: queueId[1] is illegal")
