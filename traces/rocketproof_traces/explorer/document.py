"""A witness as the document that the page shows: codes, texts, and the model's own terms.

The document is plain JSON ([its parts](../../docs/explorer-documents.md)). The page takes steps, states refusals and evaluates expressions
by the model's terms, so it needs no server for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rocketproof_model.result import Witness

from ..witness.parts import acting
from ..witness.sentences import step_sentence
from ..witness.show import witness_view
from ..witness.truth import NO_VALUE, NOT_YET, Truth, waits
from ..witness.words import value_text
from .view import model_view, property_view

SCHEMA = 2


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
    looping = len(witness.states) if witness.loop is None else witness.loop
    return {
        "schema": SCHEMA,
        "kind": "trace",
        "title": view.title,
        "subject": asdict(subject or TraceSubject(model=instance.model.name)),
        "model": model_view(instance, claim),
        "property": property_view(claim),
        "parts": list(view.lanes),
        "states": [list(state) for state in witness.states],
        "steps": [_step(witness, k) for k in range(len(witness.moves))],
        "loop": witness.loop,
        "loop_text": view.loop,
        "note": view.note,
        "end": view.end,
        "truths": [truth_view(each, looping=k > looping) for k, each in enumerate(step.property_truth for step in view.steps)],
        "commands": [asdict(command) for command in commands],
        "live": None if session is None else {"session": session},
    }


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
        "by": who.by,
        "to": who.to,
        "from": who.source,
    }


def truth_view(property_truth: Truth, *, looping: bool = False) -> dict[str, Any]:
    """Return the truth in one state. In a loop, waiting for ever counts as bad."""
    bad = property_truth.word in ("fails", "stuck", NO_VALUE) or (
        looping and (waits(property_truth.word) or property_truth.word == NOT_YET)
    )
    return {"word": property_truth.word, "bad": bad, "part": property_truth.part, "values": _texts(property_truth.values)}


def _texts(values: Mapping[str, Any]) -> list[list[str]]:
    return [[name, value_text(value)] for name, value in values.items()]


__all__ = ["SCHEMA", "CommandLine", "TraceSubject", "of_witness", "truth_view"]
