"""Select the tasks that a request asks for, from the catalogue or from a model file.

A task is one property in one source (model, scope, profile, switches) for one engine, with the verdict expected from this engine. Bounded
checking and simulation only refute. For a claim that is expected to hold, their expected verdict is `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rocketproof_model.result import LIVE
from rocketproof_profiles import PROFILES, lineage
from rocketproof_profiles.releases import is_release, nearest_profile

from ...catalogue.modelfile import DEFAULT, load, settings
from ...catalogue.source import WITHOUT_IMPLEMENTATION, ModelSource, specified
from ...reports.choices import InputError, known, offer

if TYPE_CHECKING:
    from ...catalogue.table import Case

DEPTH = 8
NAMED = 8  # maximum number of ids per line about skipped tasks
ENGINES = ("explicit", "symbolic", "simulate", "stateful", "spark")
ALL = "all"  # except for spark, which is the explicit engine on more machines
INDUCTION, INVARIANTS, SPACER = "induction", "invariants", "spacer"
PROOFS = {INDUCTION: ("always", "step"), INVARIANTS: ("always", "step"), SPACER: ("always", "reachable", "step", "deadlock_free")}
"""Proof methods, and the kinds of property that each decides."""
_SEARCHES = ("always", "reachable", "step", "deadlock_free", "leads_to", "eventually_always", "until", "weak_until", "within")
APPLICABLE = {
    "explicit": _SEARCHES,
    "symbolic": ("always", "reachable", "step", "deadlock_free", "until", "weak_until", "within", "lemma"),
    "simulate": ("always", "reachable", "step", "deadlock_free", "until", "weak_until", "within"),
    "stateful": ("always", "reachable", "step", "history"),
    "spark": _SEARCHES,
}


PROVABLE = ("always", "step", "weak_until", "within")
"""Kinds that induction proves."""
_DECIDES = {"lemma": "symbolic", "history": "stateful"}


@dataclass(frozen=True)
class CheckRequest:
    """What the user asked for. Empty and None mean no restriction."""

    file: str | None = None
    properties: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    scope: str | None = None
    engine: str | None = None
    condition: str | None = None
    given: tuple[str, ...] = ()
    proof: str | None = None

    @property
    def chosen(self) -> tuple[str, ...]:
        """The user's scope and sizes that replace the defaults."""
        return (*([] if self.scope is None else [self.scope]), *self.given)


@dataclass(frozen=True)
class CheckTask:
    """`property` is the printed id, `claim` the id of the formula (a property may have several).

    - `method`: the symbolic engine's method (`bounded:8`, `induction:1`, `invariants`, `spacer`, `lemma`); "" leaves the choice to the
      engine.
    - `widen`: variables whose upper bound a proof raises to the given value.
    - `lemmas`: claims that an induction proves together with this claim.
    - `chosen`: the user's scope and sizes that replace the defaults.
    """

    source: ModelSource
    property: str
    claim: str
    kind: str
    sentence: str
    condition: str
    engine: str
    method: str
    expected: str
    why: str = ""
    widen: tuple[tuple[str, int], ...] = ()
    lemmas: tuple[str, ...] = ()
    chosen: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class CheckPlan:
    """Tasks in the order of printing, and sentences about requested tasks that were left out."""

    tasks: tuple[CheckTask, ...]
    left_out: tuple[str, ...] = ()


def expectation(kind: str, engine: str, method: str, expected: str) -> str:
    """Return the verdict that this engine can give if the claim's verdict is `expected`."""
    if engine == "spark" and (kind in LIVE or (kind == "until" and expected == "holds")):
        return "unknown"  # spark does not search for cycles; without that, `until` can only be refuted
    refutes_only = engine in ("simulate", "stateful") or method.startswith("bounded")
    unreachable_by_refuting = "violated" if kind == "reachable" else "holds"
    return "unknown" if refutes_only and expected == unreachable_by_refuting else expected


def plan(request: CheckRequest) -> CheckPlan:
    """Return the tasks of a request. Raises InputError for unknown names and for a request without tasks."""
    sizes = settings(request.given, request.file)
    if request.engine is not None:
        known("engine", request.engine, (*ENGINES, ALL))
    if request.proof is not None:
        known("proof", request.proof, PROOFS)
        if request.engine not in (None, "symbolic", ALL):
            raise InputError(
                f"--proof {request.proof} with --engine {request.engine}: only the symbolic engine proves; leave out one of them"
            )
        request = replace(request, engine=request.engine or "symbolic")
    return _from_catalogue(request) if request.file is None else _from_file(request, sizes)


def _from_file(request: CheckRequest, sizes: Mapping[str, Any]) -> CheckPlan:
    assert request.file is not None
    if request.profiles:
        raise InputError(f"--profile {request.profiles[0]} with a model file; a file has scopes, not profiles: leave out --profile")
    if request.condition is not None:
        raise InputError("--condition with a model file; conditions belong to the specification: leave out --condition")
    loaded = load(request.file, request.scope, sizes)
    source = ModelSource(loaded.scope or DEFAULT, given=tuple(sorted(sizes.items())), file=request.file)
    subject = source.subject()
    ids = [known("property", id_, [p.id for p in subject.properties]) for id_ in request.properties]
    tasks: list[CheckTask] = []
    questions: list[tuple[str, str, str]] = []
    for claim in subject.properties:
        if ids and claim.id not in ids:
            continue
        expected = loaded.expected.get(claim.id, "holds")
        wanted = _engines(claim.kind, request.engine) if request.engine else (("symbolic",) if claim.kind == "lemma" else ("explicit",))
        engines = tuple(e for e in wanted if e != "stateful")
        questions.append((claim.kind, claim.declared, claim.id))
        for engine in engines:
            method = method_of(claim.kind, engine, "", request.proof)
            verdict = expectation(claim.kind, engine, method, expected)
            task = CheckTask(source, claim.id, claim.id, claim.kind, claim.sentence, "", engine, method, verdict)
            tasks.append(replace(task, chosen=request.chosen))
    return _plan(tasks, _not_by(request.engine, questions, never="stateful"))


def _cases(request: CheckRequest) -> tuple[str | None, list[Case]]:
    """Return the scope and the cases of the catalogue that a request selects. Raises InputError if there is no case."""
    from rocketproof_spec import NAMES, SCOPES

    from ...catalogue.table import CASES

    ids = [known("property", id_, [*(c.property for c in CASES), *(c.claim for c in CASES)]) for id_ in request.properties]
    profiles = [name if is_release(name) else known("profile", name, PROFILES) for name in request.profiles]
    scope = None if request.scope is None else known("scope", request.scope, NAMES)
    restricted = bool(ids) or request.condition is not None or request.engine is not None
    cases = [c for c in CASES if c.kind != "history" or (restricted and scope is None)]  # the other kinds need no implementation
    about = [c for c in cases if not ids or c.property in ids or c.claim in ids]
    chosen = about if not profiles else [c for name in profiles for c in _of_profile(about, name)]
    if not chosen:
        named = ", ".join(ids) or "any property"
        having = ", ".join(sorted({c.profile for c in about}))
        if not having:
            raise InputError(f"{named} is about messages, and the specification has none; leave out --scope")
        raise InputError(f"the catalogue has no verdict on {named} for {', '.join(profiles)}; use --profile {having}")
    if request.condition is not None:
        conditions = [c.condition for c in chosen]
        condition = request.condition.strip()
        exact = [c for c in chosen if c.condition.lower() == condition.lower()]
        chosen = exact or [c for c in chosen if condition and condition.lower() in c.condition.lower()]
        if not chosen:
            raise InputError(f"unknown condition {condition!r}; {offer(condition, [repr(c) for c in conditions])}")
    base_scope = SCOPES[scope].like if scope in SCOPES and SCOPES[scope].like else scope
    if scope is not None and any(c.scope == base_scope for c in chosen):
        chosen = [c for c in chosen if c.scope == base_scope]
    return scope, chosen


def _of_profile(cases: Sequence[Case], name: str) -> list[Case]:
    """Return the cases of a profile. For a release, each property has the cases of the nearest profile that states any."""
    if not is_release(name):
        return [case for case in cases if case.profile == name]
    line = lineage(nearest_profile(name))
    nearest: dict[tuple[str, str], str] = {}
    for profile in reversed(line):
        nearest |= {(case.property, case.claim): profile for case in cases if case.profile == profile}
    return [case for case in cases if nearest.get((case.property, case.claim)) == case.profile]


def _from_catalogue(request: CheckRequest) -> CheckPlan:
    scope, chosen = _cases(request)
    tasks: list[CheckTask] = []
    questions: list[tuple[str, str, str]] = []
    unstated: dict[str, None] = {}
    unperformed: dict[str, None] = {}
    stated = None if scope is None else {claim.id for claim in specified(scope)}
    for case in chosen:
        if stated is not None and case.claim not in stated:
            unstated[case.property] = None
            continue
        source = ModelSource(scope or case.scope, case.profile, tuple(sorted(case.given.items())))
        if scope is not None and not source.exists:
            unstated[f"{case.property} ({case.condition})"] = None
            continue
        engines = _engines(case.kind, request.engine) if request.engine else tuple(case.engines)
        if source.scope in WITHOUT_IMPLEMENTATION:
            engines = tuple(e for e in engines if e != "stateful")
            if not engines:
                unperformed[source.scope] = None
                continue
        if "explicit" not in case.engines and engines and "stateful" not in case.engines:
            # The case repeats a case of the explicit engine with another engine, or proves it beyond the scope.
            engines = tuple(e for e in engines if e != "stateful")
            if not engines:
                continue
        questions.append((case.kind, case.kind, case.property))
        for engine in engines:
            method = method_of(case.kind, engine, case.method, request.proof)
            expected = expectation(case.kind, engine, method, case.expected)
            task = CheckTask(source, case.property, case.claim, case.kind, case.sentence, case.condition, engine, method, expected)
            tasks.append(replace(task, why=case.reason, widen=tuple(case.widen), lemmas=tuple(case.lemmas), chosen=request.chosen))
    missing = [f"scope {scope} does not state {', '.join(unstated)}"] if unstated else []
    unperformable = [
        f"nothing performs scope {name} on the implementation; use --engine explicit" for name in unperformed if scope is not None
    ]
    return _plan(tasks, [*_not_by(request.engine, questions), *missing, *unperformable])


def _plan(tasks: list[CheckTask], left_out: list[str]) -> CheckPlan:
    if not tasks:
        raise InputError(f"nothing to check: {left_out[0]}" if left_out else "nothing to check; leave out an option")
    same: dict[tuple[object, ...], CheckTask] = {}
    for task in tasks:  # two cases of the catalogue may differ only in the engine
        same.setdefault((task.source, task.claim, task.kind, task.condition, task.engine, task.method), task)
    return CheckPlan(tuple(same.values()), tuple(left_out))


def _engines(kind: str, requested: str | None) -> tuple[str, ...]:
    return tuple(e for e in ENGINES if kind in APPLICABLE[e] and (requested == e or (requested == ALL and e != "spark")))


def method_of(kind: str, engine: str, method: str, proof: str | None = None) -> str:
    """Return the symbolic engine's method: the requested proof if it applies to this kind of property, else the catalogue's method, else
    bounded checking. `PROVABLE` kinds are then proved by induction.
    """
    if engine != "symbolic":
        return ""
    if proof is not None and kind in PROOFS[proof]:
        return f"{INDUCTION}:1" if proof == INDUCTION else proof
    if kind == "lemma":
        return "lemma"
    return method if method or kind in PROVABLE else f"bounded:{DEPTH}"


def _not_by(engine: str | None, questions: list[tuple[str, str, str]], never: str = "") -> list[str]:
    """Describe the properties that the requested engines do not decide, one line per kind of property.

    A question is a kind, the name under which the property is declared, and its id. `never` is an engine that decides none of them.
    """
    by_kind: dict[tuple[str, str], dict[str, None]] = {}
    for kind, name, id_ in questions:
        by_kind.setdefault((kind, name), {})[id_] = None
    engines = () if engine is None else (engine,) if engine != ALL else tuple(e for e in ENGINES if e not in ("spark", never))
    lines = []
    for (kind, name), ids in by_kind.items():
        silent = [e for e in engines if kind not in APPLICABLE[e] or e == never]
        if silent:
            use = f"; use --engine {_DECIDES.get(kind, 'explicit')}" if engine != ALL else ""
            verb = "do" if len(silent) > 1 else "does"
            lines.append(f"{_listed(silent, len(silent))} {verb} not decide {_listed(list(ids), NAMED)} ({name}){use}")
    return lines


def _listed(names: Sequence[str], most: int) -> str:
    """Return `a, b and c`, or `a, b and 7 more`."""
    *first, last = names if len(names) <= most else (*names[: most - 1], f"{len(names) - most + 1} more")
    return f"{', '.join(first)} and {last}" if first else last
