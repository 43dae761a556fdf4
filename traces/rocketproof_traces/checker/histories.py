"""Is a concurrent history one that the specification allows? Ok, Illegal with a finding, or Unknown with the bound that was reached.

Each part (a topic of a broker) is judged by itself. A finding names the first event that no state explains: the history cut there has an
explanation, and with that event it has none any more.
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
from ..history.exchanges import CONFIGURE, read_exchanges
from .left_out import left_out
from .machine import machine
from .part import Located, Make, PartChecker, UnexplainedEvent, last_of
from .parts import HistoryPartition, parted
from .placed import PlacedChecker
from .recorded import Cases, RecordedChecker
from .steps import SearchBound, SearchEnd

LIMIT = SearchBound().states
SECONDS = 30.0
"""Seconds of computing for an answer, where a user gives no other number."""
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class RequestOrder:
    """Requests by the events that began them: `explained` in the order of an explanation, each where it makes its last step; `beyond` are
    those that come after what nothing explains, or after a bound."""

    explained: tuple[int, ...] = ()
    beyond: tuple[int, ...] = ()


@dataclass(frozen=True)
class HistoryVerdict:
    """`explained` counts answers and statements; `out_of_reach` counts requests by reason; `unknown` names parts with their bound."""

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
    """The actions of the specification by which the parts are explained, as far as they are."""
    order: RequestOrder = RequestOrder()

    def data(self) -> dict[str, Any]:
        """The verdict as JSON values."""
        shown = {name: value for name, value in vars(self).items() if name not in ("actions", "order")}
        return {**shown, "findings": [f.data() for f in self.findings], "unknown": list(self.unknown)}


@dataclass(frozen=True)
class PartVerdict:
    """What came of one part. `explained` counts answers and statements; `findings` are there if it is refused, more than one only of a
    recording; `unknown` says what a bound left open, which a refused part may have too: later cases, or which event is the first."""

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
    """Judge a history of requests to brokers. `limit` bounds the states that are expanded in each part, `seconds` the computing after the
    last answer of a part that was explained.

    `tick(explained, all)` is called as answers are explained. Stopped by Ctrl-C, it keeps what was judged. Raises TraceError for events
    that are not of requests to brokers.
    """
    found = read_exchanges(events)
    split = parted(found, cluster_of(header), recorded=is_recording(header))
    left = Counter(split.left_out)
    judged: list[PartVerdict] = []
    unknown: list[str] = []
    everything = sum(_answers_of(part) for part in split.parts) if tick is not None else 0
    for number, part in enumerate(split.parts):
        before = sum(one.explained for one in judged)

        def explained(done: int, before: int = before) -> None:
            if tick is not None:
                tick(before + done, everything)

        try:
            judged.append(judge_part(part, header, profile, SearchBound(limit, seconds), explained, make))
        except KeyboardInterrupt:
            interrupts.heard()
            unknown = [f"{later.name}: interrupted" for later in split.parts[number:]]
            break
    for one in judged:
        left.update(one.out_of_reach)
    findings = sorted((finding for one in judged for finding in one.findings), key=lambda f: f.seq)
    not_decided = [one.unknown for one in judged if one.unknown] + unknown
    return HistoryVerdict(
        all_of([*(one.outcome for one in judged), *(JudgingOutcome.UNDECIDED for _ in unknown)]),
        profile,
        found.events,
        len(split.parts),
        sum(one.explained for one in judged),
        sum(one.expanded for one in judged),
        dict(left.most_common()),
        tuple(findings),
        tuple(not_decided),
        bool(unknown),
        frozenset().union(*(one.actions for one in judged)),
        _merged([one.order for one in judged]),
    )


def _answers_of(part: HistoryPartition) -> int:
    """How many answers and statements of a part there are to be explained, about."""
    last = last_of(part)
    return sum(one.end is not None and one.end <= last for one in part.asked) + len(part.snapshots)


def cluster_of(header: Header) -> str:
    """The cluster that the history's brokers say they belong to."""
    return str(header.origin.get("cluster", "DefaultCluster"))


def is_recording(header: Header) -> bool:
    """Whether the history is a recording of single requests, one after the other."""
    return header.origin.get("recording") is True


def _settings_of(header: Header) -> tuple[bool | None, int]:
    """The broker's autoCreateTopicEnable, None if the history does not say it, and its brokerPermission. Raises TraceError."""
    settings = header.origin.get("settings")
    settings = {} if settings is None else settings
    if not isinstance(settings, Mapping):
        raise TraceError("header", f"'origin.settings' is {short(settings)}", "give an object of the broker's settings by their names")
    auto, permission = _switch(settings, "autoCreateTopicEnable"), settings.get("brokerPermission")
    if permission is not None and str(permission) not in map(str, range(16)):
        raise TraceError("header", f"'brokerPermission' is {short(permission)}", "give a number such as 6")
    return auto, 6 if permission is None else whole_number(permission)


def _switch(settings: Mapping[str, Any], name: str) -> bool | None:
    """A setting that is on or off, None if nobody says it. Raises TraceError."""
    value = settings.get(name)
    if value is not None and str(value).lower() not in ("true", "false"):
        raise TraceError("header", f"'{name}' is {short(value)}", "give true or false")
    return None if value is None else java_boolean(str(value))


def judge_part(
    part: HistoryPartition,
    header: Header,
    profile: str,
    bound: SearchBound,
    tick: Callable[[int], None] = lambda _: None,
    make: Make = machine,
) -> PartVerdict:
    """Judge one part by itself. `tick(explained)` is called as answers are explained."""
    with uncollected():
        return _judged(part, header, profile, bound, tick, make)


def _judged(
    part: HistoryPartition, header: Header, profile: str, bound: SearchBound, tick: Callable[[int], None], make: Make
) -> PartVerdict:
    if part.recorded:
        return _recorded(part, header, profile, bound, tick, make)
    tried = _tried(part, PROFILES[profile], header, make, bound, tick)
    checker, judged = tried.checker, tried.judged
    left = left_out(checker.part, checker.reasons)
    actions = frozenset(step.label for step in judged.steps)
    if tried.outcome is JudgingOutcome.REFUSED:
        finding, more, open_ = tried.located
        return PartVerdict(
            part.name, tried.outcome, len(finding.prefix), judged.expanded + more, left, (finding,),
            unknown=open_ and f"{part.name}: {open_}", actions=actions, order=_order(checker, finding.order),
        )  # fmt: skip
    unknown = f"{part.name}: after {judged.end} answers, {judged.bound} {checker.bounded_at(judged)}" if judged.bound else ""
    order = _order(checker, checker.order(judged.steps))
    return PartVerdict(part.name, tried.outcome, judged.end, judged.expanded, left, unknown=unknown, actions=actions, order=order)


def _order(checker: PartChecker, explained: tuple[int, ...]) -> RequestOrder:
    """The order with what of the part's requests is judged and not in it."""
    known, last = set(explained), last_of(checker.part)
    judged = (one for one, why in zip(checker.part.asked, checker.reasons, strict=True) if not why and one.op != CONFIGURE)
    rest = (one.seq for one in judged if one.end is not None and one.end <= last and one.seq not in known)
    return RequestOrder(explained, tuple(rest))


def _merged(orders: Sequence[RequestOrder]) -> RequestOrder:
    """One order of the requests of all parts: that of each part, and none before one that had ended when it began."""
    queues = [deque(order.explained) for order in orders if order.explained]
    explained: list[int] = []
    while queues:
        first = min(queues, key=lambda queue: queue[0])
        explained.append(first.popleft())
        if not first:
            queues.remove(first)
    return RequestOrder(tuple(explained), tuple(sorted(one for order in orders for one in order.beyond)))


def _recorded(
    part: HistoryPartition, header: Header, profile: str, bound: SearchBound, tick: Callable[[int], None], make: Make
) -> PartVerdict:
    """Judge the cases of a recording. Where its settings are not known, those under which the fewest cases are refused count."""

    def tried() -> Iterator[tuple[RecordedChecker, Cases]]:
        for auto_create, permission, auto_groups in _possible_settings(part, header):
            checker = RecordedChecker(part, PROFILES[profile], cluster_of(header), make, auto_create, permission, auto_groups=auto_groups)
            yield checker, checker.cases(bound, tick)

    checker, judged = decisive(tried(), outcome=lambda one: one[1].outcome, progress=lambda one: -len(one[1].findings))
    unknown = f"{part.name}: {judged.bound}" if judged.bound else ""
    order = _order(checker, checker.explained())
    return PartVerdict(
        part.name, judged.outcome, judged.explained, judged.expanded, checker.left_out(), judged.findings, unknown, order=order
    )  # fmt: skip


def _possible_settings(part: HistoryPartition, header: Header) -> Iterator[tuple[bool, int, bool]]:
    """Yield each autoCreateTopicEnable, brokerPermission and autoCreateSubscriptionGroup that are possible together. Raises TraceError."""
    auto, permission = _settings_of(header)
    for auto_create, auto_groups in product(part.switches if auto is None else (auto,), _auto_groups(part, header)):
        yield auto_create, permission, auto_groups


def _auto_groups(part: HistoryPartition, header: Header) -> tuple[bool, ...]:
    """The values of autoCreateSubscriptionGroup that are possible. Raises TraceError for one that is none."""
    said = _switch(header.origin.get("settings") or {}, "autoCreateSubscriptionGroup")
    if said is not None:
        return (said,)
    return (True, False) if any(one.code == SUBSCRIPTION_GROUP_NOT_EXIST for one in part.asked) else (True,)


@dataclass(frozen=True)
class _Tried:
    """The search of a part under certain settings."""

    checker: PartChecker
    judged: SearchEnd
    bound: SearchBound

    @property
    def outcome(self) -> JudgingOutcome:
        return (
            JudgingOutcome.EXPLAINED if self.judged.complete else JudgingOutcome.UNDECIDED if self.judged.bound else JudgingOutcome.REFUSED
        )

    @cached_property
    def located(self) -> Located:
        """The first event that no state explains, of a part that is refused."""
        return self.checker.finding(self.judged, self.bound)

    @property
    def progress(self) -> int:
        """How far the part is explained, to compare settings with the same outcome."""
        return self.located.finding.seq if self.outcome is JudgingOutcome.REFUSED else self.judged.end


def _tried(part: HistoryPartition, profile: Profile, header: Header, make: Make, bound: SearchBound, tick: Callable[[int], None]) -> _Tried:
    """Search under the broker's settings. Where they are not known, any that are possible may explain the part."""

    def tried() -> Iterator[_Tried]:
        for auto_create, permission, auto_groups in _possible_settings(part, header):
            given = part, profile, cluster_of(header), make, auto_create, permission
            checker = PlacedChecker(*given, auto_groups=auto_groups) if part.placed else PartChecker(*given)
            yield _Tried(checker, checker.search(None, bound, tick), bound)

    return decisive(tried(), outcome=attrgetter("outcome"), progress=attrgetter("progress"))


__all__ = ["LIMIT", "UnexplainedEvent", "PartVerdict", "HistoryVerdict", "cluster_of", "is_recording", "judge_history", "judge_part"]
