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
        A file of recorded cases: each request is sent to the implementation, and the answers are compared. Without it,
        programs of the specification are generated and performed on both.
    settings
        A setting of the recorded brokers by RocketMQ's name, such as brokerPermission=4, or of those of one cfg, such as
        N:brokerPermission=4; may be repeated.
    programs
        How many programs to generate; 5000 unless given.
    seed
        Seed of the programs.
    time
        Seconds after which the generation stops; all instances and conditions get a fair share of them.
    workers
        Processes that perform programs; all cores unless given.
    every
        Print every verdict, or every case that differs, not only a summary.
    json
        Write every case, or every verdict, to this file.
    pages
        A folder for the run's page and the explorer's pages of what it links.
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

        tested, ran = generated.run(profile=profile, programs=programs or 5000, seed=seed, workers=workers or pools.cores(), seconds=time)
        write(json, (row.record() for row in tested.rows))
        with reports.printing():
            programs_summary.render(tested, ran, every=every)
        reports.write(lambda: results.run(tested, "test", results.IMPLEMENTATION, profile))
        return tested.exit_code
    from ..judging.reference import recording as recorded
    from ..judging.reference import results as replayed
    from ..judging.reference.show import print_replay

    with output.counting("replaying case") as tick:
        found = recorded.replay(recording, profile, settings, tick)
    data = [one.data() for one in found.outcomes]
    write(json, data)
    with reports.printing():
        print_replay(found, every)
    reports.write(lambda: replayed.run(data, str(recording), profile, stopped=found.stopped), source=str(recording))
    return exit_code(findings=found.different, undecided=found.stopped)


def replay(witness: str, /, *, target: str | None = None, json: Json = None) -> int:
    """Perform a witness step by step on the reference implementation, or over the wire on brokers that are started for it.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    target
        What to start and perform the witness on: apache:4.9.4 or another release, served for this implementation, or a TOML file that
        describes one. Whatever brokers do by themselves they do at once there; a witness that needs one to wait is refused.
    json
        Write how far it went to this file.
    """
    from .checks import witnessfiles

    source, found = witnessfiles.load_with_source(witness)
    if target is not None:
        from ..brokers.choose import choose
        from ..conformance.witnesses.outside import perform_file
        from ..validation.show import render_performed
        from ..validation.validate import mark

        followed = perform_file(choose(None, target, source.profile, configure=False), source, found, mark())
        write(json, followed.data())
        render_performed(followed)
        return exit_code(findings=not followed.agrees and not followed.lost, undecided=not followed.agrees)
    from ..conformance.stateful.replay import replay_witness
    from ..conformance.stateful.show import performed, render_replayed

    done = replay_witness(source, found, performed)
    write(json, done.data())
    render_replayed(done)
    return exit_code(findings=not done.agrees, undecided=False)


def hazard(*ids: str, profile: Profile | None = None, json: Json = None) -> int:
    """Show known hazards of the described system: each a short program on a simulated cluster, with every fact asserted.

    Parameters
    ----------
    ids
        The hazards to show step by step, such as HAZ-07; without any, all are performed and listed in a line each.
    profile
        The profile to show them in, instead of each hazard's own.
    json
        Write the hazards with their steps to this file.
    """
    from ..hazards import HAZARDS, chosen, gallery, report
    from ..reports import output

    wanted = chosen(ids, profile)
    found, stopped = interrupts.gathered(gallery.perform(one, one.profile(profile)) for one in wanted)
    write(json, (performed.data() for performed in found))
    if ids:
        report.print_hazards(found)
    else:
        report.print_list(found, len(HAZARDS) - len(wanted))
    if stopped:
        output.tell(f"rocketproof: stopped by Ctrl-C after {len(found)} of {len(wanted)} hazards")
    return exit_code(findings=any(performed.finding for performed in found), undecided=stopped)
