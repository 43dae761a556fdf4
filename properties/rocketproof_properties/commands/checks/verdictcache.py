"""Verdicts of earlier runs, each used again for as long as nothing that it depends on has changed.

A verdict depends on the content of the model and of the claim, the values of the constants, the engine with its options, and the code of
the engine. Limits of time, memory and workers can only keep it from being reached, so what they have cut short is not kept. A file that
is damaged, somebody else's or of other code counts as absent, and without a cache that can be written every verdict is computed.
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
"""Of the folders in the cache."""
ENGINES: Final = ("explicit", "symbolic", "simulate")
"""Engines whose verdicts depend on the model alone. The others run the reference implementation, or a cluster."""
MOST: Final = 4000
"""Files in the folder; of more than that the older half is removed."""
_LIBRARIES: Final = ("llvmlite", "numpy", "z3-solver")
_OWN: Final = ("verdict", "reason", "states", "transitions", "depth", "seconds", "length", "proof", "note", "vacuous")
"""Fields of a row that the engine decided; others are those of its task."""


class VerdictCache:
    """The verdicts of one folder in the cache. `fresh`: none is used, and those of this run take the places of earlier ones.

    A copy in another process begins without the digests that are remembered here.
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
        """Answer a unit's tasks: the known verdicts, and those that are decided now and kept. Raises what `decide` raises."""
        known = self.answer(unit, budget.certificates)
        left = [(task, path) for task, path in zip(unit.tasks, unit.paths, strict=True) if task not in known.rows]
        if not left:
            return known
        rest = replace(unit, tasks=tuple(task for task, _ in left), paths=tuple(path for _, path in left))
        answer = decide(rest, budget, report)
        self.keep(rest, answer)
        return replace(answer, rows=known.rows | answer.rows)

    def answer(self, unit: Unit, certificates: Path | None) -> UnitResult:
        """The known verdicts on a unit's tasks, with their files written again. One search decides all claims of the explicit engine, so
        of its tasks all are known, or none is. Raises InputError if a file cannot be written."""
        found = UnitResult()
        if self.fresh or not _is_cached(unit):
            return found
        subject = unit.source.kept()
        entry = _read(self._path(unit, subject))
        verdicts: Mapping[str, Any] = entry.get("verdicts", {})
        known = {task: verdicts.get(self._key(task, unit, subject)) for task in unit.tasks}
        if not all(known.values()) and unit.engine != "symbolic":
            return found
        for task, path in zip(unit.tasks, unit.paths, strict=True):
            record = known[task]
            if record is not None:
                row, evidence = _row(task, record)
                found.rows[task] = evidence.written(row, task, path, certificates)
        if len(found.rows) == len(unit.tasks):
            found.coverage = _coverage(entry["coverage"])
        return found

    def keep(self, unit: Unit, answer: UnitResult) -> None:
        """Keep the verdicts of an answer that no limit has cut short."""
        if not _is_cached(unit) or not answer.complete or answer.interrupted or answer.problems or answer.faults:
            return
        subject = unit.source.kept()
        found = {
            self._key(task, unit, subject): {**{name: getattr(row, name) for name in _OWN}, **_evidence(row, answer.evidence[task])}
            for task, row in answer.rows.items()
            if row.verdict != "unknown" or row.reason == BOUND
        }
        if not found:
            return
        path = self._path(unit, subject)
        before = {} if self.fresh else _read(path).get("verdicts", {})
        entry = {"coverage": _coverage_record(answer.coverage), "verdicts": {**before, **found}}
        with suppress(OSError):  # the next run computes it again
            if not self._swept:
                self._sweep()
            diskcache.write(path, json.dumps(entry).encode())

    def _sweep(self) -> None:
        self._swept = True
        files = [(file.stat().st_mtime, file.path) for file in os.scandir(self.folder)]
        for _, path in sorted(files)[: len(files) // 2] if len(files) > MOST else ():
            os.unlink(path)

    def _path(self, unit: Unit, subject: CheckSubject) -> Path:
        """The file of an instance under an engine's options."""
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
        """What a task asks of its instance, and what its witness file states of where that comes from."""
        together = [(task.claim, task.kind), *((id_, "always") for id_ in task.lemmas)]
        if task.method == INVARIANTS:  # claims about one model are proved together
            together += [(one.claim, one.kind) for one in unit.tasks if one.method == INVARIANTS and one.widen == task.widen]
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
    """A digest of the code that decides verdicts and writes their evidence, without the specification: its models are digested."""
    packages = [Path(str(package.__file__)).parent for package in (rocketproof_model, rocketproof_protocol, witness)]
    files = [path for folder in (*packages, Path(__file__).parent) for path in folder.rglob("*.py")]
    return _digest([diskcache.code_digest([*files, Path(premises.__file__)]), *map(version, _LIBRARIES)])


def _is_cached(unit: Unit) -> bool:
    return unit.engine in ENGINES and not unit.source.is_messages


def _read(path: Path) -> Mapping[str, Any]:
    """What `VerdictCache.keep` wrote, nothing if it is not there."""
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
    return {"taken": coverage.taken, "guards": [[*names, *seen] for names, seen in coverage.guards.items()]}


def _coverage(record: Mapping[str, Any] | None) -> Coverage | None:
    if record is None:
        return None
    guards = {(action, guard): (passed, refused) for action, guard, passed, refused in record["guards"]}
    return Coverage(dict(record["taken"]), guards)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
