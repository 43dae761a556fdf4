"""Checks whether recorded steps are steps of the model: guards, effects, frame and properties of all steps at once, as column programs.

A recorded step is a row: the state before, the action and its parameters, the state after. The result is the interpreter's. Guards are
evaluated in order and the first that refuses counts. If none refuses, the effect is compared element by element, and elements that the
action cannot write have to stay unchanged. A value outside its variable's type is a violation of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ModelError
from ..language import Action, Assignment, Expr, Instance, Property, Type, Variable, after, all_of, const, implies, ite, show
from ..result import Move
from .emit import positions
from .program import Answers, ColumnProgram, TermErrors, compile_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["action", "parameter", "value", "guard", "effect", "frame", "always", "step"]
_Name = tuple[Kind, str]


@dataclass(frozen=True, eq=False)
class RecordedSteps:
    """Recorded steps, one per row: `action` is the position of the action in the model; the others hold codes by name.

    A parameter's column serves all actions that have a parameter of this name; rows of other actions may hold any value.
    """

    action: NDArray[np.integer[Any]]
    before: Mapping[str, NDArray[Any]]
    after: Mapping[str, NDArray[Any]]
    parameters: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.action)

    @classmethod
    def of(cls, instance: Instance, recorded: Iterable[tuple[Sequence[int], Move, Sequence[int]]]) -> RecordedSteps:
        """Build the table from single steps: state, move, state."""
        model, rows = instance.model, list(recorded)
        numbers = {action.name: k for k, action in enumerate(model.actions)}
        parameters = {name: np.zeros(len(rows), np.int64) for action in model.actions for name in action.parameters}
        for row, (_, move, _) in enumerate(rows):
            for name, code in zip(model.named(move.action).parameters, move.args, strict=True):
                parameters[name][row] = code
        states = []
        for part in (0, 2):
            codes = np.array([row[part] for row in rows], np.int64).reshape(len(rows), model.slots)
            states.append({name: np.ascontiguousarray(codes[:, slot]) for slot, (name, _) in enumerate(_elements(instance))})
        return cls(np.array([numbers[move.action] for _, move, _ in rows], np.int64), states[0], states[1], parameters)


@dataclass(frozen=True, eq=False)
class Violation:
    """One kind of violation in `rows`, in ascending order.

    | kind | name | problem |
    |---|---|---|
    | action | | the model has no action of this number |
    | parameter | parameter | its value is outside its type |
    | value | element | its value is outside its type; `x'` is the value after the step |
    | guard | guard | the first guard of `action` that refuses |
    | effect | element | differs from the effect of `action`; with `fault` the assignment of this target has no value |
    | frame | element | changed, though `action` cannot write it |
    | always | property | does not hold; `INV-1'` in the state after the step |
    | step | property | does not hold |

    `fault`: the guard, effect or property has no value.
    """

    kind: Kind
    name: str
    action: str
    fault: bool
    rows: NDArray[np.int64]

    def __str__(self) -> str:
        what = " of ".join(filter(None, (f"{self.kind} {self.name}".strip(), self.action)))
        return f"{what}{' has no value' if self.fault else ''} in {len(self.rows)} rows, first in row {self.rows[0]}"


def check_steps(instance: Instance, steps: RecordedSteps, claims: Iterable[Property] | None = None) -> list[Violation]:
    """Return `compile_steps(instance, claims).check(steps)`."""
    return compile_steps(instance, claims).check(steps)


def compile_steps(instance: Instance, claims: Iterable[Property] | None = None) -> StepProgram:
    """Compile a checker for any number of tables of recorded steps.

    `claims` are by default the model's properties; kinds that no step violates are left out.
    """
    elements = dict(_elements(instance))
    same = compile_columns(instance, {name: after(element) == element for name, element in elements.items()}) if elements else None
    types = {name: element.type for name, element in elements.items()}
    chosen = instance.model.properties if claims is None else claims
    return StepProgram(
        tuple(_compiled_action(instance, a) for a in instance.model.actions), same, types, _TermProgram.of(instance, _claimed(chosen))
    )


@dataclass(frozen=True, eq=False)
class StepProgram:
    """Column programs for the actions of an instance, for the frame (`same`: an element stays unchanged) and for claims."""

    actions: tuple[_ActionProgram, ...]
    same: ColumnProgram | None  # None for a model without variables
    types: Mapping[str, Type]
    claims: _TermProgram

    def check(self, steps: RecordedSteps) -> list[Violation]:
        """Return all violations of recorded steps; empty if all are steps of the model and no claim is violated.

        Raises ModelError for missing columns.
        """
        every = np.arange(len(steps))
        violations = _violation("action", "", "", False, every[(steps.action < 0) | (steps.action >= len(self.actions))])
        same = None if self.same is None else self.same.run(steps.before, steps.after)
        if same is not None:
            violations += self._values(steps, same)
        for number, action in enumerate(self.actions):
            violations += action.judge(steps, np.flatnonzero(steps.action == number), same)
        return violations + _violations(self.claims.names, "", self.claims.broken(steps, every), every)

    def _values(self, steps: RecordedSteps, same: Answers) -> Iterator[Violation]:
        """Yield the values outside their types; comparing such a value has no value either."""
        broken = same.broken() if same.faults.any() else TermErrors.joined([])
        for number, (name, type_) in enumerate(self.types.items()):
            rows = broken.row[broken.fault & (broken.term == number)]
            for label, state in ((name, steps.before), (f"{name}'", steps.after)):
                yield from _violation("value", label, "", False, rows[_outside(state[name][rows], type_)])


@dataclass(frozen=True, eq=False)
class _ActionProgram:
    """`asked`: guards, then whether assignments have a value; `effect`: whether the written elements have the right values."""

    action: Action
    asked: _TermProgram
    effect: _TermProgram

    def judge(self, steps: RecordedSteps, rows: NDArray[np.int64], same: Answers | None) -> list[Violation]:
        """Return the violations of this action's steps, which are in `rows`."""
        name, violations = self.action.name, []
        if not len(rows):
            return []
        for parameter, type_ in self.action.parameters.items():
            if parameter not in steps.parameters:
                raise ModelError(f"no column for parameter {parameter} of {name}", "give it among the parameters")
            violations += _violation("parameter", parameter, name, False, rows[_outside(steps.parameters[parameter][rows], type_)])
        broken = self.asked.broken(steps, rows)
        first = np.unique(broken.row, return_index=True)[1]  # ordered by row, then by term: the interpreter stops at the first
        term = broken.term[first]
        refused = TermErrors(broken.row[first], term, broken.fault[first] | (term >= len(self.action.guards)))
        violations += _violations(self.asked.names, name, refused, rows)
        rows = np.delete(rows, refused.row)
        # From here on only states outside their types have no value, and these are reported already.
        violations += _violations(self.effect.names, name, self.effect.broken(steps, rows).valued, rows)
        if same is not None:
            written = {element for _, element in self.effect.names}
            names: list[_Name] = [("frame", element) for element in same]
            violations += _violations(names, name, same.broken(rows, [element for element in same if element not in written]).valued, rows)
        return violations


@dataclass(frozen=True, eq=False)
class _TermProgram:
    """A column program and the meaning of each of its terms."""

    names: tuple[_Name, ...]
    program: ColumnProgram | None  # None without terms

    @classmethod
    def of(cls, instance: Instance, terms: Sequence[tuple[_Name, Expr]]) -> _TermProgram:
        program = compile_columns(instance, {str(k): term for k, (_, term) in enumerate(terms)}) if terms else None
        return cls(tuple(name for name, _ in terms), program)

    def broken(self, steps: RecordedSteps, rows: NDArray[np.int64]) -> TermErrors:
        """Return the failing terms in these steps, which count from 0 in the result."""
        if self.program is None:
            return TermErrors.joined([])
        sources: tuple[dict[str, NDArray[Any]], ...] = ({}, {}, {})
        for column in self.program.columns:
            number = ("ref", "after", "par").index(column.source)
            array = (steps.before, steps.after, steps.parameters)[number].get(column.name)
            if array is not None:  # otherwise the program reports the missing column
                sources[number][column.name] = array if len(rows) == len(steps) else array[rows]
        return self.program.broken(*sources, rows=len(rows))


def _violation(kind: Kind, name: str, action: str, fault: bool, rows: NDArray[np.int64]) -> list[Violation]:
    return [Violation(kind, name, action, fault, rows)] if len(rows) else []


def _violations(names: Sequence[_Name], action: str, broken: TermErrors, rows: NDArray[np.int64]) -> list[Violation]:
    """Return one violation for each term and way in which it fails; `rows` are the steps of the rows of `broken`."""
    violations = []
    for number in np.unique(broken.term):
        kind, name = names[int(number)]
        for fault in (False, True):
            violations += _violation(kind, name, action, fault, rows[broken.row[(broken.term == number) & (broken.fault == fault)]])
    return violations


def _outside(codes: NDArray[Any], type_: Type) -> NDArray[np.bool_]:
    wide = codes.astype(np.int64) if codes.dtype == np.bool_ else codes
    outside: NDArray[np.bool_] = (wide < type_.lo) | (wide > type_.hi)
    return outside


# -- terms ------------------------------------------------------------------------------------------------------------


def _elements(instance: Instance) -> Iterator[tuple[str, Expr]]:
    """Yield all elements in the order of the slots, with the terms that read them."""
    for variable in instance.model.variables:
        for at in variable.elements():
            yield variable.name_at(at), variable.element(at)


def _claimed(claims: Iterable[Property]) -> list[tuple[_Name, Expr]]:
    terms: list[tuple[_Name, Expr]] = []
    for claim in claims:
        if claim.kind == "step":
            terms.append((("step", claim.id), claim.formula))
        elif claim.kind == "always":
            terms += [(("always", claim.id), claim.formula), (("always", f"{claim.id}'"), after(claim.formula))]
    return terms


def _compiled_action(instance: Instance, action: Action) -> _ActionProgram:
    asked: list[tuple[_Name, Expr]] = []
    for guard in action.guards:
        asked.append((("guard", guard.name), guard.condition))
    written: dict[str, tuple[Expr, Expr]] = {}  # the elements that it may write, and their values afterwards
    for update in action.updates:
        asked.append((("effect", show(update.target)), _has_value(update)))
        variable: Variable = update.target.args[0]
        for at in positions(update.target):
            name = variable.name_at(at)
            element, value = written.get(name, (variable.element(at),) * 2)
            here = all_of(index == const(k, index.type) for index, k in zip(update.target.args[1:], at, strict=True))
            written[name] = element, ite(update.when & here, update.assigned, value)
    for clash in action.clashes:
        asked.append((("effect", show(clash)), ~clash))
    effect: list[tuple[_Name, Expr]] = [(("effect", name), after(element) == value) for name, (element, value) in written.items()]
    return _ActionProgram(action, _TermProgram.of(instance, asked), _TermProgram.of(instance, effect))


def _has_value(update: Assignment) -> Expr:
    """Return a term that is true if nothing is assigned or the interpreter finds a value and a place, else false or without a value."""
    variable: Variable = update.target.args[0]
    value, type_ = update.assigned, variable.type
    some = value if type_.sort == "bool" else value == const(type_.lo, type_)
    inside = [_within(value, type_)] if type_.sort == "int" else []
    places = [_placed(i, axis) for i, axis in zip(update.target.args[1:], variable.over, strict=True)]
    when = update.when
    return (when | ~when) & implies(when, all_of([some | ~some, *inside, *places]))


def _placed(index: Expr, axis: Type) -> Expr:
    """Return the condition that an index has a value within the axis."""
    if index.type.sort == "int":
        return _within(index, axis)
    first: Expr = index == const(index.type.lo, index.type)
    return first | ~first


def _within(value: Expr, type_: Type) -> Expr:
    inside: Expr = (value >= type_.lo) & (value <= type_.hi)
    return inside
