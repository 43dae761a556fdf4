"""What one unit of work is: tasks of one engine on one instance, the bounds it has, where it runs, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_model.result import Coverage, Limits

from ...catalogue.source import ModelSource
from .evidence import VerdictEvidence
from .plan import CheckTask
from .rows import VerdictRow

PROGRAMS = 100  # of the stateful engine, for each instance


@dataclass(frozen=True)
class Unit:
    """Tasks of one engine whose sources give the same instance; `paths` says where each one's witness goes."""

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
class SparkCluster:
    """Where Spark runs: the URL of a master or of a Spark Connect server (default: this machine), how many cores, and the folder that
    driver and workers share (default: that for temporary files)."""

    master: str | None = None
    remote: str | None = None
    cores: int | None = None
    scratch: Path | None = None

    def session(self) -> Any:
        """The Spark session, made at the first call. Raises TraceError where there can be none."""
        from rocketproof_traces.spark.session import session

        return session(self.master, self.remote, self.cores)


@dataclass(frozen=True)
class Budget:
    """Bounds of one unit, and how it may run. Searches keep their progress in `checkpoint`, each in a folder of its own, and go on there
    when memory ends with at most `disk` bytes. Proofs are kept in `certificates`."""

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
    """What came out: rows by task (those missing were not decided) with their evidence, coverage, what went wrong, and the errors of a
    user's model. `complete` is False where a limit ended a search, so that its counts are of a part of the states."""

    rows: dict[CheckTask, VerdictRow] = field(default_factory=dict)
    evidence: dict[CheckTask, VerdictEvidence] = field(default_factory=dict)
    complete: bool = True
    coverage: Coverage | None = None
    problems: list[str] = field(default_factory=list)
    interrupted: bool = False
    faults: list[str] = field(default_factory=list)
