"""Hazards of stored messages: their place, and what the answer reports of it."""

from __future__ import annotations

from typing import Any

from rocketproof_protocol.flags import PREPARED
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE, WHEEL_TIMER_TOPIC

from ..programs.vocabulary import plain
from .cluster import PATIENCE, answer, place
from .gallery import hazard
from .scenario import HazardScenario


@hazard("HAZ-12", asserts="TRX-05 APP-04 APP-10 REC-04")
def silent_loss_by_system_flag(scenario: HazardScenario) -> None:
    """A message is acknowledged, but no consumer can ever get it.

    The gate for transactions checks only the property TRAN_MSG (TRX-05). A message with the system flag "prepared" and without the property
    is stored under its own topic, with queue offset 0 (APP-04). It takes no offset (APP-10) and gets no entry in the consume queue
    (REC-04). It is no half message either, so no check ever reads it.

    To avoid it: there is no remedy on the broker; do not set the bits of the system flag by hand.
    """
    cluster = scenario.cluster(reject_transaction_message=True)
    scenario.step("A client sends with system flag 4 and without TRAN_MSG. The broker rejects transactions, but accepts it.")
    scenario.check("the answer", cluster.send(sys_flag=PREPARED), "SUCCESS, queue 0 offset 0")
    scenario.check("the answer to the second message", cluster.send(sys_flag=PREPARED), "SUCCESS, queue 0 offset 0")
    scenario.check("stored", cluster.stored(), ["T queue 0 offset 0", "T queue 0 offset 0"])
    scenario.step("A consumer reads the queue, and a check reads the half messages.")
    scenario.check("messages of T for consumers", cluster.consumable("T"), 0)
    scenario.check("half messages", cluster.consumable(HALF_TOPIC), 0)


@hazard("HAZ-13", asserts="SEND-42 CL-02 TRX-04", properties="INV-44", profiles="P49 P45 P494")
def answered_pair_is_no_location(scenario: HazardScenario) -> None:
    """The queue and the offset in an answer do not locate the message.

    The answer combines the requested queue with the offset in the queue that was used (SEND-42). A delayed message is in the schedule topic
    (CL-02), a half message in the half topic (TRX-04), each with its own offsets.

    To avoid it: find messages by the message id in the answer, which is the position in the log.
    """
    cluster = scenario.cluster()
    cluster.update_topic("T", 4, 4)
    scenario.step("A message with delay level 3 goes to T, queue 1.")
    scenario.check("the answer", cluster.send(queue=1, properties={"DELAY": "3"}), "SUCCESS, queue 1 offset 0")
    scenario.check("the record", place(cluster.last()), f"{SCHEDULE} queue 2 offset 0")
    scenario.step("A plain message goes to the same queue, and gets the same answer.")
    scenario.check("the answer", cluster.send(queue=1), "SUCCESS, queue 1 offset 0")
    scenario.check("the record", place(cluster.last()), "T queue 1 offset 0")
    scenario.step("A transactional message gets the same answer too.")
    scenario.check("the answer", cluster.send(queue=1, sys_flag=PREPARED, properties={"TRAN_MSG": "true"}), "SUCCESS, queue 1 offset 0")
    scenario.check("the record", place(cluster.last()), f"{HALF_TOPIC} queue 0 offset 0")


@hazard("HAZ-14", asserts="SEND-42", properties="INV-55")
def statistics_attributed_elsewhere(scenario: HazardScenario) -> None:
    """A topic's put count omits delayed messages.

    The message is counted under its topic after the put (SEND-42), which the store has changed by then.

    To avoid it: count at the producer, or include the counts of the schedule topic.
    """
    cluster = scenario.cluster()
    scenario.step("Two messages go to T, one of them delayed.")
    cluster.send()
    cluster.send(properties={"DELAY": "3"})
    counts = cluster.broker().statistics.topic_put_nums
    scenario.check("put count of T", counts["T"], 1)
    scenario.check(f"put count of {SCHEDULE}", counts[SCHEDULE], 1)


@hazard("HAZ-19", asserts="SEND-03 STO-01", properties="INV-56", profiles="P49 P45 P40 P494")
def hooks_change_what_is_stored(scenario: HazardScenario) -> None:
    """The same message is stored on one broker, and illegal on another broker with a send hook.

    With any hook registered, region and trace switch are added to the message's properties (SEND-03): 39 more characters with the default
    region. The limit of 32767 characters (STO-01) applies to the sum.

    To avoid it: keep properties well below 32 KB, with or without message trace.
    """
    cluster = scenario.cluster()
    cluster.send(properties={"KEYS": "k"})
    without = cluster.last().properties_text or ""
    cluster.act("hooks")
    cluster.send(properties={"KEYS": "k"})
    scenario.step("The same request, without and with a hook that does nothing.")
    scenario.check("it stores MSG_REGION and TRACE_ON", {"MSG_REGION", "TRACE_ON"} <= set(cluster.stored_properties()), True)
    scenario.check("characters more", len(cluster.last().properties_text or "") - len(without), 39)

    long = {"KEYS": "k" * (32767 - len(without) - 20)}
    cluster.act("hooks", send=False)
    scenario.step("A message whose properties are 20 characters below the limit.")
    scenario.check("the answer without a hook", cluster.send(properties=long).split(",")[0], "SUCCESS")
    cluster.act("hooks")
    scenario.check("the answer with a hook", cluster.send(properties=long).split(":")[0], "MESSAGE_ILLEGAL")


@hazard("HAZ-21", asserts="FLU-03 FLU-02", profiles="P45 P40")
def false_flush_disk_timeout(scenario: HazardScenario) -> None:
    """A message that is on the device is reported as not flushed in time.

    The group commit thread checks and flushes twice for each waiting message (FLU-03). One flush covers one file only. If the previous file
    has an unflushed tail, the first flush ends at that file's end. The second flush reaches the message, but there is no third check. P49
    checks again.

    To avoid it: read FLUSH_DISK_TIMEOUT as "perhaps not yet on the device".
    """
    for profile, expected in ((scenario.profile, "FLUSH_DISK_TIMEOUT"), ("P49", "SUCCESS")):
        cluster = scenario.cluster(profile=profile, services=True, flush_disk_type="SYNC_FLUSH", mapped_file_size_commit_log=400)
        store = cluster.broker().store
        scenario.step(
            f"A broker of {profile} flushes synchronously. Two messages that do not wait for the flush arrive, "
            "followed at once by a message that waits."
        )
        began = cluster.clock.now()
        for _ in range(2):
            cluster.calling(cluster.request(body="x" * 50, properties={"WAIT": "false"}), client="hasty")
        last = cluster.calling(cluster.request(body="x" * 150), client="patient")
        scenario.check("files of the log", len(store.commit_log.files.files), 2)
        scenario.check("flushed up to", store.flushed_where, 0)
        scenario.step("The group commit thread wakes up, and flushes.")
        answered = cluster.scheduler.run(last.done)
        scenario.check("milliseconds that have passed", cluster.clock.now() - began, 0)
        scenario.check("the whole log is on the device", store.flushed_where == store.max_phy_offset, True)
        scenario.check("the answer", answer(answered).split(",")[0].split(":")[0], expected)


@hazard("HAZ-22", asserts="CL-08", properties="INV-06")
def second_append_is_not_looked_at(scenario: HazardScenario) -> None:
    """A message larger than a file of the log is acknowledged, but not stored.

    A record that does not fit fills the file with a blank, and is tried again in the next file. The result of the second try is not checked
    (CL-08): the next file is filled too, and the answer is SUCCESS.

    To avoid it: use log files that are larger than the largest message, as by default.
    """
    cluster = scenario.cluster(mapped_file_size_commit_log=100)
    scenario.step("Files of the log have 100 bytes. A message of 5 bytes makes a record of more than that.")
    scenario.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 0")
    scenario.check("stored", cluster.stored(), [])
    scenario.check("end of the log", cluster.broker().store.max_phy_offset, 200)
    scenario.check("messages for consumers", cluster.consumable(), 0)
    scenario.check("put count of T", cluster.broker().statistics.topic_put_nums["T"], 1)


@hazard("HAZ-23", asserts="CL-05 REM-06 STO-03", properties="LIV-05", profiles="P45 P40 P492 P533 P540")
def page_cache_busy_for_hours(scenario: HazardScenario) -> None:
    """After one exception in the append, a broker refuses every message for nearly three hours.

    The store notes when its lock was taken, to measure how long appends take, and clears the note on most exits. An exception is not one of
    them (CL-05). From one second on, and up to 10,000 seconds, the note means that the page cache is busy (STO-03). Then no message is
    accepted (REM-06) that could clear it. 4.9.3 to 4.9.7 and 5.5.0 always clear it; releases up to 4.9.2, and from 5.0.0 to 5.4.0, do not.
    A failing disk is not needed: in 5.x a batch whose sysFlag claims an IPv6 host ends in an exception there (HAZ-51).

    To avoid it: restart the broker.
    """

    def broken(operation: str, path: str) -> None:
        if operation == "map" and "commitlog" in path:
            raise OSError("bus error")

    for profile in (scenario.profile, "P49"):
        cluster = scenario.cluster(profile=profile)
        cluster.send()
        scenario.step(f"A write into the log fails once, in {profile}.")
        cluster.node().disk.failing = broken
        scenario.check("the answer", cluster.send().split(":")[0], "SYSTEM_ERROR")
        cluster.node().disk.failing = None
        cluster.scheduler.advance(1001)
        scenario.step("The disk works again. A second later the next message arrives.")
        if profile == "P49":
            scenario.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 1")
            continue
        busy = "SYSTEM_BUSY: [REJECTREQUEST]system busy, start flow control for a while"
        scenario.check("the answer", cluster.send(), busy)
        cluster.scheduler.advance(2 * 3_600_000)
        scenario.step("Two hours later.")
        scenario.check("the answer", cluster.send(), busy)
        cluster.scheduler.advance(10_000_000 - 2 * 3_600_000 - 1001)
        scenario.step("10,000 seconds after the failure.")
        scenario.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 1")


@hazard("HAZ-38", asserts="BAT-02 BAT-03", profiles="P49 P45 P494")
def batch_goes_round_the_checks(scenario: HazardScenario) -> None:
    """A batch bypasses checks that apply to its messages one by one.

    The batch path has no dead letters for retry topics (BAT-02), no check of the consumer group, and no gate for transactions (BAT-03). P40
    refuses batches to retry topics.

    To avoid it: RocketMQ's producers build no such batches; other clients should not either.
    """
    cluster = scenario.cluster(auto_create_subscription_group=False)

    def send_batch(topic: str, **arguments: Any) -> str:
        return cluster.send(topic, items=[("one", {}), ("two", {})], **arguments)

    scenario.step("Two messages to the retry topic of an unknown group, consumed 99 times already: one by one, and as a batch.")
    refused = "SUBSCRIPTION_GROUP_NOT_EXIST: subscription group not exist, G "
    scenario.check("the answer to one", cluster.send("%RETRY%G", times=99), refused)
    scenario.check("the answer to the batch", send_batch("%RETRY%G", times=99), "SUCCESS, queue 0 offset 0")
    scenario.check("stored", cluster.stored(), ["%RETRY%G queue 0 offset 0", "%RETRY%G queue 0 offset 1"])

    cluster = scenario.cluster(reject_transaction_message=True)
    scenario.step("Two transactional messages to a broker that rejects transactions.")
    scenario.check("the answer to one", cluster.send(properties={"TRAN_MSG": "true"}).split(":")[0], "NO_PERMISSION")
    scenario.check("the answer to the batch", send_batch("T", properties={"TRAN_MSG": "true"}), "SUCCESS, queue 0 offset 0")
    scenario.check("stored", cluster.stored(), ["T queue 0 offset 0", "T queue 0 offset 1"])

    cluster = scenario.cluster(profile="P40")
    scenario.step("The batch to the retry topic, in P40.")
    refused = "MESSAGE_ILLEGAL: batch request does not support retry group %RETRY%G"
    scenario.check("the answer", send_batch("%RETRY%G"), refused)


@hazard("HAZ-39", asserts="TRX-04 CL-02", properties="INV-45", profiles="P49 P45 P494")
def half_message_with_a_delay(scenario: HazardScenario) -> None:
    """A transactional message with a delay loses its topic.

    A half message keeps its real topic in a property and loses the bits of a prepared message (TRX-04). The store therefore sees an
    ordinary message with a delay, moves it to the schedule topic and overwrites REAL_TOPIC (CL-02). When it is due, it is put into the half
    topic; from 4.6.1 on it is discarded.

    To avoid it: no delay level on transactional messages.
    """
    cluster = scenario.cluster()
    scenario.step("A transactional message with delay level 2 goes to T.")
    scenario.check(
        "the answer", cluster.send(sys_flag=PREPARED, properties={"TRAN_MSG": "true", "DELAY": "2"}), "SUCCESS, queue 0 offset 0"
    )
    scenario.check("the record", place(cluster.last()), f"{SCHEDULE} queue 1 offset 0")
    scenario.check("its REAL_TOPIC", cluster.stored_properties()["REAL_TOPIC"], HALF_TOPIC)
    scenario.check("T is named in it", "T" in cluster.stored_properties().values(), False)
    scenario.step("5 seconds later the delayed message is delivered.")
    cluster.act("time", millis=5000)
    half = "nowhere" if cluster.profile.discards_delayed_halves else f"{HALF_TOPIC} queue 0 offset 0"
    last = place(cluster.last())
    scenario.check("the message", "nowhere" if last.startswith(SCHEDULE) else last, half)


@hazard("HAZ-47", asserts="TRX-01 CL-02 REC-05", properties="AUX-33", profiles="P49 P45 P494")
def retry_of_a_transactions_message(scenario: HazardScenario) -> None:
    """A transaction's message that a consumer sends to its retry topic is lost.

    The committed message still has TRAN_MSG. A consumer before 4.6.1 that cannot give it back sends it to its retry topic unchanged, with a
    delay. The broker treats it as a half message with a delay (HAZ-39). Brokers of 4.6.1 and 5.x recognize it by its retries and delay,
    brokers of 4.7 to 4.9 do not.

    To avoid it: use consumers of 4.6.1 or later, which remove the property.
    """
    cluster = scenario.cluster()
    scenario.step("A consumer sends a transaction's message to its retry topic, with delay level 3.")
    properties = {"TRAN_MSG": "true", "DELAY": "3"}
    cluster.send("%RETRY%G", times=1, most=16, properties=properties)
    scenario.check("the record", place(cluster.last()), f"{SCHEDULE} queue 2 offset 0")
    scenario.check("its REAL_TOPIC", cluster.stored_properties()["REAL_TOPIC"], HALF_TOPIC)
    scenario.step("10 seconds later it is due.")
    cluster.act("time", millis=10_000)
    scenario.check("the retry topic has it", any(line.startswith("%RETRY%G") for line in cluster.stored()), False)

    cluster = scenario.cluster(profile="P533")
    scenario.step("The same with 5.3.3, 10 seconds later.")
    cluster.send("%RETRY%G", times=1, most=16, properties=properties)
    cluster.act("time", millis=10_000)
    scenario.check("the retry topic has it", any(line.startswith("%RETRY%G") for line in cluster.stored()), True)


@hazard("HAZ-48", asserts="REC-05", properties="AUX-29", profiles="P49 P494")
def deliveries_that_happen_again(scenario: HazardScenario) -> None:
    """A crash of the process makes many delayed messages arrive a second time.

    The delivered position of a level is written to delayOffset.json every 10 seconds. The next process delivers later messages again.

    To avoid it: use consumers that recognize duplicates.
    """
    cluster = scenario.cluster()
    scenario.step("Three messages with delay level 1 are sent, and a second passes.")
    for _ in range(3):
        cluster.send(properties={"DELAY": "1"})
    cluster.act("time", millis=1000)
    scenario.check("T has", sum(line.startswith("T ") for line in cluster.stored()), 3)
    scenario.step("The process crashes before the file is written, and restarts.")
    cluster.act("crash")
    cluster.act("time", millis=1000)
    scenario.check("T has", sum(line.startswith("T ") for line in cluster.stored()), 6)


@hazard("HAZ-42", asserts="CHK-03 CHK-04", properties="INV-46", profiles="P49")
def system_topics_as_targets(scenario: HazardScenario) -> None:
    """Clients may send to topics that belong to the broker.

    Clients check the nine reserved names (CLI-10). The broker of P49 refuses only the schedule topic (CHK-03). P40 and P45 refuse only
    TBW102 (CHK-04), and messages sent directly to the schedule topic are never delivered to a topic. A recorded 4.9.4 refuses five more.

    To avoid it: admit only clients that refuse these names.
    """
    cluster = scenario.cluster()
    scenario.step("A client without these checks sends to topics of the broker.")
    scenario.check("the answer about TBW102", cluster.send("TBW102"), "SUCCESS, queue 0 offset 0")
    operations = OP_HALF_TOPIC
    scenario.check(f"the answer about {operations}", cluster.send(operations), "SUCCESS, queue 0 offset 0")
    refused = f"NO_PERMISSION: Sending message to topic[{SCHEDULE}] is forbidden."
    scenario.check("the answer about the schedule topic", cluster.send(SCHEDULE), refused)

    cluster = scenario.cluster(profile="P45")
    scenario.step("The same client and a broker of P45.")
    scenario.check("the answer about TBW102", cluster.send("TBW102").split(":")[0], "SYSTEM_ERROR")
    scenario.check("the schedule topic before", cluster.topic(SCHEDULE), "unknown")
    scenario.check("the answer about it", cluster.send(SCHEDULE, queue=2), "SUCCESS, queue 2 offset 0")
    scenario.check("the schedule topic afterwards", cluster.topic(SCHEDULE), "read 4, write 4, RW-")
    cluster.dispatch()
    cluster.scheduler.advance(60_000)
    scenario.check("messages that are delivered a minute later", cluster.do(cluster.broker().store.deliver_delayed()), 0)

    cluster = scenario.cluster(profile="P494")
    scenario.step("The same client and a broker as recorded (P494).")
    scenario.check(f"the answer about {operations}", cluster.send(operations).split(":")[0], "NO_PERMISSION")


@hazard("HAZ-53", asserts="REC-02 FLU-01 FLU-05", properties="INV-06", profiles="P49 P45 P40 P494 P533")
def start_believes_what_it_reads(scenario: HazardScenario) -> None:
    """With synchronous flush a power loss takes an acknowledged message, on a device that never failed.

    A flush forces the file that contains the flushed position. A start takes all data that it reads as flushed (REC-02), so no flush
    returns to an earlier file, even if the previous process ended before it was forced. A message acknowledged in the next file is on the
    device (FLU-01), after a gap. After a power loss the log ends at the gap.

    To avoid it: stop brokers instead of killing them. After a crash, write the system's cache to the device (sync) before the start.
    """
    cluster = scenario.cluster(flush_disk_type="SYNC_FLUSH", mapped_file_size_commit_log=1024)
    scenario.step("The device is slow. Messages fill a file, the last one begins the next, and the answers report a timeout.")
    cluster.act("flush", stuck=True)
    for _ in range(2):
        scenario.check("the answer", cluster.send("late", body="x" * 500).split(",")[0], "FLUSH_DISK_TIMEOUT")
    scenario.step("The process crashes and restarts on the same machine: all data is still in the system's cache.")
    cluster.crash()
    cluster.restart()
    scenario.check("stored", cluster.stored(), ["late queue 0 offset 0", "late queue 0 offset 1"])
    scenario.step("A message is stored, flushed and acknowledged. Then the power fails.")
    scenario.check("the answer", cluster.send("T").split(",")[0], "SUCCESS")
    cluster.act("crash", power=True)
    scenario.check("stored", cluster.stored(), [])


@hazard("HAZ-54", asserts="TRX-04 CL-02", properties="INV-45", profiles="P533")
def half_message_with_a_time(scenario: HazardScenario) -> None:
    """A transaction's message with a delivery time is committed, but no consumer gets it.

    A half message is an ordinary message of the half topic (TRX-04). With a delivery time it waits in the timer topic, and the half topic
    replaces its original topic (CL-02). A commit finds it at the position in the answer, and stores it in the half topic. So does the
    timer. Both succeed without an error. Releases before 5.0 do the same with a delay level (HAZ-39).

    To avoid it: no delivery time in a transaction's message.
    """
    cluster = scenario.cluster()
    scenario.step("A half message with a delivery time in ten seconds arrives, and is committed.")
    properties = {"TRAN_MSG": "true", "PGROUP": "producers", "TIMER_DELAY_SEC": "10", "UNIQ_KEY": "U"}
    scenario.check("the answer", cluster.send(properties=properties), "SUCCESS, queue 0 offset 0")
    scenario.check("stored", cluster.stored(), [f"{WHEEL_TIMER_TOPIC} queue 0 offset 0"])
    end = plain("end", offset=0, queue_offset=0)
    end.flag = 0
    end.ext_fields = {**(end.ext_fields or {}), "producerGroup": "producers"}
    scenario.check("the answer to the commit", cluster.ask(end), "SUCCESS")
    scenario.step("A minute passes.")
    cluster.act("time", millis=60_000)
    scenario.check("messages of T for consumers", cluster.consumable(), 0)
    scenario.check(
        "topics of what is stored", sorted({record.partition(" ")[0] for record in cluster.stored()}), [HALF_TOPIC, WHEEL_TIMER_TOPIC]
    )


@hazard("HAZ-58", asserts="CL-02 REC-05", properties="INV-45", profiles="P533")
def anybody_stops_all_timers(scenario: HazardScenario) -> None:
    """One message from any client permanently stops all timer messages of a broker; they are still acknowledged.

    A message with a delivery time waits in a system topic (CL-02), and the broker reads it from there by its property TIMER_OUT_MS. Any
    client may send to that topic. The reader cannot pass a message without the property: it logs an error, waits, and tries again (seen on
    5.3.3, also after kill -9 and after a stop).

    To avoid it: only the broker should be allowed to send to rmq_sys_wheel_timer.
    """
    cluster = scenario.cluster()
    scenario.step("A message with a delivery time in three seconds arrives, and a minute passes.")
    scenario.check("the answer", cluster.send(properties={"TIMER_DELAY_SEC": "3"}), "SUCCESS, queue 0 offset 0")
    cluster.dispatch()
    cluster.act("time", millis=60_000)
    scenario.check("messages of T for consumers", cluster.consumable(), 1)
    scenario.step("A client sends to the broker's topic, and then another message with a delivery time arrives.")
    scenario.check("the answer", cluster.send(WHEEL_TIMER_TOPIC), "SUCCESS, queue 0 offset 1")
    scenario.check("the answer", cluster.send(properties={"TIMER_DELAY_SEC": "3"}), "SUCCESS, queue 0 offset 2")
    cluster.dispatch()
    scenario.step("An hour passes.")
    cluster.act("time", millis=3_600_000)
    scenario.check("messages of T for consumers", cluster.consumable(), 1)


@hazard("HAZ-59", asserts="REC-02", profiles="P494 P493 P491 P452 P49 P500")
def file_without_length(scenario: HazardScenario) -> None:
    """A kill at the wrong moment leaves a store with which the broker never starts again.

    A mapped file is created, and then gets its length. If the process ends in between, a file of length 0 stays, which does not match the
    settings. The start fails there (REC-02). Releases up to 4.4.0, and 4.9.2, skip such a file; from 5.1.4 on it is deleted.

    To avoid it: before a start after a kill, delete the files of length 0 in commitlog and consumequeue.
    """
    cluster = scenario.cluster()
    cluster.send()
    scenario.step("A message is acknowledged and dispatched. The process crashes when its queue's file has been created.")
    with cluster.process_ends(after=1):
        cluster.dispatch()
    disk, file = cluster.node().disk, "store/consumequeue/T/0/00000000000000000000"
    scenario.check("bytes of the queue's file", disk.size(file), 0)
    for _ in range(2):
        scenario.check("the broker starts", cluster.restart(), False)
    scenario.step("An administrator deletes the file.")
    disk.delete(file)
    scenario.check("the broker starts", cluster.restart(), True)
    scenario.check("stored", cluster.stored(), ["T queue 0 offset 0"])
    scenario.check("messages for consumers", cluster.consumable(), 1)


@hazard("HAZ-63", asserts="CL-06", properties="AUX-111", profiles="P494 P49 P45 P40")
def back_to_a_time(scenario: HazardScenario) -> None:
    """A consumer that is set back to a time misses messages of that time.

    The offset of a time (request 29) is found by binary search, which ends at the first message of that time that it meets. Messages stored
    in the same millisecond can be before it or after it: a whole batch has one time (CL-06). Since 5.1.1 the search returns the first
    message of the time.

    To avoid it: go back one more millisecond, and expect earlier messages too, because the search returns the nearest one.
    """
    cluster = scenario.cluster()

    def offset(time: int) -> int:
        response = cluster.deployment.connect("broker-a").ask(plain("search", topic="T", time=time), PATIENCE)
        return whole_number((response.ext_fields or {})["offset"])

    scenario.step("A batch of three messages is stored, and a consumer queries the offset of its time.")
    cluster.send(items=[["a", {}], ["b", {}], ["c", {}]])
    cluster.dispatch()
    at = cluster.last().store_timestamp
    scenario.check("the offset in the answer", offset(at), 1)
    scenario.step("It queries the time one millisecond earlier, and no message is missing.")
    scenario.check("the offset in the answer", offset(at - 1), 0)


@hazard("HAZ-62", asserts="REC-04 TCM-31", properties="INV-36", profiles="P49 P40 P45 P494 P533 P550")
def dispatched_behind_the_deletion(scenario: HazardScenario) -> None:
    """A message to a topic that was deleted and created again is acknowledged, but no consumer ever gets it.

    A record gets its consume queue entry a moment after the answer. If an administrator deletes the topic in between, its queues and offset
    counters are deleted, but the record stays. Its entry begins a new queue at its old offset (REC-04). New messages count from 0. The
    first is appended with any offset. Messages with an offset below the queue's end are then taken as already dispatched.

    To avoid it: stop the producers of a topic, and wait until its queues have all messages, before it is deleted.
    """
    cluster = scenario.cluster()
    cluster.update_topic("T", 4, 4)
    scenario.step("A message goes to T, and to its queue. The next message is not dispatched yet when an administrator deletes T.")
    scenario.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 0")
    cluster.dispatch()
    scenario.check("the answer", cluster.send(), "SUCCESS, queue 0 offset 1")
    scenario.check("the deletion", cluster.delete_topic("T"), "SUCCESS")
    scenario.step("T is created again, and the broker dispatches.")
    cluster.update_topic("T", 4, 4)
    cluster.dispatch()
    store = cluster.broker().store
    scenario.check("where the queue of the new T begins, and ends", [store.min_offset("T", 0), store.max_offset("T", 0)], [1, 2])
    scenario.step("Three messages go to the new T.")
    for number in range(3):
        scenario.check("the answer", cluster.send(), f"SUCCESS, queue 0 offset {number}")
    cluster.dispatch()
    messages = [store.get_message("T", 0, at) for at in range(1, store.max_offset("T", 0))]
    consumable = {message.physical_offset for message in messages if message is not None}
    lost = [number for number, message in enumerate(store.records(), 1) if number > 2 and message.physical_offset not in consumable]
    scenario.check("the messages that no consumer gets", lost, [4, 5])
