"""The commands by which the project measures itself: `mutate`, `requirements` and `bench`.

They are there in a clone, where this package is; the wheel leaves it out.
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
    """Change the implementation in small ways and see whether the tests notice each change; or the specification, and what notices that.

    With --generated the changes are made by machine, and a validation over the wire has to notice them.

    Parameters
    ----------
    ids
        The mutants to try, such as M-01; with --specification parts, actions or mutants of it, such as persistence or acquire_lock; with
        --generated parts (broker, store, "name server", producer), modules such as broker/sending, or changes, or `releases`. All but
        `releases` unless given.
    specification
        Change the specification: each guard and each assignment of each action, in every way that the tool knows. A change is noticed by
        a property whose verdict is another one, or by the implementation, which does otherwise.
    generated
        Make so many changes of the implementation, drawn by the seed and even over the modules, and validate each over the wire. Those of
        `releases` are switches of the profile, each as the nearest release has it that differs.
    programs
        With --generated: how many programs a change is validated with, at most; 300 unless given.
    profile
        With --generated: the profile of the changed implementation; P494 unless given.
    sample
        With --specification: try so many mutants, drawn at random.
    seed
        Seed of the sample, and of the generated changes and their programs.
    resume
        With --specification or --generated: a file that --json wrote; what is decided there is not tried again.
    json
        Write what came of each mutant to this file, of an interrupted run too.
    workers
        Processes that run tests or try mutants; all cores unless given.
    time
        Seconds after which the run stops; what is undecided then is named.
    tests
        The folder of the tests; tests unless given. With --generated these tests are run instead of a validation, each change with those
        of files that call what it changes.
    every
        With --specification or --generated: print a line for each mutant.
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
    odd = [name for name, given in options.items() if given]
    if odd:
        raise InputError(f"{odd[0]} is for mutants of the specification: add --specification or leave it out")
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

        mutants = [one.mutant() for one in sampling.chosen(ids, count, seed)]
        with output.phases() as progress:
            tried = trials.mutate(mutants, tests, workers, time, progress)
        write(json, (row.record() for row in tried.rows))
        print_mutants(tried)
        return tried.exit_code
    chosen = switched.sample(profile, count, seed) if of_releases else sampling.chosen(ids, count, seed)
    asked = {"profile": profile, "programs": programs, "seed": seed}
    known = results.known(resume, asked) if resume is not None else {}
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
    """Show for every rule of the described behaviour where it is implemented and which tests passed for it.

    With ids, show where each is stated: code, actions of the model, properties, hazards, mutants and tests, with file and line.

    Parameters
    ----------
    ids
        Rules, properties, hazards or mutants to look up, such as CHK-10, INV-34 or HAZ-01; no test is run.
    results
        What a run of `pytest --requirements=FILE` wrote; without it and without ids the marked tests are run, for minutes on all cores.
    tests
        The folder of the tests, instead of the project's.
    json
        Write the rules with their evidence to this file.
    every
        List every rule, not only those without code or without a passed test.
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
        write(json, (one.record() for one in entries))
        show.print_entries(entries)
        return OK
    known = requiring.read(results) if results is not None else None
    untested = requiring.untested()  # before the tests: it takes seconds, and a command that is stopped has two to end
    ran, stopped = (known, False) if known is not None else requiring.run_tests(tests)
    found = requiring.tested(untested, ran, stopped=stopped)
    write(json, (one.record() for one in found))
    show.print_requirements(found, every)
    return exit_code(findings=any(one.is_gap for one in found), undecided=stopped)
