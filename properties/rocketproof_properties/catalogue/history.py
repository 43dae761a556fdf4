"""Claims about histories: what the specification abstracts from, such as bodies, properties, sizes, names and flags.

A claim is a function of a plain `History` that says in words what is wrong, or None. It may judge any broker whose history was
written down. Which verdict is due where is in `historycases`.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rocketproof_model.specification.bounds import DELAY_LEVELS, is_given_up
from rocketproof_protocol.properties import DELAY, ORIGIN_MESSAGE_ID, REAL_QID, REAL_TOPIC, RETRY_TOPIC, WAIT
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE
from rocketproof_traces.stored.layout import BLANK_SIZE
from rocketproof_traces.stored.record import Record

from ..histories.history import OK, Exchange, History

SENDS = ("send", "batch")
ROUTED_IN, KNOWN_IN = 30_000, 33_000  # milliseconds: a period, and a period with an answer's time limit


@dataclass(frozen=True)
class HistoryClaim:
    """A property of histories. `check` gives the breach in words, None if there is none."""

    id: str
    sentence: str
    check: Callable[[History], str | None]


# Answers


def _one_answer(history: History) -> str | None:
    for exchange in history.exchanges:
        if exchange.ended and not exchange.request.one_way and len(exchange.answers) != 1:
            return f"{exchange} has {len(exchange.answers)} answers"
    return None


def _not_two(history: History) -> str | None:
    return next((f"{e} has {len(e.answers)} answers" for e in history.exchanges if len(e.answers) > 1), None)


def _none_to_one_way(history: History) -> str | None:
    return next((f"{e} is one-way and answered with code {e.code}" for e in history.exchanges if e.request.one_way and e.answers), None)


def _own_opaque(history: History) -> str | None:
    for exchange in history.exchanges:
        for answer in exchange.answers:
            if answer.opaque != exchange.request.opaque:
                return f"{exchange} is answered with opaque {answer.opaque}"
    return None


def _decided(history: History) -> str | None:
    return next((f"{e} is answered with code -1" for e in history.exchanges if any(a.code == -1 for a in e.answers)), None)


def _stored_once(history: History) -> str | None:
    for exchange in _answered_ok(history, *SENDS):
        due = list(exchange.request.bodies)
        if len(exchange.stored) != len(due):
            return f"{exchange} is answered with code {exchange.code} and {len(exchange.stored)} records were appended, not {len(due)}"
        bodies = [record.body for record in history.stored(exchange)]
        if bodies != [body or b"" for body in due]:
            return f"{exchange} is answered with code {exchange.code} and its body is not the stored one"
    return None


def _nothing_stored(history: History) -> str | None:
    for exchange in history.exchanges:
        sends = exchange.request.kind in (*SENDS, "send_back")
        if sends and exchange.code is not None and exchange.code not in OK and exchange.stored:
            return f"{exchange} is answered with code {exchange.code} and {len(exchange.stored)} records were appended"
    return None


def _queue_in_range(history: History) -> str | None:
    for exchange in _answered_ok(history, *SENDS):
        queue_id = int(exchange.answers[0].fields["queueId"])
        if exchange.queues is not None and not 0 <= queue_id < exchange.queues:
            return f"{exchange} is answered with queue {queue_id}, and its topic has {exchange.queues} queues"
    return None


def _ids(history: History) -> str | None:
    seen: dict[tuple[str, str], Exchange] = {}
    for exchange in _answered_ok(history, *SENDS):
        ids = [id_ for id_ in exchange.answers[0].fields["msgId"].split(",") if id_]
        if len(ids) != len(exchange.request.bodies):
            return f"{exchange} is answered with {len(ids)} ids"
        for number, id_ in enumerate(ids):
            other = seen.setdefault((exchange.broker, id_), exchange)
            if other is not exchange:
                return f"{exchange} and {other} are answered with the same id {id_}"
            place = int(id_[16:], 16)
            host = (".".join(str(int(id_[i : i + 2], 16)) for i in range(0, 8, 2)), int(id_[8:16], 16))
            record = history.logs[exchange.broker].at(place)
            if record is None or number >= len(exchange.stored) or record.at != exchange.stored[number]:
                return f"{exchange} is answered with id {id_}, and its record is not at {place}"
            if record.store_host != host or record.physical_offset != place:
                return f"{exchange} is answered with id {id_}; {record} says {record.store_host} and {record.physical_offset}"
    return None


def _located(history: History) -> str | None:
    for exchange in _answered_ok(history, *SENDS):
        fields = exchange.answers[0].fields
        entries = history.entries[exchange.broker].get((exchange.request.topic, int(fields["queueId"])), [])
        index = int(fields["queueOffset"])
        entry = entries[index] if 0 <= index < len(entries) else None
        if entry is None or not exchange.stored or entry.physical_offset != exchange.stored[0]:
            where = f"queue {fields['queueId']}, offset {index}"
            return f"{exchange} is answered with {where}, and under its topic the message is not there"
    return None


def _answered_ok(history: History, *kinds: str) -> Iterable[Exchange]:
    return (e for e in history.exchanges if e.code in OK and e.request.kind in kinds)


# The log and its queues


def _records(history: History) -> Iterable[Record]:
    return (record for log in history.logs.values() for record in log.records)


def _offsets(history: History) -> str | None:
    for log in history.logs.values():
        due: Counter[tuple[str, int]] = Counter()
        for record in log.records:
            if record.counted:
                key = (record.topic, record.queue_id)
                if record.queue_offset != due[key]:
                    return f"{record} has queue offset {record.queue_offset}, and {due[key]} is due"
                due[key] += 1
    return None


def _uncounted(history: History) -> str | None:
    for name, log in history.logs.items():
        counted = Counter(f"{r.topic}-{r.queue_id}" for r in log.records if r.counted)
        for record in log.records:
            if not record.counted and record.queue_offset != 0:
                return f"{record} is prepared or rolled back and has queue offset {record.queue_offset}"
        for key, value in history.next_offsets[name].items():
            if value != counted[key]:
                return f"the next offset of {key} on {name} is {value}, and {counted[key]} records count"
    return None


def _entries(history: History) -> str | None:
    for name, table in history.next_offsets.items():
        found = {f"{topic}-{queue_id}": len(entries) for (topic, queue_id), entries in history.entries[name].items()}
        for key in {**table, **found}:
            if table.get(key, 0) != found.get(key, 0):
                return f"{key} on {name} has {found.get(key, 0)} entries, and its next offset is {table.get(key, 0)}"
    return None


def _positions(history: History) -> str | None:
    for name, log in history.logs.items():
        if log.damage is not None:
            return f"on {name} {log.damage}"
        for record in log.records:
            if record.physical_offset != record.at:
                return f"{record} says that it is at {record.physical_offset}"
    return None


def _free(history: History) -> str | None:
    for name, log in history.logs.items():
        for end in (*(r.end for r in log.records), log.end):
            free = -end % log.file_size
            if 0 < free < BLANK_SIZE:
                return f"on {name} {free} bytes are free behind {end}, too few for a blank"
    return None


def _inside(history: History) -> str | None:
    for log in history.logs.values():
        for record in log.records:
            if record.at // log.file_size != (record.end - 1) // log.file_size:
                return f"{record} crosses the end of its file"
    return None


def _sizes(history: History) -> str | None:
    for name, log in history.logs.items():
        if log.damage is not None:
            return f"on {name} {log.damage}"
        for record in log.records:
            if record.total_size != record.parts_size:
                return f"{record} has size {record.total_size}, and its parts have {record.parts_size}"
    return None


def _limit(history: History) -> str | None:
    for record in _records(history):
        if record.total_size > history.max_message_size:
            return f"{record} has size {record.total_size}, and the limit is {history.max_message_size}"
    return None


def _checksums(history: History) -> str | None:
    for record in _records(history):
        due = zlib.crc32(record.body) & 0x7FFFFFFF
        if record.body_crc != due:
            return f"{record} has checksum {record.body_crc}, and its body has {due}"
    return None


def _times(history: History) -> str | None:
    for log in history.logs.values():
        for before, record in zip(log.records, log.records[1:], strict=False):
            if record.store_timestamp < before.store_timestamp:
                return f"{record} was stored at {record.store_timestamp}, before the record in front of it"
    return None


# Delayed messages, and what is stored of the properties


def _delayed(history: History) -> str | None:
    for record in _records(history):
        if record.topic == SCHEDULE:
            breach = _badly_delayed(record)
            if breach is not None:
                return breach
    for exchange in history.exchanges:
        asked = exchange.request
        if asked.kind != "send":
            continue
        for record in history.stored(exchange):
            found = record.properties
            if record.topic != SCHEDULE:
                if record.counted and _level(found) > 0:
                    return f"{record} has delay level {found['DELAY']} and is in no queue of {SCHEDULE}"
                continue
            dead = DLQ_PREFIX + asked.topic.removeprefix(RETRY_PREFIX)
            if found[REAL_TOPIC] not in (asked.topic, dead):
                return f"{record} is to be delivered to {found['REAL_TOPIC']}, and {exchange} asked for {asked.topic}"
            same_queue = asked.queue_id < 0 or int(found[REAL_QID]) == asked.queue_id
            if found[REAL_TOPIC] == asked.topic and not same_queue:
                return f"{record} is to be delivered to queue {found['REAL_QID']}, and {exchange} asked for {asked.queue_id}"
    return None


def _badly_delayed(record: Record) -> str | None:
    found = record.properties
    level = _level(found)
    if not 1 <= level <= DELAY_LEVELS:
        return f"{record} has delay level {found.get('DELAY')}"
    if record.queue_id != level - 1:
        return f"{record} has delay level {level}, so its queue should be {level - 1}"
    if found.get(REAL_TOPIC) in (None, SCHEDULE) or REAL_QID not in found:
        return f"{record} does not say where it is to be delivered"
    return None


def _level(properties: Mapping[str, str]) -> int:
    text = properties.get(DELAY, "0")
    return int(text) if text.lstrip("+-").isdecimal() else 0


def _schedule_by_name(history: History) -> str | None:
    for exchange in history.exchanges:
        asked = exchange.request
        for record in history.stored(exchange):
            if asked.kind in SENDS and record.topic == SCHEDULE and (asked.topic == SCHEDULE or REAL_TOPIC not in record.properties):
                return f"{exchange} stored {record} by that name"
    return None


def _no_wait(history: History) -> str | None:
    for record in _records(history):
        if WAIT in record.properties and record.topic != OP_HALF_TOPIC:
            return f"{record} is stored with WAIT={record.properties['WAIT']}"
    return None


def _same_without_hooks(history: History) -> str | None:
    if history.twin is None:
        return None
    for number, exchange in enumerate(history.exchanges):
        found = tuple(record.properties_text for record in history.stored(exchange))
        if found != history.twin.get(number, ()):
            return f"{exchange} stores {found}, and without hooks {history.twin.get(number, ())}"
    return None


# Messages that come back


def _dead(history: History) -> str | None:
    for exchange in history.exchanges:
        asked = exchange.request
        for record in history.stored(exchange):
            found = record.properties
            topic = found.get(REAL_TOPIC, "") if record.topic == SCHEDULE else record.topic
            if not topic.startswith(DLQ_PREFIX) or asked.topic.startswith(DLQ_PREFIX) or asked.kind not in ("send", "send_back"):
                continue
            times = asked.reconsume_times
            if asked.kind == "send_back":
                before = history.logs[exchange.broker].at(asked.offset)
                times = exchange.limit if before is None or asked.delay_level < 0 else before.reconsume_times
            if not is_given_up(times, exchange.limit):
                return f"{record} is dead after {times} retries, and {exchange} allows {exchange.limit}"
    return None


def _backs(history: History) -> Iterable[tuple[Exchange, Record, Record]]:
    """Send-backs with the record that came back and the one it became."""
    for exchange in history.exchanges:
        if exchange.request.kind == "send_back":
            before = history.logs[exchange.broker].at(exchange.request.offset)
            for record in history.stored(exchange):
                if before is not None:
                    yield exchange, before, record


def _grows(history: History) -> str | None:
    for exchange, before, record in _backs(history):
        if record.reconsume_times <= before.reconsume_times:
            return f"{record} was retried {record.reconsume_times} times, and {before} {before.reconsume_times} times before"
        real = record.properties.get(REAL_TOPIC) if record.topic == SCHEDULE else record.topic
        if real is not None and real.startswith(RETRY_PREFIX) and record.reconsume_times > exchange.limit:
            return f"{record} is retried {record.reconsume_times} times, and {exchange} allows {exchange.limit}"
    return None


def _first_topic(history: History) -> str | None:
    for exchange, before, record in _backs(history):
        same = (r for r in history.logs[exchange.broker].records if r.born_timestamp == before.born_timestamp)
        first = next(same, before)
        due = first.properties.get(REAL_TOPIC) if first.topic in (SCHEDULE, HALF_TOPIC) else first.topic
        if record.properties.get(RETRY_TOPIC) != due:
            return f"{record} came first from {due} and says RETRY_TOPIC={record.properties.get('RETRY_TOPIC')}"
    return None


def _origin(history: History) -> str | None:
    return next((f"{r} was sent back and has no ORIGIN_MESSAGE_ID" for _, _, r in _backs(history) if not _named(r)), None)


def _named(record: Record) -> bool:
    return bool(record.properties.get(ORIGIN_MESSAGE_ID, "").strip())


def _taken_back(history: History) -> str | None:
    for exchange in history.exchanges:
        if exchange.request.kind == "send_back" and exchange.code == 0 and len(exchange.stored) != 1:
            return f"{exchange} succeeded and {len(exchange.stored)} records were appended"
    return None


def _given_up(history: History) -> str | None:
    """Deliveries are the records that a consumer can see; the last one of a message sent back without end leads to the dead letter."""
    for name, log in history.logs.items():
        backs = {e.request.offset: e for e in history.exchanges if e.broker == name and e.request.kind == "send_back" and e.stored}
        chains: dict[int, list[Record]] = {}
        for record in log.records:
            chains.setdefault(record.born_timestamp, []).append(record)
        for chain in chains.values():
            seen = [r for r in chain if r.topic not in (SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC) and not r.topic.startswith(DLQ_PREFIX)]
            first = backs.get(seen[0].at) if seen else None
            if first is None:
                continue
            due = first.limit + 1
            if any(r.at not in backs or backs[r.at].request.delay_level < 0 for r in seen[:due]):
                continue
            buried = any(r.topic.startswith(DLQ_PREFIX) for r in chain)
            if len(seen) > due or (buried and len(seen) < due):
                return f"{seen[0]} was delivered {len(seen)} times before it was dead, and {due} are due"
            if len(seen) == due and not buried:
                return f"{seen[0]} failed {due} times and is in no dead-letter topic"
    return None


# Counts


def _sum(history: History) -> str | None:
    for name, counts in history.counts.items():
        put = sum(len(e.stored) for e in history.exchanges if e.broker == name and e.request.kind in SENDS)
        if sum(counts.values()) != put:
            return f"{name} counts {sum(counts.values())} messages, and {put} were appended"
    return None


def _by_topic(history: History) -> str | None:
    for name, counts in history.counts.items():
        sent: Counter[str] = Counter()
        for exchange in history.exchanges:
            if exchange.broker == name and exchange.request.kind in SENDS:
                sent[exchange.request.topic] += len(exchange.stored)
        for topic in {**sent, **counts}:
            if sent[topic] != counts.get(topic, 0):
                return f"{name} counts {counts.get(topic, 0)} messages for {topic}, and {sent[topic]} were sent to it"
    return None


# Routes


def _one_queue_data(history: History) -> str | None:
    for routes in history.routes:
        for topic, names in routes.queues.items():
            for name, times in Counter(names).items():
                if times > 1:
                    return f"the name server has {times} queue data of {name} for {topic}"
    return None


def _one_id(history: History) -> str | None:
    for routes in history.routes:
        for name, addresses in routes.addresses.items():
            for address, times in Counter(addresses.values()).items():
                if times > 1:
                    return f"the name server has {address} under {times} ids of {name}"
    return None


def _routed(history: History) -> str | None:
    for event in history.events:
        if event.what == "created" and not _comes_true(history, ("routed", "unrouted"), event.topic, event.who, "", event.at, ROUTED_IN):
            return f"{event.topic} was created on {event.who} at {event.at}, and {ROUTED_IN} ms later the name server does not know it"
    return None


def _known(history: History) -> str | None:
    routed = [e for e in history.events if e.what == "routed"]
    for use in history.events:
        for route in routed:
            if use.what == "used" and use.topic == route.topic:
                since = max(use.at, route.at)
                if not _comes_true(history, ("known", "forgotten"), use.topic, route.who, use.by, since, KNOWN_IN):
                    return f"{use.by} does not know {route.who} for {use.topic} {KNOWN_IN} ms after {since}"
    return None


def _comes_true(history: History, turns: tuple[str, str], topic: str, who: str, by: str, since: int, millis: int) -> bool:
    """Whether it is so at some time in these milliseconds, or they are not over. `turns`: what makes it so and what ends it."""
    if history.end < since + millis:
        return True
    turned = [e for e in history.events if e.what in turns and (e.topic, e.who, e.by) == (topic, who, by)]
    before = [e for e in turned if e.at <= since]
    if before and before[-1].what == turns[0]:
        return True
    return any(e.what == turns[0] and since < e.at <= since + millis for e in turned)


HISTORY_CLAIMS: tuple[HistoryClaim, ...] = tuple(
    HistoryClaim(id_, sentence, check)
    for id_, sentence, check in (
        ("INV-01", "a request that waits for an answer and whose task ends gets exactly one", _one_answer),
        ("INV-02", "no request gets two answers", _not_two),
        ("INV-03", "a one-way request gets no answer", _none_to_one_way),
        ("INV-04", "an answer has the opaque of its request", _own_opaque),
        ("INV-05", "the marker -1 of an undecided answer is never written", _decided),
        ("INV-06.records", "what is answered as stored is one record a message, with the body that was sent", _stored_once),
        ("INV-07.records", "a send or send-back that is answered with an error has appended no record", _nothing_stored),
        ("INV-30.records", "an answered queue id is one of the topic's, from 0 to the larger count", _queue_in_range),
        ("INV-34.records", "the records of a queue that count have the offsets 0, 1, 2 in the order of the log", _offsets),
        ("INV-35.records", "prepared and rolled back records have queue offset 0 and count in no queue", _uncounted),
        ("INV-36.records", "a queue has as many entries as its next offset says when everything is dispatched", _entries),
        ("INV-37", "records follow each other without gaps, blanks end files, and each record says where it is", _positions),
        ("INV-38.records", "behind a record its file is full or has room for a blank", _free),
        ("INV-39", "no record crosses the end of a file", _inside),
        ("INV-40", "a record's size is 91 bytes and its body, topic and properties", _sizes),
        ("INV-40.limit", "no record is larger than the size limit", _limit),
        ("INV-41", "a record's checksum is its body's CRC-32 without the sign bit", _checksums),
        ("INV-42", "store times never decrease along the log", _times),
        ("INV-43", "an answered id is the store host and place of the message's record, and no two are equal", _ids),
        ("INV-44", "the answered queue and offset lead to the message under the topic it was sent to", _located),
        ("INV-45", "a delayed record is in the queue of its level and names the topic and queue asked for", _delayed),
        ("INV-46", "no send puts a record into the schedule topic by the topic's name", _schedule_by_name),
        ("INV-47", "a dead letter was retried to the limit, was given up by its consumer, or was sent as one", _dead),
        ("INV-48", "each send-back counts one retry more, and retries do not exceed the limit", _grows),
        ("INV-49", "however often a message comes back, RETRY_TOPIC is the topic of its first record", _first_topic),
        ("INV-50", "a record that was sent back names the id of its origin", _origin),
        ("INV-51", "a send-back that succeeds has appended a record", _taken_back),
        ("INV-54", "the messages counted for all topics are those that sends appended", _sum),
        ("INV-55", "the messages counted for a topic are those that were sent to it", _by_topic),
        ("INV-56", "the stored properties are the same with and without hooks", _same_without_hooks),
        ("INV-57", "WAIT is not among the stored properties", _no_wait),
        ("INV-59.tables", "the name server has one queue data of a broker for a topic", _one_queue_data),
        ("INV-60", "the name server has an address under one id of a broker's name", _one_id),
        ("LIV-01", "the name server knows a created topic's broker within 30 seconds", _routed),
        ("LIV-02", "a producer that uses a topic knows each broker of its route within 33 seconds", _known),
        ("LIV-06", "a message that is never consumed is a dead letter after its retries, 16 unless the group says otherwise", _given_up),
    )
)
