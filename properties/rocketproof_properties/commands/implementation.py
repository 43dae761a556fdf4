"""Commands about the reference implementation and its tests."""

from __future__ import annotations

from pathlib import Path

from rocketproof_model import interrupts

from ..reports.choices import InputError
from ..reports.exitcode import exit_code
from . import reporting
from .common import All, Count, Json, Natural, Pages, Profile, Seconds, Settings, write


def run_tests(
    *,
    profile: Profile = "P49",
    recording: Path | None = None,
    settings: Settings = (),
    programs: Count | None = None,
    seed: Natural = 0,
    time: Seconds | None = None,
    workers: Count | None = None,
    every: All = False,
    json: Json = None,
    report: reporting.Reports = (),
    since: reporting.Since = None,
    pages: Pages = None,
) -> int:
    """Test the reference implementation: against a recording of a real broker, or against the specification.

    Parameters
    ----------
    profile
        The profile to test, such as P494.
    recording
        A file of recorded cases: each request is sent to the implementation, and the responses are compared. Default: programs of the
        specification are generated and run on both.
    settings
        A setting of the recorded brokers by RocketMQ's name, such as brokerPermission=4, or of the brokers of one cfg, such as
        N:brokerPermission=4; may be repeated.
    programs
        Number of programs to generate. Default: 5000.
    seed
        Seed of the programs.
    time
        Seconds after which the generation stops. They are divided evenly among all instances and conditions.
    workers
        Number of processes that run programs. Default: one per core.
    every
        Print every verdict, or every case that differs, instead of a summary.
    json
        Write every case, or every verdict, to this file.
    pages
        A folder for the HTML page of the run and the explorer's pages that it links.
    """
    from ..reports import output

    if recording is not None and programs is not None:
        raise InputError("--programs with --recording: a recording is replayed as it is; leave out one of them")
    if recording is None and settings:
        raise InputError("--set without --recording: programs choose their own settings; give --recording FILE or leave it out")
    reports = reporting.asked("test", report, since, pages)
    if recording is None:
        from rocketproof_traces.common import pools

        from .checks import programs as generated
        from .checks import programs_summary, results

        tested, test_run = generated.run(
            profile=profile, programs=programs or 5000, seed=seed, workers=workers or pools.cores(), seconds=time
        )
        write(json, (row.record() for row in tested.rows))
        with reports.printing():
            programs_summary.render(tested, test_run, every=every)
        reports.write(lambda: results.run(tested, "test", results.IMPLEMENTATION, profile))
        return tested.exit_code
    from ..judging.reference import recording as recorded
    from ..judging.reference import results as replayed
    from ..judging.reference.show import print_replay

    with output.counting("replaying case") as tick:
        replayed_cases = recorded.replay(recording, profile, settings, tick)
    data = [outcome.data() for outcome in replayed_cases.outcomes]
    write(json, data)
    with reports.printing():
        print_replay(replayed_cases, every)
    reports.write(lambda: replayed.run(data, str(recording), profile, stopped=replayed_cases.stopped), source=str(recording))
    return exit_code(findings=replayed_cases.different, undecided=replayed_cases.stopped)


def replay(witness: str, /, *, target: str | None = None, json: Json = None) -> int:
    """Perform a witness step by step on the reference implementation, or over the wire on brokers that are started for it.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    target
        What to start: apache:4.9.4 or another release, served for this implementation, or a TOML file that describes a broker. There,
        brokers run their background tasks at once; a witness that needs such a task to wait is rejected.
    json
        Write the number of steps that were performed, and the result, to this file.
    """
    from .checks import witnessfiles

    source, loaded = witnessfiles.load_with_source(witness)
    if target is not None:
        from ..brokers.choose import choose
        from ..conformance.witnesses.smallmodels import perform_file
        from ..validation.show import render_performed
        from ..validation.validate import mark

        followed = perform_file(choose(None, target, source.profile, configure=False), source, loaded, mark())
        write(json, followed.data())
        render_performed(followed)
        return exit_code(findings=not followed.agrees and not followed.lost, undecided=not followed.agrees)

    from ..conformance.stateful.replay import performed, render_replayed, replay_witness

    done = replay_witness(source, loaded, performed)
    write(json, done.data())
    render_replayed(done)
    return exit_code(findings=not done.agrees, undecided=False)


def hazard(*ids: str, profile: Profile | None = None, live: Path | None = None, json: Json = None) -> int:
    """Show known hazards of RocketMQ: each is a short program on a simulated cluster that asserts every stated fact.

    Parameters
    ----------
    ids
        The hazards to show step by step, such as HAZ-07. Default: all are run and listed in one line each.
    profile
        The profile to show them in. Default: each hazard's own profile.
    live
        Write the hazards into this folder as pages that need no server: the steps of each, and the counterexamples that show it, which
        are searched for. In a counterexample one can take other steps and evaluate expressions.
    json
        Write the hazards with their steps to this file.
    """
    from ..hazards import HAZARDS, chosen, gallery, report
    from ..reports import output

    selected = chosen(ids, profile)
    results, stopped = interrupts.gathered(gallery.perform(hazard_, hazard_.profile(profile)) for hazard_ in selected)
    write(json, (performed.data() for performed in results))
    if live is not None:
        from .explorer import livehazards

        stopped = not livehazards.write(live, results, profile) or stopped
    elif ids:
        report.print_hazards(results)
    else:
        report.print_list(results, len(HAZARDS) - len(selected))
    if stopped:
        output.tell(f"rocketproof: stopped by Ctrl-C after {len(results)} of {len(selected)} hazards")
    return exit_code(findings=any(performed.finding for performed in results), undecided=stopped)
