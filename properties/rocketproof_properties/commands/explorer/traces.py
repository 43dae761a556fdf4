"""Traces to explore: a witness file, the counterexample of a property, or a walk from the initial state.

A counterexample is searched for when it is requested. A property without a counterexample opens as a walk, with a note.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rocketproof_traces.explorer.document import CommandLine, TraceSubject
from rocketproof_traces.explorer.opened import Progress, Trace, walk

from ...catalogue.source import ModelSource, choose
from ...reports.choices import InputError
from ...reports.output import counted
from ..checks import witnessfiles
from ..checks.plan import CheckRequest, CheckTask, plan
from ..checks.rows import VerdictRow

ENGINE = "explicit"
CHOICES: Final = ("property", "profile", "scope", "condition")
"""The fields of a wish that are options of `rocketproof explore`."""


@dataclass(frozen=True)
class Wish:
    """The trace that a user requests: a property and filters of its cases, or a walk in a scope if there is no property.

    `file` is a model file, None for the specification.
    """

    property: str | None = None
    profile: str | None = None
    scope: str | None = None
    condition: str | None = None
    file: str | None = None

    def arguments(self) -> str:
        """Return the arguments of `rocketproof explore` that request this trace, quoted for a shell."""
        words = [self.file] if self.file else []
        for name in CHOICES:
            if value := getattr(self, name):
                words += [f"--{name}", value]
        return shlex.join(words)


def of_file(path: str) -> Trace:
    """Return the trace of a witness file. Raises RocketproofError in one line."""
    source, witness = witnessfiles.load_with_source(path)
    claim = witness.property
    return Trace(witness, _subject(source, _condition(source, claim.id, claim.kind), ""), _of_path(path, len(witness.moves)))


def of_wish(wish: Wish, report: Progress) -> Trace:
    """Return the requested trace. Raises RocketproofError in one line."""
    if wish.property is None:
        if wish.condition is not None:
            raise InputError("--condition without --property; a condition belongs to a property's case")
        source = choose(wish.file, wish.scope, wish.profile)
        return walk(source.subject().instance, _subject(source, "", ""))
    tasks = _tasks(wish)
    outcomes: list[str] = []
    for task in tasks:
        row, trace = _decided(task, report)
        if trace is not None:
            return trace
        outcomes.append(f"{task.source.profile} {task.condition}".strip() + f": {_outcome(row)}")
    source = tasks[0].source
    subject = source.subject()
    claim = subject.property(tasks[0].claim, tasks[0].kind)
    note = f"There is no trace to show ({'; '.join(outcomes)}): this is a walk from the initial state."
    return walk(subject.instance, _subject(source, tasks[0].condition, ENGINE), claim, note, _of_task(tasks[0]))


def _tasks(wish: Wish) -> list[CheckTask]:
    """Return the cases of a property that a search decides: those expected to have a witness, else the first."""
    assert wish.property is not None
    profiles = () if wish.profile is None else (wish.profile,)
    chosen = plan(CheckRequest(wish.file, (wish.property,), profiles, wish.scope, None, wish.condition))
    tasks = [task for task in chosen.tasks if task.engine == ENGINE]
    if not tasks:
        kinds = ", ".join(sorted({task.kind for task in chosen.tasks}))
        raise InputError(
            f"{wish.property} ({kinds}) says nothing of paths of a model, so there is none to explore; check it by `rocketproof check`"
        )
    if wish.profile is None and wish.file is None:
        tasks = [task for task in tasks if task.source.profile == "P49"] or tasks
    with_witness = [task for task in tasks if task.expected == ("holds" if task.kind == "reachable" else "violated")]
    return with_witness or tasks[:1]


def _decided(task: CheckTask, report: Progress) -> tuple[VerdictRow, Trace | None]:
    """Decide one case. Return its row, and its trace if there is one. Raises RocketproofError."""
    from rocketproof_model.result import Limits
    from rocketproof_model.result import Progress as At
    from rocketproof_traces.common import pools

    from ..checks import matrix
    from ..checks.decide import decide
    from ..checks.units import Budget

    with TemporaryDirectory(prefix="rocketproof-explore-") as folder:
        (unit,) = matrix.units([task], Path(folder))
        report(str(unit))

        def progress(at: At) -> None:
            report(f"{unit}, depth {at.depth}" + (f", {at.states:,} states" if at.states else ""))

        answer = decide(unit, Budget(Limits(memory=matrix.default_memory()), pools.cores()), progress)
        if answer.interrupted:
            raise KeyboardInterrupt
        if answer.problems:
            raise InputError(f"{task.property} cannot be decided: {answer.problems[0]}")
        row = answer.rows[task]
        if row.witness is None:
            return row, None
        witness = witnessfiles.load(row.witness)
    return row, Trace(witness, _subject(task.source, task.condition, ENGINE), _of_task(task))


def _outcome(row: VerdictRow) -> str:
    return ", ".join(part for part in (row.verdict, row.reason, counted(row.states, "state") if row.states else "") if part)


def _subject(source: ModelSource, condition: str, engine: str) -> TraceSubject:
    return TraceSubject(source.file or "the specification", source.scope, source.profile, condition, engine)


def _condition(source: ModelSource, id_: str, kind: str) -> str:
    """Return the catalogue's condition for the case of a witness."""
    from ...catalogue.table import CASES

    if source.file is not None:
        return ""
    same = (c for c in CASES if (c.claim, c.kind, c.scope, c.profile) == (id_, kind, source.scope, source.profile))
    return next((c.condition for c in same if tuple(sorted(c.given.items())) == source.given), "")


def _of_path(path: str, steps: int) -> tuple[CommandLine, ...]:
    file = shlex.quote(path)
    commands = [CommandLine("show it as text", f"rocketproof show {file}")]
    if steps:
        commands.append(CommandLine("explain a step", f"rocketproof explain {file} --step 1"))
    return (
        *commands,
        CommandLine("perform it on the implementation", f"rocketproof replay {file}"),
        CommandLine("write it as a test", f"rocketproof to-test {file} > test_it.py"),
        CommandLine("open it again", f"rocketproof explore {file}"),
    )


def _of_task(task: CheckTask) -> tuple[CommandLine, ...]:
    source = task.source
    again = Wish(task.claim, source.profile, source.scope if source.file else None, task.condition, source.file).arguments()
    return (CommandLine("check it again", f"rocketproof check {again}"), CommandLine("open it again", f"rocketproof explore {again}"))


__all__ = ["CHOICES", "Wish", "of_file", "of_wish"]
