"""A wrongly built model is refused when it is built, with a single line that names the line of the mistake and a remedy."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_model import (
    BagOf,
    Bool,
    Enum,
    EvaluationError,
    Expr,
    Field,
    Int,
    Maybe,
    Model,
    ModelError,
    Record,
    SeqOf,
    SetOf,
    after,
    all_of,
    any_of,
    count,
    exists,
    forall,
    free,
    generalise,
    implies,
    interpreter,
    ite,
    java_abs,
    maximum,
    minimum,
    rem,
    search,
    simulate,
    single,
    symbolic,
    total,
    without_bits,
    wrap32,
)
from rocketproof_model.interpreter import Environment, evaluate, holds, initial, readable, refusing, successors
from rocketproof_model.language import const, show, walk

LEAST, MOST = -(2**31), 2**31 - 1


def declared() -> SimpleNamespace:
    """Build a model with a variable of each type and no action."""
    m = Model("small")
    a, b = m.index("A", 3), m.index("B", 2)
    row = Record(k=Bool, n=Int(0, 3))
    return SimpleNamespace(
        m=m,
        A=a,
        B=b,
        Row=row,
        x=m.var("x", Int(0, 3), init=0),
        y=m.var("y", Int(-2, 3), init=0),
        f=m.var("f", Bool, init=False),
        e=m.var("e", Enum("red", "blue"), init="red"),
        arr=m.var("arr", Int(0, 3), over=a, init=0),
        grid=m.var("grid", Int(0, 2), over=(a, b), init=0),
        t=m.var("t", row, over=a, init=row(k=False, n=0)),
        mb=m.var("mb", Maybe(a), init=None),
        s=m.var("s", SetOf(a), init=()),
        pos=m.var("pos", a, init=0),
        c=m.constant("c", Int(0, 3), 1),
    )


def act(d: SimpleNamespace, body: Callable[..., Any], **parameters: Any) -> None:
    """Declare an action with this body."""

    def function(a: Any, **given: Any) -> None:
        """Something happens."""
        body(a, **given)

    # The signature that a written-out function would have.
    names = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in ("a", *parameters)]
    function.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    d.m.action(name="act", **parameters)(function)


def bare_action(d: SimpleNamespace) -> None:
    @d.m.action
    def happens(a: Any) -> None:
        """It happens."""


def action_misses_parameter(d: SimpleNamespace) -> None:
    @d.m.action()
    def happens(a: Any, b: Any) -> None:
        """It happens."""


def function_misses_parameter(d: SimpleNamespace) -> None:
    @d.m.action(b=d.B)
    def happens(a: Any) -> None:
        """It happens."""


def no_sentence(d: SimpleNamespace) -> None:
    @d.m.action()
    def happens(a: Any) -> None:
        a.set(d.x, 1)


def term_as_condition(d: SimpleNamespace) -> None:
    @d.m.action()
    def happens(a: Any) -> None:
        """It happens."""
        if d.f:
            a.set(d.x, 1)


def declared_twice(d: SimpleNamespace) -> None:
    for _ in range(2):
        act(d, lambda a: a.set(d.x, 1))


def other() -> SimpleNamespace:
    return declared()


# The mistake, and words of the answer.
MISTAKES: dict[str, tuple[Callable[[SimpleNamespace], Any], str]] = {
    # Types and declarations
    "empty Int": (lambda d: Int(3, 0), "is empty"),
    "Int of a float": (lambda d: Int(0, 2.5), "not an int"),  # type: ignore[arg-type]
    "Int of a string": (lambda d: Int("0", "3"), "not an int"),  # type: ignore[arg-type]
    "Int too large": (lambda d: Int(0, 2**63), "63 bits"),
    "Int up to a term": (lambda d: Int(0, d.x), "not an int"),
    "empty Enum": (lambda d: Enum(), "no or repeated names"),
    "repeated name": (lambda d: Enum("a", "a"), "no or repeated names"),
    "Enum of a list": (lambda d: Enum(["a", "b"]), "not a string"),  # type: ignore[arg-type]
    "empty index": (lambda d: d.m.index("C", 0), "at least one element"),
    "index of a string": (lambda d: d.m.index("C", "3"), "at least one element"),
    "set too large": (lambda d: single(next(iter(d.m.index("C", 33)))), "takes an element"),
    "set of too many": (lambda d: SetOf((Int(0, 999), Int(0, 999))), "of which there are 1,000,000"),
    "bag without a number": (lambda d: BagOf(Int(0, 3), 0), "holds a value 0 times"),
    "sequence without an end": (lambda d: SeqOf(Int(0, 3), 0), "a length of 0"),
    "set of no type": (lambda d: SetOf(3), "is no type"),  # type: ignore[arg-type]
    "Maybe of a Maybe": (lambda d: Maybe(Maybe(Bool)), "has None twice"),
    "Maybe of a number": (lambda d: Maybe(3), "needs a type"),  # type: ignore[arg-type]
    "set in a record in a set": (lambda d: SetOf(Record(inner=SetOf((Bool, d.A)))), "inner is a set, bag or sequence"),
    "Maybe of a set of several parts": (lambda d: Maybe(SetOf((Bool, d.A))), "Maybe of a set"),  # type: ignore[call-overload]
    "record with missing fields": (lambda d: d.Row(k=True), "missing or unknown fields n"),
    "record with unknown fields": (lambda d: d.Row(k=True, n=0, z=1), "missing or unknown fields z"),
    "record with a wrong value": (lambda d: d.Row(k=True, n=7), "7 is not a value of Int(0, 3)"),
    "variable of a Python type": (lambda d: d.m.var("v", int, init=0), "has type"),
    "record without starts": (lambda d: d.m.var("v", Record(k=Field(Bool, False, "k"), n=Bool)), "field n of a Record"),
    "field of no type": (lambda d: Record(k=Field(3, 0, "k")), "field k of a Record is 3"),  # type: ignore[arg-type]
    "field that starts out of its type": (lambda d: d.m.var("v", Record(k=Field(Int(0, 3), 4, "k"))), "4 is not a value"),
    "variable without initial value": (lambda d: d.m.var("v", Bool), "no initial value"),
    "variable without name": (lambda d: d.m.var("", Bool, init=False), "named ''"),
    "variable declared twice": (lambda d: d.m.var("x", Bool, init=False), "declared twice"),
    "initial value out of its type": (lambda d: d.m.var("v", Int(0, 3), init=4), "4 is not a value"),
    "initial value of an element out of its type": (lambda d: d.m.var("v", Int(0, 3), over=d.A, init=lambda i: 2 * i), "4 is not a value"),
    "initial value of another sort": (lambda d: d.m.var("v", Int(0, 3), init="0"), "'0' is not a value"),
    "initial value reads the state": (lambda d: d.m.var("v", Int(0, 3), init=d.x), "reads the state"),
    "initial value of a foreign constant": (lambda d: d.m.var("v", Bool, init=Model("o").constant("q", Bool, True)), "unknown constant q"),
    "initial value from too many indices": (lambda d: d.m.var("v", Int(0, 3), over=d.A, init=lambda i, j: 0), "gets 1 indices"),
    "initial value of a record that is none": (lambda d: d.m.var("v", d.Row, init=0), "a record starts as 0"),
    "initial row of another record": (lambda d: d.m.var("v", d.Row, init=Record(k=Bool)(k=True)), "a record starts as"),
    "initial rows that are none": (lambda d: d.m.var("v", d.Row, over=d.A, init=lambda i: 0), "a record starts as 0"),
    "array over a number": (lambda d: d.m.var("v", Bool, over=3, init=False), "needs an index"),
    "array over an Int": (lambda d: d.m.var("v", Bool, over=(d.A, Int(0, 2**40)), init=False), "3,298,534,883,331 elements"),
    "constant declared twice": (lambda d: d.m.constant("c", Bool, True), "declared twice"),
    "constant out of its type": (lambda d: d.m.constant("q", Int(0, 3), 4), "4 is not a value"),
    "constant of a record": (lambda d: d.m.constant("q", d.Row, 0), "has type"),
    "unknown constant given": (lambda d: d.m.given(q=1), "no constant 'q'"),
    "constant given out of its type": (lambda d: d.m.given(c=4), "4 is not a value"),
    # Expressions
    "chained comparison": (lambda d: 0 < d.x < 3, "no truth value"),
    "and": (lambda d: d.f and d.f, "write (d.f) & (d.f)"),
    "not": (lambda d: not d.f, "write ~(d.f)"),
    "in a tuple": (lambda d: d.x in (1, 2), "no truth value"),
    "in a set": (lambda d: 1 in d.s, "s.has(i)"),
    "min": (lambda d: min(d.x, 2), "no truth value"),
    "abs": (lambda d: abs(d.x), "java_abs"),
    "len": (lambda d: len(d.s), "s.size"),
    "%": (lambda d: d.x % 2, "rem(x, y)"),
    "//": (lambda d: d.x // 2, "no meaning"),
    "/": (lambda d: 2 / d.x, "no meaning"),
    "**": (lambda d: d.x**2, "no meaning"),
    "<<": (lambda d: d.x << 1, "no meaning"),
    "^": (lambda d: d.f ^ d.f, "p != q"),
    "range of a term": (lambda d: range(d.x), "no value while the model is built"),
    "iteration over a set": (lambda d: list(d.s), "a loop over"),
    "call of an attribute": (lambda d: d.mb.is_some(), "leave out the parentheses"),
    "precedence of &": (lambda d: d.f & d.x == 1, "write d.f & (d.x == 1)"),
    "Bool plus int": (lambda d: d.f + 1, "not a number"),
    "float": (lambda d: d.x + 0.5, "0.5 is not a number"),
    "sum of sets": (lambda d: d.s + d.s, "not a number"),
    "order of an Enum": (lambda d: d.e < "red", "not a number"),
    "unknown name of an Enum": (lambda d: d.e == "green", "'green' is not a value of Enum(red, blue)"),
    "Enum compared with a number": (lambda d: d.e == 0, "0 is not a value"),
    "two Enums": (lambda d: d.e == d.m.var("g", Enum("red"), init="red"), "is needed"),
    "number compared with None": (lambda d: d.x == None, "None is not a number"),  # noqa: E711
    "number compared with a Bool": (lambda d: d.x == d.f, "not a number"),
    "elements of two indices": (lambda d: d.pos == next(iter(d.B)), "where A(0..2) is needed"),
    "elements of two sizes": (lambda d: d.pos == next(iter(d.m.index("A", 2))), "where A(0..2) is needed"),
    "Maybe of another index": (lambda d: d.mb == next(iter(d.B)), "is needed"),
    "has of another index": (lambda d: d.s.has(next(iter(d.B))), "where A(0..2) is needed"),
    "has of a number that may be none": (lambda d: d.s.has(d.x), "may be no element"),
    "has of a negative number": (lambda d: d.s.has(d.y), "may be no element"),
    "has of a number": (lambda d: d.x.has(1), "not a set"),
    "set with an element too many": (lambda d: d.s == (0, 3), "(0, 3) is not a value"),
    "set compared with None": (lambda d: d.s == None, "None is not a value"),  # noqa: E711
    "set minus element": (lambda d: d.s - d.pos, "where SetOf"),
    "single of a number": (lambda d: single(1), "not an element"),
    "get of a number": (lambda d: d.x.get, "not a Maybe"),
    "~ of a number": (lambda d: ~d.x, "without_bits"),
    "arithmetic beyond 63 bits": (lambda d: d.x * 2**61 * 4, "63 bits"),
    "ite of two names plus 1": (lambda d: ite(d.f, "red", "blue") + 1, "assign it to a variable or compare it with one by =="),
    "ite of two names in a sum": (lambda d: d.x + ite(d.f, "red", "blue"), "('red' if f else 'blue') is not a number"),
    "ite of two names as a condition": (lambda d: d.m.always("p", ite(d.f, "red", "blue"), "s"), "'red' is not a value of Bool"),
    "ite of a name of another type": (lambda d: act(d, lambda a: a.set(d.e, ite(d.f, "red", "green"))), "'green' is not a value of Enum"),
    "ite of two names compared with another": (lambda d: ite(d.f, "red", "blue") == "red", "one side has to be a term"),
    "number that it never is": (lambda d: d.x == 9, "x is never 9: it is Int(0, 3); compare it with one of 0..3"),
    "number that it always differs from": (lambda d: -1 != d.x, "x is never -1"),
    "element that there is not": (lambda d: act(d, lambda a, i: a.guard("g", i == 3, "s"), i=d.A), "i is never 3: it is A(0..2)"),
    "ite on a number": (lambda d: ite(d.x, 1, 2), "where Bool is needed"),
    "ite of a row and a number": (lambda d: ite(d.f, 1, d.t[0]), "not a row of k, n"),
    "quantifier over a number": (lambda d: forall(3, lambda i: d.f), "quantifier over 3"),  # type: ignore[arg-type]
    "quantifier over a wide type": (lambda d: exists(Int(0, 99999), lambda i: d.f), "quantifier over Int(0, 99999)"),
    "quantifier without function": (lambda d: total(d.A, d.x.type), "a function of its element"),
    "quantifier of numbers": (lambda d: forall(d.A, lambda i: i), "where Bool is needed"),
    "all_of a term": (lambda d: all_of(d.f), "a loop over"),
    # Arrays and records
    "index out of range": (lambda d: d.arr[3], "3 is not a value of A(0..2)"),
    "negative index": (lambda d: d.arr[-1], "-1 is not a value of A(0..2)"),
    "number that is never an index": (lambda d: d.arr[d.x + 3], "never in range"),
    "too many indices": (lambda d: d.arr[0, 1], "indexed by 2 values"),
    "too few indices": (lambda d: d.grid[0], "indexed by 1 values"),
    "indices the wrong way round": (lambda d: [d.grid[b, a] for a in d.A for b in d.B], "is an element of"),
    "index of a scalar": (lambda d: d.x[0], "declared with over="),
    "array compared as a whole": (lambda d: d.arr == 0, "compared with '0' as a whole"),
    "array as a number": (lambda d: d.arr + 1, "index an array"),
    "array as a condition": (lambda d: act(d, lambda a: a.guard("g", d.arr, "it holds")), "arr is not a value of Bool"),
    "array assigned by =": (lambda d: d.arr.__setitem__(0, 1), "a.set(name[i], value)"),
    "unknown field": (lambda d: d.t[0].z, "no field z"),
    "field of a whole table": (lambda d: d.t.k, "t[i].k"),
    "table compared as a whole": (lambda d: d.t == 0, "index an array"),
    "field assigned by =": (lambda d: setattr(d.t[0], "k", True), "assigned directly"),
    "row as a number": (lambda d: d.t[0] + 1, "no meaning"),
    "row as a condition": (lambda d: act(d, lambda a: a.guard("g", d.t[0], "it holds")), "not a value of Bool"),
    "rows of two records": (lambda d: d.t[0].same_as(Record(z=Bool)(z=True)), "not a row of k, n"),
    # Actions
    "action without parentheses": (bare_action, "write @m.action()"),
    "action without sentence": (no_sentence, "action happens has no sentence"),
    "action declared twice": (declared_twice, "declared twice"),
    "parameter not declared": (action_misses_parameter, "missing a required argument: 'b'"),
    "parameter not in the function": (function_misses_parameter, "'b'"),
    "parameter without type": (lambda d: act(d, lambda a, p: None, p=3), "finite type"),
    "array with 2**40 elements": (lambda d: d.m.var("v", Bool, over=d.m.index("I", 2**40), init=False), "1,099,511,627,776 elements"),
    "parameter that is a number": (lambda d: act(d, lambda a, p: None, p=3), "finite type"),
    "unknown fairness": (lambda d: d.m.action(fair="yes"), "fair='weak'"),
    "negative weight": (lambda d: d.m.action(weight=-1), "at least 0"),
    "rules in a list": (lambda d: d.m.action(rules=["TCM-30"]), "one string"),
    "if on a term": (term_as_condition, "no truth value"),
    "guard without sentence": (lambda d: act(d, lambda a: a.guard("g", d.f)), "guard 'g' of action act has no sentence"),
    "guard with a blank sentence": (lambda d: act(d, lambda a: a.guard("g", d.f, " ")), "has no sentence"),
    "guard without name": (lambda d: act(d, lambda a: a.guard(d.f, "it holds", "s")), "no name"),
    "guard with sentence before condition": (lambda d: act(d, lambda a: a.guard("g", "it holds", d.f)), "no sentence"),
    "guard declared twice": (lambda d: act(d, lambda a: [a.guard("g", d.f, "s"), a.bound("g", d.f, "s")]), "declared twice"),
    "guard that is a number": (lambda d: act(d, lambda a: a.guard("g", d.x, "s")), "where Bool is needed"),
    "guard of another model": (lambda d: act(d, lambda a: a.guard("g", other().f, "s")), "unknown variable f"),
    "guard about the state after": (lambda d: act(d, lambda a: a.guard("g", after(d.f), "s")), "may not use after"),
    "value out of its type": (lambda d: act(d, lambda a: a.set(d.x, 4)), "4 is not a value of Int(0, 3)"),
    "term never in its type": (lambda d: act(d, lambda a: a.set(d.x, d.x + 4)), "never a value"),
    "string assigned to a number": (lambda d: act(d, lambda a: a.set(d.x, "1")), "'1' is not a value"),
    "Bool assigned to a number": (lambda d: act(d, lambda a: a.set(d.x, d.f)), "where Int(0, 3) is needed"),
    "number assigned to a Bool": (lambda d: act(d, lambda a: a.set(d.f, 1)), "1 is not a value of Bool"),
    "element assigned to a set": (lambda d: act(d, lambda a, i: a.set(d.s, i), i=d.A), "where SetOf"),
    "element of another index assigned": (lambda d: act(d, lambda a, i: a.set(d.pos, i), i=d.B), "where A(0..2) is needed"),
    "row assigned to a number": (lambda d: act(d, lambda a: a.set(d.x, d.t[0])), "not a value of Int(0, 3)"),
    "number assigned to a row": (lambda d: act(d, lambda a: a.set(d.t[0], 1)), "not a row of k, n"),
    "other record assigned to a row": (lambda d: act(d, lambda a: a.set(d.t[0], Record(k=Bool)(k=True))), "not a row of k, n"),
    "whole array assigned": (lambda d: act(d, lambda a: a.set(d.arr, 0)), "not a variable"),
    "expression assigned": (lambda d: act(d, lambda a: a.set(d.x + 1, 0)), "not a variable"),
    "parameter assigned": (lambda d: act(d, lambda a, i: a.set(i, 0), i=d.A), "not a variable"),
    "constant assigned": (lambda d: act(d, lambda a: a.set(d.c, 0)), "not a variable"),
    "state after assigned": (lambda d: act(d, lambda a: a.set(after(d.x), 0)), "not a variable"),
    "variable of another model assigned": (lambda d: act(d, lambda a: a.set(other().x, 0)), "unknown variable x"),
    "when on a number": (lambda d: act(d, lambda a: a.set(d.x, 0, when=d.x)), "where Bool is needed"),
    "variable written twice": (lambda d: act(d, lambda a: [a.set(d.x, 0), a.set(d.x, 1)]), "x is written twice in act"),
    "element written twice": (lambda d: act(d, lambda a: [a.set(d.arr[1], 0), a.set(d.arr[1], 1)]), "written twice"),
    "one parameter's element twice": (lambda d: act(d, lambda a, i: [a.set(d.arr[i], 0), a.set(d.arr[i], 1)], i=d.A), "written twice"),
    "unknown field of a row updated": (lambda d: act(d, lambda a: a.update(d.t[0], k=True, z=1)), "no field z"),
    "fields of what is no row": (lambda d: act(d, lambda a: a.update(d.x, k=True)), "'x' updated in act is no row"),
    "variables that an object does not have": (lambda d: act(d, lambda a: a.update(d, y=1, zz=1)), "is no row"),
    "row and its field": (lambda d: act(d, lambda a: [a.set(d.t[0], d.t[1]), a.set(d.t[0].k, True)]), "t[0].k is written twice"),
    # Properties
    "property without sentence": (lambda d: d.m.always("p", d.f), "no sentence"),
    "property with sentence before formula": (lambda d: d.m.always("p", "it holds", d.f), "no sentence"),
    "property that is a number": (lambda d: d.m.reachable("p", d.x, "s"), "where Bool is needed"),
    "property declared twice": (lambda d: [d.m.always("p", d.f, "s"), d.m.reachable("p", d.f, "s")], "declared twice"),
    "property without goal": (lambda d: d.m.leads_to("p", d.f, "it holds"), "no sentence"),
    "property of another model": (lambda d: d.m.always("p", other().f, "s"), "unknown variable f"),
    "property of another model's constant": (lambda d: d.m.always("p", Model("o").constant("q", Bool, True), "s"), "unknown constant q"),
    "a constant of another type": (lambda d: d.m.always("p", Model("o").constant("c", Bool, True), "s"), "unknown constant c"),
    "state after outside a step": (lambda d: d.m.always("p", after(d.f), "s"), "may not use after"),
    "state after of a number": (lambda d: after(1), "not a term"),
    "state after of an array": (lambda d: after(d.arr), "not a term"),
    "unknown of a lemma in a property": (lambda d: d.m.always("p", free("u", Bool), "s"), "may not use free"),
    "parameter in a property": (lambda d: d.m.always("p", Expr("par", ("i",), Bool), "s"), "unknown parameter i"),
    # Look-ups
    "unknown action": (lambda d: d.m.named("nothing"), "no action 'nothing'"),
    "unknown property": (lambda d: d.m.property("nothing"), "no property 'nothing'"),
    "unknown variable": (lambda d: d.m.variable("nothing"), "no variable 'nothing'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_its_place(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    with pytest.raises(ModelError) as refusal:
        make(declared())
    said = str(refusal.value)
    assert words in said
    assert "\n" not in said
    file, line, _ = refusal.value.place.rsplit(":", 2)
    assert file == __file__
    assert any(int(line) in lines_of(function) for function in (make, act)), said


@pytest.mark.parametrize("ends", [(2**40,), (2**11, 2**11)])
def test_too_many_instances_are_refused_by_exhaustive_engines(ends: tuple[int, ...]) -> None:
    d = declared()
    line = act.__code__.co_firstlineno + len(inspect.getsourcelines(act)[0]) - 1
    act(d, lambda a, **given: None, **{f"p{k}": Int(1, end) for k, end in enumerate(ends)})
    instance = d.m.given()
    (action,) = d.m.actions
    # Given steps are followed: a judge knows the requested arguments.
    assert interpreter.effect(instance, interpreter.initial(instance), action, ends) == interpreter.initial(instance)
    engines: list[Callable[[], Any]] = [
        lambda: list(interpreter.successors(instance, interpreter.initial(instance))),
        lambda: search.explore(instance),
        lambda: symbolic.bounded(instance, [], depth=1),
        lambda: simulate.estimate(instance, [], runs=1, steps=1, seed=0),
    ]
    for engine in engines:
        with pytest.raises(ModelError, match=r"the parameters of action act have [0-9,]+ values together") as refusal:
            engine()
        assert refusal.value.place.startswith(f"{__file__}:{line}:")


def test_ite_of_two_names_has_the_type_of_its_context() -> None:
    d = declared()
    act(d, lambda a: [
        a.set(d.e, ite(d.f, "blue", ite(d.x == 1, "red", "blue"))),
        a.set(d.mb, ite(d.f, None, 1)),
        a.set(d.s, ite(d.f, (0, 2), ())),
        a.set(d.t[0].n, ite(d.f, 1, 2)),
    ])  # fmt: skip
    (action,) = d.m.actions
    names = {update.target.args[0].name: show(update.value) for update in action.updates}
    assert names["e"] == "(blue if f else (red if (x == 1) else blue))"
    assert names["mb"] == "(None if f else 1)"
    assert names["s"] == "({0, 2} if f else {})"
    assert show(d.e == ite(d.f, "red", "blue")) == "(e == (red if f else blue))"
    assert show(d.mb == ite(d.f, d.pos, None)) == "(mb == (pos if f else None))"
    assert (ite(d.f, "red", "blue") == d.e) is (ite(d.f, "red", "blue") == d.e)
    assert show(ite(d.f, "red", "blue") != d.e).count("!=") == 1


def lines_of(function: Callable[..., Any]) -> range:
    lines, first = inspect.getsourcelines(function)
    return range(first, first + len(lines))


def test_the_place_is_the_line_of_the_mistake() -> None:
    d = declared()

    def properties() -> None:
        d.m.always("right", d.f, "a property")
        d.m.always("wrong", d.x, "a property")

    with pytest.raises(ModelError) as refusal:
        properties()
    assert refusal.value.place == f"{__file__}:{properties.__code__.co_firstlineno + 2}:9", "the place of `wrong`"


def test_equally_named_parameters_of_two_actions_differ() -> None:
    d = declared()
    kept: list[Expr] = []
    act(d, lambda a, i: kept.append(i), i=d.A)

    def happens(a: Any, i: Any) -> None:
        """It happens."""
        a.set(d.s, single(kept[0]))

    with pytest.raises(ModelError, match="unknown parameter i"):
        d.m.action(i=d.B)(happens)


def test_elements_by_different_constants_may_both_be_written() -> None:
    d = declared()
    act(d, lambda a: [a.set(d.grid[i, b], 1) for i in d.A for b in d.B])
    assert len(d.m.named("act").updates) == 6


# Meaning


def value(term: Any, state: tuple[int, ...] = (), **free_values: int) -> int:
    return evaluate(term, Environment(state, {}, {}, free=free_values))


WORD = free("w", Int(LEAST, MOST))
DIVISOR = free("d", Int(-10, 10))


@pytest.mark.parametrize(
    ("x", "y", "result"), [(7, 3, 1), (-7, 3, -1), (7, -3, 1), (-7, -3, -1), (-6, 3, 0), (LEAST, -1, 0), (MOST, 10, 7)]
)
def test_the_remainder_has_the_sign_of_the_dividend(x: int, y: int, result: int) -> None:
    assert value(rem(WORD, DIVISOR), w=x, d=y) == result
    assert value(rem(x, y)) == result


@pytest.mark.parametrize(
    ("x", "result"), [(MOST, MOST), (MOST + 1, LEAST), (LEAST - 1, MOST), (2**32, 0), (-(2**32) + 5, 5), (2**33 - 1, -1)]
)
def test_wrap32_folds_into_a_java_int(x: int, result: int) -> None:
    wide = free("wide", Int(-(2**40), 2**40))
    assert value(wrap32(wide), wide=x) == result
    assert value(wrap32(x)) == result


@pytest.mark.parametrize(("x", "result"), [(0, 0), (5, 5), (-5, 5), (MOST, MOST), (LEAST + 1, MOST), (LEAST, LEAST)])
def test_java_abs_of_the_least_int_stays_negative(x: int, result: int) -> None:
    assert value(java_abs(WORD), w=x) == result
    assert value(java_abs(x)) == result


@pytest.mark.parametrize("x", range(-9, 10))
@pytest.mark.parametrize("y", range(-5, 6))
def test_types_of_terms_hold_their_values(x: int, y: int) -> None:
    """A term's interval must hold every value that the term can have; only then can engines rely on it."""
    p, q = free("p", Int(-9, 9)), free("q", Int(-5, 5))
    terms = [p + q, p - q, p * q, p & q, p | q, without_bits(p, q), minimum(p, q), maximum(p, q), java_abs(p), ite(p < q, p, q), -p]
    terms += [rem(p, q)] if y else []
    meant = [x + y, x - y, x * y, x & y, x | y, x & ~y, min(x, y), max(x, y), abs(x), min(x, y), -x]
    meant += [abs(x) % abs(y) * (-1 if x < 0 else 1)] if y else []
    for term, number in nonempty(zip(terms, meant, strict=True)):
        assert value(term, p=x, q=y) == number, term
        assert term.type.lo <= number <= term.type.hi, f"{term} is {number}, outside {term.type}"


def test_and_or_and_ite_are_lazy() -> None:
    broken = rem(WORD, DIVISOR) == 0
    p = free("p", Bool)
    for term, known, result in ((p & broken, 0, 0), (p | broken, 1, 1), (ite(p, True, broken), 1, 1), (ite(p, broken, True), 0, 1)):
        assert value(term, p=known, w=1, d=0) == result, term
        with pytest.raises(EvaluationError, match="remainder by zero"):
            value(term, p=1 - known, w=1, d=0)
    with pytest.raises(EvaluationError):
        value(broken & p, p=0, w=1, d=0)


def test_missing_values_and_values_outside_types_are_errors() -> None:
    d = declared()
    act(d, lambda a, i: [a.guard("below", d.x < 4, "always"), a.set(d.x, d.x + 3), a.set(d.arr[d.x + i], 1)], i=d.A)
    at = d.m.given()
    state = initial(at)
    steps = list(successors(at, state))
    assert [step.label for step in steps] == ["act(i=0)", "act(i=1)", "act(i=2)"]
    with pytest.raises(EvaluationError, match=r"x becomes 6 by act\(i=0\), outside Int\(0, 3\)"):
        list(successors(at, steps[0].state))
    with pytest.raises(EvaluationError, match=r"index 3 is outside A"):
        value(d.arr[d.x], (3, *state[1:]))
    with pytest.raises(EvaluationError, match="mb is None"):
        value(d.mb.get == 1, state)


def test_initial_value_with_a_constant_stays_in_its_type() -> None:
    m = Model("init")
    k = m.constant("k", Int(0, 9), 0)
    m.var("x", Int(0, 3), init=k)
    assert initial(m.given(k=3)) == (3,)
    with pytest.raises(EvaluationError, match="x becomes 4 by its initial value"):
        initial(m.given(k=4))


def test_updates_read_the_state_before() -> None:
    m = Model("swap")
    x, y = m.var("x", Int(0, 1), init=0), m.var("y", Int(0, 1), init=1)

    @m.action()
    def swap(a: Any) -> None:
        """The two change places."""
        a.set(x, y)
        a.set(y, x)

    assert [step.state for step in successors(m.given(), (0, 1))] == [(1, 0)]


def test_fields_of_one_object_can_be_swapped() -> None:
    m = Model("swap")
    both = SimpleNamespace(x=m.var("x", Int(0, 1), init=0), y=m.var("y", Int(0, 1), init=1))

    @m.action()
    def swap(a: Any) -> None:
        """The two change places."""
        a.update(both, x=both.y, y=both.x)

    assert [step.state for step in successors(m.given(), (0, 1))] == [(1, 0)]


def test_acting_parts_are_declared_by_decorator_or_body() -> None:
    m = Model("parts")
    x, place = m.var("x", Bool, init=False), m.index("Place", 2)

    @m.action(part="disk", sends_to="client")
    def above(a: Any) -> None:
        """Declared by the decorator."""
        a.set(x, True)

    @m.action(part="disk", takes_from="client", p=place)
    def both(a: Any, p: Any) -> None:
        """The body's declaration counts."""
        a.by(p)
        a.set(x, False)

    first, second = m.named("above"), m.named("both")
    assert (first.by, first.to, first.source) == ("disk", "client", None)
    assert (str(second.by), second.to, second.source) == ("p", None, "client")


def test_record_declares_its_fields_and_initial_values() -> None:
    m = Model("two")
    inner = Record(most=Field(Int(0, 3), 3, "how much it takes"))
    row = Record(n=Field(Int(0, 3), 1, "how many"), on=Field(Bool, False, "whether it is on"), inner=Field(inner, inner.start, "more"))
    t = m.var("t", row, over=m.index("A", 2), sentence="each")

    @m.action()
    def fill(a: Any) -> None:
        """The first is switched on, and filled if it was off; the second restarts."""
        a.update(t[0], when=~t[0].on, n=t[0].inner.most, on=True)
        a.set(t[1], row.start)

    assert [v.meaning for v in m.variables] == ["each: how many", "each: whether it is on", "each: more"]
    assert initial(m.given()) == (1, 1, 0, 0, 3, 3)
    assert [step.state for step in successors(m.given(), (1, 2, 0, 1, 3, 0))] == [(3, 1, 1, 0, 3, 3)]
    assert [step.state for step in successors(m.given(), (1, 2, 1, 1, 3, 0))] == [(1, 1, 1, 0, 3, 3)]


def test_guards_are_evaluated_in_order() -> None:
    d = declared()
    act(d, lambda a: [a.guard("some", d.mb.is_some, "there is one"), a.guard("first", d.mb.get == 0, "it is the first")])
    at = d.m.given()
    action = d.m.named("act")
    none = initial(at)
    slot = d.m.variable("mb").first
    second = (*none[:slot], 2, *none[slot + 1 :])
    for state, name in ((none, "some"), (second, "first")):
        guard = refusing(at, state, action, ())
        assert guard is not None and guard.name == name


def test_quantifiers_range_over_the_index() -> None:
    d = declared()
    state = initial(d.m.given())
    first = d.m.variable("arr").first
    state = (*state[:first], 1, 2, 0, *state[first + 3 :])
    assert value(forall(d.A, lambda i: d.arr[i] < 3), state)
    assert not value(forall(d.A, lambda i: d.arr[i] > 0), state)
    assert value(exists(d.A, lambda i: d.arr[i] == 2), state)
    assert value(total(d.A, lambda i: d.arr[i]), state) == 3
    assert value(count(d.A, lambda i: d.arr[i] > 0), state) == 2
    assert value(all_of([])) and not value(any_of([]))
    assert value(implies(d.arr[0] == 2, d.f), state)


def test_rows_are_compared_and_chosen_field_by_field() -> None:
    d = declared()
    row = ite(d.f, d.t[1], d.Row(k=True, n=2))
    assert show(row.n) == "(t[1].n if f else 2)"
    assert (d.t[0] == d.t[1]) is d.t[0].same_as(d.t[1])
    assert show(after(d.t[0]).k) == "t[0].k'"


def test_sets_and_maybes() -> None:
    d = declared()
    s, element = free("s", SetOf(d.A)), free("i", d.A)
    assert value(s.has(element), s=0b101, i=2) == 1
    assert value(s - single(element), s=0b101, i=2) == 0b001
    assert value(s | {1}, s=0b101) == 0b111
    assert value(d.mb == element, initial(d.m.given()), i=0) == 0
    assert readable(d.m.given(), initial(d.m.given()))["mb"] is None


def test_equal_terms_are_one_object() -> None:
    d = declared()
    one, two = (d.x + 1) * d.arr[d.pos] < 3, (d.x + 1) * d.arr[d.pos] < 3
    assert one is two
    assert pickle.loads(pickle.dumps(const(1, Int(0, 3)))) is const(1, Int(0, 3))
    assert ~~d.f is d.f and (d.f & True) is d.f and (d.x + 0) is d.x and (d.x == d.x).op == "const"


def test_constants_are_folded_as_they_would_be_evaluated() -> None:
    assert show(all_of([rem(-7, 3) == -1, wrap32(2**31) == LEAST, java_abs(-5) == 5, without_bits(7, 2) == 5])) == "True"


def test_terms_print_in_readable_form() -> None:
    d = declared()
    printed = {
        "((x + 1) * arr[pos])": (d.x + 1) * d.arr[d.pos],
        "(e != red)": d.e != "red",
        "(pos in s)": d.s.has(d.pos),
        "(s &~ {0, 2})": d.s - {0, 2},
        "(mb == None)": d.mb.is_none,
        "(mb == pos)": d.mb == d.pos,
        "(1 if f else 0)": ite(d.f, 1, 0),
        "((y % 3) <= c)": rem(d.y, 3) <= d.c,
        "x'": after(d.x),
        "grid[0, 1]": d.grid[0, 1],
        "single(pos)": single(d.pos),
    }
    assert [show(term) for term in printed.values()] == list(printed)


def test_lemma_uses_wider_leaves() -> None:
    d = declared()
    term = d.x + d.arr[d.pos] <= d.c

    def wide(e: Expr) -> Any:
        return Int(LEAST, MOST) if e.op in ("ref", "given") and e.type.sort == "int" and e is not d.pos else None

    general = generalise(term, wide)
    assert show(general) == "((x + arr[pos]) <= c)"
    leaves = {show(e): e.type for e in walk(general) if e.op == "free"}
    assert leaves == {name: Int(LEAST, MOST) for name in ("x", "arr[pos]", "c")}
    assert value(general, **{"x": MOST, "arr[pos]": MOST, "c": 0}) == 0


def test_a_step_formula_sees_both_states() -> None:
    d = declared()
    at = d.m.given()
    before = initial(at)
    later = (1, *before[1:])
    assert holds(at, after(d.x) == d.x + 1, before, later)
    with pytest.raises(EvaluationError, match="outside a step"):
        holds(at, after(d.x) == 1, before)
