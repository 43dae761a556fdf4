"""A part whose records may lie elsewhere than their requests ask for: on a delay level, among half messages, in a retry topic, among dead
letters. The steps of its requests are the specification's (`specification/placed.py`); here is what they depend on of what others asked.

A request that names a record (a send-back, the end of a transaction) knows it by an answer. Where none told of it before the request
began, both sides are possible, as they are for a group whose limit nobody recorded. What the broker stores later by itself (a delivered
message, a retry) may come at any time after the request that it is for. The queues of delay levels and of half messages are those of all
clients of the broker, and the check puts half messages again: what others have stored there may come at any time (`Filled`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from rocketproof_model.language import JAVA_INT
from rocketproof_profiles import classify, java_length
from rocketproof_protocol.codes import (
    REQUEST_CODE_NOT_SUPPORTED,
    SERVICE_NOT_AVAILABLE,
    SLAVE_NOT_AVAILABLE,
    SUCCESS,
    SYSTEM_ERROR,
)
from rocketproof_protocol.groups import RETRY_MAX_TIMES, SYSTEM_GROUP_PREFIX, SYSTEM_GROUPS
from rocketproof_protocol.numbers import java_boolean
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_spec.bounds import DELAY_LEVELS, NAMES_LIMIT
from rocketproof_spec.committing import NO_OFFSET

from ..history.cases import BATCHES, COUNTED, STATUSES, UNREADABLE, decodes_send_back
from ..history.exchange import Exchange
from ..history.exchanges import PROGRESS, SENDS
from .administered import Committed, RefusedRequest, Regrouped, TopicDeletion
from .left_out import BUSY, LONG_RETRIES, is_busy, is_refused_late, is_rejected, reason
from .looks import OffsetQuery
from .part import ClaimedOffsets, PartChecker, last_of
from .places import are_read, forgets, is_in, named, numbers, place_of
from .sends import Claims, Send, SendResponse
from .steps import CheckedRequest, Local
from .unasked import Filled, Remembered
from .ways import (
    REGROUPS,
    AnsweredRecord,
    Values,
    back_of,
    committed_to,
    destination_of,
    ended_kind,
    flaws_of_back,
    is_half,
    is_letter,
    is_timed,
    records_of,
    subject_of,
    way_of,
    ways_of,
)

SIDES = tuple({"named": True, "version": NAMES_LIMIT, "requested": limit} for limit in (JAVA_INT[1], JAVA_INT[0]))
"""Limits of retries that no message comes to, and that every message has come to: for a group whose limit nobody recorded."""
NOT_THERE = "not exist"
"""What a send-back is told that found no retry topic, because its wait for the lock timed out (BACK-07)."""
COMMON = (SCHEDULE, HALF_TOPIC, WHEEL_TIMER_TOPIC)
"""Topics whose queues all clients of a broker fill, and the check of half messages."""
UNTOLD = "ends of transactions that nobody recorded"
OTHERS = "offsets of groups of which others may have told"
_OF_AN_END = frozenset({"producerGroup", "tranStateTableOffset", "commitLogOffset", "commitOrRollback", "msgId"})
"""The fields that the end of a transaction needs."""


@dataclass
class PlacedChecker(PartChecker):
    """A part whose records may lie elsewhere, and the machine that it is judged with. `auto_groups`: a look-up makes a group."""

    auto_groups: bool = True

    def _is_placed(self) -> bool:
        return True

    def _names(self) -> list[str]:
        groups = [subject_of(one) or "" for one in self.part.asked if one.op in REGROUPS]
        half = [one.topic for one in self.part.asked if one.op == "end_transaction"]
        return [*super()._names(), *groups, *([HALF_TOPIC] if half else [])]

    def _queues(self) -> list[int]:
        told = (one.group() for one in self.part.asked if one.op == "update_group")
        return [*super()._queues(), *(group[2] - 1 for group in told if group is not None)]

    def _reason(self, one: Exchange) -> str:
        if one.op in SENDS:
            unnamed = one.code == SERVICE_NOT_AVAILABLE and not self.profile.names_no_wheel
            if is_timed(one, self.profile) and (one.op == "batch" or not self.profile.timers or unnamed):
                return "timers"
            if is_refused_late(one, self.profile):
                return LONG_RETRIES
            return BUSY if is_busy(one) else one.reason if one.op == "batch" or one.reason == BATCHES else ""
        if is_rejected(one) and not self._slave:
            return BUSY
        if one.op == "end_transaction":
            return self._untold(one)
        if one.op == "max_offset" and (why := self._ended_anew(one)):
            return why
        if one.op == "max_offset" and one.topic == OP_HALF_TOPIC:
            return "records of ended transactions"
        if one.op == "send_back" and one.code == SYSTEM_ERROR and not decodes_send_back(one.fields):
            return UNREADABLE
        if one.op == "send_back" and one.code == SYSTEM_ERROR and NOT_THERE in one.remark:
            return "a wait for the lock that timed out"
        if one.op == "send_back" and self._length(one.fields.get("group", "")) > self.profile.topic_limit - len(RETRY_PREFIX):
            return "groups whose own topics may have names that are too long"
        if one.op in PROGRESS:
            return self._unheard(one)
        return "" if one.op in (*REGROUPS, "send_back") else reason(one, self.profile)

    def _length(self, name: str) -> int:
        return len(name.encode("utf-8", "surrogatepass")) if self.profile.limits_name_bytes else len(name)

    def _untold(self, one: Exchange) -> str:
        """Why the end of a transaction is not judged, if nobody told of its half message."""
        known = self._slave or (ended_kind(one) and (self._record(one) or one.code == SYSTEM_ERROR))
        return "" if known else UNTOLD

    # Groups

    def _found_group(self, topic: str) -> tuple[int, int, int, int]:
        """Whether a look-up finds or makes the group of this retry topic, with which limit and queues (DLQ-02), and whether the broker has
        it from the beginning."""
        name = topic.removeprefix(RETRY_PREFIX)
        made = (self.auto_groups or name.startswith(SYSTEM_GROUP_PREFIX)) and not (self.profile.check_groups and self._is_odd(name))
        return int(bool(made or name in SYSTEM_GROUPS)), RETRY_MAX_TIMES, 1, int(name in SYSTEM_GROUPS)

    def _is_odd(self, group: str) -> bool:
        """Whether the name has something that later releases take for no group's."""
        return classify(group, self.profile) in ("blank", "illegal") or java_length(group) > self.profile.group_limit

    @cached_property
    def _unsure(self) -> set[int]:
        """The requests, by the events that began them, about groups of which nobody knows how often they retry: somebody changed one, and
        the recording does not say which."""
        known: set[str | None] | None = None
        found = set()
        for one in self.part.asked:
            if one.op == "update_group" and one.code == SUCCESS:
                if one.group() is None:
                    known = set()
                elif known is not None:
                    known.add(subject_of(one))
            elif known is not None and one.op in (*SENDS, "send_back") and subject_of(one) not in known:
                found.add(one.seq)
        return found

    @cached_property
    def _regroups(self) -> set[str | None]:
        """The groups that are changed, by their retry topics."""
        return {subject_of(one) for one in self.part.asked if one.op in REGROUPS}

    def _regrouped(self, one: Exchange, code: int | None) -> CheckedRequest:
        topic, told = subject_of(one), one.group() if one.op == "update_group" else None
        if topic not in self.topics or topic is None:
            return RefusedRequest(self.machine, SUCCESS, "a group may always be changed", code)
        if told is not None and self.profile.tests_groups and self._is_odd(told[0]):
            return RefusedRequest(self.machine, self.profile.illegal_code, "a group of this name is not made", code)
        known, limit, queues, _ = self._found_group(topic)
        remade = int(bool(self.profile.remakes_groups and known and not forgets(one, self.profile)))
        group = (known, limit, queues, remade) if told is None else (1, *told[1:], 1)
        return Regrouped(self.machine, self.topics[topic], group, code, self._forgotten(one))

    def _forgotten(self, _one: Exchange) -> tuple[int, ...]:
        """The places of which the offsets go with a group that is deleted."""
        return ()

    # What groups tell of queues

    @cached_property
    def _places(self) -> Mapping[tuple[str, int], int]:
        places = dict.fromkeys(place_of(one) for one in self.part.asked if one.op in PROGRESS)
        return {place: number for number, place in enumerate(places)}

    @cached_property
    def _others(self) -> int:
        """The first event after which offsets may be others than the part's requests tell: of another part, or one that cannot be read."""
        unread = [one.seq for one in self.part.asked if one.op == "commit" and self._unread(one)]
        return min((*unread, *(() if self.part.unheard is None else (self.part.unheard,))), default=1 << 62)

    def _unheard(self, one: Exchange) -> str:
        """Why what a group tells or asks is not judged."""
        if one.topic == "null":  # who names no topic tells of this one, too
            return UNREADABLE
        return self._unread(one) or (OTHERS if one.end is not None and self._others < one.end else "")

    def _unread(self, one: Exchange) -> str:
        """Why nobody knows what the broker makes of the header."""
        lacks = None in (one.fields.get("consumerGroup"), one.fields.get("topic"), *numbers(one))
        unread = (lacks and (one.op == "progress" or not self.profile.null_fields)) or not are_read(numbers(one))
        return UNREADABLE if unread else ""

    def _committed(self, one: Exchange, code: int | None) -> Committed:
        """A group tells how far it is. Nobody knows whether its broker has the group: whoever pulls makes it."""
        group, topic = self.topics.get(RETRY_PREFIX + named(one, "consumerGroup"), 0), self.topics[one.topic]
        names, whole = one.fields.get("topic") is not None, None not in numbers(one)
        told = max(NO_OFFSET, one.number("commitOffset"))
        args = group, topic, int(names), int(whole), self._places[place_of(one)], told
        return Committed(self.machine, args, code, self.profile.illegal_code, listed=self.part.recorded)

    def _progressed(self, one: Exchange) -> OffsetQuery:
        """A group asks how far it is."""
        queue, zero = one.number("queueId"), one.fields.get("setZeroIfNotFound")
        counters = self.machine.counters(self.topics[one.topic], queue)
        takes = zero is None or java_boolean(str(zero)) or not self.profile.heeds_set_zero
        place, anywhere, filled = self._places[place_of(one)], self.profile.begins_anywhere, not self._begins_empty(one.topic)
        return OffsetQuery(self.machine, place, counters, anywhere, takes, one.code or 0, one.answered("offset"), filled)

    def _remembered(self, last: int) -> Iterator[tuple[int, int, int | None]]:
        """What groups may have told before the history, as `_opened` has it."""
        if self.part.new:
            return
        told: dict[int, set[int]] = {}
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            offset = one.answered("offset")
            if one.op == "progress" and not why and offset is not None and one.end is not None and one.end <= last:
                told.setdefault(self._places[place_of(one)], set()).add(offset)
        for place, offsets in told.items():
            yield -1, self._add(Remembered(self.machine, place, tuple(sorted(offsets))), None), None

    # Records

    @cached_property
    def _records(self) -> dict[int, tuple[int, AnsweredRecord]]:
        """The records that answers tell of, by their places in the log, with the event that told of them."""
        told = ((one.end or 0, found) for one in self._kept_sends() for found in records_of(one, self.profile))
        return {place: (seq, record) for seq, (place, record) in told}

    def _kept_sends(self) -> Iterator[Exchange]:
        return (one for one in self.part.asked if one.op in SENDS)

    def _record(self, one: Exchange) -> AnsweredRecord | None:
        """The record that a request names by its place in the log, None if no answer told of it before, or the request names no place."""
        seq, record = self._records.get(one.number("offset" if one.op == "send_back" else "commitLogOffset", -1), (0, None))
        return record if seq < one.seq else None

    # What is asked

    def _request(self, one: Exchange, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        ended = SendResponse(one.code or 0, shows=False) if known else None
        if one.op in PROGRESS:
            if self._unread(one):
                return None
            code = one.code if known else None
            return self._committed(one, code) if one.op == "commit" else self._progressed(one) if known else None
        if one.op in REGROUPS:
            return self._regrouped(one, one.code if known else None)
        if one.op == "end_transaction":
            return None if why else self._ended_transaction(one, ended, claims)
        if one.op == "send_back":
            return self._sent_back(one, ended, claims)
        request = super()._request(one, why, known=known, claims=claims)
        if isinstance(request, TopicDeletion) and self.profile.deletes_offsets:
            return replace(request, forgets=tuple(number for place, number in self._places.items() if is_in(place, one.topic)))
        return request

    def _starts(self, one: Exchange, why: str, topic: int, default: int, numbers: int, queue: int) -> list[Local]:
        unsure = one.seq in self._unsure
        ways = ways_of(one, self.profile, self.cluster, sure=not unsure and one.topic not in self._regroups)
        if unsure and ways[0].get("step") == "retry":
            ways = [way | side for way in ways for side in SIDES]
        kind = self._kind(one)
        return [self.machine.arrived(topic, default, numbers, queue, kind, way=self._codes_of_way(each)) for each in ways]

    def _sent_back(self, one: Exchange, ended: SendResponse | None, claims: Claims) -> CheckedRequest:
        """A send-back of a record, of any if nobody told of the one that it names: it may be there or not, and have been retried or not."""
        record, way, topic = self._record(one), back_of(one), self.topics[subject_of(one) or ""]
        missing = {"offset", "group", "delayLevel"} - one.fields.keys()
        if missing and not self.profile.null_fields:
            return RefusedRequest(self.machine, SYSTEM_ERROR, "a send-back names a place, a group and a level", one.code if ended else None)
        if record is not None:  # a level that is null fails once the record is found, which is answered as if it were not
            there = (False, True) if record.garbled and not missing else (not missing,)
            named = one.fields.get("originTopic") if self.profile.checks_origin else None
            other = (False, True) if named and record.topic is None else (named is not None and named != record.topic,)
            ways: list[Values] = [
                way | {"found": found, "times": record.times, "kept": record.level or 0, "elsewhere": each}
                for found in there
                for each in other
            ]
            if one.seq in self._unsure:
                ways = [each | side for each in ways for side in SIDES]
        else:
            levels = range(1 if self.profile.dlq_clears_delay else DELAY_LEVELS + 1)
            there = (False,) if missing else (False, True)
            ways = [way | {"found": found, "kept": kept} | side for found in there for side in SIDES for kept in levels]
        sure = subject_of(one) not in self._regroups
        deaths = ((each, None if record is None else is_letter(each, self.profile, sure=sure)) for each in ways)
        ways = [
            each | {"flaw": flaw} for each, dead in deaths for flaw in flaws_of_back(record, self.profile, origin=way["fitting"], dead=dead)
        ]
        kind = "not" if record is None else record.kind
        start, *others = (self.machine.arrived(topic, 0, 0, 0, kind, "append", self._codes_of_way(each)) for each in ways)
        claims = frozenset() if ended is not None else claims
        return Send(self.machine, start, topic, 0, 1, ended, claims, illegal_code=self.profile.illegal_code, others=tuple(others))

    def _ended_transaction(self, one: Exchange, ended: SendResponse | None, claims: Claims) -> CheckedRequest | None:
        """The end of a transaction; of an unknown kind it is none, and nobody hears of it."""
        if not self.profile.half_messages:
            return RefusedRequest(self.machine, REQUEST_CODE_NOT_SUPPORTED, "there are no half messages", one.code if ended else None)
        if not one.fields.keys() >= _OF_AN_END and not self.profile.null_fields:
            return RefusedRequest(
                self.machine, SYSTEM_ERROR, "the end of a transaction names its half message", one.code if ended else None
            )
        if self._slave:
            return RefusedRequest(self.machine, SLAVE_NOT_AVAILABLE, "transactions end at a master", one.code)
        record, kind = self._record(one), ended_kind(one)
        if not kind:
            return None
        meant = one.fields.get("producerGroup"), one.number("tranStateTableOffset", -1)
        fitting = record is not None and (record.group, record.offset) == meant
        way = {"step": "end", "found": record is not None, "fitting": fitting}
        start, *others = (
            self.machine.arrived(self.topics.get(name, 0), 0, 0, queue, kind, "append", self._codes_of_way(way | {"level": level}))
            for name, queue, level in committed_to(record)
        )
        claims = frozenset() if ended is not None else claims
        return Send(self.machine, start, self.topics.get(HALF_TOPIC, 0), 0, 1, ended, claims, others=tuple(others))

    # What the broker stores by itself

    def _stored_later(self) -> Iterator[tuple[int, str, int]]:
        """The places in which the broker may store a record by itself: from which event on, topic and queue; -1 is any queue."""
        halves: list[tuple[int, tuple[str, int]]] = []
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            reals: list[tuple[str, int]] = []
            if one.op == "end_transaction" and why == UNTOLD:
                reals = [real for opened, real in halves if one.end is None or opened < one.end]
            elif one.code in (None, SUCCESS, *STATUSES) and one.op == "send_back":
                reals = self._retried(one)
            elif one.code in (None, SUCCESS, *STATUSES) and one.op == "send":
                reals = self._delivered(one, halves)
            yield from ((one.seq, topic, queue) for topic, queue in reals if queue < self.machine.shape.queues and topic in self.topics)

    def _delivered(self, one: Exchange, halves: list[tuple[int, tuple[str, int]]]) -> list[tuple[str, int]]:
        """Where a message may come to that waits; a half message is kept in `halves`."""
        way, queue = way_of(one, self.profile, self.cluster), one.answered("queueId")
        place = one.topic, one.number("queueId") if queue is None else queue
        if way["half"]:
            if way["level"] <= 0:  # else the topic that it was meant for is lost
                halves.append((one.seq, place))
            return []
        dead = is_letter(way, self.profile, sure=one.topic not in self._regroups) if way.get("step") == "retry" else False
        letters = [(way["dead"], 0)] if dead is not False and not self.profile.dlq_keeps_delay else []
        return [*([] if dead else [place]), *letters] if way["level"] > 0 or way["timed"] is not False else []

    def _retried(self, one: Exchange) -> list[tuple[str, int]]:
        """Where a message may come to that is given back and waits."""
        record, way, topic = self._record(one), back_of(one), subject_of(one) or ""
        dead = None if record is None else is_letter(way | {"times": record.times}, self.profile, sure=topic not in self._regroups)
        waits = not self.profile.dlq_clears_delay and (record is None or (record.level or 0) > 0)
        return [*([] if dead else [(topic, -1)]), *([(way["dead"], 0)] if dead is not False and waits else [])]

    def _own_records(self) -> Iterator[tuple[int, str, int]]:
        return self._stored_later()

    def _opened(self, last: int) -> list[tuple[int, int, int | None]]:
        opened = super()._opened(last)
        found: dict[tuple[str, int], list[tuple[int, bool]]] = {}
        for one in self._answered_sends(last):
            (topic, queue), sure = self._place(one)
            if way_of(one, self.profile, self.cluster)["timed"] is None:
                topic, queue = WHEEL_TIMER_TOPIC, 0  # or the queue that it asks for, if its time was over
            if topic in COMMON:
                found.setdefault((topic, queue), []).append((one.answered("queueOffset") or 0, sure))
        for (topic, queue), told in found.items():
            claimed, maybe = (tuple(sorted(offset for offset, sure in told if sure is wanted)) for wanted in (True, False))
            begins = topic == HALF_TOPIC  # any deletion takes its queue away, as long as it is not in the topic table
            opened.append((-1, self._add(Filled(self.machine, self.topics[topic], queue, claimed, maybe, begins), None), None))
        return [*opened, *self._remembered(last)]

    # The state before

    @cached_property
    def _named(self) -> list[ClaimedOffsets]:
        """The places that answers name, where the record certainly lies there."""
        found = []
        for one in self._answered_sends(last_of(self.part)):
            (topic, queue), sure = self._place(one)
            if sure:
                claim = ClaimedOffsets(one.end or 0, self.topics[topic], queue, one.answered("queueOffset") or 0, one.messages or 0)
                found.append(claim)
        return found

    def _answered_sends(self, last: int) -> Iterator[Exchange]:
        """The sends that are answered with a place that counts."""
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            told = one.answered("queueId") is not None and one.answered("queueOffset") is not None
            if one.op in SENDS and not why and told and one.end is not None and one.end <= last:
                if self._kind(one) in COUNTED or is_half(one, self.profile):
                    yield one

    def _place(self, one: Exchange) -> tuple[tuple[str, int], bool]:
        """Where the record of an answered send lies, and whether that is sure."""
        return destination_of(one, way_of(one, self.profile, self.cluster), self.profile, sure=one.topic not in self._regroups)

    def _begins_empty(self, topic: str) -> bool:
        return self.part.new or topic not in self.initial or topic in COMMON  # what is there is filled in

    def _start(self, last: int) -> tuple[int, ...]:
        shared = super()._start(last)
        for name, topic in self.topics.items():
            if name.startswith(RETRY_PREFIX):
                shared = self.machine.assigned(shared, self.machine.group_codes(topic, self._found_group(name)))
        return shared


__all__ = ["SIDES", "PlacedChecker"]
