"""Commands about releases: find the switches that describe a release, and the differences between two releases."""

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
    """Find the switches of a profile that describe a release or a broker. Each deviation is shown with a request.

    The target runs general programs, and for each switch programs that distinguish its values. Deviations are explained by other
    values of switches where possible. The rest is listed by cause. The command changes no profile.

    Parameters
    ----------
    target
        What to start: apache:VERSION, served, inprocess, or a TOML file that describes it. Or the address of a running broker.
    base
        The profile to start from, such as P533. Default: the target's own.
    again
        Explain the report in this folder, of an earlier run of this command or of validate. No broker is needed.
    programs
        Number of general programs, in addition to those that distinguish switches. Default: 300.
    seed
        Seed of the programs. Default: 0.
    report
        The folder for the report and the histories, which must be new or empty. Default: a numbered folder in .rocketproof/validation.
    shrink
        Seconds for shrinking each program on the target. Default: 20. 0 disables shrinking.
    time
        Seconds after which no further program is started.
    workers
        Number of concurrent programs. Default: 4.
    json
        Also write the report to this file.
    """
    from ..brokers.choose import choose_named
    from ..reports import output
    from ..validation.releases import profiling, show
    from ..validation.releases.smaller import write_report
    from ..validation.report import next_folder

    if (target is None) == (again is None):
        raise InputError("give either a target, such as apache:5.4.0, or --again FOLDER of an earlier run")
    run_options = {"--programs": programs, "--seed": seed, "--report": report, "--shrink": shrink, "--time": time, "--workers": workers}
    conflicting = next((name for name, value in run_options.items() if value is not None), None)
    if again is not None and conflicting is not None:
        raise InputError(f"{conflicting} with --again: what was recorded is explained where it is, and nothing is performed; leave it out")
    chosen = None if target is None else choose_named(target, None, "the target")
    base_profile = base or (chosen.profile if chosen is not None else None)
    if base_profile is None:
        raise InputError(f"--again {again}: give the profile to begin with too, such as --from P533")
    folder = again or report or next_folder()
    with output.phases() as progress:
        result = profiling.profile(
            profiling.ProfileRequest(
                base_profile,
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
    data = result.data(folder)
    write(json, data)
    write_report(folder / profiling.REPORT, data)
    show.render(result, folder)
    return result.exit_code
