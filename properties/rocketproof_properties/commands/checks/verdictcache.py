"""A cache of verdicts. A cached verdict is used until something that it depends on changes.

A verdict depends on the content of the model and of the claim, the values of the constants, the engine with its options, and the engine's
code. Limits of time, memory and workers can only prevent a verdict, so a result that they cut short is not cached. A file that is damaged,
foreign or written by other code is ignored. If the cache cannot be written, every verdict is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import rocketproof_model
import rocketproof_protocol
from rocketproof_model import Model, Property, diskcache
from rocketproof_model.language.content import Contents
from rocketproof_model.language.symmetry import symmetric_indices
from rocketproof_model.result import BOUND, LIVE, Coverage, Report
from rocketproof_traces import witness

from ...catalogue import premises
from ...catalogue.source import CheckSubject
from .decide import decide
from .evidence import VerdictEvidence
from .plan import INVARIANTS, CheckTask
from .rows import Fairness, VerdictRow, undecided
from .units import Budget, Unit, UnitResult

NAME: Final = "verdicts"
"""Name of the folder in the cache."""
ENGINES: Final = ("explicit", "symbolic", "simulate")
"""Engines whose verdicts depend only on the model. The others run the reference implementation, or a cluster."""
MOST: Final = 4000
"""Maximum number of files in the folder. If there are more, the older half is deleted."""
_LIBRARIES: Final = ("llvmlite", "numpy", "z3-solver")
_OWN: Final = ("verdict", "reason", "states", "transitions", "depth", "seconds", "length", "proof", "note", "vacuous")
"""Fields of a row that the engine decides. The others come from the task."""


class VerdictCache:
    """The verdicts of one folder in the cache. With `fresh`, no cached verdict is used, and new verdicts replace old ones.

    A copy in another process starts with empty caches of digests.
    """

    def __init__(self, *, fresh: bool = False, symmetry: bool = True, seed: int = 0) -> None:
        self.fresh, self.symmetry, self.seed = fresh, symmetry, seed
        self.folder = diskcache.folder(NAME, engine_code())
        self._contents = Contents()
        self._models: dict[Model, str] = {}
        self._claims: dict[Property, str] = {}
        self._swept = False

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(VerdictCache, fresh=self.fresh, symmetry=self.symmetry, seed=self.seed), ()

    def decide(self, unit: Unit, budget: Budget, report: Report) -> UnitResult:
        """Answer a unit's tasks from the cache, decide the rest, and cache the new verdicts. Raises what `decide` raises."""
        cached = self.answer(unit, budget.certificates)
        missing = [(task, path) for task, path in zip(unit.tasks, unit.paths, strict=True) if task not in cached.rows]
        if not missing:
            return cached
        rest = replace(unit, tasks=tuple(task for task, _ in missing), paths=tuple(path for _, path in missing))
        answer = decide(rest, budget, report)
        self.keep(rest, answer)
        return replace(answer, rows=cached.rows | answer.rows)

    def answer(self, unit: Unit, certificates: Path | None) -> UnitResult:
        """Return the cached verdicts on a unit's tasks, and write their files again.

        The symbolic engine decides each task by itself, so some of its tasks may be missing. The other engines decide all tasks of a unit
        in one search: if one task is missing, no cached verdict is used. Raises InputError if a file cannot be written.
        """
        result = UnitResult()
        if self.fresh or not _is_cached(unit):
            return result
        subject = unit.source.kept()
        entry = _read(self._path(unit, subject))
        verdicts: Mapping[str, Any] = entry.get("verdicts", {})
        known = {task: verdicts.get(self._key(task, unit, subject)) for task in unit.tasks}
        if not all(known.values()) and unit.engine != "symbolic":
            return result
        for task, path in zip(unit.tasks, unit.paths, strict=True):
            record = known[task]
            if record is not None:
                row, evidence = _row(task, record)
                result.rows[task] = evidence.written(row, task, path, certificates)
        if len(result.rows) == len(unit.tasks):
            result.coverage = _coverage(entry["coverage"])
        return result

    def keep(self, unit: Unit, answer: UnitResult) -> None:
        """Cache the verdicts of an answer that no limit cut short."""
        if not _is_cached(unit) or not answer.complete or answer.interrupted or answer.problems or answer.faults:
            return
        subject = unit.source.kept()
        verdicts = {
            self._key(task, unit, subject): {**{name: getattr(row, name) for name in _OWN}, **_evidence(row, answer.evidence[task])}
            for task, row in answer.rows.items()
            if row.verdict != "unknown" or row.reason == BOUND
        }
        if not verdicts:
            return
        path = self._path(unit, subject)
        before = {} if self.fresh else _read(path).get("verdicts", {})
        entry = {"coverage": _coverage_record(answer.coverage), "verdicts": {**before, **verdicts}}
        with suppress(OSError):  # then the next run computes it again
            if not self._swept:
                self._sweep()
            diskcache.write(path, json.dumps(entry).encode())

    def _sweep(self) -> None:
        self._swept = True
        files = [(file.stat().st_mtime, file.path) for file in os.scandir(self.folder)]
        for _, path in sorted(files)[: len(files) // 2] if len(files) > MOST else ():
            os.unlink(path)

    def _path(self, unit: Unit, subject: CheckSubject) -> Path:
        """Return the file for an instance and an engine's options."""
        instance = subject.instance
        content: list[Any] = [unit.engine, self._model(subject), self._contents.constants(instance)]
        if unit.engine == "explicit":
            content.append(self.symmetry)
            if symmetric_indices(instance.model.variables):  # the other claims decide whether a search uses the symmetry
                content += [self._claim(claim, subject) for claim in subject.properties]
                content.append(any(task.kind in LIVE for task in unit.tasks))
        if unit.engine == "simulate":
            content.append(self.seed)
        return self.folder / f"{_digest(content)}.json"

    def _key(self, task: CheckTask, unit: Unit, subject: CheckSubject) -> str:
        """Return a digest of a task's claims, method and source."""
        together = [(task.claim, task.kind), *((id_, "always") for id_ in task.lemmas)]
        if task.method == INVARIANTS:  # claims about one model are proved together
            together += [(other.claim, other.kind) for other in unit.tasks if other.method == INVARIANTS and other.widen == task.widen]
        claims = [self._claim(subject.property(id_, kind), subject) for id_, kind in together]
        return _digest([task.source.record(), task.property, task.method, task.widen, claims])

    def _model(self, subject: CheckSubject) -> str:
        model = subject.instance.model
        if subject.stated is not None:
            return subject.stated.content
        if model not in self._models:
            self._models[model] = self._contents.model(model)
        return self._models[model]

    def _claim(self, claim: Property, subject: CheckSubject) -> str:
        if subject.stated is not None and claim in subject.stated.claims:
            return subject.stated.claims[claim]
        if claim not in self._claims:
            self._claims[claim] = self._contents.claim(claim)
        return self._claims[claim]


@cache
def engine_code() -> str:
    """Return a digest of the code that decides verdicts and writes their evidence.

    The specification is excluded, because its models are digested.
    """
    packages = [Path(str(package.__file__)).parent for package in (rocketproof_model, rocketproof_protocol, witness)]
    files = [path for folder in (*packages, Path(__file__).parent) for path in folder.rglob("*.py")]
    return _digest([diskcache.code_digest([*files, Path(premises.__file__)]), *map(version, _LIBRARIES)])


def _is_cached(unit: Unit) -> bool:
    return unit.engine in ENGINES and not unit.source.is_messages


def _read(path: Path) -> Mapping[str, Any]:
    """Return what `VerdictCache.keep` wrote, or an empty mapping."""
    data = diskcache.read(path)
    if data is None:
        return {}
    with suppress(OSError):
        os.utime(path)  # the time of the last use, by which old files are removed
    entry: Mapping[str, Any] = json.loads(data)
    return entry


def _row(task: CheckTask, record: Mapping[str, Any]) -> tuple[VerdictRow, VerdictEvidence]:
    invariants = record["invariants"]
    evidence = VerdictEvidence(record["witness"], None if invariants is None else tuple(invariants))
    own = {name: record[name] for name in _OWN}
    fairness = Fairness.read(record["fairness"])
    return replace(undecided(task, ""), **own, invariants=evidence.invariants or (), fairness=fairness, cached=True), evidence


def _evidence(row: VerdictRow, evidence: VerdictEvidence) -> dict[str, Any]:
    fairness = None if row.fairness is None else row.fairness.record()
    return {"witness": evidence.witness, "invariants": evidence.invariants, "fairness": fairness}


def _coverage_record(coverage: Coverage | None) -> dict[str, Any] | None:
    if coverage is None:
        return None
    return {"taken": coverage.taken, "guards": [[*names, *sides] for names, sides in coverage.guards.items()]}


def _coverage(record: Mapping[str, Any] | None) -> Coverage | None:
    if record is None:
        return None
    guards = {(action, guard): (passed, refused) for action, guard, passed, refused in record["guards"]}
    return Coverage(dict(record["taken"]), guards)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
