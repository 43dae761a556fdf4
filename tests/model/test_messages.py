"""Messages about frequent mistakes name the problem, the line of the model, and the fix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_model import (
    Bool,
    Enum,
    EvaluationError,
    Int,
    Maybe,
    Model,
    ModelError,
    RocketproofError,
    SeqOf,
    SetOf,
    ite,
    liveness,
    search,
    simulate,
    symbolic,
)
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import initial
from rocketproof_model.language import formula_text

HERE = Path(__file__)


class Parts:
    """A model with a variable of each kind."""

    def __init__(self) -> None:
        self.m = m = Model("mine")
        self.P = m.index("P", 2)
        self.q, self.p = (m.var(name, SeqOf(Int(0, 3), 3), init=()) for name in "qp")
        self.k = m.var("k", Int(0, 3), init=0)
        self.pc = m.var("pc", Enum("idle", "busy"), init="idle")
        self.x = m.var("x", Enum("idle", "busy"), over=self.P, init="idle")
        self.sent = m.var("sent", SetOf((Bool, Bool)), init=())
        self.s = m.var("s", SetOf(self.P), init=())
        self.y = m.var("y", Maybe(Int(0, 3)), init=None)

    def act(self, fill: Callable[[Any], Any]) -> None:
        def action(a: Any) -> None:
            """Something happens."""
            fill(a)

        self.m.action()(action)


BUILT: dict[str, tuple[Callable[[Parts], Any], str, str]] = {
    "all": (lambda d: all(d.x[i] == "idle" for i in d.P), "(x[0] == idle)' has no truth value", "write forall(Broker, lambda b: ...)"),
    "any": (lambda d: any(d.x[i] == "idle" for i in d.P), "has no truth value", "write exists(Broker, lambda b: ...)"),
    "sum": (lambda d: sum(d.x[i] == "idle" for i in d.P), "is Bool, not a number", "count(Broker, lambda i: ...) counts"),
    "min": (lambda d: min(d.k, 2), "has no truth value", "write minimum(x, y)"),
    "max": (lambda d: max(d.k, 2), "has no truth value", "write maximum(x, y)"),
    "a chain": (lambda d: 0 <= d.k <= 3, "'(0 <= k)' has no truth value", "write two comparisons: (0 <= d.k) & (d.k <= 3)"),
    "and": (lambda d: d.pc == "idle" and d.k == 0, "has no truth value", "write (d.pc == 'idle') & (d.k == 0)"),
    "or": (lambda d: d.pc == "idle" or d.k == 0, "has no truth value", "write (d.pc == 'idle') | (d.k == 0)"),
    "not": (lambda d: not (d.k == 0), "has no truth value", "write ~(d.k == 0)"),  # noqa: SIM201
    "if": (lambda d: 1 if d.k == 0 else 2, "has no truth value", "write ite(d.k == 0, 1, 2)"),
    "in": (lambda d: d.pc in ("idle", "busy"), "has no truth value", "write any_of(d.pc == each for each in ('idle', 'busy'))"),
    "& of a name": (lambda d: d.pc == "idle" & d.k == 0, "& binds more tightly than ==", "write (d.pc == 'idle') & (d.k == 0)"),
    "& of a number": (lambda d: d.k == 0 & d.pc == "idle", "& binds more tightly than ==", "write (d.k == 0) & (d.pc == 'idle')"),
    "& of a term": (lambda d: d.k < 2 & (d.pc == "idle"), "& binds more tightly than ==", "write (d.k < 2) & (d.pc == 'idle')"),
    "| of names": (lambda d: d.pc == "idle" | d.pc == "busy", "| binds more tightly than ==", "write (d.pc == 'idle') | (d.pc == 'busy')"),
    "len of a sequence": (lambda d: len(d.q), "len() asks for the number of items of 'q'", "write q.length"),
    "len of a slice": (lambda d: len(d.q[1:]), "len() asks for the number of items of 'q[1:]'", "write q.length"),
    "len of a set of tuples": (lambda d: len(d.sent), "len() asks for the number of members of 'sent'", "write s.size"),
    "len of a set": (lambda d: len(d.s), "len() of 's'", "write s.size"),
    "a loop over a sequence": (lambda d: list(d.q), "a loop over 'q' needs its length", "write forall(q, lambda item: ...)"),
    "a loop over a set": (lambda d: list(d.s), "a loop over 's' needs its value", "write forall(s, lambda i: ...)"),
    "a loop over a set of tuples": (lambda d: list(d.sent), "a loop over 'sent' needs its members", "write forall(s, lambda member"),
    "in a sequence": (lambda d: 1 in d.q, "'in' asks whether 'q' has an item", "write q.has(v)"),
    "in a set of tuples": (lambda d: (True, True) in d.sent, "'in' asks whether 'sent' has a member", "write s.has(v)"),
    "the last item": (lambda d: d.q[-1], "q[-1] is never an item", "the last is q[q.length - 1]"),
    "an item beyond": (lambda d: d.q[3], "q[3] is never an item", "0 to 2"),
    "the last items": (lambda d: d.q[-1:], "a slice of q with a step or a negative end", "count from the start"),
    "every other item": (lambda d: d.q[::2], "a slice of q with a step", "count from the start"),
    "order of sequences": (lambda d: d.q < d.p, "'q' is used in a way that has no meaning", "q + p, q.has(v) and q == p"),
    "size of a sequence": (lambda d: d.q.size, "'q' has no size", "a sequence has q.length"),
    "length of a set of tuples": (lambda d: d.sent.length, "'sent' has no length", "a set has s.has(v), s.size"),
    "length of a set": (lambda d: d.s.length, "'s' has no length", "a set has has, including, excluding, size"),
    "size of a number": (lambda d: d.k.size, "size of 'k', which is Int(0, 3)", "size asks a SetOf"),
    "a sequence of other things": (lambda d: d.q + d.m.var("o", SeqOf(Bool, 2), init=()), "'q' and 'o' hold different things", "one type"),
    "a sequence and a number": (lambda d: d.q + 1, "'1' is no sequence", "in a tuple or a list"),
    "a sequence as a condition": (lambda d: ite(d.q, 1, 2), "q is not a value of Bool", "use one of True, False"),
    "a longer sequence as a number": (lambda d: d.act(lambda a: a.set(d.k, d.q.append(1))), "q.append(1) is not a value of Int", "0..3"),
    "a slice as a condition": (lambda d: d.m.always("c", d.q[1:] + d.p, "s"), "(q[1:] + p) is not a value", "True, False"),
    "a slice that is set": (lambda d: d.act(lambda a: a.set(d.q[1:], ())), "'q[1:]' set in action is not a variable", "assign to"),
    "a set and an index": (lambda d: d.s == d.P, "the type P(0..1) stands where a value of SetOf(P(0..1)) is needed", "full(Broker)"),
    "an enum's name": (lambda d: d.pc == "nope", "'nope' is not a value of Enum(idle, busy)", "use one of idle, busy"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BUILT)
def test_message_names_mistake_line_and_fix(mistake: str) -> None:
    make, problem, remedy = BUILT[mistake]
    with pytest.raises(ModelError) as refused:
        make(Parts())
    assert problem in refused.value.problem, refused.value.problem
    assert remedy in refused.value.remedy, refused.value.remedy
    assert refused.value.place.startswith(f"{HERE}:{make.__code__.co_firstlineno}:")
    assert "Items(" not in str(refused.value)


RUN: dict[str, tuple[Callable[[Parts], Any], str]] = {
    "head of nothing": (
        lambda d: d.act(lambda a: a.set(d.k, d.q.head)),
        "q[0] is asked where q has no such item; guard it with (0 < q.length), in action()",
    ),
    "an item that is not there": (
        lambda d: d.act(lambda a: a.set(d.k, d.q[d.k])),
        "q[k] is asked where q has no such item; guard it with (k < q.length), in action()",
    ),
    "an item of a slice": (
        lambda d: d.act(lambda a: a.set(d.k, d.q[1:][0])),
        "an item is asked where there is none; guard it with (0 < ",
    ),
    "no room": (lambda d: d.act(lambda a: a.set(d.q, d.q + (0, 1))), "q gets 4 items by action() and has room for 3; guard its length"),  # noqa: RUF005
    "tail of nothing": (
        lambda d: d.act(lambda a: a.set(d.q, d.q.tail)),
        "q loses an item by action() where it has none; guard it with ~q.is_empty",
    ),
    "more than the tail of nothing": (
        lambda d: d.act(lambda a: a.set(d.q, d.q.tail + (0, 1))),  # noqa: RUF005
        "q loses an item by action() where it has none; guard it with ~q.is_empty",
    ),
    "a number beyond a Maybe": (
        lambda d: d.act(lambda a: [a.set(d.k, d.k + 1, when=d.k < 3), a.set(d.y, d.k + 1)]),
        "a number is no value of Int(0, 3) where it is put in a Maybe(Int(0, 3)); guard it",
    ),
    "two values": (
        lambda d: d.act(lambda a: [a.set(d.x[i], e, when=d.k == 0) for i, e in ((0, "busy"), (0, "idle"))]),
        "x[0] gets two values by action(): busy by x[0] := busy when (k == 0) (",
    ),
}


@pytest.mark.parametrize("mistake", RUN)
def test_message_of_a_state_error_names_fix_and_state(mistake: str) -> None:
    make, words = RUN[mistake]
    d = Parts()
    make(d)
    claim = d.m.claim("true", "every state is looked at", "always", True)
    for engine in (lambda i: search.explore(i, []), lambda i: symbolic.bounded(i, [claim], depth=6)):
        with pytest.raises(EvaluationError) as found:
            engine(d.m.given())
        assert words in str(found.value) and "in state q=<" in str(found.value), str(found.value)


def test_compiled_functions_report_a_missing_item_identically() -> None:
    d = Parts()
    d.act(lambda a: a.set(d.k, d.q[d.k]))
    instance = d.m.given()
    with pytest.raises(EvaluationError, match=r"q\[k\] is asked where q has no such item; guard it with \(k < q.length\)"):
        Functions(instance)["action"].effect(initial(instance), ())


def test_message_names_the_line_that_excludes_all_initial_states() -> None:
    d = Parts()
    d.m.initially(d.k == 1)  # this line
    line = next(n for n, text in enumerate(HERE.read_text().splitlines(), 1) if text.endswith("# this line"))
    for engine in (search.explore, lambda i: initial(i), lambda i: simulate.estimate(i, [], runs=1, steps=1, seed=1)):
        with pytest.raises(ModelError) as refused:
            engine(d.m.given())
        assert refused.value.place == f"{HERE}:{line}:5"
        assert "no initial state: the variables' init= allows none in which (k == 1)" in refused.value.problem


def test_message_names_eventually() -> None:
    d = Parts()
    claim = d.m.eventually("again", d.k == 0, "k is 0 again and again")
    assert formula_text(claim) == "(k == 0) again and again"
    walk = functools.partial(simulate.estimate, runs=1, steps=1, seed=1)
    for engine in (symbolic.induction, lambda i, p: symbolic.bounded(i, [p], depth=1), lambda i, p: walk(i, [p])):
        with pytest.raises(RocketproofError) as refused:
            engine(d.m.given(), claim)
        assert "eventually" in str(refused.value) and "leads_to" not in str(refused.value)
    assert [o.verdict for o in liveness.check(d.m.given())] == ["holds"]


def test_sets_joined_in_a_comparison_are_no_conditions() -> None:
    """`
    ` and `&` of a set and members bind more tightly than a comparison, and have their usual meaning.
    """
    parts = Parts()
    s = parts.s
    for made, meant in ((s == s | (0,), s == (s | (0,))), (s <= s | (0,), s <= (s | (0,))), (s == (0,) & s, s == ((0,) & s))):
        assert made is meant
