"""A recording of single requests before the specification: one client, who asks one thing after the other of one broker.

All topics are judged together, and what the name server has of them. After each case the recording says what the broker had of the topic
and what was stored. So neither a case that is out of the specification's reach nor one that no state explains ends the judging:
what was recorded of it is adopted, and the cases after it are judged from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from rocketproof_protocol.codes import (
    NO_PERMISSION,
    SEND_MESSAGE,
    SERVICE_NOT_AVAILABLE,
    SUCCESS,
    SYSTEM_BUSY,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketproof_protocol.numbers import java_boolean, whole_number
from rocketproof_protocol.properties import WAIT
from rocketproof_protocol.topics import OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE
from rocketproof_spec.nameserver import Strangers
from rocketproof_spec.sizes import FIXED

from ..common.outcomes import JudgingOutcome
from ..history.cases import COUNTED, STATUSES, UNREADABLE, Config, StoredMessage
from ..history.exchange import Exchange
from ..history.exchanges import CREATION, PERMISSION, SENDS, TELLING
from .administered import RefusedRequest, RouteUpdate, TopicUpdate
from .left_out import SLAVE, reason
from .looks import Routed
from .part import UnexplainedEvent
from .placed import OTHERS, PlacedChecker
from .places import PROGRESS, forgets, is_of, named
from .sends import Claims, Send, SendResponse
from .steps import CheckedRequest, Point, SearchBound
from .unasked import Adopted, Registering
from .ways import REGROUPS, ended_kind, is_timed

ROUTE = "route"
SMALL_FILE = 1 << 20
"""The smallest file of the log that recordings are made with; a record that fits into it is never lost."""
ON_SLAVE = "a slave changes neither topics nor groups"
REJECTED = "a slave rejects sends before it reads them"
NAMELESS = "a group that is deleted has a name"
NO_HEADER = "the header cannot be read"
UNNAMED = "filter types are SINGLE_TAG and MULTI_TAG"
SPOKEN = (
    *(ROUTE, *SENDS, *REGROUPS, *TELLING, *PROGRESS),
    *("send_back", "end_transaction", "update_topic", "delete_topic", "configure", "max_offset", "topic_config"),
)
"""Requests of which the specification knows what they do to groups and their offsets."""


class Cases(NamedTuple):
    """What came of a recording: `explained` counts answers and looks at topics; `bound` says which bound stopped the judging, nothing if
    none did."""

    findings: tuple[UnexplainedEvent, ...]
    explained: int
    expanded: int
    bound: str

    @property
    def outcome(self) -> JudgingOutcome:
        """Refused if a case is: it comes before the bound, so what the bound left open does not explain it."""
        return JudgingOutcome.REFUSED if self.findings else JudgingOutcome.UNDECIDED if self.bound else JudgingOutcome.EXPLAINED


@dataclass
class RecordedChecker(PlacedChecker):
    """The recording of one broker and the machine that it is judged with."""

    def cases(self, bound: SearchBound, tick: Callable[[int], None] = lambda _: None) -> Cases:
        """Judge the cases one after the other."""
        last = max((one.end or one.seq for one in self.part.asked), default=0)
        search = self._searching(self._opened(last), bound, tick)
        points, first, findings, skipped = [Point(self._start(last))], 0, list[UnexplainedEvent](), 0
        self.refused, self.undecided = set[str](), set[str]()
        while True:
            found = search.run(points, first)
            if found.bound:
                self.undecided = {self._case_at(k) for k in range(found.end, len(self.answers))}
            if found.complete or found.bound:
                break
            answer = self.answers[found.end]
            findings.append(self._finding(answer.seq, self.requests[answer.request], self.made[answer.request], found))
            case = self._case_at(found.end)
            self.refused.add(case)
            first = found.end
            while first < len(self.answers) and self._case_at(first) == case:
                first += 1
            skipped += first - found.end
            codes = self._codes(self._requests[case])
            points = [Point(self.machine.assigned(shared, codes), moved) for shared, moved in found.stuck]
        adopted = sum(isinstance(self.requests[answer.request], Adopted) for answer in self.answers[: found.end])
        return Cases(tuple(findings), found.end - skipped - adopted, search.expanded, found.bound)

    def explained(self) -> tuple[int, ...]:
        """The requests of the cases that are explained, by the events that began them; they came one after the other."""
        lost = self.refused | self.undecided
        asked = zip(self.part.asked, self.reasons, strict=True)
        return tuple(one.seq for one, why in asked if not why and one.end is not None and (one.looks_after or one.case) not in lost)

    def _case_at(self, answer: int) -> str:
        one = self.made[self.answers[answer].request]
        assert one is not None
        return one.looks_after or one.case

    def left_out(self) -> Counter[str]:
        """The cases that are not judged, by reason. One whose status says that a wait timed out is among them, though its
        place is judged."""
        found: Counter[str] = Counter()
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            if one.case in self.undecided:
                found["not decided within the limit"] += not one.looks_after
            elif not one.looks_after:
                silent = one.op == "end_transaction" and not ended_kind(one)  # nobody is answered
                found[why or ("no answer came" if one.end is None and not silent else "")] += 1
        del found[""]
        return found

    # What is asked

    @cached_property
    def _requests(self) -> dict[str, Exchange]:
        return {one.case: one for one in self.part.asked if not one.looks_after}

    @cached_property
    def _looks(self) -> dict[str, Exchange]:
        """What the broker had of its topic after a case."""
        return {one.looks_after: one for one in self.part.asked if one.looks_after}

    def _ended_anew(self, one: Exchange) -> str:
        del one
        return ""  # the broker serves one request after the other, and the state tells what a deletion has left

    @cached_property
    def _reached(self) -> dict[int, int]:
        return {} if self._deletions else super()._reached

    def _initial(self) -> dict[str, Config]:
        """The system's topics; what a route first shows of one holds from the beginning."""
        routes = {one.topic: found for one in reversed(self.part.asked) if one.op == ROUTE and (found := one.route()) is not None}
        return {name: routes.get(name, config) for name, config in super()._initial().items()}

    def _names(self) -> list[str]:
        stored = [record for one in self.part.asked for record in one.stored()]
        real = [record.real[0] for record in stored if record.real is not None]
        groups = [RETRY_PREFIX + named(one, "consumerGroup") for one in self.part.asked if one.op in PROGRESS]
        return [*self.initial, *super()._names(), *(record.topic for record in stored), *real, *groups]

    def _queues(self) -> list[int]:
        stored = [r.queue for one in self.part.asked for r in one.stored()]
        return [one.answered("queueId") or 0 for one in self.part.asked] + stored

    @property
    def _knows_routes(self) -> bool:
        return not self._slave

    def _reason(self, one: Exchange) -> str:
        if one.looks_after or one.op in (ROUTE, *REGROUPS, "send_back"):
            return ""
        code = whole_number(one.request["code"])
        if one.op in PROGRESS:
            return self._unheard(one)
        if one.op in SENDS:
            unread = one.reach(code)[1] == UNREADABLE
            if unread and code == SEND_MESSAGE and self.profile.null_fields:
                return UNREADABLE  # what could be read may have had an effect (REM-04)
            if is_timed(one, self.profile) and not self.profile.timers:
                return "timers"
            return "batches without their body" if one.messages is None and one.code in (SUCCESS, *STATUSES) else ""
        if one.op == "update_topic":
            why = one.reach(code)[1]
            return "" if why in ("order topics", "filter types") else why
        if one.op == "configure":
            unknown = sorted(one.settings().keys() - {CREATION, PERMISSION}) or ([] if one.settings() else ["without its body"])
            return f"changes of settings: {', '.join(unknown)}" if unknown else ""
        if one.op == "delete_topic" or (one.op in TELLING and self._knows_routes):
            return ""
        if one.op == "max_offset":
            return "records of ended transactions" if one.topic == OP_HALF_TOPIC else self._ended_anew(one) or reason(one, self.profile)
        if one.op == "end_transaction":
            return "" if one.end is None else self._untold(one)
        return f"request code {code}"

    # Groups and their offsets

    @cached_property
    def _unspoken(self) -> int:
        """The first request that may make groups or tell how far they are, and of which the specification does not speak."""
        return min((one.seq for one in self.part.asked if one.op not in SPOKEN), default=1 << 62)

    def _unheard(self, one: Exchange) -> str:
        if self._unspoken < one.seq:
            return OTHERS
        return self._unread(one)

    def _forgotten(self, one: Exchange) -> tuple[int, ...]:
        if not forgets(one, self.profile):
            return ()
        return tuple(number for place, number in self._places.items() if is_of(place, str(one.fields.get("groupName"))))

    # Records

    @staticmethod
    def _seen(one: Exchange) -> list[StoredMessage]:
        """The records that a look found where the answer to a send says; a blank is none, and has no topic."""
        return [record for record in one.stored() if record.topic]

    @cached_property
    def _lost(self) -> set[str]:
        """The cases whose record fits no file of the log: acknowledged, its offset is the next one's too (CL-08, HAZ-22)."""
        found, later = set(), set[tuple[str, int | None, int | None]]()
        for one in reversed(self.part.asked):
            if one.op in SENDS and one.code in (SUCCESS, *STATUSES):
                place = (one.topic, one.answered("queueId"), one.answered("queueOffset"))
                if place in later and whole_number(one.request.get("bodySize") or 0) > SMALL_FILE - 2 * FIXED and not self._seen(one):
                    found.add(one.case)
                later.add(place)
        return found

    def _kept_sends(self) -> Iterator[Exchange]:
        return (one for one in super()._kept_sends() if one.case not in self._lost)

    def _begins_empty(self, topic: str) -> bool:
        return True

    def _delivered(self, one: Exchange, halves: list[tuple[int, tuple[str, int]]]) -> list[tuple[str, int]]:
        places = super()._delivered(one, halves)
        stored = one.stored()
        return [record.real for record in stored if record.real is not None and record.topic == SCHEDULE] if stored else places

    @cached_property
    def _slave(self) -> bool:
        """Whether every send that passed the checks was refused by the store: the broker's role, which no single answer shows. Where
        slaves reject sends unread, every one was. Where they take no changes of topics and groups, they say so."""
        if any(one.code == SYSTEM_ERROR and SLAVE in one.remark for one in self.part.asked):
            return True
        codes = {one.code for one in self.part.asked if one.op in SENDS}
        if self.profile.slave_rejects:
            return codes == {SYSTEM_BUSY}
        return codes - {SYSTEM_ERROR, NO_PERMISSION, TOPIC_NOT_EXIST, None} == {SERVICE_NOT_AVAILABLE}

    def _opened(self, last: int) -> list[tuple[int, int, int | None]]:
        self.requests, self.made = [], []
        opened: list[tuple[int, int, int | None]] = []
        if self._knows_routes:
            opened.append((-1, self._add(Registering(self.machine), None), None))
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            if why:
                at = one.seq if one.end is None else one.end
                opened.append((one.seq, self._add(Adopted(self.machine, self._codes(one)), one), at))
            else:
                request = self._request(one, "", known=one.end is not None, claims=frozenset())
                if request is not None:
                    opened.append((one.seq, self._add(request, one), one.end))
        opened += self._after_deletions(last)
        for since, topic, queue in self._stored_later():
            opened.append((since, self._add(self._own(topic, queue, frozenset()), None), None))
        return opened

    def _request(self, one: Exchange, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        machine, code = self.machine, one.code if known else None
        if one.op == ROUTE:
            route = one.route()
            return Routed(machine, self.topics[one.topic], route, one.code or 0) if known else None
        if one.op in TELLING:
            return RouteUpdate(machine, machine.tells[one.op], self._told_args(one), code)
        if one.op == "delete_group" and one.fields.get("groupName") is None:
            return RefusedRequest(machine, SYSTEM_ERROR, NAMELESS, code)
        if one.op in (*SENDS, "send_back") and self._slave and self.profile.slave_rejects:
            return RefusedRequest(machine, SYSTEM_BUSY, REJECTED, code)
        if one.op in SENDS and one.reach(whole_number(one.request["code"]))[1] == UNREADABLE:
            return RefusedRequest(machine, SYSTEM_ERROR, NO_HEADER, code)
        if one.op in ("update_topic", "delete_topic", *REGROUPS) and self._slave and not self.profile.slave_creates:
            return RefusedRequest(machine, SYSTEM_ERROR, ON_SLAVE, code)
        if one.op == "update_topic" and one.reach(whole_number(one.request["code"]))[1] == "filter types":
            return RefusedRequest(machine, SYSTEM_ERROR, UNNAMED, code)
        if one.op in (*REGROUPS, "end_transaction") and not known:
            return None
        request = super()._request(one, why, known=known, claims=claims)
        if isinstance(request, Send) and one.case in self._lost:
            return replace(request, count=0)
        if isinstance(request, TopicUpdate) and self.profile.keeps_order and java_boolean(str(one.fields.get("order", ""))):
            return replace(request, wanted=replace(request.wanted, order=True))
        return request

    def _told_args(self, one: Exchange) -> tuple[int, ...]:
        """What a name server is told of this broker; nothing where it is told nothing of it, or of no topic."""
        topic = self.topics[one.topic]
        if one.fields.get("topic") is None:
            return ()
        if one.op == "forget_topic":
            by_cluster = self.profile.forgets_by_cluster
            return () if by_cluster and one.fields.get("clusterName") not in (None, "", self.cluster) else (0, topic)
        routes = one.told_routes()
        mine = [k for k, (broker, _) in enumerate(routes) if broker == self.part.broker]
        if not mine:
            return ()
        config = routes[mine[-1]][1]
        strangers = "before" if mine[0] > 0 else "behind" if mine[-1] < len(routes) - 1 else "none"
        return (0, topic, config.read, config.write, config.perm, Strangers.encode(strangers))

    @cached_property
    def _statuses(self) -> set[int]:
        """The codes that say that a wait timed out: none does where any message that waits is answered with success."""
        sends = [one for one, why in zip(self.part.asked, self.reasons, strict=True) if one.op in SENDS and not why]
        waiting = {one.code for one in sends if self._waits(one)}
        return set() if 0 in waiting else {code for code in STATUSES if code in waiting}

    @staticmethod
    def _waits(one: Exchange) -> bool:
        return java_boolean(one.properties.get(WAIT, "true"))

    def _ended(self, one: Exchange) -> SendResponse:
        ended = super()._ended(one)
        against = ""
        if ended.code in STATUSES and not (ended.code in self._statuses and self._waits(one)):
            against = "where others that wait are answered with success" if self._waits(one) else "though it does not wait"
        stored, kind = self._seen(one) if one.case in self._lost else list(one.stored()), self._kind(one)
        places = [(one.topic, ended.queue, (ended.offset or 0) + k, kind) for k in range(len(stored))]
        odd = (r for r, place in zip(stored, places, strict=True) if (r.topic, r.queue, r.offset, r.kind) != place)
        note = next((f"stored in {r.topic}, queue {r.queue}, offset {r.offset}, transaction {r.kind}" for r in odd), "")
        records = tuple((self.topics[r.topic], r.queue, r.offset, r.kind) for r in stored)
        return ended._replace(against=against, records=records, note=note)

    def _start(self, last: int) -> tuple[int, ...]:
        shared = super()._start(last)
        for name, config in self.initial.items():
            if self._knows_routes:
                shared = self.machine.assigned(shared, self.machine.route_codes(self.topics[name], config))
        return shared

    def _codes(self, one: Exchange) -> dict[int, int]:
        """What the broker and the name server have after a request, as far as it was recorded."""
        machine, look = self.machine, self._looks.get(one.case)
        codes: dict[int, int] = {}
        route = one.route() if one.op == ROUTE else None
        if look is not None or route is not None:
            config, topic = look.config() if look is not None else route, self.topics[one.topic]
            codes = {**machine.config_codes(topic, config), **(machine.route_codes(topic, config) if self._knows_routes else {})}
        for record in one.stored():
            if record.kind in COUNTED and record.queue in machine.queues:
                codes[machine.offset_slot(self.topics[record.topic], record.queue)] = record.offset + 1
        return codes


__all__ = ["Cases", "RecordedChecker"]
