"""Two witnesses of one model beside each other: the steps that they share, where they part and why, and how their ends differ.

The model is the same if its variables and actions are; constants may differ, as between two profiles, and are part of the answer. Up to
the first difference both are in the same state, so a guard that refuses one's step in the other says why they part.
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
    """What two witnesses, or their ends, have different: a name and both values."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class DivergingStep:
    """A step where the two part: what it changes, and the guard that refuses it in the other one, with its sentence ("" if none does)."""

    step: int
    label: str
    sentence: str
    changes: tuple[ElementChange, ...]
    guard: str
    refused: str

    def data(self) -> dict[str, Any]:
        moved = [{"name": one.name, "before": one.before, "after": one.after} for one in self.changes]
        return {"step": self.step, "label": self.label, "changes": moved, "guard": self.guard, "refused": self.refused}


@dataclass(frozen=True)
class DiffRow:
    """A step of both, or of one only; numbers count from 1, 0 where it has none."""

    of: Literal["both", "first", "second"]
    label: str
    first: int
    second: int


@dataclass(frozen=True)
class WitnessComparison:
    """`common` is the number of steps that both begin with. `first` and `second` are what each does next, None where one is at its end.

    `facts` are what differs besides steps: the property, the start, the loop. `end` are the elements in which the last states differ.
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
        """The comparison as JSON values."""
        return {
            "schema": SCHEMA,
            "equal": self.equal,
            "model": self.model,
            "lengths": list(self.lengths),
            "constants": [asdict(one) for one in self.constants],
            "facts": [asdict(one) for one in self.facts],
            "common": self.common,
            "first": None if self.first is None else self.first.data(),
            "second": None if self.second is None else self.second.data(),
            "steps": [asdict(one) for one in self.rows],
            "end": [asdict(one) for one in self.end],
        }


def compare(first: Witness, second: Witness) -> WitnessComparison:
    """Compare two witnesses. Raises TraceError if their models differ in variables or actions."""
    one, other = first.instance, second.instance
    _same_model(one.model, other.model)
    common = _common(first, second)
    labels = first.labels(), second.labels()
    facts = {
        "property": (first.property.id, second.property.id),
        "loop": tuple("none" if each.loop is None else f"to state {each.loop}" for each in (first, second)),
        "initial state": tuple("" if first.states[0] == second.states[0] else _start(each, second, first) for each in (first, second)),
    }
    have = {name: (_constant(one, name), _constant(other, name)) for name in one.model.constants}
    return WitnessComparison(
        one.model.name,
        (len(first), len(second)),
        tuple(DifferentValue(name, a, b) for name, (a, b) in have.items() if a != b),
        tuple(DifferentValue(name, a, b) for name, (a, b) in facts.items() if a != b),
        common,
        _next(first, common, other, second.states[common] if common < len(second.states) else None),
        _next(second, common, one, first.states[common] if common < len(first.states) else None),
        tuple(_rows(*labels, common)),
        tuple(_values(one, first.states[-1], second.states[-1])),
    )


def _same_model(one: Model, other: Model) -> None:
    for what, a, b in (
        ("variables", [e.name for e in elements(one)], [e.name for e in elements(other)]),
        ("actions", [(x.name, *x.parameters) for x in one.actions], [(x.name, *x.parameters) for x in other.actions]),
    ):
        if a != b:
            odd = next(iter([x for x in a if x not in b] or [x for x in b if x not in a]), a[0])
            name = odd if isinstance(odd, str) else odd[0]
            remedy = "give two of the same model and scope"
            raise TraceError(f"the witnesses are of models {one.name} and {other.name}", f"their {what} differ in {name}", remedy)


def _common(first: Witness, second: Witness) -> int:
    """The number of steps that both begin with: same step, same state before and after."""
    if first.states[0] != second.states[0]:
        return 0
    for k, (a, b) in enumerate(zip(first.moves, second.moves, strict=False)):
        if a != b or first.states[k + 1] != second.states[k + 1]:
            return k
    return min(len(first), len(second))


def _next(witness: Witness, at: int, other: Instance, there: State | None) -> DivergingStep | None:
    """What a witness does after its common steps, and what refuses that in the other instance in the state `there`."""
    if at >= len(witness):
        return None
    move: Move = witness.moves[at]
    action = witness.instance.model.named(move.action)
    guard, refused = "", ""
    if there is not None:
        theirs = other.model.named(move.action)
        try:
            found = refusing(other, there, theirs, move.args)
        except EvaluationError as error:
            refused = str(error)
        else:
            if found is not None:
                why = refusal_of(found, other, scope_of(other, there, theirs, move.args), theirs.label(move.args))
                values = ", ".join(f"{name} = {value}" for name, value in why.values.items())
                guard, refused = found.name, f"{found.sentence}{f' ({values})' if values else ''}"
    moved = changes(witness.instance, witness.states[at], witness.states[at + 1])
    return DivergingStep(at + 1, action.label(move.args), action.sentence, moved, guard, refused)


def _rows(first: Sequence[str], second: Sequence[str], common: int) -> Iterator[DiffRow]:
    """All steps in one order: those of the common beginning, then the longest runs that both have."""
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


def _values(instance: Instance, one: State, other: State) -> Iterator[DifferentValue]:
    for change in changes(instance, one, other):
        yield DifferentValue(change.name, change.before, change.after)


def _constant(instance: Instance, name: str) -> str:
    return instance.model.constants[name][0].text(instance.constants[name])


def _start(each: Witness, second: Witness, first: Witness) -> str:
    differ = list(_values(first.instance, first.states[0], second.states[0]))
    return ", ".join(f"{one.name} = {one.second if each is second else one.first}" for one in differ)


def render(found: WitnessComparison, first: str, second: str, console: Console) -> None:
    """Print a comparison to the console's width; the two are called by their files."""
    for file, length, mark, style in ((first, found.lengths[0], "-", "red"), (second, found.lengths[1], "+", "green")):
        console.print(Text(f"{mark} {file}: {_steps(length)}", style=style), soft_wrap=True)
    for line, style in _lines(found):
        indent = " " * (len(line) - len(line.lstrip(" ")))
        parts = [line.strip()] if len(line) <= console.width else fill(line.split(), max(console.width - len(indent) - 2, 8))
        for number, part in enumerate(parts):
            console.print(Text(f"{indent}{'  ' if number else ''}{part}", style=style), soft_wrap=True)


def _lines(found: WitnessComparison) -> Iterator[tuple[str, str]]:
    if found.equal:
        yield "they are the same", "bold"
        return
    for one in found.constants:
        yield f"constant {one.name}: {one.first} in the first, {one.second} in the second", ""
    for one in found.facts:
        yield f"{one.name}: {one.first or 'none'} in the first, {one.second or 'none'} in the second", ""
    if found.common:
        yield f"the first {_steps(found.common)} are the same" if found.common > 1 else "the first step is the same", ""
    for name, taken, mark, style in (("the first", found.first, "-", "red"), ("the second", found.second, "+", "green")):
        if taken is None:
            if found.first or found.second:
                yield f"then {name} is at its end", style
            continue
        yield f"then {name}: {mark} step {taken.step}, {taken.label}: {taken.sentence}", style
        for change in taken.changes:
            yield f"    {change.name}: {change.before} → {change.after}", style
        if taken.guard or taken.refused:
            by = f"by guard '{taken.guard}': " if taken.guard else ""
            yield f"    refused in the other one {by}{taken.refused}", ""
    if found.first or found.second:
        yield "all steps:", "bold"
    for row in found.rows if found.first or found.second else ():
        style = {"both": "dim", "first": "red", "second": "green"}[row.of]
        yield f"  {_MARKS[row.of]} {row.first or '':>4} {row.second or '':>4}  {row.label}", style
    if found.end:
        yield "the last states differ:", "bold"
    elif found.first or found.second:
        yield "the last states are the same", "bold"
    for one in found.end:
        yield f"    {one.name}: {one.first} in the first, {one.second} in the second", ""


def _steps(number: int) -> str:
    return "1 step" if number == 1 else f"{number} steps"
