"""The command `explore`, which opens a trace or a history in a browser, or writes it as a page."""

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
    """Walk through a counterexample in a browser: each step, the other enabled actions, and why the rest are disabled.

    The page is served on this machine only, until Ctrl-C. With --html, it is written as a self-contained file.

    Parameters
    ----------
    what
        A witness file that `rocketproof check` has written, a history, or a finding or report of `rocketproof validate`. Also a folder
        of these, a hazard such as HAZ-03, or a Python file with your own model. Default: the built-in specification; the page offers
        its properties.
    property
        The property whose counterexample is searched for and opened.
    profile
        The profile of the specification (default: P49), or the profile that a history is judged by.
    scope
        The finite sizes. Default: those that the catalogue names. Without --property, a walk begins in this scope.
    condition
        Only the case under this condition (its text, or a part of it).
    around
        The number of an event. A history that is too long for one page is cut to the part around this event. Default: around the first
        event that nothing explains.
    html
        Write the page to this file instead of serving it.
    port
        The port to serve on. Default: any free port.
    browser
        Open a browser at the page.
    """
    from .explorer import commands
    from .explorer.traces import Wish

    return commands.explore(what, Wish(property, profile, scope, condition), html, port, browser=browser, around=around)
