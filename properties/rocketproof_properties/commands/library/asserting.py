"""`assert_holds` and `assert_violated`: decide a property inside a test, and explain a failure with the witness."""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterable
from typing import Any

from rocketproof_model import Property
from rocketproof_model.result import Limits, Outcome, Witness

from ...judging.undecided import Undecided
from ...reports.choices import InputError
from ...reports.files import keep_witness
from ..checks import witnessfiles
from .checking import Engine, Outcomes, check
from .subjects import Chosen, ModelLike

WIDTH = 100  # columns of a witness in a failure; pytest adds two


class Refuted(AssertionError):
    """The verdict is not the asserted verdict. `outcome` has the witness, if any, and `file` is the path of the witness file."""

    __module__ = "rocketproof"  # the public name

    def __init__(self, text: str, outcome: Outcome, file: str | None = None) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.file = file


def assert_holds(
    model: ModelLike = None,
    property: str | Property | Iterable[str | Property] | None = None,
    *,
    engine: Engine = "explicit",
    scope: str | None = None,
    profile: str | None = None,
    limits: Limits = Limits(),
    workers: int | None = None,
    seed: int = 0,
    **values: Any,
) -> Outcomes:
    """Assert that a property of a model holds, or all of them. The arguments are the same as for `check`.

    Returns the outcomes. Raises:

    - Refuted, an AssertionError, if a property is violated. Its text has the shortest witness as `rocketproof show` prints it, and the path
      of the witness file. Also raised for a property that holds only because its premise is never true.
    - Undecided if a limit or the engine left the property open.
    - RocketproofError for wrong arguments.
    """
    __tracebackhide__ = True
    outcomes = check(
        model, property=property, engine=engine, scope=scope, profile=profile, limits=limits, workers=workers, seed=seed, **values
    )
    chosen = outcomes.chosen
    if outcomes.violated:
        first, *others = outcomes.violated
        raise _refuted(chosen, first, others)
    _decided(chosen, outcomes)
    for outcome in outcomes:
        if outcome.property.id in outcomes.vacuous:
            reason = f"{_named(outcome)} holds in {chosen.name} only because its premise is true in no reachable state"
            raise Refuted(f"{reason}: {outcome.property.sentence}", outcome)
    return outcomes


def assert_violated(
    model: ModelLike,
    property: str | Property,
    *,
    engine: Engine = "explicit",
    scope: str | None = None,
    profile: str | None = None,
    limits: Limits = Limits(),
    workers: int | None = None,
    seed: int = 0,
    **values: Any,
) -> Witness | None:
    """Assert that a property is violated, for example for a mutant or a known flaw. The arguments are the same as for `check`.

    Returns the witness, so that its steps can be asserted too; None for a `reachable` property, whose violation has no witness. Raises
    Refuted, an AssertionError, if the property holds, and Undecided if a limit or the engine left it open.
    """
    __tracebackhide__ = True
    outcomes = check(
        model, property=property, engine=engine, scope=scope, profile=profile, limits=limits, workers=workers, seed=seed, **values
    )
    chosen = outcomes.chosen
    if outcomes.violated:
        return outcomes.violated[0].witness
    _decided(chosen, outcomes)
    (outcome, *_) = outcomes
    size = "" if outcome.states is None else f", in {outcome.states:,} states"
    raise Refuted(f"{_named(outcome)} holds in {chosen.name}{size}: {outcome.property.sentence}", outcome)


def _decided(chosen: Chosen, outcomes: Outcomes) -> None:
    __tracebackhide__ = True
    for outcome in outcomes.undecided:
        what = f"{_named(outcome)} of {chosen.name} is {outcome.verdict}"
        raise Undecided(f"{what} ({outcome.reason or 'no reason'}); give higher limits, smaller sizes or another engine", outcome)


def _refuted(chosen: Chosen, outcome: Outcome, others: Iterable[Outcome]) -> Refuted:
    claim, witness = outcome.property, outcome.witness
    lines = [f"{_named(outcome)} is violated in {chosen.name}"]
    file = None
    if witness is None:
        searched = "" if outcome.states is None else f" of {outcome.states:,}"
        lines += [claim.sentence, f"no reachable state{searched} is such"]
    else:
        lines += ["", shown(witness)]
        try:
            file = _save(chosen, witness)
        except InputError as error:
            lines.append(f"not kept: {error}")
        else:
            lines += ["", _kept_text(chosen, file)]
    lines += [f"also violated: {other.property.id}: {other.property.sentence}" for other in others]
    return Refuted("\n".join(lines), outcome, file)


def _named(outcome: Outcome) -> str:
    return repr(outcome.property.id)


def shown(witness: Witness) -> str:
    """Return a witness as `rocketproof show` prints it, without colours."""
    from rich.console import Console

    from rocketproof_traces.witness.show import render, witness_view

    text = io.StringIO()
    render(witness_view(witness), Console(file=text, width=WIDTH, highlight=False, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().splitlines())


def _save(chosen: Chosen, witness: Witness) -> str:
    """Write the witness file and return its path. The same model with the same values gives the same name in every run."""
    from rocketproof_traces.witness import itf

    values = "-".join(f"{name}-{value}" for name, value in chosen.sizes.items())
    name = "-".join(witnessfiles.slug(part) for part in (chosen.subject.instance.model.name, witness.property.id, values) if part)
    origin = {} if chosen.source is None else chosen.source.record()
    path = str(witnessfiles.DEFAULT_FOLDER / f"{name}.itf.json")
    keep_witness(path, itf.dumps(witness, origin))
    return path


def _kept_text(chosen: Chosen, file: str) -> str:
    if chosen.source is not None:
        return f"rocketproof show {shlex.quote(file)}"
    return f"kept in {file}: rocketproof.load_witness({file!r}, model) reads it (its model is built inside a function)"
