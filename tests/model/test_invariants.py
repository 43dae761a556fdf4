"""Invariants found by machine, and the certificates of their proofs, which independent methods check."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_model import Bool, Enum, Int, Maybe, Model, after, forall, implies, interpreter, ite, search
from rocketproof_model.errors import RocketproofError
from rocketproof_model.faults import ModelFault
from rocketproof_model.language import Expr, Instance, walk
from rocketproof_model.language.reading import read
from rocketproof_model.proofs import spacer
from rocketproof_model.proofs.certificate import INVARIANT, refusal, smt2
from rocketproof_model.proofs.inductive import FEW
from rocketproof_model.proofs.invariants import Candidates, prove, suggested
from rocketproof_model.result import Limits, Outcome
from rocketproof_model.symbolic import induction

sys.path.insert(0, str(Path(__file__).parents[2] / "model" / "examples"))
import two_phase_commit

SOLVER = Path(sys.executable).parent / "z3"


def answers(text: str) -> list[str]:
    """Return the answer of z3's own program for each obligation; it reads nothing but the text."""
    done = subprocess.run([SOLVER, "-in", "-T:60"], input=text, capture_output=True, text=True, check=False)
    return done.stdout.split()


def terms_of(text: str, instance: Instance) -> list[Expr]:
    lines = [line.removeprefix(INVARIANT) for line in text.splitlines() if line.startswith(INVARIANT)]
    return [read(line, instance.model) for line in lines]


def is_inductive(instance: Instance, invariant: list[Expr]) -> bool:
    """Decide with the interpreter alone, over all states of the variables' types: the initial state is inside, and no step leaves."""

    def inside(state: tuple[int, ...]) -> bool:
        return all(interpreter.holds(instance, term, state) for term in invariant)

    types = [v.type for v in instance.model.variables for _ in v.elements()]
    states = filter(inside, itertools.product(*(t.codes() for t in types)))
    return inside(interpreter.initial(instance)) and all(
        inside(s.state) for state in states for s in interpreter.successors(instance, state)
    )


@pytest.mark.nightly
def test_certificate_of_two_phase_commit_passes_two_independent_checks() -> None:
    instance = two_phase_commit.model(2).given()
    claims = [claim for claim in instance.model.properties if claim.kind in ("always", "step")]
    assert [induction(instance, claim).verdict for claim in claims] == ["not inductive"] * 2
    for claim, outcome in zip(claims, prove(instance, claims), strict=True):
        assert outcome.verdict == "holds", claim.id
        text = smt2(instance, claim, outcome.details["invariants"])
        assert answers(text) == ["unsat"] * 3
        needed = list(outcome.details["invariants"])
        assert refusal(instance, claim, needed) == ""
        assert all(refusal(instance, claim, [*needed[:k], *needed[k + 1 :]]) for k in range(0, len(needed), 5)), "one of them is redundant"
        invariant = terms_of(text, instance)
        assert is_inductive(instance, invariant)
        asked = [instance.model.claim(str(k), "part of the invariant", "always", term) for k, term in enumerate(invariant)]
        assert {o.verdict for o in search.explore(instance, asked).outcomes} == {"holds"}


def test_certificate_without_an_inductive_invariant_is_refused() -> None:
    instance = two_phase_commit.model(2).given()
    claim = instance.model.property("consistent")
    assert answers(smt2(instance, claim)) == ["unsat", "sat", "unsat"]
    assert not is_inductive(instance, terms_of(smt2(instance, claim), instance))
    false = instance.model.claim(
        "false", "nobody prepares", "always", forall(instance.model.variables[0].over[0], lambda r: _working(instance, r))
    )
    assert answers(smt2(instance, false))[1] == "sat"

    assert re.search("leads from .* out of the invariant, to .* is false there", refusal(instance, claim, []))
    prepared = read("0 in seen", instance.model)
    assert "the initial state {" in refusal(instance, claim, [prepared])


@pytest.mark.nightly
def test_spacer_proves_without_hints_and_refutes_with_real_paths() -> None:
    instance = two_phase_commit.model(2).given()
    outcomes = {claim.id: spacer.prove(instance, claim) for claim in instance.model.properties if claim.kind != "leads_to"}
    assert {id_: o.verdict for id_, o in outcomes.items()} == dict.fromkeys(outcomes, "holds")
    for id_ in ("consistent", "final"):
        found = list(outcomes[id_].details["invariants"])
        assert answers(smt2(instance, instance.model.property(id_), found)) == ["unsat"] * 3
    reached = outcomes["all commit"].witness
    assert reached is not None and len(reached) >= 7
    never = instance.model.claim("never", "both decisions at once", "reachable", read("says_commit & says_abort", instance.model))
    refuted = spacer.prove(instance, never)
    assert refuted.verdict == "violated" and refuted.witness is None
    assert refusal(instance, never, refuted.details["invariants"]) == ""
    false = instance.model.claim("false", "it is undecided", "always", read("manager == undecided", instance.model))
    violated = spacer.prove(instance, false)
    assert violated.witness is not None and not interpreter.holds(instance, false.formula, violated.witness.states[-1])


@pytest.mark.parametrize("prover", [spacer.prove, lambda instance, claim: prove(instance, [claim])[0]], ids=["spacer", "invariants"])
def test_proof_keeps_only_the_needed_invariants(prover: Callable[..., Outcome]) -> None:
    """The model has arrays over a Maybe, a Bool and a name. The claim is about a single element; the others only change with it."""
    m = Model("rooms")
    lamp = m.var("lamp", Bool, over=Maybe(Bool), init=False)
    door, key = m.var("door", Bool, over=(Bool, Enum("in", "out")), init=False), m.var("key", Bool, init=False)

    @m.action(x=Maybe(Bool))
    def turn(a: Any, x: Any) -> None:
        """A lamp is lit where a door is open."""
        a.guard("open", door[True, "out"], "the door is open")
        a.set(lamp[x], True)

    @m.action(y=Bool)
    def unlock(a: Any, y: Any) -> None:
        """A door is opened with the key, and its other side with it."""
        a.guard("key", key, "the key is there")
        a.set(door[y, "out"], True)
        a.set(door[y, "in"], True)

    @m.action()
    def find(a: Any) -> None:
        """The key is found."""
        a.set(key, True)

    claim = m.always("lit", ~lamp[None] | key, "without the key it stays dark")
    outcome = prover(m.given(), claim)
    assert outcome.verdict == "holds"
    needed = outcome.details["invariants"]
    assert len(needed) <= FEW
    assert {"door", "key"} <= {e.args[0].name for one in needed for e in walk(one) if e.op == "ref"}
    assert refusal(m.given(), claim, needed) == ""


def test_spacer_finds_model_errors_and_deadlocks() -> None:
    m = Model("counter")
    x = m.var("x", Int(0, 3), init=0)
    room = m.constant("room", Bool, True)

    @m.action()
    def up(a):  # type: ignore[no-untyped-def]
        """One more."""
        a.guard("room", ~room | (x < 3), "there is room")
        a.set(x, x + 1)

    stuck = m.deadlock_free("goes on", "it goes on")
    ends = m.deadlock_free("ends", "it ends full", unless=x == 3)
    assert spacer.prove(m.given(), stuck).verdict == "violated"
    proved = spacer.prove(m.given(), ends)
    assert proved.verdict == "holds"
    assert answers(smt2(m.given(), ends, proved.details["invariants"])) == ["unsat"] * 4
    assert "nothing can happen any more" in refusal(m.given(), stuck, [])
    with pytest.raises(ModelFault, match="x becomes 4"):
        spacer.prove(m.given(room=False), ends)
    assert "is an error of the model" in refusal(m.given(room=False), ends, [])


def _working(instance: Instance, r: Expr) -> Expr:
    working: Expr = instance.model.variable("state")[r] == "working"
    return working


def ticket() -> Model:
    """Build a ticket lock: a process that draws a ticket is served in turn. The numbers are practically unbounded."""
    m = Model("tickets")
    drawn = m.var("drawn", Int(0, 2**40), init=0)
    served = m.var("served", Int(0, 2**40), init=0)
    busy = m.var("busy", Bool, init=False)

    @m.action()
    def draw(a):  # type: ignore[no-untyped-def]
        """Somebody draws a ticket."""
        a.bound("few", drawn < 2**40, "the tickets do not end")
        a.set(drawn, drawn + 1)

    @m.action()
    def serve(a):  # type: ignore[no-untyped-def]
        """The next is served."""
        a.guard("somebody", ~busy & (served < drawn), "somebody waits")
        a.set(busy, True)

    @m.action()
    def leave(a):  # type: ignore[no-untyped-def]
        """The one that was served leaves."""
        a.guard("busy", busy, "somebody is served")
        a.set(busy, False)
        a.set(served, served + 1)

    m.always("waits", implies(busy, served < drawn), "only who has drawn is served")
    m.always("in turn", served <= drawn, "no more are served than have drawn")
    m.step("forward", after(served) >= served, "it goes forward")
    m.always("never", drawn < 3, "few draw")
    return m


@pytest.mark.nightly
def test_invariants_from_few_states_are_proved_for_large_numbers() -> None:
    instance = ticket().given()
    claims = list(instance.model.properties)
    outcomes = {o.property.id: o for o in prove(instance, claims, states=50)}
    assert {id_: o.verdict for id_, o in outcomes.items()} == {
        "waits": "holds",
        "in turn": "holds",
        "forward": "holds",
        "never": "not inductive",
    }
    assert induction(instance, instance.model.property("in turn")).verdict == "not inductive"
    for id_ in ("waits", "in turn", "forward"):
        assert answers(smt2(instance, instance.model.property(id_), outcomes[id_].details["invariants"])) == ["unsat"] * 3
    never = outcomes["never"]
    assert "invariants" not in never.details
    assert never.witness is not None
    assert never.witness.states[-1][0] == 3, "the counterexample to induction is a trace"


def test_an_error_that_no_invariant_excludes_is_no_proof() -> None:
    m = Model("counter")
    x = m.var("x", Int(0, 9), init=0)

    @m.action()
    def turn(a):  # type: ignore[no-untyped-def]
        """Between 0 and 4; above 6 it would leave its type."""
        a.set(x, ite(x < 4, x + 1, ite(x == 4, 0, x + 4)))

    claim = m.always("small", x <= 8, "it is small")
    (outcome,) = prove(m.given(), [claim])
    assert outcome.verdict == "holds"
    assert answers(smt2(m.given(), claim, outcome.details["invariants"])) == ["unsat"] * 3
    assert answers(smt2(m.given(), claim)) == ["unsat", "sat", "sat"]


def test_candidates_hold_in_the_states_that_suggest_them() -> None:
    instance = two_phase_commit.model(2).given()
    exploration = search.explore(instance, [])
    codes = exploration.graph().codes()
    candidates = suggested(instance, codes)
    assert isinstance(candidates, Candidates)
    assert not any(candidates.broken(state).any() for state in codes.tolist())
    unreached = next(s for s in itertools.product(range(4), repeat=2) if s not in {tuple(row[:2]) for row in codes.tolist()})
    state = (*unreached, *codes[0][2:].tolist())
    for k in (int(number) for number in candidates.broken(state).nonzero()[0][:20]):
        assert not interpreter.holds(instance, candidates.term(instance, k), state)


def test_limit_ends_the_proof() -> None:
    instance = two_phase_commit.model().given()
    (outcome,) = prove(instance, [instance.model.property("consistent")], limits=Limits(seconds=0))
    assert (outcome.verdict, outcome.reason) == ("unknown", "time")


def test_other_kinds_are_refused() -> None:
    instance = two_phase_commit.model().given()
    with pytest.raises(RocketproofError, match="induction decides always and step"):
        prove(instance, [instance.model.property("termination")])
