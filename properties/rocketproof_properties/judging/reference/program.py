"""Replay a program on the reference implementation and compare its responses with the target's.

The program runs on a simulated broker of the profile with the target's settings and an empty store. Places in the target's log are
translated to places in the own log. Compared are response codes, remarks and fields, routes, topics, next offsets, and every field of the
records that were read back.

Left out are values that depend on other programs (offsets in the broker's own topics) and values that two runs never share (times, hosts,
ports). Programs with concurrent clients have no single order. If only administrative requests overlap, each of their orders is compared,
otherwise the responses up to the first requests that overlap.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rocketproof_impl.broker.inspection import UPPER
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record as records
from rocketproof_profiles import Profile
from rocketproof_protocol import codes, fastjson
from rocketproof_protocol.fields import ORDER_TOPIC_CONFIG
from rocketproof_protocol.numbers import java_int, java_long, whole_number
from rocketproof_protocol.properties import CHECK_TIMES, UNIQ_KEY
from rocketproof_protocol.topics import OP_HALF_TOPIC
from rocketproof_traces.history import Event
from rocketproof_traces.history.covered import has_other_files
from rocketproof_traces.history.exchange import Exchange, places
from rocketproof_traces.stored.record import place_in_queue, place_of, records_in

from ...brokers.runs.parsed import ParsedHistory, held_millis
from ...brokers.runs.recording import body_of, is_kept
from ...brokers.runs.transport import faults
from ...programs.parts import NAME_SERVER
from ...programs.requests import UNSUPPORTED_CODE
from ...programs.settings import ALONE
from . import comparison
from .cases import SENDS
from .comparison import TIMESTAMP, FieldDifference, RecordedResponse, RunComparison, message_data, translated, within
from .dispatched import NOTHING_THERE, WITHIN, has_all, is_soon
from .following import Follower, answer_of, is_by_key
from .masks import MOVING
from .orders import Arrived, Cleaned, Item
from .readback import ReadBack
from .registered import Registered
from .searches import offset_by_time

_PATIENT: Final = 0.9
"""A held pull must wait this fraction of its timeout, as clocks differ slightly."""
_CLOCKS: Final = 2000
"""Milliseconds by which a time may differ in addition to the program's duration. The timer wheel counts seconds and may be late by one."""
_CHANGING: Final = ("update_topic", "delete_topic", "update_group", "delete_group", "commit")
_OF_LOG: Final = ("physOffset", "queueOffset", "storeHost", "propertiesText", "bornHost")
"""Fields of a message that depend on its place."""
_BORN: Final = "bornTimestamp"
OF_MOVING: Final = ("max_offset", "min_offset", "search", "earliest", "stats", "pull")
"""Requests whose responses show the content of a queue."""
_OF_CONSUMERS: Final = {"members": "consumerIdList", "lock": "lockOKMQSet"}
"""Requests of consumers that share queues, with the list in their response bodies. Its order is chance."""
_NAMESPACES: Final = {codes.REGISTER_BROKER: ORDER_TOPIC_CONFIG}
"""The namespace of a name server whose values are the response body of a request that names none."""
_WITH_BODY: Final = ("cluster", "other")
"""Requests to a name server whose response body is compared."""
ANSWER: Final = "answer"
"""The field of a difference that is only a lost response."""


@dataclass
class ReferenceReplay:
    """The reference implementation follows a history in the order of `items`. `until` and `last` belong to the follower."""

    history: ParsedHistory
    profile: Profile
    items: Sequence[Item]
    until: int | None = None
    last: bool = False

    def __post_init__(self) -> None:
        self.followed = Follower(self.history, self.profile, self.until, self.last)
        in_turn = self.history.program.needs == ALONE and not self.history.concurrent
        self.registered = Registered(self.followed.cluster.name_server, in_turn=in_turn)
        self.names = self.history.names
        self._of_others: set[int] = set()
        self._with_response: set[str] = set()
        self._lengths: dict[tuple[str, str], tuple[int, int]] = {}
        self._shown: dict[tuple[str, int], int] = {}
        """The largest end of each queue in responses to pulls, since the last restart or deletion of a topic."""
        self._by_key: list[tuple[Exchange, list[int]]] = []
        self._named = Counter(place for each in self.history.exchanges for place in each.places)
        version = str(self.history.origin.get("version", ""))
        version = version or ("5." if self.profile.name.startswith("P5") else "4.")
        self.same = RunComparison(version, 0 if self.followed.exact else None, self.history.millis + _CLOCKS)

    def compare(self) -> Iterator[FieldDifference]:
        """Yield the differences until the target's state becomes unknown; none if the start of the target's log is unknown."""
        if self.history.program.needs == ALONE and not self.followed.exact and any(fault.leaves_doubt for fault in faults(self.history)):
            return
        for item in self.items:
            if isinstance(item, Arrived):
                self.followed.arrive(item.exchange)
                continue
            if isinstance(item, Cleaned):
                self.followed.pass_to(item.millis)
                self.followed.broker.store.clean_unused_topics(self.followed.broker.topics.table)
                continue
            if isinstance(item, Exchange):
                self.followed.pass_to(item.sent_millis)
            if isinstance(item, Event) and item.op == "question":
                yield from self._questioned(item)
            elif isinstance(item, Event) and item.op == "checked":
                yield from _checked(item, self.followed.broker.settings.transaction_check_max)
            elif isinstance(item, Event) and item.op == "notified":
                yield from self._notified(item)
            elif isinstance(item, Event):
                self.followed.happen(item)
                if item.op in ("crash", "stop", "restart"):
                    self._lengths.clear()
                    self._shown.clear()
            elif item.refused:
                continue
            elif item.op == "update_topic" and has_other_files(item.fields):
                return  # the topic's state is unknown from here on
            elif item.closed != "fail":
                response = self.followed.answer(item)
                yield from self._routed(item, list(self._compared(item, response)))
                self._note_end(item)
                if self._is_unserved(item, response):
                    return
                if item.is_doubled or item.is_lost:
                    return  # the broker's state is unknown from here on
        self.followed.pass_to(self.followed.until or 0)
        yield from ReadBack(self.followed, self.same, self._of_others, self._by_key).compare()

    def _questioned(self, item: Event) -> Iterator[FieldDifference]:
        """Compare a check request for a half message: the message and its place. The order of several requests and the number of earlier
        checks are chance."""
        ours = self.followed.questions(item.value["client"])
        where = f"event {item.seq} (question)"
        if item.value["code"] is None or not ours:
            if item.value["code"] is not None or ours:
                yield FieldDifference("question", item.value["code"], codes.CHECK_TRANSACTION_STATE if ours else None, where, item.seq)
            return
        recorded = _question(item.value["fields"], body_of(item.value), self.profile)
        candidates = [_question(command.ext_fields or {}, command.body, self.profile) for command in ours]
        own = next((question for question in candidates if question.get(_BORN) == recorded.get(_BORN)), candidates[0])
        if not recorded or not own:
            yield FieldDifference("question", recorded or "no message", own or "no message", where, item.seq)
            return
        yield from within(self.same.record("", {name: recorded.get(name) for name in own}, own), where, item.seq)

    def _notified(self, item: Event) -> Iterator[FieldDifference]:
        """Compare the groups whose change the broker reported to a consumer. The number of reports is chance if several groups change at
        once."""
        ours = self.followed.notified(item.value["client"])
        if "error" not in item.value and item.value["groups"] != ours:
            yield FieldDifference("notified", item.value["groups"], ours, f"event {item.seq} (notified)", item.seq)

    def _note_end(self, exchange: Exchange) -> None:
        """Note the end of a queue that a pull has shown, and forget it if a topic may have been deleted."""
        topic, queue = exchange.fields.get("topic", ""), java_int(exchange.fields.get("queueId", ""))
        end = java_long(exchange.response_fields.get("maxOffset", "")) if exchange.op == "pull" else None
        if exchange.op == "delete_topic":
            self._shown.clear()
        elif end is not None and queue is not None:
            self._shown[topic, queue] = max(end, self._shown.get((topic, queue), 0))

    @staticmethod
    def _is_unserved(exchange: Exchange, response: Command | None) -> bool:
        """Whether the target has changed state for a request that the reference implementation does not serve."""
        refused = response is not None and response.code == codes.REQUEST_CODE_NOT_SUPPORTED
        return refused and exchange.op in _CHANGING and exchange.code == codes.SUCCESS

    def _routed(self, exchange: Exchange, differing: list[FieldDifference]) -> list[FieldDifference]:
        """Return the differences of a response. Those of a route may be by chance if the broker's own registrations explain it.

        If only one-way requests may have created a topic, no response says that it is registered. Its absence is no difference then.
        """
        topic = exchange.fields.get("topic")
        if topic is None:
            return differing
        if exchange.op != "route":
            self.registered.note(topic, self.followed.broker)
            if exchange.code == codes.SUCCESS:
                self._with_response.add(topic)
        elif differing and self.names.is_mine(topic):
            broker = self.followed.broker
            for other in self.registered.others(topic, broker):
                with self.registered.knowing(topic, broker, other):
                    if not any(self._compared(exchange, self.followed.answer(exchange))):
                        unregistered = other is None and topic not in self._with_response
                        return [] if unregistered else [replace(each, by_chance=True) for each in differing]
        return differing

    def _compared(self, exchange: Exchange, response: Command | None) -> Iterator[FieldDifference]:
        if exchange.closed == "ok":
            yield from self._answered(exchange, response)
        elif exchange.is_lost and response is not None:
            yield FieldDifference(ANSWER, exchange.outcome.get("error"), f"code {response.code}", str(exchange), exchange.seq)

    def _answered(self, exchange: Exchange, response: Command | None) -> Iterator[FieldDifference]:
        recorded = answer_of(exchange)
        held = held_millis(exchange)
        longest = whole_number(exchange.fields["suspendTimeoutMillis"]) if held is not None and recorded.code == codes.PULL_NOT_FOUND else 0
        if held is not None and held < _PATIENT * longest:
            yield FieldDifference("waits", f"{held} ms", f"{longest} ms", str(exchange), exchange.seq)
        if held is not None and recorded.code == codes.PULL_RETRY_IMMEDIATELY and self._has_waited(exchange):
            found = codes.PULL_NOT_FOUND
            yield FieldDifference("waits", recorded.code, f"{found} later, or a message", str(exchange), exchange.seq, by_chance=True)
        if response is not None and exchange.fields.get("topic") in MOVING and exchange.op in OF_MOVING:
            yield from self._moving(exchange, recorded, response)
            return
        if response is not None and exchange.op == "search":
            response = self._at_target_times(exchange, recorded, response)
        if response is not None and not self._is_comparable(exchange, recorded, response):
            return
        if response is not None and response.remark is not None:
            response = replace(response, remark=self._with_target_place(exchange, response.remark))
        if response is not None and is_by_key(exchange):
            self._by_key.append((exchange, [place_of(data) for data in records_in(response.body or b"")]))
            return
        if response is not None and recorded.code != response.code:
            late = self._may_be_late(exchange, recorded, response)
            yield FieldDifference(
                "code", [recorded.code, recorded.remark], [response.code, response.remark], str(exchange), exchange.seq, by_chance=late
            )
            if not late:
                return
            recorded = replace(recorded, code=response.code, remark=response.remark)
        in_shared_topic = response is not None and self.followed.learn(recorded.fields, response.ext_fields or {})
        times = _times(recorded.fields, (response.ext_fields or {})) if response is not None and exchange.op == "earliest" else None
        only_counted: tuple[str, ...] = ("queueOffset",) if in_shared_topic else ()
        if exchange.fields.get("queueId", "").startswith("-") and self._made_by_others(exchange):
            only_counted += ("queueId",)  # the program that created the topic set the number of queues to choose from
            self._of_others.update(places(recorded.fields))
        differences = list(self.same.answer(recorded, response, only_counted if times is None else (*only_counted, TIMESTAMP)))
        if times is not None:
            differences += self._earliest(exchange, *times)
        if (
            response is not None
            and exchange.op == "route"
            and recorded.code == codes.SUCCESS
            and self.names.is_mine(exchange.fields.get("topic", ""))
        ):
            theirs, ours = (comparison.route(data, self.names.is_mine) for data in (body_of(exchange.outcome), response.body))
            differences += comparison.values("route", theirs, ours)
            differences += self._own_address(body_of(exchange.outcome), response.body)
        if (
            response is not None
            and exchange.op == "pull"
            and is_kept(exchange.outcome)
            and self.names.is_mine(exchange.fields.get("topic", ""))
        ):
            theirs, ours = (_in_queue(data) for data in (body_of(exchange.outcome), response.body))
            differences += [FieldDifference("records", theirs, ours)] * (theirs != ours)
            if theirs == ours:  # later requests may refer to these messages
                places_there, places_here = (map(place_of, records_in(data or b"")) for data in (body_of(exchange.outcome), response.body))
                self.followed.places.update(zip(places_there, places_here, strict=True))
        if response is not None and recorded.code == codes.SUCCESS and exchange.request["to"] == NAME_SERVER and exchange.op in _WITH_BODY:
            differences += self._name_server_body(exchange, response)
        if response is not None and recorded.code == response.code == codes.SUCCESS and exchange.op in _OF_CONSUMERS:
            name = _OF_CONSUMERS[exchange.op]
            theirs, ours = (_rows(data, name) for data in (body_of(exchange.outcome), response.body))
            differences += [FieldDifference(name, theirs, ours)] * (theirs != ours)
        yield from within(differences, str(exchange), exchange.seq)

    def _has_waited(self, exchange: Exchange) -> bool:
        """Whether a pull was held while a message arrived in its topic. A message with another tag ends it only by chance, when the broker
        checks all held pulls every few seconds. The response to the pull may precede that to the send."""
        meanwhile = (each for each in self.history.exchanges if exchange.seq < each.seq < (exchange.end or 0))
        return any(each.op in ("send", "batch") and each.topic == exchange.topic and each.code == codes.SUCCESS for each in meanwhile)

    def _moving(self, exchange: Exchange, recorded: RecordedResponse, response: Command) -> Iterator[FieldDifference]:
        """Check whether a queue that all programs share became shorter than earlier in this history while the reference implementation's
        did not. Deletions by other programs can cause this, but not in a release that keeps the queue."""
        queue = exchange.fields["topic"], exchange.fields.get("queueId", "")
        theirs, ours = (java_long(fields.get("offset", "")) for fields in (recorded.fields, response.ext_fields or {}))
        if exchange.op != "max_offset" or theirs is None or ours is None:
            return
        before, after = self._lengths.get(queue, (theirs, ours))
        self._lengths[queue] = theirs, ours
        if (theirs < before) != (ours < after):
            kept = queue[0] == OP_HALF_TOPIC and self.profile.keeps_operations
            expected = f"{before} or more" if theirs < before else f"less than {before}"
            yield FieldDifference("offset", theirs, expected, str(exchange), exchange.seq, by_chance=not kept)

    def _may_be_late(self, exchange: Exchange, recorded: RecordedResponse, response: Command) -> bool:
        """Whether the target reported a flush timeout for a stored message. A release without a second check reports it for a record at the
        start of a file (HAZ-21). Messages of other programs decide where files start."""
        late = (
            recorded.code == codes.FLUSH_DISK_TIMEOUT and response.code == codes.SUCCESS and whole_number(exchange.request["code"]) in SENDS
        )
        synchronous = self.followed.broker.settings.flush_disk_type == "SYNC_FLUSH"
        return late and synchronous and not self.profile.rechecks_after_flush

    def _with_target_place(self, exchange: Exchange, remark: str) -> str:
        """Replace our place at the end of a remark by the place that the request names on the target."""
        theirs, ours = (fields.get("offset", "") for fields in (exchange.fields, translated(exchange.fields, self.followed.places)))
        return remark.removesuffix(f", {ours}") + f", {theirs}" if ours and remark.endswith(f", {ours}") else remark

    def _own_address(self, *routes: bytes | None) -> Iterator[FieldDifference]:
        """Compare the broker's own address in two routes if both contain it and its settings are known."""
        if self.followed.knows_address:
            theirs, ours = (comparison.address(data, self.followed.broker.settings.broker_name) for data in routes)
            if None not in (theirs, ours) and theirs != ours:
                yield FieldDifference("address", theirs, ours)

    def _name_server_body(self, exchange: Exchange, response: Command) -> Iterator[FieldDifference]:
        """Compare the program's own entries in a name server's response body."""
        body = body_of(exchange.outcome)
        if exchange.op == "cluster":
            theirs, ours = (comparison.clusters(data, self.names.is_mine) for data in (body, response.body))
            yield from comparison.values("clusters", theirs, ours)
        elif ORDER_TOPIC_CONFIG in (exchange.fields.get("namespace"), _NAMESPACES.get(whole_number(exchange.request["code"]))):
            theirs, ours = (comparison.listed(data, self.names.is_mine) for data in (body, response.body))
            yield from comparison.values("order topics", theirs, ours)
        else:
            ours = fastjson.loads(response.body or b"{}")
            yield from comparison.values("body", comparison.fields(body, ours), ours)

    def _earliest(self, exchange: Exchange, theirs: int, ours: int) -> Iterator[FieldDifference]:
        """Compare the time of a queue's first message with the target's store time of that message. -1 is correct for an empty queue, and
        shortly after a send, since the message may not be dispatched. A message at a place that a later one got was dropped by a start.
        """
        topic, queue = exchange.fields["topic"], whole_number(exchange.fields["queueId"])
        expected = ours
        if ours != -1:
            first = self.followed.broker.store.get_message(topic, queue, self.followed.broker.store.min_offset(topic, queue))
            place = None if first is None else next((at for at, own in self.followed.places.items() if own == first.physical_offset), None)
            sent = next(
                (each.sent_millis for each in self.history.exchanges if place in each.places),
                exchange.sent_millis,
            )
            late = theirs == -1 and exchange.sent_millis < sent + WITHIN
            replaced = sum(place in each.places for each in self.history.exchanges) > 1  # its time was not read back
            known = place in self.followed.theirs and not (late or replaced)
            expected = self.followed.theirs[place].store_timestamp if known and place is not None else theirs
        if theirs != expected and self.names.is_mine(topic):
            yield FieldDifference(TIMESTAMP, theirs, expected)

    def _at_target_times(self, exchange: Exchange, recorded: RecordedResponse, response: Command) -> Command:
        """Return the response to a search by time with the offset for the target's store times, or the recorded one if they are unknown."""
        topic, queue = exchange.fields.get("topic"), java_int(exchange.fields.get("queueId", ""))
        time = java_long(exchange.fields.get("timestamp", ""))
        if topic is None or queue is None or time is None or not {recorded.code, response.code} <= {codes.SUCCESS}:
            return response
        store, theirs = self.followed.broker.store, self.followed.theirs
        there = {own: place for place, own in self.followed.places.items() if self._named[place] < 2}  # else a later record has its place

        def stored_at(offset: int) -> int | None:
            ours = store.get_message(topic, queue, offset)
            place = -1 if ours is None else there.get(ours.physical_offset, -1)
            return theirs[place].store_timestamp if place in theirs else None

        upper = exchange.fields.get("boundaryType", "").upper() == UPPER
        bounds = self.profile.bounds_by_time
        offset = offset_by_time(store.queues.find(topic, queue), stored_at, time, bounds=bounds, upper=upper)
        known = offset is not None and self.names.is_mine(topic)
        return replace(response, ext_fields={"offset": str(offset)} if known else dict(recorded.fields))

    def _is_comparable(self, exchange: Exchange, recorded: RecordedResponse, response: Command) -> bool:
        """Whether the two responses should be equal."""
        if recorded.code != response.code and exchange.op == "route" and self._asks_again(exchange):
            return False
        if response.code == codes.REQUEST_CODE_NOT_SUPPORTED and whole_number(exchange.request["code"]) != UNSUPPORTED_CODE:
            return False  # releases serve more request codes than the reference implementation
        if exchange.op in ("max_offset", "search", *NOTHING_THERE) and self._is_not_dispatched(exchange, recorded, response):
            return False
        return not self._made_by_others(exchange) or recorded.code == response.code == codes.SUCCESS

    def _is_not_dispatched(self, exchange: Exchange, recorded: RecordedResponse, response: Command) -> bool:
        """Whether the target may not have dispatched yet what was sent just before."""
        if not is_soon(self.history, exchange):
            return False
        ours = response.ext_fields or {}
        if recorded.code != response.code:
            return recorded.code in NOTHING_THERE.get(exchange.op, ()) and not has_all(recorded.fields, ours)
        if exchange.op == "pull" and has_all(recorded.fields, ours):
            return False  # every record is dispatched
        if exchange.op == "progress":
            return False  # a group's progress is set by commits, not by dispatching
        topic, queue = exchange.fields.get("topic", ""), java_int(exchange.fields.get("queueId", ""))
        if queue is not None and self._shown.get((topic, queue), -1) >= self.followed.broker.store.max_offset(topic, queue):
            return False  # an earlier pull has shown every record
        return any(_is_less(theirs, ours.get(name, "0")) for name, theirs in recorded.fields.items())

    def _made_by_others(self, exchange: Exchange) -> bool:
        """Whether another program may have created the topic: system topics, and all topics without prefix if names are not checked. A send
        to a forbidden topic is rejected in any case, since the broker creates such a topic itself."""
        topic = exchange.fields.get("topic", "")
        if self.names.is_mine(topic) or topic in self.followed.first:
            return False
        forbidden = whole_number(exchange.request["code"]) in SENDS and topic in self.profile.forbidden
        return not self.profile.check_names or (self.names.is_shared(topic) and not forbidden)

    def _asks_again(self, exchange: Exchange) -> bool:
        """Whether the same client requests the same route next."""
        later = next((each for each in self.history.exchanges if each.seq > exchange.seq and each.process == exchange.process), None)
        return later is not None and later.op == "route" and later.fields == exchange.fields


def _checked(item: Event, most_checks: int) -> Iterator[FieldDifference]:
    """Compare how far the check of half messages has progressed, and how often it checked a message (TRX-05). It had time to reach the
    earlier lengths of its queues and cannot exceed their current lengths."""
    for times in item.value.get("asked", ()):
        if not 0 < (java_int(times) or 0) <= most_checks:
            yield FieldDifference("checked", times, f"between 1 and {most_checks}", f"event {item.seq} (checked)", item.seq)
    for topic, offset in item.value.get("reached", {}).items():
        least, most = item.value["before"][topic], item.value["after"][topic]
        if least is not None and most is not None and not least <= (offset or 0) <= most:
            yield FieldDifference("checked", [topic, offset], f"at least {least}, at most {most}", f"event {item.seq} (checked)", item.seq)


def _is_less(theirs: str, ours: str) -> bool:
    """Whether both are numbers, and the first is smaller."""
    actual, expected = java_long(theirs), java_long(ours)
    return actual is not None and expected is not None and actual < expected


def _rows(data: bytes | None, name: str) -> list[str] | None:
    """Return the sorted rows of a list in a JSON body as texts; None without such a list."""
    try:
        body = fastjson.loads(data or b"")
    except ValueError:
        return None
    rows = body.get(name) if isinstance(body, dict) else None
    return sorted(json.dumps(row, sort_keys=True) for row in rows) if isinstance(rows, list) else None


def _in_queue(data: bytes | None) -> list[int]:
    """Return the queue offsets of the records in a pull's response."""
    return [place_in_queue(record) for record in records_in(data or b"")]


def _question(fields: Mapping[str, str], body: bytes | None, profile: Profile) -> dict[str, Any]:
    """Return the message of a check request without fields that only its own log determines. References between those fields are reduced to
    whether they agree. Empty if the body is not a message."""
    message = records.decode(body or b"", exact=profile.exact_properties, hosts_by_flag=profile.hosts_by_flag)
    if message is None:
        return {}
    times, place = message.properties.pop(CHECK_TIMES, ""), str(message.physical_offset)
    fields_shared = {name: value for name, value in message_data(message).items() if name not in _OF_LOG}
    return fields_shared | {
        "body": message.body,
        "counts": (java_int(times) or 0) > 0,
        **{name: fields.get(name) == message.properties.get(UNIQ_KEY) for name in ("msgId", "transactionId")},
        "commitLogOffset": fields.get("commitLogOffset") == place,
        "tranStateTableOffset": fields.get("tranStateTableOffset") == str(message.queue_offset),
    }


def _times(recorded: Mapping[str, str], found: Mapping[str, str]) -> tuple[int, int] | None:
    """Return both store times of a queue's first message, None unless both responses have one."""
    try:
        return whole_number(recorded[TIMESTAMP]), whole_number(found[TIMESTAMP])
    except (KeyError, ValueError):
        return None
