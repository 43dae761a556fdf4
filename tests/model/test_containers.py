"""Sets, bags and sequences: their meaning, compared with Python's in random walks of the interpreter; and their text form."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_model import (
    BagOf,
    Bool,
    Enum,
    EvaluationError,
    Instance,
    Int,
    Maybe,
    Model,
    ModelError,
    Record,
    SeqOf,
    SetOf,
    count,
    exists,
    first,
    forall,
    full,
    minimum,
    only,
    search,
    symbolic,
)
from rocketproof_model.interpreter import Environment, State, effect, evaluate, holds, initial, labelled, readable, refusing, successors
from rocketproof_model.language import const, ite, show
from rocketproof_model.language.reading import read

SHAPE = (Enum("x", "y"), Int(-1, 1))
Message = Record(kind=Enum("ask", "tell"), about=Record(number=Int(-1, 1), sure=Bool))


def of_pairs(kind: str) -> Model:
    """Build a container of pairs; actions add, remove and move pairs."""
    m = Model(kind)
    held = m.var("held", BagOf(SHAPE, 2) if kind == "bag" else SetOf(SHAPE), init=())

    @m.action(e=SHAPE[0], n=SHAPE[1])
    def put(a: Any, e: Any, n: Any) -> None:
        """A pair is put in."""
        a.add(held, (e, n))

    @m.action(one=held, n=SHAPE[1])
    def move(a: Any, one: Any, n: Any) -> None:
        """A pair becomes another, perhaps the same."""
        a.remove(held, one)
        a.add(held, (one[0], n))

    @m.action(one=held)
    def drop(a: Any, one: Any) -> None:
        """A pair is taken out."""
        a.remove(held, one)

    m.always("size", held.size <= 4, "there are at most four")
    m.always("counted", count(held, lambda e, n: n == 1) <= 2, "two of them have a 1")
    m.always("some", exists(held, lambda e, n: e == "y") | held.is_empty | held.has(("x", 0)), "a y, nothing, or x with 0")
    m.always("all", forall((held, Int(0, 1)), lambda e, n, k: n != k) | (held >= (("x", 0),)), "nothing from 0 on, or x with 0 is there")
    return m


@pytest.mark.parametrize("kind", ["set", "bag"])
def test_walks_agree_with_python(kind: str) -> None:
    model = of_pairs(kind)
    instance, rng = model.given(), random.Random(kind)
    state, mine = initial(instance), Counter[tuple[str, int]]()
    for _ in range(300):
        action = rng.choice(model.actions)
        args = rng.choice(list(action.instances))
        one, n = (SHAPE[0].decode(args[0]), args[1]), args[-1]
        allowed = action.name == "put" or mine[one] > 0
        assert (refusing(instance, state, action, args) is None) == allowed
        if not allowed:
            continue
        if action.name != "put":
            mine[one] -= 1
        if action.name != "drop":
            mine[one if action.name == "put" else (one[0], n)] += 1
        if kind == "set":
            mine = Counter(dict.fromkeys(+mine, 1))
        if max(mine.values(), default=0) > 2:
            with pytest.raises(EvaluationError):
                effect(instance, state, action, args)
            return
        state = effect(instance, state, action, args)
        members = sorted((+mine).elements(), key=lambda m: (SHAPE[0].encode(m[0]), m[1]))
        assert readable(instance, state)["held"] == members
        answers = {p.id: holds(instance, p.formula, state) for p in model.properties}
        assert answers["size"] == (len(members) <= 4)
        assert answers["counted"] == (sum(n == 1 for _, n in set(members)) <= 2)
        assert answers["some"] == (any(e == "y" for e, _ in members) or not members or ("x", 0) in members)
        assert answers["all"] == (all(n not in (0, 1) for _, n in members) or ("x", 0) in members)


def lanes() -> Model:
    """Two bounded queues of messages."""
    m = Model("lanes")
    Side = m.index("Side", ["left", "right"])
    lane = m.var("lane", SeqOf(Message, 2), over=Side, init=())
    held = m.var("held", Maybe(Int(-1, 1)), init=None)

    @m.action(s=Side, message=Message)
    def send(a: Any, s: Any, message: Any) -> None:
        """A message is sent."""
        a.guard("room", ~lane[s].is_full, "there is room")
        a.set(lane[s], lane[s].append(message))

    @m.action(s=Side)
    def take(a: Any, s: Any) -> None:
        """The first message is taken."""
        a.guard("something", ~lane[s].is_empty, "there is one")
        a.set(held, lane[s].head.about.number)
        a.set(lane[s], lane[s].tail)

    m.always("known", ~lane[0].has(Message(kind="tell", about={"number": 1, "sure": True})) | (held != -1), "an arbitrary claim")
    return m


def test_sequences_read_as_sequences() -> None:
    instance = lanes().given()
    state = initial(instance)
    assert labelled(instance, state) == {"lane[left]": "<>", "lane[right]": "<>", "held": "None"}
    state = step(instance, state, "send(s=left, message.kind=ask, message.about.number=-1, message.about.sure=True)")
    state = step(instance, state, "send(s=left, message.kind=tell, message.about.number=1, message.about.sure=False)")
    first, second = "[kind: ask, about: [number: -1, sure: True]]", "[kind: tell, about: [number: 1, sure: False]]"
    assert labelled(instance, state)["lane[left]"] == f"<{first}, {second}>"
    state = step(instance, state, "take(s=left)")
    assert labelled(instance, state) == {"lane[left]": f"<{second}>", "lane[right]": "<>", "held": "-1"}
    assert readable(instance, state)["lane[0]"] == [{"kind": "tell", "about": {"number": 1, "sure": False}}]


def test_equal_sequences_are_one_state() -> None:
    """A queue of at most two numbers of two values has seven values, however its content was reached."""
    m = Model("queue")
    q = m.var("q", SeqOf(Int(4, 5), 2), init=())

    @m.action(n=Int(4, 5))
    def send(a: Any, n: Any) -> None:
        """A number is sent."""
        a.guard("room", ~q.is_full, "there is room")
        a.set(q, q.append(n))

    @m.action()
    def take(a: Any) -> None:
        """The first number is taken."""
        a.guard("something", q != (), "there is one")
        a.set(q, q.tail)

    assert search.explore(m.given(), []).states == 7


def step(instance: Instance, state: State, label: str) -> State:
    return next(s.state for s in successors(instance, state) if s.label == label)


MISFITS = {
    "append": r"q gets 2 items by act\(\) and has room for 1; guard its length",
    "tail": r"q loses an item by act\(\) where it has none; guard it with ~q.is_empty",
    "head": r"q\[0\] is asked where q has no such item; guard it with \(0 < q.length\)",
}


@pytest.mark.parametrize("wrong", MISFITS)
def test_full_container_is_an_error_of_the_model(wrong: str) -> None:
    m = Model("overflow")
    q = m.var("q", SeqOf(Int(0, 1), 1), init=(1,) if wrong == "append" else ())
    x = m.var("x", Int(0, 1), init=0)

    @m.action()
    def act(a: Any) -> None:
        """Something that has no meaning."""
        if wrong == "head":
            a.set(x, q.head)
        else:
            a.set(q, q.append(0) if wrong == "append" else q.tail)

    with pytest.raises(EvaluationError, match=MISFITS[wrong]):
        search.explore(m.given(), [])
    with pytest.raises(EvaluationError):
        effect(m.given(), initial(m.given()), m.actions[0], ())


def declared() -> tuple[Model, Any, Any, Any]:
    m = Model("mistakes")
    return m, m.var("s", SetOf(SHAPE), init=()), m.var("b", BagOf(Int(0, 3), 2), init=()), m.var("q", SeqOf(Int(0, 3), 2), init=())


MISTAKES: dict[str, tuple[Any, str]] = {
    "a member of another shape": (lambda m, s, b, q: s.has(("x",)), "no tuple of 2 values"),
    "a member that is no value": (lambda m, s, b, q: s.has(("z", 0)), "is not a value of Enum"),
    "a set without members": (lambda m, s, b, q: s == 3, "no set or bag of values"),
    "another bag": (lambda m, s, b, q: b <= s, "hold different things"),
    "a sequence that is too long": (lambda m, s, b, q: q == (1, 2, 3), "room for 2"),
    "a sequence of nothing": (lambda m, s, b, q: q == 3, "is no sequence"),
    "an array of sets compared": (lambda m, s, b, q: m.var("c", SetOf(SHAPE), over=Bool, init=()) == (), "no meaning in a model"),
    "a set used as a number": (lambda m, s, b, q: s + 1, "no meaning in a model"),
    "a bag that starts too full": (lambda m, s, b, q: m.var("c", BagOf(Int(0, 1), 1), init=(1, 1)), "not a value of Int"),
    "a sequence that starts too long": (lambda m, s, b, q: m.var("c", SeqOf(Int(0, 1), 1), init=(1, 1)), "room for 1"),
    "indexed by too many": (lambda m, s, b, q: m.var("c", SetOf(SHAPE), over=Bool, init=())[0, 1], "indexed by 2 values"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(mistake: str) -> None:
    make, words = MISTAKES[mistake]
    with pytest.raises(ModelError, match=words):
        make(*declared())


@pytest.mark.parametrize("of", [Int(0, 1), SHAPE], ids=["a value", "a variable for each member"])
def test_additions_and_removals_are_applied_in_order(of: Any) -> None:
    """Also if two elements of an array are the same."""
    m = Model("order")
    s = m.var("s", SetOf(of), over=Bool, init=())
    first, second = (0, 1) if of is not SHAPE else (("x", 0), ("y", 1))

    @m.action(i=Bool, j=Bool)
    def put(a: Any, i: Any, j: Any) -> None:
        """A value is put in at one place, another at a second."""
        a.add(s[i], first)
        a.add(s[j], second)

    @m.action(i=Bool, j=Bool)
    def swap(a: Any, i: Any, j: Any) -> None:
        """The same, and the first value is removed from the second place."""
        put(a, i, j)
        a.remove(s[j], first)

    instance = m.given()
    steps = {(step.action.name, step.args): step.state for step in successors(instance, initial(instance))}
    sizes = {key: [len(readable(instance, state)[f"s[{k}]"]) for k in range(2)] for key, state in steps.items()}
    apart, together = {(0, 1): [1, 1], (1, 0): [1, 1]}, {"put": {(0, 0): [2, 0], (1, 1): [0, 2]}, "swap": {(0, 0): [1, 0], (1, 1): [0, 1]}}
    assert sizes == {(name, args): size for name, same in together.items() for args, size in (apart | same).items()}


@pytest.mark.parametrize("what", [lambda x, s: x, lambda x, s: s | s.including(1)], ids=["a number", "a term"])
def test_only_containers_are_added_to(what: Any) -> None:
    m = declared()[0]
    x, s = m.var("x", Int(0, 3), init=0), m.var("small", SetOf(Int(0, 3)), init=())
    with pytest.raises(ModelError, match="no set and no bag"):

        @m.action()
        def act(a: Any) -> None:
            """It adds to what is no variable of a set."""
            a.add(what(x, s), 1)


@pytest.mark.parametrize(
    "text", ["lane[left].length == 2", "lane[right, 0].about.number + 1 == 1", "lane[left, 1].kind == tell", "held == -1", "held == None"]
)
def test_container_values_are_read_from_text(text: str) -> None:
    m = lanes()
    assert read(show(read(text, m)), m) is read(text, m)


def test_a_cell_is_read_by_its_member() -> None:
    m = of_pairs("bag")
    cell = next(v for v in m.variables if v.name == "held")[("y", -1)]
    assert read("held[y, -1] == 2", m) is (cell == 2)


# -- sequences made of sequences ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_slices_concatenations_and_choices_equal_those_of_lists() -> None:
    m = Model("lists")
    q, p = m.var("q", SeqOf(Int(0, 2), 3), init=()), m.var("p", SeqOf(Int(0, 2), 2), init=())
    i, j = m.var("i", Int(0, 4), init=0), m.var("j", Int(0, 4), init=0)
    made: dict[str, tuple[Any, Callable[[list[int], list[int], int, int], list[int]]]] = {
        "from": (q[i:], lambda q, p, i, j: q[i:]),
        "up to": (q[:j], lambda q, p, i, j: q[:j]),
        "between": (q[i:j], lambda q, p, i, j: q[i:j]),
        "known": (q[1:2], lambda q, p, i, j: q[1:2]),
        "both": (q + p, lambda q, p, i, j: q + p),
        "known first": ([1] + q, lambda q, p, i, j: [1, *q]),  # noqa: RUF005
        "known last": (p + (2, 0), lambda q, p, i, j: [*p, 2, 0]),  # noqa: RUF005
        "either": (ite(i < j, q[1:], p), lambda q, p, i, j: q[1:] if i < j else p),
        "some or none": (ite(i < j, p, ()), lambda q, p, i, j: p if i < j else []),
        "appended": (q.append(minimum(i, 2)).append(1)[2:], lambda q, p, i, j: [*q, min(i, 2), 1][2:]),
    }
    lists = [[*items] for n in range(4) for items in itertools.product(range(3), repeat=n)]
    rng = random.Random(5)
    for _ in range(300):
        ql, pl, at, to = rng.choice(lists), rng.choice([each for each in lists if len(each) < 3]), rng.randint(0, 4), rng.randint(0, 4)
        state = (len(ql), *ql, *[0] * (3 - len(ql)), len(pl), *pl, *[0] * (2 - len(pl)), at, to)
        for name, (term, expected) in nonempty(made.items()):
            items = expected(ql, pl, at, to)
            scope = Environment(state, {}, {})
            assert evaluate(term.length, scope) == len(items), name
            assert [evaluate(term[k], scope) for k in range(len(items))] == items, name
            assert all(evaluate(term.has(v), scope) == (v in items) for v in range(3)), name
            with pytest.raises(EvaluationError):
                evaluate(term.item(const(len(items), Int(len(items), len(items)))), scope)


# -- small sets, which are values ------------------------------------------------------------------------------------------------


def test_small_sets_have_the_operations_of_python() -> None:
    m = Model("sets")
    P = m.index("P", 3)
    s, t = m.var("s", SetOf(P), init=()), m.var("t", SetOf(Int(-1, 1)), init=())
    asked: dict[str, tuple[Any, Callable[[set[int], set[int]], Any]]] = {
        "size": (s.size + t.size, lambda s, t: len(s) + len(t)),
        "is_empty": (s.is_empty & ~t.is_empty, lambda s, t: not s and bool(t)),
        "full": ((s == full(P)) | (full(Int(-1, 1)) <= t), lambda s, t: len(s) == 3 or len(t) == 3),
        "only": (only(s), lambda s, t: min(s) + 1 if len(s) == 1 else 0),
        "only of some": (only(t, lambda k: k >= 0), lambda s, t: min(t - {-1}) + 2 if len(t - {-1}) == 1 else 0),
        "only one that": (only(P, lambda i: ~s.has(i)), lambda s, t: min({0, 1, 2} - s) + 1 if len(s) == 2 else 0),
        "first": (first(t), lambda s, t: min(t) + 2 if t else 0),
        "first of some": (first(s, lambda i: i > 0), lambda s, t: min(s - {0}) + 1 if s - {0} else 0),
        "first one that": (first(P, lambda i: ~s.has(i)), lambda s, t: min({0, 1, 2} - s) + 1 if len(s) < 3 else 0),
    }

    @m.action()
    def act(a: Any) -> None:
        """Both sets become others."""
        a.set(s, lambda i: t.has(i - 1))
        a.set(t, lambda k: ~s.has(k + 1))

    subsets = [{k for k in range(3) if bits >> k & 1} for bits in range(8)]
    for one, other in nonempty(itertools.product(subsets, [{k - 1 for k in each} for each in subsets])):
        state = s.type.encode(one), t.type.encode(other)
        for name, (term, expected) in nonempty(asked.items()):
            assert evaluate(term, Environment(state, {}, {})) == expected(one, other), name
        turned = {k + 1 for k in other}, {k - 1 for k in range(3) if k not in one}
        assert effect(m.given(), state, m.actions[0], ()) == (s.type.encode(turned[0]), t.type.encode(turned[1]))


@pytest.mark.parametrize("guarded", ["guard", "when"])
def test_number_in_a_maybe_is_bounded_by_its_guard(guarded: str) -> None:
    m = Model("acks")
    written, acked = m.var("written", Int(0, 3), init=0), m.var("acked", Maybe(Int(0, 3)), init=None)

    @m.action()
    def write(a: Any) -> None:
        """One more is written."""
        more = written < 3
        if guarded == "guard":
            a.guard("room", more, "there is room")
        a.set(written, written + 1, **({} if guarded == "guard" else {"when": more}))
        a.set(acked, written + 1, **({} if guarded == "guard" else {"when": more}))

    claim = m.always("acked", (acked == None) | (acked == written), "what is written is acknowledged")  # noqa: E711
    instance = m.given()
    assert search.explore(instance).states == 4
    assert symbolic.bounded(instance, [claim], depth=5)[0].verdict != "violated"
    assert symbolic.induction(instance, claim).verdict == "holds"
