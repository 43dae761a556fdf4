"""Write the requested reports of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from . import files as store
from .options import WantedReport
from .results import Listed, Run
from .since import Changes

NONE: Final[Mapping[WantedReport, Sequence[Listed]]] = MappingProxyType({})


def _junit(run: Run, _: Changes | None) -> str:
    from . import junit

    return junit.write(run)


def _sarif(run: Run, changes: Changes | None) -> str:
    from . import sarif

    return sarif.write(run, changes)


def _markdown(run: Run, changes: Changes | None) -> str:
    from . import markdown

    return markdown.write(run, changes)


def _run(run: Run, _: Changes | None) -> str:
    from . import saved

    return saved.write(run)


_TEXTS: Final[Mapping[str, Callable[[Run, Changes | None], str]]] = {
    "junit": _junit,
    "sarif": _sarif,
    "markdown": _markdown,
    "run": _run,
}


def write(
    run: Run,
    wanted: Sequence[WantedReport],
    changes: Changes | None = None,
    pages: Mapping[WantedReport, Sequence[Listed]] = NONE,
    *,
    theme_of: Callable[[str, str], str],
) -> None:
    """Write each report.

    `pages` are the explorer's pages for reports that are folders, which group properties by `theme_of`. Raises InputError for a report
    that cannot be written.
    """
    for report in wanted:
        if report.kind == "html":
            from . import page

            page.write(run, report.place, changes, pages.get(report, ()), theme_of=theme_of)
        elif report.kind == "github":
            from . import github

            github.write(run, changes)
        elif report.kind == "badge":
            from . import badge

            store.replace_text(report.place, badge.write(run, report.place.suffix), "--report badge:")
        else:
            store.replace_text(report.place, _TEXTS[report.kind](run, changes), f"--report {report.kind}:")
