"""The commands that measure the project itself: `mutate`, `requirements` and `bench`.

They exist only in a clone. The wheel does not contain this package.
"""

from __future__ import annotations

from pathlib import Path

from rocketproof_properties.commands.common import All, Count, Flag, Json, Natural, Profile, Seconds, needs_pytest, write
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.exitcode import OK, exit_code


def mutate(
    *ids: str,
    specification: Flag = False,
    generated: Count | None = None,
    programs: Count | None = None,
    profile: Profile | None = None,
    sample: Count | None = None,
    seed: Natural = 0,
    resume: Path | None = None,
    json: Json = None,
    workers: Count | None = None,
    time: Seconds | None = None,
    tests: Path | None = None,
    every: All = False,
) -> int:
    """Make small changes to the implementation or the specification and report which are noticed.

    By default, tests must notice seeded mutants of the implementation. With --generated a validation over the wire must notice generated
    changes.

    Parameters
    ----------
    ids
        Mutants to try, such as M-01. With --specification: its parts, actions or mutants, such as persistence or acquire_lock. With
        --generated: parts (broker, store, "name server", producer), modules such as broker/sending, single changes, or `releases`.
        Default: all except `releases`.
    specification
        Change each guard and each assignment of each action of the specification, with every known operator. A change is noticed if the
        verdict of a property changes or the implementation behaves differently.
    generated
        Number of changes of the implementation. They are chosen by the seed, evenly over the modules, and each is validated over the
        wire. Changes of `releases` set a switch of the profile to the value of the nearest release that differs.
    programs
        With --generated: maximum number of programs per change. Default: 300.
    profile
        With --generated: profile of the changed implementation. Default: P494.
    sample
        With --specification: number of mutants to try, chosen at random.
    seed
        Seed of the sample, the generated changes and their programs.
    resume
        With --specification or --generated: a file written by --json. Mutants that are decided in it are not tried again.
    json
        Write the result of each mutant to this file, also if the run is interrupted.
    workers
        Number of processes that run tests or try mutants. Default: all cores.
    time
        Seconds after which the run stops. Mutants that are still undecided are listed.
    tests
        Folder of the tests. Default: tests. With --generated these tests run instead of a validation. Each change is tried with the test
        files that call the changed function.
    every
        With --specification or --generated: print one line per mutant.
    """
    if generated is not None:
        if specification or sample is not None:
            raise InputError("--generated with --specification or --sample: it is one or the other; leave out one of them")
        return _mutate_generated(
            ids, generated, programs or 300, profile or "P494", seed, resume, json, workers, time, tests, every=every
        )  # fmt: skip
    if programs is not None or profile is not None:
        raise InputError("--programs and --profile are for generated changes: add --generated, or leave them out")
    if specification:
        if tests is not None:
            raise InputError("--tests with --specification: no tests are run for the specification's mutants; leave out one of them")
        return _mutate_specification(ids, sample, seed, resume, json, workers, time, every=every)
    options = {"--sample": sample is not None, "--resume": resume is not None, "--all": every}
    misused = [name for name, is_given in options.items() if is_given]
    if misused:
        raise InputError(f"{misused[0]} is for mutants of the specification: add --specification or leave it out")
    needs_pytest("mutate")
    from .seeded import registry

    chosen = registry.mutants(ids)
    from rocketproof_properties.reports import output
    from rocketproof_traces.common import pools

    from .seeded import trials
    from .seeded.show import print_mutants

    with output.phases() as progress:
        report = trials.mutate(chosen, tests or Path("tests"), workers or pools.cores(), time, progress)
    write(json, (row.record() for row in report.rows))
    print_mutants(report)
    return report.exit_code


def _mutate_generated(
    ids: tuple[str, ...], count: int, programs: int, profile: str, seed: int, resume: Path | None, json: Path | None,
    workers: int | None, time: float | None, tests: Path | None, *, every: bool,
) -> int:  # fmt: skip
    from rocketproof_properties.reports import output
    from rocketproof_properties.reports.files import write_json
    from rocketproof_traces.common import pools

    from .generated import results, run, sampling, switched
    from .generated.show import print_changes

    of_releases = ids == (switched.PART,)
    workers = workers or pools.cores()
    if tests is not None:
        if of_releases:
            raise InputError(f"--tests with {switched.PART}: tests ask for the profile as it is; leave out one of them")
        needs_pytest("mutate --generated with --tests")
        from .seeded import trials
        from .seeded.show import print_mutants

        mutants = [change.mutant() for change in sampling.chosen(ids, count, seed)]
        with output.phases() as progress:
            tried = trials.mutate(mutants, tests, workers, time, progress)
        write(json, (row.record() for row in tried.rows))
        print_mutants(tried)
        return tried.exit_code
    chosen = switched.sample(profile, count, seed) if of_releases else sampling.chosen(ids, count, seed)
    options = {"profile": profile, "programs": programs, "seed": seed}
    known = results.known(resume, options) if resume is not None else {}
    with output.phases() as progress:
        report = run.run(
            chosen, profile=profile, programs=programs, seed=seed, workers=workers, seconds=time, progress=progress, known=known,
            keep=lambda so_far: None if json is None else write_json(json, so_far.record()),
        )  # fmt: skip
    write(json, report.record())
    print_changes(report, every=every)
    return report.exit_code


def _mutate_specification(
    ids: tuple[str, ...], sample: int | None, seed: int, resume: Path | None, json: Path | None, workers: int | None, time: float | None,
    *, every: bool,
) -> int:  # fmt: skip
    from rocketproof_properties.reports import output
    from rocketproof_traces.common import pools

    from .specification import results, run
    from .specification.show import print_mutants

    known = results.known(resume) if resume is not None else None
    chosen = run.chosen(ids, sample, seed)
    with output.phases() as progress:
        report = run.run(chosen, workers=workers or pools.cores(), seconds=time, progress=progress, known=known)
    write(json, report.record())
    print_mutants(report, every=every)
    return report.exit_code


def requirements(
    *ids: str,
    results: Path | None = None,
    tests: Path | None = None,
    json: Json = None,
    every: All = False,
) -> int:
    """Show where each rule of the described behaviour is implemented and which tests passed for it.

    With ids, show file and line of every reference: code, actions of the model, properties, hazards, mutants and tests.

    Parameters
    ----------
    ids
        Rules, properties, hazards or mutants to look up, such as CHK-10, INV-34 or HAZ-01. No test is run.
    results
        A file written by `pytest --requirements=FILE`. Without it and without ids the marked tests run for minutes on all cores.
    tests
        Folder of the tests. Default: the project's tests.
    json
        Write the rules with their evidence to this file.
    every
        List every rule, including those with code and a passed test.
    """
    if results is not None and tests is not None:
        raise InputError("--tests with --results: with results no test is run; leave out one of them")
    if ids and (results is not None or every):
        option = "--results" if results is not None else "--all"
        raise InputError(f"{option} with ids: where they are stated is read from the sources; leave out one of them")
    if results is None and not ids:
        needs_pytest("requirements without --results")
    from . import requirements as requiring
    from .requirements import show

    if ids:
        from .requirements.references import look_up

        entries = look_up(ids, tests)
        write(json, (entry.record() for entry in entries))
        show.print_entries(entries)
        return OK
    known = requiring.read(results) if results is not None else None
    untested = requiring.untested()  # before the tests: it takes seconds, and a stopped command must end within two
    ran, stopped = (known, False) if known is not None else requiring.run_tests(tests)
    evidence = requiring.tested(untested, ran, stopped=stopped)
    write(json, (rule.record() for rule in evidence))
    show.print_requirements(evidence, every)
    return exit_code(findings=any(rule.is_gap for rule in evidence), undecided=stopped)
