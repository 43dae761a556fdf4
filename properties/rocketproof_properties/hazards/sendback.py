"""Hazards of messages that a consumer failed to process: retry topics and dead letters."""

from __future__ import annotations

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_protocol.topics import SCHEDULE

from ..programs.vocabulary import plain
from .cluster import place
from .gallery import hazard
from .scenario import HazardScenario

RETRY, DEAD = "%RETRY%G", "%DLQ%G"


@hazard("HAZ-15", asserts="DLQ-04 DLQ-06", properties="INV-44")
def dead_letter_answer(scenario: HazardScenario) -> None:
    """The answer for a dead letter names a queue that its topic does not have.

    A message that was retried 16 times goes to the group's dead-letter topic, whose only queue is 0 (DLQ-04). The answer keeps the queue
    that was chosen for the retry topic, next to the id and offset of the dead letter (DLQ-06).

    To avoid it: as for HAZ-13.
    """
    cluster = scenario.cluster()
    scenario.step("The retry topic of G has 4 queues. A message that was consumed 16 times goes to its queue 3.")
    cluster.update_topic(RETRY, 4, 4)
    cluster.send(DEAD)
    answered = cluster.send(RETRY, queue=3, times=16, most=16 - cluster.profile.dlq_beyond)
    scenario.check("the answer", answered, "SUCCESS, queue 3 offset 1")
    scenario.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 1")
    scenario.step("A message that was consumed 15 times goes to the requested queue.")
    answered = cluster.send(RETRY, queue=3, times=15, most=16)
    scenario.check("the answer", answered, "SUCCESS, queue 3 offset 0")
    scenario.check("the record", place(cluster.last()), f"{RETRY} queue 3 offset 0")


@hazard("HAZ-17", asserts="SEND-24 BACK-12", profiles="P49 P494")
def property_reset_lost(scenario: HazardScenario) -> None:
    """A dead letter that still has a delay goes to the schedule topic first.

    The step that selects the dead-letter topic removes the delay, but afterwards the request's properties replace the map (SEND-24). For a
    send-back the same step works (BACK-12).

    To avoid it: a client that sends to a retry topic itself should omit DELAY in the last round.
    """
    cluster = scenario.cluster()
    scenario.step("A client sends to the retry topic of G for the 16th time, with delay level 5.")
    cluster.send(RETRY, times=16, properties={"DELAY": "5"})
    scenario.check("the record", place(cluster.last()), f"{SCHEDULE} queue 4 offset 0")
    scenario.check("its REAL_TOPIC", cluster.stored_properties()["REAL_TOPIC"], DEAD)

    scenario.step("Another consumer gives that record up: its delay is removed.")
    scenario.check("the answer", cluster.send_back(0, level=-1), "SUCCESS")
    scenario.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")


@hazard("HAZ-20", asserts="BACK-07 BACK-16 STO-01 CLI-04", properties="INV-09", profiles="P49 P45 P40 P494 P533")
def group_names_too_long_for_derived_topics(scenario: HazardScenario) -> None:
    """A legal consumer group cannot retry, because the name of its retry topic is too long.

    A group's name may have 255 characters (CLI-04), a topic's 127. The retry topic is created from the group's name without a check
    (BACK-07). Only the put refuses it (STO-01); that status is the remark of the answer (BACK-16). The topic stays.

    To avoid it: use group names of at most 120 characters.
    """
    cluster = scenario.cluster()
    cluster.send("T")
    for length in (120, 121):
        group = "G" * length
        scenario.step(f"A group with {length} characters gives a message back.")
        expected = "SUCCESS" if length == 120 else "SYSTEM_ERROR: MESSAGE_ILLEGAL"
        cluster.producer(group)
        scenario.check("the answer", cluster.send_back(0, group, most=16), expected)
        scenario.check("the retry topic", cluster.topic(f"%RETRY%{group}"), "read 1, write 1, RW-")
        scenario.check("characters of its name", len(f"%RETRY%{group}"), 7 + length)
    for length in (122, 123):
        group = "G" * length
        scenario.step(f"A group with {length} characters gives a message up.")
        expected = "SUCCESS" if length == 122 else "SYSTEM_ERROR: MESSAGE_ILLEGAL"
        scenario.check("the answer", cluster.send_back(0, group, level=-1, most=16), expected)
        scenario.check("characters of the dead-letter topic's name", len(f"%DLQ%{group}"), 5 + length)


@hazard("HAZ-30", asserts="BACK-05", properties="INV-51")
def send_back_gives_up_silently(scenario: HazardScenario) -> None:
    """A message that is given back is lost, but the consumer gets SUCCESS.

    A group with retryQueueNums 0 has no queue for retries. The broker answers SUCCESS and stores nothing (BACK-05). The consumer continues
    with the next message.

    To avoid it: set retryQueueNums to 1 or more. With retryMaxTimes 0 all messages go to the dead letters instead.
    """
    cluster = scenario.cluster()
    cluster.send("T")
    cluster.broker().groups.update(SubscriptionGroupConfig("G", retry_queue_nums=0))
    scenario.step("Group G has no retry queues. A consumer gives the only message of T back.")
    scenario.check("the answer", cluster.send_back(0), "SUCCESS")
    scenario.check("stored", cluster.stored(), ["T queue 0 offset 0"])
    scenario.check("the retry topic", cluster.topic(RETRY), "unknown")
    scenario.check("the dead-letter topic", cluster.topic(DEAD), "unknown")


@hazard("HAZ-31", asserts="BACK-12", profiles="P45 P40")
def dead_letters_cannot_be_read(scenario: HazardScenario) -> None:
    """Dead letters are not readable.

    P40 and P45 create the dead-letter topic with write permission only (BACK-12, DLQ-04). Later profiles give both permissions.

    To avoid it: give the topic permission 6 by hand when dead letters must be read.
    """
    for profile, expected in ((scenario.profile, "-W-"), ("P49", "RW-")):
        cluster = scenario.cluster(profile=profile)
        cluster.send("T")
        scenario.step(f"A consumer gives a message up, in {profile}.")
        scenario.check("the answer", cluster.send_back(0, level=-1, most=16), "SUCCESS")
        scenario.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")
        scenario.check("the topic", cluster.topic(DEAD), f"read 1, write 1, {expected}")
        scenario.check("the route for consumers", cluster.routed(DEAD), [f"broker-a: read 1, write 1, {expected}"])


@hazard("HAZ-32", asserts="BACK-15", properties="INV-50", profiles="P45 P40")
def origin_message_id_missing(scenario: HazardScenario) -> None:
    """A dead letter does not name its original message.

    The text of the properties is made before ORIGIN_MESSAGE_ID is put into the map (BACK-15). For a message that is retried with a delay,
    the store makes the text again, so it keeps the id. For a dead letter it does not. Later profiles make the text twice.

    To avoid it: put an id of your own into KEYS.
    """
    for profile in (scenario.profile, "P49"):
        cluster = scenario.cluster(profile=profile)
        cluster.send("T")
        scenario.step(f"A consumer gives a message back for a retry, in {profile}.")
        scenario.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
        scenario.check("the record names its origin", "ORIGIN_MESSAGE_ID" in cluster.stored_properties(), True)
        scenario.step("It gives the same message up.")
        scenario.check("the answer", cluster.send_back(0, level=-1, most=16), "SUCCESS")
        scenario.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")
        scenario.check("it names its origin", "ORIGIN_MESSAGE_ID" in cluster.stored_properties(), profile == "P49")


@hazard("HAZ-33", asserts="BACK-11", profiles="P45 P40")
def missing_limit_is_a_null_pointer(scenario: HazardScenario) -> None:
    """A consumer that does not name its retry limit cannot give messages back.

    From version 121 (3.4.9) on a client can name the limit in its request. P40 and P45 read it without checking that it is there (BACK-11).
    The consumer gets an exception as answer and tries again endlessly. By then the retry topic has been created.

    To avoid it: clients in other languages should always set maxReconsumeTimes.
    """
    for profile in (scenario.profile, "P49"):
        cluster = scenario.cluster(profile=profile)
        cluster.send("T")
        scenario.step(f"A consumer gives a message back without maxReconsumeTimes, in {profile}.")
        expected = "SUCCESS" if profile == "P49" else "SYSTEM_ERROR: java.lang.NullPointerException"
        scenario.check("the answer", cluster.send_back(0, version=121), expected)
        scenario.check("records", len(cluster.stored()), 2 if profile == "P49" else 1)
        scenario.check("the retry topic", cluster.topic(RETRY), "read 1, write 1, RW-")
        if profile != "P49":
            scenario.step("A consumer of version 120 does the same.")
            scenario.check("the answer", cluster.send_back(0, version=120), "SUCCESS")


@hazard("HAZ-45", asserts="BACK-12 BACK-14 DLQ-04", properties="LIV-06", profiles="P49 P494 P45 P40")
def a_retry_less_by_a_send(scenario: HazardScenario) -> None:
    """A message that its consumer sends to the retry topic is dead one delivery earlier than a send-back.

    For a send-back the broker compares the number of earlier retries with the limit (BACK-12), for a send the number including this one
    (DLQ-04). With 2 retries a send-back allows 3 deliveries, and a send 2. Java's concurrent consumers send if they cannot give a message
    back, for example to a broker without write permission (BACK-04). 5.x gives a send the missing retry.

    To avoid it: do not rely on the last delivery. A consumer that only sends can request one more retry.
    """
    cluster = scenario.cluster()
    cluster.send("T")
    scenario.step("A consumer that retries twice fails three times, and gives the message back each time.")
    for delay in (10_000, 30_000, 0):
        scenario.check("the answer", cluster.send_back(cluster.last().physical_offset, most=2), "SUCCESS")
        cluster.act("time", millis=delay)
    if cluster.profile.dlq_clears_delay:
        scenario.check("the record", place(cluster.last()), f"{DEAD} queue 0 offset 0")
    scenario.check("deliveries before it was dead", cluster.last().reconsume_times, 3)
    scenario.step("Another consumer fails twice, and sends the message each time.")
    scenario.check("the answer", cluster.send(RETRY, times=1, most=2), "SUCCESS, queue 0 offset 2")
    cluster.send(RETRY, times=2, most=2)
    scenario.check("the topic of the record", cluster.last().topic, DEAD)
    scenario.check("deliveries before it was dead", cluster.last().reconsume_times, 2)


@hazard("HAZ-46", asserts="BACK-06 BACK-07 TCM-20", properties="LIV-06 INV-31")
def a_retry_in_a_queue_that_nobody_reads(scenario: HazardScenario) -> None:
    """Half of all retries are lost when a group gets a second retry queue.

    The queue is drawn from the group's number of retry queues (BACK-06). An existing retry topic stays as it is (TCM-20), and its number of
    queues is not checked (BACK-07). The consumer gets SUCCESS, but the message is stored in a queue that no consumer reads. The same
    happens if a send has created the retry topic before, with a single queue.

    To avoid it: increase the retry topic's queues first, and then the group's retryQueueNums.
    """
    cluster = scenario.cluster()
    cluster.send("T")
    scenario.step("G retries over one queue, and its retry topic exists.")
    scenario.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    scenario.check("the retry topic", cluster.topic(RETRY), "read 1, write 1, RW-")
    scenario.step("An administrator gives G a second queue. The next message that is given back is drawn for that queue.")
    cluster.ask(plain("group", group="G", queues=2))
    cluster.node().random.feed(1)
    scenario.check("the answer", cluster.send_back(0, most=16), "SUCCESS")
    cluster.act("time", millis=10_000)
    scenario.check("the record", place(cluster.last()), f"{RETRY} queue 1 offset 0")
    scenario.check("the retry topic", cluster.topic(RETRY), "read 1, write 1, RW-")
    scenario.step("A consumer's route does not have this queue, and a pull from it is refused.")
    scenario.check("the route", cluster.routed(RETRY), ["broker-a: read 1, write 1, RW-"])
    refused = cluster.ask(plain("pull", topic=RETRY, queue=1, group="G"))
    scenario.check("the answer", refused.partition(",")[0], f"{cluster.illegal}: queueId[1] is illegal")
