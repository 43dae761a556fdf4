"""Witnesses of the model, replayed: brokers that run perform what a search has found.

A known violation's witness is not written down here. It is what the search finds in the catalogue's case under the target's profile, so
that it changes with the specification. Any other witness is one that `rocketproof check` has written. The target is set up as the
witness's constants say (`_settings`, `_write_table`), the course that its actions take from outside (`schedule.py`) becomes requests
(`wire.py`), and behind it all tables, routes and lists have to be what its last state says. What follows from a known violation, and is
not a part of the model, is looked at too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.system.client import Client
from rocketproof_model import Property, liveness, search
from rocketproof_model.result import LIVE, Limits, Witness
from rocketproof_spec import SCOPES, Scope

from ...brokers.deployment import LOST, NotOffered, Setup, ValidationTarget
from ...brokers.probe import Unanswered
from ...catalogue.claim import Case
from ...catalogue.source import ModelSource
from ...catalogue.table import CASES
from ...programs.parts import Capability
from ...reports.choices import InputError
from ..targets.start import earlier_table
from .gated import Differs
from .schedule import needs, schedule
from .wire import LOST as NO_ANSWER
from .wire import UNIT, WireReplay

BASE: Final = "P49"
SECONDS: Final = 300.0
"""How long a search may take."""
_BLANK: Final = 8  # bytes of the smallest blank


@dataclass(frozen=True)
class KnownHazard:
    """A hazard, and the case of the catalogue whose witness shows it. `claims`: further properties that the same steps break.

    `brokers`: how many to start if not as many as the scope has. `consequence` raises Differs if what follows does not come;
    `also`: what of the target it needs for that.
    """

    hazard: str
    claim: str
    scope: str
    condition: str
    claims: tuple[str, ...] = ()
    brokers: int = 0
    consequence: Callable[[WireReplay], None] | None = None
    also: frozenset[Capability] = frozenset()

    @property
    def broken(self) -> tuple[str, ...]:
        """All properties that its steps break."""
        return self.claim, *self.claims

    @property
    def case(self) -> Case:
        mine = (self.claim, self.scope, self.condition, BASE)
        return next(
            case for case in CASES if (case.claim, case.scope, case.condition, case.profile) == mine and case.expected == "violated"
        )

    @property
    def needs(self) -> frozenset[Capability]:
        """What it takes to set the target up as the case says, and to see what follows; the witness's actions may need more."""
        return self.also | _needed(self.case.given)


@dataclass(frozen=True)
class HazardReplayed:
    """What came of a witness. `reproduced` is None where it could not be performed, which `said` explains."""

    hazard: str
    property: str
    sentence: str
    condition: str
    steps: tuple[str, ...]
    reproduced: bool | None
    said: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "steps": list(self.steps), "said": list(self.said)}

    @staticmethod
    def read(record: Mapping[str, Any]) -> HazardReplayed:
        """What `record()` gave."""
        return HazardReplayed(**{**record, "steps": tuple(record["steps"]), "said": tuple(record["said"])})


def replay(target: ValidationTarget, wanted: KnownHazard, mark: str) -> HazardReplayed:
    """Perform the hazard's witness on the target under names that begin with `mark`, once more if it goes wrong where an answer was lost.

    Raises TargetError where it cannot be set up.
    """
    case = wanted.case
    properties = " ".join(wanted.broken)

    def row(reproduced: bool | None, said: Sequence[str], witness: Witness | None = None) -> HazardReplayed:
        steps = () if witness is None else tuple(witness.labels())
        return HazardReplayed(wanted.hazard, properties, case.sentence, case.condition, steps, reproduced, tuple(said))

    if missing := wanted.needs - target.offers:
        return row(None, _lost(missing))
    source = ModelSource(case.scope, target.profile, tuple(sorted(case.given.items())))
    witness = find(source, wanted.claim)
    if witness is None:
        return row(None, [f"the model has no witness under {target.profile} within {SECONDS:g} s"])
    if missing := needs(witness) - target.offers:
        return row(None, _lost(missing), witness)

    def follow(name: str) -> Performed:
        return perform(target, SCOPES[case.scope], schedule(witness), name, brokers=wanted.brokers, then=wanted.consequence)

    try:
        done = follow(mark)
        unanswered = done.lost or any(line.endswith(f": {NO_ANSWER.word}") for line in done.said)
        if done.problem and unanswered:
            done = follow(f"{mark}again-")
    except InputError as problem:
        return row(None, [str(problem)], witness)
    return row(None if done.lost else done.agrees, (*done.said, *([done.problem] if done.problem else [])), witness)


def _lost(missing: frozenset[Capability]) -> list[str]:
    return [f"{one.value!r} is not offered: {LOST[one]}" for one in sorted(missing, key=lambda one: one.value)]


def _needed(constants: Mapping[str, Any]) -> frozenset[Capability]:
    """What it takes to set a target up with these constants."""
    return frozenset({Capability.START} | ({Capability.STORE} if _has_files(constants) else set()))


def _has_files(constants: Mapping[str, Any]) -> bool:
    """Whether an earlier run has left a file."""
    return bool(constants.get("template_in_file") or constants.get("existing"))


@dataclass(frozen=True)
class Performed:
    """What was done and answered on a target, and where it did otherwise than the witness's course, "" if nowhere. `lost`: an answer was
    lost there, so that nobody knows."""

    target: str
    course: Witness = field(repr=False)
    said: tuple[str, ...]
    problem: str
    lost: bool = False

    @property
    def agrees(self) -> bool:
        return not self.problem

    def data(self) -> dict[str, Any]:
        """The JSON object of `replay --target --json`."""
        answered = {"target": self.target, "said": list(self.said), "problem": self.problem, "lost": self.lost}
        return {"property": self.course.property.id, "steps": self.course.labels(), **answered}


def perform(
    target: ValidationTarget,
    scope: Scope,
    witness: Witness,
    mark: str,
    *,
    brokers: int = 0,
    then: Callable[[WireReplay], None] | None = None,
) -> Performed:
    """Perform a course of outside actions on a target of its own under names that begin with `mark`, and then what follows.

    `brokers` as in KnownHazard. Raises TargetError where the target cannot be set up, NotOffered where it lacks what the witness needs.
    """
    constants = witness.instance.readable()
    for capability in sorted((_needed(constants) | needs(witness)) - target.offers, key=lambda one: one.value):
        raise NotOffered(target.name, capability)
    setup = Setup(brokers=max(brokers, scope.brokers), settings=_settings(constants, scope))
    with ExitStack() as stack:
        table = earlier_table(constants, scope, f"{mark}{scope.subject}", int(time.time() * 1000))
        if table is not None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketproof-", ignore_cleanup_errors=True)))
            setup = replace(setup, stores={name: folder / name for name in setup.names})
            for store in setup.stores.values():
                _write_table(store, table)
        running = stack.enter_context(target.open(setup))
        client = stack.enter_context(Client())
        log: list[str] = []
        try:
            wire = WireReplay(scope, target.profile, witness, running, mark, client)
            log = wire.log
            wire.run()
            if then is not None:
                then(wire)
        except Differs as problem:
            return Performed(target.name, witness, tuple(log), str(problem))
        except (RemotingError, Unanswered) as problem:
            return Performed(target.name, witness, tuple(log), str(problem), lost=True)
    return Performed(target.name, witness, tuple(log), "")


def find(source: ModelSource, claim: str) -> Witness | None:
    """The shortest witness that the search finds, None if there is none in its time."""
    subject = source.subject()
    wanted: Property = subject.property(claim)
    limits = Limits(seconds=SECONDS)
    if wanted.kind in LIVE:
        return liveness.check(subject.instance, [wanted], limits=limits)[0].witness
    return next(o.witness for o in search.explore(subject.instance, [wanted], limits=limits).outcomes if o.property is wanted)


# The start of a witness


def _settings(constants: dict[str, Any], scope: Scope) -> dict[str, str]:
    """The constants of the instance as settings of a broker."""
    permission = (4 if constants["broker_readable"] else 0) | (2 if constants["broker_writable"] else 0)
    found = {
        "defaultTopicQueueNums": str(constants["template_write"]),
        "brokerPermission": str(permission),
        "autoCreateTopicEnable": str(constants["auto_create"]).lower(),
    }
    if scope.store:
        found["mappedFileSizeCommitLog"] = str((constants["file_size"] - constants["blank"]) * UNIT + _BLANK)
    return found


def _write_table(store: Path, table: bytes) -> None:
    """The topic table that an earlier run has left in a broker's files."""
    file = store / "config" / "topics.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(table)


# What follows from a violation


def _stays_off(wire: WireReplay) -> None:
    """Creation is switched on again while the brokers run: the one that refused a first message goes on refusing, the other creates."""
    refusing, other = 0, 1
    for broker in wire.brokers:
        wire.running.configure(broker, {"autoCreateTopicEnable": "true"})
    for b, expected in ((other, "SUCCESS"), (refusing, "TOPIC_NOT_EXIST")):
        answered = wire.send(b, topic=f"{wire.prefix}later")
        wire.log.append(f"creation is on again; a first message to {wire.brokers[b]}: {answered.word}")
        if answered.word != expected:
            raise Differs(f"a first message to {wire.brokers[b]} is answered {answered.word}, and {expected} was expected")


def _is_nowhere(wire: WireReplay) -> None:
    """What was acknowledged is not at the place that its answer names."""
    for answered in wire.answers.values():
        if answered.place is None or wire.holds_record(0, answered.place):
            raise Differs(f"the acknowledged message is at {answered.place} of the log")
        wire.log.append(f"acknowledged at {answered.place} of the log, where nothing is")


WITNESSES: Final = (
    KnownHazard("HAZ-01", "LIV-03", "small", "endless sends"),
    KnownHazard(
        "HAZ-02",
        "INV-16",
        "creation",
        "auto-create off, TBW102 from the file",
        claims=("INV-18",),
        brokers=2,
        consequence=_stays_off,
        also=frozenset({Capability.CONFIGURE}),
    ),
    KnownHazard("HAZ-03", "LIV-08", "skew", "auto-create off, TBW102 from the file"),
    KnownHazard("HAZ-04", "INV-14", "creation", "auto-create off, TBW102 from the file"),
    KnownHazard("HAZ-06", "INV-52", "store", "read-only broker"),
    KnownHazard("HAZ-07", "INV-13", "creation", "auto-create on", claims=("INV-09",)),
    KnownHazard("HAZ-16", "INV-31", "creation", "topic with read 2, write 1"),
    KnownHazard("HAZ-22", "INV-06", "store", "a message larger than a file", consequence=_is_nowhere),
)
"""What `rocketproof validate` replays."""
