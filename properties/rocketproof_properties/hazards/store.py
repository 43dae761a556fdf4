"""Hazards of what is stored, where, and what the answer says of it."""

from __future__ import annotations

from typing import Any

from rocketproof_protocol.flags import PREPARED
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE, WHEEL_TIMER_TOPIC

from ..programs.vocabulary import plain
from .cluster import PATIENCE, answer, place
from .gallery import hazard
from .story import HazardScenario


@hazard("HAZ-12", asserts="TRX-05 APP-04 APP-10 REC-04")
def silent_loss_by_system_flag(story: HazardScenario) -> None:
    """A message is acknowledged that nobody will ever get.

    The gate for transactions looks at the property TRAN_MSG only (TRX-05). A message whose system flag says "prepared" and that
    lacks the property is stored under its own topic, with queue offset 0 (APP-04), takes no offset (APP-10) and gets no entry in
    the consume queue (REC-04). It is no half message either, so no check will ever ask for it.

    To avoid it: nothing on the broker helps; do not set the bits of the system flag by hand.
    """
    cluster = story.cluster(reject_transaction_message=True)
    story.say("A client sends with system flag 4 and without TRAN_MSG. The broker rejects transactions, and takes it.")
    story.check("the answer", cluster.send(sys_flag=PREPARED), "SUCCESS, queue 0 offset 0")
    story.check("the answer to the next one", cluster.send(sys_flag=PREPARED), "SUCCESS, queue 0 offset 0")
    story.check("stored", cluster.stored(), ["T queue 0 offset 0", "T queue 0 offset 0"])
    story.say("A consumer comes to the queue, and a check comes for half messages.")
    story.check("messages of T for consumers", cluster.consumable("T"), 0)
    story.check("half messages", cluster.consumable(HALF_TOPIC), 0)


@hazard("HAZ-13", asserts="SEND-42 CL-02 TRX-04", properties="INV-44", profiles="P49 P45 P494")
def answered_pair_is_no_location(story: HazardScenario) -> None:
    """The queue and the offset of an answer do not say where the message is.

    The answer has the queue that was asked for beside the offset in the queue that was used (SEND-42). A delayed message is in
    the schedule topic (CL-02), a half message in the half topic (TRX-04), each with offsets of its own.

    To avoid it: find messages by the message id of the answer, which is the place in the log.
    """
    cluster = story.cluster()
    cluster.update_topic("T", 4, 4)
    story.say("A message with delay level 3 goes to T, queue 1.")
    story.check("the answer", cluster.send(queue=1, properties={"DELAY": "3"}), "SUCCESS, queue 1 offset 0")
    story.check("the record", place(cluster.last()), f"{SCHEDULE} queue 2 offset 0")
    story.say("A plain one goes to the same queue, and has the same answer.")
    story.check("the answer", cluster.send(queue=1), "SUCCESS, queue 1 offset 0")
    story.check("the record", place(cluster.last()), "T queue 1 offset 0")
    story.say("And so has a transactional one.")
    story.check("the answer", cluster.send(queue=1, sys_flag=PREPARED, properties={"TRAN_MSG": "true"}), "SUCCESS, queue 1 offset 0")
    story.check("the record", place(cluster.last()), f"{HALF_TOPIC} queue 0 offset 0")


@hazard("HAZ-14", asserts="SEND-42", properties="INV-55")
def statistics_attributed_elsewhere(story: HazardScenario) -> None:
    """A topic's put count does not count what is sent to it with a delay.

    The message is counted under the topic that it has after the put (SEND-42), which the store has changed by then.

    To avoid it: count at the producer, or look at the schedule topic's counts too.
    """
    cluster = story.cluster()
    story.say("Two messages go to T, one of them delayed.")
    cluster.send()
    cluster.send(properties={"DELAY": "3"})
    counts = cluster.broker().statistics.topic_put_nums
    story.check("put count of T", counts["T"], 1)
    story.check(f"put count of {SCHEDULE}", counts[SCHEDULE], 1)


@hazard("HAZ-19", asserts="SEND-03 STO-01", properties="INV-56", profiles="P49 P45 P40 P494")
def hooks_change_what_is_stored(story: HazardScenario) -> None:
    """The same message is stored on one broker and illegal on another, which has a send hook.

    With any hook registered, region and trace switch are put into the message's properties (SEND-03): 39 characters more with
    the default region. The limit of 32767 characters (STO-01) is then that much nearer.

    To avoid it: keep properties well below 32 KB, with or without message trace.
    """
    cluster = story.cluster()
    cluster.send(properties={"KEYS": "k"})
    without = cluster.last().properties_text or ""
    cluster.act("hooks")
    cluster.send(properties={"KEYS": "k"})
    story.say("The same request, without and with a hook that does nothing.")
    story.check("it stores MSG_REGION and TRACE_ON", {"MSG_REGION", "TRACE_ON"} <= set(cluster.stored_properties()), True)
    story.check("characters more", len(cluster.last().properties_text or "") - len(without), 39)

    long = {"KEYS": "k" * (32767 - len(without) - 20)}
    cluster.act("hooks", send=False)
    story.say("A message whose properties are 20 characters below the limit.")
    story.check("the answer without a hook", cluster.send(properties=long).split(",")[0], "SUCCESS")
    cluster.act("hooks")
    story.check("the answer with a hook", cluster.send(properties=long).split(":")[0], "MESSAGE_ILLEGAL")


@hazard("HAZ-21", asserts="FLU-03 FLU-02", profiles="P45 P40")
def false_flush_disk_timeout(story: HazardScenario) -> None:
    """A message that is on the device is reported as not flushed in time.

    The group commit thread tests and flushes twice for each waiting message (FLU-03). One flush takes one file only. With an
    unflushed tail in the file before, the first flush ends at that file's end and the second one reaches the message, but
    nobody tests a third time. P49 does.

    To avoid it: read FLUSH_DISK_TIMEOUT as "perhaps not yet on the device".
    """
    for profile, expected in ((story.profile, "FLUSH_DISK_TIMEOUT"), ("P49", "SUCCESS")):
        cluster = story.cluster(profile=profile, services=True, flush_disk_type="SYNC_FLUSH", mapped_file_size_commit_log=400)
        store = cluster.broker().store
        story.say(f"A broker of {profile} flushes synchronously. Two messages come that want no waiting, and at once one that waits.")
        began = cluster.clock.now()
        for _ in range(2):
            cluster.calling(cluster.request(body="x" * 50, properties={"WAIT": "false"}), client="hasty")
        last = cluster.calling(cluster.request(body="x" * 150), client="patient")
        story.check("files of the log", len(store.commit_log.files.files), 2)
        story.check("flushed up to", store.flushed_where, 0)
        story.say("The group commit thread wakes up, and flushes.")
        answered = cluster.scheduler.run(last.done)
        story.check("milliseconds that have passed", cluster.clock.now() - began, 0)
        story.check("the whole log is on the device", store.flushed_where == store.max_phy_offset, True)
        story.check("the answer", answer(answered).split(",")[0].split(":")[0], expected)


@hazard("HAZ-22", asserts="CL-08", properties="INV-06")
def second_append_is_not_looked_at(story: HazardScenario) -> None:
    """A message that is larger than a file of the log is acknowledged, and is nowhere.

    A record that does not fit fills the file with a blank, and is tried once more in the next file. What comes of the second
    try is not looked at (CL-08): the next file is filled too, and the answer is SUCCESS.

    To avoid it: files of the log that are larger than the largest message, as they are by default.
    """
    cluster = story.cluster(mapped_file_size_commit_log=100)
    story.say("Files of the log have 100 bytes. A message of 5 bytes makes a record of more than that.")
    story.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 0")
    story.check("stored", cluster.stored(), [])
    story.check("end of the log", cluster.broker().store.max_phy_offset, 200)
    story.check("messages for consumers", cluster.consumable(), 0)
    story.check("put count of T", cluster.broker().statistics.topic_put_nums["T"], 1)


@hazard("HAZ-23", asserts="CL-05 REM-06 STO-03", properties="LIV-05", profiles="P45 P40 P492 P533 P540")
def page_cache_busy_for_hours(story: HazardScenario) -> None:
    """After one exception in the append, a broker refuses every message for nearly three hours.

    The store notes when somebody got its lock, to see how long appends take, and takes the note back on the ways out that
    were thought of; an exception is not one of them (CL-05). From one second on, and up to 10,000 seconds, the note means that
    the page cache is busy (STO-03), so that no message is let in (REM-06) that could take it back. 4.9.3 to 4.9.7 and 5.5.0 take it back in
    any case; up to 4.9.2, and again from 5.0.0 to 5.4.0, no release does. No failing disk is needed: in 5.x one batch whose sysFlag says
    that a host has an address of IPv6 ends in an exception there, whoever sends it (HAZ-51).

    To avoid it: restart the broker.
    """

    def broken(operation: str, path: str) -> None:
        if operation == "map" and "commitlog" in path:
            raise OSError("bus error")

    for profile in (story.profile, "P49"):
        cluster = story.cluster(profile=profile)
        cluster.send()
        story.say(f"A write into the log fails once, in {profile}.")
        cluster.node().disk.failing = broken
        story.check("the answer", cluster.send().split(":")[0], "SYSTEM_ERROR")
        cluster.node().disk.failing = None
        cluster.scheduler.advance(1001)
        story.say("The disk is well again. A second later the next message comes.")
        if profile == "P49":
            story.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 1")
            continue
        busy = "SYSTEM_BUSY: [REJECTREQUEST]system busy, start flow control for a while"
        story.check("the answer", cluster.send(), busy)
        cluster.scheduler.advance(2 * 3_600_000)
        story.say("Two hours later.")
        story.check("the answer", cluster.send(), busy)
        cluster.scheduler.advance(10_000_000 - 2 * 3_600_000 - 1001)
        story.say("10,000 seconds after the failure.")
        story.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 1")


@hazard("HAZ-38", asserts="BAT-02 BAT-03", profiles="P49 P45 P494")
def batch_goes_round_the_checks(story: HazardScenario) -> None:
    """A batch goes where its messages may not go one by one.

    The batch path has no dead letters for retry topics (BAT-02), no look at the consumer group, and no gate for transactions
    (BAT-03). P40 refuses batches to retry topics.

    To avoid it: RocketMQ's own producers build no such batches; other clients should not either.
    """
    cluster = story.cluster(auto_create_subscription_group=False)

    def send_batch(topic: str, **arguments: Any) -> str:
        return cluster.send(topic, items=[("one", {}), ("two", {})], **arguments)

    story.say("Two messages to the retry topic of an unknown group, consumed 99 times already: one by one, and as a batch.")
    refused = "SUBSCRIPTION_GROUP_NOT_EXIST: subscription group not exist, G "
    story.check("the answer to one", cluster.send("%RETRY%G", times=99), refused)
    story.check("the answer to the batch", send_batch("%RETRY%G", times=99), "SUCCESS, queue 0 offset 0")
    story.check("stored", cluster.stored(), ["%RETRY%G queue 0 offset 0", "%RETRY%G queue 0 offset 1"])

    cluster = story.cluster(reject_transaction_message=True)
    story.say("Two transactional messages to a broker that rejects transactions.")
    story.check("the answer to one", cluster.send(properties={"TRAN_MSG": "true"}).split(":")[0], "NO_PERMISSION")
    story.check("the answer to the batch", send_batch("T", properties={"TRAN_MSG": "true"}), "SUCCESS, queue 0 offset 0")
    story.check("stored", cluster.stored(), ["T queue 0 offset 0", "T queue 0 offset 1"])

    cluster = story.cluster(profile="P40")
    story.say("The batch to the retry topic, in P40.")
    refused = "MESSAGE_ILLEGAL: batch request does not support retry group %RETRY%G"
    story.check("the answer", send_batch("%RETRY%G"), refused)


@hazard("HAZ-39", asserts="TRX-04 CL-02", properties="INV-45", profiles="P49 P45 P494")
def half_message_with_a_delay(story: HazardScenario) -> None:
    """A transactional message with a delay forgets its topic.

    A half message keeps its real topic in a property and loses the bits of a prepared message (TRX-04), so the store sees an
    ordinary message with a delay, moves it to the schedule topic and writes REAL_TOPIC over (CL-02). When its time comes it is put into
    the half topic, and from 4.6.1 on nowhere: it is lost.

    To avoid it: no delay level on transactional messages.
    """
    cluster = story.cluster()
    story.say("A transactional message with delay level 2 goes to T.")
    story.check("the answer", cluster.send(sys_flag=PREPARED, properties={"TRAN_MSG": "true", "DELAY": "2"}), "SUCCESS, queue 0 offset 0")
    story.check("the record", place(cluster.last()), f"{SCHEDULE} queue 1 offset 0")
    story.check("its REAL_TOPIC", cluster.stored_properties()["REAL_TOPIC"], HALF_TOPIC)
    story.check("T is named in it", "T" in cluster.stored_properties().values(), False)
    story.say("5 seconds later the delayed message is delivered.")
    cluster.act("time", millis=5000)
    half = "nowhere" if cluster.profile.discards_delayed_halves else f"{HALF_TOPIC} queue 0 offset 0"
    last = place(cluster.last())
    story.check("the message", "nowhere" if last.startswith(SCHEDULE) else last, half)


@hazard("HAZ-47", asserts="TRX-01 CL-02 REC-05", properties="AUX-33", profiles="P49 P45 P494")
def retry_of_a_transactions_message(story: HazardScenario) -> None:
    """A transaction's message that a consumer sends to be retried is lost.

    The committed message has TRAN_MSG still. A consumer of before 4.6.1 that could not give it back sends it to its retry topic as it
    has it, with a delay: for the broker that is a half message with a delay (HAZ-39). A broker of 4.6.1 knows it by retries and delay,
    one of 4.7 to 4.9 does not, and one of 5.x does again.

    To avoid it: consumers of 4.6.1 or later, which take the property away.
    """
    cluster = story.cluster()
    story.say("A consumer sends a transaction's message to its retry topic, with delay level 3.")
    properties = {"TRAN_MSG": "true", "DELAY": "3"}
    cluster.send("%RETRY%G", times=1, most=16, properties=properties)
    story.check("the record", place(cluster.last()), f"{SCHEDULE} queue 2 offset 0")
    story.check("its REAL_TOPIC", cluster.stored_properties()["REAL_TOPIC"], HALF_TOPIC)
    story.say("10 seconds later its time has come.")
    cluster.act("time", millis=10_000)
    story.check("the retry topic has it", any(line.startswith("%RETRY%G") for line in cluster.stored()), False)

    cluster = story.cluster(profile="P533")
    story.say("The same with 5.3.3, 10 seconds later.")
    cluster.send("%RETRY%G", times=1, most=16, properties=properties)
    cluster.act("time", millis=10_000)
    story.check("the retry topic has it", any(line.startswith("%RETRY%G") for line in cluster.stored()), True)


@hazard("HAZ-48", asserts="REC-05", properties="AUX-29", profiles="P49 P494")
def deliveries_that_happen_again(story: HazardScenario) -> None:
    """An end of the process makes many delayed messages come a second time.

    How far a level is delivered is written to delayOffset.json every 10 seconds. What was delivered since is delivered again by the
    next process.

    To avoid it: consumers that recognise a message which they have had.
    """
    cluster = story.cluster()
    story.say("Three messages with delay level 1, and a second later.")
    for _ in range(3):
        cluster.send(properties={"DELAY": "1"})
    cluster.act("time", millis=1000)
    story.check("T has", sum(line.startswith("T ") for line in cluster.stored()), 3)
    story.say("The process ends before the file is written, and starts again.")
    cluster.act("crash")
    cluster.act("time", millis=1000)
    story.check("T has", sum(line.startswith("T ") for line in cluster.stored()), 6)


@hazard("HAZ-42", asserts="CHK-03 CHK-04", properties="INV-46", profiles="P49")
def system_topics_as_targets(story: HazardScenario) -> None:
    """Clients may send to topics that belong to the broker.

    The nine reserved names are the client's business (CLI-10). The broker of P49 refuses the schedule topic alone (CHK-03); P40 and
    P45 refuse TBW102 alone (CHK-04), and what is sent to the schedule topic directly has no way back to a topic. A recorded
    4.9.4 refuses five more.

    To avoid it: let nobody in whose client does not refuse these names.
    """
    cluster = story.cluster()
    story.say("A client that refuses nothing sends to topics of the broker.")
    story.check("the answer about TBW102", cluster.send("TBW102"), "SUCCESS, queue 0 offset 0")
    operations = OP_HALF_TOPIC
    story.check(f"the answer about {operations}", cluster.send(operations), "SUCCESS, queue 0 offset 0")
    refused = f"NO_PERMISSION: Sending message to topic[{SCHEDULE}] is forbidden."
    story.check("the answer about the schedule topic", cluster.send(SCHEDULE), refused)

    cluster = story.cluster(profile="P45")
    story.say("The same client and a broker of P45.")
    story.check("the answer about TBW102", cluster.send("TBW102").split(":")[0], "SYSTEM_ERROR")
    story.check("the schedule topic before", cluster.topic(SCHEDULE), "unknown")
    story.check("the answer about it", cluster.send(SCHEDULE, queue=2), "SUCCESS, queue 2 offset 0")
    story.check("the schedule topic afterwards", cluster.topic(SCHEDULE), "read 4, write 4, RW-")
    cluster.dispatch()
    cluster.scheduler.advance(60_000)
    story.check("messages that are delivered a minute later", cluster.do(cluster.broker().store.deliver_delayed()), 0)

    cluster = story.cluster(profile="P494")
    story.say("And a broker as recorded (P494).")
    story.check(f"the answer about {operations}", cluster.send(operations).split(":")[0], "NO_PERMISSION")


@hazard("HAZ-53", asserts="REC-02 FLU-01 FLU-05", properties="INV-06", profiles="P49 P45 P40 P494 P533")
def start_believes_what_it_reads(story: HazardScenario) -> None:
    """With synchronous flush a loss of power takes an acknowledged message, on a device that never failed.

    A flush forces the file in which the flushed position is. A start takes what it has read for flushed (REC-02), so that no flush comes
    back to an earlier file, though the process may have ended before that was forced. What is acknowledged in the next file is on the
    device (FLU-01), behind a gap; after a loss of power the log ends there.

    To avoid it: stop brokers instead of killing them; bring the system's cache to the device (sync) before a start after a crash.
    """
    cluster = story.cluster(flush_disk_type="SYNC_FLUSH", mapped_file_size_commit_log=1024)
    story.say("The device is slow. Messages fill a file, the last one begins the next, and their senders are told that they are late.")
    cluster.act("flush", stuck=True)
    for _ in range(2):
        story.check("the answer", cluster.send("late", body="x" * 500).split(",")[0], "FLUSH_DISK_TIMEOUT")
    story.say("The process ends, and starts again on the same machine: everything is still in the system's cache.")
    cluster.crash()
    cluster.restart()
    story.check("stored", cluster.stored(), ["late queue 0 offset 0", "late queue 0 offset 1"])
    story.say("A message comes, is flushed, and acknowledged. Then the power fails.")
    story.check("the answer", cluster.send("T").split(",")[0], "SUCCESS")
    cluster.act("crash", power=True)
    story.check("stored", cluster.stored(), [])


@hazard("HAZ-54", asserts="TRX-04 CL-02", properties="INV-45", profiles="P533")
def half_message_with_a_time(story: HazardScenario) -> None:
    """A transaction's message that names a time is committed, and nobody gets it.

    A half message is an ordinary message of the half topic (TRX-04). With a time of its own it waits in the timer topic, where the half
    topic takes the place of the topic that it is for (CL-02). Its commit finds it at the place of the answer, and brings it into the half
    topic, as does its time; both are answered or done without a word. Releases before 5.0 do the same with a delay level (HAZ-39).

    To avoid it: no time of its own in a transaction's message.
    """
    cluster = story.cluster()
    story.say("A half message comes that is to be delivered in ten seconds, and is committed.")
    properties = {"TRAN_MSG": "true", "PGROUP": "producers", "TIMER_DELAY_SEC": "10", "UNIQ_KEY": "U"}
    story.check("the answer", cluster.send(properties=properties), "SUCCESS, queue 0 offset 0")
    story.check("stored", cluster.stored(), [f"{WHEEL_TIMER_TOPIC} queue 0 offset 0"])
    end = plain("end", offset=0, queue_offset=0)
    end.flag = 0
    end.ext_fields = {**(end.ext_fields or {}), "producerGroup": "producers"}
    story.check("the answer to the commit", cluster.ask(end), "SUCCESS")
    story.say("A minute passes.")
    cluster.act("time", millis=60_000)
    story.check("messages of T for consumers", cluster.consumable(), 0)
    story.check(
        "topics of what is stored", sorted({found.partition(" ")[0] for found in cluster.stored()}), [HALF_TOPIC, WHEEL_TIMER_TOPIC]
    )


@hazard("HAZ-58", asserts="CL-02 REC-05", properties="INV-45", profiles="P533")
def anybody_stops_all_timers(story: HazardScenario) -> None:
    """One message of anybody stops all timer messages of a broker for ever; they are acknowledged all the same.

    A message with a time of its own waits in a topic of the broker's (CL-02), and from there it is read by its property TIMER_OUT_MS.
    Everybody may send to that topic. The reader does not get behind a message without the property: it logs an error, waits, and
    tries again (seen on 5.3.3, also after kill -9 and after a stop).

    To avoid it: nobody but the broker should be allowed to send to rmq_sys_wheel_timer.
    """
    cluster = story.cluster()
    story.say("A message comes that is to be delivered in three seconds, and a minute passes.")
    story.check("the answer", cluster.send(properties={"TIMER_DELAY_SEC": "3"}), "SUCCESS, queue 0 offset 0")
    cluster.dispatch()
    cluster.act("time", millis=60_000)
    story.check("messages of T for consumers", cluster.consumable(), 1)
    story.say("A client sends to the broker's topic, and then another such message comes.")
    story.check("the answer", cluster.send(WHEEL_TIMER_TOPIC), "SUCCESS, queue 0 offset 1")
    story.check("the answer", cluster.send(properties={"TIMER_DELAY_SEC": "3"}), "SUCCESS, queue 0 offset 2")
    cluster.dispatch()
    story.say("An hour passes.")
    cluster.act("time", millis=3_600_000)
    story.check("messages of T for consumers", cluster.consumable(), 1)


@hazard("HAZ-59", asserts="REC-02", profiles="P494 P493 P491 P452 P49 P500")
def file_without_length(story: HazardScenario) -> None:
    """A kill at the wrong moment leaves a store on which the broker never starts again.

    A mapped file is made, and then given its length. Where the process ends between the two, a file of length 0 stays, which is not what
    the settings say: the start ends there (REC-02). Up to 4.4.0, and in 4.9.2, such a file is passed over; from 5.1.4 on it is deleted.

    To avoid it: before a start after a kill, delete the files of length 0 in commitlog and consumequeue.
    """
    cluster = story.cluster()
    cluster.send()
    story.say("A message is acknowledged and dispatched. The process ends when its queue's file has been made.")
    with cluster.process_ends(after=1):
        cluster.dispatch()
    disk, file = cluster.node().disk, "store/consumequeue/T/0/00000000000000000000"
    story.check("bytes of the queue's file", disk.size(file), 0)
    for _ in range(2):
        story.check("the broker starts", cluster.restart(), False)
    story.say("Somebody deletes the file.")
    disk.delete(file)
    story.check("the broker starts", cluster.restart(), True)
    story.check("stored", cluster.stored(), ["T queue 0 offset 0"])
    story.check("messages for consumers", cluster.consumable(), 1)


@hazard("HAZ-63", asserts="CL-06", properties="AUX-111", profiles="P494 P49 P45 P40")
def back_to_a_time(story: HazardScenario) -> None:
    """A consumer that is set back to a time misses messages of that time.

    The offset of a time (request 29) is looked for by halving, which ends at the first message of that time that it comes upon. What was
    stored in the same millisecond lies before it as well as behind it: a whole batch has one time (CL-06). Since 5.1.1 the first message
    of the time is told.

    To avoid it: go back a millisecond further, and expect to be given earlier messages, too: halving tells the nearest one.
    """
    cluster = story.cluster()

    def offset(time: int) -> int:
        told = cluster.deployment.connect("broker-a").ask(plain("search", topic="T", time=time), PATIENCE)
        return whole_number((told.ext_fields or {})["offset"])

    story.say("A batch of three messages is stored, and a consumer asks which offset belongs to its time.")
    cluster.send(items=[["a", {}], ["b", {}], ["c", {}]])
    cluster.dispatch()
    at = cluster.last().store_timestamp
    story.check("the offset that it is told", offset(at), 1)
    story.say("It asks for the time a millisecond before, and nothing is missing.")
    story.check("the offset that it is told", offset(at - 1), 0)


@hazard("HAZ-62", asserts="REC-04 TCM-31", properties="INV-36", profiles="P49 P40 P45 P494 P533 P550")
def dispatched_behind_the_deletion(story: HazardScenario) -> None:
    """A message to a topic that was deleted and made again is acknowledged, and nobody will ever get it.

    A record comes to its consume queue a moment after the answer. If an administrator deletes the topic in between, its queues and the
    log's counts of them go, and the record does not: its entry begins a new queue, where it was in the old one (REC-04). New messages
    count from 0. The first is appended whatever it counts; others that count less than the queue has are taken for built already.

    To avoid it: stop the producers of a topic, and wait until its queues have all that was sent, before it is deleted.
    """
    cluster = story.cluster()
    cluster.update_topic("T", 4, 4)
    story.say("A message goes to T, and to its queue. The next one is not dispatched yet when an administrator deletes T.")
    story.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 0")
    cluster.dispatch()
    story.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 1")
    story.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    story.say("T is made again, and the broker dispatches.")
    cluster.update_topic("T", 4, 4)
    cluster.dispatch()
    store = cluster.broker().store
    story.check("where the queue of the new T begins, and ends", [store.min_offset("T", 0), store.max_offset("T", 0)], [1, 2])
    story.say("Three messages go to the new T.")
    for number in range(3):
        story.check("the answer", cluster.send(), f"SUCCESS, queue 0 offset {number}")
    cluster.dispatch()
    found = [store.get_message("T", 0, at) for at in range(1, store.max_offset("T", 0))]
    kept = {message.physical_offset for message in found if message is not None}
    lost = [number for number, message in enumerate(store.records(), 1) if number > 2 and message.physical_offset not in kept]
    story.check("the messages that no consumer gets", lost, [4, 5])
