"""A recording of single requests before the specification: one client, who asks one thing after the other of one broker.

All topics are judged together, and what the name server has of them. After each case the recording says what the broker had of the topic
and what was stored. So neither a case that is out of the specification's reach nor one that no state explains ends the judging:
what was recorded of it is adopted, and the cases after it are judged from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from rocketproof_protocol.codes import NO_PERMISSION, SERVICE_NOT_AVAILABLE, SUCCESS, SYSTEM_BUSY, SYSTEM_ERROR, TOPIC_NOT_EXIST
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.properties import WAIT
from rocketproof_protocol.topics import HALF_TOPIC, RETRY_PREFIX, SCHEDULE

from ..history.cases import STATUSES, Config, properties_of
from ..history.operations import SENDS, Operation
from .part import Finding, PartChecker
from .requests import COUNTED, Adopted, Ended, Registering, Routed
from .steps import Bound, Point

ROUTE = "route"
SLAVE = "role of the store"


class Cases(NamedTuple):
    """What came of a recording: `explained` counts answers and looks at topics; `bound` says which bound stopped the judging, nothing if
    none did."""

    findings: tuple[Finding, ...]
    explained: int
    expanded: int
    bound: str


class RecordedChecker(PartChecker):
    """The recording of one broker and the machine that it is judged with."""

    def cases(self, bound: Bound, tick: Callable[[int], None] = lambda _: None) -> Cases:
        """Judge the cases one after the other."""
        last = max((one.closed or one.opened for one in self.part.asked), default=0)
        search = self._searching(self._opened(last), bound, tick)
        points, first, findings, skipped = [Point(self._start(last))], 0, list[Finding](), 0
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
        return tuple(one.opened for one, why in asked if not why and one.closed is not None and (one.looks_after or one.case) not in lost)

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
                status = STATUSES.get(one.code or 0, "") if one.op in SENDS and one.case not in self.refused else ""
                found[why or ("no answer came" if one.closed is None else status)] += 1
        del found[""]
        return found

    # What is asked

    @cached_property
    def _requests(self) -> dict[str, Operation]:
        return {one.case: one for one in self.part.asked if not one.looks_after}

    @cached_property
    def _looks(self) -> dict[str, Operation]:
        """What the broker had of its topic after a case."""
        return {one.looks_after: one for one in self.part.asked if one.looks_after}

    def _initial(self) -> dict[str, Config]:
        """The system's topics; what a route first shows of one holds from the beginning."""
        routes = {one.topic: found for one in reversed(self.part.asked) if one.op == ROUTE and (found := one.route()) is not None}
        return {name: routes.get(name, config) for name, config in super()._initial().items()}

    def _names(self) -> list[str]:
        stored = [record for one in self.part.asked for record in one.stored()]
        real = [record.real[0] for record in stored if record.real is not None]
        return [*self.initial, *super()._names(), *(record.topic for record in stored), *real]

    def _queues(self) -> list[int]:
        stored = [r.queue for one in self.part.asked for r in one.stored()]
        return [one.answered("queueId") or 0 for one in self.part.asked] + stored

    def _reason(self, one: Operation) -> str:
        if self._slave:
            return SLAVE
        if one.looks_after:
            return ""
        kind, why = one.reach(int(one.asked["code"]), self._group_limits.get(one.case, RETRY_MAX_TIMES))
        bodiless = kind == "send" and self.profile.always_traced and not one.asked.get("bodySize")
        return "requests without a body" if bodiless else why

    @cached_property
    def _group_limits(self) -> dict[str, int | None]:
        """The retries that the group of each case's retry topic allows, of all groups None once one was updated that nobody knows."""
        limits: dict[str, int] = {}
        known, found = True, dict[str, int | None]()
        for one in self.part.asked:
            if one.op == "update_group" and one.code == SUCCESS:
                group = one.group()
                known = known and group is not None
                limits |= {} if group is None else dict([group])
            elif one.topic.startswith(RETRY_PREFIX):
                name = one.topic.removeprefix(RETRY_PREFIX)
                found[one.case] = limits.get(name, RETRY_MAX_TIMES if known else None)
        return found

    @property
    def _slave(self) -> bool:
        """Whether every send that passed the checks was refused by the store: the broker's role, which no single answer shows. Where
        slaves reject sends unread, every one was."""
        codes = {one.code for one in self.part.asked if one.op in SENDS}
        if self.profile.slave_rejects:
            return codes == {SYSTEM_BUSY}
        return codes - {SYSTEM_ERROR, NO_PERMISSION, TOPIC_NOT_EXIST, None} == {SERVICE_NOT_AVAILABLE}

    def _opened(self, last: int) -> list[tuple[int, int, int | None]]:
        self.requests, self.made = [], []
        opened: list[tuple[int, int, int | None]] = [(-1, self._add(Registering(self.machine), None), None)]
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            if why:
                at = one.opened if one.closed is None else one.closed
                opened.append((one.opened, self._add(Adopted(self.machine, self._codes(one)), one), at))
            elif one.op == ROUTE:
                if one.closed is not None:
                    route = Routed(self.machine, self.topics[one.topic], one.route(), one.code or 0)
                    opened.append((one.opened, self._add(route, one), one.closed))
            else:
                request = self._request(one, "", known=one.closed is not None, claims=frozenset())
                if request is not None:
                    opened.append((one.opened, self._add(request, one), one.closed))
        for since, topic, queue in self._stored_later():
            opened.append((since, self._add(self._own(topic, queue, frozenset()), None), None))
        return opened

    def _stored_later(self) -> Iterator[tuple[int, str, int]]:
        """The places in which the broker may store a record by itself: from which event on, topic and queue."""
        prepared: list[tuple[str, int]] = []
        for one, why in zip(self.part.asked, self.reasons, strict=True):
            if not why or one.closed is None:
                continue
            places = []
            for record in one.stored():
                if record.real is not None and record.topic == SCHEDULE:
                    places.append(record.real)
                elif record.real is not None and record.topic == HALF_TOPIC:
                    prepared.append(record.real)
            if one.op == "end_transaction" and one.code == 0:
                places += prepared
            yield from ((one.closed, topic, queue) for topic, queue in places if 0 <= queue < self.machine.shape.queues)

    @cached_property
    def _statuses(self) -> set[int]:
        """The codes that say that a wait timed out: none does where any message that waits is answered with success."""
        sends = [one for one, why in zip(self.part.asked, self.reasons, strict=True) if one.op in SENDS and not why]
        waiting = {one.code for one in sends if properties_of(one.fields).get(WAIT, "true").lower() == "true"}
        return set() if 0 in waiting else {code for code in STATUSES if code in waiting}

    def _ended(self, one: Operation) -> Ended:
        ended = super()._ended(one)
        against = ""
        if ended.code in STATUSES and ended.code not in self._statuses:
            against = "where others that wait are answered with success"
        elif ended.code == 0 or ended.code in STATUSES:
            place = (one.topic, ended.queue, ended.offset, self._kind(one))
            for record in one.stored():
                if (record.topic, record.queue, record.offset, record.kind) != place:
                    against = f"stored in {record.topic}, queue {record.queue}, offset {record.offset}, transaction {record.kind}"
        return ended._replace(against=against)

    def _start(self, last: int) -> tuple[int, ...]:
        shared = super()._start(last)
        for name, config in self.initial.items():
            shared = self.machine.assigned(shared, self.machine.route_codes(self.topics[name], config))
        return shared

    def _codes(self, one: Operation) -> dict[int, int]:
        """What the broker and the name server have after a request, as far as it was recorded."""
        machine, look = self.machine, self._looks.get(one.case)
        codes: dict[int, int] = {}
        route = one.route() if one.op == ROUTE else None
        if look is not None or route is not None:
            config, topic = look.config() if look is not None else route, self.topics[one.topic]
            codes = {**machine.config_codes(topic, config), **machine.route_codes(topic, config)}
        for record in one.stored():
            if record.kind in COUNTED and 0 <= record.queue < machine.shape.queues:
                codes[machine.offset_slot(self.topics[record.topic], record.queue)] = record.offset + 1
        return codes


__all__ = ["Cases", "RecordedChecker"]
