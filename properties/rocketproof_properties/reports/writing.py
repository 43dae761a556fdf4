"""Writing the reports that were asked for of one run, all from the same results."""

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
    run: Run, wanted: Sequence[WantedReport], changes: Changes | None = None, pages: Mapping[WantedReport, Sequence[Listed]] = NONE
) -> None:
    """Write each report; `pages` of the explorer belong to one that is a folder. Raises InputError for one that cannot be written."""
    for one in wanted:
        if one.kind == "html":
            from . import page

            page.write(run, one.place, changes, pages.get(one, ()))
        elif one.kind == "github":
            from . import github

            github.write(run, changes)
        elif one.kind == "badge":
            from . import badge

            store.replace_text(one.place, badge.write(run, one.place.suffix), "--report badge:")
        else:
            store.replace_text(one.place, _TEXTS[one.kind](run, changes), f"--report {one.kind}:")
