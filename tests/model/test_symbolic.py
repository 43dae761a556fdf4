"""Bounded checking, induction and widening against the interpreter and on models with known answers."""

from __future__ import annotations

import random

import pytest
import z3

import routing
from nonempty import nonempty
from rocketproof_model import (
    Bool,
    EvaluationError,
    Instance,
    Int,
    Maybe,
    Model,
    ModelError,
    RocketproofError,
    after,
    all_of,
    forall,
    implies,
    ite,
    owner,
    search,
    total,
)
from rocketproof_model.formulas.relation import Relation
from rocketproof_model.formulas.values import formula
from rocketproof_model.interpreter import State, initial, successors
from rocketproof_model.result import Limits, Move, Progress, Watch
from rocketproof_model.symbolic import bounded, induction
from rocketproof_model.transforms.widening import widened


def counter(step: int = 1, top: int = 5, start: int = 0) -> Model:
    """Build a counter that goes up by `step` until `top`, then stops."""
    m = Model("counter")
    n = m.var("n", Int(0, 20), init=start)

    @m.action()
    def up(a):
        """The counter goes up."""
        a.guard("below", n < top, "the counter is below its top")
        a.set(n, n + step)

    return m


def traffic() -> Model:
    """Build a model with arrays, dynamic indices, conditional and unconditional updates, a maybe and a set."""
    m = Model("traffic")
    Node = m.index("Node", 3)
    at = m.var("at", Node, init=0)
    load = m.var("load", Int(0, 2), over=Node, init=lambda n: n % 2)
    seen = m.var("seen", Bool, over=Node, init=False)

    @m.action(to=Node)
    def move(a, to):
        """The cart moves to another node."""
        a.guard("elsewhere", at != to, "the cart is elsewhere")
        a.set(at, to)
        a.set(seen[at], True)

    @m.action(d=Int(-1, 1))
    def work(a, d):
        """The cart loads or unloads at its node."""
        a.guard("room", (load[at] + d >= 0) & (load[at] + d <= 2), "the node has room")
        a.set(load[at], load[at] + d)
        a.set(seen[at], False, when=d < 0)

    m.always("few", total(Node, lambda n: load[n]) <= 5, "the nodes do not all fill")
    return m


def reachable_states(instance: Instance, most: int) -> list[State]:
    found = [initial(instance)]
    known = set(found)
    for state in found:
        for step in successors(instance, state):
            if step.state not in known and len(found) < most:
                known.add(step.state)
                found.append(step.state)
    return found


@pytest.mark.parametrize("name", ["routing", "traffic", "counter"])
def test_the_relation_has_exactly_the_interpreters_successors(name: str) -> None:
    model = {"routing": lambda: routing.model(1, 1, 1, 1, 1), "traffic": traffic, "counter": counter}[name]()
    instance = model.given()
    relation = Relation(instance, Watch(Limits()))
    solver = z3.SolverFor("QF_BV")
    solver.add(relation.at(relation.step, 0))
    states = reachable_states(instance, 400)
    chosen = random.Random(1).sample(states, min(len(states), 60))
    for state in nonempty(chosen):
        expected = {(Move(s.action.name, s.args), s.state) for s in successors(instance, state)}
        solver.push()
        solver.add(formula(relation.equals(0, state)))
        found = set()
        while solver.check() == z3.sat:
            answer = solver.model()
            step = relation.move(answer, 0), relation.read(answer, 1)
            assert step not in found
            found.add(step)
            known = z3.And(relation.chosen(0) == answer.eval(relation.chosen(0), True), formula(relation.equals(1, step[1])))
            solver.add(z3.Not(known))
        solver.pop()
        assert found == expected, f"successors of {state}"


def test_the_skew_is_found_at_exactly_six_steps() -> None:
    instance = routing.model(**routing.SCOPES["small"]).given()
    claim = instance.model.property("skew")
    (early,) = bounded(instance, [claim], depth=5)
    assert (early.verdict, early.reason, early.depth) == ("unknown", "bound reached", 5)
    (found,) = bounded(instance, [claim], depth=9)
    assert found.verdict == "holds"
    assert found.witness is not None
    assert len(found.witness) == found.depth == 6


def test_bounded_checking_never_proves_always() -> None:
    m = counter(top=2)
    m.always("low", m.variable("n")[()] <= 2, "the counter stays low")
    m.step("grows", after(m.variable("n")[()]) > m.variable("n")[()], "the counter grows")
    m.deadlock_free("runs", "the counter never stops", unless=m.variable("n")[()] == 2)
    m.reachable("high", m.variable("n")[()] == 3, "the counter gets to three")
    for outcome in nonempty(bounded(m.given(), depth=8)):
        assert (outcome.verdict, outcome.reason, outcome.depth, outcome.witness) == ("unknown", "bound reached", 8, None)


def test_each_kind_is_decided_at_its_shortest_depth() -> None:
    m = counter(step=2)
    n = m.variable("n")[()]
    m.always("below four", n < 4, "the counter stays below four")
    m.reachable("two", n == 2, "the counter gets to two")
    m.step("by one", (n < 4) | (after(n) <= n + 1), "late steps are by one")
    m.deadlock_free("runs", "the counter never stops")
    m.deadlock_free("runs or six", "the counter stops at six only", unless=n == 6)
    outcomes = {o.property.id: o for o in bounded(m.given(), depth=6)}
    lengths = {id_: o.witness and len(o.witness) for id_, o in outcomes.items()}
    assert lengths == {"below four": 2, "two": 1, "by one": 3, "runs": 3, "runs or six": None}
    verdicts = [o.verdict for o in outcomes.values()]
    assert verdicts == ["violated", "holds", "violated", "violated", "unknown"]
    witness = outcomes["runs"].witness
    assert witness is not None
    assert witness.states == ((0,), (2,), (4,), (6,))
    assert witness.labels() == ["up()"] * 3


def test_the_initial_state_counts() -> None:
    m = counter()
    m.always("started", m.variable("n")[()] > 0, "the counter has started")
    (outcome,) = bounded(m.given(), depth=0)
    assert outcome.verdict == "violated"
    assert outcome.depth == 0


def test_a_model_error_is_raised_with_its_path() -> None:
    m = counter(step=7, top=20)
    m.always("any", m.variable("n")[()] >= 0, "always true")
    assert bounded(m.given(), depth=2)[0].verdict == "unknown"
    with pytest.raises(EvaluationError, match=r"^n becomes 21 by up\(\), outside Int\(0, 20\), after 2 steps, in state n=14$"):
        bounded(m.given(), depth=3)


def test_guard_without_value_is_an_error_only_if_evaluated() -> None:
    def cart(first: bool) -> Instance:
        m = Model("cart")
        Node = m.index("Node", 2)
        goal = m.var("goal", Maybe(Node), init=None)
        at = m.var("at", Node, init=0)

        @m.action()
        def arrive(a):
            """The cart is where it should be."""
            if first:
                a.guard("has goal", goal.is_some, "the cart has a goal")
            a.guard("there", goal.get == at, "the cart is at its goal")
            a.set(goal, None)

        m.always("any", at <= 1, "always true")
        return m.given()

    assert bounded(cart(True), depth=2)[0].verdict == "unknown"
    assert induction(cart(True), cart(True).model.property("any")).verdict == "holds"
    with pytest.raises(
        EvaluationError, match=r"^goal is None where its element is asked, in arrive\(\), after 0 steps, in state goal=None, at=0$"
    ):
        bounded(cart(False), depth=2)
    faulty = cart(False)
    assert induction(faulty, faulty.model.property("any")).details["failed"] == "fault"


def test_a_property_without_value_is_raised() -> None:
    m = traffic()
    load = m.variable("load")
    m.always("odd", load[load[0] * 3] >= 0, "reads beyond the array once node 0 is loaded")
    with pytest.raises(EvaluationError, match=r"index 3 is outside Node.*, in property odd, after 1 step, in state "):
        bounded(m.given(), depth=3)


def test_limits_and_interrupts_keep_found_verdicts() -> None:
    instance = routing.model(**routing.SCOPES["small"]).given()
    (late,) = bounded(instance, [instance.model.property("append")], depth=4, limits=Limits(seconds=0))
    assert (late.verdict, late.reason) == ("unknown", "time")
    proof = induction(instance, instance.model.property("append"), limits=Limits(seconds=0))
    assert (proof.verdict, proof.reason) == ("unknown", "time")

    def stop(progress: Progress) -> None:
        if progress.depth == 6:
            raise KeyboardInterrupt

    append, skew = bounded(instance, [instance.model.property(i) for i in ("append", "skew")], depth=9, report=stop)
    assert (append.verdict, append.reason, append.depth) == ("unknown", "interrupted", 6)
    assert skew.verdict == "holds"


def test_other_kinds_and_bad_numbers_are_refused() -> None:
    m = counter()
    later = m.eventually("stops", m.variable("n")[()] == 5, "the counter gets there")
    always = m.always("low", m.variable("n")[()] <= 5, "the counter stays low")
    with pytest.raises(RocketproofError, match="bounded checking of stops: it is of kind eventually"):
        bounded(m.given(), [later], depth=3)
    with pytest.raises(RocketproofError, match="induction for stops: it is of kind eventually"):
        induction(m.given(), later)
    with pytest.raises(RocketproofError, match="k is at least 1"):
        induction(m.given(), always, k=0)
    with pytest.raises(RocketproofError, match="a depth is at least 0"):
        bounded(m.given(), depth=-1)


def test_induction_proves_what_is_inductive() -> None:
    m = counter()
    claim = m.always("low", m.variable("n")[()] <= 5, "the counter stays low")
    outcome = induction(m.given(), claim)
    assert (outcome.verdict, outcome.reason) == ("holds", "induction k=1")


def test_false_property_has_a_witness_within_the_base() -> None:
    m = counter()
    claim = m.always("small", m.variable("n")[()] <= 2, "the counter stays small")
    near = induction(m.given(), claim, k=2)
    assert near.verdict == "not inductive"
    far = induction(m.given(), claim, k=4)
    assert far.verdict == "violated"
    assert far.witness is not None
    assert len(far.witness) == 3


def test_a_counterexample_to_induction_starts_in_an_unreachable_state() -> None:
    m = counter(step=2)
    n = m.variable("n")[()]
    claim = m.always("not five", n != 5, "the counter is even")
    for k in (1, 2):
        outcome = induction(m.given(), claim, k=k)
        assert outcome.verdict == "not inductive"
        assert outcome.details["failed"] == "not five"
        assert outcome.witness is not None
        assert outcome.witness.states == ((1,), (3,), (5,))[-k - 1 :]
        assert "may be unreachable" in outcome.witness.note
    # No state precedes 1, and a path of three states before 5 does not exist.
    assert induction(m.given(), claim, k=3).verdict == "holds"


@pytest.mark.parametrize(
    ("table", "needed"), [((1, 2, 0, 4, 5, 5), 3), ((1, 2, 0, 5, 5, 5), 2), ((1, 2, 0, 3, 5, 5), 2), ((1, 2, 0, 3, 4, 5), 1)]
)
def test_how_many_states_must_be_assumed(table: tuple[int, ...], needed: int) -> None:
    """A token hops from i to table[i] and stays among 0, 1, 2. The longest path from elsewhere to 5 determines the needed k."""
    ring = Model("ring")
    at = ring.var("at", Int(0, 5), init=0)

    @ring.action(i=Int(0, 5))
    def hop(a, i):
        """The token hops."""
        a.guard("here", at == i, "the token is here")
        to = table[5]
        for k in range(5):
            to = ite(i == k, table[k], to)
        a.set(at, to)

    claim = ring.always("never five", at != 5, "the token never gets to five")
    for k in range(1, 4):
        expected = "holds" if k >= needed else "not inductive"
        assert induction(ring.given(), claim, k=k).verdict == expected, f"k={k}"
    assert induction(ring.given(), claim, k=1, lemmas=[at <= 2]).verdict == "holds"


def test_loop_of_unreachable_states_does_not_defeat_induction() -> None:
    m = Model("loop")
    at = m.var("at", Int(0, 3), init=0)

    @m.action(to=Int(1, 3))
    def leave(a, to):
        """From 1 the token goes anywhere but to 0."""
        a.guard("at one", at == 1, "the token is at one")
        a.set(at, to)

    claim = m.always("never three", at != 3, "the token never gets to three")
    assert induction(m.given(), claim, k=1).verdict == "not inductive"
    assert induction(m.given(), claim, k=2).verdict == "holds"


def test_step_properties_are_proven_with_lemmas() -> None:
    m = counter(step=2)
    n = m.variable("n")[()]
    claim = m.step("to even", after(n) != 5, "no step leads to five")
    assert induction(m.given(), claim).verdict == "not inductive"
    assert induction(m.given(), claim, lemmas=[(n & 1) == 0]).verdict == "holds"
    bad = m.step("from even", n != 4, "no step starts at four")
    assert induction(m.given(), bad, k=4).verdict == "violated"


def test_a_false_lemma_proves_nothing() -> None:
    m = counter(step=2)
    n = m.variable("n")[()]
    claim = m.always("not five", n != 5, "the counter is even")
    later = induction(m.given(), claim, k=2, lemmas=[n < 2])
    assert (later.verdict, later.reason) == ("unknown", "lemma 1 is false after 1 steps")
    at_once = induction(m.given(), claim, lemmas=[n < 4])
    assert at_once.verdict == "not inductive"
    assert at_once.details["failed"] == "lemma 1"


def test_a_value_outside_its_type_is_no_proof() -> None:
    m = counter(step=7, top=20)
    claim = m.always("in type", m.variable("n")[()] <= 20, "holds in every state there is")
    outcome = induction(m.given(), claim)
    assert outcome.verdict == "not inductive"
    assert outcome.details["failed"] == "fault"
    assert "n becomes" in outcome.reason


def test_the_append_invariant_of_routing_needs_its_strengthening() -> None:
    m = routing.model(**routing.SCOPES["small"])
    created, queues, offset = m.variable("created"), m.variable("queues"), m.variable("offset")
    sending, sent, fallback = m.variable("sending"), m.variable("sent"), m.variable("fallback")
    (Broker,), (Queue,), (Producer,) = created.over, offset.over, fallback.over
    in_flight = forall(Producer, lambda p: implies(sending[p].is_some, sent[p] < 2))
    counts = forall(Broker, lambda b: implies(created[b], queues[b] == 4))
    empty = forall(Queue, lambda q: implies(~created[owner(q)], offset[q] == 0))
    claim = m.property("append")
    assert induction(m.given(), claim, lemmas=[in_flight]).verdict == "not inductive"
    proof = induction(m.given(), claim, lemmas=[in_flight, counts, empty])
    assert (proof.verdict, proof.reason) == ("holds", "induction k=1")
    # conserve is inductive once nothing can leave its type
    assert induction(m.given(), m.property("conserve"), lemmas=[in_flight]).verdict == "holds"


def log(step: int = 1, *, forgetful: bool = False) -> Model:
    """Build an append table: a queue offset, and a count of unread records; with `forgetful` it can restart at 0."""
    m = Model("log")
    Queue = m.index("Queue", 2)
    offset = m.var("offset", Int(0, 3), over=Queue, init=0)
    records = m.var("records", Int(0, 3), over=Queue, init=0)

    @m.action(q=Queue)
    def append(a, q):
        """A record is appended to the queue."""
        a.bound("room", offset[q] < 2, "the scope has room")
        a.set(offset[q], offset[q] + step)
        a.set(records[q], records[q] + 1)

    if forgetful:

        @m.action(q=Queue)
        def forget(a, q):
            """The queue's offset is lost."""
            a.set(offset[q], 0)

    m.always("dense", forall(Queue, lambda q: offset[q] == records[q]), "offsets count records")
    m.step("monotone", all_of(after(offset[q]) >= offset[q] for q in Queue), "offsets never go back")
    return m


def test_widening_proves_offsets_without_bound() -> None:
    counters = {"offset": Int(0, 2**62 - 2), "records": Int(0, 2**62 - 2)}
    wide = widened(log(), counters)
    bounds = list(wide.named("append").guards)
    assert [(g.name, g.bound) for g in bounds] == [(f"{name} up to {2**62 - 2}", True) for name in counters]
    assert bounds[0].sentence == "offset is taken up to 4,611,686,018,427,387,902 only"
    assert [v.type.hi for v in wide.variables] == [2**62 - 2] * 2
    for id_ in ("dense", "monotone"):
        assert induction(wide.given(), wide.property(id_)).verdict == "holds", id_
    mutant = widened(log(step=2), counters)
    assert induction(mutant.given(), mutant.property("dense")).details["failed"] == "dense"
    (witness,) = bounded(mutant.given(), [mutant.property("dense")], depth=3)
    assert witness.verdict == "violated"
    back = widened(log(forgetful=True), counters)
    for id_ in ("dense", "monotone"):
        outcome = induction(back.given(), back.property(id_))
        assert outcome.verdict == "not inductive"
        assert outcome.details["failed"] == id_


@pytest.mark.slow
@pytest.mark.parametrize("end", [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**61])
@pytest.mark.parametrize("low", [0, -(2**34)])
def test_leaving_a_type_is_an_error_in_every_engine(low: int, end: int) -> None:
    m = Model("counter")
    x = m.var("x", Int(low, end), init=0)

    @m.action()
    def step(a):
        """It grows, by an eighth of the whole."""
        a.set(x, x + end // 8)

    claim = m.always("positive", x >= 0, "it does not turn around")
    instance = m.given()
    steps = end // (end // 8)
    said = rf"x becomes {(steps + 1) * (end // 8)} by step\(\), outside Int\({low}, {end}\)"
    with pytest.raises(EvaluationError, match=said):
        bounded(instance, depth=steps + 1)
    assert bounded(instance, depth=steps)[0].verdict == "unknown"
    with pytest.raises(EvaluationError, match=said):
        search.explore(instance)
    unsafe = induction(instance, claim)
    assert (unsafe.verdict, unsafe.details["failed"]) == ("not inductive", "fault")


def test_widening_leaves_the_old_model_and_can_keep_bounds() -> None:
    model = log()
    wide = widened(model, {"offset": Int(0, 100)}, drop_bounds=False)
    assert [g.name for g in wide.named("append").guards] == ["room", "offset up to 100"]
    assert model.variable("offset").type == Int(0, 3)
    assert wide.variable("records") is model.variable("records")
    # The narrow model's limit is no bound but an error of the model, as everywhere.
    dropped = widened(model, {"offset": Int(0, 100)})
    assert [g.name for g in dropped.named("append").guards] == ["offset up to 100"]
    outcome = induction(dropped.given(), dropped.property("dense"))
    assert outcome.details["failed"] == "fault"
    assert "records[0] becomes 4" in outcome.reason or "records becomes 4" in outcome.reason


def test_widening_refuses_types_that_are_not_wider() -> None:
    with pytest.raises(ModelError, match="give an interval that contains the old one"):
        widened(log(), {"offset": Int(1, 9)})
    with pytest.raises(ModelError, match="only Int variables"):
        widened(routing.model(), {"created": Int(0, 9)})
    with pytest.raises(ModelError, match="no variable 'offsets'"):
        widened(log(), {"offsets": Int(0, 9)})
