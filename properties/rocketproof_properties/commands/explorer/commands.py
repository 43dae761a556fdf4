"""Implements `rocketproof explore`: find the trace, then write it as a page or serve it."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rocketproof_traces.explorer import page
from rocketproof_traces.explorer.opened import Opened

from ...catalogue.modelfile import NAMED, load
from ...reports.choices import InputError
from ...reports.files import STREAM, check_writable, replace_text
from ...reports.output import Page, ProgressLine, tell
from ...validation.results import REPORT
from . import catalogue, hazards, traces
from .openings import WITNESS, Openings, of_path
from .traces import Wish


def explore(what: str | None, wish: Wish, html: Path | None, port: int, *, browser: bool, around: int | None = None) -> int:
    """Write the page of the requested trace, or serve it until Ctrl-C, and return the exit code.

    Raises RocketproofError with a one-line message.
    """
    if html is not None:
        check_writable(html, "--html")
    openings = _openings(what, wish, around)
    if html is not None and openings.opened is None:
        files = () if what is None else openings.files()
        remedy = f"give one file of the folder; the first is {next(iter(files))}" if files else "give a witness, or --property ID"
        raise InputError(f"--html needs one trace to show; {remedy}")
    _present(openings, html, port, browser=browser)
    return 0


def present(opened: Opened, html: Path | None, port: int, *, browser: bool) -> None:
    """Write the page of an opened trace, or serve it until Ctrl-C. Raises RocketproofError with a one-line message."""
    _present(Openings(opened), html, port, browser=browser)


def _present(openings: Openings, html: Path | None, port: int, *, browser: bool) -> None:
    if html is not None and openings.opened is not None:
        replace_text(html, page.html(openings.opened.document()), "--html")
        name = "standard output" if html == STREAM else html
        tell(f"{name} is a page that needs nothing else: open it in a browser, or send it to somebody")
        return
    from rocketproof_traces.explorer.server import Explorer
    from rocketproof_traces.explorer.serving import serve

    page.template()
    out = Page()

    def announce(address: str) -> None:
        out.line(address)
        tell("the explorer answers on this machine only; Ctrl-C ends it")

    serve(Explorer(openings, _version()), port, browser=browser, announce=announce)


def _openings(what: str | None, wish: Wish, around: int | None) -> Openings:
    """Return what can be opened, with the trace shown first. `what` is a file or a folder, None for the specification."""
    narrowed = any((wish.property, wish.scope, wish.condition))
    if around is not None and (what is None or _is_model(what) or Path(what).is_dir()):
        raise InputError("--around without a history; give the file of one, as in `rocketproof explore HISTORY --around EVENT`")
    with ProgressLine() as line:
        if what is None or _is_model(what):
            has_wish = narrowed or wish.profile is not None
            if what is not None and not has_wish:
                load(what)  # report errors of the file here, not on the page
            return Openings(traces.of_wish(replace(wish, file=what), line.show) if has_wish else None, what)
        if narrowed:
            raise InputError(f"{what} with --property, --scope or --condition; a file is opened as it is: leave them out")
        path = Path(what)
        if hazards.names_hazard(what) and not path.exists():
            return Openings(hazards.opened(what, wish.profile, catalogue.properties(None)))
        if not path.is_dir():
            return Openings(of_path(what, wish.profile, line.show, around), folder=path.parent, profile=wish.profile)
        openings = Openings(folder=path, profile=wish.profile)
        if not openings.files():
            remedy = "give a folder that `rocketproof check` or `validate` has written, or a file"
            raise InputError(f"{what} has no witness (*{WITNESS}), history (*.ndjson) or finding; {remedy}")
        return openings


def _is_model(what: str) -> bool:
    """Return whether a file is a user's model, and not the program of a finding in a report's folder."""
    path = Path(what.partition(NAMED)[0])
    return path.suffix == ".py" and not (path.absolute().parent.parent / REPORT).is_file()


def _version() -> str:
    try:
        return version("rocketproof")
    except PackageNotFoundError:  # run from a folder on the path, without installation
        return ""


__all__ = ["explore", "present"]
