"""The command that opens a trace or a history in a browser, or writes it as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .common import Natural, Profile


def explore(
    what: str | None = None,
    /,
    *,
    property: str | None = None,
    profile: Profile | None = None,
    scope: str | None = None,
    condition: str | None = None,
    around: Natural | None = None,
    html: Path | None = None,
    port: Natural = 0,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
) -> int:
    """Walk through a counterexample in a browser: what happened, what else could have, and why the rest could not.

    The page is served on this machine only, until Ctrl-C; with --html it is a file that needs nothing else.

    Parameters
    ----------
    what
        A witness file that `rocketproof check` has written, a history, a finding or the report of `rocketproof validate`, a folder of
        these, or a Python file with a model of your own; without it the built-in specification, of which the page lets you choose.
    property
        The property whose counterexample is to be found and opened.
    profile
        The profile of the specification, P49 unless given; of a history the one that it is judged by.
    scope
        The finite sizes, instead of those that the catalogue names; without --property a walk begins there.
    condition
        Only the case under this condition (its words, or some of them).
    around
        The number of an event: of a history that is too long for a page, what lies around it, instead of around what nothing explains.
    html
        Write the page to this file instead of serving it.
    port
        The port to serve on; any free one unless given.
    browser
        Open a browser at the page.
    """
    from .explorer import commands
    from .explorer.traces import Wish

    return commands.explore(what, Wish(property, profile, scope, condition), html, port, browser=browser, around=around)
