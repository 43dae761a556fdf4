"""Commands about the model: check it, and look at the witnesses that come of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..reports.choices import InputError
from ..reports.exitcode import OK, exit_code
from . import reporting
from .common import All, Count, Json, Many, Natural, Pages, Profile, Seconds, write

ModelFile = Annotated[str | None, Parameter(help="A Python file with a model of your own; without it the built-in specification.")]
Scope = Annotated[str | None, Parameter(help="The finite sizes; `tiny` for the specification, the first scope of a file unless given.")]
ModelProfile = Annotated[Profile | None, Parameter(help="The profile of the specification, P49 unless given.")]
Sizes = Annotated[
    tuple[str, ...],
    Parameter(name="--set", help="A size or a constant of a model file, instead of its scope's: --set rms=4; may be repeated."),
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
) -> int:
    """Decide properties and compare the verdicts with the expected ones.

    Of the built-in specification a line for each property is printed, and in full what is not as expected; all verdicts are printed of
    a model of your own, of properties that are named, and with --all.

    Verdicts are cached: one is used again, and marked as cached, until the model, the property, the engine's options or its code change.

    Parameters
    ----------
    file
        A Python file with a model of your own, called `model` or built by a function of that name, or FILE::NAME for another name; without
        it the built-in specification is checked.
    property
        Only the property with this id; may be repeated.
    profile
        Only this profile, such as P49; may be repeated.
    scope
        The finite sizes to check in, instead of those that the catalogue names.
    engine
        explicit, symbolic, simulate, stateful or all of these, instead of those that the catalogue names; or spark, the
        explicit search on the workers of a cluster.
    proof
        How the symbolic engine proves: induction, invariants (induction with invariants that reached states suggest) or spacer (z3's search
        for an invariant, backwards from the claim); without it by induction after 8 steps without violation.
    condition
        Only verdicts under this condition (its words, or some of them).
    seed
        Seed of the simulation.
    time
        Seconds after which the run stops; what is undecided then is unknown.
    memory
        Megabytes that an engine may use for its states; three quarters of the free memory unless given.
    workers
        Threads of the search; all cores unless given.
    symmetry
        Visit one of the states that differ only in which element of a symmetric index is which; --no-symmetry visits all of them.
    master
        With --engine spark: the URL of Spark's master, instead of this machine.
    remote
        With --engine spark: the URL of a Spark Connect server, instead of a session of its own.
    cores
        With --engine spark: how many cores to use; all unless given.
    scratch
        With --engine spark: a folder for the states, which driver and workers reach by this path; that for temporary files
        unless given.
    checkpoint
        A folder in which the explicit search keeps its progress: the same command goes on from there after it was stopped or killed, also
        with other limits and workers. A search that has ended leaves nothing there.
    disk
        Megabytes of files in the folder of --checkpoint that the explicit search may use when its memory ends; memory alone unless given.
    every
        Print every verdict with its condition, its witnesses, and the guards that gave only one answer.
    json
        Write the verdicts to this file.
    pages
        A folder for the run's page and the explorer's pages of its witnesses, those of what is not as expected first.
    witnesses
        Folder for witness files; .rocketproof/witnesses unless given.
    certificates
        A folder in which a file is kept of each proof, which `rocketproof certificate FILE` checks.
    fresh
        Decide every verdict again, also those that an earlier run has kept.
    """
    for option, value in {"--master": master, "--remote": remote, "--cores": cores, "--scratch": scratch}.items():
        if value is not None and engine != "spark":
            raise InputError(f"{option} without --engine spark, which alone uses it; add it or leave {option} out")
    if checkpoint is not None and engine not in (None, "explicit", "all"):
        raise InputError(f"--checkpoint with --engine {engine}: only the explicit search keeps its progress; leave it out")
    room = 0 if disk is None else disk_room(disk, checkpoint)
    if master and remote:
        raise InputError("--master and --remote are two ways to one session; give one of them")
    from rocketproof_traces.common import pools

    from ..reports.output import tell
    from .checks import matrix, results, show, summary, witnessfiles
    from .checks import memory as remembered
    from .checks.plan import CheckRequest, plan
    from .checks.units import SparkCluster
    from .checks.verdictcache import VerdictCache

    folder = witnesses or witnessfiles.DEFAULT_FOLDER
    witnessfiles.check_folder(folder)
    if certificates is not None:
        witnessfiles.check_folder(certificates, "certificates")
    cluster = SparkCluster(master, remote, cores, scratch)
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
        first=remembered.read("check"),
        checkpoint=checkpoint,
        disk=None if disk is None else disk * _MEGABYTE,
        certificates=certificates,
        cache=VerdictCache(fresh=fresh, symmetry=symmetry, seed=seed),
    )
    if disk is not None:
        in_memory = "what is free" if limits.memory is None else f"{limits.memory // _MEGABYTE:,} MB"
        tell(f"states: {in_memory} of memory, then files in {checkpoint}, at most {disk:,} of {room:,} MB that are free there")
    with show.RunLine() as line:
        if engine == "spark":
            cluster.session()
        found = matrix.run(chosen.tasks, line, limits)
    write(json, (row.record() for row in found.rows))
    remembered.keep("check", chosen.tasks, found.rows, limits.first, found.broken)
    with reports.printing():
        if every or file is not None or property:
            show.print_report(found, chosen.left_out)
        else:
            summary.render(found, chosen.left_out)
    places = {one.property: one.source for one in chosen.tasks} if file is not None else {}
    source = "" if file is None else file.partition("::")[0]
    reports.write(
        lambda: results.run(found, "check", file or results.SUBJECT, " ".join(profile), chosen.left_out, results.stated(places)),
        source=source,
    )
    if found.faults:
        raise InputError(found.faults[0])
    return found.exit_code


def disk_room(disk: int, folder: Path | None) -> int:
    """The megabytes that are free for a checkpoint's files. Raises InputError if there is no folder, or less room than asked for."""
    if folder is None:
        raise InputError("--disk without --checkpoint, which names the folder for the files; add it or leave --disk out")
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free // _MEGABYTE
    if disk > free:
        raise InputError(f"--disk {disk}: {folder} has {free} MB free; give fewer megabytes or another folder")
    return free


def certificate(file: str, /, *, smt2: Path | None = None, time: Seconds | None = None, json: Json = None) -> int:
    """Check a proof that `rocketproof check --certificates` has kept, without the engine that found it.

    The model is built anew and the claim has to be the one that it states. Then every initial state is one of the invariant, every step
    from it stays inside and does what is claimed, and no state of it has an error of the model; or what is not so is told. Exits with 0 if
    the certificate is accepted, with 1 if it is refused.

    Parameters
    ----------
    file
        A certificate.
    smt2
        Write the obligations to this file, in SMT-LIB 2: a solver of your own answers `unsat` to each.
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
    found = certificates.load(file)
    instance, claim = found.instance, found.claim
    if smt2 is not None:
        replace_text(smt2, checking.smt2(instance, claim, found.invariants), "--smt2")
    stopped = why = ""
    try:
        why = checking.refusal(instance, claim, found.invariants, limits=Limits(seconds=time))
    except LimitReached as limit:
        stopped = limit.reason
    verdict = "undecided" if stopped else "refused" if why else "accepted"
    write(json, {
        "certificate": file, "model": instance.model.name, "property": claim.id, "kind": claim.kind, "sentence": claim.sentence,
        "invariants": len(found.invariants), "verdict": verdict, "reason": stopped or why,
    })  # fmt: skip
    page = Page()
    page.line(f"{claim.id} ({claim.kind.replace('_', ' ')})  {claim.sentence}")
    page.line(f"{verdict}: {found.source.name or instance.model.name}, {counted(len(found.invariants), 'invariant')}", "bold")
    if stopped or why:
        page.wrapped(why or f"stopped by a limit ({stopped}); give it more --time", first="  ", indent=2)
    return exit_code(findings=why, undecided=stopped)


def show(witness: str, /, *, width: Count | None = None, json: Json = None) -> int:
    """Show a witness: what changed at each step, who acted, and whether the property held along the way.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written, or a program of messages that `check`, `test` or `campaign` has.
    width
        Columns to print in, instead of the terminal's.
    json
        Write the document of the trace to this file: the model, each state, what each step changes, what could happen there and what is
        refused, as the explorer's page reads it.
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
    found = witnessfiles.load(witness)
    if json is not None:
        from .explorer import traces

        write(json, traces.of_file(witness).document())
    render(witness_view(found), Output(width), explain_command(witness, found))
    return OK


def explain(witness: str, /, *, step: int, why_not: str | None = None, width: Count | None = None) -> int:
    """Explain a step of a witness: what could happen before it, and which guard refuses an action that could not.

    Parameters
    ----------
    witness
        A witness file that `rocketproof check` has written.
    step
        The step, counted from 1; one more than the last is the state at the end.
    why_not
        An action with its arguments, such as 'refresh(p=1)'.
    width
        Columns to print in, instead of the terminal's.
    """
    from rocketproof_traces.witness import explain as explaining

    from ..reports.output import Output
    from .checks import witnessfiles

    found = explaining.explain(witnessfiles.load(witness), step, why_not)
    explaining.render(found, Output(width))
    return OK


def picture(witness: str, /, *, output: Path) -> int:
    """Draw a witness as a sequence diagram in SVG, which browsers, GitHub and word processors show.

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
        The file to write; standard output unless given.
    states
        Refuse graphs with more states than this.
    """
    from ..catalogue.source import choose

    subject = choose(file, scope, profile, settings).subject()
    from rocketproof_traces.witness import graph as graphs

    from ..reports.files import STREAM, replace_text

    made = graphs.state_graph(subject.instance, states, subject.properties)
    text = graphs.to_dot(made) if form == "dot" else graphs.to_graphml(made)
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
    """Write a model for another tool: a TLA+ module and the configuration with which TLC checks it.

    Parameters
    ----------
    form
        tla.
    output
        The folder to write to, this one unless given.
    """
    from rocketproof_model import tla

    from ..catalogue.source import choose
    from ..reports.files import replace_text
    from ..reports.output import write as print_result

    subject = choose(file, scope, profile, settings).subject()
    if output.exists() and not output.is_dir():
        raise InputError(f"--output {output} is a file; give a folder for the module and its configuration")
    made = tla.module(subject.instance, properties=subject.properties)
    for suffix, text in (("tla", made.text), ("cfg", made.config)):
        path = output / f"{made.name}.{suffix}"
        replace_text(path, text, "--output")
        print_result(f"{path}\n")
    return OK
