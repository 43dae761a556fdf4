"""Rules about rows of a store or a history: rows on both sides of each limit, by the interpreter, a column program and a Python function.
Mutated rules are detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from stored_rows import BASE, ROWS, SET_STEPS, SETTINGS, STEPS, Row

from nonempty import nonempty
from rocketproof_model import Expr
from rocketproof_model.columns import compile_columns
from rocketproof_model.interpreter import holds
from rocketproof_model.language import Bool, Instance, const, rewrite, walk
from rocketproof_properties.catalogue.stored import settings
from rocketproof_properties.catalogue.table import rules
from rocketproof_traces.audit.fields import JUDGED_ROWS, RULE_ROWS
from rocketproof_traces.audit.promised import PROMISED
from rocketproof_traces.audit.row_rules import row_rule, settings_of
from rocketproof_traces.audit.rules import KINDS, Rule, instance

Case = tuple[str, dict[str, Any], Row, Row | None, set[str]]


def cases() -> Iterator[Case]:
    """Return handwritten rows as (over, settings, row, the row after it, the rules broken)."""
    for kind, rows in ROWS.items():
        for row, broken in rows:
            yield kind, {}, row, None, broken
    for over, steps in STEPS.items():
        for before, after, broken in steps:
            yield over, {}, before, after, broken
    for given, over, before, after, broken in SET_STEPS:
        yield over, given, before, after, broken
    for given, kind, row, broken in SETTINGS:
        yield kind, given, row, None, broken


CASES = list(cases())


def state(over: str, made: Instance, row: Row | None) -> tuple[int, ...] | None:
    if row is None:
        return None
    kind = KINDS[over][0]
    assert row.keys() <= BASE[kind].keys()
    values = {**BASE[kind], **row}
    return tuple(variable.type.encode(values[variable.name]) for variable in made.model.variables)


def rules_over(over: str) -> list[Rule]:
    return [rule for rule in rules() if rule.over == over]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}-{case[3]}"[:80])
def test_row_breaks_exactly_these_rules(case: Case) -> None:
    over, given, before, after, broken = case
    made = instance(KINDS[over][0], given)
    states = state(over, made, before), state(over, made, after)
    assert states[0] is not None
    found = {rule.id for rule in rules_over(over) if not holds(made, rule.claim.formula, states[0], states[1])}
    assert found == broken


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}-{case[3]}"[:80])
def test_functions_decide_same(case: Case) -> None:
    over, given, before, after, broken = case
    made = instance(KINDS[over][0], given)
    states = state(over, made, before) or (), state(over, made, after) or ()
    found = {rule.id for rule in rules_over(over) if not row_rule(rule, settings_of(given)).holds(*states)}
    assert found == broken
    assert all(all(row_rule(rule, settings_of(given)).values(*states)) for rule in rules_over(over) if rule.id in broken)


OF_USERS = {RULE_ROWS[name].over for name in JUDGED_ROWS}
"""The rows that no rule of the catalogue is about."""


def test_no_catalogue_rule_is_about_rows_of_users() -> None:
    assert not any(rules_over(over) for over in OF_USERS)


@pytest.mark.parametrize("over", [over for over in KINDS if over not in PROMISED and over not in OF_USERS])
def test_column_programs_agree_with_row_rules(over: str) -> None:
    made = instance(KINDS[over][0], {})
    chosen = [case for case in CASES if case[0] == over and not case[1]]
    program = compile_columns(made, {rule.id: rule.claim.formula for rule in rules_over(over)})
    tables = [_table(made, [state(over, made, row) for row in rows]) for rows in ([c[2] for c in chosen], [c[3] for c in chosen])]
    answers = program.run(tables[0], tables[1])
    for n, case in nonempty(enumerate(chosen)):
        assert {rule.id for rule in rules_over(over) if not answers[rule.id][n]} == case[4]


def _table(made: Instance, states: list[Any]) -> dict[str, Any]:
    if states[0] is None:
        return {}
    return {variable.name: np.array([s[n] for s in states], np.int64) for n, variable in enumerate(made.model.variables)}


def test_every_rule_is_broken_by_some_row() -> None:
    assert {rule.id for rule in rules()} == {id_ for case in CASES for id_ in case[4]}


def test_ids_are_unique_and_have_sentences() -> None:
    ids = [rule.id for rule in rules()]
    assert len(ids) == len(set(ids)) >= 60
    assert all(rule.claim.sentence[0].islower() or rule.claim.sentence.startswith("WAIT ") for rule in rules())


@pytest.mark.parametrize(
    ("profiles", "early_batches", "before_49", "below_zero"),
    [
        (("P40", "P45", "P452", "P460", "P461"), True, True, False),
        (("P49",), False, True, True),
        (("P470", "P471", "P480", "P490"), True, True, True),
        (("P491",), False, False, True),
        (("P492", "P493", "P494", "P500", "P533", "P550"), False, False, False),
    ],
)
def test_release_behaves_like_releases_of_its_age(
    profiles: tuple[str, ...], early_batches: bool, before_49: bool, below_zero: bool
) -> None:
    """A store of 4.5.2 with a second byte 1 in its tags, a dead letter of a first send-back and 60 drawn queues shows it."""
    for name in nonempty(profiles):
        given = settings(name)
        assert [given[age] for age in ("early_batches", "before_49", "below_zero")] == [early_batches, before_49, below_zero]


@pytest.mark.parametrize("profile", ["P40", "P45", "P49", "P420", "P432", "P494", "P533"])
def test_every_profile_has_its_settings(profile: str) -> None:
    given = settings(profile)
    assert given["stores_wait"] == (profile == "P533")
    assert given["half_messages"] == (profile not in ("P40", "P420"))


def is_extreme(e: Expr) -> bool:
    """Return whether it is the smaller or larger of two numbers, where either may be taken of equal ones."""
    return e.op == "ite" and e.args[0].op == "lt" and set(e.args[0].args) == set(e.args[1:])


def spoilt(rule: Rule) -> Iterator[tuple[str, Expr]]:
    """Yield mutants of the rule's formula: negated, dropped, partly dropped, or with a limit moved by one."""
    formula = rule.claim.formula
    yield "negated", ~formula
    yield "given up", const(1, Bool)
    extremes = {e.args[0] for e in walk(formula) if is_extreme(e)}
    for e in walk(formula):
        if e.op in ("and", "or"):
            neutral = const(int(e.op == "and"), Bool)
            for n in (0, 1):
                part = e.args[1 - n]
                yield f"{e} without {e.args[n]}", _instead(formula, e, part if part is not e else neutral)
        if e.op == "not":
            yield f"{e} without not", _instead(formula, e, e.args[0])
        if e.op in ("lt", "le") and e not in extremes:
            x, y = e.args
            yield f"{e} by one", _instead(formula, e, x <= y if e.op == "lt" else x < y)


def _instead(formula: Expr, old: Expr, new: Expr) -> Expr:
    return rewrite(formula, lambda e: new if e is old else None)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_mutated_rule_is_noticed(rule: Rule) -> None:
    """Some row gets another verdict, so that the test above would fail."""
    for what, formula in nonempty(spoilt(rule)):
        if formula is rule.claim.formula:
            continue
        assert any(_differs(rule, formula, case) for case in CASES if case[0] == rule.over), f"{rule.id}: {what} is not noticed"


def _differs(rule: Rule, formula: Expr, case: Case) -> bool:
    made = instance(KINDS[rule.over][0], case[1])
    before, after = state(rule.over, made, case[2]), state(rule.over, made, case[3])
    assert before is not None
    return holds(made, formula, before, after) == (rule.id in case[4])
