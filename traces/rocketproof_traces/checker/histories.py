"""Judge whether the specification allows a concurrent history: explained, refused with a finding, or undecided with the bound that was
reached.

Each partition (the requests about one topic of a broker) is judged separately. A finding names the first event that no state explains: the
history up to that event has an explanation, and with the event it has none.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from operator import attrgetter
from typing import Any

from rocketproof_model import interrupts
from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.codes import SUBSCRIPTION_GROUP_NOT_EXIST
from rocketproof_protocol.numbers import java_boolean, whole_number

from ..common.collection import uncollected
from ..common.errors import TraceError, short
from ..common.outcomes import JudgingOutcome, all_of, decisive
from ..history import Event, Header
from ..history.exchanges import CONFIGURE, RecordedExchanges, pair
from .findings import Located, UnexplainedEvent
from .left_out import left_out
from .machine import machine
from .partition import HistoryPartition, partition_history
from .partition_checker import Make, PartitionChecker, last_of
from .placement_checker import PlacementChecker
from .recorded import CaseResults, RecordedChecker
from .steps import SearchBound, SearchEnd

LIMIT = SearchBound().states
SECONDS = 30.0
"""The default limit of computing time per answer, in seconds."""
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class RequestOrder:
    """Requests, by the events that began them.

    `explained` is the order of an explanation, each request at the position of its last step. `beyond` are the requests after an event that
    nothing explains, or after a bound.
    """

    explained: tuple[int, ...] = ()
    beyond: tuple[int, ...] = ()


@dataclass(frozen=True)
class HistoryVerdict:
    """The verdict on a history. `explained` counts answers and reported topics; `out_of_reach` counts requests by reason; `unknown`
    names partitions with their bound."""

    verdict: JudgingOutcome
    profile: str
    events: int
    parts: int
    explained: int
    expanded: int
    out_of_reach: dict[str, int]
    findings: tuple[UnexplainedEvent, ...] = ()
    unknown: tuple[str, ...] = ()
    interrupted: bool = False
    actions: frozenset[str] = frozenset()
    """The actions of the specification that explain the partitions, as far as they are explained."""
    order: RequestOrder = RequestOrder()

    def data(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        shown = {name: value for name, value in vars(self).items() if name not in ("actions", "order")}
        return {**shown, "findings": [f.data() for f in self.findings], "unknown": list(self.unknown)}


@dataclass(frozen=True)
class PartitionVerdict:
    """The verdict on one partition. `explained` counts answers and reported topics.

    `findings` is non-empty if it is refused, with more than one only for a recording. `unknown` names what a bound left undecided. A
    refused partition may have that too: later cases, or which event is the first.
    """

    part: str
    outcome: JudgingOutcome
    explained: int
    expanded: int
    out_of_reach: Counter[str]
    findings: tuple[UnexplainedEvent, ...] = ()
    unknown: str = ""
    actions: frozenset[str] = frozenset()
    order: RequestOrder = RequestOrder()


def judge_history(
    header: Header,
    events: Sequence[Event],
    profile: str,
    limit: int = LIMIT,
    tick: Tick | None = None,
    make: Make = machine,
    seconds: float | None = None,
) -> HistoryVerdict:
    """Judge the events of a history of requests to brokers (`judge_exchanges`)."""
    return judge_exchanges(header, pair(events), profile, limit, tick, make, seconds)


def judge_exchanges(
    header: Header,
    exchanges: RecordedExchanges,
    profile: str,
    limit: int = LIMIT,
    tick: Tick | None = None,
    make: Make = machine,
    seconds: float | None = None,
) -> HistoryVerdict:
    """Judge the exchanges of a history.

    `limit` bounds the states expanded in each partition, and `seconds` the computing after a partition's last explained answer.
    `tick(explained, all)` is called as answers are explained. On Ctrl-C the verdicts so far are kept. Raises TraceError for events that are
    not requests to brokers.
    """
    partitioned = partition_history(exchanges, cluster_of(header), recorded=is_recording(header))
    left = Counter(partitioned.left_out)
    judged: list[PartitionVerdict] = []
    unknown: list[str] = []
    everything = sum(_count_answers(part) for part in partitioned.parts) if tick is not None else 0
    for number, part in enumerate(partitioned.parts):
        before = sum(verdict.explained for verdict in judged)

        def explained(done: int, before: int = before) -> None:
            if tick is not None:
                tick(before + done, everything)

        try:
            judged.append(judge_partition(part, header, profile, SearchBound(limit, seconds), explained, make))
        except KeyboardInterrupt:
            interrupts.heard()
            unknown = [f"{later.name}: interrupted" for later in partitioned.parts[number:]]
            break
    for verdict in judged:
        left.update(verdict.out_of_reach)
    findings = sorted((finding for verdict in judged for finding in verdict.findings), key=lambda f: f.seq)
    not_decided = [verdict.unknown for verdict in judged if verdict.unknown] + unknown
    return HistoryVerdict(
        all_of([*(verdict.outcome for verdict in judged), *(JudgingOutcome.UNDECIDED for _ in unknown)]),
        profile,
        len(exchanges.events),
        len(partitioned.parts),
        sum(verdict.explained for verdict in judged),
        sum(verdict.expanded for verdict in judged),
        dict(left.most_common()),
        tuple(findings),
        tuple(not_decided),
        bool(unknown),
        frozenset().union(*(verdict.actions for verdict in judged)),
        _merged([verdict.order for verdict in judged]),
    )


def _count_answers(part: HistoryPartition) -> int:
    """Return the approximate number of answers and reports of a partition that are to be explained."""
    last = last_of(part)
    return sum(exchange.end is not None and exchange.end <= last for exchange in part.exchanges) + len(part.snapshots)


def cluster_of(header: Header) -> str:
    """Return the name of the cluster of the history's brokers."""
    return str(header.origin.get("cluster", "DefaultCluster"))


def is_recording(header: Header) -> bool:
    """Whether the history is a recording of single requests."""
    return header.origin.get("recording") is True


def _settings_of(header: Header) -> tuple[bool | None, int]:
    """Return the broker's autoCreateTopicEnable, None if the history does not record it, and its brokerPermission. Raises TraceError."""
    settings = header.origin.get("settings")
    settings = {} if settings is None else settings
    if not isinstance(settings, Mapping):
        raise TraceError("header", f"'origin.settings' is {short(settings)}", "give an object of the broker's settings by their names")
    auto, permission = _switch(settings, "autoCreateTopicEnable"), settings.get("brokerPermission")
    if permission is not None and str(permission) not in map(str, range(16)):
        raise TraceError("header", f"'brokerPermission' is {short(permission)}", "give a number such as 6")
    return auto, 6 if permission is None else whole_number(permission)


def _switch(settings: Mapping[str, Any], name: str) -> bool | None:
    """Return a boolean setting, None if it is missing. Raises TraceError."""
    value = settings.get(name)
    if value is not None and str(value).lower() not in ("true", "false"):
        raise TraceError("header", f"'{name}' is {short(value)}", "give true or false")
    return None if value is None else java_boolean(str(value))


def judge_partition(
    part: HistoryPartition,
    header: Header,
    profile: str,
    bound: SearchBound,
    tick: Callable[[int], None] = lambda _: None,
    make: Make = machine,
) -> PartitionVerdict:
    """Judge one partition. `tick(explained)` is called as answers are explained."""
    with uncollected():
        return _judged(part, header, profile, bound, tick, make)


def _judged(
    part: HistoryPartition, header: Header, profile: str, bound: SearchBound, tick: Callable[[int], None], make: Make
) -> PartitionVerdict:
    if part.recorded:
        return _recorded(part, header, profile, bound, tick, make)
    attempt = _search_settings(part, PROFILES[profile], header, make, bound, tick)
    checker, judged = attempt.checker, attempt.judged
    left = left_out(checker.part, checker.reasons)
    actions = frozenset(step.label for step in judged.steps)
    if attempt.outcome is JudgingOutcome.REFUSED:
        finding, more, open_ = attempt.located
        return PartitionVerdict(
            part.name, attempt.outcome, len(finding.prefix), judged.expanded + more, left, (finding,),
            unknown=open_ and f"{part.name}: {open_}", actions=actions, order=_order(checker, finding.order),
        )  # fmt: skip
    unknown = f"{part.name}: after {judged.end} answers, {judged.bound} {checker.bounded_at(judged)}" if judged.bound else ""
    order = _order(checker, checker.order(judged.steps))
    return PartitionVerdict(part.name, attempt.outcome, judged.end, judged.expanded, left, unknown=unknown, actions=actions, order=order)


def _order(checker: PartitionChecker, explained: tuple[int, ...]) -> RequestOrder:
    """Return the order, with the judged requests that are not in it."""
    known, last = set(explained), last_of(checker.part)
    judged = (
        exchange for exchange, why in zip(checker.part.exchanges, checker.reasons, strict=True) if not why and exchange.op != CONFIGURE
    )
    rest = (exchange.seq for exchange in judged if exchange.end is not None and exchange.end <= last and exchange.seq not in known)
    return RequestOrder(explained, tuple(rest))


def _merged(orders: Sequence[RequestOrder]) -> RequestOrder:
    """Merge the orders of all partitions. Each partition's order is kept, and no request comes before a request that had ended when it
    began."""
    queues = [deque(order.explained) for order in orders if order.explained]
    explained: list[int] = []
    while queues:
        first = min(queues, key=lambda queue: queue[0])
        explained.append(first.popleft())
        if not first:
            queues.remove(first)
    return RequestOrder(tuple(explained), tuple(sorted(seq for order in orders for seq in order.beyond)))


def _recorded(
    part: HistoryPartition, header: Header, profile: str, bound: SearchBound, tick: Callable[[int], None], make: Make
) -> PartitionVerdict:
    """Judge the cases of a recording. If its settings are unknown, the settings with the fewest refused cases count."""

    def attempts() -> Iterator[tuple[RecordedChecker, CaseResults]]:
        for auto_create, permission, auto_groups in _possible_settings(part, header):
            checker = RecordedChecker(part, PROFILES[profile], cluster_of(header), make, auto_create, permission, auto_groups=auto_groups)
            yield checker, checker.cases(bound, tick)

    checker, judged = decisive(attempts(), outcome=lambda attempt: attempt[1].outcome, progress=lambda attempt: -len(attempt[1].findings))
    unknown = f"{part.name}: {judged.bound}" if judged.bound else ""
    order = _order(checker, checker.explained())
    return PartitionVerdict(
        part.name, judged.outcome, judged.explained, judged.expanded, checker.left_out(), judged.findings, unknown, order=order
    )  # fmt: skip


def _possible_settings(part: HistoryPartition, header: Header) -> Iterator[tuple[bool, int, bool]]:
    """Yield each possible combination of autoCreateTopicEnable, brokerPermission and autoCreateSubscriptionGroup. Raises TraceError."""
    auto, permission = _settings_of(header)
    for auto_create, auto_groups in product(part.switches if auto is None else (auto,), _auto_groups(part, header)):
        yield auto_create, permission, auto_groups


def _auto_groups(part: HistoryPartition, header: Header) -> tuple[bool, ...]:
    """Return the possible values of autoCreateSubscriptionGroup. Raises TraceError for an invalid one."""
    setting = _switch(header.origin.get("settings") or {}, "autoCreateSubscriptionGroup")
    if setting is not None:
        return (setting,)
    return (True, False) if any(exchange.code == SUBSCRIPTION_GROUP_NOT_EXIST for exchange in part.exchanges) else (True,)


@dataclass(frozen=True)
class _SettingsSearch:
    """The search of a partition under certain settings."""

    checker: PartitionChecker
    judged: SearchEnd
    bound: SearchBound

    @property
    def outcome(self) -> JudgingOutcome:
        return (
            JudgingOutcome.EXPLAINED if self.judged.complete else JudgingOutcome.UNDECIDED if self.judged.bound else JudgingOutcome.REFUSED
        )

    @cached_property
    def located(self) -> Located:
        """The first event that no state explains, in a refused partition."""
        return self.checker.finding(self.judged, self.bound)

    @property
    def progress(self) -> int:
        """How far the partition is explained, to compare settings with the same outcome."""
        return self.located.finding.seq if self.outcome is JudgingOutcome.REFUSED else self.judged.end


def _search_settings(
    part: HistoryPartition, profile: Profile, header: Header, make: Make, bound: SearchBound, tick: Callable[[int], None]
) -> _SettingsSearch:
    """Search under the broker's settings. If they are unknown, any possible settings may explain the partition."""

    def attempts() -> Iterator[_SettingsSearch]:
        for auto_create, permission, auto_groups in _possible_settings(part, header):
            arguments = part, profile, cluster_of(header), make, auto_create, permission
            checker = PlacementChecker(*arguments, auto_groups=auto_groups) if part.placed else PartitionChecker(*arguments)
            yield _SettingsSearch(checker, checker.search(None, bound, tick), bound)

    return decisive(attempts(), outcome=attrgetter("outcome"), progress=attrgetter("progress"))


__all__ = [
    "LIMIT",
    "UnexplainedEvent",
    "PartitionVerdict",
    "HistoryVerdict",
    "cluster_of",
    "is_recording",
    "judge_exchanges",
    "judge_history",
    "judge_partition",
]
