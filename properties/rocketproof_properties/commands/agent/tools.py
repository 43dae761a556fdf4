"""The tools as functions of their arguments and of what they may access. They call the functions of the commands that return data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...reports.choices import InputError, known
from ...reports.exitcode import OK, STOPPED
from .allowed import Allowed
from .answers import (
    Answer,
    CheckAnswer,
    CheckedProperty,
    ExplainAnswer,
    HazardAnswer,
    HazardEntry,
    HazardStepAnswer,
    JudgeAnswer,
    KnownBugsAnswer,
    RunAnswer,
    ValidateAnswer,
    ValidateFinding,
    WhyNotAnswer,
    WitnessStep,
)
from .bounded import bounded

if TYPE_CHECKING:
    from rocketproof_model.result import Progress as EngineProgress
    from rocketproof_model.result import Witness

    from ..checks.rows import VerdictRow
    from ..checks.units import Unit

Progress = Callable[[str, int, int], None]
"""Takes what is done, how much of it, and of how much; 0 if that is not known."""
PROFILE: Final = "P494"


def check(
    allowed: Allowed,
    progress: Progress,
    *,
    property: Sequence[str] = (),
    file: str | None = None,
    profile: Sequence[str] = (),
    scope: str | None = None,
    seconds: float = 60.0,
) -> CheckAnswer:
    """Decide properties of the specification, or of a model file."""
    from rocketproof_traces.common import pools

    from ..checks import matrix
    from ..checks.plan import CheckRequest, plan
    from ..checks.verdictcache import VerdictCache

    model = None if file is None else allowed.python(file)
    chosen = plan(CheckRequest(model, tuple(property), tuple(profile), scope))
    settings = matrix.Settings(
        seconds=seconds,
        memory=matrix.default_memory(),
        workers=pools.cores(),
        witnesses=allowed.session,
        cache=VerdictCache(fresh=False, symmetry=True, seed=0),
    )
    report = matrix.run(chosen.tasks, _Listener(progress), settings)
    if report.faults:
        raise InputError(report.faults[0])
    rows = sorted(report.rows, key=lambda row: (row.agrees is True, row.verdict != "violated"))
    problems = [*report.problems, *chosen.left_out]
    return CheckAnswer(_outcome(report.exit_code), [_checked(row) for row in rows], problems)


class _Listener:
    """Reports the progress of a check."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._at = self._of = 0

    def begin(self, number: int, of: int, unit: Unit) -> None:
        self._at, self._of = number, of
        self._progress(str(unit), number - 1, of)

    def decided(self, rows: Sequence[VerdictRow]) -> None:
        if rows:
            self._progress(f"{rows[0].id} {rows[0].verdict}", self._at, self._of)

    def progress(self, unit: Unit, at: EngineProgress) -> None:
        self._progress(f"{unit}, depth {at.depth}, {at.states:,} states", max(0, self._at - 1), self._of)


def _checked(row: VerdictRow) -> CheckedProperty:
    witness = "" if row.witness is None else Path(row.witness).name
    return CheckedProperty(
        row.id, row.sentence, row.profile, row.condition, row.verdict, row.expected, row.agrees, row.reason, row.states, row.length, witness
    )


def explain(allowed: Allowed, progress: Progress, *, witness: str, step: int | None = None) -> ExplainAnswer:
    """Show a counterexample step by step."""
    del progress
    from rocketproof_traces.witness.explain import explain as explained
    from rocketproof_traces.witness.show import witness_view

    loaded = _loaded(allowed, witness)
    view = witness_view(loaded)
    steps = [
        WitnessStep(
            one.number,
            one.lane,
            one.label,
            one.sentence,
            [f"{change.name}: {change.before} → {change.after}" for change in one.changes],
            one.truth,
        )
        for one in view.steps
    ]
    enabled = [] if step is None else list(explained(loaded, step).enabled)
    return ExplainAnswer(view.title, view.sentence, steps, view.loop, view.end, view.note, enabled)


def why_not(allowed: Allowed, progress: Progress, *, witness: str, step: int, action: str) -> WhyNotAnswer:
    """Explain which guard refuses an action before a step."""
    del progress
    from rocketproof_traces.witness.explain import explain as explained

    found = explained(_loaded(allowed, witness), step, action)
    asked = found.asked
    assert asked is not None
    refusal = asked.refusal
    return WhyNotAnswer(
        found.step,
        asked.label,
        asked.sentence,
        asked.enabled,
        "" if refusal is None else refusal.guard,
        "" if refusal is None else refusal.sentence,
        "" if refusal is None else refusal.condition,
        {} if refusal is None else {name: str(value) for name, value in refusal.values.items()},
        [f"{change.name}: {change.before} → {change.after}" for change in asked.would],
        asked.error or ("" if refusal is None else refusal.error),
    )


def _loaded(allowed: Allowed, witness: str) -> Witness:
    """Return a witness. Its model file must be one that may be executed."""
    from rocketproof_traces.witness import itf

    from ...catalogue.source import ModelSource
    from ..checks import witnessfiles

    path = allowed.witness(witness)
    if not path.endswith(".itf.json"):
        raise InputError(f"{witness!r} is no witness of states; give a file that ends in .itf.json, or the `witness` of a verdict")
    origin = itf.read(path).origin
    file = ModelSource.read(origin).file if origin else None
    if file is not None:
        allowed.python(file)
    return witnessfiles.load(path)


def hazard(allowed: Allowed, progress: Progress, *, hazard_id: str | None = None, profile: str | None = None) -> HazardAnswer:
    """List the known surprises, or run one."""
    del allowed
    from ...hazards import HAZARDS, chosen, gallery

    if hazard_id is None:
        return HazardAnswer(
            [HazardEntry(one.id, one.title, list(one.properties), [], one.profiles[0], None, [], []) for one in HAZARDS.values()]
        )
    (one,) = chosen([hazard_id], profile)
    progress(f"running {one.id}", 0, 1)
    done = gallery.perform(one, one.profile(profile))
    steps = [HazardStepAnswer(step.text, [f"{fact.what}: {fact.found}" for fact in step.facts]) for step in done.steps]
    entry = HazardEntry(one.id, one.title, list(one.properties), list(one.rules), done.profile, done.shown, list(one.about), steps)
    return HazardAnswer([entry])


def judge(allowed: Allowed, progress: Progress, *, history: str, profile: str = PROFILE, seconds: float = 30.0) -> JudgeAnswer:
    """Judge a recorded history by the specification."""
    from ..library.recorded import judge as judged

    verdict = judged(
        allowed.file(history), profile=profile, time=seconds, report=lambda done, of: progress("explaining responses", done, of)
    )
    data = verdict.data()
    return JudgeAnswer(
        str(data.get("verdict", "")),
        profile,
        data.get("explained", 0),
        [str(finding) for finding in verdict.findings],
        list(verdict.unknown),
        dict(data.get("out_of_reach") or {}),
    )


def validate(
    allowed: Allowed,
    progress: Progress,
    *,
    target: str = "inprocess",
    profile: str | None = None,
    programs: int = 50,
    seed: int = 0,
    seconds: float = 60.0,
) -> ValidateAnswer:
    """Run generated programs on a broker and judge them."""
    from ...brokers.choose import choose_named
    from ...validation.validate import ValidationRequest
    from ...validation.validate import validate as validated

    chosen = choose_named(allowed.target(target), profile, "target")
    with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder:
        request = ValidationRequest(chosen, Path(folder) / "report", programs, seed, seconds=seconds, shrink=5.0)
        report = validated(request, progress, lambda sentence: None)
        data = report.data()
    rows = [
        ValidateFinding(
            str(row.get("property", "")),
            str(row.get("sentence", "")),
            bool(row.get("known")),
            str(row.get("text", "")),
            str(row.get("steps") or row.get("program") or ""),
        )
        for row in data["findings"]
    ]
    return ValidateAnswer(
        _outcome(data["exit"]),
        chosen.name,
        chosen.profile,
        data["programs"]["judged"],
        data["requests"],
        rows,
        [str(item.get("reason", item)) for item in data["undecided"]],
        [*data["said"], *([data["stopped"]] if data["stopped"] else [])],
    )


def run(
    allowed: Allowed, progress: Progress, *, program: str, target: str = "inprocess", profile: str | None = None, times: int = 1
) -> RunAnswer:
    """Perform a program on a target."""
    from ...brokers.choose import choose_named
    from ...validation.handwritten import programfile
    from ...validation.handwritten.condition import condition_of
    from ...validation.handwritten.performed import perform_program

    path = allowed.file(program)
    read = programfile.load(path if programfile.is_recorded(path) else allowed.python(program))
    chosen = choose_named(allowed.target(target), profile, "target")
    with tempfile.TemporaryDirectory(prefix="rocketproof-") as folder:
        done = perform_program(read, chosen, condition_of(read, None, None), Path(folder), times=times, progress=progress)
        outcomes = done.data()["outcomes"]
    return RunAnswer(_outcome(done.exit_code), chosen.name, chosen.profile, outcomes)


def known_bugs(allowed: Allowed, progress: Progress, *, bug_id: str | None = None) -> KnownBugsAnswer:
    """List the known bugs of releases, or show one."""
    del allowed, progress
    from ...validation.knownbugs import bugs

    selected = bugs.chosen([] if bug_id is None else [bug_id])
    if bug_id is not None:
        return KnownBugsAnswer([bug.record() for bug in selected])
    return KnownBugsAnswer([{"id": bug.id, "bad": bug.bad, "good": bug.good, "cause": bug.cause} for bug in selected])


TOOLS: Final[Mapping[str, Callable[..., Answer]]] = {
    function.__name__: function for function in (check, explain, why_not, hazard, judge, validate, run, known_bugs)
}


def perform(tool: str, arguments: Mapping[str, Any], allowed: Allowed, progress: Progress) -> dict[str, Any]:
    """Run a tool. Return its answer as JSON values within the bound. Raises RocketproofError for wrong arguments and denied access."""
    answer = TOOLS[known("tool", tool, TOOLS)](allowed, progress, **arguments)
    return bounded(asdict(answer))


def _outcome(code: int) -> str:
    return "as expected" if code == OK else "undecided" if code == STOPPED else "findings"
