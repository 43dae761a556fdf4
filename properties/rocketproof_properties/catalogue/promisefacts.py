"""The rows of promises: what a history shows about each message, pull, committed offset, administrative change and query.

This module looks up and compares; the promises decide what is correct. A row exists only if the history is certain about it: requests that
overlap, lost responses, one-way requests and unread queues make no row, or a row that is not `known`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from rocketproof_protocol import fastjson
from rocketproof_protocol.codes import (
    ADD_WRITE_PERM_OF_BROKER,
    PULL_NOT_FOUND,
    PULL_OFFSET_MOVED,
    PULL_RETRY_IMMEDIATELY,
    REGISTER_BROKER,
    SUCCESS,
    TOPIC_NOT_EXIST,
    UNREGISTER_BROKER,
    WIPE_WRITE_PERM_OF_BROKER,
)
from rocketproof_protocol.flags import COMMIT, NOT, PULL_COMMITS_OFFSET, PULL_SUBSCRIBES, ROLLBACK
from rocketproof_protocol.numbers import java_boolean, java_int, java_long, whole_number
from rocketproof_protocol.properties import (
    DELAY,
    KEYS,
    REAL_TOPIC,
    TAGS,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    TRAN_MSG,
    UNIQ_KEY,
)
from rocketproof_protocol.topics import CHECK_MAX_TIME_TOPIC, DLQ_PREFIX, HALF_TOPIC, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_traces.audit.row_rules import Row, row_of
from rocketproof_traces.audit.store import class_of
from rocketproof_traces.audit.vocabulary import Class
from rocketproof_traces.history.exchange import Exchange, kept_body
from rocketproof_traces.stored.record import StoredRecord

from .history import OK, BrokerRequest, History, QueueEntry, StoredExchange
from .promisereading import (
    CREATING,
    END,
    Span,
    are_equal,
    arrival_row,
    asks_about,
    consumers_of,
    given_properties,
    group_of,
    has_ended,
    hash_of,
    int_of,
    is_first,
    is_own,
    is_routed,
    is_valid,
    keys_of,
    last_of,
    long_of,
    look_of,
    may_create,
    place_of_message,
    producers_of,
    registered_topics,
    response_records,
    route_brokers,
    same_message,
    second_of,
    wanted_values,
)

_ORDINARY: Final = Class.encode("ordinary")
_PULLED: Final = (SUCCESS, PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY, PULL_OFFSET_MOVED)
_SHORT: Final = 4096
"""The maximum size in bytes of a record that no pull is limited by, if at most eight are asked for."""
_MINIMUM: Final = 8
"""The number of messages that every release returns from a disk, if there are as many."""
_MOST: Final = 32
"""The number of records that every release returns for a key."""
_TICK: Final = 1000
"""The precision in ms of the index of keys."""
_SLACK: Final = 10_000
"""The time in ms by which a busy machine may delay a delivery."""
_LATE: Final = (DELAY, TRAN_MSG, "TIMER_")
_OF_REGISTRATIONS: Final = frozenset({REGISTER_BROKER, UNREGISTER_BROKER, WIPE_WRITE_PERM_OF_BROKER, ADD_WRITE_PERM_OF_BROKER})
_THROWN: Final = re.compile(r"java\.[a-z.]*[A-Z]\w*(Exception|Error)\b")
"""The text of a response whose request ended with an exception of Java's libraries."""
_TIMES: Final[Mapping[str, int]] = {TIMER_DELAY_SEC: 1000, TIMER_DELAY_MS: 1, TIMER_DELIVER_MS: 0}
"""The properties that request a delivery time, with their unit in ms; 0 for a point of time."""
_FOREVER: Final = 1 << 57
"""A longer delay in ms than any that passes."""
_DISPATCHED: Final = 400
"""The time in ms in which a busy broker has put the records of its log into the queues."""
_LONGEST: Final = (1 << 63) - 1
PromiseRow = tuple[Row, object]
"""A row, and the object or text that describes it."""
Reader = Callable[[], Iterator[PromiseRow]]


class PromiseFacts:
    """The rows of a history that promises need, by kind."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.requests: Sequence[Exchange] = self.history.recorded.exchanges
        self.states: Mapping[str, Mapping[str, Any]] = {report.op: report.value for report in self.history.recorded.reports}
        self.crashes = [event for event in self.history.recorded.others if event.op == "crash"]

    def makers(self) -> Mapping[str, Reader]:
        """Return the reader of each kind."""
        return {
            "message": self._messages,
            "fetch": self._fetches,
            "tracked": self._tracked,
            "position": self._positions,
            "repeated": self._repeated,
            "administered": self._administered,
            "reach": self._reaches,
            "successor": self._successors,
            "arrival": self._arrivals,
            "timed": self._timed,
            "half": self._halves,
            "returned": self._returned,
            "lookup": self._lookups,
            "routed": self._routed,
            "registered": self._registered,
            "announced": self._announced,
            "answered": self._answered,
        }

    # Messages

    def _messages(self) -> Iterator[PromiseRow]:
        for exchange, number, record in self.acknowledged:
            yield self._message(exchange, number, record), f"message {number + 1} of {exchange}"

    @cached_property
    def acknowledged(self) -> list[tuple[StoredExchange, int, StoredRecord]]:
        """Each acknowledged message with its number in its request and its record, if that was read."""
        found = []
        for exchange in self.history.exchanges:
            if exchange.code in OK and exchange.request.kind in ("send", "batch"):
                for number in range(len(exchange.request.bodies)):
                    record = self._at(exchange.broker, place_of_message(exchange, number))
                    if record is not None:
                        found.append((exchange, number, record))
        return found

    def _message(self, exchange: StoredExchange, number: int, record: StoredRecord) -> Row:
        request, fields = exchange.request, exchange.answers[0].fields
        given, stored = given_properties(request, number), record.properties
        own = {name: value for name, value in given.items() if is_own(name, value)}
        entries = self._entries(exchange.broker, record.topic, record.queue_id)
        plain = self._is_plain(request)
        entry = entries[record.queue_offset] if entries is not None and 0 <= record.queue_offset < len(entries) else None
        return row_of("message")(
            batch=request.kind == "batch",
            plain=plain,
            half=java_boolean(given.get(TRAN_MSG)),
            askedQueue=request.queue_id,
            answeredQueue=int_of(fields.get("queueId")),
            queueId=record.queue_id,
            answeredOffset=long_of(fields.get("queueOffset")) + number,
            queueOffset=record.queue_offset,
            sameTopic=request.topic in (record.topic, stored.get(REAL_TOPIC)),
            sameBody=record.body == (request.bodies[number] or b""),
            hasId=UNIQ_KEY in given,
            sameId=stored.get(UNIQ_KEY) == given.get(UNIQ_KEY),
            hasKeys=KEYS in given,
            sameKeys=stored.get(KEYS) == given.get(KEYS),
            hasTags=TAGS in given,
            sameTags=stored.get(TAGS) == given.get(TAGS),
            hasOwn=bool(own),
            sameOwn=all(stored.get(name) == value for name, value in own.items()),
            sameFlag=request.kind == "batch" or record.flag == request.flag,  # each message of a batch has a flag of its own
            sameBorn=record.born_timestamp == request.born,
            listKnown=plain and record.counted and entries is not None and None not in entries,
            listed=entry is not None and entry.physical_offset == record.at,
        )

    def _is_plain(self, request: BrokerRequest) -> bool:
        texts = " ".join((*request.properties, *(name for item in request.items for name in item)))
        return class_of(request.topic) == _ORDINARY and not any(name in texts for name in _LATE) and request.topic not in self.deleted

    # Pulls

    def _fetches(self) -> Iterator[PromiseRow]:
        for exchange in self.requests:
            if exchange.op == "pull" and exchange.code in _PULLED and not exchange.strays:
                row = self._fetch(exchange)
                if row is not None:
                    yield row, str(exchange)

    def _fetch(self, exchange: Exchange) -> Row | None:
        fields, answered = exchange.fields, exchange.response_fields
        records = response_records(exchange)
        numbers = [java_int(str(fields.get(name, ""))) for name in ("queueId", "maxMsgNums", "sysFlag")]
        offset = java_long(str(fields.get("queueOffset", "")))
        if records is None or offset is None or None in numbers:
            return None
        queue, most, flags = (number or 0 for number in numbers)
        bounds = [java_long(str(answered.get(name, ""))) for name in ("nextBeginOffset", "minOffset", "maxOffset")]
        offsets = [record.queue_offset for record in records]
        texts = kept_body(exchange.response or {}) or b""
        largest = self._largest.get(exchange.topic, 0)
        return row_of("fetch")(
            found=exchange.code == SUCCESS and bool(texts),
            filtered=not flags & PULL_SUBSCRIBES or fields.get("subscription") != "*",
            offset=offset,
            most=most,
            count=len(records),
            first=offsets[0] if offsets else -1,
            last=offsets[-1] if offsets else -1,
            consecutive=all(b == a + 1 for a, b in itertools.pairwise(offsets)),
            sameQueue=all(record.topic == exchange.topic and record.queue_id == queue for record in records),
            unchanged=all(self._anywhere.get(record.at, record) == record for record in records),
            bounded=None not in bounds,
            nextOffset=bounds[0] or 0,
            minOffset=bounds[1] or 0,
            maxOffset=bounds[2] or 0,
            small=0 < largest <= _SHORT and all(record.total_size <= _SHORT for record in records),
        )

    # Offsets of groups

    def _tracked(self) -> Iterator[PromiseRow]:
        for key, at, success, answered, about in self._progress_queries():
            commits = [change for change in self.requests if self._commits(change, *key)]
            last = last_of(commits, at)
            offset = None if last is None else self._committed(last)
            if last is not None and last.op == "delete_topic" and last.code == SUCCESS:
                before = {self._committed(change) for change in commits if change.seq < last.seq} - {None}
                if before:
                    yield row_of("tracked")(deleted=True, outlives=success and answered > 0 and answered in before), about
                continue
            if last is None or offset is None or offset < 0 or any(crash.seq > last.seq for crash in self.crashes if crash.seq < at):
                continue
            earlier = [self._committed(change) or 0 for change in commits if change.seq < last.seq]
            row = row_of("tracked")(
                known=True, success=success, committed=offset, answered=answered, lowered=max(earlier, default=-1) > offset
            )
            yield row, about

    def _progress_queries(self) -> Iterator[tuple[tuple[str, str, str], int, bool, int, str]]:
        """Yield group, topic and queue of each query of a group's offset, with its event, its success, its offset and a description."""
        for exchange in self.requests:
            if exchange.op == "progress" and exchange.code is not None and not exchange.strays:
                fields = exchange.fields
                key = (str(fields.get("consumerGroup")), str(fields.get("topic")), str(fields.get("queueId")))
                answered = exchange.answered("offset")
                yield key, exchange.seq, exchange.code == SUCCESS, -1 if answered is None else answered, str(exchange)
        for look in self.states.get("looks", {}).get("looks", ()):
            if look["name"] == "progress":
                args = look["args"]
                key = (str(args["group"]), str(args["topic"]), str(args["queue"]))
                answered = java_long(str(look["fields"].get("offset", "")))
                text = f"the query after the program for the offset of {key[0]} in queue {key[2]} of {key[1]}"
                yield key, END - 1, look["code"] == SUCCESS, -1 if answered is None else answered, text

    def _commits(self, change: Exchange, group: str, topic: str, queue: str) -> bool:
        """Whether a request may change a group's offset in a queue."""
        fields, op = change.fields, change.op
        if op == "commit" or (op == "pull" and (java_int(str(fields.get("sysFlag", ""))) or 0) & PULL_COMMITS_OFFSET):
            key = (fields.get("consumerGroup"), fields.get("topic"), fields.get("queueId"))
            refused = change.closed == "ok" and change.code not in _PULLED
            return key == (group, topic, queue) and not refused
        if op == "heartbeat":
            return group in consumers_of(change)
        return (op == "delete_group" and fields.get("groupName") == group) or (op == "delete_topic" and change.topic == topic)

    def _positions(self) -> Iterator[PromiseRow]:
        for change in self.requests:
            offset = java_long(str(change.fields.get("commitOffset", ""))) if change.op == "commit" and change.code == SUCCESS else None
            queue = java_int(str(change.fields.get("queueId", "")))
            if offset is None or queue is None or class_of(change.topic) != _ORDINARY or change.topic in self.deleted:
                continue
            end = self.history.next_offsets.get(change.broker, {}).get(f"{change.topic}-{queue}")
            if end is not None:
                yield row_of("position")(offset=max(offset, -1), end=end), str(change)

    @staticmethod
    def _committed(change: Exchange) -> int | None:
        return java_long(str(change.fields.get("commitOffset", ""))) if change.op in ("commit", "pull") else None

    # Queries change nothing

    def _repeated(self) -> Iterator[PromiseRow]:
        looks = self.states.get("looks")
        if looks is not None and looks.get("looks"):
            row = row_of("repeated")(
                settled=self.settled,
                queries=len(looks["looks"]),
                differing=len(looks.get("twice", ())),
                moved=len(looks.get("moved", ())),
                changed=len(looks.get("changed", ())),
            )
            texts = [f"{kind} {looks[kind][0]}" for kind in ("twice", "moved", "changed") if looks.get(kind)]
            yield row, ", ".join(("the queries after the program", *texts))

    @cached_property
    def settled(self) -> bool:
        """Whether nothing of the program can still arrive after its last response."""
        late = any(name in str(each.fields.get("properties") or "") for each in self.requests for name in _LATE)
        uncertain = any(each.one_way or each.closed != "ok" or each.strays for each in self.requests)
        kinds = {each.op for each in self.requests} & {"send_back", "end_transaction", "other"}
        batches = any(
            name in (kept_body(each.request) or b"").decode("latin-1") for each in self.requests if each.op == "batch" for name in _LATE
        )
        return not (late or uncertain or kinds or batches or self.crashes)

    # Administration

    def _administered(self) -> Iterator[PromiseRow]:
        yield from self._of_table("update_topic", "delete_topic", "topic", self.states.get("topics", {}).get("topics"))
        yield from self._of_table("update_group", "delete_group", "groupName", self.states.get("groups", {}).get("groups"))

    def _of_table(self, updates: str, deletes: str, field: str, table: Mapping[str, Any] | None) -> Iterator[PromiseRow]:
        if table is None or any(each.op == "other" and each.broker != "name server" for each in self.requests):
            return
        changes: dict[str, list[Exchange]] = {}
        for each in self.requests:
            if each.op in (updates, deletes):
                name = str(each.fields.get(field) or group_of(each).get("groupName", ""))
                if updates == "update_group" or class_of(name) == _ORDINARY:
                    changes.setdefault(name, []).append(each)
        for name, mine in changes.items():
            last = last_of(mine, END)
            if last is None or last.code != SUCCESS:
                continue
            deleted, entry = last.op == deletes, table.get(name)
            after = [each for each in self.requests if (each.end is None or each.end > last.seq) and each is not last]
            if deleted and any(may_create(each, updates, name) for each in after):
                continue
            wanted = {} if deleted else wanted_values(last)
            if wanted is None:
                continue
            crashed = [crash for crash in self.crashes if crash.seq > last.seq]
            row = row_of("administered")(
                known=not any(crash.value.get("power") for crash in crashed),
                group=updates == "update_group",
                valid=is_valid(wanted),
                deleted=deleted,
                there=entry is not None,
                same=entry is not None and all(are_equal(entry.get(key), value) for key, value in wanted.items()),
                othersDeleted=any(each.op in ("delete_topic", "delete_group") and each.code == SUCCESS for each in after),
                restarted=bool(crashed),
            )
            yield row, f"{name} after {last}"

    # Topics that were deleted

    @cached_property
    def deleted(self) -> frozenset[str]:
        """Topics that were or may have been deleted."""
        return frozenset(each.topic for each in self.requests if each.op == "delete_topic")

    def _reaches(self) -> Iterator[PromiseRow]:
        for exchange in self.requests:
            offset = exchange.answered("offset") if exchange.op == "max_offset" and exchange.code == SUCCESS else None
            if offset is not None and class_of(exchange.topic) == _ORDINARY and self._is_gone(exchange):
                yield row_of("reach")(nextOffset=offset), f"{exchange}, whose topic is in no table"
        deleted = self.states.get("deleted", {})
        if "left" in deleted:
            for look in deleted.get("looks", ()):
                topic, offset = look["args"].get("topic"), java_long(str(look["fields"].get("offset", "")))
                gone = topic not in deleted["left"] and class_of(topic or "") == _ORDINARY
                if look["name"] == "max_offset" and look["code"] == SUCCESS and offset is not None and gone:
                    yield row_of("reach")(nextOffset=offset), f"queue {look['args'].get('queue')} of {topic}, which was deleted"

    def _is_gone(self, query: Exchange) -> bool:
        """Whether the topic of a query is certainly in no table: it was deleted, and no later request can have made it."""
        mine = [each for each in self.requests if each.topic == query.topic and each.op in ("delete_topic", *CREATING)]
        last = last_of(mine, query.seq)
        others = any(each.op == "other" and each.broker != "name server" for each in self.requests)
        return last is not None and last.op == "delete_topic" and last.code == SUCCESS and not others

    def _successors(self) -> Iterator[PromiseRow]:
        seen: set[tuple[str, int]] = set()
        for topic in self.deleted:
            deletions = [each for each in self.requests if each.op == "delete_topic" and each.topic == topic and each.code == SUCCESS]
            for at, record in self._delivered(topic):
                ended = [each for each in deletions if each.end is not None and each.end < at]
                sender = self._sender(record)
                if not ended or sender is None or (topic, record.at) in seen:
                    continue
                seen.add((topic, record.at))
                was_before = any(sender.end is not None and sender.end < each.seq for each in ended)
                yield row_of("successor")(predecessor=was_before), f"{record}, sent by {sender},"

    def _delivered(self, topic: str) -> Iterator[tuple[int, StoredRecord]]:
        """Yield each message that a consumer of the topic got, with the event before which it was stored."""
        for exchange in self.requests:
            if exchange.op == "pull" and exchange.code == SUCCESS and exchange.topic == topic:
                yield from ((exchange.seq, record) for record in response_records(exchange) or ())
        for name, queues in self.history.entries.items():
            for (of, _), entries in queues.items():
                for entry in entries if of == topic else ():
                    record = None if entry is None else self._at(name, entry.physical_offset)
                    if record is not None:
                        yield END, record

    def _sender(self, record: StoredRecord) -> Exchange | None:
        """Return the request that sent a message; None if it is unknown. The born timestamp is unique in a program."""
        born = str(record.born_timestamp)
        mine = [each for each in self.requests if each.op in ("send", "batch") and str(each.fields.get("bornTimestamp")) == born]
        return mine[0] if len(mine) == 1 else None

    # Delays

    def _arrivals(self) -> Iterator[PromiseRow]:
        delays = self.history.delays
        stepped = any(event.op in ("clock", "crash", "faults", "disk") for event in self.history.recorded.others)
        if delays is None or stepped:
            return
        for exchange, number, record in self.acknowledged:
            level = min(java_int(record.properties.get(DELAY, "")) or 0, len(delays))
            request = exchange.request
            if level < 1 or record.topic != SCHEDULE or request.kind != "send" or request.topic in self.deleted:
                continue
            if class_of(request.topic) != _ORDINARY or java_boolean(request.properties.get(TRAN_MSG)):
                continue
            copies = self._copies(exchange, request.topic, record)
            due = record.store_timestamp + delays[level - 1]
            entries = self._entries(exchange.broker, request.topic, request.queue_id)
            overdue = self._read_at(exchange) - due if not copies and entries is not None and None not in entries else 0
            took = max(((each.ended_millis - each.sent_millis) for each in self.requests if each.took is not None), default=0)
            row = arrival_row(request, record, copies, delays[level - 1], max(0, overdue), _SLACK + max(0, took))
            yield row, f"message {number + 1} of {exchange}, which was delayed by level {level},"
        yield from self._arrivals_in_time() if self.history.timers else ()

    def _arrivals_in_time(self) -> Iterator[PromiseRow]:
        """Yield the messages with one delivery time, if no message cancels another one."""
        if any(TIMER_DEL_UNIQKEY in exchange.request.properties for exchange in self.history.exchanges):
            return
        for exchange, _, record in self.acknowledged:
            request = exchange.request
            named = [name for name in request.properties if name.startswith("TIMER_") or name in (DELAY, TRAN_MSG)]
            wanted = java_long(request.properties[named[0]]) if len(named) == 1 else None
            if wanted is None or wanted < 0 or named[0] not in _TIMES or request.kind != "send" or request.topic in self.deleted:
                continue
            if class_of(request.topic) != _ORDINARY:
                continue
            unit = _TIMES[named[0]]
            delay = wanted * unit if unit else wanted - record.store_timestamp
            copies = [record] * (record.topic == request.topic) + self._copies(exchange, request.topic, record)
            row = arrival_row(request, record, copies, min(delay, _FOREVER), 0, _FOREVER)  # it may be late: only an early one is judged
            yield row, f"the message of {exchange} with {named[0]} {wanted}"

    def _timed(self) -> Iterator[PromiseRow]:
        """Cancellations and messages of the same second in the timer, by their record's TIMER_OUT_MS."""
        timed = [
            (exchange, number, record)
            for exchange, number, record in self.acknowledged
            if exchange.request.kind == "send" and record.topic == WHEEL_TIMER_TOPIC and TIMER_OUT_MS in record.properties
        ]
        cancelling = [(exchange, record) for exchange, _, record in timed if TIMER_DEL_UNIQKEY in record.properties]
        for exchange, number, record in timed:
            request, key = exchange.request, record.properties.get(UNIQ_KEY)
            if TIMER_DEL_UNIQKEY in record.properties or key is None:
                continue
            if class_of(request.topic) != _ORDINARY or request.topic in self.deleted:
                continue
            mine = exchange.broker, second_of(record), key
            topics = {
                other.request.topic for other, by in cancelling if (other.broker, second_of(by), by.properties[TIMER_DEL_UNIQKEY]) == mine
            }
            entries = self._entries(exchange.broker, request.topic, request.queue_id)
            delivered = self._delivered_at(exchange.broker, second_of(record))
            row = row_of("timed")(
                cancelled=request.topic in topics,
                foreign=bool(topics) and request.topic not in topics,
                passed=entries is not None and None not in entries and self._read_at(exchange) >= delivered + _TICK,
                copies=len(self._copies(exchange, request.topic, record)),
            )
            yield row, f"message {number + 1} of {exchange}, which has a delivery time,"

    def _delivered_at(self, broker: str, second: str | None) -> int:
        """Return the time in ms at which the first message of a second of the timer was delivered, a late time if none was."""
        records = self.history.logs[broker].records
        found = (each.store_timestamp for each in records if each.topic != WHEEL_TIMER_TOPIC and second_of(each) == second)
        return min(found, default=_LONGEST)

    def _copies(self, exchange: StoredExchange, topic: str, origin: StoredRecord) -> list[StoredRecord]:
        """Return the records of a topic that were made of a waiting record, in the order of the log."""
        records = self.history.logs[exchange.broker].records
        return [r for r in records if r.topic == topic and r.born_timestamp == origin.born_timestamp and r.at > origin.at]

    def _read_at(self, exchange: StoredExchange) -> int:
        """Return the time in ms, by the client's clock, at which the last request had its response."""
        at = [whole_number(each.outcome.get("at", 0)) for each in self.requests if each.closed == "ok" and each.broker == exchange.broker]
        return max(at, default=0)

    # Transactions

    def _halves(self) -> Iterator[PromiseRow]:
        ends = [each for each in self.requests if each.op == "end_transaction" and each.closed != "fail"]
        for exchange, number, record in self.acknowledged:
            request = exchange.request
            is_half = request.kind == "send" and java_boolean(request.properties.get(TRAN_MSG)) and record.topic == HALF_TOPIC
            if not is_half or class_of(request.topic) != _ORDINARY or DELAY in request.properties or request.topic in self.deleted:
                continue
            mine = [each for each in ends if java_long(str(each.fields.get("commitLogOffset", ""))) == record.at]
            commits = [each for each in mine if java_int(str(each.fields.get("commitOrRollback", ""))) == COMMIT]
            rollbacks = [each for each in mine if java_int(str(each.fields.get("commitOrRollback", ""))) == ROLLBACK]
            copies = self._copies(exchange, request.topic, record)
            first = copies[0] if copies else None
            questions = [event for event in self.history.recorded.others if event.op in ("question", "checked")]
            row = row_of("half")(
                committed=bool(commits),
                rolledBack=bool(rollbacks),
                rolledBackFirst=is_first(rollbacks, mine),
                acknowledged=bool(commits) and not rollbacks and all(each.code == SUCCESS for each in commits),
                copies=len(copies),
                sameMessage=first is None or same_message(record, first),
                sameQueue=first is None or request.queue_id < 0 or first.queue_id == request.queue_id,
                readAfter=bool(commits) and self._was_read_after(exchange, commits),
                discarded=self._was_discarded(exchange, record),
                asked=any(event.value.get("asked") or event.value.get("body") for event in questions),
                questionsKnown=bool(questions) and self._is_connected(request),
                askedLater=any(asks_about(event, record) and has_ended(mine, event.seq) for event in questions),
            )
            yield row, f"half message {number + 1} of {exchange}"

    def _was_read_after(self, exchange: StoredExchange, ends: Sequence[Exchange]) -> bool:
        """Whether a message sent after these requests was read from its queue: dispatching follows the log's order."""
        last = max(Span.of(each).end for each in ends)
        entries = self._entries(exchange.broker, exchange.request.topic, exchange.request.queue_id)
        listed = {entry.physical_offset for queue in self.history.entries.get(exchange.broker, {}).values() for entry in queue if entry}
        later = (record.at for sent, _, record in self.acknowledged if sent.request.opaque > last)
        return entries is not None and None not in entries and any(at in listed for at in later)

    def _was_discarded(self, exchange: StoredExchange, record: StoredRecord) -> bool:
        records = [*self.history.logs[exchange.broker].records]
        for each in self.requests:
            if each.op == "pull" and each.topic == CHECK_MAX_TIME_TOPIC:
                records += response_records(each) or ()
        return any(r.topic == CHECK_MAX_TIME_TOPIC and r.born_timestamp == record.born_timestamp for r in records)

    def _is_connected(self, request: BrokerRequest) -> bool:
        group = request.properties.get("PGROUP", "")
        return any(each.op == "heartbeat" and each.code == SUCCESS and group in producers_of(each) for each in self.requests)

    # Messages that were sent back

    def _returned(self) -> Iterator[PromiseRow]:
        for exchange in self.history.exchanges:
            before = self._at(exchange.broker, exchange.request.offset) if exchange.request.kind == "send_back" else None
            for place in exchange.stored if before is not None else ():
                record = self._at(exchange.broker, place)
                if before is None or record is None:
                    continue
                row = row_of("returned")(
                    sameBody=record.body == before.body,
                    sameId=record.properties.get(UNIQ_KEY) == before.properties.get(UNIQ_KEY),
                    sameKeys=record.properties.get(KEYS) == before.properties.get(KEYS),
                    sameTags=record.properties.get(TAGS) == before.properties.get(TAGS),
                    sameBorn=record.born_timestamp == before.born_timestamp,
                    moreTimes=record.reconsume_times == before.reconsume_times + 1,
                    times=before.reconsume_times,
                    limitKnown=(limit := self._most_retries(exchange)) is not None,
                    limit=limit or 0,
                    dead=record.topic.startswith(DLQ_PREFIX),
                )
                yield row, f"{record}, which {exchange} has stored,"

    def _most_retries(self, back: StoredExchange) -> int | None:
        """Return the maximum number of retries that the group of a send-back has, None if it is not certain."""
        group = str(back.request.group)
        changes = [
            each for each in self.requests
            if (each.op == "update_group" and group_of(each).get("groupName") == group)
            or (each.op == "delete_group" and each.fields.get("groupName") == group)
        ]  # fmt: skip
        last = last_of(changes, back.request.opaque)
        found = None if last is None or last.code != SUCCESS or self.crashes else group_of(last).get("retryMaxTimes")
        return found if isinstance(found, int) else None

    # Queries

    def _lookups(self) -> Iterator[PromiseRow]:
        for exchange in self.requests:
            if exchange.op == "view" and exchange.code == SUCCESS:
                records = response_records(exchange)
                place = java_long(str(exchange.fields.get("offset", "")))
                if records is not None:
                    wrong = sum(record.physical_offset != place for record in records) + (len(records) != 1)
                    yield row_of("lookup")(byPlace=True, wrong=wrong), str(exchange)
        if not self.settled or self.deleted:
            return
        for look in self.states.get("looks", {}).get("looks", ()):
            row = self._look(look)
            if row is not None:
                text = ", ".join(f"{name} {value}" for name, value in look["args"].items())
                yield row, f"the query {look['name']} after the program ({text})"
        for exchange in self._last_queries():
            row = self._look(look_of(exchange), sent=True)
            if row is not None:
                yield row, str(exchange)

    def _last_queries(self) -> Iterator[Exchange]:
        """Yield the searches by time that follow all requests that may store a message, and a pause in which these were dispatched."""
        last = max((Span.of(each).end for each in self.requests if each.op in CREATING), default=-1)
        pauses = (event for event in self.history.recorded.others if event.op == "wait" and event.seq > last)
        paused = min((event.seq for event in pauses if whole_number(event.value.get("millis", 0)) >= _DISPATCHED), default=END)
        yield from (each for each in self.requests if each.op == "search" and each.seq > paused)

    def _look(self, look: Mapping[str, Any], *, sent: bool = False) -> Row | None:
        args, name = look["args"], look["name"]
        topic = str(args.get("topic", ""))
        if class_of(topic) != _ORDINARY or len(self.history.logs) != 1:
            return None
        (broker,) = self.history.logs
        if name == "find":
            return self._by_key(broker, topic, args, look)
        queue = whole_number(args.get("queue", 0))
        entries = self._entries(broker, topic, queue)
        if entries is None or None in entries or look["code"] != SUCCESS:
            return None
        stored = [record.store_timestamp for entry in entries if entry and (record := self._at(broker, entry.physical_offset))]
        if len(stored) != len(entries):
            return None
        if name == "search" and not args.get("upper"):
            fitting = [offset for offset, time in enumerate(stored) if time >= args["time"]]
            answered = java_long(str(look["fields"].get("offset", "")))
            expected = fitting[0] if fitting else len(stored)
            if not stored or answered is None:
                return None
            return row_of("lookup")(byTime=True, sent=sent, answered=answered, expected=expected)
        if name == "earliest" and stored:
            answered = java_long(str(look["fields"].get("timestamp", "")))
            return None if answered is None else row_of("lookup")(earliest=True, answered=answered, expected=stored[0])
        if name == "min_offset" and stored:
            answered = java_long(str(look["fields"].get("offset", "")))
            return None if answered is None else row_of("lookup")(bounds=True, answered=answered, expected=0)
        return None

    def _by_key(self, broker: str, topic: str, args: Mapping[str, Any], look: Mapping[str, Any]) -> Row | None:
        found = [self._at(broker, place) for place in look.get("places", ())]
        key, most = str(args["key"]), whole_number(args.get("most", _MOST))
        if None in found or self.history.recorded.strays or not key.isprintable():
            return None
        begin, end = whole_number(args.get("begin", 0)), whole_number(args.get("end", _LONGEST))
        hashed = hash_of(key)
        alike = [r for r in self.history.logs[broker].records if r.topic == topic and hashed in map(hash_of, keys_of(r))]
        fits = [r for r in alike if key in keys_of(r)]
        inside = [r for r in fits if r.transaction == NOT and begin + _TICK < r.store_timestamp < end - _TICK]
        near = [r for r in alike if begin - _TICK <= r.store_timestamp <= end + _TICK]  # a client drops those of other keys
        wrong = sum(record not in near for record in found)
        is_full = len(found) >= min(most, _MOST) or args.get("unique")
        missing = 0 if is_full else sum(record not in found for record in inside)
        return row_of("lookup")(byKey=True, wrong=wrong, missing=missing)

    # Routes

    def _routed(self) -> Iterator[PromiseRow]:
        for exchange in self.requests:
            if exchange.op != "route" or exchange.code != SUCCESS:
                continue
            try:
                data = fastjson.loads(kept_body(exchange.response or {}) or b"{}")
                named = Counter(str(row["brokerName"]) for row in data["queueDatas"])
                addresses = {str(row["brokerName"]): row["brokerAddrs"] for row in data["brokerDatas"]}
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            for name, times in named.items():
                row = row_of("routed")(addressed=bool(addresses.get(name)), namedTwice=times > 1)
                yield row, f"{name} in the response to {exchange}"

    def _registered(self) -> Iterator[PromiseRow]:
        changes = [
            each for each in self.requests if each.request.get("code") in _OF_REGISTRATIONS or each.op in ("forget_topic", "register_topic")
        ]
        for query in self.requests:
            if query.op != "route" or query.code not in (SUCCESS, TOPIC_NOT_EXIST):
                continue
            named = route_brokers(query)
            if named is None:
                continue
            for name in {str(each.fields.get("brokerName")) for each in changes if each.seq < query.seq}:
                mine = [each for each in changes if each.fields.get("brokerName") in (name, None) and each.seq < query.seq]
                last = last_of(mine, query.seq)
                if last is None or not self._is_certain(last, mine, query):
                    continue
                left = last.request.get("code") == UNREGISTER_BROKER
                config = {} if left else registered_topics(last).get(query.topic)
                if config is not None:
                    row = row_of("registered")(there=name in named, left=left, same=left or is_routed(named.get(name, {}), config))
                    yield row, f"{name} in the response to {query}"

    def _announced(self) -> Iterator[PromiseRow]:
        for query in self.requests:
            named = route_brokers(query) if query.op == "route" and query.code in (SUCCESS, TOPIC_NOT_EXIST) else None
            if named is None or class_of(query.topic) != _ORDINARY:
                continue
            mine = [each for each in self.requests if each.topic == query.topic and each.op in ("update_topic", "delete_topic")]
            last = last_of(mine, query.seq)
            wanted = wanted_values(last) if last is not None and last.op == "update_topic" and last.code == SUCCESS else None
            if last is None or wanted is None or not self._stays_registered(last, query):
                continue
            queues = {name: value for name, value in wanted.items() if name != "perm"}  # a broker may limit the permission (NS-11)
            yield row_of("announced")(same=is_routed(named.get(last.broker, {}), queues)), f"{query} after {last}"

    def _stays_registered(self, last: Exchange, query: Exchange) -> bool:
        """Whether the only broker runs from a change until a query, and no request of the program removes its topics from name servers."""
        if len({each.broker for each in self.requests if each.broker != "name server"}) > 1:  # one may be a slave, which no route names
            return False
        ended = (event.seq for event in self.history.recorded.others if event.op in ("crash", "stop", "restart"))
        removals = (each for each in self.requests if each.broker == "name server" and each.op != "route")
        named = (each.fields.get("brokerName") in (last.broker, None) for each in removals if each.seq < query.seq)
        return not any(last.seq < seq < query.seq for seq in ended) and not any(named)

    def _is_certain(self, last: Exchange, mine: Sequence[Exchange], query: Exchange) -> bool:
        """Whether the last change is a registration or its end, at the broker's only address and id, and the broker is still connected."""
        accepted = last.request.get("code") in (REGISTER_BROKER, UNREGISTER_BROKER) and last.code == SUCCESS
        if not accepted or last.fields.get("brokerId") != "0":
            return False
        address = last.fields.get("brokerAddr")
        closed = [event for event in self.history.recorded.others if event.op in ("disconnect", "hang_up", "crash", "wait", "clock")]
        if any(last.seq < event.seq < query.seq for event in closed if event.op != "wait"):
            return False
        places = {(each.fields.get("brokerAddr"), each.fields.get("brokerId")) for each in mine if each.op == "other"}
        return places == {(address, "0")}

    # Responses

    def _answered(self) -> Iterator[PromiseRow]:
        for exchange in self.requests:
            if exchange.response is not None:
                remark = str(exchange.response.get("remark") or "")
                yield row_of("answered")(thrown=exchange.code != SUCCESS and _THROWN.match(remark) is not None), str(exchange)

    # Looking up

    @cached_property
    def _places(self) -> dict[str, dict[int, StoredRecord]]:
        return {name: {record.at: record for record in log.records} for name, log in self.history.logs.items()}

    @cached_property
    def _anywhere(self) -> dict[int, StoredRecord]:
        """The records of all brokers by their places."""
        return {at: record for records in self._places.values() for at, record in records.items()}

    @cached_property
    def _largest(self) -> dict[str, int]:
        """The size in bytes of the largest record of each topic."""
        sizes: dict[str, int] = {}
        for log in self.history.logs.values():
            for record in log.records:
                sizes[record.topic] = max(record.total_size, sizes.get(record.topic, 0))
        return sizes

    def _at(self, broker: str, place: int) -> StoredRecord | None:
        return self._places.get(broker, {}).get(place)

    def _entries(self, broker: str, topic: str, queue: int) -> list[QueueEntry | None] | None:
        return self.history.entries.get(broker, {}).get((topic, queue))
