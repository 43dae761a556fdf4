"""A Spark session for tests: partitions run sequentially in this process, and some attempts are lost or repeated."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from rocketproof_model.result import Explored

Mapping = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass
class OneProcess:
    """Runs each partition `attempts` times and takes any of the results; counts jobs and interruptions."""

    partitions: int = 3
    attempts: int = 1
    seed: int = 0
    jobs: int = 0
    interrupted: list[str] = field(default_factory=list)

    @property
    def sparkContext(self) -> OneProcess:
        return self

    def setJobGroup(self, group: str, description: str) -> None:
        self.group = group, description

    def addTag(self, tag: str) -> None:
        self.tag = tag

    def interruptTag(self, tag: str) -> None:
        assert tag == self.tag
        self.interrupted.append(tag)

    def range(self, start: int, end: int | None = None, step: int = 1, partitions: int | None = None) -> Numbers:
        numbers = range(start) if end is None else range(start, end, step)
        many = partitions or self.partitions
        return Numbers(self, [list(numbers[k::many]) for k in range(many)])


@dataclass
class Numbers:
    session: OneProcess
    parts: list[list[int]]
    function: Mapping | None = None

    def mapInArrow(self, function: Mapping, schema: str) -> Numbers:
        assert schema == "answer binary"
        return Numbers(self.session, self.parts, function)

    def collect(self) -> list[dict[str, Any]]:
        assert self.function is not None
        self.session.jobs += 1
        rng = random.Random(self.session.seed + self.session.jobs)
        rows = []
        for part in self.parts:
            batch = pa.RecordBatch.from_pydict({"id": pa.array(part, pa.int64())})
            tries = [[row for made in self.function([batch]) for row in made.to_pylist()] for _ in range(self.session.attempts)]
            rows += rng.choice(tries)
        return rows


def summary(found: Explored) -> object:
    """Return the parts of a search that must not depend on how it is distributed."""
    outcomes = [(o.property.id, o.verdict, o.reason, o.details, o.witness and (o.witness.moves, o.witness.states)) for o in found.outcomes]
    return found.states, found.transitions, found.depth, found.deadlocks, found.coverage, found.reason, outcomes
