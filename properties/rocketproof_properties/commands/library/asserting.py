"""`assert_holds` and `assert_violated`: a property decided inside a test of one's own, and a failure that shows why."""

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

WIDTH = 100  # columns of a witness in a failure: pytest puts two before it


class Refuted(AssertionError):
    """A verdict is not the asserted one. `outcome` has the witness, if there is one, and `file` is where that is kept."""

    __module__ = "rocketproof"  # the name by which a test knows it

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
    """Assert that a property of a model holds, or all of them; arguments as of `check`.

    Raises Refuted, an AssertionError whose text has the shortest witness as `rocketproof show` prints it and the file in which it is kept,
    also for a property that holds only because its premise is nowhere true; Undecided where a limit or the engine left it open; and
    RocketproofError for wrong arguments. Returns the outcomes, for more questions.
    """
    __tracebackhide__ = True
    found = check(
        model, property=property, engine=engine, scope=scope, profile=profile, limits=limits, workers=workers, seed=seed, **values
    )
    made = found.chosen
    if found.violated:
        first, *others = found.violated
        raise _refuted(made, first, others)
    _decided(made, found)
    for outcome in found:
        if outcome.property.id in found.vacuous:
            said = f"{_named(outcome)} holds in {made.name} only because its premise is true in no reachable state"
            raise Refuted(f"{said}: {outcome.property.sentence}", outcome)
    return found


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
    """Assert that a property does not hold, as of a mutant or of a known flaw; arguments as of `check`.

    Returns the witness, so that its steps can be asserted too; None for a state that cannot be reached, of which there is none. Raises
    Refuted, an AssertionError, where the property holds, and Undecided where a limit or the engine left that open.
    """
    __tracebackhide__ = True
    found = check(
        model, property=property, engine=engine, scope=scope, profile=profile, limits=limits, workers=workers, seed=seed, **values
    )
    made = found.chosen
    if found.violated:
        return found.violated[0].witness
    _decided(made, found)
    (outcome, *_) = found
    size = "" if outcome.states is None else f", in {outcome.states:,} states"
    raise Refuted(f"{_named(outcome)} holds in {made.name}{size}: {outcome.property.sentence}", outcome)


def _decided(made: Chosen, found: Outcomes) -> None:
    __tracebackhide__ = True
    for outcome in found.undecided:
        what = f"{_named(outcome)} of {made.name} is {outcome.verdict}"
        raise Undecided(f"{what} ({outcome.reason or 'no reason'}); give higher limits, smaller sizes or another engine", outcome)


def _refuted(made: Chosen, outcome: Outcome, others: Iterable[Outcome]) -> Refuted:
    claim, witness = outcome.property, outcome.witness
    lines = [f"{_named(outcome)} is violated in {made.name}"]
    file = None
    if witness is None:
        searched = "" if outcome.states is None else f" of {outcome.states:,}"
        lines += [claim.sentence, f"no reachable state{searched} is such"]
    else:
        lines += ["", shown(witness)]
        try:
            file = _kept(made, witness)
        except InputError as error:
            lines.append(f"not kept: {error}")
        else:
            lines += ["", _kept_text(made, file)]
    lines += [f"also violated: {one.property.id}: {one.property.sentence}" for one in others]
    return Refuted("\n".join(lines), outcome, file)


def _named(outcome: Outcome) -> str:
    return repr(outcome.property.id)


def shown(witness: Witness) -> str:
    """A witness as `rocketproof show` prints it, without colours."""
    from rich.console import Console

    from rocketproof_traces.witness.show import render, witness_view

    text = io.StringIO()
    render(witness_view(witness), Console(file=text, width=WIDTH, highlight=False, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().splitlines())


def _kept(made: Chosen, witness: Witness) -> str:
    """The file of a witness: the same name in every run of the same model with the same values."""
    from rocketproof_traces.witness import itf

    given = "-".join(f"{name}-{value}" for name, value in made.sizes.items())
    name = "-".join(witnessfiles.slug(part) for part in (made.subject.instance.model.name, witness.property.id, given) if part)
    origin = {} if made.source is None else made.source.record()
    path = str(witnessfiles.DEFAULT_FOLDER / f"{name}.itf.json")
    keep_witness(path, itf.dumps(witness, origin))
    return path


def _kept_text(made: Chosen, file: str) -> str:
    if made.source is not None:
        return f"rocketproof show {shlex.quote(file)}"
    return f"kept in {file}: rocketproof.load_witness({file!r}, model) reads it (its model is built inside a function)"
