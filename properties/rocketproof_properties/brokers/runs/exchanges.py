"""The one way from events to exchanges: a parsed history becomes the `History` that the catalogue's claims read.

Where stores could be looked at, they say what each request stored. Elsewhere records are those that were read back; which request made
which is known by the id in its answer, or by the message's time of birth, which no two requests share.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.stored.record import LogRecords, StoredRecord, read_log, record_at

from ...catalogue.history import OK, BrokerRequest, History, QueueEntry, Response, Routes, StoredExchange, TopicEvent, WaitedProducer
from ...catalogue.stored import settings
from ...programs.requests import batch_items
from .client import places
from .parsed import Other, ParsedHistory
from .recording import body_of
from .sendbacks import choose, groups_of
from .transport import is_lost

KINDS: Final = ("send", "batch", "send_back", "end_transaction")
TURNS: Final = ("created", "routed", "unrouted", "used", "known", "forgotten")
"""What may become of a topic."""
_SOON: Final = 1000
"""Milliseconds between two rounds of checks, at most, where a producer waits long enough to be asked."""
_SETTLING: Final = ("end_transaction", "delete_topic", "delete_group", "hang_up", "disconnect", "crash")
"""What may leave a broker with nobody to ask, or nothing to ask about."""
_STRANGE = -1  # the opaque of an answer that nobody asked for


@dataclass
class Rebuilt:
    """`whole` has all records that were read back, `own` those in the program's own topics, whose queues begin at 0.

    `viewed`: whether the broker gives records out by their place, or says that there are none; `pulled`: whether all records of all queues
    are known, and `kept`: whether all of them are in the history; `lost`: whether a broker has ended and has not all that it acknowledged.
    """

    whole: History
    own: History
    viewed: bool
    pulled: bool
    kept: bool = True
    lost: bool = False


def history_of_stores(parsed: ParsedHistory, profile: Profile) -> History:
    """The history of one program on a deployment whose stores can be looked at: what its `state` events say."""
    stores = {who: value for who, op, value in parsed.looks if op == "store"}
    stored = {seq: places for value in stores.values() for seq, places in value["stored"].items()}
    served = {value["of"]: value for _, op, value in parsed.looks if op == "served"}
    found = History(limits_record=profile.limits_record, early_batches=settings(profile.name)["early_batches"])
    found.routes += [Routes(value["queues"], value["addresses"]) for _, op, value in parsed.looks if op == "routes"]
    for asked in parsed.asked:
        exchange = _exchanged(asked, stored.get(asked.seq, ()))
        seen = served.get(asked.seq, {})
        retries = seen.get("retries")
        exchange.retries, exchange.queues = RETRY_MAX_TIMES if retries is None else retries, seen.get("queues")
        found.exchanges.append(exchange)
    for _, value in parsed.strays:
        found.exchanges[-1].answers.append(_answer(value, _STRANGE))
    for who, value in stores.items():
        found.logs[who] = read_log(value["log"], value["file_size"], value["end"], hosts_by_flag=profile.hosts_by_flag)
        found.entries[who] = {key: [each and QueueEntry(*each) for each in entries] for key, entries in value["entries"].items()}
        found.next_offsets[who], found.counts[who] = value["next_offsets"], value["counts"]
        found.max_message_size, found.end = value["longest"], value["at"]
    found.waited = list(waited(parsed, profile))
    found.events = [TopicEvent(v["at"], op, v["topic"], v["who"], v["by"]) for _, op, v in parsed.looks if op in TURNS]
    return found


def _exchanged(asked: Exchange, stored: tuple[int, ...]) -> StoredExchange:
    """The request with its answers and records."""
    answers = [_answer(value, asked.seq) for value in ([asked.outcome] if asked.closed == "ok" else []) + asked.strays]
    timed_out = "TimedOut" in str(asked.outcome.get("error", ""))
    return StoredExchange(
        asked.request["to"], request_of(asked), whole_number(asked.request.get("at", 0)), answers, asked.closed == "ok" or timed_out, stored
    )


def rebuild(parsed: ParsedHistory, profile: Profile) -> Rebuilt:
    """The history of one program on a broker of this profile."""
    return _Rebuilding(parsed, profile).result()


@dataclass
class _Rebuilding:
    parsed: ParsedHistory
    profile: Profile
    counts: dict[str, tuple[int, int] | None] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        by_flag = self.profile.hosts_by_flag
        found = (record_at(data, at, hosts_by_flag=by_flag) for at, data in sorted(self.parsed.records.items()))
        self.records = [record for record in found if record is not None]
        self.by_place = {record.at: record for record in self.records}
        rows = self.parsed.states.get("records", {}).get("records", ())
        self.unread = {whole_number(row["at"]) for row in rows if "data" not in row}
        self.acknowledged = {place for one in self.parsed.asked if one.code in OK for place in places(one.outcome.get("fields") or {})}
        self.stored: dict[int, tuple[int, ...]] = {}
        self.requests = {one.seq: request_of(one) for one in self.parsed.asked}
        named = (self.requests[one.seq].group for one in self.parsed.asked)
        self.groups = {one.seq: group for one, group in zip(self.parsed.asked, groups_of(self.parsed.asked, named), strict=True)}
        changed = {one.fields.get("topic") for one in self.parsed.asked if one.op in ("update_topic", "delete_topic")}
        for name, config in (self.parsed.states.get("topics", {}).get("topics") or {}).items():
            if name not in changed:
                self.counts[name] = whole_number(config["readQueueNums"]), whole_number(config["writeQueueNums"])

    def result(self) -> Rebuilt:
        broker = self.parsed.broker
        self._attribute()
        exchanges = [one for asked in self.parsed.asked if asked.closed != "fail" and (one := self._exchange(asked)) is not None]
        for _, value in self.parsed.strays:
            if exchanges:
                exchanges[-1].answers.append(_answer(value, _STRANGE))
        size = whole_number(self.parsed.settings.get("mappedFileSizeCommitLog", 1 << 30))
        limit = whole_number(self.parsed.settings.get("maxMessageSize", 4 << 20))
        queues = self.parsed.states.get("queues", {})
        whole = History(exchanges, {broker: self._log(self.records, size)}, max_message_size=limit, routes=list(self._routes()))
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
        return Rebuilt(whole, own, bool(self.records) or bool(self.unread) or lost, bool(queues.get("pulled")), not self.unread, lost)

    def _attribute(self) -> None:
        """Who succeeded has the first choice of records."""
        for failed in (False, True):
            alike = [one for one in self.parsed.asked if (one.code not in (None, *OK)) is failed]
            for asked_for in (True, False):
                for asked in alike:
                    if not self.stored.get(asked.seq):
                        self.stored[asked.seq] = self._stored(asked, asked_for) if asked.closed != "fail" else ()

    @staticmethod
    def _log(records: list[StoredRecord], size: int) -> LogRecords:
        return LogRecords(size, records[-1].end if records else 0, records)

    def _entries(self, found: list[int], end: int) -> list[QueueEntry | None]:
        known = [QueueEntry(at, self.by_place[at].total_size) if at in self.by_place else None for at in found]
        return [*known, *([None] * (end - len(known)))]

    def _exchange(self, asked: Exchange) -> StoredExchange | None:
        """The request with its answers and records; None for one whose records are too long to be kept."""
        exchange = _exchanged(asked, self.stored[asked.seq])
        exchange.broker = self.parsed.broker
        request = exchange.request
        if request.kind == "send_back" and not exchange.stored and not self._visible(request):
            exchange.request = replace(request, kind="other")
        if self.unread.intersection(exchange.stored):
            return None
        exchange.retries = self.groups[asked.seq].retries
        exchange.queues = self.counts.get(request.topic)
        self._note(asked)
        return exchange

    def _note(self, asked: Exchange) -> None:
        """What an administrator has changed, or may have."""
        if is_lost(asked) and asked.op in ("update_topic", "delete_topic"):
            self.counts[asked.fields.get("topic", "")] = None
        if asked.code != codes.SUCCESS:
            return
        if asked.op == "update_topic":
            read, write = (java_int(asked.fields.get(name, "")) for name in ("readQueueNums", "writeQueueNums"))
            # 4.5.2 answers before it has looked
            self.counts[asked.fields["topic"]] = None if read is None or write is None else (read, write)
        elif asked.op == "delete_topic":
            self.counts[asked.fields["topic"]] = None

    def _stored(self, asked: Exchange, asked_for: bool) -> tuple[int, ...]:
        """The places of its records; with `asked_for`, of a send-back only of what it asks for."""
        request = self.requests[asked.seq]
        if asked.op in ("send", "batch") and asked.code in OK:
            return tuple(at for at in places(asked.outcome.get("fields") or {}) if at in self.by_place or at in self.unread)
        free = (record for record in self.records if record.at not in self.acknowledged and record.at not in self.taken)
        found: tuple[int, ...] = ()
        if asked.op in ("send", "batch") and not asked_for:
            born = java_long(asked.fields.get("bornTimestamp", ""))
            found = tuple(islice((r.at for r in free if r.born_timestamp == born), max(1, len(request.bodies))))
        elif asked.op == "send_back" and (before := self.by_place.get(request.offset)) is not None:
            chosen = choose(request, self.groups[asked.seq], before, ((one.at, one) for one in free), asked=asked_for)
            found = () if chosen is None else (chosen,)
        self.taken |= set(found)
        return found

    def _visible(self, request: BrokerRequest) -> bool:
        """Whether the record that a send-back makes can be read back: one that is prepared is in no queue."""
        before = self.by_place.get(request.offset)
        return before is not None and before.counted and bool(self.parsed.states.get("queues", {}).get("pulled"))

    def _routes(self) -> Iterator[Routes]:
        for asked in self.parsed.asked:
            if asked.op == "route" and asked.code == codes.SUCCESS:
                try:
                    data = fastjson.loads(body_of(asked.outcome) or b"{}")
                    queues = {asked.fields["topic"]: tuple(str(row["brokerName"]) for row in data["queueDatas"])}
                    brokers = {
                        str(b["brokerName"]): {whole_number(i): str(a) for i, a in b["brokerAddrs"].items()} for b in data["brokerDatas"]
                    }
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue
                yield Routes(queues, brokers)


def waited(parsed: ParsedHistory, profile: Profile) -> Iterator[WaitedProducer]:
    """Who waited to be asked about half messages, as far as nothing before may have settled them: the first time of a program."""
    groups: dict[str, set[str]] = {}
    halves: list[tuple[str, str]] = []
    for item in parsed.items if profile.half_messages else ():
        if item.op in _SETTLING:
            return
        if isinstance(item, Other) and item.op == "question":
            client = str(item.value["client"])
            mine = {group for group, clients in groups.items() if clients == {client}}
            if "error" not in item.value:
                yield WaitedProducer(client, tuple(topic for topic, group in halves if group in mine), item.value["code"] is not None)
            return
        if isinstance(item, Exchange) and item.op == "heartbeat":
            for group in _producers(item):
                groups.setdefault(group, set()).add(item.process)
        if isinstance(item, Exchange) and item.op == "send" and item.code in OK:
            request = request_of(item)
            if is_checked(request) and request.properties.get(PGROUP, "") in groups:
                halves.append((request.topic, request.properties[PGROUP]))


def is_checked(request: BrokerRequest) -> bool:
    """Whether a send makes a half message that is asked about at once: one with a body, and for no other time, nor to be retried."""
    named = request.properties
    later = any(name in (DELAY, CHECK_IMMUNITY_TIME_IN_SECONDS) or name.startswith("TIMER_") for name in named)
    plain = not later and not request.topic.startswith(RETRY_PREFIX) and any(request.bodies)
    return request.kind == "send" and named.get(TRAN_MSG, "").lower() == "true" and plain


def _producers(heartbeat: Exchange) -> list[str]:
    """The groups of the producers that are there; none for a body that cannot be read."""
    try:
        return [str(one["groupName"]) for one in _json(heartbeat)["producerDataSet"]]
    except (ValueError, TypeError, KeyError):
        return []


def _json(asked: Exchange) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body_of(asked.request) or b"{}")
    return found


def _answer(value: Mapping[str, Any], opaque: int) -> Response:
    return Response(whole_number(value["code"]), opaque, value.get("remark"), value.get("fields") or {})


def request_of(asked: Exchange) -> BrokerRequest:
    """The request as the claims read it; what does not fit has its default."""
    fields = asked.fields
    kind = asked.op if asked.op in KINDS else "other"
    topic = fields.get("topic", "") if kind in ("send", "batch") else ""
    group = topic.removeprefix(RETRY_PREFIX) if topic.startswith(RETRY_PREFIX) else fields.get("group", "")
    most = fields.get("maxReconsumeTimes")
    body = body_of(asked.request)
    return BrokerRequest(
        kind,
        asked.seq,
        asked.one_way,
        topic,
        group,
        _number(fields.get("queueId")),
        _number(fields.get("sysFlag")),
        parse_properties(fields.get("properties"), exact=False),
        tuple(one for one, _ in batch_items(body or b"")) if kind == "batch" else (body,),
        _number(fields.get("reconsumeTimes")),
        None if most is None else java_int(most),
        whole_number(asked.request["version"]),
        _number(fields.get("delayLevel")),
        _number(fields.get("offset")),
    )


def _number(text: str | None) -> int:
    return java_long(text or "") or 0
