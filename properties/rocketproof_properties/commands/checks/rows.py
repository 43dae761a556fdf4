"""A row of the verdict matrix: the verdict, the expected verdict, and whether they agree, as plain data."""

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
"""Fields that rows of earlier versions lack."""
LIMITS = (TIME, MEMORY, STATES, DISK, INTERRUPTED)


@dataclass(frozen=True)
class Fairness:
    """The fairness assumptions that a verdict about fair loops depends on, by action.

    - If the property holds: `needed` are the actions whose fairness cannot be removed, `enough` is a sufficient set.
    - If it is violated: `strengthen` are the actions whose fairness alone would make it hold, each with `weak` or `strong`.
    """

    needed: tuple[str, ...] = ()
    enough: tuple[str, ...] = ()
    strengthen: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(outcome: Outcome) -> Fairness | None:
        """Return None if no engine determined the fairness."""
        details = outcome.details
        if "needs_fairness" in details:
            return Fairness(tuple(details["needs_fairness"]), tuple(details["enough_fairness"]))
        return Fairness(strengthen=tuple(details["strengthen"].items())) if "strengthen" in details else None

    @staticmethod
    def read(record: Mapping[str, Any] | None) -> Fairness | None:
        """Parse the result of `record`."""
        if record is None:
            return None
        return Fairness(tuple(record["needed"]), tuple(record["enough"]), tuple(record["strengthen"].items()))

    @property
    def note(self) -> str:
        """The fairness that a property needs to hold, as a sentence."""
        if not self.enough:
            return "needs no fairness"
        rest = [name for name in self.enough if name not in self.needed]
        parts = [f"needs fairness of {', '.join(self.needed)}"] if self.needed else []
        return "; ".join([*parts, f"fairness of {', '.join(self.enough)} suffices"] if rest else parts)

    def record(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"needed": list(self.needed), "enough": list(self.enough), "strengthen": dict(self.strengthen)}


@dataclass(frozen=True)
class VerdictRow:
    """One verdict. `id` is the property's id.

    - `witness`: the path of the witness file; `length`: its number of steps.
    - `proof`: a description of what was explored or proved. `why`: the reason of the expected verdict.
    - `invariants`: formulas that a proof uses in addition to the claim; `certificate`: the file that contains them.
    - `fairness`: the fairness assumptions that a claim about fair loops depends on.
    - `settled`: another engine decided the same case as expected, so that a failed proof by induction is no disagreement.
    - `cached`: an earlier run decided the row; `seconds` is the duration of that run.
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
        """Whether the verdict is the expected verdict; None if nothing was decided although another verdict was expected."""
        if self.verdict == "not inductive" and self.settled:
            return True
        if self.verdict == self.expected and (self.verdict != "unknown" or self.reason not in LIMITS):
            return True
        if self.kind == "history" and self.reason == BOUND:
            return False  # no program shows a known violation any more
        return None if self.verdict in ("unknown", "not inductive") else False

    @property
    def case(self) -> tuple[str, str, str, str, str]:
        """The key within which engines must not contradict each other. A property with several formulas has several sentences."""
        return (self.id, self.profile, self.condition, self.scope, self.sentence)

    @property
    def trace(self) -> str | None:
        """The file that `rocketproof explore` opens: the witness, or the history that belongs to a program of messages; None without
        witness.
        """
        return None if self.witness is None else opened(self.witness)

    def record(self) -> dict[str, Any]:
        """Return the JSON object of `check --json`."""
        own = {"property": self.id, "fairness": None if self.fairness is None else self.fairness.record()}
        return {name: own[name] if name in own else getattr(self, name) for name in FIELDS}


def undecided(task: CheckTask, reason: str) -> VerdictRow:
    """Return the row of a task that no engine decided."""
    return VerdictRow(
        task.property, task.sentence, task.kind, task.source.profile, task.condition, task.engine, task.source.scope, "unknown", reason,
        task.expected, why=task.why,
    )  # fmt: skip


def decided(task: CheckTask, outcome: Outcome, *, proof: str, vacuous: bool) -> VerdictRow:
    """Return the row of an engine's answer, without its files."""
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
    """Mark failed inductions on cases that another engine decided as expected in the same run."""
    done = {r.case for r in rows if r.agrees and r.verdict in ("holds", "violated")}
    return [replace(r, settled=True) if r.verdict == "not inductive" and r.case in done else r for r in rows]


def contradictions(rows: Iterable[VerdictRow]) -> list[str]:
    """Return a sentence for each case on which one engine reports `holds` and another `violated`: one of them is wrong."""
    verdicts_of: dict[tuple[str, str, str, str, str], dict[str, str]] = {}
    for row in rows:
        verdicts_of.setdefault(row.case, {}).setdefault(row.verdict, row.engine)
    return [
        f"{' '.join(filter(None, case[:4]))}: {verdicts['holds']} says holds, {verdicts['violated']} says violated; one engine is wrong"
        for case, verdicts in verdicts_of.items()
        if "holds" in verdicts and "violated" in verdicts
    ]
