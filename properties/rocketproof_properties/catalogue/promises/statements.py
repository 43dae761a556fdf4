"""All promises by theme. Sources are cited as text: pages of RocketMQ's documentation, and the contracts of its Java client."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from rocketproof_model import implies, minimum
from rocketproof_traces.audit.vocabulary import counted, vocabulary

from .promise import Promise, PromiseTheme

DOCS = "RocketMQ documentation"
CLIENT = "Java client"
MOST_FROM_DISK = 8
"""The number of short messages that every release returns to one pull, wherever they are."""
TICK = 1000
"""The precision in milliseconds with which a delay level is delivered."""

SENDS = PromiseTheme("sends and acknowledgements")
ORDER = PromiseTheme("order and offsets")
BATCHES = PromiseTheme("batches")
TOPICS = PromiseTheme("topics")
GROUPS = PromiseTheme("offsets of groups")
DELAYS = PromiseTheme("delays")
TRANSACTIONS = PromiseTheme("transactions")
RETRIES = PromiseTheme("retries and dead letters")
ADMINISTRATION = PromiseTheme("administration")
READS = PromiseTheme("reads")
QUERIES = PromiseTheme("queries by key, time and id")
ROUTES = PromiseTheme("registration and routes")
DURABILITY = PromiseTheme("durability")


def _sends() -> Iterator[Promise]:
    m = vocabulary()["message"].row
    status = f"{CLIENT}: SendResult and SendStatus"
    builder = f"{CLIENT}: Message"
    yield SENDS.as_in(
        "PRO-01", "A request that expects a response gets exactly one.", f"{DOCS}: Remoting, request and response", "INV-01", "INV-02"
    )
    yield SENDS.as_in("PRO-02", "A one-way request gets no response.", f"{CLIENT}: DefaultMQProducer.sendOneway", "INV-03")
    yield SENDS.as_in(
        "PRO-03", "Each acknowledged message is stored once, with the body that was sent.", f"{status}: SEND_OK", "INV-06.records"
    )
    yield SENDS.as_in(
        "PRO-04", "A send that gets an error is not stored.", f"{CLIENT}: MQBrokerException of DefaultMQProducer.send", "INV-07.records"
    )
    yield SENDS.over(
        "message", "PRO-05", "A message keeps its body.", f"{builder}.setBody", implies(~m.batch, m.sameBody), True, m.sameBody
    )
    both = implies(m.hasKeys, m.sameKeys) & implies(m.hasTags, m.sameTags)
    yield SENDS.over(
        "message", "PRO-06", "A message keeps its keys and its tag.", f"{builder}.setKeys and setTags",
        implies(~m.batch & (m.hasKeys | m.hasTags), both), True, both,
    )  # fmt: skip
    yield SENDS.over(
        "message", "PRO-07", "A message keeps the properties that its producer gave it.", f"{builder}.putUserProperty",
        implies(~m.batch & m.hasOwn, m.sameOwn), True, m.sameOwn,
    )  # fmt: skip
    yield SENDS.over(
        "message", "PRO-08", "A message keeps the id that its client created.", f"{CLIENT}: MessageClientIDSetter and SendResult.getMsgId",
        implies(~m.batch & m.hasId, m.sameId), True, m.sameId,
    )  # fmt: skip
    born = m.sameFlag & m.sameBorn
    yield SENDS.over(
        "message", "PRO-09", "A message keeps its flag and its time of birth.", f"{builder}.setFlag and MessageExt.getBornTimestamp",
        born, True, born,
    )  # fmt: skip
    yield SENDS.over(
        "message", "PRO-10", "An acknowledged message is stored for the topic that it was sent to.", f"{builder}.setTopic",
        implies(m.plain, m.sameTopic), True, m.sameTopic,
    )  # fmt: skip
    yield SENDS.over(
        "message", "PRO-11", "A message is in the queue that its producer chose.", f"{CLIENT}: MessageQueueSelector",
        implies(m.plain & (m.askedQueue >= 0), m.queueId == m.askedQueue), m.askedQueue, m.queueId,
    )  # fmt: skip
    yield SENDS.over(
        "message", "PRO-12", "A message is in the queue that its acknowledgement names.", f"{CLIENT}: SendResult.getMessageQueue",
        implies(m.plain, m.queueId == m.answeredQueue), m.answeredQueue, m.queueId,
    )  # fmt: skip
    yield SENDS.over(
        "message", "PRO-13", "A message has the queue offset that its acknowledgement names.", f"{CLIENT}: SendResult.getQueueOffset",
        implies(m.plain & ~m.batch, m.queueOffset == m.answeredOffset), m.answeredOffset, m.queueOffset,
    )  # fmt: skip
    yield SENDS.as_in(
        "PRO-14", "The id in an acknowledgement leads to the message, and no two messages have the same id.",
        f"{CLIENT}: SendResult.getOffsetMsgId and MQAdmin.viewMessage", "INV-43",
    )  # fmt: skip


def _order() -> Iterator[Promise]:
    m, f = vocabulary()["message"].row, vocabulary()["fetch"].row
    pull = f"{CLIENT}: DefaultMQPullConsumer.pull and PullResult"
    fifo = f"{DOCS}: Ordered messages"
    whole = f.found & ~f.filtered
    yield ORDER.as_in(
        "PRO-15", "The messages of a queue have the offsets 0, 1, 2 and so on, in the order in which they were stored.",
        f"{DOCS}: MessageQueue and consumer progress", "INV-34.records", "INV-36.records",
    )  # fmt: skip
    yield ORDER.over(
        "message", "PRO-16", "A consumer finds each acknowledged message at its queue offset.", f"{DOCS}: Consumer progress management",
        implies(m.listKnown, m.listed), True, m.listed,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-17", "A pull begins with the message at the requested offset.", pull,
        implies(whole & f.bounded & (f.offset >= f.minOffset), f.first == f.offset), f.offset, f.first,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-18", "A pull without a filter returns consecutive messages of the queue.", fifo,
        implies(whole, f.consecutive), True, f.consecutive,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-19", "A pull returns messages of the requested topic and queue only.", pull,
        implies(f.found, f.sameQueue), True, f.sameQueue,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-20", "A pull returns at most as many messages as requested.", f"{pull}, maxNums",
        implies(f.found & (f.most >= 1), f.count <= f.most), f.most, f.count,
    )  # fmt: skip
    waiting = minimum(minimum(f.most, f.maxOffset - f.offset), MOST_FROM_DISK)
    yield ORDER.over(
        "fetch", "PRO-21", "A pull returns as many short messages as requested, up to 8, if the queue has them.", f"{pull}, maxNums",
        implies(whole & f.bounded & f.small & (f.most >= 1) & (f.offset >= f.minOffset), f.count >= waiting), waiting, f.count,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-22", "The next offset of a pull without a filter follows the last returned message.", f"{pull}, getNextBeginOffset",
        implies(whole & f.bounded & (f.count > 0), f.nextOffset == f.last + 1), f.last + 1, f.nextOffset,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-23", "The next offset of a pull is after all returned messages.", f"{pull}, getNextBeginOffset",
        implies(f.found & f.bounded & (f.count > 0), f.nextOffset > f.last), f.last + 1, f.nextOffset,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-24", "Each pull delivers a message with the same bytes.", f"{DOCS}: Message, immutability",
        implies(f.found, f.unchanged), True, f.unchanged,
    )  # fmt: skip
    missed = ~f.found & ~f.filtered & f.bounded & (f.offset >= f.minOffset)
    yield ORDER.over(
        "fetch", "PRO-25", "A pull reports that there is no new message only at the end of the queue.", f"{CLIENT}: PullStatus.NO_NEW_MSG",
        implies(missed, f.offset >= f.maxOffset), f.maxOffset, f.offset,
    )  # fmt: skip
    inside = (f.nextOffset >= f.minOffset) & (f.nextOffset <= f.maxOffset)
    yield ORDER.over(
        "fetch", "PRO-26", "A pull outside of the queue leads back to an offset of the queue.", f"{CLIENT}: PullStatus.OFFSET_ILLEGAL",
        implies(~f.found & f.bounded & ((f.offset < f.minOffset) | (f.offset > f.maxOffset)), inside), f.maxOffset, f.nextOffset,
    )  # fmt: skip
    yield ORDER.over(
        "fetch", "PRO-87", "A pull after the end of a queue leads to its end, so that no message is delivered again.",
        f"{CLIENT}: PullStatus.OFFSET_ILLEGAL and PullResult.getNextBeginOffset",
        implies(~f.found & f.bounded & (f.offset > f.maxOffset), f.nextOffset == f.maxOffset), f.maxOffset, f.nextOffset,
    )  # fmt: skip


def _batches() -> Iterator[Promise]:
    m = vocabulary()["message"].row
    batch = f"{CLIENT}: DefaultMQProducer.send of a collection"
    yield BATCHES.over(
        "message", "PRO-27", "Each message of a batch keeps its body.", batch, implies(m.batch, m.sameBody), True, m.sameBody
    )
    yield BATCHES.over(
        "message", "PRO-28", "Each message of a batch keeps its own id.", f"{CLIENT}: MessageClientIDSetter, each message of a batch",
        implies(m.batch & m.hasId, m.sameId), True, m.sameId,
    )  # fmt: skip
    both = implies(m.hasKeys, m.sameKeys) & implies(m.hasTags, m.sameTags)
    yield BATCHES.over(
        "message", "PRO-29", "Each message of a batch keeps its own keys and its own tag.", batch,
        implies(m.batch & (m.hasKeys | m.hasTags), both), True, both,
    )  # fmt: skip
    yield BATCHES.over(
        "message", "PRO-30", "Each message of a batch keeps its own properties.", batch,
        implies(m.batch & m.hasOwn, m.sameOwn), True, m.sameOwn,
    )  # fmt: skip
    yield BATCHES.over(
        "message", "PRO-31", "The messages of a batch have consecutive offsets of one queue, in their order.", batch,
        implies(m.batch & m.plain, m.queueOffset == m.answeredOffset), m.answeredOffset, m.queueOffset,
    )  # fmt: skip


def _topics() -> Iterator[Promise]:
    s, r, a = (vocabulary()[name].row for name in ("successor", "reach", "administered"))
    delete = f"{DOCS}: Admin tool, deleteTopic"
    yield TOPICS.over(
        "successor", "PRO-32", "A topic that was created again never delivers messages of its predecessor.", delete,
        ~s.predecessor, False, s.predecessor,
    )  # fmt: skip
    yield TOPICS.over("reach", "PRO-33", "Nothing is stored for a topic that is in no table.", delete, r.nextOffset == 0, 0, r.nextOffset)
    kept = a.there & a.same
    yield TOPICS.over(
        "administered", "PRO-34", "Deleting a topic or group changes no other topic or group.", delete,
        implies(a.known & ~a.deleted & a.othersDeleted, kept), True, kept,
    )  # fmt: skip
    yield TOPICS.over(
        "administered", "PRO-35", "A deleted topic or group is not in the broker's table.", delete,
        implies(a.known & a.deleted, ~a.there), False, a.there,
    )  # fmt: skip
    yield TOPICS.as_in(
        "PRO-36", "A message is stored only in a queue that its topic has.", f"{DOCS}: Topic, number of queues", "INV-30.records"
    )


def _groups() -> Iterator[Promise]:
    t = vocabulary()["tracked"].row
    done = t.success & (t.answered == t.committed)
    yield GROUPS.over(
        "tracked", "PRO-37", "A query returns the last committed offset of the group.", f"{CLIENT}: OffsetStore.readOffset",
        implies(t.known, done), t.committed, t.answered,
    )  # fmt: skip
    yield GROUPS.over(
        "tracked", "PRO-38", "A group can go back: a smaller committed offset replaces a larger one.",
        f"{DOCS}: Consumer progress management, reset of offsets",
        implies(t.known & t.lowered, done), t.committed, t.answered,
    )  # fmt: skip
    yield GROUPS.over(
        "tracked", "PRO-86", "A deleted topic leaves no committed offsets to a topic with the same name.",
        f"{DOCS}: Admin tool, deleteTopic", implies(t.deleted, ~t.outlives), False, t.outlives,
    )  # fmt: skip
    p = vocabulary()["position"].row
    yield GROUPS.over(
        "position", "PRO-88", "A committed offset is an offset of the queue.", f"{DOCS}: Consumer progress management",
        (p.offset >= 0) & (p.offset <= p.end), p.end, p.offset,
    )  # fmt: skip
    yield GROUPS.as_in(
        "PRO-39", "A group continues at its committed offsets after a restart.", f"{DOCS}: Consumer progress, stored by the broker",
        "restart.progress",
    )  # fmt: skip


def _delays() -> Iterator[Promise]:
    a = vocabulary()["arrival"].row
    delay = f"{DOCS}: Delay messages"
    yield DELAYS.over(
        "arrival", "PRO-40", "A delayed message is delivered after at least its delay.", delay,
        implies(a.copies > 0, a.waited >= a.delay), a.delay, a.waited,
    )  # fmt: skip
    latest = a.delay + TICK + a.slack
    yield DELAYS.over(
        "arrival", "PRO-41", "A delayed message is delivered at most one tick after its delay.", delay,
        implies((a.copies > 0) | (a.overdue > 0), (a.waited <= latest) & (a.overdue <= TICK + a.slack)), latest, a.waited,
    )  # fmt: skip
    yield DELAYS.over("arrival", "PRO-42", "A delayed message is delivered once.", delay, implies(a.copies > 0, a.copies == 1), 1, a.copies)
    same = a.sameMessage & a.sameQueue
    yield DELAYS.over(
        "arrival", "PRO-43", "A delayed message arrives unchanged, in the queue that it was sent to.", delay,
        implies(a.copies > 0, same), True, same,
    )  # fmt: skip
    k = vocabulary()["kept"].row
    asked = (k.kind == "send") & (k.askedClass == "ordinary") & counted(k) & (k.delayLevel > 0)
    yield DELAYS.over(
        "kept", "PRO-44", "A message with a delay level is not put into its topic when it is sent.", delay,
        implies(asked, k.topicClass == "schedule"), 0, k.delayLevel,
    )  # fmt: skip
    t = vocabulary()["timed"].row
    yield DELAYS.over(
        "timed", "PRO-96", "A timed message that was cancelled by its key is not delivered.", f"{DOCS}: Delay messages, cancellation",
        implies(t.cancelled, t.copies == 0), 0, t.copies,
    )  # fmt: skip
    yield DELAYS.over(
        "timed", "PRO-97", "A cancellation affects no timed message of another topic.", f"{DOCS}: Delay messages, cancellation",
        implies(t.foreign & t.passed, t.copies >= 1), 1, t.copies,
    )  # fmt: skip
    yield DELAYS.as_in("PRO-45", "A restart loses and repeats no delayed message.", delay, "restart.delayed", "fault.delayed")


def _transactions() -> Iterator[Promise]:
    h = vocabulary()["half"].row
    docs = f"{DOCS}: Transaction messages"
    yield TRANSACTIONS.over(
        "half", "PRO-46", "A half message is not delivered before its commit.", docs,
        implies(~h.committed, h.copies == 0), 0, h.copies,
    )  # fmt: skip
    yield TRANSACTIONS.over(
        "half", "PRO-47", "A half message that was rolled back, and not committed, is never delivered.", docs,
        implies(h.rolledBack & ~h.committed, h.copies == 0), 0, h.copies,
    )  # fmt: skip
    yield TRANSACTIONS.over(
        "half", "PRO-85", "A half message that was rolled back first is never delivered, even if it is committed later.", docs,
        implies(h.rolledBackFirst, h.copies == 0), 0, h.copies,
    )  # fmt: skip
    yield TRANSACTIONS.over(
        "half", "PRO-48", "A half message is delivered after its commit.", docs,
        implies(h.acknowledged & h.readAfter, h.copies >= 1), 1, h.copies,
    )  # fmt: skip
    yield TRANSACTIONS.over(
        "half", "PRO-49", "A committed message is delivered once, however often it is committed.", docs,
        implies(h.copies > 0, h.copies == 1), 1, h.copies,
    )  # fmt: skip
    same = h.sameMessage & h.sameQueue
    yield TRANSACTIONS.over(
        "half", "PRO-50", "A committed message is the half message, in the queue that it was sent to.", docs,
        implies(h.copies > 0, same), True, same,
    )  # fmt: skip
    yield TRANSACTIONS.over(
        "half", "PRO-51", "No half message is discarded before its producer was asked.", f"{docs}, check of local transactions",
        implies(h.discarded & h.questionsKnown, h.asked), True, h.asked,
    )  # fmt: skip
    yield TRANSACTIONS.over(
        "half", "PRO-89", "A producer is not asked about a half message that it has ended.", f"{docs}, check of local transactions",
        implies(h.questionsKnown, ~h.askedLater), False, h.askedLater,
    )  # fmt: skip
    yield TRANSACTIONS.as_in(
        "PRO-52", "A producer that does not end its half messages is asked about them.", f"{docs}, check of local transactions",
        "AUX-33.asked",
    )  # fmt: skip


def _retries() -> Iterator[Promise]:
    r = vocabulary()["returned"].row
    docs = f"{DOCS}: Consumption retry"
    yield RETRIES.as_in(
        "PRO-53", "A message that was sent back successfully is stored again.", f"{CLIENT}: DefaultMQPushConsumer.sendMessageBack", "INV-51"
    )
    yield RETRIES.as_in(
        "PRO-54", "A message becomes a dead letter only after the maximum number of retries.", f"{docs}, maxReconsumeTimes", "INV-47"
    )
    yield RETRIES.as_in(
        "PRO-55", "The number of retries grows with each retry, and not beyond the maximum.", f"{CLIENT}: MessageExt.getReconsumeTimes",
        "INV-48",
    )  # fmt: skip
    yield RETRIES.as_in("PRO-56", "A retried message names the topic that it was first sent to.", f"{docs}, RETRY_TOPIC", "INV-49")
    yield RETRIES.as_in("PRO-57", "A retried message names the id of its first record.", f"{docs}, ORIGIN_MESSAGE_ID", "INV-50")
    yield RETRIES.over(
        "returned", "PRO-90", "A message that was retried as often as its group's retryMaxTimes becomes a dead letter.",
        f"{docs}, retryMaxTimes of updateSubGroup",
        implies(r.limitKnown & (r.limit >= 0) & (r.times >= r.limit), r.dead), True, r.dead,
    )  # fmt: skip
    same = r.sameBody & r.sameId & r.sameKeys & r.sameTags & r.sameBorn
    yield RETRIES.over(
        "returned", "PRO-58", "A message that is sent back keeps its body, id, keys, tag and time of birth.", docs, same, True, same
    )


def _administration() -> Iterator[Promise]:
    a = vocabulary()["administered"].row
    admin = f"{DOCS}: Admin tool"
    kept = a.there & a.same
    yield ADMINISTRATION.over(
        "administered", "PRO-59", "A topic has the queues and the permission that its administrator gave it.", f"{admin}, updateTopic",
        implies(a.known & ~a.group & ~a.deleted, kept), True, kept,
    )  # fmt: skip
    yield ADMINISTRATION.over(
        "administered", "PRO-60", "A group has the settings that its administrator gave it.", f"{admin}, updateSubGroup",
        implies(a.known & a.group & ~a.deleted, kept), True, kept,
    )  # fmt: skip
    yield ADMINISTRATION.over(
        "administered", "PRO-91", "A change to a value outside of its documented range is rejected.", f"{admin}, updateTopic",
        implies(a.known & ~a.deleted, a.valid), True, a.valid,
    )  # fmt: skip
    e = vocabulary()["answered"].row
    yield ADMINISTRATION.over(
        "answered", "PRO-92", "A request with missing or wrong fields is rejected with a reason, not by an exception inside the broker.",
        f"{DOCS}: Remoting, response codes and remarks", ~e.thrown, False, e.thrown,
    )  # fmt: skip
    yield ADMINISTRATION.over(
        "administered", "PRO-61", "A change by an administrator survives the end of the broker's process.", admin,
        implies(a.known & a.restarted, (a.deleted & ~a.there) | (~a.deleted & kept)), True, kept,
    )  # fmt: skip
    yield ADMINISTRATION.as_in(
        "PRO-62", "A broker has all its topics and groups after a restart.", admin, "restart.topics", "restart.groups"
    )
    yield ADMINISTRATION.as_in(
        "PRO-63", "After a restart each name server has the broker's topics as the broker has them.", f"{DOCS}: NameServer",
        "restart.routes",
    )  # fmt: skip


def _reads() -> Iterator[Promise]:
    r = vocabulary()["repeated"].row
    admin = f"{CLIENT}: MQAdmin, methods that query"
    yield READS.over(
        "repeated", "PRO-64", "The same query gets the same response again.", admin, implies(r.settled, r.differing == 0), 0, r.differing
    )
    yield READS.over("repeated", "PRO-65", "Queries store nothing.", admin, implies(r.settled, r.moved == 0), 0, r.moved)
    yield READS.over("repeated", "PRO-66", "Queries change no topic.", admin, implies(r.settled, r.changed == 0), 0, r.changed)


def _queries() -> Iterator[Promise]:
    q = vocabulary()["lookup"].row
    yield QUERIES.over(
        "lookup", "PRO-67", "A query by key returns only the topic's messages with the key and store time.",
        f"{CLIENT}: MQAdmin.queryMessage",
        implies(q.byKey, q.wrong == 0), 0, q.wrong,
    )  # fmt: skip
    yield QUERIES.over(
        "lookup", "PRO-68", "A query by key finds every message with the key.", f"{CLIENT}: MQAdmin.queryMessage",
        implies(q.byKey, q.missing == 0), 0, q.missing,
    )  # fmt: skip
    yield QUERIES.over(
        "lookup", "PRO-69", "A search by time skips no message that was stored at that time or later.", f"{CLIENT}: MQAdmin.searchOffset",
        implies(q.byTime, q.answered <= q.expected), q.expected, q.answered,
    )  # fmt: skip
    yield QUERIES.over(
        "lookup", "PRO-93", "A search by time leads to no message that was stored before that time.", f"{CLIENT}: MQAdmin.searchOffset",
        implies(q.byTime & q.sent, q.answered >= q.expected), q.expected, q.answered,
    )  # fmt: skip
    yield QUERIES.over(
        "lookup", "PRO-70", "A query by id returns the message with this id.", f"{CLIENT}: MQAdmin.viewMessage",
        implies(q.byPlace, q.wrong == 0), 0, q.wrong,
    )  # fmt: skip
    yield QUERIES.over(
        "lookup", "PRO-71", "The earliest store time of a queue is the store time of its first message.",
        f"{CLIENT}: MQAdmin.earliestMsgStoreTime",
        implies(q.earliest, q.answered == q.expected), q.expected, q.answered,
    )  # fmt: skip
    yield QUERIES.over(
        "lookup", "PRO-72", "The smallest offset of a queue is the offset of its first message.", f"{CLIENT}: MQAdmin.minOffset",
        implies(q.bounds, q.answered == q.expected), q.expected, q.answered,
    )  # fmt: skip
    yield QUERIES.as_in("PRO-73", "A message is found by its keys after a restart.", f"{DOCS}: Query messages, IndexFile", "restart.keys")


def _routes() -> Iterator[Promise]:
    r = vocabulary()["routed"].row
    b, registration = vocabulary()["registered"].row, f"{DOCS}: NameServer, registration"
    route = f"{CLIENT}: TopicRouteData"
    yield ROUTES.over("routed", "PRO-74", "A route has an address for each broker that it names.", route, r.addressed, True, r.addressed)
    yield ROUTES.over("routed", "PRO-75", "A route names each broker once.", route, ~r.namedTwice, False, r.namedTwice)
    yield ROUTES.over(
        "registered", "PRO-84", "A broker whose registration was accepted is in the routes of its topics while it is connected.",
        registration, implies(~b.left, b.there), True, b.there,
    )  # fmt: skip
    yield ROUTES.over(
        "registered", "PRO-94", "A route has the number of queues and the permission that the broker last registered.", registration,
        implies(b.there & ~b.left, b.same), True, b.same,
    )  # fmt: skip
    yield ROUTES.over(
        "registered", "PRO-95", "A broker that has unregistered is in no route.", registration, implies(b.left, ~b.there), False, b.there
    )
    n = vocabulary()["announced"].row
    yield ROUTES.over(
        "announced", "PRO-98", "A route has the number of queues that an administrator last gave the topic.",
        f"{DOCS}: Admin tool, updateTopic",
        n.same, True, n.same,
    )  # fmt: skip
    yield ROUTES.as_in("PRO-76", "A broker's address is registered under one id only.", registration, "INV-60")


_OF_SLAVES: Final = (
    "log", "topics", "topic_attributes", "groups", "offsets", "deleted_offsets", "delays", "queues", "recreated_queues", "records",
    "keys",
)  # fmt: skip


def _durability() -> Iterator[Promise]:
    flush = f"{DOCS}: Flush modes and replication"
    yield DURABILITY.as_in(
        "PRO-77", "A broker starts on whatever a crash leaves.", f"{DOCS}: Broker, abnormal recovery", "fault.start", "restart.unsized"
    )
    yield DURABILITY.as_in("PRO-78", "An acknowledged message survives a crash of the broker's process.", flush, "fault.lost")
    yield DURABILITY.as_in(
        "PRO-79", "With synchronous flush an acknowledged message survives a loss of power.", f"{flush}, SYNC_FLUSH", "fault.confirmed"
    )
    yield DURABILITY.as_in(
        "PRO-80", "With synchronous flush nothing is delivered that a loss of power takes away.", flush, "fault.delivered"
    )
    yield DURABILITY.as_in("PRO-81", "What a synchronous master acknowledges is on its slave.", f"{flush}, SYNC_MASTER", "fault.copied")
    yield DURABILITY.as_in(
        "PRO-82", "Topics and groups that were acknowledged survive a fault of the machine.", f"{DOCS}: Admin tool",
        "fault.topic lost", "fault.group lost",
    )  # fmt: skip
    yield DURABILITY.as_in(
        "PRO-83", "A restart changes no message and no queue offset.", f"{DOCS}: CommitLog and ConsumeQueue",
        "restart.records", "restart.queues",
    )  # fmt: skip
    yield DURABILITY.as_in(
        "PRO-99", "A slave has the messages, topics, groups and offsets of its master.", f"{flush}, slaves",
        *(f"slave.{what}" for what in _OF_SLAVES),
    )  # fmt: skip


@cache
def promises() -> tuple[Promise, ...]:
    """Return all promises, in the order of their ids."""
    themes = (
        _sends,
        _order,
        _batches,
        _topics,
        _groups,
        _delays,
        _transactions,
        _retries,
        _administration,
        _reads,
        _queries,
        _routes,
        _durability,
    )
    return tuple(promise for theme in themes for promise in theme())
