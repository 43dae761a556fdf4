"""The stateful engine: runs Hypothesis programs in chunks on simulated clusters, and reports violations, reached states and coverage.

It refutes and never proves. If the programs miss a known violation or a reachable state, the cluster performs the shortest witness of a
search instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rocketproof_model import Action, Expr, Instance, Property, all_of, any_of, search
from rocketproof_model.language import const, rewrite
from rocketproof_model.result import BOUND, TIME, Coverage, Limits, Outcome, Progress, Report, Verdict, Watch, Witness
from rocketproof_profiles import PROFILES
from rocketproof_spec import SCOPES, part

from ...catalogue.source import WITHOUT_IMPLEMENTATION, CheckSubject, ModelSource
from ...reports.choices import InputError
from ..drivers.answering import AnsweringDriver
from ..drivers.base import ModelDriver
from ..drivers.delayedtransactions import DelayedTransactionsDriver
from ..drivers.delays import DelaysDriver
from ..drivers.device import DeviceDriver
from ..drivers.discovery import DiscoveryDriver
from ..drivers.dispatching import DispatchingDriver
from ..drivers.expiry import ExpiryDriver
from ..drivers.flushing import FlushingDriver
from ..drivers.locks import LocksDriver
from ..drivers.pair import PairDriver
from ..drivers.persistence import PersistenceDriver
from ..drivers.placement import PlacementDriver
from ..drivers.progress import ProgressDriver
from ..drivers.recovery import RecoveryDriver
from ..drivers.registrations import RegistrationsDriver
from ..drivers.sendbacks import SendbacksDriver
from ..drivers.sending import SendingDriver
from ..drivers.sendtimeout import SendTimeoutDriver
from ..drivers.sizes import SizesDriver
from ..drivers.starting import StartingDriver
from ..drivers.times import TimesDriver
from ..drivers.transactions import TransactionsDriver
from .follow import ConformanceError, FollowedProgram, NeverTaken
from .machine import Campaign, Over, perform, run

CHUNK = 50  # programs of one seed
LONGER = 3_000_000  # maximum number of states of the search for a witness
DRIVERS: dict[str, Callable[..., ModelDriver]] = {
    **{name: PlacementDriver if scope.placed else SendingDriver for name, scope in SCOPES.items()},
    "persistence": PersistenceDriver,
    "answers": AnsweringDriver,
    "locks": LocksDriver,
    "expiry": ExpiryDriver,
    "news": DiscoveryDriver,
    "patience": SendTimeoutDriver,
    "flush": FlushingDriver,
    "recovery": RecoveryDriver,
    "producers": StartingDriver,
    "dispatch": DispatchingDriver,
    "sizes": SizesDriver,
    "registrations": RegistrationsDriver,
    "pair": PairDriver,
    "delays": DelaysDriver,
    "transactions": TransactionsDriver,
    "meeting": DelayedTransactionsDriver,
    "device": DeviceDriver,
    "progress": ProgressDriver,
    "times": TimesDriver,
    "backs": SendbacksDriver,
}
"""The driver of each scope that has one."""
FEW = 64  # maximum number of instances of an action for `cover`


@dataclass
class StatefulResult:
    """The result of a campaign. `findings`: steps that the specification does not allow, each with its smallest program."""

    outcomes: list[Outcome] = field(default_factory=list)
    findings: list[ConformanceError] = field(default_factory=list)
    coverage: Coverage = field(default_factory=lambda: Coverage({}, {}))
    programs: int = 0
    steps: int = 0
    finished: bool = True


def driver_of(source: ModelSource, subject: CheckSubject) -> Callable[[], ModelDriver]:
    """Return a function that makes drivers in the initial state of the source's instance.

    Raises InputError for a model file, or for a scope without a driver.
    """
    if source.file is not None:
        raise InputError(f"{source.file} is a model of your own; only the specification has an implementation to test")
    if source.scope in WITHOUT_IMPLEMENTATION:
        raise InputError(f"nothing performs scope {source.scope} on the implementation: it can be searched")
    driver, specification, profile = DRIVERS[source.scope], part(source.scope), PROFILES[source.profile]
    return lambda: driver(specification, subject.instance, profile)


def campaign(
    source: ModelSource,
    subject: CheckSubject,
    claims: Sequence[Property],
    expected: Callable[[Property], str],
    *,
    programs: int,
    seed: int,
    limits: Limits,
    report: Report | None = None,
) -> StatefulResult:
    """Run programs. `expected` returns the expected verdict of a claim. A claim that should hold ends its program when it is violated."""
    watch = Watch(limits)
    tested = Campaign(subject.instance, driver_of(source, subject), tuple(claims), watch)
    result = StatefulResult()
    done = 0
    while done < programs:
        some = min(CHUNK, programs - done)
        try:
            finding = run(tested, some, seed + done)
        except Over:
            result.finished = False
            break
        done += some
        if finding is not None:
            result.findings.append(finding)
            break
        if report is not None:
            report(Progress("stateful", tested.seen.steps, done, 0, watch.seconds))
    known = [c for c in claims if c.id not in tested.seen.runs and (expected(c) == "violated") != (c.kind == "reachable")]
    if known and not result.findings and not watch.expired:
        result.findings += _directed(subject, tested, known, Limits(seconds=watch.left, states=LONGER))
    result.coverage = tested.offers.coverage()
    result.programs, result.steps = tested.seen.programs, tested.seen.steps
    reason = BOUND if result.finished else TIME
    for claim in claims:
        result.outcomes.append(_outcome(claim, tested.seen.runs.get(claim.id), reason, tested, watch.seconds))
    return result


def cover(source: ModelSource, subject: CheckSubject, name: str, limits: Limits) -> Coverage | None:
    """Perform a shortest program that ends with this action. Return None if the search finds none. Raises ConformanceError."""
    action = subject.instance.model.named(name)
    if action.count > FEW:
        return None
    claim = subject.instance.model.claim(f"enabled: {name}", f"{name} can happen", "reachable", _enabled(action))
    tested = Campaign(subject.instance, driver_of(source, subject))
    (outcome,) = search.explore(tested.instance, [claim], limits=limits).outcomes
    followed = _performed(tested, outcome, limits)
    if followed is None:
        return None
    enabled = tested.offers.enabled(followed.state)[name]
    return tested.offers.coverage() if any(followed.take(action, args) for args in enabled) else None


def _performed(tested: Campaign, outcome: Outcome, limits: Limits) -> FollowedProgram | None:
    """Perform the search's witness of a property. Return None if there is none. Raises ConformanceError.

    If the driver never takes a step of it, which an implementation may choose, the search is repeated without that action.
    """
    instance = tested.instance
    while outcome.witness is not None:
        try:
            return perform(tested, outcome.witness.moves)
        except NeverTaken as refused:
            instance = _without(instance, refused.action)
            (outcome,) = search.explore(instance, [outcome.property], limits=limits).outcomes
    return None


def _without(instance: Instance, action: str) -> Instance:
    kept = [other for other in instance.model.actions if other.name != action]
    return Instance(instance.model.with_actions(kept), instance.constants)


def _enabled(action: Action) -> Expr:
    """Return the condition that some instance of the action is enabled."""
    return any_of(
        all_of(rewrite(guard.condition, lambda e, args=args: _argument(e, action, args)) for guard in action.guards)  # type: ignore[misc]
        for args in action.instances
    )


def _argument(e: Expr, action: Action, args: Sequence[int]) -> Expr | None:
    return const(args[list(action.parameters).index(e.args[0])], e.type) if e.op == "par" else None


def _directed(subject: CheckSubject, tested: Campaign, known: list[Property], limits: Limits) -> list[ConformanceError]:
    """Perform the search's witnesses of the properties that the programs should have shown."""
    explored = search.explore(subject.instance, known, limits=limits)
    findings = []
    for outcome in explored.outcomes:
        try:
            followed = _performed(tested, outcome, limits)
        except ConformanceError as finding:
            findings.append(finding)
            continue
        if followed is not None and followed.satisfied(outcome.property) == (outcome.property.kind == "reachable"):
            tested.seen.note(followed, outcome.property)
    return findings


def _outcome(claim: Property, shown: Witness | None, reason: str, tested: Campaign, seconds: float) -> Outcome:
    """Return the outcome of a claim: a run refutes it, or reaches what should be reachable. Without a run it is undecided."""
    verdict: Verdict = "unknown" if shown is None else "holds" if claim.kind == "reachable" else "violated"
    depth = None if shown is None else len(shown)
    return Outcome(
        claim, "stateful", verdict, "" if shown is not None else reason, shown, tested.seen.programs, tested.seen.steps, depth, seconds
    )
