"""Simulation: known probabilities, the same walks in kernel and interpreter, weights, and determinism by seed."""

import math
from statistics import NormalDist

import pytest

import routing
from nonempty import nonempty
from rocketproof_model import Int, Model, after
from rocketproof_model.errors import EvaluationError, ModelError
from rocketproof_model.explicit.chance import Generator, choose, interval
from rocketproof_model.interpreter import holds, initial, refusing, successors
from rocketproof_model.result import INTERRUPTED, TIME, Limits, Watch
from rocketproof_model.search import explore
from rocketproof_model.simulate import _Walks, check, estimate, walk


def gambler(up=0.6, down=0.4, start=3, top=6):
    """Build a walk on 0..top with the given weights that stops at both ends."""
    m = Model("gambler")
    at = m.var("at", Int(0, top), init=start)

    @m.action(weight=up)
    def win(a):
        """One more."""
        a.guard("in play", (0 < at) & (at < top), "the game is on")
        a.set(at, at + 1)

    @m.action(weight=down)
    def lose(a):
        """One less."""
        a.guard("in play", (0 < at) & (at < top), "the game is on")
        a.set(at, at - 1)

    m.reachable("rich", at == top, "the top is reached")
    m.always("not poor", at > 0, "the bottom is never reached")
    m.always("bounded", at <= top, "the top is never passed")
    m.step("small steps", (after(at) <= at + 1) & (after(at) + 1 >= at), "a step changes the sum by one")
    m.step("never down", after(at) >= at, "the sum never falls")
    m.deadlock_free("endless", "the game never ends", unless=at == 0)
    return m


def test_the_generator_is_splitmix64():
    generator = Generator(1234567)  # the published outputs for this seed
    for expected in (6457827717110365317, 3203168211198807973, 9817491932198370423):
        assert generator.uniform() == (expected >> 11) * 2.0**-53


def test_a_choice_is_proportional_and_skips_weight_zero():
    marks = [(k + 0.5) / 1000 for k in range(1000)]
    chosen = [choose([1.0, 0.0, 3.0], u) for u in marks]
    assert (chosen.count(0), chosen.count(1), chosen.count(2)) == (250, 0, 750)
    equal = [choose([0.0, 0.0], u) for u in marks]
    assert (equal.count(0), equal.count(1)) == (500, 500)
    assert choose([0.0, 1.0, 0.0], math.nextafter(1.0, 0.0)) == 1


@pytest.mark.parametrize(("count", "of"), [(1, 10), (50, 100), (999, 1000)])
def test_wilson_bounds_are_where_the_normal_test_just_rejects(count, of):
    z = NormalDist().inv_cdf(0.995)
    for bound in nonempty(interval(count, of, 0.99)):
        assert abs(count / of - bound) == pytest.approx(z * math.sqrt(bound * (1 - bound) / of))


def test_never_and_always_seen_have_exact_bounds():
    low, high = interval(0, 300, 0.99)
    assert low == 0.0
    assert (1 - high) ** 300 == pytest.approx(0.01)
    low, high = interval(300, 300, 0.99)
    assert high == 1.0
    assert low**300 == pytest.approx(0.01)
    assert interval(0, 0, 0.99) == (0.0, 1.0)


@pytest.mark.parametrize(("up", "down"), [(0.6, 0.4), (1.0, 1.0), (3.0, 5.0)])
def test_biased_walk_reaches_the_top_with_its_probability(up, down):
    m = gambler(up, down)
    found = estimate(m.given(), [m.property("rich"), m.property("not poor")], runs=20_000, steps=2_000, seed=7)
    ratio = down / up
    exact = 0.5 if ratio == 1 else (1 - ratio**3) / (1 - ratio**6)
    rich, poor = found.tallies
    assert rich.interval[0] < exact < rich.interval[1], f"{rich.interval} does not contain {exact}"
    assert poor.interval[0] < 1 - exact < poor.interval[1]
    assert rich.interval[1] - rich.interval[0] < 0.02
    assert rich.count == rich.last, "a walk stays at the top"
    assert rich.count + poor.count == found.runs == found.deadlocks


def test_passed_state_counts_for_some_but_not_for_last():
    m = gambler()
    at = m.variable("at")[()]
    found = estimate(m.given(), {"four": at == 4}, runs=500, steps=2_000, seed=1)
    four = found.tally("four")
    assert four.count > 300
    assert four.last == 0
    with pytest.raises(ModelError, match="nothing called 'five'"):
        found.tally("five")


def test_until_ends_a_run():
    m = gambler()
    at = m.variable("at")[()]
    found = estimate(m.given(), {"two": at == 2, "one": at == 1}, runs=500, steps=2_000, seed=1, until=at == 2)
    assert found.tally("one").count == 0
    assert found.tally("two").count == found.tally("two").last == found.stopped
    assert found.stopped + found.deadlocks == 500


def rows(walks):
    return [[part.tolist() for batch in column for part in batch] for column in (walks.seen, walks.last, walks.length, walks.ended)]


def test_batches_change_nothing():
    m = gambler()
    claims = list(m.properties)
    one, many = (_Walks(m.given(), claims, None, 11, 50) for _ in range(2))
    one.some(40, Watch(Limits()))
    for size in (1, 2, 30, 7):
        many.some(size, Watch(Limits()))
    assert rows(one) == rows(many)
    assert one.taken.tolist() == many.taken.tolist()
    assert one.cover.tolist() == many.cover.tolist()


def test_a_seed_fixes_the_result_and_another_changes_it():
    instance = gambler().given()

    def result(seed):
        found = estimate(instance, instance.model.properties, runs=300, steps=40, seed=seed)
        return [(t.count, t.last, t.run, t.witness and t.witness.moves) for t in found.tallies]

    first, again, other = result(3), result(3), result(4)
    assert first == again
    assert first != other


def test_runs_and_coverage_equal_those_of_the_interpreter():
    instance = routing.model().given()
    model = instance.model
    skew = model.property("skew")
    walks = _Walks(instance, [skew], None, 5, 25)
    walks.some(60, Watch(Limits()))
    taken = dict.fromkeys((a.name for a in model.actions), 0)
    guards = {(a.name, g.name): [False, False] for a in model.actions for g in a.guards}
    for run in range(60):
        path = list(walk(instance, seed=5, run=run, steps=25))
        states = [state for _, state in path]
        for move, _ in path[1:]:
            taken[move.action] += 1
        for state in states[:25]:
            for action in model.actions:
                for args in action.instances:
                    refused = refusing(instance, state, action, args)
                    for guard in action.guards:
                        guards[action.name, guard.name][guard is refused] = True
                        if guard is refused:
                            break
        assert walks.length[0][run] == len(path) - 1
        assert (walks.ended[0][run] == 1) == (len(path) <= 25 and not list(successors(instance, states[-1])))
        assert walks.seen[0][run, 0] == any(holds(instance, skew.formula, s) for s in states)
        assert walks.last[0][run, 0] == holds(instance, skew.formula, states[-1])
    coverage = walks.kernel.coverage(walks.taken, walks.cover)
    assert coverage.taken == taken
    assert coverage.guards == {key: tuple(sides) for key, sides in guards.items()}


def test_weights_are_shares_and_zero_is_a_last_resort():
    m = Model("weights")
    n = m.var("n", Int(0, 40), init=0)
    idle = m.var("idle", Int(0, 1), init=0)

    @m.action(weight=3)
    def often(a):
        """Weight three."""
        a.guard("room", n < 30, "there is room")
        a.set(n, n + 1)

    @m.action(weight=1)
    def seldom(a):
        """Once."""
        a.guard("room", n < 30, "there is room")
        a.set(n, n + 1)

    @m.action(weight=0)
    def last(a):
        """Only at the end."""
        a.guard("not idle", idle == 0, "not yet idle")
        a.set(idle, 1)

    m.always("patient", (idle == 0) | (n == 30), "idle only once nothing else is left")
    found = estimate(m.given(), m.properties, runs=400, steps=100, seed=2)
    assert found.tally("patient").count == 0
    assert found.coverage.taken["last"] == found.deadlocks == 400
    low, high = interval(found.coverage.taken["often"], 400 * 30, 0.999)
    assert low < 0.75 < high


def test_outcomes_state_only_observed_facts():
    m = gambler()
    outcomes = {o.property.id: o for o in check(m.given(), runs=200, steps=100, seed=9)}
    verdicts = {key: (o.verdict, o.reason) for key, o in outcomes.items()}
    assert verdicts == {
        "rich": ("holds", ""), "not poor": ("violated", ""), "bounded": ("unknown", "bound reached"),
        "small steps": ("unknown", "bound reached"), "never down": ("violated", ""), "endless": ("violated", ""),
    }  # fmt: skip
    for outcome in outcomes.values():
        assert outcome.engine == "simulate"
        assert outcome.details["runs"] == 200
        low, high = outcome.details["interval"]
        assert low <= outcome.details["count"] / 200 <= high
    fall = outcomes["never down"].witness
    assert fall.moves[-1].action == "lose"
    assert all(move.action == "win" for move in fall.moves[:-1])
    assert outcomes["endless"].witness.states[-1] == (6,)
    for outcome in outcomes.values():
        if outcome.witness is None:
            continue
        states = outcome.witness.states
        assert states[0] == initial(m.given())
        for before, move, behind in zip(states, outcome.witness.moves, states[1:], strict=False):
            assert behind in [s.state for s in successors(m.given(), before) if s.action.name == move.action]


def test_more_claims_than_bits_of_a_mask():
    m = gambler()
    at = m.variable("at")[()]
    found = estimate(m.given(), {f"{k}": at == k % 7 for k in range(150)}, runs=50, steps=200, seed=1, until=at == 6)
    counts = [t.count for t in found.tallies]
    assert counts == [counts[k % 7] for k in range(150)]
    assert counts[3] == 50
    assert counts[6] == found.stopped > 0


def test_value_outside_its_type_is_an_error():
    m = Model("leak")
    n = m.var("n", Int(0, 5), init=0)

    @m.action()
    def grow(a):
        """Grow without a guard."""
        a.set(n, n + 1)

    with pytest.raises(EvaluationError, match="n becomes 6"):
        estimate(m.given(), {"full": n == 5}, runs=10, steps=10, seed=0)


def test_limits_and_interrupts_keep_completed_runs():
    m = gambler()
    late = estimate(m.given(), m.properties, runs=10, steps=10, seed=0, limits=Limits(seconds=0.0))
    assert (late.runs, late.reason, late.tallies[0].interval) == (0, TIME, (0.0, 1.0))

    def stop(progress):
        raise KeyboardInterrupt

    cut = estimate(m.given(), m.properties, runs=100_000, steps=10, seed=0, report=stop)
    assert 0 < cut.runs < 100_000
    assert cut.reason == INTERRUPTED
    outcomes = check(m.given(), [m.property("bounded")], runs=100_000, steps=10, report=stop)
    assert [(o.verdict, o.reason) for o in outcomes] == [("unknown", INTERRUPTED)]


def test_properties_that_walks_cannot_judge_are_refused():
    m = gambler()
    m.eventually("ends", m.variable("at")[()] == 0, "it ends at the bottom")
    with pytest.raises(ModelError, match="ends is of kind eventually"):
        check(m.given(), m.properties)
    with pytest.raises(ModelError, match="at least one run"):
        estimate(m.given(), {}, runs=0, steps=1, seed=0)


def countdown(top=3):
    """Build a countdown to 0; the formula of the permitted end has a value only at 0."""
    m = Model("countdown")
    marks = m.var("marks", Int(0, 1), over=Int(0, 0), init=1)
    at = m.var("at", Int(0, top), init=top)

    @m.action()
    def down(a):
        """One less."""
        a.guard("more", at > 0, "there is more")
        a.set(at, at - 1)

    return m, marks, at


@pytest.mark.parametrize(("mark", "verdict"), [(1, "unknown"), (0, "violated")])
def test_a_permitted_end_needs_no_value_before_the_end(mark, verdict):
    m, marks, at = countdown()
    m.deadlock_free("ends well", "it ends at a mark", unless=marks[at] == mark)  # no element but 0
    instance = m.given()
    (simulated,) = check(instance, runs=5, steps=10)
    (searched,) = explore(instance).outcomes
    assert simulated.verdict == verdict
    assert searched.verdict == ("violated" if verdict == "violated" else "holds")
    if verdict == "violated":
        assert len(simulated.witness.moves) == 3 and simulated.details["count"] == 5


def test_permitted_end_without_a_value_is_a_model_error():
    m, _, at = countdown()
    later = m.var("later", Int(0, 1), over=Int(1, 3), init=1)
    m.deadlock_free("ends well", "it ends at a mark", unless=later[at] == 1)  # no element 0
    with pytest.raises(EvaluationError, match="index 0 is outside"):
        check(m.given(), runs=5, steps=10)
