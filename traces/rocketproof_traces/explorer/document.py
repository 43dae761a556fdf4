"""A witness as the document that the page shows: codes, texts, and for each state what can happen there and what refuses the rest.

The document is plain JSON ([its parts](../../docs/explorer-documents.md)). It contains all data about the trace, so that a page needs no
server. For a running explorer, `at` returns the same data for any other state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rocketproof_model import Instance, Property
from rocketproof_model.interpreter import State
from rocketproof_model.result import Witness

from ..common.refusal import refusal_of
from ..witness.choices import ActionChoice, choices, scope_of
from ..witness.parts import Acting, acting
from ..witness.sentences import step_sentence
from ..witness.show import witness_view
from ..witness.truth import NO_VALUE, NOT_YET, Truth, truth, waits
from ..witness.words import value_text
from .view import model_view, property_view

SCHEMA = 1
LISTED = (400, 100, 25, 6)
"""The maximum number of enabled instances of one action that a state lists; the rest is counted. A page without a server uses the first
number that fits."""
REFUSED = 12
"""The maximum number of listed instances of an action that one guard refuses in a state; the rest is counted."""
LARGEST = 1_500_000
"""The maximum size in bytes of the choices of all states in a page without a server, so that it stays below 2 MB."""


@dataclass(frozen=True)
class TraceSubject:
    """The origin of a trace, as text; empty where unknown."""

    model: str = ""
    scope: str = ""
    profile: str = ""
    condition: str = ""
    engine: str = ""


@dataclass(frozen=True)
class CommandLine:
    """A command line that reproduces this document."""

    label: str
    command: str


def of_witness(
    witness: Witness, subject: TraceSubject | None = None, commands: Sequence[CommandLine] = (), *, session: str | None = None
) -> dict[str, Any]:
    """Return the document of a witness. `session` is that of a running explorer, None for a page without a server."""
    instance, claim = witness.instance, witness.property
    view = witness_view(witness)
    options, refusals = _options(witness, LISTED if session is None else LISTED[:1])
    looping = len(witness.states) if witness.loop is None else witness.loop
    return {
        "schema": SCHEMA,
        "kind": "trace",
        "title": view.title,
        "subject": asdict(subject or TraceSubject(model=instance.model.name)),
        "model": model_view(instance),
        "property": property_view(claim),
        "parts": list(view.lanes),
        "states": [list(state) for state in witness.states],
        "steps": [_step(witness, k) for k in range(len(witness.moves))],
        "loop": witness.loop,
        "loop_text": view.loop,
        "note": view.note,
        "end": view.end,
        "truths": [truth_view(each, looping=k > looping) for k, each in enumerate(step.property_truth for step in view.steps)],
        "choices": options,
        "refusals": refusals,
        "commands": [asdict(command) for command in commands],
        "live": None if session is None else {"session": session},
    }


def _options(witness: Witness, listed: Sequence[int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the choices of all states and their refusals, with the first number of `listed` instances that is small enough."""
    first, *smaller = listed
    refusals = Refusals()
    options = [choices_view(witness.instance, state, refusals, first) for state in witness.states]
    if smaller and len(json.dumps([options, refusals.rows], ensure_ascii=False).encode()) > LARGEST:
        return _options(witness, smaller)
    return options, refusals.rows


def _step(witness: Witness, k: int) -> dict[str, Any]:
    move, before, after = witness.moves[k], witness.states[k], witness.states[k + 1]
    action = witness.instance.model.named(move.action)
    who = acting(witness.instance, before, action, move.args)
    return {
        "action": action.name,
        "args": list(move.args),
        "label": action.label(move.args),
        "sentence": step_sentence(witness.instance, before, action, move.args, who),
        "changed": [slot for slot, (x, y) in enumerate(zip(before, after, strict=True)) if x != y],
        **_actors(who),
    }


def _actors(who: Acting) -> dict[str, str | None]:
    return {"by": who.by, "to": who.to, "from": who.source}


def at(instance: Instance, claim: Property, state: State, before: State | None, last: str) -> dict[str, Any]:
    """Return what can happen in any state, and the property's truth there; `last` is its word in the state before."""
    refusals = Refusals()
    options = choices_view(instance, state, refusals)
    return {"choices": options, "refusals": refusals.rows, "truth": truth_view(truth(instance, claim, before, state, last))}


def truth_view(property_truth: Truth, *, looping: bool = False) -> dict[str, Any]:
    """Return the truth in one state. In a loop, waiting for ever counts as bad."""
    bad = property_truth.word in ("fails", "stuck", NO_VALUE) or (
        looping and (waits(property_truth.word) or property_truth.word == NOT_YET)
    )
    return {"word": property_truth.word, "bad": bad, "part": property_truth.part, "values": _texts(property_truth.values)}


class Refusals:
    """Refusals without duplicates, since most are equal in consecutive states. States refer to them by their index in `rows`."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._places: dict[tuple[Any, ...], int] = {}

    def place(self, row: dict[str, Any]) -> int:
        key = tuple(tuple(map(tuple, value)) if isinstance(value, list) and name == "values" else str(value) for name, value in row.items())
        index = self._places.setdefault(key, len(self.rows))
        if index == len(self.rows):
            self.rows.append(row)
        return index


def choices_view(instance: Instance, state: State, refusals: Refusals, listed: int = LISTED[0]) -> dict[str, Any]:
    """Return the action instances in a state, up to `listed` per action: the effect of an enabled instance, or the index of its refusal."""
    enabled: list[dict[str, Any]] = []
    refused: list[int] = []
    counts: dict[tuple[str, str], int] = {}
    more: dict[tuple[str, str], int] = {}
    for each in choices(instance, state):
        key = (each.action.name, each.refused.name if each.refused is not None else "")
        counts[key] = counts.get(key, 0) + 1
        if counts[key] > (min(REFUSED, listed) if each.refused is not None else listed):
            more[key] = more.get(key, 0) + 1
        elif each.refused is None:
            enabled.append(_enabled(instance, state, each))
        else:
            refused.append(refusals.place(_refused(instance, state, each)))
    left = [{"action": action, "guard": guard, "count": count} for (action, guard), count in more.items()]
    return {"enabled": enabled, "refused": refused, "more": left}


def _enabled(instance: Instance, state: State, candidate: ActionChoice) -> dict[str, Any]:
    after = state if candidate.after is None else candidate.after
    who = acting(instance, state, candidate.action, candidate.args)
    return {
        "action": candidate.action.name,
        "args": list(candidate.args),
        "label": candidate.label,
        "sentence": step_sentence(instance, state, candidate.action, candidate.args, who),
        "effect": [[slot, y] for slot, (x, y) in enumerate(zip(state, after, strict=True)) if x != y],
        "error": candidate.error,
        **_actors(who),
    }


def _refused(instance: Instance, state: State, candidate: ActionChoice) -> dict[str, Any]:
    assert candidate.refused is not None
    why = refusal_of(
        candidate.refused, instance, scope_of(instance, state, candidate.action, candidate.args), candidate.label, error=candidate.error
    )
    return {
        "action": candidate.action.name,
        "args": list(candidate.args),
        "label": candidate.label,
        "guard": why.guard,
        "sentence": why.sentence,
        "bound": why.bound,
        "part": why.part,
        "values": _texts(why.values),
        "error": why.error,
    }


def _texts(values: Mapping[str, Any]) -> list[list[str]]:
    return [[name, value_text(value)] for name, value in values.items()]


__all__ = ["SCHEMA", "CommandLine", "Refusals", "TraceSubject", "at", "choices_view", "of_witness", "truth_view"]
