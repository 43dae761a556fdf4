"""The command about known bugs of RocketMQ releases."""

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
    """Show known bugs of RocketMQ releases, or search for one in a release that has it, or in a release that has fixed it.

    Parameters
    ----------
    ids
        The bugs to show, such as A4. Default: all, in one line each.
    on
        Start the last release with the bug (bad), or the first release without it (good), and validate it with general programs.
    programs
        Maximum number of programs.
    seed
        Seed of the programs.
    time
        Seconds after which no further program is started.
    plain
        Draw the programs at random only, without coverage guidance, as a baseline.
    report
        The folder for the validation's report. Default: a numbered folder in .rocketproof/validation.
    json
        Write the bugs, or the result of the search, to this file.
    """
    from ..validation.knownbugs import bugs, show

    selected = bugs.chosen(ids)
    if on is None:
        write(json, (bug.record() for bug in selected))
        if ids:
            show.print_bugs(selected)
        else:
            show.print_list(selected)
        return OK
    if len(ids) != 1:
        raise InputError(f"--on {on} looks for one bug; give its id, such as rocketproof zoo A4 --on {on}")
    from ..reports import output
    from ..validation.knownbugs.search import search
    from ..validation.report import next_folder

    with output.phases() as progress:
        folder = report or next_folder()
        result = search(selected[0], on, folder, programs=programs, seed=seed, seconds=time, plain=plain, progress=progress)
    write(json, result.record())
    show.print_search(result)
    return result.exit_code
