"""Judge a partition whose records may be stored elsewhere than requested: on a delay level, among half messages, in a retry topic, among
dead letters. The steps of its requests are the specification's (`rocketproof_spec/placed.py`). This module decides what they depend on in
other requests.

A request that names a record (a send-back, the end of a transaction) gets its facts from an earlier answer. Without such an answer both
possibilities are tried, as for a group whose limit was not recorded.

A record that the broker stores later by itself (a delivered message, a retry) may come at any time after its request. The queues of delay
levels and of half messages are shared by all clients of the broker, and the transaction check stores half messages again. Records of others
may come there at any time (`ForeignRecords`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from rocketproof_model.language import JAVA_INT
from rocketproof_profiles import classify, java_length
from rocketproof_protocol.codes import (
    SERVICE_NOT_AVAILABLE,
    SUCCESS,
    SYSTEM_ERROR,
)
from rocketproof_protocol.groups import RETRY_MAX_TIMES, SYSTEM_GROUP_PREFIX, SYSTEM_GROUPS
from rocketproof_protocol.numbers import java_boolean
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_spec.bounds import DELAY_LEVELS, NAMES_LIMIT
from rocketproof_spec.committing import NO_OFFSET

from ..history.covered import BATCHES, COUNTED, STATUSES, UNREADABLE, decodes_send_back
from ..history.exchange import Exchange
from ..history.exchanges import PROGRESS, SENDS
from .administration import GroupUpdate, OffsetCommit, RefusedRequest, TopicDeletion
from .background import ForeignRecords, InitialGroupOffset
from .group_offsets import are_readable, belongs_to_topic, forgets, named, numbers, offset_key
from .left_out import BUSY, LONG_RETRIES, is_busy, is_refused_late, is_rejected, reason
from .locks import GROUP_LOCKS, GroupLocks
from .partition_checker import ClaimedOffsets, PartitionChecker, last_of
from .placement import (
    GROUP_CHANGES,
    AnsweredRecord,
    Values,
    answered_records,
    commit_destinations,
    destination_of,
    is_dead_letter,
    is_half,
    is_timed,
    level_of_dead_letter,
    placement_of,
    possible_placements,
    send_back_flaws,
    send_back_placement,
    subject_of,
    transaction_end,
)
from .queries import OffsetQuery
from .sends import Claims, Send, SendResponse
from .steps import CheckedRequest, Local

EXTREME_LIMITS = tuple({"named": True, "version": NAMES_LIMIT, "requested": limit} for limit in (JAVA_INT[1], JAVA_INT[0]))
"""A retry limit that no message reaches, and one that every message has reached: for a group whose limit was not recorded."""
NO_RETRY_TOPIC = "not exist"
"""The error text for a send-back that found no retry topic, because its wait for the lock timed out (BACK-07)."""
SHARED_TOPICS = (SCHEDULE, HALF_TOPIC, WHEEL_TIMER_TOPIC)
"""Topics whose queues are filled by all clients of a broker and by the transaction check."""
UNKNOWN_TRANSACTIONS = "ends of transactions that nobody recorded"
UNSEEN_COMMITS = "offsets of groups of which others may have told"
_OF_AN_END = frozenset({"producerGroup", "tranStateTableOffset", "commitLogOffset", "commitOrRollback", "msgId"})
"""The fields that the end of a transaction needs."""


@dataclass
class PlacementChecker(PartitionChecker):
    """A partition whose records may be stored elsewhere, and the machine that judges it. `auto_groups`: a lookup creates a missing
    group."""

    auto_groups: bool = True

    def _is_placed(self) -> bool:
        return True

    def _names(self) -> list[str]:
        groups = [subject_of(exchange) or "" for exchange in self.part.exchanges if exchange.op in GROUP_CHANGES]
        half = [exchange.topic for exchange in self.part.exchanges if exchange.op == "end_transaction"]
        return [*super()._names(), *groups, *([HALF_TOPIC] if half else [])]

    def _queues(self) -> list[int]:
        updates = (exchange.group() for exchange in self.part.exchanges if exchange.op == "update_group")
        return [*super()._queues(), *(group[2] - 1 for group in updates if group is not None)]

    def _reason(self, exchange: Exchange) -> str:
        if exchange.op in SENDS:
            unnamed = exchange.code == SERVICE_NOT_AVAILABLE and not self.profile.names_no_wheel
            if is_timed(exchange, self.profile) and (exchange.op == "batch" or not self.profile.timers or unnamed):
                return "timers"
            if is_refused_late(exchange, self.profile):
                return LONG_RETRIES
            return BUSY if is_busy(exchange) else exchange.reason if exchange.op == "batch" or exchange.reason == BATCHES else ""
        if is_rejected(exchange) and not self._slave:
            return BUSY
        if exchange.op == "end_transaction":
            return self._unknown_half(exchange)
        if exchange.op == "max_offset" and (why := self._reason_after_deletion(exchange)):
            return why
        if exchange.op == "max_offset" and exchange.topic == OP_HALF_TOPIC:
            return "records of ended transactions"
        if exchange.op == "send_back" and exchange.code == SYSTEM_ERROR and not decodes_send_back(exchange.fields):
            return UNREADABLE
        if exchange.op == "send_back" and exchange.code == SYSTEM_ERROR and NO_RETRY_TOPIC in exchange.remark:
            return "a wait for the lock that timed out"
        if exchange.op == "send_back" and self._length(exchange.fields.get("group", "")) > self.profile.topic_limit - len(RETRY_PREFIX):
            return "groups whose own topics may have names that are too long"
        if exchange.op in PROGRESS:
            return self._offset_reason(exchange)
        if exchange.op in GROUP_LOCKS:
            return f"requests of the kind {exchange.op}"
        return "" if exchange.op in (*GROUP_CHANGES, "send_back") else reason(exchange, self.profile)

    def _length(self, name: str) -> int:
        return len(name.encode("utf-8", "surrogatepass")) if self.profile.limits_name_bytes else len(name)

    def _unknown_half(self, exchange: Exchange) -> str:
        """Return why the end of a transaction is not judged: no answer named its half message."""
        known = self._slave or (transaction_end(exchange) and (self._record(exchange) or exchange.code == SYSTEM_ERROR))
        return "" if known else UNKNOWN_TRANSACTIONS

    # Groups

    def _initial_group(self, topic: str) -> tuple[int, int, int, int]:
        """Return the initial group of this retry topic: whether a lookup finds or creates it, its limit and queues (DLQ-02), and whether
        the broker has it from the beginning."""
        name = topic.removeprefix(RETRY_PREFIX)
        found = (self.auto_groups or name.startswith(SYSTEM_GROUP_PREFIX)) and not (
            self.profile.check_groups and self._is_invalid_group(name)
        )
        return int(bool(found or name in SYSTEM_GROUPS)), RETRY_MAX_TIMES, 1, int(name in SYSTEM_GROUPS)

    def _is_invalid_group(self, group: str) -> bool:
        """Whether later releases reject the name as a group's."""
        return classify(group, self.profile) in ("blank", "illegal") or java_length(group) > self.profile.group_limit

    @cached_property
    def _unknown_limits(self) -> set[int]:
        """The requests, by the events that began them, about groups with an unknown retry limit: a group was changed, and the recording
        does not show which."""
        known: set[str | None] | None = None
        requests = set()
        for exchange in self.part.exchanges:
            if exchange.op == "update_group" and exchange.code == SUCCESS:
                if exchange.group() is None:
                    known = set()
                elif known is not None:
                    known.add(subject_of(exchange))
            elif known is not None and exchange.op in (*SENDS, "send_back") and subject_of(exchange) not in known:
                requests.add(exchange.seq)
        return requests

    @cached_property
    def _locks(self) -> GroupLocks:
        """The queue locks of the groups of the partition's retry topics."""
        return GroupLocks.of(self.part.exchanges)

    @cached_property
    def _changed_groups(self) -> set[str | None]:
        """The groups that are changed, by their retry topics."""
        return {subject_of(exchange) for exchange in self.part.exchanges if exchange.op in GROUP_CHANGES}

    def _group_update(self, exchange: Exchange, code: int | None) -> CheckedRequest:
        topic, requested = subject_of(exchange), exchange.group() if exchange.op == "update_group" else None
        if topic not in self.topics or topic is None:
            return RefusedRequest(self.machine, SUCCESS, "a group may always be changed", code)
        if requested is not None and self._is_invalid_group(requested[0]) and (rejected := self._rejected("illegal group", code)):
            return rejected
        known, limit, queues, _ = self._initial_group(topic)
        forgotten = int(forgets(exchange, self.profile))
        group = (known, limit, queues, 0, forgotten) if requested is None else (1, *requested[1:], 1, 0)
        return GroupUpdate(self.machine, self.topics[topic], group, code, self._deleted_offsets(exchange))

    def _deleted_offsets(self, _one: Exchange) -> tuple[int, ...]:
        """Return the offsets that are deleted together with a group."""
        return ()

    # Offsets of groups
    @cached_property
    def _offset_places(self) -> Mapping[tuple[str, int], int]:
        places = dict.fromkeys(offset_key(exchange) for exchange in self.part.exchanges if exchange.op in PROGRESS)
        return {place: number for number, place in enumerate(places)}

    @cached_property
    def _unseen_from(self) -> int:
        """The first event after which offsets may differ from what the partition's requests commit, because of another partition's
        request or an unreadable one."""
        unread = [exchange.seq for exchange in self.part.exchanges if exchange.op == "commit" and self._unreadable(exchange)]
        return min((*unread, *(() if self.part.unseen_from is None else (self.part.unseen_from,))), default=1 << 62)

    def _offset_reason(self, exchange: Exchange) -> str:
        """Return why a commit or query of an offset is not judged."""
        if exchange.topic == "null":  # commits without a topic are stored under this name, too
            return UNREADABLE
        return self._unreadable(exchange) or (UNSEEN_COMMITS if exchange.end is not None and self._unseen_from < exchange.end else "")

    def _unreadable(self, exchange: Exchange) -> str:
        """Return why it is unknown how the broker reads the header."""
        lacks = None in (exchange.fields.get("consumerGroup"), exchange.fields.get("topic"), *numbers(exchange))
        unread = (lacks and (exchange.op == "progress" or not self.profile.null_fields)) or not are_readable(numbers(exchange))
        return UNREADABLE if unread else ""

    def _offset_commit(self, exchange: Exchange, code: int | None) -> OffsetCommit:
        """Return the request for a commit. It is unknown whether the broker has the group, because any pull creates it."""
        group, topic = self.topics.get(RETRY_PREFIX + named(exchange, "consumerGroup"), 0), self.topics[exchange.topic]
        names, whole = exchange.fields.get("topic") is not None, None not in numbers(exchange)
        offset = max(NO_OFFSET, exchange.number("commitOffset"))
        args = group, topic, int(names), int(whole), self._offset_places[offset_key(exchange)], offset
        return OffsetCommit(self.machine, args, code, listed=self.part.recorded)

    def _offset_query(self, exchange: Exchange) -> OffsetQuery:
        queue, zero = exchange.number("queueId"), exchange.fields.get("setZeroIfNotFound")
        counters = self.machine.counters(self.topics[exchange.topic], queue)
        takes = zero is None or java_boolean(str(zero))
        place, filled = self._offset_places[offset_key(exchange)], not self._starts_empty(exchange.topic)
        return OffsetQuery(self.machine, place, counters, takes, exchange.code or 0, exchange.answered("offset"), filled)

    def _initial_offsets(self, last: int) -> Iterator[tuple[int, int, int | None]]:
        """Yield the offsets that groups may have committed before the history, in the form of `_open_requests`."""
        if self.part.new:
            return
        answered: dict[int, set[int]] = {}
        for exchange, why in zip(self.part.exchanges, self.reasons, strict=True):
            offset = exchange.answered("offset")
            if exchange.op == "progress" and not why and offset is not None and exchange.end is not None and exchange.end <= last:
                answered.setdefault(self._offset_places[offset_key(exchange)], set()).add(offset)
        for place, offsets in answered.items():
            yield -1, self._add(InitialGroupOffset(self.machine, place, tuple(sorted(offsets))), None), None

    # Records

    @cached_property
    def _records(self) -> dict[int, tuple[int, AnsweredRecord]]:
        """The records that answers name, by their positions in the log, each with the event of the answer."""
        answered = ((exchange.end or 0, found) for exchange in self._stored_sends() for found in self._answered_records(exchange))
        return {place: (seq, record) for seq, (place, record) in answered}

    def _answered_records(self, exchange: Exchange) -> Iterable[tuple[int, AnsweredRecord]]:
        return answered_records(exchange, self.profile, locked=self._locks.held(exchange))

    def _stored_sends(self) -> Iterator[Exchange]:
        return (exchange for exchange in self.part.exchanges if exchange.op in SENDS)

    def _record(self, exchange: Exchange) -> AnsweredRecord | None:
        """Return the record that a request names by its position in the log; None if no earlier answer named it, or the request names no
        position."""
        seq, record = self._records.get(exchange.number("offset" if exchange.op == "send_back" else "commitLogOffset", -1), (0, None))
        return record if seq < exchange.seq else None

    # Requests
    def _request(self, exchange: Exchange, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        ended = SendResponse(exchange.code or 0, shows=False) if known else None
        if exchange.op in PROGRESS:
            if self._unreadable(exchange):
                return None
            code = exchange.code if known else None
            return self._offset_commit(exchange, code) if exchange.op == "commit" else self._offset_query(exchange) if known else None
        if exchange.op in GROUP_LOCKS:
            return None
        if exchange.op in GROUP_CHANGES:
            return self._group_update(exchange, exchange.code if known else None)
        if exchange.op == "end_transaction":
            return None if why else self._transaction_end(exchange, ended, claims)
        if exchange.op == "send_back":
            return self._send_back(exchange, ended, claims)
        request = super()._request(exchange, why, known=known, claims=claims)
        if isinstance(request, TopicDeletion) and self.profile.deletes_offsets:
            return replace(
                request,
                deleted_offsets=tuple(number for place, number in self._offset_places.items() if belongs_to_topic(place, exchange.topic)),
            )
        return request

    def _start_states(self, exchange: Exchange, why: str, topic: int, default: int, numbers: int, queue: int) -> list[Local]:
        unsure = exchange.seq in self._unknown_limits
        placements = possible_placements(
            exchange,
            self.profile,
            self.cluster,
            sure=not unsure and exchange.topic not in self._changed_groups,
            locked=self._locks.held(exchange),
        )
        if unsure and placements[0].get("step") == "retry":
            placements = [placement | limit for placement in placements for limit in EXTREME_LIMITS]
        kind = self._kind(exchange)
        return [self.machine.arrived(topic, default, numbers, queue, kind, placement=self._placement_codes(each)) for each in placements]

    def _send_back(self, exchange: Exchange, ended: SendResponse | None, claims: Claims) -> CheckedRequest:
        """Return the request for a send-back. Without an earlier answer for the named record, it may exist or not, and have been retried
        or not."""
        record, placement, topic = self._record(exchange), send_back_placement(exchange), self.topics[subject_of(exchange) or ""]
        missing = {"offset", "group", "delayLevel"} - exchange.fields.keys()
        if missing and (rejected := self._rejected("field missing in a send-back", exchange.code if ended else None)):
            return rejected
        if record is not None:  # a null level fails once the record is found; the answer is the same as for a missing record
            found_options = (False, True) if record.garbled and not missing else (not missing,)
            named = exchange.fields.get("originTopic") if self.profile.checks_origin else None
            elsewhere_options = (False, True) if named and record.topic is None else (named is not None and named != record.topic,)
            placements: list[Values] = [
                placement | {"found": found, "times": record.times, "kept": record.level or 0, "elsewhere": each}
                for found in found_options
                for each in elsewhere_options
            ]
            if exchange.seq in self._unknown_limits:
                placements = [each | limit for each in placements for limit in EXTREME_LIMITS]
        else:
            levels = range(1 if self.profile.dlq_clears_delay else DELAY_LEVELS + 1)
            found_options = (False,) if missing else (False, True)
            placements = [
                placement | {"found": found, "kept": kept} | limit for found in found_options for limit in EXTREME_LIMITS for kept in levels
            ]
        sure = subject_of(exchange) not in self._changed_groups
        dead_letters = ((each, None if record is None else is_dead_letter(each, self.profile, sure=sure)) for each in placements)
        placements = [
            each | {"flaw": flaw}
            for each, dead in dead_letters
            for flaw in send_back_flaws(record, self.profile, origin=placement["fitting"], dead=dead)
        ]
        kind = "not" if record is None else record.kind
        start, *others = (self.machine.arrived(topic, 0, 0, 0, kind, "append", self._placement_codes(each)) for each in placements)
        claims = frozenset() if ended is not None else claims
        return Send(self.machine, start, topic, 0, 1, ended, claims, others=tuple(others))

    def _transaction_end(self, exchange: Exchange, ended: SendResponse | None, claims: Claims) -> CheckedRequest | None:
        """Return the request for the end of a transaction. An end of an unknown kind has no effect and no answer."""
        code = exchange.code if ended else None
        if rejected := self._rejected("end not served", code):
            return rejected
        if not exchange.fields.keys() >= _OF_AN_END and (rejected := self._rejected("field missing in an end", code)):
            return rejected
        if self._slave and (rejected := self._rejected("end on a slave", exchange.code)):
            return rejected
        record, kind = self._record(exchange), transaction_end(exchange)
        if not kind:
            return None
        requested = exchange.fields.get("producerGroup"), exchange.number("tranStateTableOffset", -1)
        fitting = record is not None and (record.group, record.offset) == requested
        placement = {"step": "end", "found": record is not None, "fitting": fitting}
        start, *others = (
            self.machine.arrived(self.topics.get(name, 0), 0, 0, queue, kind, "append", self._placement_codes(placement | {"level": level}))
            for name, queue, level in commit_destinations(record)
        )
        claims = frozenset() if ended is not None else claims
        return Send(self.machine, start, self.topics.get(HALF_TOPIC, 0), 0, 1, ended, claims, others=tuple(others))

    # Records that the broker stores by itself
    def _later_records(self) -> Iterator[tuple[int, str, int]]:
        """Yield where the broker may store a record by itself: the event from which on, topic and queue; -1 is any queue of the group's
        retries."""
        halves: list[tuple[int, tuple[str, int]]] = []
        for exchange, why in zip(self.part.exchanges, self.reasons, strict=True):
            reals: list[tuple[str, int]] = []
            if exchange.op == "end_transaction" and why == UNKNOWN_TRANSACTIONS:
                reals = [real for opened, real in halves if exchange.end is None or opened < exchange.end]
            elif exchange.code in (None, SUCCESS, *STATUSES) and exchange.op == "send_back":
                reals = self._retried(exchange)
            elif exchange.code in (None, SUCCESS, *STATUSES) and exchange.op == "send":
                reals = self._delivered(exchange, halves)
            yield from (
                (exchange.seq, topic, queue) for topic, queue in reals if queue < self.machine.shape.queues and topic in self.topics
            )

    def _delivered(self, exchange: Exchange, halves: list[tuple[int, tuple[str, int]]]) -> list[tuple[str, int]]:
        """Return where a waiting message may be stored. Half messages are added to `halves`."""
        placement, queue = self._placement(exchange), exchange.answered("queueId")
        place = exchange.topic, exchange.number("queueId") if queue is None else queue
        if placement["half"]:
            if placement["level"] <= 0:  # otherwise the original topic is lost
                halves.append((exchange.seq, place))
            return []
        dead = (
            is_dead_letter(placement, self.profile, sure=exchange.topic not in self._changed_groups)
            if placement.get("step") == "retry"
            else False
        )
        letters = [(placement["dead"], 0)] if dead is not False and level_of_dead_letter(placement, self.profile) > 0 else []
        return [*([] if dead else [place]), *letters] if placement["level"] > 0 or placement["timed"] is not False else []

    def _retried(self, exchange: Exchange) -> list[tuple[str, int]]:
        """Return where a message that is sent back and waits may be stored."""
        record, placement, topic = self._record(exchange), send_back_placement(exchange), subject_of(exchange) or ""
        dead = (
            None
            if record is None
            else is_dead_letter(placement | {"times": record.times}, self.profile, sure=topic not in self._changed_groups)
        )
        kept = placement | {"kept": DELAY_LEVELS if record is None else record.level or 0}
        waits = dead is not False and level_of_dead_letter(kept, self.profile) > 0
        return [*([] if dead else [(topic, -1)]), *([(placement["dead"], 0)] if waits else [])]

    def _own_records(self) -> Iterator[tuple[int, str, int]]:
        return self._later_records()

    def _broker_record(self, topic: str, queue: int, claims: Claims) -> Send:
        """Return the request for a record that the broker stores by itself. A retry (queue -1) may be in any of its group's queues, even if
        the retry topic has fewer (BACK-06, BACK-07)."""
        if queue >= 0:
            return super()._broker_record(topic, queue, claims)
        retries = (super(PlacementChecker, self)._broker_record(topic, each, claims) for each in range(self._retry_queues(topic)))
        first, *others = retries
        return replace(first, others=tuple(other.start for other in others))

    def _retry_queues(self, topic: str) -> int:
        """Return the largest number of retry queues that the group of a retry topic may have, at least 1."""
        counts = [self._initial_group(topic)[2]]
        for exchange in self.part.exchanges:
            if exchange.op == "update_group":
                group = exchange.group()
                counts += [self.machine.shape.queues] if group is None else [group[2]] * (subject_of(exchange) == topic)
        return max(1, min(max(counts), self.machine.shape.queues))

    def _open_requests(self, last: int) -> list[tuple[int, int, int | None]]:
        opened = super()._open_requests(last)
        answered: dict[tuple[str, int], list[tuple[int, bool]]] = {}
        for exchange in self._answered_sends(last):
            (topic, queue), sure = self._place(exchange)
            if placement_of(exchange, self.profile, self.cluster)["timed"] is None:
                topic, queue = WHEEL_TIMER_TOPIC, 0  # or the requested queue, if its time had passed
            if topic in SHARED_TOPICS:
                answered.setdefault((topic, queue), []).append((exchange.answered("queueOffset") or 0, sure))
        for (topic, queue), offsets in answered.items():
            claimed, maybe = (tuple(sorted(offset for offset, sure in offsets if sure is wanted)) for wanted in (True, False))
            begins = topic == HALF_TOPIC  # any deletion removes its queue while the topic is not in the topic table
            opened.append((-1, self._add(ForeignRecords(self.machine, self.topics[topic], queue, claimed, maybe, begins), None), None))
        return [*opened, *self._initial_offsets(last)]

    # The initial state
    @cached_property
    def _claimed_offsets(self) -> list[ClaimedOffsets]:
        """The offsets that answers name, where the record is certainly stored there."""
        claims = []
        for exchange in self._answered_sends(last_of(self.part)):
            (topic, queue), sure = self._place(exchange)
            if sure:
                claim = ClaimedOffsets(
                    exchange.end or 0, self.topics[topic], queue, exchange.answered("queueOffset") or 0, exchange.messages or 0
                )
                claims.append(claim)
        return claims

    def _answered_sends(self, last: int) -> Iterator[Exchange]:
        """Yield the sends that are answered with a queue and an offset that count."""
        for exchange, why in zip(self.part.exchanges, self.reasons, strict=True):
            answered = exchange.answered("queueId") is not None and exchange.answered("queueOffset") is not None
            if exchange.op in SENDS and not why and answered and exchange.end is not None and exchange.end <= last:
                if self._kind(exchange) in COUNTED or is_half(exchange, self.profile):
                    yield exchange

    def _place(self, exchange: Exchange) -> tuple[tuple[str, int], bool]:
        """Return where the record of an answered send is stored, and whether that is certain."""
        return destination_of(exchange, self._placement(exchange), self.profile, sure=exchange.topic not in self._changed_groups)

    def _placement(self, exchange: Exchange) -> Values:
        """Return the facts that decide where a send's record is stored."""
        return placement_of(exchange, self.profile, self.cluster, locked=self._locks.held(exchange))

    def _starts_empty(self, topic: str) -> bool:
        return self.part.new or topic not in self.initial or topic in SHARED_TOPICS  # records of others are added separately

    def _initial_state(self, last: int) -> tuple[int, ...]:
        shared = super()._initial_state(last)
        for name, topic in self.topics.items():
            if name.startswith(RETRY_PREFIX):
                shared = self.machine.assigned(shared, self.machine.group_codes(topic, self._initial_group(name)))
        return shared


__all__ = ["SHARED_TOPICS", "PlacementChecker"]
