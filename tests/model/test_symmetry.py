"""Symmetric indices: refusals and their lines, orbits, witnesses as paths of the model, and conditions that disable the reduction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from test_search import replayed

import routing
from rocketproof_model import (
    Bool,
    Enum,
    Expr,
    Int,
    Maybe,
    Model,
    ModelError,
    Record,
    SeqOf,
    SetOf,
    after,
    any_of,
    count,
    exists,
    first,
    forall,
    ite,
    liveness,
    maximum,
    minimum,
    only,
    owner,
    rem,
    single,
    total,
)
from rocketproof_model.explicit.canonical import network, plain_changes
from rocketproof_model.faults import ModelFault
from rocketproof_model.interpreter import effect
from rocketproof_model.language import Guard, coerce, const, show
from rocketproof_model.result import Limits
from rocketproof_model.search import Tuning, explore

ALL_STATES = {False: 326684, True: 2947}


def workers(size: int = 3) -> tuple[Model, Any, Any, Any]:
    """Build workers with equal rights and a lock."""
    m = Model("workers")
    worker = m.index("Worker", size, symmetric=True)
    done = m.var("done", Int(0, 2), over=worker, init=0)
    lock = m.var("lock", Maybe(worker), init=None)
    return m, worker, done, lock


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (lambda w, done, lock: done[0] == 1, "'(done[0] == 1)' is about single elements of Worker"),
        (lambda w, done, lock: lock == 2, "'(lock == 2)' is about single elements of Worker"),
        (lambda w, done, lock: exists(w, lambda i: done[i] == i), "takes an element for a number"),
        (lambda w, done, lock: exists(w, lambda i: done[i] == i + 1), "is about single elements of Worker"),
        (lambda w, done, lock: lock.is_none | (lock.get < 2), "'(lock < 2)' takes an element of Worker for a number"),
        (lambda w, done, lock: lock.is_none | (done[rem(lock.get + 1, 3)] == 0), "'(lock + 1)' takes an element of Worker for a number"),
        (lambda w, done, lock: done[done[lock.get]] == 0, "takes a number for an element of Worker"),
        (lambda w, done, lock: done[w.size - 1] < 2, "is about single elements of Worker"),
        (lambda w, done, lock: lock == maximum(done[0], done[1]), "takes a number for an element of Worker"),
        (lambda w, done, lock: const(0, SetOf(w)).including(done[0]) == (), "takes a number for an element of Worker"),
        (lambda w, done, lock: only(w, lambda i: (done[i] == 2) & (i != 0)) == lock, "is about single elements of Worker"),
        (lambda w, done, lock: ite(lock == 0, done[0], ite(lock == 1, done[1], 0)) == 0, "is about single elements of Worker"),
        (lambda w, done, lock: ite(done[0] == 0, lock == 0, ite(done[1] == 0, lock == 1, lock == 2)), "is about single elements of Worker"),
    ],
)
def test_property_that_distinguishes_elements_is_refused(formula: Callable[..., Any], words: str) -> None:
    m, worker, done, lock = workers()
    with pytest.raises(ModelError) as refused:
        m.always("claim", formula(worker, done, lock), "something about one worker")
    assert words in refused.value.problem
    assert refused.value.problem.startswith("property claim: ")
    assert "symmetric=True" in refused.value.remedy
    assert not m.properties


@pytest.mark.parametrize(
    "formula",
    [
        lambda w, done, lock: forall(w, lambda i: (done[i] < 2) | (lock != i)),
        lambda w, done, lock: forall(w, lambda i: forall(w, lambda j: (i == j) | (done[i] == 0) | (done[j] == 0))),
        lambda w, done, lock: total(w, lambda i: done[i]) <= count(w, lambda i: lock == i),
        lambda w, done, lock: maximum(maximum(done[2], done[1]), done[0]) == 2,
        lambda w, done, lock: lock.is_some & (done[lock.get] == 1),
        lambda w, done, lock: (done[1] == done[0]) & (done[2] == done[1]) & (done[0] == done[2]),
        lambda w, done, lock: only(w, lambda i: done[i] == 2) == lock,
        lambda w, done, lock: forall(w, lambda j: only(w, lambda i: done[i] == done[j]) == lock),  # a constant for i == j
    ],
)
def test_symmetric_property_is_accepted(formula: Callable[..., Any]) -> None:
    m, worker, done, lock = workers()
    assert m.always("claim", formula(worker, done, lock), "something about all workers") in m.properties


def test_actions_that_distinguish_elements_are_refused_with_their_line() -> None:
    def action(body: Callable[..., None]) -> ModelError:
        m, worker, done, lock = workers()

        def act(a: Any, w: Any) -> None:
            """Something happens."""
            body(a, w, worker, done, lock)

        with pytest.raises(ModelError) as error:
            m.action(w=worker)(act)
        assert error.value.place.rsplit(":", 2)[0] == __file__
        assert error.value.problem.startswith("action act: ")
        return error.value

    assert "guard 'first': " in action(lambda a, w, worker, done, lock: a.guard("first", w == 0, "it is the first")).problem
    assert "about single elements" in action(lambda a, w, worker, done, lock: a.set(done[1], 0)).problem
    assert "about single elements" in action(lambda a, w, worker, done, lock: a.set(lock, 0)).problem
    assert "for a number" in action(lambda a, w, worker, done, lock: a.set(done[w], w)).problem
    assert "for a number" in action(lambda a, w, worker, done, lock: a.set(done[w], ite(done[w] == 0, 1, w))).problem


@pytest.mark.parametrize(
    "use",
    [
        lambda a, w, seats: a.set(seats[w], True),
        lambda a, w, seats: a.guard("free", ~seats[w], "the seat of the worker's number is free"),
        lambda a, w, seats: a.guard("listed", const(3, SetOf(Int(0, 2))).has(w), "the worker's number is in the list"),
        lambda a, w, seats: a.guard("known", const(0, SetOf(Int(0, 2))).including(w) != (), "the worker's number is in the list"),
        lambda a, w, seats: a.guard("told", ite(seats[0], coerce(w, Maybe(Int(0, 2))), None) == 2, "the worker's number is the last one"),
    ],
    ids=["written place", "place", "member", "added member", "maybe"],
)
def test_element_cannot_be_used_as_a_number(use: Callable[..., None]) -> None:
    m, worker, _, _ = workers()
    seats = m.var("seats", Bool, over=Int(0, 2), init=False)

    def act(a: Any, w: Any) -> None:
        """Something happens."""
        use(a, w, seats)

    with pytest.raises(ModelError, match="takes an element of Worker for a number"):
        m.action(w=worker)(act)


def shelves(size: int = 3) -> tuple[Model, Any, Any, Any]:
    """Build two shelves of places, some of them taken, and a place that is held."""
    m = Model("shelves")
    shelf = m.index("Shelf", 2, symmetric=True)
    place = m.index("Place", size, symmetric=True, of=shelf)
    return m, place, m.var("taken", Bool, over=place, init=False), m.var("held", Maybe(place), init=None)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        (lambda m, p, taken, held: exists(p, lambda k: taken[k] & (held != k)), ""),
        (lambda m, p, taken, held: taken[4], "is about single elements of Place"),
        (lambda m, p, taken, held: any_of(taken[k] for k in range(3)), "is about single elements of Shelf"),
        (lambda m, p, taken, held: taken[0] & taken[1] | taken[2] & taken[3] | taken[4] & taken[5], "is about single elements of Place"),
        (lambda m, p, taken, held: exists(p, lambda k: taken[k] & (owner(k) == 0)), "is about single elements of Shelf"),
        (lambda m, p, taken, held: held.is_none | (owner(held.get) == 1), "'(owner(held) == 1)' takes an element for a number"),
        (lambda m, p, taken, held: held.is_none | (rem(held.get, 3) == 1), "'(held % 3)' takes an element of Place for a number"),
        (lambda m, p, taken, held: held.is_none | taken[held.get], ""),
        (lambda m, p, taken, held: exists((p, p), lambda j, k: (j != k) & (owner(j) == owner(k)) & taken[j] & taken[k]), ""),
        (lambda m, p, taken, held: taken[0] & taken[1] & taken[2] | taken[3] & taken[4] & taken[5], ""),
    ],
)
def test_owned_elements_move_with_their_owner(formula: Callable[..., Any], words: str) -> None:
    m, *parts = shelves()
    if words:
        with pytest.raises(ModelError) as refused:
            m.always("claim", formula(m, *parts), "something about places")
        assert words in refused.value.problem
    else:
        assert m.always("claim", formula(m, *parts), "something about places")


def test_only_owned_elements_have_an_owner() -> None:
    m, place, _, _ = shelves()
    shelf = place.owner
    assert [show(owner(k)) for k in place] == ["0", "0", "0", "1", "1", "1"]
    for wrong in (2, next(iter(shelf)), place):
        with pytest.raises(ModelError, match="belongs to no element"):
            owner(wrong)
    with pytest.raises(ModelError, match="index Item belongs to 3"):
        m.index("Item", 2, of=3)  # type: ignore[arg-type]
    named = m.index("Item", ["pen", "cup"], of=m.index("Room", ["hall", "attic"]))
    assert named.names == ("hall/pen", "hall/cup", "attic/pen", "attic/cup")


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("related", [False, True])
def test_orbits_of_owned_elements(related: bool, symmetric: bool) -> None:
    """Balls are put onto places of shelves. With related pairs of places, no columns can be sorted."""
    m = Model("shelves")
    shelf = m.index("Shelf", 2, symmetric=True)
    place = m.index("Place", 2, symmetric=symmetric, of=shelf)
    balls = m.var("balls", Int(0, 2), over=place, init=0)
    linked = m.var("linked", SetOf(place), over=place, init=()) if related else None

    @m.action(p=place)
    def put(a: Any, p: Any) -> None:
        """A ball is put onto a place."""
        a.guard("room", balls[p] < 2, "there is room")
        a.set(balls[p], balls[p] + 1)

    if linked is not None:

        @m.action(p=place, q=place)
        def link(a: Any, p: Any, q: Any) -> None:
            """Two places of a shelf are linked."""
            a.guard("one shelf", (owner(p) == owner(q)) & (p != q), "they are of one shelf")
            a.set(linked[p], linked[p] | single(q))

    whole = explore(m.given(), symmetry=False)
    exploration = explore(m.given())

    def images(row: list[int]) -> set[tuple[int, ...]]:
        inner = [(0, 1), (1, 0)] if symmetric else [(0, 1)]
        orders = [[*left, *(2 + k for k in right)] for left in inner for right in inner]
        orders += [[*(2 + k for k in left), *right] for left in inner for right in inner]
        sets = row[4:]
        return {
            (*(row[k] for k in order), *(sum((sets[k] >> j & 1) << at for at, j in enumerate(order)) for k in order if sets))
            for order in orders
        }

    assert exploration.states == len({min(images(row)) for row in whole.graph().codes().tolist()})
    assert exploration.represented() == whole.states == 3**4 * (16 if related else 1)
    assert sorted(exploration.symmetric) == (["Place", "Shelf"] if symmetric else ["Shelf"])


@pytest.mark.parametrize(
    ("sizes", "symmetric"),
    [((2, 2), (True, True)), ((2, 2), (False, True)), ((2, 2), (True, False)), ((2, 2, 1), (True,) * 3), ((3, 2), (True, True))],
)
def test_owned_maps_have_burnsides_number_of_orbits(sizes: tuple[int, ...], symmetric: tuple[bool, ...]) -> None:
    """Each element of the last index points at an element or at nothing. No columns can be sorted, so all are arranged."""
    m = Model("maps")
    of: Any = None
    for k, (size, alike) in enumerate(zip(sizes, symmetric, strict=True)):
        of = m.index(f"Level{k}", size, symmetric=alike, of=of)
    to = m.var("to", Maybe(of), over=of, init=None)

    @m.action(p=of, q=of)
    def point(a: Any, p: Any, q: Any) -> None:
        """An element points at another."""
        a.guard("nowhere", to[p].is_none, "it points nowhere")
        a.set(to[p], q)

    group = _nested(sizes, symmetric)
    fixed = sum(math.prod(1 + sum(_repeated(g, x, len(c)) == x for x in of.codes()) for c in _cycles(g)) for g in group)
    exploration = explore(m.given())
    assert (exploration.states, exploration.represented()) == (fixed // len(group), (of.size + 1) ** of.size)


def _nested(sizes: tuple[int, ...], symmetric: tuple[bool, ...]) -> list[tuple[int, ...]]:
    """Return all permutations of the elements of the last index that respect the owners."""
    if not sizes:
        return [(0,)]
    inner = _nested(sizes[1:], symmetric[1:])
    block = len(inner[0])
    orders = permutations(range(sizes[0])) if symmetric[0] else [tuple(range(sizes[0]))]
    return [
        tuple(at * block + k for at, part in zip(order, parts, strict=True) for k in part)
        for order in orders
        for parts in product(inner, repeat=sizes[0])
    ]


def _repeated(g: tuple[int, ...], x: int, times: int) -> int:
    for _ in range(times):
        x = g[x]
    return x


def _cycles(g: tuple[int, ...]) -> set[frozenset[int]]:
    return {frozenset(_repeated(g, x, times) for times in range(len(g))) for x in range(len(g))}


def test_zeros_in_a_sum_do_not_distinguish_elements() -> None:
    m, worker, done, _ = workers()

    @m.action(w=worker)
    def level(a: Any, w: Any) -> None:
        """Each takes the number of workers with the same count."""
        for i in worker:
            a.set(done[i], minimum(0 + sum(ite(done[j] == done[i], 1, 0) for j in worker), 2))

    assert explore(m.given()).symmetric == ("Worker",)


def test_effects_for_all_elements_are_accepted() -> None:
    m, worker, done, lock = workers()

    @m.action(w=worker)
    def reset(a: Any, w: Any) -> None:
        """All others restart."""
        for other in worker:
            a.set(done[other], 0, when=other != w)
        a.set(lock, w)

    assert m.actions


def test_constants_and_initial_values_that_name_an_element_are_refused() -> None:
    m, worker, _, _ = workers()
    with pytest.raises(ModelError, match="constant chief names an element of the symmetric index Worker"):
        m.constant("chief", worker, 0)
    with pytest.raises(ModelError, match=r"initial value of first: 'True' as the start of first\[0\] is about single elements of Worker"):
        m.var("first", Bool, over=worker, init=lambda w: w == 0)
    with pytest.raises(ModelError, match="initial value of chief: '1' as the start of chief is about single elements of Worker"):
        m.var("chief", Maybe(worker), init=1)
    assert m.var("own", worker, over=worker, init=lambda w: w) is not None
    assert m.var("all", SetOf(worker), init=range(3)) is not None


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("symmetry", [False, True])
def test_routing_up_to_symmetry(threads: int, symmetry: bool) -> None:
    model = routing.model(**routing.SCOPES["small"], symmetric=True)
    exploration = explore(model.given(), workers=threads, symmetry=symmetry)
    assert (exploration.states, exploration.represented(), exploration.depth) == (ALL_STATES[symmetry], ALL_STATES[False], 17)
    assert exploration.symmetric == (("Broker", "Producer", "Queue") if symmetry else ())
    assert {o.property.id: o.verdict for o in exploration.outcomes} == dict.fromkeys(("append", "no inherit", "conserve", "skew"), "holds")
    witness = exploration.outcome("skew").witness
    assert witness is not None and len(witness) == 6
    replayed(exploration)


def test_orbits_of_the_main_size() -> None:
    exploration = explore(routing.model(**routing.SCOPES["symmetric"]).given())
    assert (exploration.states, exploration.represented(), exploration.depth) == (24638, 4843884, 21)


def crowd(size: int, pairs: bool) -> Model:
    """Build a group of people who enter and leave; with `pairs` they also know each other, so no columns can be sorted."""
    m = Model("crowd")
    person = m.index("Person", size, symmetric=True)
    mood = m.var("mood", Enum("out", "in", "gone"), over=person, init="out")
    knows = m.var("knows", SetOf(person), over=person, init=()) if pairs else None

    @m.action(p=person)
    def enter(a: Any, p: Any) -> None:
        """A person enters."""
        a.guard("out", mood[p] == "out", "the person is outside")
        a.set(mood[p], "in")

    @m.action(p=person)
    def leave(a: Any, p: Any) -> None:
        """A person leaves."""
        a.guard("in", mood[p] == "in", "the person is inside")
        a.set(mood[p], "gone")

    if knows is not None:

        @m.action(p=person, q=person)
        def meet(a: Any, p: Any, q: Any) -> None:
            """A person gets to know another."""
            a.guard("both in", (mood[p] == "in") & (mood[q] == "in") & (p != q), "both are inside")
            a.set(knows[p], knows[p] | single(q))

    m.always("somebody stays", any_of(mood[p] != "gone" for p in person), "not all have gone")
    m.step("one at a time", count(person, lambda p: mood[p] != after(mood[p])) <= 1, "nobody moves with another")
    m.deadlock_free("goes on", "there is always something to do")
    return m


def test_many_elements_are_reduced_by_sorting() -> None:
    """For n people in three moods, only the number in each mood matters."""
    exploration = explore(crowd(12, False).given())
    assert (exploration.states, exploration.represented()) == (math.comb(14, 2), 3**12)
    witness = exploration.outcome("somebody stays").witness
    assert witness is not None and len(witness) == 24
    replayed(exploration)


@pytest.mark.parametrize("tuning", [Tuning(), Tuning(word_bits=7)], ids=["one word", "words"])
@pytest.mark.parametrize("size", [2, 3])
def test_related_elements_are_reduced_by_enumeration(size: int, tuning: Tuning) -> None:
    model = crowd(size, True)
    all_of_them = explore(model.given(), symmetry=False, tuning=tuning)
    exploration = explore(model.given(), tuning=tuning)
    assert exploration.represented() == all_of_them.states
    assert exploration.states == len({_least(state, size) for state in all_of_them.graph().codes().tolist()})
    assert [(o.verdict, len(o.witness or ())) for o in exploration.outcomes] == [
        (o.verdict, len(o.witness or ())) for o in all_of_them.outcomes
    ]
    replayed(exploration)


def _least(state: list[int], size: int) -> tuple[tuple[int, ...], ...]:
    """Return the smallest equivalent state by brute force, as rows of (mood, known people)."""
    moods, knows = state[:size], state[size:]
    return min(tuple((moods[p], *(knows[p] >> q & 1 for q in order)) for p in order) for order in permutations(range(size)))


def test_index_with_too_many_arrangements_is_not_reduced() -> None:
    model = crowd(8, True)
    exploration = explore(model.given(), limits=Limits(states=100))
    assert exploration.symmetric == ()


def test_claim_about_one_element_disables_the_reduction() -> None:
    model = crowd(3, False)
    mood = model.variable("mood")
    one = model.claim("first", "the first one never leaves", "always", mood[0] != "gone")
    exploration = explore(model.given(), [one])
    assert (exploration.symmetric, exploration.states) == ((), 27)
    assert exploration.asymmetry == "property first: '(mood[0] != gone)' is about single elements of Person"


def test_asymmetric_derived_model_is_searched_without_reduction() -> None:
    model, worker, _, lock = workers()

    @model.action(w=worker)
    def take(a: Any, w: Any) -> None:
        """A worker takes the lock."""
        a.guard("free", lock.is_none, "nobody has the lock")
        a.set(lock, w)

    (whole,) = model.actions
    first = Guard("first", Expr("par", ("w",), worker) == worker.lo, "it is the first", False, whole.place)
    spoilt = model.with_actions([replace(whole, guards=(*whole.guards, first))])
    exploration = explore(spoilt.given())
    assert (exploration.states, exploration.symmetric) == (2, ())
    assert exploration.asymmetry.startswith("action take: guard 'first'")
    assert (explore(model.given()).states, explore(model.given(), symmetry=False).states) == (2, 4)


def test_orbits_have_no_graph_and_liveness_uses_all_states() -> None:
    model = crowd(3, False)
    mood = model.variable("mood")
    model.eventually("over", forall(model.variable("mood").over[0], lambda p: mood[p] == "gone"), "all go")
    exploration = explore(model.given())
    assert exploration.symmetric == ("Person",)
    with pytest.raises(ModelError, match="explored up to symmetry"):
        exploration.graph()
    (outcome,) = liveness.check(model.given(), exploration=exploration)
    assert (outcome.verdict, outcome.states) == ("violated", 27)


@pytest.mark.parametrize("size", range(1, 7))
def test_plain_changes_visit_every_permutation_once(size: int) -> None:
    order, seen = list(range(size)), {tuple(range(size))}
    for k in plain_changes(size):
        order[k], order[k + 1] = order[k + 1], order[k]
        seen.add(tuple(order))
    assert len(seen) == len(plain_changes(size)) + 1 == math.factorial(size)


@pytest.mark.parametrize("size", range(1, 9))
def test_networks_sort_all_rows_of_zeros_and_ones(size: int) -> None:
    """A network that sorts all rows of zeros and ones sorts all rows."""
    rows = np.array(np.meshgrid(*[[0, 1]] * size)).reshape(size, -1)
    for i, j in network(size):
        rows[i], rows[j] = np.minimum(rows[i], rows[j]), np.maximum(rows[i], rows[j])
    assert (np.diff(rows, axis=0) >= 0).all()


def test_model_error_under_symmetry_has_a_real_path() -> None:
    m, worker, done, _ = workers()

    @m.action(w=worker)
    def work(a: Any, w: Any) -> None:
        """A worker does some work."""
        a.set(done[w], done[w] + 1)

    with pytest.raises(ModelFault) as error:
        explore(m.given())
    path = error.value.witness
    state = path.states[0]
    for move, after_it in zip(path.moves, path.states[1:], strict=True):
        state = effect(path.instance, state, m.named(move.action), move.args)
        assert state == after_it
    assert len(path.moves) == 2


def test_element_is_chosen_where_no_order_is_needed() -> None:
    """A leader is elected if a single server is a candidate, and otherwise by a parameter: the reduction stays enabled."""
    m = Model("election")
    server = m.index("Server", 3, symmetric=True)
    stands, leader = m.var("stands", SetOf(server), init=()), m.var("leader", Maybe(server), init=None)

    @m.action(s=server)
    def stand(a: Any, s: Any) -> None:
        """A server becomes a candidate."""
        a.set(stands, stands.including(s))

    @m.action()
    def elect(a: Any) -> None:
        """The only candidate is elected."""
        a.set(leader, only(stands))

    @m.action(s=stands)
    def vote(a: Any, s: Any) -> None:
        """One of several candidates is elected."""
        a.set(leader, s)
        a.set(stands, lambda other: stands.has(other) & (other == s))

    m.always("candidate", leader.is_none | stands.has(leader.get), "the leader stood for election")
    instance = m.given()
    reduced, whole = explore(instance), explore(instance, symmetry=False)
    assert reduced.symmetric == ("Server",) and reduced.states < whole.states == reduced.represented()
    assert [o.verdict for o in reduced.outcomes] == [o.verdict for o in whole.outcomes] == ["holds"]
    with pytest.raises(ModelError, match="the elements of a symmetric index have no order") as refused:
        first(server, stands.has)
    assert "write only(...)" in refused.value.remedy


def test_sequences_of_symmetric_elements_are_reduced() -> None:
    """Elements in a queue: a state for each length, instead of a state for each order of the elements."""
    m = Model("line")
    worker = m.index("Worker", 4, symmetric=True)
    line = m.var("line", SeqOf(Record(who=worker, hot=Bool), 3), init=())

    @m.action(w=worker, hot=Bool)
    def join(a: Any, w: Any, hot: Any) -> None:
        """A worker joins the line."""
        a.guard("room", ~line.is_full & ~exists(line, lambda e: e.who == w), "there is room, and it is not in the line")
        a.set(line, line.append({"who": w, "hot": hot}))

    @m.action()
    def leave(a: Any) -> None:
        """The first worker leaves."""
        a.guard("someone", ~line.is_empty, "someone is there")
        a.set(line, line.tail)

    m.always("once", forall(worker, lambda w: count(line, lambda e: e.who == w) <= 1), "each is there once")
    instance = m.given()
    reduced, whole = explore(instance), explore(instance, symmetry=False)
    assert whole.states == 1 + 4 * 2 + 12 * 4 + 24 * 8 and reduced.states == 1 + 2 + 4 + 8
    assert reduced.symmetric == ("Worker",) and reduced.represented() == whole.states
    assert [o.verdict for o in reduced.outcomes] == ["holds"]
