"""Crash a short program at each of its points: between any two steps on its disk, by killing its process or by a power loss."""

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
    """The number of disk steps before the crash, and the operation and path that it preceded; "the end" if the program finished.

    Without `loss` only the process was killed.
    """

    steps: int
    before: str
    loss: PowerLoss | None = None


def losses(seeds: Iterable[int], metadata: Iterable[Metadata] = METADATA) -> list[PowerLoss | None]:
    """Return the kill of the process (None), and power losses of each metadata kind with each seed."""
    seeds = list(seeds)
    return [None, *(PowerLoss(seed, kind) for kind in metadata for seed in seeds)]


def every_crash_point(
    make: Callable[[], World],
    run: Callable[[World], None],
    disk: Callable[[World], SimulatedDisk],
    crashes: Iterable[PowerLoss | None] = (None,),
    points: Iterable[int] | None = None,
) -> Iterator[tuple[CrashPoint, World]]:
    """Create a world, run the program in it up to a point, and crash. Yield each point with the world that is left.

    Everything that `make` writes is on the device. `points` selects numbers of steps. The disk of a yielded world is in its state after the
    crash, with no further fault planned. The caller restarts the processes.
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
    """Return the number of disk steps of a program."""
    world = make()
    target = disk(world)
    target.end_after(1 << 60)  # a write in place counts its steps only if an end is planned
    before = target.steps
    run(world)
    target.end_after(None)
    return target.steps - before


def sample(steps: int, number: int, seed: int) -> list[int]:
    """Return `number` random crash points of a program in order, or all if it has no more."""
    return list(range(steps + 1)) if number > steps else sorted(Random(seed).sample(range(steps + 1), number))
