"""Column programs agree with the interpreter in every row, also where a term has no value.

Rows are random: some values are outside their variable's type, which a state of the interpreter never holds. Here its states and arguments
raise when such a value is read (`Checked`), so that its laziness decides whether the value matters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from generated_models import Case, formulas, generated, models

from rocketproof_model import EvaluationError, Expr, Instance, Type
from rocketproof_model.columns import ColumnProgram, compile_columns
from rocketproof_model.interpreter import Environment, evaluate

GROUPS, MODELS, ROWS = 10, 8, 120
KINDS = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", ">i8", "uint64")


class Checked(Sequence[int]):
    """Codes, one per slot; reading a value outside its type raises."""

    def __init__(self, types: Sequence[Type], codes: Sequence[int]) -> None:
        self.types, self.codes = types, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, slot: Any) -> Any:
        if not self.types[slot].lo <= self.codes[slot] <= self.types[slot].hi:
            raise EvaluationError("not a value of its type")
        return self.codes[slot]


class CheckedArguments(Mapping[str, int]):
    def __init__(self, types: Mapping[str, Type], codes: Mapping[str, int]) -> None:
        self.types, self.codes = types, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.codes)

    def __getitem__(self, name: str) -> int:
        if not self.types[name].lo <= self.codes[name] <= self.types[name].hi:
            raise EvaluationError("not a value of its type")
        return self.codes[name]


def some_column(chance: random.Random, type_: Type, rows: int) -> np.ndarray[Any, Any]:
    """Return values of the type and a few others, in an array of some kind that holds them."""
    codes = [chance.randint(type_.lo, type_.hi) for _ in range(rows)]
    if chance.random() < 0.4:
        for _ in range(chance.randint(1, 6)):
            codes[chance.randrange(rows)] = chance.choice((type_.lo - 1, type_.hi + 1, 2 * type_.hi + 3, -(2**63), 2**63 - 1))
    kinds = [k for k in KINDS if (k == "bool" and {0, 1} >= set(codes)) or (k != "bool" and holds_all(k, codes))]
    return np.array(codes, dtype=chance.choice(kinds))


def holds_all(kind: str, codes: Sequence[int]) -> bool:
    limits = np.iinfo(np.dtype(kind))
    return bool(limits.min <= min(codes) and max(codes) <= limits.max)


def compare(
    instance: Instance, terms: Mapping[str, Expr], parameters: Mapping[str, Type], chance: random.Random, rows: int
) -> tuple[int, int]:
    """Compare all terms in all rows with the interpreter; return the number of values and of missing values."""
    program: ColumnProgram = compile_columns(instance, terms)
    types = [(v.name_at(at), v.type) for v in instance.model.variables for at in v.elements()]
    before, after = ({name: some_column(chance, type_, rows) for name, type_ in types} for _ in range(2))
    given = {name: some_column(chance, type_, rows) for name, type_ in parameters.items()}
    answers = program.run(before, after, given)
    broken = program.broken(before, after, given)
    found = set(zip(broken.row.tolist(), broken.term.tolist(), broken.fault.tolist(), strict=True))
    expected: set[tuple[int, int, bool]] = set()
    values = faults = 0
    columns = {name: (answers[name], answers.fault(name)) for name in terms}
    for row in range(rows):
        states = [Checked([t for _, t in types], [int(source[name][row]) for name, _ in types]) for source in (before, after)]
        arguments = CheckedArguments(parameters, {name: int(array[row]) for name, array in given.items()})
        scope = Environment(states[0], arguments, instance.constants, states[1])
        for number, (name, term) in enumerate(terms.items()):
            value, fault = columns[name]
            try:
                meaning = evaluate(term, scope)
            except EvaluationError:
                assert fault[row], (name, term, row)
                expected.add((row, number, True))
                faults += 1
                continue
            assert (value[row], fault[row]) == (meaning, False), (name, term, row)
            if term.type.sort == "bool" and not meaning:
                expected.add((row, number, False))
            values += 1
    assert found == expected
    assert len(broken) == len(expected)
    return values, faults


@pytest.mark.slow
@pytest.mark.parametrize("faulty", [False, True], ids=["proper", "faulty"])
@pytest.mark.parametrize("group", range(GROUPS))
def test_columns_agree_on_terms_of_generated_models(group: int, *, faulty: bool) -> None:
    seen = [0, 0]

    @generated(group, MODELS, models(faulty=faulty))
    def agree(case: Case) -> None:
        chance = random.Random(group)
        for action in filter(lambda a: a.guards or a.updates, case.model.actions):
            terms = {f"guard {g.name}": g.condition for g in action.guards}
            terms |= {f"update {k}": u.value for k, u in enumerate(action.updates)}
            terms |= {f"target {k}": u.target for k, u in enumerate(action.updates)}
            seen[:] = map(sum, zip(seen, compare(case.instance, terms, action.parameters, chance, ROWS // 4), strict=True))
        claims = {p.id: p.formula for p in case.model.properties}
        seen[:] = map(sum, zip(seen, compare(case.instance, claims, {}, chance, ROWS), strict=True))

    agree()
    assert seen[0] > 1000
    assert seen[1] > 50, "too few terms without a value to compare"


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_columns_agree_on_many_formulas(group: int) -> None:
    """Long programs: more formulas than a word of masks has bits."""

    @generated(group, 3, formulas(faulty=bool(group % 2)))
    def agree(case: Case) -> None:
        terms = {p.id: p.formula for p in case.model.properties}
        terms |= {f"not {name}": ~formula for name, formula in terms.items()}
        terms |= {f"again {name}": formula & (case.model.variables[0][()] < 3) for name, formula in list(terms.items())[:30]}
        compare(case.instance, terms, {}, random.Random(group), ROWS)

    agree()
