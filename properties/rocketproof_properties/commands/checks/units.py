"""A unit of work: tasks of one engine on one instance, its limits, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rocketproof_model.result import Coverage, Limits
from rocketproof_traces.spark.cluster import SparkCluster

from ...catalogue.source import ModelSource
from .evidence import VerdictEvidence
from .plan import CheckTask
from .rows import VerdictRow

PROGRAMS = 100  # of the stateful engine, per instance


@dataclass(frozen=True)
class Unit:
    """Tasks of one engine whose sources build the same instance. `paths` are the paths of the tasks' witness files."""

    source: ModelSource
    engine: str
    tasks: tuple[CheckTask, ...]
    paths: tuple[str, ...]

    def __str__(self) -> str:
        profiles = " ".join(dict.fromkeys(t.source.profile for t in self.tasks if t.source.profile))
        doing = {"explicit": "search", "symbolic": "z3", "simulate": "simulation", "stateful": "programs", "spark": "search on Spark"}[
            self.engine
        ]
        return f"{self.source.name} {profiles or ''}".strip() + f": {doing}"


@dataclass(frozen=True)
class Budget:
    """Limits and options of one unit.

    Each search saves its progress in its own folder of `checkpoint`. When its memory is full, it writes at most `disk` bytes there. Proofs
    are saved in `certificates`.
    """

    limits: Limits = Limits()
    workers: int = 1
    seed: int = 0
    programs: int = PROGRAMS
    cluster: SparkCluster = SparkCluster()
    symmetry: bool = True
    checkpoint: Path | None = None
    disk: int | None = None
    certificates: Path | None = None


@dataclass
class UnitResult:
    """The result of a unit: rows by task with their evidence, coverage, problems, and errors of a user's model.

    Tasks without a row were not decided. `complete` is False if a limit ended a search, so that its counts cover a part of the states.
    """

    rows: dict[CheckTask, VerdictRow] = field(default_factory=dict)
    evidence: dict[CheckTask, VerdictEvidence] = field(default_factory=dict)
    complete: bool = True
    coverage: Coverage | None = None
    problems: list[str] = field(default_factory=list)
    interrupted: bool = False
    faults: list[str] = field(default_factory=list)
