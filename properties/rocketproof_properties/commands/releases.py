"""Commands about releases: which switches describe one, and in what two differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..reports.choices import InputError
from .common import Count, Json, Natural, NotNegative, Profile, Seconds, write


def profile(
    target: str | None = None,
    /,
    *,
    base: Annotated[Profile | None, Parameter(name="--from")] = None,
    again: Path | None = None,
    programs: Count | None = None,
    seed: Natural | None = None,
    report: Path | None = None,
    shrink: NotNegative | None = None,
    time: Seconds | None = None,
    workers: Count | None = None,
    json: Json = None,
) -> int:
    """Find which switches of a profile describe a release or a broker: what it does otherwise, each with the request that shows it.

    Programs run on the target, among them for each switch those that tell its values. What it does otherwise is explained by other
    values of switches as far as any does; the rest is listed by its cause. What to do with it, a person decides.

    Parameters
    ----------
    target
        What to start: apache:VERSION, served, inprocess, or a TOML file that describes it; or the address of a broker.
    base
        The profile to begin with, such as P533; the target's own unless given.
    again
        Explain what is in this folder instead, of a run of this command or of validate: no broker is needed.
    programs
        How many general programs to perform besides those that tell switches; 300 unless given.
    seed
        Seed of the programs; 0 unless given.
    report
        The folder for the report and the histories, which must be new or empty; .rocketproof/validation with a number unless given.
    shrink
        Seconds for making each program smaller on the target; 20 unless given, and 0 leaves them as they are.
    time
        Seconds after which no further program is begun.
    workers
        Programs at a time; 4 unless given.
    json
        Write the report to this file too.
    """
    from ..brokers.choose import choose_named
    from ..reports import output
    from ..validation.releases import profiling, show
    from ..validation.releases.smaller import write_report
    from ..validation.report import next_folder

    if (target is None) == (again is None):
        raise InputError("give either a target, such as apache:5.4.0, or --again FOLDER of an earlier run")
    performing = {"--programs": programs, "--seed": seed, "--report": report, "--shrink": shrink, "--time": time, "--workers": workers}
    odd = next((name for name, given in performing.items() if given is not None), None)
    if again is not None and odd is not None:
        raise InputError(f"{odd} with --again: what was recorded is explained where it is, and nothing is performed; leave it out")
    chosen = None if target is None else choose_named(target, None, "the target")
    named = base or (chosen.profile if chosen is not None else None)
    if named is None:
        raise InputError(f"--again {again}: give the profile to begin with too, such as --from P533")
    folder = again or report or next_folder()
    with output.phases() as progress:
        found = profiling.profile(
            profiling.ProfileRequest(
                named,
                folder,
                chosen,
                programs=programs or 300,
                seed=seed or 0,
                workers=workers or 4,
                seconds=time,
                shrink=profiling.SHRINK if shrink is None else shrink,
            ),
            progress,
        )
    data = found.data(folder)
    write(json, data)
    write_report(folder / profiling.REPORT, data)
    show.render(found, folder)
    return found.exit_code
