"""Transition coverage of a target: which transitions of the small scopes the responses to a cover's programs show.

A transition is covered if its step was answered as the specification states, all earlier steps of its program were, too, and no judge
contradicts the program up to there. What is not covered has a reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final, TypeVar

from rocketproof_protocol import codes
from rocketproof_traces.history.exchange import Exchange

from ..brokers.runs.parsed import ParsedHistory, load
from ..judging.verdicts import JudgedProgram
from ..programs.call import Context, StoredPlace
from ..programs.cover.statespace import NotTaken, OutsideTransition, StatedResponse, StateGraph
from ..programs.coverplan import CoverPlan
from ..programs.names import ProgramNames
from ..programs.vocabulary import Step, is_request, request_of

K = TypeVar("K")
_OF_SCOPE = ("scope", "inScope", "reachable", "covered", "rest")


class Uncovered(Enum):
    """Why a transition that requests can cause was not covered. The value is the sentence in reports."""

    OTHERWISE = "the target answered otherwise"
    AFTER = "an earlier step of its program was answered otherwise"
    BUSY = "the target rejected a request because it was busy"
    CONTRADICTED = "a judge contradicts its program"
    NOT_PERFORMED = "no program performed it: the run ended before"
    LACKING = "the target cannot have the settings that it needs, or has no name server"

    @property
    def is_missed(self) -> bool:
        """Whether the target could have shown the transition."""
        return self is not Uncovered.LACKING


MISSED: Final = tuple(reason.value for reason in Uncovered if reason.is_missed)
"""The reasons for which a reachable transition counts against the target."""


@dataclass
class ActionCoverage:
    """The transitions of one action in a part of a scope.

    - `in_scope`: action instances in all states that requests reach, also while a request is served.
    - `reachable`: those that requests cause and responses show. `covered`: those that recorded responses show.
    - `rest`: the number of others by reason. `guards`: reachable and covered refusals by the guard that refuses.
    """

    scope: str
    part: str
    action: str
    in_scope: int = 0
    reachable: int = 0
    covered: int = 0
    rest: Counter[NotTaken | Uncovered] = field(default_factory=Counter)
    guards: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def missed(self) -> int:
        """The number of transitions that the target should have shown and did not."""
        return sum(times for reason, times in self.rest.items() if isinstance(reason, Uncovered) and reason.is_missed)

    def record(self) -> dict[str, Any]:
        return {
            "scope": self.scope,
            "part": self.part,
            "action": self.action,
            "inScope": self.in_scope,
            "reachable": self.reachable,
            "covered": self.covered,
            "rest": {reason.value: times for reason, times in sorted(self.rest.items(), key=lambda row: -row[1])},
            "guards": {name: {"reachable": all_, "covered": covered} for name, (all_, covered) in self.guards.items()},
        }


@dataclass(frozen=True)
class StatedOtherwise:
    """A response that the specification states, and what the target answered instead, with one history that shows it.

    Both are names of codes, with the offset of a search, or "a response" and "no response".
    """

    scope: str
    part: str
    action: str
    stated: str
    answered: str
    history: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.scope}, {self.part}: {self.action}: stated {self.stated}, answered {self.answered} ({self.history})"


@dataclass(frozen=True)
class CoverageReport:
    """The coverage of all actions of all driven scopes, and responses that differ from the stated ones, with their numbers."""

    rows: Sequence[ActionCoverage]
    otherwise: Mapping[StatedOtherwise, int] = field(default_factory=dict)

    @cached_property
    def scopes(self) -> dict[str, ActionCoverage]:
        """The sum of each scope."""
        sums: dict[str, ActionCoverage] = {}
        for row in self.rows:
            total = sums.setdefault(row.scope, ActionCoverage(row.scope, "", ""))
            total.in_scope += row.in_scope
            total.reachable += row.reachable
            total.covered += row.covered
            total.rest.update(row.rest)
        return sums

    @property
    def total(self) -> tuple[int, int, int]:
        """The transitions in scope, reachable, and covered."""
        rows = self.scopes.values()
        return sum(row.in_scope for row in rows), sum(row.reachable for row in rows), sum(row.covered for row in rows)

    @property
    def missed(self) -> int:
        """The number of transitions that the target should have shown and did not."""
        return sum(row.missed for row in self.rows)

    @property
    def undecided(self) -> str:
        """Why the coverage does not pass; "" if it does. No transitions are no coverage."""
        _, reachable, covered = self.total
        if not covered:
            return f"0 of {reachable:,} transitions covered"
        return f"{self.missed:,} of {reachable:,} transitions not covered" if self.missed else ""

    def data(self) -> dict[str, Any]:
        in_scope, reachable, covered = self.total
        return {
            "inScope": in_scope,
            "reachable": reachable,
            "covered": covered,
            "scopes": [{name: row.record()[name] for name in _OF_SCOPE} for row in self.scopes.values()],
            "actions": [row.record() for row in self.rows],
            "otherwise": [{**asdict(each), "times": times} for each, times in self.otherwise.items()],
        }


def share(covered: int, reachable: int) -> str:
    """Return the share in percent, rounded down, so that 100 % means all; "none" if there is nothing to cover."""
    return f"{100 * covered // reachable} %" if reachable else "none"


def coverage(plan: CoverPlan, judged: Sequence[JudgedProgram]) -> CoverageReport:
    """Return what the histories of judged programs cover."""
    shown: dict[tuple[int, int], Uncovered | None] = {}
    otherwise: Counter[StatedOtherwise] = Counter()
    for program in judged:
        for edge, why, differing in _shown(plan, program):
            _note(shown, edge, why)
            if differing is not None:
                otherwise[differing] += 1
    rows: list[ActionCoverage] = []
    for number, graph in enumerate(plan.graphs):
        missing = Uncovered.LACKING if number in plan.lacking else Uncovered.NOT_PERFORMED
        rows += _rows(graph, [shown.get((number, edge), missing) for edge in range(len(graph.edges))])
    return CoverageReport(rows, otherwise)


def rejected_as_busy(plan: CoverPlan, judged: Sequence[JudgedProgram]) -> set[int]:
    """Return the numbers of the programs that lack a transition because the target was busy."""
    return {program.program for program in judged for _, why, _ in _shown(plan, program) if why is Uncovered.BUSY}


def _rows(graph: StateGraph, results: Sequence[Uncovered | None]) -> list[ActionCoverage]:
    """Return the coverage of a graph's actions. `results`: for each edge None if it is covered, else the reason."""
    model, rows = graph.model, dict[str, ActionCoverage]()

    def row(action: str) -> ActionCoverage:
        return rows.setdefault(action, ActionCoverage(model.scope, model.part, action))

    inside: dict[int, Uncovered | None] = {}
    for edge, result in zip(graph.edges, results, strict=True):
        target = row(edge.choice.action)
        target.in_scope += 1
        if not edge.steps:
            target.rest[NotTaken.LOCAL] += 1
            continue
        if edge.choice.action in model.emulated:
            target.rest[NotTaken.EMULATED] += 1
            continue
        target.reachable += 1
        _count(target, result)
        if edge.choice.guard:
            all_, covered = target.guards.get(edge.choice.guard, (0, 0))
            target.guards[edge.choice.guard] = all_ + 1, covered + (result is None)
        for number in edge.within:
            _note(inside, number, result)
    for (_, did), number in graph.internal.items():
        target = row(did.action)
        target.in_scope += 1
        if did.action in model.unseen or number not in inside:
            target.rest[model.unseen.get(did.action, NotTaken.LOCAL)] += 1
        else:
            target.reachable += 1
            _count(target, inside[number])
    for _, choice, reason in graph.undriven:
        row(choice.action).in_scope += 1
        row(choice.action).rest[reason] += 1
    for action, times in graph.beside.items():
        row(action).in_scope += times
        row(action).rest[model.left_out.get(action, NotTaken.RACE)] += times
    return list(rows.values())


def _note(results: dict[K, Uncovered | None], key: K, result: Uncovered | None) -> None:
    """Note a result: what is covered once is covered."""
    if key not in results or results[key] is not None:
        results[key] = result


def _count(row: ActionCoverage, result: Uncovered | None) -> None:
    if result is None:
        row.covered += 1
    else:
        row.rest[result] += 1


def _shown(plan: CoverPlan, judged: JudgedProgram) -> Iterator[tuple[tuple[int, int], Uncovered | None, StatedOtherwise | None]]:
    """Yield each transition of a program with None if its history shows it, else the reason, and with the response if that differs."""
    taken = plan.taken.get(judged.program, ())
    if not taken:
        return
    history = load(judged.path)
    planned = plan.programs[judged.program - 1].steps
    exchanges = aligned(planned, history)
    events = {finding.seq for finding in judged.findings}
    known = {at for exchange in history.exchanges for at in (exchange.seq, exchange.end)}
    contradicted = not events <= known  # a finding about the state after the program
    why: Uncovered | None = None
    for number, edge in enumerate(taken):
        following = taken[number + 1] if number + 1 < len(taken) else None
        if number and edge.path != taken[number - 1].path:
            why = None
        mine = exchanges[edge.step : following.step if following is not None and following.path == edge.path else len(planned)]
        graph = plan.graphs[edge.graph]
        transition = graph.edges[edge.edge]
        found = why or _result(transition, mine, whole=history.whole)
        differing = None
        if found is Uncovered.OTHERWISE:
            what = graph.model.scope, graph.model.part, transition.choice.action, *_differing(transition.response, mine)
            differing = StatedOtherwise(*what, judged.path.name)
        if found is None and (contradicted or any(each is not None and {each.seq, each.end} & events for each in mine)):
            found = Uncovered.CONTRADICTED
        yield (edge.graph, edge.edge), found, differing
        why = found and Uncovered.AFTER


def _differing(stated: StatedResponse, exchanges: Sequence[Exchange | None]) -> tuple[str, str]:
    """Return the stated response and the response of the target, which differs."""
    exchange = exchanges[stated.at]
    if exchange is None or exchange.code is None:
        return stated.code or "a response", "no response"
    code = codes.ANSWERS.get(exchange.code, str(exchange.code))
    if stated.offset is None:
        return stated.code or "a response", code
    return f"{stated.code}, offset {stated.offset}", f"{code}, offset {exchange.response_fields.get('offset')}"


def _result(edge: OutsideTransition, exchanges: Sequence[Exchange | None], *, whole: bool) -> Uncovered | None:
    if edge.response.silent:
        return None if whole else Uncovered.NOT_PERFORMED
    if not edge.steps:
        return None
    at = edge.response.at
    first = exchanges[at] if at < len(exchanges) else None
    if first is None:
        return Uncovered.NOT_PERFORMED
    if first.refused:
        return Uncovered.BUSY
    if first.code is None or (edge.response.code and codes.ANSWERS.get(first.code) != edge.response.code):
        return Uncovered.OTHERWISE
    if edge.response.offset is not None and first.response_fields.get("offset") != str(edge.response.offset):
        return Uncovered.OTHERWISE
    return None


def aligned(steps: Sequence[Step], history: ParsedHistory) -> list[Exchange | None]:
    """Return the exchange of each step of a program with one client; None for a step that was not performed or is no request."""
    exchanges = iter(history.recorded.exchanges)
    following = next(exchanges, None)
    found: list[Exchange | None] = []
    for step in steps:
        op = _op(step)
        if op is None or following is None or following.op != op:
            found.append(None)
            continue
        found.append(following)
        before, following = following, next(exchanges, None)
        while op == "route" and following is not None and following.op == op and following.fields == before.fields:
            found[-1], following = following, next(exchanges, None)  # a route that is not there yet is asked for again
    return found


def _op(step: Step) -> str | None:
    """Return the operation of a step's request in histories, None if it sends none."""
    if not is_request(step[0]):
        return None
    times = defaultdict[tuple[str, str, int], dict[int, int]](lambda: {0: 0})
    context = Context(ProgramNames("", 0), "", known=[StoredPlace(0, 0, True, True, "A")], store_times=times)
    call = request_of(step, context)
    return None if call is None else call.op
