"""Replays witnesses of the model: running brokers perform what a search has found.

The witness of a known violation is not stored. The search finds it in the catalogue's case under the target's profile, so that it follows
the specification. Other witnesses are files of `rocketproof check`.

The witness's constants define the target's setup (`_settings`, `_write_table`). The outside actions of its schedule (`schedule.py`) become
requests (`wire.py`). Afterwards all tables, routes and lists must be as in its last state. Consequences of a known violation that are not
in the model are checked too.
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
from ..drivers.base import Deviation
from ..drivers.requests import earlier_table
from .schedule import needs, schedule
from .wire import LOST as NO_ANSWER
from .wire import UNIT, WireReplay

BASE: Final = "P49"
SECONDS: Final = 300.0
"""The time limit of a search."""
_BLANK: Final = 8  # bytes of the smallest blank


@dataclass(frozen=True)
class KnownHazard:
    """A hazard, and the case of the catalogue whose witness shows it.

    - `claims`: further properties that the same steps violate.
    - `brokers`: the number to start if it differs from the scope's.
    - `consequence`: raises Deviation if the expected consequence does not occur. `also`: the capabilities that it needs.
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
        """All properties that its steps violate."""
        return self.claim, *self.claims

    @property
    def case(self) -> Case:
        mine = (self.claim, self.scope, self.condition, BASE)
        return next(
            case for case in CASES if (case.claim, case.scope, case.condition, case.profile) == mine and case.expected == "violated"
        )

    @property
    def needs(self) -> frozenset[Capability]:
        """The capabilities for the case's setup and the consequence. The witness's actions may need more."""
        return self.also | _needed(self.case.given)


@dataclass(frozen=True)
class HazardReplayed:
    """The result of a witness. `reproduced`: None if it could not be performed, for the reason in `said`."""

    hazard: str
    property: str
    sentence: str
    condition: str
    steps: tuple[str, ...]
    reproduced: bool | None
    said: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {**vars(self), "steps": list(self.steps), "said": list(self.said)}

    @staticmethod
    def read(record: Mapping[str, Any]) -> HazardReplayed:
        """Return the result from the values of `record()`."""
        return HazardReplayed(**{**record, "steps": tuple(record["steps"]), "said": tuple(record["said"])})


def replay(target: ValidationTarget, wanted: KnownHazard, mark: str) -> HazardReplayed:
    """Perform the hazard's witness on the target under names that begin with `mark`. Repeat it once if it differs after a lost response.

    Raises TargetError if the target cannot be set up.
    """
    case = wanted.case
    properties = " ".join(wanted.broken)

    def row(reproduced: bool | None, lines: Sequence[str], witness: Witness | None = None) -> HazardReplayed:
        steps = () if witness is None else tuple(witness.labels())
        return HazardReplayed(wanted.hazard, properties, case.sentence, case.condition, steps, reproduced, tuple(lines))

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
    return [
        f"{capability.value!r} is not offered: {LOST[capability]}"
        for capability in sorted(missing, key=lambda capability: capability.value)
    ]


def _needed(constants: Mapping[str, Any]) -> frozenset[Capability]:
    return frozenset({Capability.START} | ({Capability.STORE} if _has_files(constants) else set()))


def _has_files(constants: Mapping[str, Any]) -> bool:
    """Return whether an earlier run has left a file."""
    return bool(constants.get("template_in_file") or constants.get("existing"))


@dataclass(frozen=True)
class Performed:
    """The actions and responses on a target, and the first difference from the witness, "" if there is none.

    `lost`: a response was lost, so that the result is unknown.
    """

    target: str
    course: Witness = field(repr=False)
    said: tuple[str, ...]
    problem: str
    lost: bool = False

    @property
    def agrees(self) -> bool:
        return not self.problem

    def data(self) -> dict[str, Any]:
        """Return the JSON object of `replay --target --json`."""
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
    """Perform a schedule of outside actions on a target of its own under names that begin with `mark`, and then check the consequence.

    `brokers` as in KnownHazard. Raises TargetError if the target cannot be set up, NotOffered if it lacks a capability.
    """
    constants = witness.instance.readable()
    for capability in sorted((_needed(constants) | needs(witness)) - target.offers, key=lambda missing: missing.value):
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
        except Deviation as problem:
            return Performed(target.name, witness, tuple(log), str(problem))
        except (RemotingError, Unanswered) as problem:
            return Performed(target.name, witness, tuple(log), str(problem), lost=True)
    return Performed(target.name, witness, tuple(log), "")


def find(source: ModelSource, claim: str) -> Witness | None:
    """Return the shortest witness of the search, None if it finds none in time."""
    subject = source.subject()
    wanted: Property = subject.property(claim)
    limits = Limits(seconds=SECONDS)
    if wanted.kind in LIVE:
        return liveness.check(subject.instance, [wanted], limits=limits)[0].witness
    return next(o.witness for o in search.explore(subject.instance, [wanted], limits=limits).outcomes if o.property is wanted)


# Setup


def _settings(constants: dict[str, Any], scope: Scope) -> dict[str, str]:
    permission = (4 if constants["broker_readable"] else 0) | (2 if constants["broker_writable"] else 0)
    settings = {
        "defaultTopicQueueNums": str(constants["template_write"]),
        "brokerPermission": str(permission),
        "autoCreateTopicEnable": str(constants["auto_create"]).lower(),
    }
    if scope.store:
        settings["mappedFileSizeCommitLog"] = str((constants["file_size"] - constants["blank"]) * UNIT + _BLANK)
    return settings


def _write_table(store: Path, table: bytes) -> None:
    file = store / "config" / "topics.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(table)


# Consequences of violations


def _stays_off(wire: WireReplay) -> None:
    """Check that the refusing broker still rejects a first message after creation is switched on, and the other one creates the topic."""
    refusing, other = 0, 1
    for broker in wire.brokers:
        wire.running.configure(broker, {"autoCreateTopicEnable": "true"})
    for b, expected in ((other, "SUCCESS"), (refusing, "TOPIC_NOT_EXIST")):
        answer = wire.send(b, topic=f"{wire.prefix}later")
        wire.log.append(f"creation is on again; a first message to {wire.brokers[b]}: {answer.word}")
        if answer.word != expected:
            raise Deviation(f"a first message to {wire.brokers[b]} is answered {answer.word}, and {expected} was expected")


def _is_nowhere(wire: WireReplay) -> None:
    """Check that acknowledged messages are not at the place in their responses."""
    for answer in wire.answers.values():
        if answer.place is None or wire.holds_record(0, answer.place):
            raise Deviation(f"the acknowledged message is at {answer.place} of the log")
        wire.log.append(f"acknowledged at {answer.place} of the log, where nothing is")


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
"""The witnesses that `rocketproof validate` replays."""
