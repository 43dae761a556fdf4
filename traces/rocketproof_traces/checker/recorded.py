"""Judge a recording of single requests: one client sends one request after the other to one broker.

All topics are judged together, including their routes at the name server. After each case the recording states the topic's configuration
and the stored records. So the judging continues after a case that the specification does not cover or that no state explains: its recorded
state is adopted, and later cases are judged from there.
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
from ..history.covered import COUNTED, STATUSES, UNREADABLE, Config, StoredMessage
from ..history.exchange import Exchange
from ..history.exchanges import CREATION, PERMISSION, ROUTE_UPDATES, SENDS
from .administration import RouteUpdate, TopicUpdate
from .background import AdoptedState, BrokerRegistrations
from .findings import UnexplainedEvent
from .group_offsets import PROGRESS, belongs_to_group, forgets, named
from .left_out import SLAVE, reason
from .placement import GROUP_CHANGES, is_timed, transaction_end
from .placement_checker import UNSEEN_COMMITS, PlacementChecker
from .queries import RouteQuery
from .sends import Claims, Send, SendResponse
from .steps import CheckedRequest, Point, SearchBound

ROUTE = "route"
SMALL_FILE = 1 << 20
"""The smallest log file that recordings are made with, in bytes. A record that fits into it is never lost."""
MODELLED_OPS = (
    *(ROUTE, *SENDS, *GROUP_CHANGES, *ROUTE_UPDATES, *PROGRESS),
    *("send_back", "end_transaction", "update_topic", "delete_topic", "configure", "max_offset", "topic_config"),
)
"""Requests whose effect on groups and their offsets the specification covers."""


class CaseResults(NamedTuple):
    """The result of judging a recording. `explained` counts answers and queries of topics; `bound` names the bound that stopped the
    judging, empty if none did."""

    findings: tuple[UnexplainedEvent, ...]
    explained: int
    expanded: int
    bound: str

    @property
    def outcome(self) -> JudgingOutcome:
        """Refused if a case is: the case comes before the bound, so later cases cannot explain it."""
        return JudgingOutcome.REFUSED if self.findings else JudgingOutcome.UNDECIDED if self.bound else JudgingOutcome.EXPLAINED


@dataclass
class RecordedChecker(PlacementChecker):
    """The recording of one broker and the machine that judges it."""

    def cases(self, bound: SearchBound, tick: Callable[[int], None] = lambda _: None) -> CaseResults:
        """Judge the cases in order."""
        last = max((exchange.end or exchange.seq for exchange in self.part.exchanges), default=0)
        search = self._searching(self._open_requests(last), bound, tick)
        points, first, findings, skipped = [Point(self._initial_state(last))], 0, list[UnexplainedEvent](), 0
        self.refused, self.undecided = set[str](), set[str]()
        while True:
            result = search.run(points, first)
            if result.bound:
                self.undecided = {self._case_at(k) for k in range(result.end, len(self.answers))}
            if result.complete or result.bound:
                break
            answer = self.answers[result.end]
            findings.append(self._finding(answer.seq, self.requests[answer.request], self.exchanges[answer.request], result))
            case = self._case_at(result.end)
            self.refused.add(case)
            first = result.end
            while first < len(self.answers) and self._case_at(first) == case:
                first += 1
            skipped += first - result.end
            codes = self._codes(self._requests[case])
            points = [Point(self.machine.assigned(shared, codes), moved) for shared, moved in result.stuck]
        adopted = sum(isinstance(self.requests[answer.request], AdoptedState) for answer in self.answers[: result.end])
        return CaseResults(tuple(findings), result.end - skipped - adopted, search.expanded, result.bound)

    def explained(self) -> tuple[int, ...]:
        """Return the requests of the explained cases, by the events that began them, in order."""
        lost = self.refused | self.undecided
        exchanges = zip(self.part.exchanges, self.reasons, strict=True)
        return tuple(
            exchange.seq
            for exchange, why in exchanges
            if not why and exchange.end is not None and (exchange.queried_after or exchange.case) not in lost
        )

    def _case_at(self, answer: int) -> str:
        exchange = self.exchanges[self.answers[answer].request]
        assert exchange is not None
        return exchange.queried_after or exchange.case

    def left_out(self) -> Counter[str]:
        """Count the cases that are not judged, by reason. A case whose status reports a timed-out wait is among them, although its place
        is judged."""
        counts: Counter[str] = Counter()
        for exchange, why in zip(self.part.exchanges, self.reasons, strict=True):
            if exchange.case in self.undecided:
                counts["not decided within the limit"] += not exchange.queried_after
            elif not exchange.queried_after:
                silent = exchange.op == "end_transaction" and not transaction_end(exchange)  # it gets no answer
                counts[why or ("no answer came" if exchange.end is None and not silent else "")] += 1
        del counts[""]
        return counts

    # Requests
    @cached_property
    def _requests(self) -> dict[str, Exchange]:
        return {exchange.case: exchange for exchange in self.part.exchanges if not exchange.queried_after}

    @cached_property
    def _configs_after(self) -> dict[str, Exchange]:
        """The query for the topic's configuration after each case."""
        return {exchange.queried_after: exchange for exchange in self.part.exchanges if exchange.queried_after}

    def _reason_after_deletion(self, exchange: Exchange) -> str:
        del exchange
        return ""  # the broker serves one request after the other, and the state shows what a deletion has left

    @cached_property
    def _max_offset_bounds(self) -> dict[int, int]:
        return {} if self._deletions else super()._max_offset_bounds

    def _initial(self) -> dict[str, Config]:
        """Return the system topics. The first route shown for a topic holds from the beginning."""
        routes = {
            exchange.topic: route
            for exchange in reversed(self.part.exchanges)
            if exchange.op == ROUTE and (route := exchange.route()) is not None
        }
        return {name: routes.get(name, config) for name, config in super()._initial().items()}

    def _names(self) -> list[str]:
        stored = [record for exchange in self.part.exchanges for record in exchange.stored()]
        real = [record.real[0] for record in stored if record.real is not None]
        groups = [RETRY_PREFIX + named(exchange, "consumerGroup") for exchange in self.part.exchanges if exchange.op in PROGRESS]
        return [*self.initial, *super()._names(), *(record.topic for record in stored), *real, *groups]

    def _queues(self) -> list[int]:
        stored = [r.queue for exchange in self.part.exchanges for r in exchange.stored()]
        return [exchange.answered("queueId") or 0 for exchange in self.part.exchanges] + stored

    @property
    def _knows_routes(self) -> bool:
        return not self._slave

    def _reason(self, exchange: Exchange) -> str:
        if exchange.queried_after or exchange.op in (ROUTE, *GROUP_CHANGES, "send_back"):
            return ""
        code = whole_number(exchange.request["code"])
        if exchange.op in PROGRESS:
            return self._offset_reason(exchange)
        if exchange.op in SENDS:
            unread = exchange.reach(code)[1] == UNREADABLE
            if unread and code == SEND_MESSAGE and self.profile.null_fields:
                return UNREADABLE  # what could be read may have had an effect (REM-04)
            if is_timed(exchange, self.profile) and not self.profile.timers:
                return "timers"
            return "batches without their body" if exchange.messages is None and exchange.code in (SUCCESS, *STATUSES) else ""
        if exchange.op == "update_topic":
            why = exchange.reach(code)[1]
            return "" if why in ("order topics", "filter types") else why
        if exchange.op == "configure":
            unknown = sorted(exchange.settings().keys() - {CREATION, PERMISSION}) or ([] if exchange.settings() else ["without its body"])
            return f"changes of settings: {', '.join(unknown)}" if unknown else ""
        if exchange.op == "delete_topic" or (exchange.op in ROUTE_UPDATES and self._knows_routes):
            return ""
        if exchange.op == "max_offset":
            return (
                "records of ended transactions"
                if exchange.topic == OP_HALF_TOPIC
                else self._reason_after_deletion(exchange) or reason(exchange, self.profile)
            )
        if exchange.op == "end_transaction":
            return "" if exchange.end is None else self._unknown_half(exchange)
        return f"request code {code}"

    # Groups and their offsets

    @cached_property
    def _first_unmodelled(self) -> int:
        """The first request that may create groups or commit offsets and that the specification does not cover."""
        return min((exchange.seq for exchange in self.part.exchanges if exchange.op not in MODELLED_OPS), default=1 << 62)

    def _offset_reason(self, exchange: Exchange) -> str:
        if self._first_unmodelled < exchange.seq:
            return UNSEEN_COMMITS
        return self._unreadable(exchange)

    def _deleted_offsets(self, exchange: Exchange) -> tuple[int, ...]:
        if not forgets(exchange, self.profile):
            return ()
        return tuple(
            number for place, number in self._offset_places.items() if belongs_to_group(place, str(exchange.fields.get("groupName")))
        )

    # Records

    @staticmethod
    def _found_records(exchange: Exchange) -> list[StoredMessage]:
        """Return the records found at the place that the answer to a send names. A blank is not a record and has no topic."""
        return [record for record in exchange.stored() if record.topic]

    @cached_property
    def _lost(self) -> set[str]:
        """The cases whose record fits into no log file: it is acknowledged, and its offset is used again by the next record (CL-08,
        HAZ-22)."""
        lost, later = set(), set[tuple[str, int | None, int | None]]()
        for exchange in reversed(self.part.exchanges):
            if exchange.op in SENDS and exchange.code in (SUCCESS, *STATUSES):
                place = (exchange.topic, exchange.answered("queueId"), exchange.answered("queueOffset"))
                if (
                    place in later
                    and whole_number(exchange.request.get("bodySize") or 0) > SMALL_FILE - 2 * FIXED
                    and not self._found_records(exchange)
                ):
                    lost.add(exchange.case)
                later.add(place)
        return lost

    def _stored_sends(self) -> Iterator[Exchange]:
        return (exchange for exchange in super()._stored_sends() if exchange.case not in self._lost)

    def _starts_empty(self, topic: str) -> bool:
        return True

    def _delivered(self, exchange: Exchange, halves: list[tuple[int, tuple[str, int]]]) -> list[tuple[str, int]]:
        places = super()._delivered(exchange, halves)
        stored = exchange.stored()
        return [record.real for record in stored if record.real is not None and record.topic == SCHEDULE] if stored else places

    @cached_property
    def _slave(self) -> bool:
        """Whether the broker is a slave: every send that passed the checks was rejected by the store. No single answer shows the role.

        Some releases reject sends of slaves unread, so every send was rejected. A slave that rejects changes of topics and groups names its
        role in the remark.
        """
        if any(exchange.code == SYSTEM_ERROR and SLAVE in exchange.remark for exchange in self.part.exchanges):
            return True
        codes = {exchange.code for exchange in self.part.exchanges if exchange.op in SENDS}
        if self.profile.slave_rejects:
            return codes == {SYSTEM_BUSY}
        return codes - {SYSTEM_ERROR, NO_PERMISSION, TOPIC_NOT_EXIST, None} == {SERVICE_NOT_AVAILABLE}

    def _open_requests(self, last: int) -> list[tuple[int, int, int | None]]:
        self.requests, self.exchanges = [], []
        opened: list[tuple[int, int, int | None]] = []
        if self._knows_routes:
            opened.append((-1, self._add(BrokerRegistrations(self.machine), None), None))
        for exchange, why in zip(self.part.exchanges, self.reasons, strict=True):
            if why:
                at = exchange.seq if exchange.end is None else exchange.end
                opened.append((exchange.seq, self._add(AdoptedState(self.machine, self._codes(exchange)), exchange), at))
            else:
                request = self._request(exchange, "", known=exchange.end is not None, claims=frozenset())
                if request is not None:
                    opened.append((exchange.seq, self._add(request, exchange), exchange.end))
        opened += self._after_deletions(last)
        for since, topic, queue in self._later_records():
            opened.append((since, self._add(self._broker_record(topic, queue, frozenset()), None), None))
        return opened

    def _request(self, exchange: Exchange, why: str, *, known: bool, claims: Claims) -> CheckedRequest | None:
        machine, code = self.machine, exchange.code if known else None
        if exchange.op == ROUTE:
            route = exchange.route()
            return RouteQuery(machine, self.topics[exchange.topic], route, exchange.code or 0) if known else None
        if exchange.op in ROUTE_UPDATES:
            return RouteUpdate(machine, machine.route_updates[exchange.op], self._route_args(exchange), code)
        for problem in self._problems(exchange):
            if rejected := self._rejected(problem, code):
                return rejected
        if exchange.op in (*GROUP_CHANGES, "end_transaction") and not known:
            return None
        request = super()._request(exchange, why, known=known, claims=claims)
        if isinstance(request, Send) and exchange.case in self._lost:
            return replace(request, count=0)
        if isinstance(request, TopicUpdate) and java_boolean(str(exchange.fields.get("order", ""))):
            return replace(request, wanted=replace(request.wanted, order=True))
        return request

    def _problems(self, exchange: Exchange) -> Iterator[str]:
        """Yield the problems for which some release rejects a request before anything else."""
        op, administers = exchange.op, exchange.op in ("update_topic", "delete_topic", *GROUP_CHANGES)
        if op == "delete_group" and exchange.fields.get("groupName") is None:
            yield "nameless group"
        if op in (*SENDS, "send_back") and self._slave:
            yield "send to a slave"
        if op in SENDS and exchange.reach(whole_number(exchange.request["code"]))[1] == UNREADABLE:
            yield "no header"
        if administers and self._slave:
            yield "change on a slave"
        if op == "update_topic" and exchange.reach(whole_number(exchange.request["code"]))[1] == "filter types":
            yield "filter types"

    def _route_args(self, exchange: Exchange) -> tuple[int, ...]:
        """Return the arguments of a change at the name server; none if it does not concern this broker or names no topic."""
        topic = self.topics[exchange.topic]
        if exchange.fields.get("topic") is None:
            return ()
        if exchange.op == "forget_topic":
            by_cluster = self.profile.forgets_by_cluster
            return () if by_cluster and exchange.fields.get("clusterName") not in (None, "", self.cluster) else (0, topic)
        routes = exchange.registered_routes()
        mine = [k for k, (broker, _) in enumerate(routes) if broker == self.part.broker]
        if not mine:
            return ()
        config = routes[mine[-1]][1]
        strangers = "before" if mine[0] > 0 else "behind" if mine[-1] < len(routes) - 1 else "none"
        return (0, topic, config.read, config.write, config.perm, Strangers.encode(strangers))

    @cached_property
    def _statuses(self) -> set[int]:
        """The codes that report a timed-out wait; none if any waiting message is answered with success."""
        sends = [exchange for exchange, why in zip(self.part.exchanges, self.reasons, strict=True) if exchange.op in SENDS and not why]
        waiting = {exchange.code for exchange in sends if self._waits(exchange)}
        return set() if 0 in waiting else {code for code in STATUSES if code in waiting}

    @staticmethod
    def _waits(exchange: Exchange) -> bool:
        return java_boolean(exchange.properties.get(WAIT, "true"))

    def _response(self, exchange: Exchange) -> SendResponse:
        ended = super()._response(exchange)
        against = ""
        if ended.code in STATUSES and not (ended.code in self._statuses and self._waits(exchange)):
            against = "where others that wait are answered with success" if self._waits(exchange) else "though it does not wait"
        stored, kind = self._found_records(exchange) if exchange.case in self._lost else list(exchange.stored()), self._kind(exchange)
        places = [(exchange.topic, ended.queue, (ended.offset or 0) + k, kind) for k in range(len(stored))]
        odd = (r for r, place in zip(stored, places, strict=True) if (r.topic, r.queue, r.offset, r.kind) != place)
        note = next((f"stored in {r.topic}, queue {r.queue}, offset {r.offset}, transaction {r.kind}" for r in odd), "")
        records = tuple((self.topics[r.topic], r.queue, r.offset, r.kind) for r in stored)
        return ended._replace(against=against, records=records, note=note)

    def _initial_state(self, last: int) -> tuple[int, ...]:
        shared = super()._initial_state(last)
        for name, config in self.initial.items():
            if self._knows_routes:
                shared = self.machine.assigned(shared, self.machine.route_codes(self.topics[name], config))
        return shared

    def _codes(self, exchange: Exchange) -> dict[int, int]:
        """Return what the broker and the name server have after a request, as far as it was recorded."""
        machine, config_query = self.machine, self._configs_after.get(exchange.case)
        codes: dict[int, int] = {}
        route = exchange.route() if exchange.op == ROUTE else None
        if config_query is not None or route is not None:
            config, topic = config_query.config() if config_query is not None else route, self.topics[exchange.topic]
            codes = {**machine.config_codes(topic, config), **(machine.route_codes(topic, config) if self._knows_routes else {})}
        for record in exchange.stored():
            if record.kind in COUNTED and record.queue in machine.queues:
                codes[machine.offset_slot(self.topics[record.topic], record.queue)] = record.offset + 1
        return codes


__all__ = ["CaseResults", "RecordedChecker"]
