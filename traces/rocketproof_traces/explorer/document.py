"""A witness as the document that the page shows: codes, texts, and for each state what can happen there and what refuses the rest.

The document is plain JSON ([its parts](../../docs/explorer.md)). All that is known beforehand is in it, so that a page needs nobody to ask;
what the page can ask of a running explorer, `at` gives for any state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rocketproof_model import Action, Instance, Property
from rocketproof_model.interpreter import State
from rocketproof_model.result import Witness

from ..common.refusal import refusal_of
from ..witness.choices import ActionChoice, choices, scope_of
from ..witness.parts import acting
from ..witness.show import story
from ..witness.truth import NO_VALUE, NOT_YET, Truth, truth, waits
from ..witness.words import value_text
from .view import model_view, property_view

SCHEMA = 1
LISTED = (400, 100, 25, 6)
"""How many enabled instances of one action a state lists; the rest is counted. A page that stands alone takes the first that fits."""
REFUSED = 12
"""How many instances that one guard of one action refuses a state lists at most; the rest is counted."""
LARGEST = 1_500_000
"""Bytes that the choices of all states may have in a page that stands alone, so that it stays below 2 MB."""


@dataclass(frozen=True)
class TraceSubject:
    """Where a trace comes from, in words; "" where that is not known."""

    model: str = ""
    scope: str = ""
    profile: str = ""
    condition: str = ""
    engine: str = ""


@dataclass(frozen=True)
class CommandLine:
    """A command line by which a user comes back to this."""

    label: str
    command: str


def of_witness(
    witness: Witness, subject: TraceSubject | None = None, commands: Sequence[CommandLine] = (), *, session: str | None = None
) -> dict[str, Any]:
    """The document of a witness. `session` is that of a running explorer, None for a page that stands alone."""
    instance, claim = witness.instance, witness.property
    told = story(witness)
    options, refusals = _options(witness, LISTED if session is None else LISTED[:1])
    looping = len(witness.states) if witness.loop is None else witness.loop
    return {
        "schema": SCHEMA,
        "kind": "trace",
        "title": told.title,
        "subject": asdict(subject or TraceSubject(model=instance.model.name)),
        "model": model_view(instance),
        "property": property_view(claim),
        "parts": list(told.lanes),
        "states": [list(state) for state in witness.states],
        "steps": [_step(witness, k) for k in range(len(witness.moves))],
        "loop": witness.loop,
        "loop_text": told.loop,
        "note": told.note,
        "end": told.end,
        "truths": [truth_view(each, looping=k > looping) for k, each in enumerate(view.said for view in told.steps)],
        "choices": options,
        "refusals": refusals,
        "commands": [asdict(command) for command in commands],
        "live": None if session is None else {"session": session},
    }


def _options(witness: Witness, listed: Sequence[int]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The choices of all states and their refusals, with the first number of `listed` instances of an action that is not too large."""
    first, *smaller = listed
    refusals = Refusals()
    options = [choices_view(witness.instance, state, refusals, first) for state in witness.states]
    if smaller and len(json.dumps([options, refusals.rows], ensure_ascii=False).encode()) > LARGEST:
        return _options(witness, smaller)
    return options, refusals.rows


def _step(witness: Witness, k: int) -> dict[str, Any]:
    move, before, after = witness.moves[k], witness.states[k], witness.states[k + 1]
    action = witness.instance.model.named(move.action)
    return {
        "action": action.name,
        "args": list(move.args),
        "label": action.label(move.args),
        "changed": [slot for slot, (x, y) in enumerate(zip(before, after, strict=True)) if x != y],
        **_actors(witness.instance, before, action, move.args),
    }


def _actors(instance: Instance, state: State, action: Action, args: Sequence[int]) -> dict[str, str | None]:
    who = acting(instance, state, action, args)
    return {"by": who.by, "to": who.to, "from": who.source}


def at(instance: Instance, claim: Property, state: State, before: State | None, last: str) -> dict[str, Any]:
    """What can happen in any state, and the property's truth there; `last` is its word in the state before."""
    refusals = Refusals()
    options = choices_view(instance, state, refusals)
    return {"choices": options, "refusals": refusals.rows, "truth": truth_view(truth(instance, claim, before, state, last))}


def truth_view(said: Truth, *, looping: bool = False) -> dict[str, Any]:
    """The truth in one state; who waits for ever, in a loop, has waited in vain."""
    bad = said.word in ("fails", "stuck", NO_VALUE) or (looping and (waits(said.word) or said.word == NOT_YET))
    return {"word": said.word, "bad": bad, "part": said.part, "values": _texts(said.values)}


class Refusals:
    """Refusals, each once: most of them are the same in state after state. States name them by their place in `rows`."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self._places: dict[tuple[Any, ...], int] = {}

    def place(self, row: dict[str, Any]) -> int:
        key = tuple(tuple(map(tuple, value)) if isinstance(value, list) and name == "values" else str(value) for name, value in row.items())
        found = self._places.setdefault(key, len(self.rows))
        if found == len(self.rows):
            self.rows.append(row)
        return found


def choices_view(instance: Instance, state: State, refusals: Refusals, listed: int = LISTED[0]) -> dict[str, Any]:
    """The instances of actions in a state, up to `listed` of each: what one would change, or its refusal by its place."""
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


def _enabled(instance: Instance, state: State, one: ActionChoice) -> dict[str, Any]:
    after = state if one.after is None else one.after
    return {
        "action": one.action.name,
        "args": list(one.args),
        "label": one.label,
        "effect": [[slot, y] for slot, (x, y) in enumerate(zip(state, after, strict=True)) if x != y],
        "error": one.error,
        **_actors(instance, state, one.action, one.args),
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
        "values": _texts(why.values),
        "error": why.error,
    }


def _texts(values: Mapping[str, Any]) -> list[list[str]]:
    return [[name, value_text(value)] for name, value in values.items()]


__all__ = ["SCHEMA", "CommandLine", "Refusals", "TraceSubject", "at", "choices_view", "of_witness", "truth_view"]
