"""A time limit ends each engine soon, for any number of action instances."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nonempty import nonempty
from rocketproof_model import Instance, Int, Model, simulate, symbolic
from rocketproof_model.errors import EvaluationError
from rocketproof_model.faults import ModelFault
from rocketproof_model.language import Property
from rocketproof_model.proofs import invariants, spacer
from rocketproof_model.result import INTERRUPTED, TIME, Limits, Outcome, Watch
from rocketproof_model.search import explore
from rocketproof_properties.commands.checks import decide

MANY, SECONDS = 1_000_000, 0.2
Engine = Callable[[Instance, Property, Limits], Outcome]
ENGINES: dict[str, Engine] = {
    "explicit": lambda instance, claim, limits: explore(instance, [claim], limits=limits).outcome(claim.id),
    "bounded": lambda instance, claim, limits: symbolic.bounded(instance, [claim], depth=8, limits=limits)[0],
    "induction": lambda instance, claim, limits: symbolic.induction(instance, claim, limits=limits),
    "spacer": lambda instance, claim, limits: spacer.prove(instance, claim, limits=limits),
    "invariants": lambda instance, claim, limits: invariants.prove(instance, [claim], limits=limits)[0],
    "simulate": lambda instance, claim, limits: simulate.check(instance, [claim], limits=limits)[0],
}


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_time_limit_ends_the_engine(engine: Engine) -> None:
    model = Model("many")
    x = model.var("x", Int(0, MANY - 1), init=0)

    @model.action(k=Int(0, MANY - 1))
    def jump(a: Any, k: Any) -> None:
        """It jumps."""
        a.guard("up", k > x, "it goes up")
        a.set(x, k)

    model.always("LOW", x < MANY, "x is low")
    start = time.process_time()
    found = engine(Instance(model, {}), model.properties[0], Limits(seconds=SECONDS))
    assert (found.verdict, found.reason) == ("unknown", TIME)
    assert time.process_time() - start < SECONDS + 3


@given(limit=st.integers(0, 40), spent=st.integers(1, 30), stop=st.sampled_from([None, TIME, INTERRUPTED]))
def test_replays_end_soon_after_the_limit(limit: int, spent: int, stop: str | None) -> None:
    """Each step of a replay takes a tenth of a second on this clock. A claim without a witness is undecided."""
    model = Model("counter")
    x = model.var("x", Int(0, 9), init=0)

    @model.action()
    def up(a: Any) -> None:
        """It counts."""
        a.guard("room", x < 9, "there is room")
        a.set(x, x + 1)

    for k in range(10):
        model.always(f"BELOW {k}", x < k, "it stays low")
    model.deadlock_free("GOES ON", "it goes on")
    now = spent / 10
    slow = simulate._Walks.replay

    def replay(self: Any, run: int) -> Any:
        nonlocal now
        for step in slow(self, run):
            now += 0.1
            yield step

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Watch, "seconds", property(lambda _: now))
        patched.setattr(simulate._Walks, "replay", replay)
        walks = simulate._Walks(Instance(model, {}), list(model.properties), None, 0, 20)
        walks.some(3, Watch(Limits()))
        found = walks.result(stop or "", 0.99, Watch(Limits(seconds=limit / 10)))
    assert now <= max(limit / 10, spent / 10) + simulate.REPLAY_SECONDS + 0.1 + 1e-6
    for tally in nonempty(found.tallies):
        outcome = simulate.outcome(found, tally)
        assert tally.run == 0
        if outcome.witness is None:
            assert (outcome.verdict, outcome.reason) == ("unknown", stop or TIME)
        else:
            assert (outcome.verdict, outcome.reason) == ("violated", "")


@given(limit=st.none() | st.integers(0, 60), step=st.integers(0, 3), instance=st.integers(0, 3))
def test_replay_of_a_model_error_ends_soon_after_the_limit(limit: int | None, step: int, instance: int) -> None:
    """Each step of the replay, and each action instance evaluated at its end, takes some tenths of a second."""
    model = Model("counter")
    x = model.var("x", Int(0, 9), init=0)

    @model.action(k=Int(1, 10))
    def up(a: Any, k: Any) -> None:
        """It counts by one. The last instance counts beyond the end."""
        a.guard("turn", (k == x + 1) | ((k == 10) & (x == 9)), "it is its turn")
        a.set(x, x + 1)

    now = 0.0
    slow_replay, slow_instances = simulate._Walks.replay, simulate.instances

    def spend(items: Any, tenths: int) -> Any:
        nonlocal now
        for one in items:
            now += tenths / 10
            yield one

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Watch, "seconds", property(lambda _: now))
        patched.setattr(simulate._Walks, "replay", lambda self, run: spend(slow_replay(self, run), step))
        patched.setattr(simulate, "instances", lambda of: spend(slow_instances(of), instance))
        walks = simulate._Walks(Instance(model, {}), [], None, 0, 20)
        with pytest.raises(EvaluationError) as raised:
            walks.some(3, Watch(Limits(seconds=None if limit is None else limit / 10)))
    if limit is None or 10 * step + 10 * instance < limit + 10:
        assert isinstance(raised.value, ModelFault)
        assert len(raised.value.witness) == 9
    elif 10 * step + 9 * instance > limit + 10:  # the tenth instance has the error
        assert "run 0 of seed 0" in str(raised.value) and "allow more time" in str(raised.value)
        assert now <= limit / 10 + simulate.REPLAY_SECONDS + max(step, instance) / 10 + 1e-6


def test_engines_of_a_unit_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(Watch, "seconds", property(lambda self: now - 100.0))
    budget: Any = SimpleNamespace(limits=Limits(seconds=10.0, memory=7))
    unit: Any = SimpleNamespace(tasks=(), paths=())
    work = decide.Work(unit, budget, lambda at: None)
    assert work.limits == Limits(seconds=10.0, memory=7)
    now += 8
    assert work.limits == Limits(seconds=2.0, memory=7)
    now += 8
    assert work.limits == Limits(seconds=0.0, memory=7)
