"""Commands about the model: check it, and show, explain, draw or export the results."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from ..reports.choices import InputError
from ..reports.exitcode import OK, exit_code
from . import reporting
from .common import All, Conf, Count, Environment, Flag, Json, Many, Natural, Pages, Profile, Seconds, write

ModelFile = Annotated[str | None, Parameter(help="A Python file with your own model. Default: the built-in specification.")]
Scope = Annotated[str | None, Parameter(help="The finite sizes. Default: `tiny` for the specification, the first scope for a file.")]
ModelProfile = Annotated[Profile | None, Parameter(help="The profile of the specification. Default: P49.")]
Sizes = Annotated[
    tuple[str, ...],
    Parameter(name="--set", help="A size or a constant of a model file that overrides its scope: --set rms=4; may be repeated."),
    Many,
]

_MEGABYTE = 1 << 20


def check(
    file: str | None = None,
    /,
    *,
    property: Annotated[tuple[str, ...], Many] = (),
    profile: Annotated[tuple[str, ...], Many] = (),
    scope: str | None = None,
    engine: str | None = None,
    proof: str | None = None,
    condition: str | None = None,
    settings: Sizes = (),
    seed: Natural = 0,
    time: Seconds | None = None,
    memory: Count | None = None,
    workers: Count | None = None,
    symmetry: Annotated[bool, Parameter(negative="--no-symmetry")] = True,
    master: str | None = None,
    remote: str | None = None,
    cores: Count | None = None,
    conf: Conf = (),
    environment: Environment = None,
    scratch: Path | None = None,
    checkpoint: Path | None = None,
    disk: Count | None = None,
    every: All = False,
    json: Json = None,
    report: reporting.Reports = (),
    since: reporting.Since = None,
    pages: Pages = None,
    witnesses: Path | None = None,
    certificates: Path | None = None,
    fresh: Annotated[bool, Parameter(negative=(), env_var="ROCKETPROOF_FRESH")] = False,
    watch: Flag = False,
) -> int:
    """Decide properties and compare the verdicts with the expected ones.

    For the built-in specification, the output has one line per property, and every verdict that is not as expected. All verdicts are
    printed for your own model, for properties that are named, and with --all.

    Verdicts are cached. A cached verdict is marked as such. It is used until the model, the property, the engine's options or code change.

    Parameters
    ----------
    file
        A Python file with your own model: an object `model`, or a function of that name that builds it. FILE::NAME selects another
        name. Default: the built-in specification.
    property
        Only the property with this id; may be repeated.
    profile
        Only this profile, such as P49, or a release, such as 4.9.4; may be repeated. For a release, each property is decided in the
        nearest profile for which the catalogue has a verdict.
    scope
        The finite sizes. Default: those that the catalogue names.
    engine
        explicit, symbolic, simulate, stateful or all (these four), or spark: the explicit search on the workers of a cluster.
        Default: the engines that the catalogue names.
    proof
        The proof method of the symbolic engine: induction, invariants (induction with invariants inferred from reached states) or
        spacer (z3 searches for an invariant backwards from the claim). Default: bounded checking of 8 steps, then induction.
    condition
        Only verdicts under this condition (its text, or a part of it).
    seed
        Seed of the simulation.
    time
        Seconds after which the run stops. Undecided properties are then unknown.
    memory
        Megabytes that an engine may use for its states. Default: three quarters of the free memory.
    workers
        Threads of the search. Default: one per core.
    symmetry
        Symmetry reduction: visit one state of each set that differs only by a permutation of a symmetric index. --no-symmetry visits
        all of them.
    master
        With --engine spark: the URL of Spark's master. Default: this machine.
    remote
        With --engine spark: the URL of a Spark Connect server. Default: a local session.
    cores
        With --engine spark: the number of cores to use. Default: all.
    scratch
        With --engine spark: a folder for the states, at the same path for driver and workers. Default: the folder for temporary
        files.
    checkpoint
        A folder in which the explicit search saves its progress. After it was stopped or killed, the same command continues, also with
        other limits and workers. A search that has ended deletes its files.
    disk
        Megabytes of files that the explicit search may write to the folder of --checkpoint when its memory is full. Default: none.
    every
        Print every verdict with its condition, its witnesses, and the guards that gave only one answer.
    json
        Write the verdicts to this file.
    pages
        A folder for the HTML page of the run and the explorer's pages of its witnesses, unexpected verdicts first.
    witnesses
        Folder for witness files. Default: .rocketproof/witnesses.
    certificates
        A folder for one certificate file per proof, which `rocketproof certificate FILE` checks.
    fresh
        Decide every verdict again; do not use cached verdicts.
    watch
        Check the model file again whenever it changes, until Ctrl-C. Only what changed is decided again.
    """
    if watch:
        if file is None:
            raise InputError("--watch without a model file: the specification does not change; give the file of your model")
        from .checks import watching

        again = {name: value for name, value in locals().items() if name in _OPTIONS}
        return watching.repeat(file, lambda: check(file, **again))
    of_spark = {"--master": master, "--remote": remote, "--cores": cores, "--conf": conf, "--environment": environment}
    _refuse_conflicts(engine, checkpoint, {**of_spark, "--scratch": scratch})
    free = 0 if disk is None else disk_room(disk, checkpoint)
    if master and remote:
        raise InputError("--master and --remote are two ways to one session; give one of them")
    from rocketproof_traces.common import pools
    from rocketproof_traces.spark.cluster import SparkCluster

    from ..reports.output import tell
    from .checks import matrix, results, show, witnessfiles
    from .checks import memory as failures
    from .checks.plan import CheckRequest, plan
    from .checks.verdictcache import VerdictCache

    folder = witnesses or witnessfiles.DEFAULT_FOLDER
    witnessfiles.check_folder(folder)
    if certificates is not None:
        witnessfiles.check_folder(certificates, "certificates")
    cluster = SparkCluster(master, remote, cores, conf, environment, scratch)
    reports = reporting.asked("check", report, since, pages)
    chosen = plan(CheckRequest(file, property, profile, scope, engine, condition, settings, proof))
    limits = matrix.Settings(
        seconds=time,
        memory=memory * _MEGABYTE if memory is not None else None if engine == "spark" else matrix.default_memory(),
        workers=workers or pools.cores(),
        seed=seed,
        cluster=cluster,
        symmetry=symmetry,
        witnesses=folder,
        first=failures.read("check"),
        checkpoint=checkpoint,
        disk=None if disk is None else disk * _MEGABYTE,
        certificates=certificates,
        cache=VerdictCache(fresh=fresh, symmetry=symmetry, seed=seed),
    )
    if disk is not None:
        in_memory = "what is free" if limits.memory is None else f"{limits.memory // _MEGABYTE:,} MB"
        tell(f"states: {in_memory} of memory, then files in {checkpoint}, at most {disk:,} of {free:,} MB that are free there")
    with show.RunLine() as line:
        if engine == "spark":
            cluster.session()
        checked = matrix.run(chosen.tasks, line, limits)
    write(json, (row.record() for row in checked.rows))
    failures.keep("check", chosen.tasks, checked.rows, limits.first, checked.broken)
    with reports.printing():
        if every or file is not None or property:
            show.print_report(checked, chosen.left_out)
        else:
            from .checks import summary  # it loads the catalogue, which a check of a file does not need

            summary.render(checked, chosen.left_out)
    places = {task.property: task.source for task in chosen.tasks} if file is not None else {}
    source = "" if file is None else file.partition("::")[0]
    reports.write(
        lambda: results.run(checked, "check", file or results.SUBJECT, " ".join(profile), chosen.left_out, results.stated(places)),
        source=source,
    )
    if checked.faults:
        raise InputError(checked.faults[0])
    return checked.exit_code


_OPTIONS: Final = frozenset(inspect.signature(check).parameters) - {"file", "watch"}
"""The options of `check` that each check of `--watch` gets."""


def _refuse_conflicts(engine: str | None, checkpoint: Path | None, of_spark: Mapping[str, object]) -> None:
    """Raise InputError for options that do not apply to the engine. `of_spark` are the options of the engine spark."""
    for option, value in of_spark.items():
        if value not in (None, ()) and engine != "spark":
            raise InputError(f"{option} without --engine spark, which alone uses it; add it or leave {option} out")
    if checkpoint is not None and engine not in (None, "explicit", "all"):
        raise InputError(f"--checkpoint with --engine {engine}: only the explicit search keeps its progress; leave it out")


def disk_room(disk: int, folder: Path | None) -> int:
    """Return the free megabytes for a checkpoint's files. Raises InputError if there is no folder, or less space than requested."""
    if folder is None:
        raise InputError("--disk without --checkpoint, which names the folder for the files; add it or leave --disk out")
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free // _MEGABYTE
    if disk > free:
        raise InputError(f"--disk {disk}: {folder} has {free} MB free; give fewer megabytes or another folder")
    return free


def certificate(file: str, /, *, smt2: Path | None = None, time: Seconds | None = None, json: Json = None) -> int:
    """Check a proof that `rocketproof check --certificates` has written, without the engine that found it.

    The model is built again, and it must contain the claim. The check proves that every initial state satisfies the invariant, and
    that every step preserves it and satisfies the claim. No state of it may have a model error. The first failure is printed.
    Exit code 0: the certificate is accepted. 1: it is refused.

    Parameters
    ----------
    file
        A certificate.
    smt2
        Write the proof obligations to this file in SMT-LIB 2, for another solver, which must answer `unsat` to each.
    time
        Seconds after which the check stops.
    json
        Write the result to this file.
    """
    from rocketproof_model import LimitReached
    from rocketproof_model.proofs import certificate as checking
    from rocketproof_model.result import Limits

    from ..reports.files import check_writable, replace_text
    from ..reports.output import Page, counted
    from .checks import certificates

    if smt2 is not None:
        check_writable(smt2, "--smt2")
    loaded_certificate = certificates.load(file)
    instance, claim = loaded_certificate.instance, loaded_certificate.claim
    if smt2 is not None:
        replace_text(smt2, checking.smt2(instance, claim, loaded_certificate.invariants), "--smt2")
    stopped = refusal = ""
    try:
        refusal = checking.refusal(instance, claim, loaded_certificate.invariants, limits=Limits(seconds=time))
    except LimitReached as limit:
        stopped = limit.reason
    verdict = "undecided" if stopped else "refused" if refusal else "accepted"
    write(json, {
        "certificate": file, "model": instance.model.name, "property": claim.id, "kind": claim.kind, "sentence": claim.sentence,
        "invariants": len(loaded_certificate.invariants), "verdict": verdict, "reason": stopped or refusal,
    })  # fmt: skip
    page = Page()
    page.line(f"{claim.id} ({claim.kind.replace('_', ' ')})  {claim.sentence}")
    page.line(
        f"{verdict}: {loaded_certificate.source.name or instance.model.name}, {counted(len(loaded_certificate.invariants), 'invariant')}",
        "bold",
    )
    if stopped or refusal:
        page.wrapped(refusal or f"stopped by a limit ({stopped}); give it more --time", first="  ", indent=2)
    return exit_code(findings=refusal, undecided=stopped)


def show(witness: str, /, *, width: Count | None = None, json: Json = None) -> int:
    """Show a witness: each step with its actor, its changes, and whether the property held.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written, or a program of messages that `check`, `test` or `campaign` has written.
    width
        Columns of the output. Default: the terminal's width.
    json
        Write the trace to this file, in the format of the explorer's page: the model, each state, the changes of each step, and the
        enabled and disabled actions.
    """
    from rocketproof_traces.witness.show import render, witness_view

    from ..reports.output import Output
    from .checks import witnessfiles
    from .checks.show import explain_command, print_program

    if witness.endswith(".py"):
        if json is not None:
            raise InputError(f"--json with {witness}: a program of messages is a test and has no states; leave it out")
        print_program(witnessfiles.read_program(witness), witness)
        return OK
    loaded = witnessfiles.load(witness)
    if json is not None:
        from .explorer import traces

        write(json, traces.of_file(witness).document())
    render(witness_view(loaded), Output(width), explain_command(witness, loaded))
    return OK


def explain(witness: str, /, *, step: int, why_not: str | None = None, width: Count | None = None) -> int:
    """Explain a step of a witness: the actions enabled before it, and the guard that disables an action.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    step
        The step, counted from 1. The number after the last step is the final state.
    why_not
        An action with its arguments, such as 'refresh(p=1)'.
    width
        Columns of the output. Default: the terminal's width.
    """
    from rocketproof_traces.witness import explain as explaining

    from ..reports.output import Output
    from .checks import witnessfiles

    explanation = explaining.explain(witnessfiles.load(witness), step, why_not)
    explaining.render(explanation, Output(width))
    return OK


def picture(witness: str, /, *, output: Path) -> int:
    """Draw a witness as a sequence diagram in SVG.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    output
        The file to write, whose name ends in .svg.
    """
    if output.suffix.lower() != ".svg":
        raise InputError(f"--output {output}: a picture is SVG; give a name that ends in .svg (a browser prints it as PDF)")
    from rocketproof_traces.witness.picture import svg

    from ..reports.files import replace_text
    from .checks import witnessfiles

    replace_text(output, svg(witnessfiles.load(witness)), "--output")
    return OK


def graph(
    file: ModelFile = None,
    /,
    *,
    scope: Scope = None,
    profile: ModelProfile = None,
    settings: Sizes = (),
    form: Annotated[Literal["dot", "graphml"], Parameter(name="--format")] = "dot",
    output: Path | None = None,
    states: Count = 5_000,
) -> int:
    """Write the state graph of a small scope for Graphviz, networkx, Gephi or yEd.

    Parameters
    ----------
    form
        dot or graphml.
    output
        The file to write. Default: standard output.
    states
        Reject graphs with more states than this.
    """
    from ..catalogue.source import choose

    subject = choose(file, scope, profile, settings).subject()
    from rocketproof_traces.witness import graph as graphs

    from ..reports.files import STREAM, replace_text

    drawn = graphs.state_graph(subject.instance, states, subject.properties)
    text = graphs.to_dot(drawn) if form == "dot" else graphs.to_graphml(drawn)
    replace_text(output or STREAM, text, "--output")
    return OK


def export(
    form: Literal["tla"],
    file: ModelFile = None,
    /,
    *,
    scope: Scope = None,
    profile: ModelProfile = None,
    settings: Sizes = (),
    output: Path = Path(),
) -> int:
    """Write a model for another tool: a TLA+ module and its configuration for TLC.

    Parameters
    ----------
    form
        tla.
    output
        The folder to write to. Default: the current folder.
    """
    from rocketproof_model import tla

    from ..catalogue.source import choose
    from ..reports.files import replace_text
    from ..reports.output import write as print_result

    subject = choose(file, scope, profile, settings).subject()
    if output.exists() and not output.is_dir():
        raise InputError(f"--output {output} is a file; give a folder for the module and its configuration")
    module = tla.module(subject.instance, properties=subject.properties)
    for suffix, text in (("tla", module.text), ("cfg", module.config)):
        path = output / f"{module.name}.{suffix}"
        replace_text(path, text, "--output")
        print_result(f"{path}\n")
    return OK
