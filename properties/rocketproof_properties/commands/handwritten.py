"""The commands that perform a hand-written program: `run` on one target, and `bisect` on the releases of a range."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..reports.choices import InputError
from ..reports.exitcode import exit_code
from .common import Count, Flag, Json, Profile, write


def run_program(
    program: str,
    /,
    *,
    target: str = "inprocess",
    nameserver: str | None = None,
    profile: Profile | None = None,
    times: Count | None = None,
    fresh: Flag = False,
    expect: str | None = None,
    field: str | None = None,
    configure: Flag = False,
    history: Path | None = None,
    json: Json = None,
) -> int:
    """Perform a program on a target, and show each request with its response, and each rule that the target breaks.

    Exit code 1: a rule is broken, or the program shows its problem. A rule that the release is known to break is shown and is no finding.

    Parameters
    ----------
    program
        A Python file with STEPS, a file of a finding, a test that `to-test` has written, or a recorded history.
    target
        What to start: apache:VERSION or the release alone, served, inprocess, or a TOML file that describes it. Or the address of a
        running broker.
    nameserver
        The address of a running broker's name server.
    profile
        What to judge by, such as P494. Default: the target's own, P49 for an address.
    times
        Number of runs. Each distinct outcome is shown with the number of its runs. Default: TIMES of the file, or 1.
    fresh
        Start new brokers for each run.
    expect
        A condition that shows the problem, such as 'answers[3].fields["offset"] == "0"'. Default: `shows` of the file.
    field
        The same for one field: STEP.NAME=VALUE or STEP.NAME!=VALUE, such as 3.queueOffset=1 or 3.name=SUCCESS.
    configure
        Allow the program's settings to be changed on a running broker; they are restored.
    history
        Write the history of a run to this file: of the first that shows the problem, otherwise of the first.
    json
        Write the outcomes to this file."""
    from ..brokers.choose import choose_named
    from ..validation.handwritten import programfile, show
    from ..validation.handwritten.condition import condition_of
    from ..validation.handwritten.performed import perform_program

    read = programfile.load(program)
    condition = condition_of(read, expect, field)
    chosen = choose_named(target, profile, configure=configure)
    if history is not None:
        from ..reports.files import check_writable

        if str(history) == "-":
            raise InputError("--history -: a history is not written to standard output; give it a file")
        check_writable(history, "--history")
    from ..reports import output

    with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder:
        with output.phases() as progress:
            done = perform_program(
                read,
                chosen,
                condition,
                Path(folder),
                times=times or read.times,
                fresh=fresh,
                name_server=nameserver,
                configure=configure,
                progress=progress,
            )
        if history is not None:
            _keep(next((group for group in done.groups if group.shows), done.groups[0]).trial.history, history)
        write(json, done.data())
        show.render_run(chosen.name, chosen.profile, done.groups, condition, history)
    return done.exit_code


def _keep(recorded: Path, place: Path) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(recorded, place)
    except OSError as error:
        raise InputError(f"--history {place} cannot be written ({error.strerror}); give a file in a folder of your own") from None


def bisect(
    *programs: str,
    first: Annotated[str, Parameter(name="--from")] = "4.9.4",
    last: Annotated[str, Parameter(name="--to")] = "5.5.0",
    expect: str | None = None,
    field: str | None = None,
    profile: Profile | None = None,
    times: Count | None = None,
    binary: Flag = False,
    again: Flag = False,
    json: Json = None,
) -> int:
    """Perform a program on every release of a range, and name the first that shows its problem and the first later one that does not.

    Each release is started once. Its history is kept in .rocketproof/bisect, so that another condition needs no broker. The problem is what
    --expect, --field or `shows` of the file states. Otherwise it is the first broken rule, or the first response that differs. Several
    programs with equal settings share the brokers of a release. Exit code 1: a release shows it.

    Parameters
    ----------
    programs
        A Python file with STEPS, a file of a finding, a test that `to-test` has written, or a recorded history. Several are shown in one
        table.
    first
        The first release.
    last
        The last release.
    expect
        A condition that shows the problem, such as 'answers[3].fields["offset"] == "0"'.
    field
        The same for one field: STEP.NAME=VALUE or STEP.NAME!=VALUE, such as 3.queueOffset=1 or 3.name=SUCCESS.
    profile
        The profile to judge all releases by. Default: the profile of each release.
    times
        Number of runs on each release. A release shows the problem if one of them does. Default: TIMES of the file, or 1.
    binary
        Search for the one release from which on, or up to which, the problem is shown. Tries few releases. Assumes that the problem does
        not come and go, and needs a condition.
    again
        Start all releases, even if their results are kept.
    json
        Write the releases to this file: one object, or a list of them for several programs."""
    from ..validation.handwritten import programfile, releases, show
    from ..validation.handwritten.condition import ANY_BROKEN, condition_of

    if not programs:
        raise InputError("bisect needs a program; give a Python file with STEPS")
    if len(programs) > 1 and (expect is not None or field is not None or binary):
        raise InputError("--expect, --field and --binary are for one program; give one, or def shows(answers) in each file")
    read = [programfile.load(program) for program in programs]
    conditions = [condition_of(each, expect, field) for each in read]
    if binary and ANY_BROKEN in conditions:
        raise InputError("--binary needs a condition; give --expect or --field, or def shows(answers) in the file")
    between = releases.releases_between(first, last)
    from ..reports import output

    results = []
    with output.phases() as progress:
        if len(read) > 1:
            releases.perform_on_releases(read, between, times=times, again=again, progress=progress)
        for each, condition in zip(read, conditions, strict=True):
            result = releases.bisect(
                each, between, condition, times=times, again=again and len(read) == 1, binary=binary, profile=profile, progress=progress
            )
            results.append(releases.with_first_problem(result) if condition is ANY_BROKEN else result)
    write(json, results[0].data() if len(results) == 1 else [result.data() for result in results])
    if len(results) == 1:
        show.render_releases(results[0])
    else:
        show.render_programs(results)
    return exit_code(findings=[each.first for each in results if each.first], undecided=[each for row in results for each in row.undecided])
