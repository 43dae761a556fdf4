"""Compare two witnesses of one model: their common steps, where and why they diverge, and how their ends differ.

The model is the same if its variables and actions are. Constants may differ, as between two profiles, and are part of the result. Up to the
first difference both are in the same state. So a guard that refuses the step of one in the other states why they diverge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from rocketproof_model import EvaluationError, Instance, Model
from rocketproof_model.interpreter import State, refusing
from rocketproof_model.result import Move, Witness

from ..common.errors import TraceError
from ..common.refusal import refusal_of
from .choices import scope_of
from .words import ElementChange, changes, elements, fill

SCHEMA = 1
_MARKS = {"both": "=", "first": "-", "second": "+"}


@dataclass(frozen=True)
class DifferentValue:
    """A difference between two witnesses or their ends: a name and both values."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class DivergingStep:
    """A step at which the witnesses diverge: what it changes, and the guard that refuses it in the other witness, with its sentence
    (empty if none does)."""

    step: int
    label: str
    sentence: str
    changes: tuple[ElementChange, ...]
    guard: str
    refused: str

    def data(self) -> dict[str, Any]:
        moved = [{"name": change.name, "before": change.before, "after": change.after} for change in self.changes]
        return {"step": self.step, "label": self.label, "changes": moved, "guard": self.guard, "refused": self.refused}


@dataclass(frozen=True)
class DiffRow:
    """A step of both witnesses, or of one. Numbers count from 1; 0 if the witness does not have the step."""

    of: Literal["both", "first", "second"]
    label: str
    first: int
    second: int


@dataclass(frozen=True)
class WitnessComparison:
    """`common` is the number of equal first steps. `first` and `second` are the next steps of each witness, None at its end.

    `facts` are differences in the property, the initial state and the loop. `end` are the elements in which the last states differ.
    """

    model: str
    lengths: tuple[int, int]
    constants: tuple[DifferentValue, ...]
    facts: tuple[DifferentValue, ...]
    common: int
    first: DivergingStep | None
    second: DivergingStep | None
    rows: tuple[DiffRow, ...]
    end: tuple[DifferentValue, ...]

    @property
    def equal(self) -> bool:
        return not (self.constants or self.facts or self.first or self.second or self.end)

    def data(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "schema": SCHEMA,
            "equal": self.equal,
            "model": self.model,
            "lengths": list(self.lengths),
            "constants": [asdict(row) for row in self.constants],
            "facts": [asdict(row) for row in self.facts],
            "common": self.common,
            "first": None if self.first is None else self.first.data(),
            "second": None if self.second is None else self.second.data(),
            "steps": [asdict(row) for row in self.rows],
            "end": [asdict(row) for row in self.end],
        }


def compare(first: Witness, second: Witness) -> WitnessComparison:
    """Compare two witnesses. Raises TraceError if their models differ in variables or actions."""
    first_instance, second_instance = first.instance, second.instance
    _same_model(first_instance.model, second_instance.model)
    common = _common(first, second)
    labels = first.labels(), second.labels()
    facts = {
        "property": (first.property.id, second.property.id),
        "loop": tuple("none" if each.loop is None else f"to state {each.loop}" for each in (first, second)),
        "initial state": tuple("" if first.states[0] == second.states[0] else _start(each, second, first) for each in (first, second)),
    }
    have = {name: (_constant(first_instance, name), _constant(second_instance, name)) for name in first_instance.model.constants}
    return WitnessComparison(
        first_instance.model.name,
        (len(first), len(second)),
        tuple(DifferentValue(name, a, b) for name, (a, b) in have.items() if a != b),
        tuple(DifferentValue(name, a, b) for name, (a, b) in facts.items() if a != b),
        common,
        _next(first, common, second_instance, second.states[common] if common < len(second.states) else None),
        _next(second, common, first_instance, first.states[common] if common < len(first.states) else None),
        tuple(_rows(*labels, common)),
        tuple(_values(first_instance, first.states[-1], second.states[-1])),
    )


def _same_model(model: Model, other: Model) -> None:
    for what, a, b in (
        ("variables", [e.name for e in elements(model)], [e.name for e in elements(other)]),
        ("actions", [(x.name, *x.parameters) for x in model.actions], [(x.name, *x.parameters) for x in other.actions]),
    ):
        if a != b:
            odd = next(iter([x for x in a if x not in b] or [x for x in b if x not in a]), a[0])
            name = odd if isinstance(odd, str) else odd[0]
            remedy = "give two of the same model and scope"
            raise TraceError(f"the witnesses are of models {model.name} and {other.name}", f"their {what} differ in {name}", remedy)


def _common(first: Witness, second: Witness) -> int:
    """Return the number of equal first steps: same step, same state before and after."""
    if first.states[0] != second.states[0]:
        return 0
    for k, (a, b) in enumerate(zip(first.moves, second.moves, strict=False)):
        if a != b or first.states[k + 1] != second.states[k + 1]:
            return k
    return min(len(first), len(second))


def _next(witness: Witness, at: int, other: Instance, there: State | None) -> DivergingStep | None:
    """Return the next step of a witness after the common steps, and what refuses it in the other instance in the state `there`."""
    if at >= len(witness):
        return None
    move: Move = witness.moves[at]
    action = witness.instance.model.named(move.action)
    guard, refused = "", ""
    if there is not None:
        theirs = other.model.named(move.action)
        try:
            guard_found = refusing(other, there, theirs, move.args)
        except EvaluationError as error:
            refused = str(error)
        else:
            if guard_found is not None:
                why = refusal_of(guard_found, other, scope_of(other, there, theirs, move.args), theirs.label(move.args))
                values = ", ".join(f"{name} = {value}" for name, value in why.values.items())
                guard, refused = guard_found.name, f"{guard_found.sentence}{f' ({values})' if values else ''}"
    moved = changes(witness.instance, witness.states[at], witness.states[at + 1])
    return DivergingStep(at + 1, action.label(move.args), action.sentence, moved, guard, refused)


def _rows(first: Sequence[str], second: Sequence[str], common: int) -> Iterator[DiffRow]:
    """Yield all steps in one order: the common steps, then the longest common runs."""
    for k in range(common):
        yield DiffRow("both", first[k], k + 1, k + 1)
    left, right = first[common:], second[common:]
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            for k in range(b - a):
                yield DiffRow("both", left[a + k], common + a + k + 1, common + c + k + 1)
            continue
        for k in range(a, b):
            yield DiffRow("first", left[k], common + k + 1, 0)
        for k in range(c, d):
            yield DiffRow("second", right[k], 0, common + k + 1)


def _values(instance: Instance, state: State, other: State) -> Iterator[DifferentValue]:
    for change in changes(instance, state, other):
        yield DifferentValue(change.name, change.before, change.after)


def _constant(instance: Instance, name: str) -> str:
    return instance.model.constants[name][0].text(instance.constants[name])


def _start(each: Witness, second: Witness, first: Witness) -> str:
    differ = list(_values(first.instance, first.states[0], second.states[0]))
    return ", ".join(f"{value.name} = {value.second if each is second else value.first}" for value in differ)


def render(comparison: WitnessComparison, first: str, second: str, console: Console) -> None:
    """Print a comparison to the console's width. The two witnesses are named by their files."""
    for file, length, mark, style in ((first, comparison.lengths[0], "-", "red"), (second, comparison.lengths[1], "+", "green")):
        console.print(Text(f"{mark} {file}: {_steps(length)}", style=style), soft_wrap=True)
    for line, style in _lines(comparison):
        indent = " " * (len(line) - len(line.lstrip(" ")))
        parts = [line.strip()] if len(line) <= console.width else fill(line.split(), max(console.width - len(indent) - 2, 8))
        for number, part in enumerate(parts):
            console.print(Text(f"{indent}{'  ' if number else ''}{part}", style=style), soft_wrap=True)


def _lines(comparison: WitnessComparison) -> Iterator[tuple[str, str]]:
    if comparison.equal:
        yield "they are the same", "bold"
        return
    for difference in comparison.constants:
        yield f"constant {difference.name}: {difference.first} in the first, {difference.second} in the second", ""
    for difference in comparison.facts:
        yield f"{difference.name}: {difference.first or 'none'} in the first, {difference.second or 'none'} in the second", ""
    if comparison.common:
        yield f"the first {_steps(comparison.common)} are the same" if comparison.common > 1 else "the first step is the same", ""
    for name, taken, mark, style in (("the first", comparison.first, "-", "red"), ("the second", comparison.second, "+", "green")):
        if taken is None:
            if comparison.first or comparison.second:
                yield f"then {name} is at its end", style
            continue
        yield f"then {name}: {mark} step {taken.step}, {taken.label}: {taken.sentence}", style
        for change in taken.changes:
            yield f"    {change.name}: {change.before} → {change.after}", style
        if taken.guard or taken.refused:
            by = f"by guard '{taken.guard}': " if taken.guard else ""
            yield f"    refused in the other one {by}{taken.refused}", ""
    if comparison.first or comparison.second:
        yield "all steps:", "bold"
    for row in comparison.rows if comparison.first or comparison.second else ():
        style = {"both": "dim", "first": "red", "second": "green"}[row.of]
        yield f"  {_MARKS[row.of]} {row.first or '':>4} {row.second or '':>4}  {row.label}", style
    if comparison.end:
        yield "the last states differ:", "bold"
    elif comparison.first or comparison.second:
        yield "the last states are the same", "bold"
    for difference in comparison.end:
        yield f"    {difference.name}: {difference.first} in the first, {difference.second} in the second", ""


def _steps(number: int) -> str:
    return "1 step" if number == 1 else f"{number} steps"
