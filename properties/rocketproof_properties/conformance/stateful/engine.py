"""The stateful engine: programs of Hypothesis, in chunks, on simulated clusters; what they broke, reached and covered.

It refutes and never proves. Where the programs did not find a violation that is known, or did not reach a state that
should be reachable, the shortest witness of the search is performed on the cluster instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rocketproof_model import Action, Expr, Instance, Property, all_of, any_of, search
from rocketproof_model.language import const, rewrite
from rocketproof_model.result import BOUND, TIME, Coverage, Limits, Outcome, Progress, Report, Verdict, Watch, Witness
from rocketproof_spec import Placed, Specification
from rocketproof_spec.answering import Answering
from rocketproof_spec.deadlines import Expiry, News, Patience
from rocketproof_spec.delays import Delays
from rocketproof_spec.device import Device
from rocketproof_spec.dispatching import Dispatching
from rocketproof_spec.flushing import Flushing
from rocketproof_spec.meeting import Meeting
from rocketproof_spec.pairs import MasterAndSlave
from rocketproof_spec.persistence import Persistence
from rocketproof_spec.progress import ConsumerProgress as Consuming
from rocketproof_spec.recovery import Recovery
from rocketproof_spec.registering import Registrations
from rocketproof_spec.sendbacks import Sendbacks
from rocketproof_spec.sizes import Sizes
from rocketproof_spec.starting import Starting
from rocketproof_spec.times import Times
from rocketproof_spec.transactions import Transactions
from rocketproof_spec.waiting import WaitingRequests

from ...catalogue.source import WITHOUT_IMPLEMENTATION, CheckSubject, ModelSource
from ..targets.answers import AnswersTarget
from ..targets.backs import BacksTarget
from ..targets.cluster import SimulatedTarget
from ..targets.delays import DelaysTarget
from ..targets.device import DeviceTarget
from ..targets.dispatching import DispatchTarget
from ..targets.expiry import ExpiryTarget
from ..targets.flush import FlushTarget
from ..targets.locks import LocksTarget
from ..targets.meeting import MeetingTarget
from ..targets.news import NewsTarget
from ..targets.pair import PairTarget
from ..targets.patience import PatienceTarget
from ..targets.persistence import PersistenceTarget
from ..targets.placed import PlacedTarget
from ..targets.progress import ProgressTarget
from ..targets.recovery import RecoveryTarget
from ..targets.registrations import RegistrationsTarget
from ..targets.sizes import SizesTarget
from ..targets.starting import StartingTarget
from ..targets.times import TimesTarget
from ..targets.transactions import TransactionsTarget
from .follow import ActionTarget, ConformanceError, FollowedProgram, NeverTaken
from .machine import Campaign, Over, perform, run

CHUNK = 50  # programs of one seed
LONGER = 3_000_000  # states of the search for a witness
TARGETS: dict[type, Callable[..., ActionTarget]] = {
    Specification: SimulatedTarget,
    Placed: PlacedTarget,
    Persistence: PersistenceTarget,
    Answering: AnswersTarget,
    WaitingRequests: LocksTarget,
    Expiry: ExpiryTarget,
    News: NewsTarget,
    Patience: PatienceTarget,
    Flushing: FlushTarget,
    Recovery: RecoveryTarget,
    Starting: StartingTarget,
    Dispatching: DispatchTarget,
    Sizes: SizesTarget,
    Registrations: RegistrationsTarget,
    MasterAndSlave: PairTarget,
    Delays: DelaysTarget,
    Transactions: TransactionsTarget,
    Meeting: MeetingTarget,
    Device: DeviceTarget,
    Consuming: ProgressTarget,
    Times: TimesTarget,
    Sendbacks: BacksTarget,
}
FEW = 64  # instances of an action whose enabling is searched for


@dataclass
class StatefulResult:
    """What a campaign found. `findings` are steps that the specification does not allow, each with its smallest program."""

    outcomes: list[Outcome] = field(default_factory=list)
    findings: list[ConformanceError] = field(default_factory=list)
    coverage: Coverage = field(default_factory=lambda: Coverage({}, {}))
    programs: int = 0
    steps: int = 0
    finished: bool = True


def target_of(source: ModelSource, subject: CheckSubject) -> Callable[[], ActionTarget]:
    """Makes clusters in the initial state of the source's instance. Raises InputError if the source is a model file, or of a scope that
    nothing performs."""
    from rocketproof_profiles import PROFILES
    from rocketproof_spec import part

    from ...reports.choices import InputError

    if source.file is not None:
        raise InputError(f"{source.file} is a model of your own; only the specification has an implementation to test")
    specification = part(source.scope)
    if source.scope in WITHOUT_IMPLEMENTATION:
        raise InputError(f"nothing performs scope {source.scope} on the implementation: it can be searched")
    made = TARGETS[type(specification)]
    return lambda: made(specification, subject.instance, PROFILES[source.profile])


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
    """Run programs. `expected` is the verdict that a claim should get; one that should hold ends its program when it is broken."""
    watch = Watch(limits)
    made = Campaign(subject.instance, target_of(source, subject), tuple(claims), watch)
    result = StatefulResult()
    done = 0
    while done < programs:
        some = min(CHUNK, programs - done)
        try:
            finding = run(made, some, seed + done)
        except Over:
            result.finished = False
            break
        done += some
        if finding is not None:
            result.findings.append(finding)
            break
        if report is not None:
            report(Progress("stateful", made.seen.steps, done, 0, watch.seconds))
    known = [c for c in claims if c.id not in made.seen.runs and (expected(c) == "violated") != (c.kind == "reachable")]
    if known and not result.findings and not watch.expired:
        result.findings += _directed(subject, made, known, Limits(seconds=watch.left, states=LONGER))
    result.coverage = made.offers.coverage()
    result.programs, result.steps = made.seen.programs, made.seen.steps
    reason = BOUND if result.finished else TIME
    for claim in claims:
        result.outcomes.append(_outcome(claim, made.seen.runs.get(claim.id), reason, made, watch.seconds))
    return result


def cover(source: ModelSource, subject: CheckSubject, name: str, limits: Limits) -> Coverage | None:
    """Perform a shortest program whose last step is this action; None if the search finds none. Raises Finding."""
    action = subject.instance.model.named(name)
    if action.count > FEW:
        return None
    claim = subject.instance.model.claim(f"enabled: {name}", f"{name} can happen", "reachable", _enabled(action))
    made = Campaign(subject.instance, target_of(source, subject))
    (outcome,) = search.explore(made.instance, [claim], limits=limits).outcomes
    followed = _performed(made, outcome, limits)
    if followed is None:
        return None
    enabled = made.offers.enabled(followed.state)[name]
    return made.offers.coverage() if any(followed.take(action, args) for args in enabled) else None


def _performed(made: Campaign, outcome: Outcome, limits: Limits) -> FollowedProgram | None:
    """Perform the search's witness of a property; None if there is none. Raises Finding.

    Where the target never takes a step of it, as an implementation may choose among what is allowed, the search goes without that action.
    """
    instance = made.instance
    while outcome.witness is not None:
        try:
            return perform(made, outcome.witness.moves)
        except NeverTaken as refused:
            instance = _without(instance, refused.action)
            (outcome,) = search.explore(instance, [outcome.property], limits=limits).outcomes
    return None


def _without(instance: Instance, action: str) -> Instance:
    kept = [other for other in instance.model.actions if other.name != action]
    return Instance(instance.model.with_actions(kept), instance.constants)


def _enabled(action: Action) -> Expr:
    """Some instance of the action is enabled."""
    return any_of(
        all_of(rewrite(guard.condition, lambda e, args=args: _argument(e, action, args)) for guard in action.guards)  # type: ignore[misc]
        for args in action.instances
    )


def _argument(e: Expr, action: Action, args: Sequence[int]) -> Expr | None:
    """A parameter's value in this instance."""
    return const(args[list(action.parameters).index(e.args[0])], e.type) if e.op == "par" else None


def _directed(subject: CheckSubject, made: Campaign, known: list[Property], limits: Limits) -> list[ConformanceError]:
    """Perform the search's witnesses of what the programs should have shown."""
    found = search.explore(subject.instance, known, limits=limits)
    findings = []
    for outcome in found.outcomes:
        try:
            followed = _performed(made, outcome, limits)
        except ConformanceError as finding:
            findings.append(finding)
            continue
        if followed is not None and followed.satisfied(outcome.property) == (outcome.property.kind == "reachable"):
            made.seen.note(followed, outcome.property)
    return findings


def _outcome(claim: Property, shown: Witness | None, reason: str, made: Campaign, seconds: float) -> Outcome:
    """A shown run refutes a claim, or reaches what should be reachable; without one nothing is decided."""
    verdict: Verdict = "unknown" if shown is None else "holds" if claim.kind == "reachable" else "violated"
    depth = None if shown is None else len(shown)
    return Outcome(
        claim,
        "stateful",
        verdict,
        "" if shown is not None else reason,
        shown,
        made.seen.programs,
        made.seen.steps,
        depth,
        seconds,
    )
