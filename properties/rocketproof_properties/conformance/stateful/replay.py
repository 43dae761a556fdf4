"""Performs a program or a witness of the model on the implementation step by step, and prints the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketproof_model.result import LIVE, Witness
from rocketproof_traces.witness.explain import parse

from ...catalogue.source import ModelSource
from ...reports.output import Page
from .engine import driver_of
from .follow import ConformanceError, FollowedProgram
from .machine import Campaign


def replay(scope: str, profile: str, steps: Sequence[str], given: Mapping[str, Any] | None = None) -> FollowedProgram:
    """Perform labels such as "request(p=0, b=0, t=2, d=0, numbers=2, queue=0)".

    Raises ConformanceError if the implementation deviates from the specification, RocketproofError if a label is not a step of
    the scope or is never taken.
    """
    source = ModelSource(scope, profile, tuple(sorted((given or {}).items())))
    subject = source.subject()
    followed = Campaign(subject.instance, driver_of(source, subject)).begin()
    for label in steps:
        followed.step(*parse(label, subject.instance.model))
    return followed


@dataclass(frozen=True)
class Replayed:
    """The result of a witness on the implementation: the number of steps done, and the finding that ended it, if any."""

    source: ModelSource
    witness: Witness
    done: int
    finding: ConformanceError | None
    shown: bool

    @property
    def agrees(self) -> bool:
        """Whether every step was done and the implementation shows what the witness shows of the model."""
        return self.finding is None and self.shown

    def data(self) -> dict[str, Any]:
        """Return the JSON object of `replay --json`."""
        return {
            "property": self.witness.property.id,
            "profile": self.source.profile,
            "scope": self.source.scope,
            "steps": len(self.witness),
            "done": self.done,
            "shown": self.shown,
            "finding": None if self.finding is None else self.finding.text,
        }


def replay_witness(source: ModelSource, witness: Witness, each: Callable[[int, str], None] | None = None) -> Replayed:
    """Perform a witness. `each` is called with the number and label of every step that agrees. Raises InputError for a model file."""
    subject = source.subject()
    campaign = Campaign(subject.instance, driver_of(source, subject))
    followed = FollowedProgram(campaign.instance, campaign.driver(), campaign.offers)
    claim = witness.property
    shown = 0
    try:
        followed.begin()
        shown += claim.kind in ("always", "reachable") and followed.satisfied(claim) == (claim.kind == "reachable")
        for number, (move, label) in enumerate(zip(witness.moves, witness.labels(), strict=True), 1):
            followed.step(subject.instance.model.named(move.action), move.args)
            if claim.kind in ("always", "reachable", "step"):
                shown += followed.satisfied(claim) == (claim.kind == "reachable")
            if each is not None:
                each(number, label)
    except ConformanceError as finding:
        return Replayed(source, witness, len(followed.states) - 1, finding, False)
    return Replayed(source, witness, len(witness.moves), None, bool(shown) or claim.kind in (*LIVE, "deadlock_free"))


def performed(number: int, label: str) -> None:
    """Print a step that agrees with the model."""
    Page().line(f"{number:>4}  {label}")


def render_replayed(replayed: Replayed) -> None:
    """Print the result of a replay."""
    page = Page()
    claim, steps = replayed.witness.property, len(replayed.witness)
    if replayed.finding is not None:
        page.line(replayed.finding.text.rstrip("\n"))
        end = f"The implementation left the model after {replayed.done} of {steps} steps."
    elif not replayed.shown:
        end = f"All {steps} steps agree, but the implementation does not show what the witness shows of {claim.id}."
    else:
        likewise = {"reachable": "reaches it too", "always": "violates it too", "step": "violates it too"}
        does = likewise.get(claim.kind, "goes the same way")
        end = f"All {steps} steps agree: {claim.id} ({claim.sentence}); the implementation {does}."
    page.line(end, "bold")
