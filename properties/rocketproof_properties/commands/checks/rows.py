"""A row of the verdict matrix: plain data that says what was decided, what was expected and whether the two agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rocketproof_model.language import show
from rocketproof_model.result import BOUND, DISK, INTERRUPTED, MEMORY, STATES, TIME, Outcome

from ...reports.files import opened
from .plan import CheckTask

FIELDS = (
    "property", "sentence", "profile", "condition", "engine", "scope", "verdict", "reason", "expected", "states", "transitions", "depth",
    "seconds", "witness", "trace", "invariants", "certificate", "fairness", "cached",
)  # fmt: skip
LATER = frozenset({"trace", "invariants", "certificate", "fairness", "cached"})
"""Fields that rows of earlier versions have not."""
LIMITS = (TIME, MEMORY, STATES, DISK, INTERRUPTED)


@dataclass(frozen=True)
class Fairness:
    """What the answer about a fair loop depends on, by actions: if the property holds, those whose fairness cannot be left out, and a
    set that suffices; if it is violated, each whose fairness alone would make it hold, and whether that is weak or strong."""

    needed: tuple[str, ...] = ()
    enough: tuple[str, ...] = ()
    strengthen: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(outcome: Outcome) -> Fairness | None:
        """None where no engine has said it."""
        said = outcome.details
        if "needs_fairness" in said:
            return Fairness(tuple(said["needs_fairness"]), tuple(said["enough_fairness"]))
        return Fairness(strengthen=tuple(said["strengthen"].items())) if "strengthen" in said else None

    @staticmethod
    def read(record: Mapping[str, Any] | None) -> Fairness | None:
        """The fairness that `record` gave."""
        if record is None:
            return None
        return Fairness(tuple(record["needed"]), tuple(record["enough"]), tuple(record["strengthen"].items()))

    @property
    def note(self) -> str:
        """What of it a property that holds needs, in words."""
        if not self.enough:
            return "needs no fairness"
        rest = [name for name in self.enough if name not in self.needed]
        parts = [f"needs fairness of {', '.join(self.needed)}"] if self.needed else []
        return "; ".join([*parts, f"fairness of {', '.join(self.enough)} suffices"] if rest else parts)

    def record(self) -> dict[str, Any]:
        """The JSON object."""
        return {"needed": list(self.needed), "enough": list(self.enough), "strengthen": dict(self.strengthen)}


@dataclass(frozen=True)
class VerdictRow:
    """One verdict; `id` is the property's. `witness` is the file's path, `length` its steps, `proof` what was explored or
    proved, in words, `why` the reason of the expected verdict. `invariants` are formulas that a proof takes beside the claim, and
    `certificate` is the file that holds it. `fairness` is what a claim about fair loops depends on.

    `settled`: another engine decided the same case as expected, so that a failed proof by induction says nothing against it.
    `cached`: an earlier run decided it, which took the `seconds`.
    """

    id: str
    sentence: str
    kind: str
    profile: str
    condition: str
    engine: str
    scope: str
    verdict: str
    reason: str
    expected: str
    states: int | None = None
    transitions: int | None = None
    depth: int | None = None
    seconds: float = 0.0
    witness: str | None = None
    length: int | None = None
    proof: str = ""
    note: str = ""
    why: str = ""
    vacuous: bool = False
    settled: bool = False
    invariants: tuple[str, ...] = ()
    certificate: str | None = None
    fairness: Fairness | None = None
    cached: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether the verdict is the expected one; None where nothing was decided although something else was expected."""
        if self.verdict == "not inductive" and self.settled:
            return True
        if self.verdict == self.expected and (self.verdict != "unknown" or self.reason not in LIMITS):
            return True
        if self.kind == "history" and self.reason == BOUND:
            return False  # a known violation that so many programs do not show has vanished
        return None if self.verdict in ("unknown", "not inductive") else False

    @property
    def case(self) -> tuple[str, str, str, str, str]:
        """What engines must not contradict each other about; a property with several formulas has several sentences."""
        return (self.id, self.profile, self.condition, self.scope, self.sentence)

    @property
    def trace(self) -> str | None:
        """The file that `rocketproof explore` opens: the witness, or the history beside a program of messages; None where there is none."""
        return None if self.witness is None else opened(self.witness)

    def record(self) -> dict[str, Any]:
        """The JSON object of `check --json`."""
        own = {"property": self.id, "fairness": None if self.fairness is None else self.fairness.record()}
        return {name: own[name] if name in own else getattr(self, name) for name in FIELDS}


def undecided(task: CheckTask, reason: str) -> VerdictRow:
    """The row of a task that nobody decided."""
    return VerdictRow(
        task.property, task.sentence, task.kind, task.source.profile, task.condition, task.engine, task.source.scope, "unknown", reason,
        task.expected, why=task.why,
    )  # fmt: skip


def decided(task: CheckTask, outcome: Outcome, *, proof: str, vacuous: bool) -> VerdictRow:
    """The row of an engine's answer, without its files."""
    return replace(
        undecided(task, outcome.reason), verdict=outcome.verdict, states=outcome.states, transitions=outcome.transitions,
        depth=outcome.depth, seconds=round(outcome.seconds, 3),
        length=None if outcome.witness is None else len(outcome.witness), note=_note(outcome), proof=proof, vacuous=vacuous,
        invariants=tuple(map(show, outcome.details.get("invariants", ()))), fairness=Fairness.of(outcome),
    )  # fmt: skip


def _note(outcome: Outcome) -> str:
    if "values" in outcome.details:
        return ", ".join(f"{name} = {value}" for name, value in outcome.details["values"].items())
    if outcome.witness is not None:
        return outcome.witness.note
    if outcome.verdict == "unknown" and outcome.details.get("run") is not None:
        return f"run {outcome.details['run']} shows it, but the time ended before its replay; give more --time"
    if "needs_bytes" in outcome.details:
        return f"its fair loops need {outcome.details['needs_bytes'] / (1 << 20):,.0f} MB"
    fairness = Fairness.of(outcome)
    return "" if fairness is None else fairness.note


def settle(rows: list[VerdictRow]) -> list[VerdictRow]:
    """Mark the failed inductions on cases that another engine decided as expected in the same run."""
    done = {r.case for r in rows if r.agrees and r.verdict in ("holds", "violated")}
    return [replace(r, settled=True) if r.verdict == "not inductive" and r.case in done else r for r in rows]


def contradictions(rows: Iterable[VerdictRow]) -> list[str]:
    """Cases on which one engine says `holds` and another `violated`: one of the engines is wrong."""
    said: dict[tuple[str, str, str, str, str], dict[str, str]] = {}
    for row in rows:
        said.setdefault(row.case, {}).setdefault(row.verdict, row.engine)
    return [
        f"{' '.join(filter(None, case[:4]))}: {verdicts['holds']} says holds, {verdicts['violated']} says violated; one engine is wrong"
        for case, verdicts in said.items()
        if "holds" in verdicts and "violated" in verdicts
    ]
