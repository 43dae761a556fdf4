"""The search finds the interpreter's states and the published counts, and the same witness for any workers and layout."""

import signal
import threading
from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import routing
from nonempty import nonempty
from rocketproof_model import Body, Bool, EvaluationError, Expr, Instance, Int, Model, after, interpreter, ite, search
from rocketproof_model.errors import LimitReached
from rocketproof_model.explicit import account, loops, pool, task
from rocketproof_model.explicit.account import Account
from rocketproof_model.explicit.exploration import Exploration
from rocketproof_model.result import INTERRUPTED, MEMORY, STATES, TIME, Limits, Progress
from rocketproof_model.search import Tuning, explore
from rocketproof_model.symbolic import bounded

SMALL = Tuning(unroll=1, word_bits=10, homes=8, block=2)
TUNINGS = {"usual": Tuning(), "loops": Tuning(unroll=1), "wide": Tuning(word_bits=10), "growing": SMALL}


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start threads for the smallest level."""
    monkeypatch.setattr(pool, "_ALONE", 0)


def ring(size: int = 4, broken: bool = False) -> Model:
    """Build a token ring; nodes work while they hold the token; with `broken` it can be doubled once."""
    m = Model("ring")
    node = m.index("Node", size)
    token = m.var("token", Bool, over=node, init=lambda n: n == 0)
    work = m.var("work", Int(0, 2), over=node, init=0)
    spare = m.var("spare", Bool, init=broken)

    @m.action(n=node)
    def pass_on(a, n):  # type: ignore[no-untyped-def]
        """The token moves on, unless the neighbour has one."""
        following = ite_next(n, size)
        a.guard("holds", token[n], "the node has the token")
        a.guard("free", ~token[following], "the neighbour has none")
        for k in node:
            a.set(token[k], (k == following) | (token[k] & (k != n)))

    @m.action(n=node)
    def labour(a, n):  # type: ignore[no-untyped-def]
        """A node works while it holds the token."""
        a.guard("holds", token[n], "the node has the token")
        a.bound("left", work[n] < 2, "there is work left")
        a.set(work[n], work[n] + 1)

    @m.action(n=node)
    def copy(a, n):  # type: ignore[no-untyped-def]
        """A second token is made."""
        a.guard("spare", spare, "there is a spare token")
        a.guard("none", ~token[n], "the node has none")
        a.set(token[n], True)
        a.set(spare, False)

    from rocketproof_model import count

    m.always("one", count(node, lambda n: token[n]) <= 1, "at most one token")
    m.reachable("all worked", work[size - 1] == 2, "the last node can finish")
    m.reachable("never", work[0] + work[1] > 4, "this cannot be")
    m.step("grows", after(work[1]) <= work[1], "node 1 does not work")
    m.deadlock_free("alive", "something can always happen")
    return m


def ite_next(n, size):  # type: ignore[no-untyped-def]
    from rocketproof_model import ite

    return ite(n == size - 1, 0, n + 1)


def counter(top: int = 6) -> Model:
    """Build a model that counts up by one or two and stops."""
    m = Model("counter")
    x = m.var("x", Int(0, top), init=0)

    for by in (1, 2):

        @m.action(name=f"add{by}")
        def add(a, by=by):  # type: ignore[no-untyped-def]
            """Count."""
            a.guard("room", x + by <= top, "it fits")
            a.set(x, x + by)

    m.deadlock_free("goes on", "it never stops")
    m.deadlock_free("stops at top", "it stops at the top only", unless=x == top)
    m.always("below", x < top, "never full")
    m.step("slow", after(x) - x <= 1, "one at a time")
    return m


class Plain:
    """The interpreter's breadth-first search."""

    def __init__(self, instance: Instance) -> None:
        start = interpreter.initial(instance)
        self.depth = {start: 0}
        self.transitions, self.deadlocks = 1, 0
        queue = deque([start])
        self.steps = []
        while queue:
            state = queue.popleft()
            following = list(interpreter.successors(instance, state))
            self.transitions += len(following)
            self.deadlocks += not following
            for step in following:
                self.steps.append((state, step))
                if step.state not in self.depth:
                    self.depth[step.state] = self.depth[state] + 1
                    queue.append(step.state)

    def first(self, instance: Instance, claim_id: str) -> int | None:
        """Return the length of the shortest witness."""
        claim = instance.model.property(claim_id)
        if claim.kind == "step":
            found = [self.depth[s] + 1 for s, step in self.steps if not interpreter.holds(instance, claim.formula, s, step.state)]
        elif claim.kind == "deadlock_free":
            ends = self.depth.keys() - {s for s, _ in self.steps}
            found = [self.depth[s] for s in ends if not interpreter.holds(instance, claim.formula, s)]
        else:
            wanted = claim.kind == "reachable"
            found = [d for s, d in self.depth.items() if interpreter.holds(instance, claim.formula, s) == wanted]
        return min(found, default=None)


def summary(found: Exploration) -> object:
    """Return everything that must not depend on workers."""
    outcomes = [(o.property.id, o.verdict, o.reason, o.details, o.witness and (o.witness.moves, o.witness.states)) for o in found.outcomes]
    return found.states, found.transitions, found.depth, found.deadlocks, found.coverage, outcomes


def replayed(found: Exploration) -> None:
    """Assert that each witness is a path of the interpreter to a state (or step) that decides its property."""
    for outcome in found.outcomes:
        witness, claim = outcome.witness, outcome.property
        if witness is None:
            continue
        instance = witness.instance
        assert witness.states[0] == interpreter.initial(instance)
        for before, move, state in zip(witness.states, witness.moves, witness.states[1:], strict=False):
            action = instance.model.named(move.action)
            assert interpreter.refusing(instance, before, action, move.args) is None
            assert interpreter.effect(instance, before, action, move.args) == state
        if claim.kind == "step":
            assert not interpreter.holds(instance, claim.formula, *witness.states[-2:])
        else:
            assert interpreter.holds(instance, claim.formula, witness.states[-1]) == (claim.kind == "reachable")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("checked", [True, False])
def test_routing_small_has_the_known_counts(workers: int, checked: bool) -> None:
    exploration = explore(routing.model(**routing.SCOPES["small"]).given(), workers=workers, checked=checked)
    assert (exploration.states, exploration.transitions, exploration.depth) == (326684, 1506411, 17)
    assert exploration.finished and not exploration.reason
    assert exploration.outcome("skew").details["satisfying"] == 4374
    assert {o.property.id: o.verdict for o in exploration.outcomes} == dict.fromkeys(("append", "no inherit", "conserve", "skew"), "holds")
    witness = exploration.outcome("skew").witness
    assert witness is not None and len(witness) == 6
    replayed(exploration)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("tuning", TUNINGS)
@pytest.mark.parametrize("model", [ring(), ring(3, True), counter()], ids=["ring", "broken ring", "counter"])
def test_all_workers_and_forms_agree_with_the_interpreter(model: Model, tuning: str) -> None:
    instance = model.given()
    plain = Plain(instance)
    summaries = []
    for workers in (1, 2, 3):
        exploration = explore(instance, workers=workers, tuning=TUNINGS[tuning])
        assert (exploration.states, exploration.transitions, exploration.deadlocks) == (
            len(plain.depth),
            plain.transitions,
            plain.deadlocks,
        )
        assert exploration.depth == max(plain.depth.values()) + 1
        replayed(exploration)
        for outcome in exploration.outcomes:
            shortest = plain.first(instance, outcome.property.id)
            assert (outcome.witness and len(outcome.witness)) == shortest, outcome.property.id
            decided = "holds" if outcome.property.kind == "reachable" else "violated"
            other = "violated" if outcome.property.kind == "reachable" else "holds"
            assert outcome.verdict == (other if shortest is None else decided), outcome.property.id
        summaries.append(summary(exploration))
    assert summaries[0] == summaries[1] == summaries[2]


def test_coverage_names_actions_that_never_happened() -> None:
    exploration = explore(ring().given())
    assert exploration.coverage.never() == [("copy", "spare")]
    assert exploration.coverage.taken["copy"] == 0
    assert exploration.coverage.guards["copy", "none"] == (False, False)
    assert sum(exploration.coverage.taken.values()) == exploration.transitions - 1


def test_the_table_grows_without_losing_states() -> None:
    model = routing.model(B=2, P=1, M=2, K=2, C=1)
    usual, growing = explore(model.given()), explore(model.given(), tuning=SMALL, workers=2)
    assert usual.states > 1000
    assert (usual.states, usual.transitions, usual.depth) == (growing.states, growing.transitions, growing.depth)


def test_constants_need_no_other_kernel() -> None:
    m = Model("limit")
    top = m.constant("top", Int(0, 9), 3)
    x = m.var("x", Int(0, 9), init=0)

    @m.action()
    def climb(a):  # type: ignore[no-untyped-def]
        """One more."""
        a.guard("below", x < top, "there is room")
        a.set(x, x + 1)

    one, other = explore(m.given()), explore(m.given(top=9))
    assert (one.states, other.states) == (4, 10)
    assert one.kernel.succ == other.kernel.succ


def test_only_selected_properties_are_decided() -> None:
    model = ring()
    exploration = explore(model.given(), [model.property("one")])
    assert [o.property.id for o in exploration.outcomes] == ["one"]
    assert explore(model.given(), []).outcomes == []
    with pytest.raises(KeyError):
        exploration.outcome("alive")


def test_search_stops_when_enough_is_decided() -> None:
    model, all_ = counter(60), ["slow", "below"]
    exploration = explore(model.given(), [model.property("slow")], enough=bool)
    assert exploration.outcome("slow").verdict == "violated"
    assert (exploration.finished, exploration.reason, exploration.depth) == (False, "decided", 2)
    both = explore(model.given(), list(map(model.property, all_)), enough=lambda decided: sorted(p.id for p in decided) == sorted(all_))
    assert both.outcome("below").verdict == "violated"
    one = explore(model.given(), list(map(model.property, all_)), enough=bool)
    assert {o.property.id: o.verdict for o in one.outcomes} == {"slow": "violated", "below": "unknown"}


@pytest.mark.parametrize("workers", [1, 2])
def test_state_limit_ends_the_search_without_a_verdict(workers: int) -> None:
    model = routing.model(**routing.SCOPES["small"])
    exploration = explore(model.given(), workers=workers, limits=Limits(states=50_000))
    assert not exploration.finished
    assert exploration.reason == STATES
    assert 50_000 < exploration.states < 150_000
    assert (exploration.outcome("append").verdict, exploration.outcome("append").reason) == ("unknown", STATES)
    assert exploration.outcome("skew").verdict == "holds"
    assert exploration.outcome("skew").witness is not None
    with pytest.raises(LimitReached, match=STATES):
        exploration.graph()


def test_sufficient_state_limit_has_no_effect() -> None:
    model = ring()
    whole = explore(model.given())
    assert explore(model.given(), limits=Limits(states=whole.states)).finished
    assert not explore(model.given(), limits=Limits(states=whole.states - 1)).finished


def test_time_and_memory_limits_end_the_search() -> None:
    instance = routing.model(**routing.SCOPES["small"]).given()
    late = explore(instance, limits=Limits(seconds=0.0))
    assert (late.reason, late.outcome("append").verdict) == (TIME, "unknown")
    full = explore(instance, limits=Limits(memory=2_500_000))
    assert (full.reason, full.outcome("append").verdict) == (MEMORY, "unknown")
    assert full.states > 1


@pytest.mark.usefixtures("threads")
def test_interruption_keeps_established_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = routing.model(**routing.SCOPES["small"]).given()
    explore(instance, limits=Limits(states=10))  # compiled
    told: list[Progress] = []
    real = search._Search._report_progress

    def interrupt(self: search._Search) -> None:
        real(self)
        if len(self.sizes) == 9 and not told:
            told.append(Progress("explicit", 9, 0, 0, 0.0))
            signal.raise_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals arrive in the main thread only")
    monkeypatch.setattr(search._Search, "_report_progress", interrupt)
    exploration = explore(instance, workers=2)
    assert told
    assert (exploration.finished, exploration.reason) == (False, INTERRUPTED)
    assert exploration.outcome("append").verdict == "unknown"
    assert exploration.outcome("skew").verdict == "holds"
    replayed(exploration)


def test_memory_is_measured_while_workers_take_from_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    one, real = pool.SearchPool(Account(ring().given(), []), 8, 1, 2), pool._whole
    level = np.zeros(8, dtype=np.int64)
    one.waiting.extend((level, k, k + 1) for k in range(8))

    def taken(part: np.ndarray) -> np.ndarray:
        one.waiting.popleft()
        return real(part)

    before = one.table.bytes
    monkeypatch.setattr(pool, "_whole", taken)
    assert one.bytes() >= before + level.nbytes
    assert not one.waiting


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_REPORT", 0.0)
    told: list[Progress] = []
    exploration = explore(ring().given(), report=told.append)
    assert [p.depth for p in told] == sorted(p.depth for p in told)
    assert told[-1].states == exploration.states
    assert told[0].engine == "explicit"


def overflowing() -> Model:
    m = Model("overflow")
    x = m.var("x", Int(0, 5), init=0)
    m.var("y", Int(0, 5), init=5)

    @m.action(k=m.index("K", 3))
    def climb(a, k):  # type: ignore[no-untyped-def]
        """Too much."""
        a.set(x, x + k)

    return m


@pytest.mark.parametrize("workers", [1, 2])
def test_the_checking_form_names_action_variable_and_state(workers: int) -> None:
    with pytest.raises(EvaluationError, match=r"x becomes 6 by climb\(k=2\), outside Int\(0, 5\), after 2 steps, in state x=4, y=5"):
        explore(overflowing().given(), workers=workers)
    unchecked = explore(overflowing().given(), workers=workers, checked=False)
    assert unchecked.finished, "the unchecked form continues and keeps other variables intact"
    assert {state[1] for state in map(tuple, unchecked.graph().codes().tolist())} == {5}


def test_a_property_without_value_is_named() -> None:
    m = overflowing()
    from rocketproof_model import rem

    x = m.variable("x")[()]
    m = replace(m, actions=[])
    m.always("divides", rem(3, x) == 0, "divides by nothing")
    with pytest.raises(EvaluationError, match=r"remainder by zero, in property divides, after 0 steps, in state x=0"):
        explore(m.given())


@pytest.mark.parametrize("tuning", ["usual", "growing"])
def test_the_graph_is_the_interpreters(tuning: str) -> None:
    instance = ring(3, True).given()
    plain = Plain(instance)
    exploration = explore(instance, workers=2, tuning=TUNINGS[tuning])
    graph = exploration.graph()
    states = [tuple(codes) for codes in graph.codes().tolist()]
    assert states[0] == interpreter.initial(instance)
    assert set(states) == set(plain.depth)
    assert [plain.depth[s] for s in states] == np.repeat(np.arange(len(graph.level) - 1), np.diff(graph.level)).tolist()
    number = {s: k for k, s in enumerate(states)}
    moves = [graph.move(k) for k in range(len(graph.source))]
    edges = [(int(s), int(t), m.action, m.args) for s, t, m in zip(graph.source, graph.target, moves, strict=True)]
    wanted = [(number[s], number[x.state], x.action.name, x.args) for s in states for x in interpreter.successors(instance, s)]
    assert edges == wanted
    for k, state in enumerate(states):
        assert graph.state(k) == state
        assert (graph.source[graph.first[k] : graph.first[k + 1]] == k).all()
    assert len(edges) == graph.first[-1] == exploration.transitions - 1
    assert graph.of(instance.model.named("copy")).sum() == exploration.coverage.taken["copy"]
    assert (explore(instance, tuning=TUNINGS[tuning]).graph().states == graph.states).all()
    with pytest.raises(LimitReached):
        exploration.graph(most=5)


@pytest.mark.slow
def test_graph_can_omit_unchanging_steps() -> None:
    m = Model("walk")
    x = m.var("x", Int(0, 40_000), init=0)

    @m.action(by=Int(0, 2))
    def walk(a: Body, by: Expr) -> None:
        """Go on."""
        a.set(x, ite(x + by > 40_000, 0, x + by))

    exploration = explore(m.given())
    whole, moving = exploration.graph(), exploration.graph(staying=False, workers=2)
    assert (whole.states == moving.states).all()
    kept = np.flatnonzero(whole.source != whole.target)
    assert len(kept) == 2 * 40_001 and len(whole.target) == 3 * 40_001
    for name in ("source", "target", "instance"):
        assert (getattr(whole, name)[kept] == getattr(moving, name)).all(), name
    assert (np.diff(moving.first) == 2).all()


def test_a_model_without_actions_has_one_state() -> None:
    m = Model("still")
    x = m.var("x", Bool, init=True)
    m.always("true", x, "it stays")
    m.deadlock_free("alive", "it moves")
    exploration = explore(m.given())
    assert (exploration.states, exploration.transitions, exploration.depth, exploration.deadlocks) == (1, 1, 1, 1)
    assert [o.verdict for o in exploration.outcomes] == ["holds", "violated"]
    witness = exploration.outcome("alive").witness
    assert witness is not None and witness.states == ((1,),)
    assert exploration.graph().first.tolist() == [0, 0]


def test_arrays_stay_small() -> None:
    exploration = explore(routing.model(**routing.SCOPES["small"]).given(), workers=1)
    assert exploration.bytes_per_state <= 40


def test_a_path_of_no_steps_is_a_witness() -> None:
    model = Model("still")
    x = model.var("x", Int(0, 1), init=0)
    model.reachable("START", x == 0, "the initial state has it")
    witness = explore(Instance(model, {})).outcome("START").witness
    assert witness is not None and len(witness) == 0 and witness


def test_long_witness_creates_no_workers_for_its_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level queries the kernel twice. A new worker for each query took most of the time of a long witness."""
    made = 0

    class Counted(account.Worker):
        def __init__(self, *args: Any) -> None:
            nonlocal made
            made += 1
            super().__init__(*args)

    monkeypatch.setattr(account, "Worker", Counted)
    model = Model("long")
    x = model.var("x", Int(0, 2_000), init=0)

    @model.action()
    def up(a: Any) -> None:
        """It grows."""
        a.guard("below", x < 2_000, "there is room")
        a.set(x, x + 1)

    model.always("LOW", x < 2_000, "x is low")
    witness = explore(Instance(model, {})).outcome("LOW").witness
    assert witness is not None and witness.states == tuple((k,) for k in range(2_001)) and made <= 2


def test_path_is_the_same_in_one_call_and_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves are the first in model order, with and without symmetry."""
    calls = 0

    def successors(*args: Any) -> int:
        nonlocal calls
        calls += 1
        return kernel_successors(*args)

    kernel_successors = loops.successors
    monkeypatch.setattr(loops, "successors", successors)
    found = {}
    for most in (1 << 15, 1):
        monkeypatch.setattr(account, "_MOST", most)
        for symmetry in (False, True):
            outcomes = explore(routing.model(**routing.SCOPES["small"]).given(), symmetry=symmetry).outcomes
            found[most, symmetry] = {o.property.id: (o.witness.moves, o.witness.states) for o in outcomes if o.witness is not None}
    assert found[1 << 15, False] == found[1, False] and found[1 << 15, True] == found[1, True]
    assert max(len(moves) for moves, _ in nonempty(found[1, False].values())) > 2
    assert calls <= 2, "each step of a path called the kernel from Python"


@pytest.mark.parametrize("same", [False, True], ids=["another instance", "the same instance"])
def test_extended_model_is_compiled_again(same: bool) -> None:
    """A wide variable is the first in the words of a state, so all other variables move."""
    model = Model("grows")
    n = model.var("n", Int(0, 2), init=0)

    @model.action()
    def up(a: Body) -> None:
        """One more."""
        a.guard("room", n < 2, "there is room")
        a.set(n, n + 1)

    model.always("small", n < 2, "n is small")
    instance = model.given()
    before = explore(instance).outcomes[0]
    proved = bounded(instance, depth=2)[0]
    model.var("wide", Int(0, 1 << 40), init=4321)
    grown = instance if same else model.given()
    for outcome, last in ((before, (2,)), (proved, (2,)), (explore(grown).outcomes[0], (2, 4321)), (bounded(grown, depth=2)[0], (2, 4321))):
        assert outcome.witness is not None and outcome.witness.states[-1] == last
