"""`--report`, `--html` and `--since` of the commands that judge: checked before a run begins, written after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..reports.choices import InputError
from ..reports.output import counted, tell
from .common import INVOKED, Many

if TYPE_CHECKING:
    from ..reports.options import WantedReport
    from ..reports.results import Result, Run, SourcePlace
    from .explorer.pages import PageEntry

PAGES = 20
"""Maximum number of witness pages in the folder of --html. Each takes about a second."""
_VERDICTS = {"test": "check"}
"""Commands with the same kind of verdicts and the same --json."""
KINDS = (
    "of a KIND, as KIND:PATH: junit:FILE, sarif:FILE, markdown:FILE, html:DIR (as --html), run:FILE (for --since), badge:FILE.svg or "
    "badge:FILE.json, or github alone (annotations in the log and the summary of a job); may be repeated."
)
"""The values of --report, as in its help."""
_SINCE = (
    "A saved run, from --report run:FILE or --json FILE; or the folder of --tables (its latest run), or RUN.parquet in its folder runs: "
    "what changed since then is printed, and is in the reports."
)
Reports = Annotated[tuple[str, ...], Parameter(name="--report", help=f"A report {KINDS}"), Many]
Since = Annotated[Path | None, Parameter(help=_SINCE)]


@dataclass(frozen=True)
class Reporting:
    """The requested reports, and the earlier run to compare with, with its name."""

    wanted: tuple[WantedReport, ...] = ()
    before: Run | None = None
    name: str = ""

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Disable GitHub's workflow commands while the command prints its results, if GitHub annotations are requested."""
        if not any(report.kind == "github" for report in self.wanted):
            yield
            return
        from ..reports.github import commands_off

        with commands_off():
            yield

    def write(self, make: Callable[[], Run], pages: Callable[[], Sequence[PageEntry]] | None = None, *, source: str = "") -> None:
        """Write the reports of the run. `make` is called only if a report or a comparison is requested.

        `pages` returns the explorer's pages of traces that are no witness files. `source` is the file that the command was given, or "".
        Raises RocketproofError.
        """
        if not self.wanted and self.before is None:
            return
        from ..reports import show, writing
        from ..reports.since import compare

        run = replace(make().placed(_Places()), line=INVOKED.get(), source=source)
        changes = None if self.before is None else compare(self.before, run, self.name)
        if changes is not None:
            with self.printing():
                show.print_changes(changes)
        folders = [report for report in self.wanted if report.kind == "html"]
        listed = {}
        if folders:
            from ..reports.page import WITNESSES
            from .explorer.pages import of_run
            from .explorer.pages import write as write_pages

            entries = of_run(run, PAGES) if pages is None else pages()
            listed = {report: write_pages(report.place / WITNESSES, entries) for report in folders}
        writing.write(run, self.wanted, changes, listed, theme_of=_theme)
        for report in folders:
            more = f", with {counted(len(listed[report]), 'page')} to walk in" if listed[report] else ""
            tell(f"{report.place / 'index.html'} is the page of the run{more}: open it in a browser")


class _Places:
    """Finds where the catalogue states the property of a result that needs attention."""

    def __init__(self) -> None:
        self._known: dict[str, SourcePlace] | None = None

    def __call__(self, result: Result) -> SourcePlace | None:
        if result.outcome in ("ok", "skipped"):
            return None
        if self._known is None:
            from ..catalogue.places import stated

            self._known = stated()
        return self._known.get(result.id) or self._known.get(result.id.partition(".")[0])


def _theme(property: str, sentence: str) -> str:
    """Return the theme of a property, empty if it is not in the catalogue."""
    from ..catalogue.themes import OTHER, theme_of

    theme = theme_of(property, sentence)
    return "" if theme == OTHER else theme


def asked(command: str, report: Sequence[str], since: Path | None, html: Path | None = None) -> Reporting:
    """Return the reports that a command's options request; --html DIR is --report html:DIR.

    Raises InputError for a report that could not be written, and for a file that is no run of this command.
    """
    if not report and since is None and html is None:
        return Reporting()
    from ..reports.options import wanted

    reports = wanted((*report, *([f"html:{html}"] if html is not None else [])))
    if since is None:
        _load(reports)
        return Reporting(reports)
    before = read(since, command=command)
    if _VERDICTS.get(before.command, before.command) != _VERDICTS.get(command, command):
        raise InputError(f"--since {since}: it is a run of {before.command}, and this is one of {command}; give a run of {command}")
    _load(reports)
    return Reporting(reports, before, str(since))


def _load(reports: Sequence[WantedReport]) -> None:
    """Import the modules that write reports. After an interrupt this would take seconds, while threads are still compiling."""
    from ..catalogue import places
    from ..reports import show, since, writing  # noqa: F401  (imported for `Reporting.write`)

    if any(report.kind == "html" for report in reports):
        from ..catalogue.themes import theme_of
        from ..reports import page  # noqa: F401  (imported for `Reporting.write`)
        from .explorer import pages  # noqa: F401  (imported for `Reporting.write`)

        theme_of("", "")  # its table is cached
    places.stated()  # the result is cached


def read(path: Path, option: str = "--since", command: str = "") -> Run:
    """Load a saved run: a file of --report run:FILE or of --json, or a run of the command in result tables. Raises InputError."""
    from ..reports import saved, tableruns

    if tableruns.is_tables(path):
        return tableruns.read(path, option, command)
    data = saved.load(path, option)
    try:
        is_run_file = isinstance(data, dict) and data.get("schema") == saved.SCHEMA
        run = saved.read(data, f"{option} {path}") if is_run_file else _of_json(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        run = None
    if run is None or not run.is_sound:
        raise InputError(f"{option} {path}: is no saved run; give a file that --report run:FILE or --json has written")
    return run


def _of_json(data: Any) -> Run | None:
    """Return the run whose --json `data` is; None for other data. Raises KeyError and similar errors for incomplete rows."""
    from ..judging import results as judging
    from ..judging.reference import results as replay
    from ..validation import results as validation
    from .audits import results as audits
    from .checks import results as checks

    for read in (checks.read, validation.read, audits.read, replay.read, judging.read):
        run = read(data)
        if run is not None:
            return run
    return None
