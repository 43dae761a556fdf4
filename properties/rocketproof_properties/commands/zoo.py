"""The command about real bugs of real releases."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ..reports.choices import InputError
from ..reports.exitcode import OK
from .common import Count, Json, Natural, Seconds, write


def zoo(
    *ids: str,
    on: Literal["bad", "good"] | None = None,
    programs: Count = 2000,
    seed: Natural = 0,
    time: Seconds = 600.0,
    plain: bool = False,
    report: Path | None = None,
    json: Json = None,
) -> int:
    """Read about real bugs of releases of RocketMQ, or let the suite look for one in the release that has it, or in the one that has not.

    Parameters
    ----------
    ids
        The bugs to read about, such as A4; without any they are listed in a line each.
    on
        Start the last release that has the bug, or the first one that has not, and validate it with ordinary programs.
    programs
        How many programs to perform, at most.
    seed
        Seed of the programs.
    time
        Seconds after which no further program is begun.
    plain
        Draw the programs by chance alone, to compare with those that are chosen by what was not seen yet.
    report
        The folder for the validation's report; .rocketproof/validation with a number unless given.
    json
        Write the bugs, or what the search has come to, to this file.
    """
    from ..validation.knownbugs import bugs, show

    found = bugs.chosen(ids)
    if on is None:
        write(json, (one.record() for one in found))
        if ids:
            show.print_bugs(found)
        else:
            show.print_list(found)
        return OK
    if len(ids) != 1:
        raise InputError(f"--on {on} looks for one bug; give its id, such as rocketproof zoo A4 --on {on}")
    from ..reports import output
    from ..validation.knownbugs.search import search
    from ..validation.report import next_folder

    with output.phases() as progress:
        folder = report or next_folder()
        came = search(found[0], on, folder, programs=programs, seed=seed, seconds=time, plain=plain, progress=progress)
    write(json, came.record())
    show.print_search(came)
    return came.exit_code
