"""`explore`: open a model, a counterexample or a witness in a browser, or write it as a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rocketproof_model import Property
from rocketproof_model.result import Limits, Outcome, Witness
from rocketproof_traces.explorer.document import TraceSubject
from rocketproof_traces.explorer.opened import Trace, walk

from ...reports.choices import InputError
from ...reports.files import STREAM, check_writable
from ..explorer import commands, traces
from .checking import check
from .subjects import Chosen, ModelLike, chosen

WITNESS = ".json"


def explore(
    model: ModelLike | Witness = None,
    property: str | Property | None = None,
    *,
    html: str | os.PathLike[str] | None = None,
    port: int = 0,
    browser: bool = True,
    scope: str | None = None,
    profile: str | None = None,
    limits: Limits = Limits(),
    **values: Any,
) -> None:
    """Open a counterexample, or a walk, in a browser. The page is served on this machine only, until Ctrl-C.

    `model` is a Witness, the path of a witness file, or what `check` accepts. With `property`, the property is decided and its witness
    opens. If there is no witness or no `property`, a walk from the initial state opens. With `html`, a self-contained page is written to
    that file, and nothing is served. `port` 0 means any free port; `browser=False` only prints the address.

    Raises RocketproofError, in one line, for an invalid model, witness or property, a port in use, and a file that cannot be written.
    """
    if not 0 <= port < 1 << 16:
        raise InputError(f"port={port} is no port; give 0 to 65535")
    file = None if html is None else Path(html)
    if file == STREAM:
        raise InputError("html='-' is standard output, which a test's other output goes to; give a file")
    if file is not None:
        check_writable(file, "html")
    commands.present(_opened(model, property, scope, profile, limits, values), file, port, browser=browser)


def _opened(
    model: ModelLike | Witness,
    property: str | Property | None,
    scope: str | None,
    profile: str | None,
    limits: Limits,
    values: dict[str, Any],
) -> Trace:
    def reject_options() -> None:
        if values or any(option is not None for option in (property, scope, profile)):
            raise InputError("a witness with a property, a scope, a profile or values; a witness is opened as it is: leave them out")

    if isinstance(model, Witness):
        reject_options()
        return Trace(model, TraceSubject(model.instance.model.name))
    if isinstance(model, str | os.PathLike) and os.fspath(model).endswith(WITNESS):
        reject_options()
        return traces.of_file(os.fspath(model))
    if property is None:
        selection = chosen(model, values, scope=scope, profile=profile)
        return walk(selection.subject.instance, _subject(selection))
    outcomes = check(model, property=property, scope=scope, profile=profile, limits=limits, **values)
    subject = _subject(outcomes.chosen)
    shown = next((outcome_ for outcome_ in outcomes if outcome_.witness is not None), None)
    if shown is not None and shown.witness is not None:
        return Trace(shown.witness, subject)
    outcome: Outcome = outcomes[0]
    verdict = f"{outcome.property.id}: {outcome.verdict}{f' ({outcome.reason})' if outcome.reason else ''}"
    return walk(
        outcomes.instance, subject, outcome.property, f"There is no trace to show ({verdict}): this is a walk from the initial state."
    )


def _subject(selection: Chosen) -> TraceSubject:
    return (
        TraceSubject(selection.name)
        if selection.source is None
        else TraceSubject(selection.name, selection.source.scope, selection.source.profile)
    )
