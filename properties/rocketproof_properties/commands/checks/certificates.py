"""Certificate files: the model, the claim, and the invariant that proves it, as terms in the notation of `show`.

A file is JSON and is not trusted. The model is built again from its origin, and the claim must be the model's claim. The invariant is
parsed as terms of that model and checked (`rocketproof_model.proofs.certificate`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rocketproof_model import Instance, Int, Property, RocketproofError
from rocketproof_model.language import Expr, show
from rocketproof_model.language.reading import ReadingError, read

from ...catalogue.source import ModelSource
from ...reports.choices import InputError
from ...reports.files import keep_witness
from .plan import CheckTask

FORMAT, SCHEMA = "rocketproof certificate", 1
SUFFIX = ".certificate.json"
_AGAIN = "have it written again by `rocketproof check --certificates FOLDER`"
_KINDS: dict[str, tuple[type, str]] = {
    "model": (str, "a text"),
    "origin": (dict, "an object"),
    "constants": (dict, "an object"),
    "widen": (dict, "an object"),
    "property": (str, "a text"),
    "kind": (str, "a text"),
    "claim": (str, "a text"),
    "invariants": (list, "a list"),
}


@dataclass(frozen=True, eq=False)
class Certificate:
    """The content of a file, with its terms in the model that it belongs to."""

    source: ModelSource
    instance: Instance
    claim: Property
    invariants: tuple[Expr, ...]


def save(folder: Path | None, witness: str, task: CheckTask, invariants: Sequence[str] | None) -> str | None:
    """Write the certificate of a proof into the folder and return its path, which derives from the name of the task's witness. Return None
    if there is no proof.

    `invariants` are the terms that the proof uses in addition to its claim. Raises InputError if the file cannot be written.
    """
    if folder is None:
        return None
    path = str(folder / (Path(witness).name.removesuffix(".itf.json") + SUFFIX))
    return keep_witness(path, None if invariants is None else _text(task, invariants), "--certificates")


def _text(task: CheckTask, invariants: Sequence[str]) -> str:
    instance, claim = _stated(task.source, task.claim, task.kind, task.widen)
    data = {
        "format": FORMAT,
        "schema": SCHEMA,
        "model": instance.model.name,
        "origin": task.source.record(),
        "constants": _constants(instance),
        "widen": dict(task.widen),
        "property": claim.id,
        "kind": claim.kind,
        "sentence": claim.sentence,
        "claim": show(claim.formula),
        "method": task.method or "induction:1",
        "invariants": list(invariants),
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def load(path: str) -> Certificate:
    """Load a certificate. Raises InputError, in one line, for a file that is no certificate or whose model has changed."""
    data = _parsed(path)
    source = ModelSource.read(data["origin"])
    try:
        instance, claim = _stated(source, data["property"], data["kind"], tuple(data["widen"].items()))
    except (RocketproofError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: its model cannot be built: {error}") from None
    differs = [
        (what, actual, recorded)
        for what, actual, recorded in (
            ("model", instance.model.name, data["model"]),
            ("constants", _constants(instance), data["constants"]),
            ("claim", show(claim.formula), data["claim"]),
        )
        if actual != recorded
    ]
    for what, actual, recorded in differs:
        raise InputError(
            f"{path}: it is about another model: its {what} is {_short(recorded)}, that of the model {_short(actual)}; {_AGAIN}"
        )
    terms = []
    for number, text in enumerate(data["invariants"], 1):
        if not isinstance(text, str):
            raise InputError(f"{path}: invariant {number} is {_short(text)}, no text; {_AGAIN}")
        try:
            terms.append(instance.model.claim(f"invariant {number}", "holds in every state", "always", read(text, instance.model)).formula)
        except ReadingError as error:
            raise InputError(f"{path}: invariant {number}: {error}") from None
        except RocketproofError as error:
            raise InputError(f"{path}: invariant {number} is no formula about a state: {error}") from None
    return Certificate(source, instance, claim, tuple(terms))


def _parsed(path: str) -> dict[str, Any]:
    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a file that `rocketproof check --certificates` wrote") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is no JSON, or is cut off; {_AGAIN}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{path}: is no certificate; give a file that `rocketproof check --certificates` wrote")
    if not isinstance(data.get("schema"), int) or data["schema"] > SCHEMA:
        raise InputError(f"{path}: has schema {_short(data.get('schema'))}, this version reads up to {SCHEMA}; update rocketproof")
    for key, (kind, what) in _KINDS.items():
        if not isinstance(data.get(key), kind):
            raise InputError(f"{path}: its {key} is {_short(data.get(key))}, not {what}; {_AGAIN}")
    return data


def _stated(source: ModelSource, id_: str, kind: str, widen: Sequence[tuple[str, int]]) -> tuple[Instance, Property]:
    subject = source.subject()
    instance, (claim,) = widened(subject.instance, [subject.property(id_, kind)], widen)
    return instance, claim


def widened(instance: Instance, claims: list[Property], ends: Sequence[tuple[str, int]]) -> tuple[Instance, list[Property]]:
    """Extend the range of these variables in the instance and the claims to the given ends, without the bounds that read them."""
    if not ends:
        return instance, claims
    from rocketproof_model.transforms.widening import widened

    model = replace(instance.model, properties=claims)
    wide = widened(model, {name: Int(model.variable(name).type.lo, end) for name, end in ends})
    return Instance(wide, instance.constants), wide.properties


def _constants(instance: Instance) -> dict[str, str]:
    return {name: str(value) for name, value in instance.readable().items()}


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
