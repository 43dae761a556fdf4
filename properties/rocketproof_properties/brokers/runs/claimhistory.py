"""Turns a parsed history into the `History` that the catalogue's claims read: each request with the records it stored.

If the stores could be read, they state what each request stored. Otherwise the records are those that were read back. A record is assigned
to its request by the id in the response, or by the message's born timestamp, which is unique.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from rocketproof_impl.message import parse_properties
from rocketproof_profiles import Profile
from rocketproof_protocol import codes, fastjson
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import java_int, java_long, whole_number
from rocketproof_protocol.properties import CHECK_IMMUNITY_TIME_IN_SECONDS, DELAY, PGROUP, TRAN_MSG
from rocketproof_protocol.topics import RETRY_PREFIX
from rocketproof_spec.bounds import DELAYS_TEXT, delays_of
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.stored.record import LogRecords, StoredRecord, read_log, record_at

from ...catalogue.history import OK, BrokerRequest, History, QueueEntry, Response, Routes, StoredExchange, TopicEvent, WaitedProducer
from ...catalogue.promisereading import producers_of
from ...catalogue.stored import settings
from ...programs.requests import batch_items
from .parsed import ParsedHistory
from .recording import body_of
from .sendbacks import choose, groups_of

KINDS: Final = ("send", "batch", "send_back", "end_transaction")
TURNS: Final = ("created", "routed", "unrouted", "used", "known", "forgotten")
"""Changes of a topic."""
_SOON: Final = 1000
"""The maximum interval of transaction checks in ms for which a producer waits long enough to be asked."""
_SETTLING: Final = ("end_transaction", "delete_topic", "delete_group", "hang_up", "disconnect", "crash")
"""Events after which a broker may have no producer to ask, or no half message to ask about."""
_STRANGE = -1  # the opaque of a response without a request


@dataclass
class ClaimHistories:
    """The histories of a program. `whole` has all records that were read back, `own` only those in the program's own topics, whose queues
    start at 0.

    - `viewed`: the broker returns records by their place, or reports that there are none.
    - `pulled`: all records of all queues are known.
    - `complete`: all of these are in the history.
    - `lost`: a broker was killed and does not have all acknowledged messages.
    """

    whole: History
    own: History
    viewed: bool
    pulled: bool
    complete: bool = True
    lost: bool = False


def history_of_stores(parsed: ParsedHistory, profile: Profile) -> History:
    """Return the history of one program on a deployment whose stores can be read, from its `state` events."""
    stores = {report.process: report.value for report in parsed.reports if report.op == "store"}
    stored = {seq: places for value in stores.values() for seq, places in value["stored"].items()}
    served = {report.value["of"]: report.value for report in parsed.reports if report.op == "served"}
    history = History(
        limits_record=profile.limits_record, early_batches=settings(profile.name)["early_batches"], recorded=parsed.recorded, delays=None
    )
    history.routes += [Routes(report.value["queues"], report.value["addresses"]) for report in parsed.reports if report.op == "routes"]
    for request in parsed.exchanges:
        exchange = _exchanged(request, stored.get(request.seq, ()))
        seen = served.get(request.seq, {})
        retries = seen.get("retries")
        exchange.retries, exchange.queues = RETRY_MAX_TIMES if retries is None else retries, seen.get("queues")
        history.exchanges.append(exchange)
    for stray in parsed.strays:
        history.exchanges[-1].answers.append(_answer(stray.value, _STRANGE))
    for who, value in stores.items():
        history.logs[who] = read_log(value["log"], value["file_size"], value["end"], hosts_by_flag=profile.hosts_by_flag)
        history.entries[who] = {key: [entry and QueueEntry(*entry) for entry in entries] for key, entries in value["entries"].items()}
        history.next_offsets[who], history.counts[who] = value["next_offsets"], value["counts"]
        history.max_message_size, history.end = value["longest"], value["at"]
    history.waited = list(waited(parsed, profile))
    history.events = [
        TopicEvent(report.value["at"], report.op, report.value["topic"], report.value["who"], report.value["by"])
        for report in parsed.reports
        if report.op in TURNS
    ]
    return history


def _exchanged(request: Exchange, stored: tuple[int, ...]) -> StoredExchange:
    """Return the request with its responses and records."""
    answers = [_answer(value, request.seq) for value in ([request.outcome] if request.closed == "ok" else []) + request.strays]
    timed_out = "TimedOut" in str(request.outcome.get("error", ""))
    return StoredExchange(
        request.request["to"],
        request_of(request),
        whole_number(request.request.get("at", 0)),
        answers,
        request.closed == "ok" or timed_out,
        stored,
    )


def claim_histories(parsed: ParsedHistory, profile: Profile) -> ClaimHistories:
    """Return the history of one program on a broker of this profile."""
    return _Assignment(parsed, profile).result()


@dataclass
class _Assignment:
    parsed: ParsedHistory
    profile: Profile
    counts: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        by_flag = self.profile.hosts_by_flag
        decoded = (record_at(data, at, hosts_by_flag=by_flag) for at, data in sorted(self.parsed.records.items()))
        self.records = [record for record in decoded if record is not None]
        self.by_place = {record.at: record for record in self.records}
        rows = self.parsed.states.get("records", {}).get("records", ())
        self.unread = {whole_number(row["at"]) for row in rows if "data" not in row}
        self.acknowledged = {place for request in self.parsed.exchanges if request.code in OK for place in request.places}
        self.stored: dict[int, tuple[int, ...]] = {}
        self.requests = {request.seq: request_of(request) for request in self.parsed.exchanges}
        named = (self.requests[request.seq].group for request in self.parsed.exchanges)
        self.groups = {
            request.seq: group for request, group in zip(self.parsed.exchanges, groups_of(self.parsed.exchanges, named), strict=True)
        }
        self.changes = [request for request in self.parsed.exchanges if request.op in ("update_topic", "delete_topic")]
        changed = {request.fields.get("topic") for request in self.changes}
        for name, config in (self.parsed.states.get("topics", {}).get("topics") or {}).items():
            if name not in changed:
                self.counts[name] = whole_number(config["readQueueNums"]), whole_number(config["writeQueueNums"])

    def result(self) -> ClaimHistories:
        broker = self.parsed.broker
        self._assign_records()
        exchanges = [
            exchange for asked in self.parsed.exchanges if asked.closed != "fail" and (exchange := self._exchange(asked)) is not None
        ]
        for stray in self.parsed.strays:
            if exchanges:
                exchanges[-1].answers.append(_answer(stray.value, _STRANGE))
        size = whole_number(self.parsed.settings.get("mappedFileSizeCommitLog", 1 << 30))
        limit = whole_number(self.parsed.settings.get("maxMessageSize", 4 << 20))
        queues = self.parsed.states.get("queues", {})
        whole = History(exchanges, {broker: self._log(self.records, size)}, max_message_size=limit, routes=list(self._routes()))
        whole.recorded, whole.delays = self.parsed.recorded, delays(self.parsed)
        whole.timers = whole.delays is not None and self.profile.timers and self.parsed.settings.get("timerWheelEnable") == "true"
        if whole_number(self.parsed.settings.get("transactionCheckInterval", 60_000)) <= _SOON:
            whole.waited = list(waited(self.parsed, self.profile))
        whole.limits_record, whole.early_batches = self.profile.limits_record, settings(self.profile.name)["early_batches"]
        whole.entries[broker] = {(topic, queue): self._entries(found, end) for topic, queue, end, found in queues.get("queues", ())}
        whole.next_offsets[broker] = {f"{topic}-{queue}": end for topic, queue, end, _ in queues.get("queues", ())}
        names, gone = self.parsed.names, self.parsed.deleted
        own = replace(whole, logs={broker: self._log([r for r in self.records if names.is_mine(r.topic) and r.topic not in gone], size)})
        own.entries = {broker: {key: found for key, found in whole.entries[broker].items() if key[0] not in gone}}
        own.next_offsets = {broker: {key: end for key, end in whole.next_offsets[broker].items() if key.rpartition("-")[0] not in gone}}
        lost = self.parsed.ended and bool(self.parsed.states.get("records", {}).get("nowhere"))
        return ClaimHistories(
            whole, own, bool(self.records) or bool(self.unread) or lost, bool(queues.get("pulled")), not self.unread, lost
        )

    def _assign_records(self) -> None:
        """Assign records to requests. Successful requests choose first."""
        for failed in (False, True):
            group = [request for request in self.parsed.exchanges if (request.code not in (None, *OK)) is failed]
            for asked_for in (True, False):
                for request in group:
                    if not self.stored.get(request.seq):
                        self.stored[request.seq] = self._stored(request, asked_for) if request.closed != "fail" else ()

    @staticmethod
    def _log(records: list[StoredRecord], size: int) -> LogRecords:
        return LogRecords(size, records[-1].end if records else 0, records)

    def _entries(self, places: list[int], end: int) -> list[QueueEntry | None]:
        known = [QueueEntry(at, self.by_place[at].total_size) if at in self.by_place else None for at in places]
        return [*known, *([None] * (end - len(known)))]

    def _exchange(self, parsed: Exchange) -> StoredExchange | None:
        """Return the request with its responses and records; None if its records are too long to be kept."""
        exchange = _exchanged(parsed, self.stored[parsed.seq])
        exchange.broker = self.parsed.broker
        request = exchange.request
        if request.kind == "send_back" and not exchange.stored and not self._visible(request):
            exchange.request = replace(request, kind="other")
        if self.unread.intersection(exchange.stored):
            return None
        exchange.retries = self.groups[parsed.seq].retries
        exchange.queues = None if self._is_changed_meanwhile(parsed) else self.counts.get(request.topic)
        self._note(parsed)
        return exchange

    def _is_changed_meanwhile(self, request: Exchange) -> bool:
        """Return whether another client changed or deleted the request's topic between the request and its response."""
        return any(True for _ in self._changes_during(request))

    def _changes_during(self, request: Exchange) -> Iterator[Exchange]:
        """Yield the other changes and deletions of the request's topic that overlap the request."""
        for change in self.changes:
            begins_before_end = request.end is None or change.seq < request.end
            ends_after_begin = change.end is None or change.end > request.seq
            if (
                change is not request
                and change.fields.get("topic") == request.fields.get("topic")
                and begins_before_end
                and ends_after_begin
            ):
                yield change

    def _note(self, request: Exchange) -> None:
        """Track topics that an administrator has changed, or may have changed."""
        if request.is_lost and request.op in ("update_topic", "delete_topic"):
            self.counts[request.fields.get("topic", "")] = None
        if request.code != codes.SUCCESS:
            return
        if request.op == "update_topic":
            self.counts[request.fields["topic"]] = self._largest([request, *self._changes_during(request)])
        elif request.op == "delete_topic":
            self.counts[request.fields["topic"]] = None

    @staticmethod
    def _largest(changes: Iterable[Exchange]) -> tuple[int, int] | None:
        """Return the largest read and write counts that overlapping changes may leave; None if a topic may have other counts or none."""
        counts: list[tuple[int, int]] = []
        for change in changes:
            if change.code not in (codes.SUCCESS, None):
                continue
            read, write = (java_int(change.fields.get(name, "")) for name in ("readQueueNums", "writeQueueNums"))
            # 4.5.2 answers before it validates the request
            if change.code is None or change.op == "delete_topic" or read is None or write is None:
                return None
            counts.append((read, write))
        return max(read for read, _ in counts), max(write for _, write in counts)

    def _stored(self, asked: Exchange, asked_for: bool) -> tuple[int, ...]:
        """Return the places of the request's records. With `asked_for`, a send-back takes only a record that it asks for."""
        request = self.requests[asked.seq]
        if asked.op in ("send", "batch") and asked.code in OK:
            return tuple(at for at in asked.places if at in self.by_place or at in self.unread)
        free = (record for record in self.records if record.at not in self.acknowledged and record.at not in self.taken)
        stored: tuple[int, ...] = ()
        if asked.op in ("send", "batch") and not asked_for:
            born = java_long(asked.fields.get("bornTimestamp", ""))
            stored = tuple(islice((r.at for r in free if r.born_timestamp == born), max(1, len(request.bodies))))
        elif asked.op == "send_back" and (before := self.by_place.get(request.offset)) is not None:
            chosen = choose(request, self.groups[asked.seq], before, ((candidate.at, candidate) for candidate in free), asked=asked_for)
            stored = () if chosen is None else (chosen,)
        self.taken |= set(stored)
        return stored

    def _visible(self, request: BrokerRequest) -> bool:
        """Return whether the record of a send-back can be read back: a prepared record is in no queue."""
        before = self.by_place.get(request.offset)
        return before is not None and before.counted and bool(self.parsed.states.get("queues", {}).get("pulled"))

    def _routes(self) -> Iterator[Routes]:
        for request in self.parsed.exchanges:
            if request.op == "route" and request.code == codes.SUCCESS:
                try:
                    data = fastjson.loads(body_of(request.outcome) or b"{}")
                    queues = {request.fields["topic"]: tuple(str(row["brokerName"]) for row in data["queueDatas"])}
                    brokers = {
                        str(b["brokerName"]): {whole_number(i): str(a) for i, a in b["brokerAddrs"].items()} for b in data["brokerDatas"]
                    }
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue
                yield Routes(queues, brokers)


def delays(parsed: ParsedHistory) -> tuple[int, ...] | None:
    """Return the delay of each level in ms; None if the setting is malformed, or a request may have changed a setting."""
    if any(request.request.get("code") == codes.UPDATE_BROKER_CONFIG for request in parsed.exchanges):
        return None
    try:
        return delays_of(str(parsed.settings.get("messageDelayLevel", DELAYS_TEXT)))
    except (KeyError, ValueError):
        return None


def waited(parsed: ParsedHistory, profile: Profile) -> Iterator[WaitedProducer]:
    """Yield the first producer of a program that waited for a check of half messages, unless an earlier event may have settled them."""
    groups: dict[str, set[str]] = {}
    halves: list[tuple[str, str]] = []
    for item in parsed.items if profile.half_messages else ():
        if item.op in _SETTLING:
            return
        if isinstance(item, Event) and item.op == "question":
            client = str(item.value["client"])
            mine = {group for group, clients in groups.items() if clients == {client}}
            if "error" not in item.value:
                yield WaitedProducer(client, tuple(topic for topic, group in halves if group in mine), item.value["code"] is not None)
            return
        if isinstance(item, Exchange) and item.op == "heartbeat":
            for group in producers_of(item):
                groups.setdefault(group, set()).add(item.process)
        if isinstance(item, Exchange) and item.op == "send" and item.code in OK:
            request = request_of(item)
            if is_checked(request) and request.properties.get(PGROUP, "") in groups:
                halves.append((request.topic, request.properties[PGROUP]))


def is_checked(request: BrokerRequest) -> bool:
    """Return whether a send makes a half message that is checked at once: it has a body, no delivery time, and is no retry."""
    named = request.properties
    later = any(name in (DELAY, CHECK_IMMUNITY_TIME_IN_SECONDS) or name.startswith("TIMER_") for name in named)
    plain = not later and not request.topic.startswith(RETRY_PREFIX) and any(request.bodies)
    return request.kind == "send" and named.get(TRAN_MSG, "").lower() == "true" and plain


def _answer(value: Mapping[str, Any], opaque: int) -> Response:
    return Response(whole_number(value["code"]), opaque, value.get("remark"), value.get("fields") or {})


def request_of(request: Exchange) -> BrokerRequest:
    """Return the request as the claims read it. Invalid fields have their defaults."""
    fields = request.fields
    kind = request.op if request.op in KINDS else "other"
    topic = fields.get("topic", "") if kind in ("send", "batch") else ""
    group = topic.removeprefix(RETRY_PREFIX) if topic.startswith(RETRY_PREFIX) else fields.get("group", "")
    most = fields.get("maxReconsumeTimes")
    body = body_of(request.request)
    items = list(batch_items(body or b"")) if kind == "batch" else []
    return BrokerRequest(
        kind,
        request.seq,
        request.one_way,
        topic,
        group,
        _number(fields.get("queueId")),
        _number(fields.get("sysFlag")),
        parse_properties(fields.get("properties"), exact=False),
        tuple(text for text, _ in items) if kind == "batch" else (body,),
        _number(fields.get("reconsumeTimes")),
        None if most is None else java_int(most),
        whole_number(request.request["version"]),
        _number(fields.get("delayLevel")),
        _number(fields.get("offset")),
        tuple(parse_properties(text.decode("utf-8", "replace"), exact=False) for _, text in items),
        _number(fields.get("flag")),
        _number(fields.get("bornTimestamp")),
    )


def _number(text: str | None) -> int:
    return java_long(text or "") or 0
