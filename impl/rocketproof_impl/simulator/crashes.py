"""A short program ended at each of its points: between any two steps on its disk, by the end of its process or by a power loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from .disk import ProcessEnded, SimulatedDisk
from .journal import Metadata, PowerLoss

World = TypeVar("World")
METADATA: tuple[Metadata, ...] = ("ordered", "unordered", "posix")


@dataclass(frozen=True)
class CrashPoint:
    """After how many steps on the disk the program ended, before which operation on which path; "the end" if it ran through.

    Without `loss` only the process ended.
    """

    steps: int
    before: str
    loss: PowerLoss | None = None


def losses(seeds: Iterable[int], metadata: Iterable[Metadata] = METADATA) -> list[PowerLoss | None]:
    """The end of the process, and power losses of each kind with each seed."""
    seeds = list(seeds)
    return [None, *(PowerLoss(seed, kind) for kind in metadata for seed in seeds)]


def every_crash_point(
    make: Callable[[], World],
    run: Callable[[World], None],
    disk: Callable[[World], SimulatedDisk],
    crashes: Iterable[PowerLoss | None] = (None,),
    points: Iterable[int] | None = None,
) -> Iterator[tuple[CrashPoint, World]]:
    """Make a world, run the program in it up to a point, crash; give the point and what is left. Then the next point, to the end.

    What `make` does is on the device. `points`: only after these numbers of steps. The disk of the world that is given is as the
    crash left it, and nothing on it is armed; to start its processes again is the caller's.
    """
    crashes = list(crashes)
    chosen = range(count_steps(make, run, disk) + 1) if points is None else points
    for steps in chosen:
        for loss in crashes:
            world = make()
            target = disk(world)
            target.sync()
            target.end_after(steps)
            before = "the end"
            try:
                run(world)
            except ProcessEnded as end:
                before = str(end).removeprefix("before ")
            target.end_after(None)
            if loss is not None:
                target.power_loss(loss)
            yield CrashPoint(steps, before, loss), world


def count_steps(make: Callable[[], World], run: Callable[[World], None], disk: Callable[[World], SimulatedDisk]) -> int:
    """How many steps on its disk a program has."""
    world = make()
    target = disk(world)
    target.end_after(1 << 60)  # a write in place counts its steps only where an end is planned
    before = target.steps
    run(world)
    target.end_after(None)
    return target.steps - before


def sample(steps: int, number: int, seed: int) -> list[int]:
    """So many points of a long program, in their order; all if it has no more."""
    return list(range(steps + 1)) if number > steps else sorted(Random(seed).sample(range(steps + 1), number))
