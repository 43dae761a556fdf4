"""The commands that measure the project itself: `mutate`, `requirements` and `bench`.

They exist only in a clone. The wheel does not contain this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rocketproof_properties.commands.common import All, Count, Flag, Json, Natural, Profile, Seconds, needs_pytest, write
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.exitcode import OK, exit_code

if TYPE_CHECKING:
    from .mutation.mutant import Mutant
    from .mutation.runner import MutantTrial


def mutate(
    *ids: str,
    specification: Flag = False,
    generated: Count | None = None,
    programs: Count | None = None,
    cover: Literal["transitions"] | None = None,
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
    cover
        With --generated: if these programs do not notice a change, try it with those of `validate --cover transitions`.
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
    given = {
        "--generated": generated is not None, "--specification": specification, "--sample": sample is not None,
        "--programs": programs is not None, "--cover": cover is not None, "--profile": profile is not None, "--tests": tests is not None,
        "--resume": resume is not None, "--all": every,
    }  # fmt: skip
    _check_options([option for option, is_given in given.items() if is_given])
    from rocketproof_properties.reports import output
    from rocketproof_properties.reports.files import STREAM, write_json
    from rocketproof_traces.common import pools

    from .mutation.report import print_report
    from .mutation.results import MutationReport, read_known
    from .mutation.runner import MutationRun

    def keep(so_far: MutationReport) -> None:
        if json not in (None, STREAM):
            write_json(json, so_far.record())

    mutants, trial = _mutants_and_trial(
        ids, generated, programs or 300, profile or "P494", sample, seed, tests, specification=specification, cover=cover is not None
    )
    known = read_known(resume, trial.format, trial.options) if resume is not None else None
    with output.phases() as progress:
        run = MutationRun(trial, workers=workers or pools.cores(), seconds=time, progress=progress, known=known, keep=keep)
        report = run.report(mutants)
    write(json, report.record() if json is not None else ())
    print_report(report, every=every)
    return report.exit_code


def _check_options(given: Sequence[str]) -> None:
    """Raise InputError for options of `mutate` that do not go together."""
    of_generated, of_specification = "--generated" in given, "--specification" in given
    if of_generated and {"--specification", "--sample"} & {*given}:
        raise InputError("--generated with --specification or --sample: it is one or the other; leave out one of them")
    if not of_generated and {"--programs", "--profile", "--cover"} & {*given}:
        raise InputError("--programs, --profile and --cover are for generated changes: add --generated, or leave them out")
    if {"--tests", "--cover"} <= {*given}:
        raise InputError("--cover with --tests: tests run instead of programs; leave out one of them")
    if of_specification and "--tests" in given:
        raise InputError("--tests with --specification: no tests are run for the specification's mutants; leave out one of them")
    if of_generated and {"--tests", "--resume"} <= {*given}:
        raise InputError("--resume with --tests: a run of tests cannot be resumed; leave out one of them")
    if not of_generated and not of_specification:
        misused = next((option for option in given if option in ("--sample", "--resume", "--all")), None)
        if misused is not None:
            raise InputError(f"{misused} is for mutants of the specification: add --specification or leave it out")


def _mutants_and_trial(
    ids: tuple[str, ...], generated: int | None, programs: int, profile: str, sample: int | None, seed: int, tests: Path | None,
    *, specification: bool, cover: bool,
) -> tuple[Sequence[Mutant], MutantTrial[Any]]:  # fmt: skip
    """Return the chosen mutants of one source, and the trial that decides whether they are noticed."""
    if specification:
        from .mutation.specification import by_models
        from .mutation.specification import mutants as of_specification

        return of_specification.chosen(ids, sample, seed), by_models.TrialByModels()
    if generated is None:
        needs_pytest("mutate")
        from .mutation import by_tests
        from .mutation.seeded import registry

        return registry.mutants(ids), by_tests.TrialByTests(tests or Path("tests"))
    from .mutation.generated import sampling, switched

    of_releases = ids == (switched.PART,)
    if tests is not None:
        if of_releases:
            raise InputError(f"--tests with {switched.PART}: tests ask for the profile as it is; leave out one of them")
        needs_pytest("mutate --generated with --tests")
        from .mutation import by_tests

        return sampling.chosen(ids, generated, seed), by_tests.TrialByTests(tests)
    from .mutation.generated import by_wire

    chosen = switched.sample(profile, generated, seed) if of_releases else sampling.chosen(ids, generated, seed)
    return chosen, by_wire.TrialByWire(profile, programs, seed, cover=cover)


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
