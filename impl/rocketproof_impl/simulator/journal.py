"""What a simulated file system has done to names and lengths of files, and what a power loss leaves of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

from .content import SECTOR, MappedContent, PlainContent

Content = PlainContent | MappedContent | bytearray
Metadata = Literal["ordered", "unordered", "posix"]


@dataclass(frozen=True)
class PowerLoss:
    """How the power fails, as data: the same on the same disk leaves the same files.

    `seed` chooses what has reached the device: of data any sectors, in blocks of `grain` bytes, or of `in_place` bytes in a mapped file,
    which the system writes by pages; of the steps on names and lengths those that `metadata` allows. "ordered": some first ones, and all
    before the last time that a file was forced, as a journal keeps them. "unordered": any, but a file that was forced is there under the
    name it was made with. "posix": any at all; a file that was forced may have no name, since nobody forces folders.

    `only_forced`: of files that are written in place exactly what was forced is there; of names, lengths and other files everything is.
    Nothing is left to a seed then.
    """

    seed: int = 0
    metadata: Metadata = "ordered"
    grain: int = SECTOR
    in_place: int = 0
    only_forced: bool = False

    @property
    def mapped(self) -> int:
        """The blocks of mapped files."""
        return self.in_place or self.grain


class JournalStep(NamedTuple):
    """`kind`: create, truncate, extend (to `size`), delete, rename (to `other`), or force, which is none but settles some."""

    kind: Literal["create", "truncate", "extend", "delete", "rename", "force"]
    path: str
    content: Content
    other: str = ""
    size: int = 0


class Journal:
    """The names on the device, and the steps since then that may be lost. The oldest reach it by themselves after a while."""

    LONGEST = 64

    def __init__(self) -> None:
        self.names: dict[str, Content] = {}
        self.sizes: dict[str, int] = {}
        self.steps: list[JournalStep] = []

    def add(self, step: JournalStep) -> None:
        if len(self.steps) >= self.LONGEST:
            self._apply(self.steps.pop(0))
        self.steps.append(step)

    def settle(self) -> None:
        """Everything reaches the device."""
        for step in self.steps:
            self._apply(step)
        self.steps.clear()

    def _apply(self, step: JournalStep) -> None:
        if step.kind == "truncate" and isinstance(step.content, PlainContent):
            step.content.device = b""
        replay(self.names, self.sizes, [step])

    def survivors(self, loss: PowerLoss, random: Random) -> list[JournalStep]:
        """The steps that a power loss leaves."""
        if loss.only_forced:
            return list(self.steps)
        forced = [number for number, step in enumerate(self.steps) if step.kind == "force"]
        if loss.metadata == "ordered":
            first = forced[-1] + 1 if forced else 0
            return self.steps[: random.randint(first, len(self.steps))]
        kept = {"posix": ("extend",), "unordered": ("create", "extend")}[loss.metadata]
        safe = {id(self.steps[number].content): number for number in forced}
        return [
            step
            for number, step in enumerate(self.steps)
            if (step.kind in kept and number < safe.get(id(step.content), 0)) or random.randrange(2)
        ]


def replay(names: dict[str, Content], sizes: dict[str, int], steps: Iterable[JournalStep]) -> None:
    """Do to a table of names, and the lengths of mapped files, what these steps do; one for a file that is not there does nothing."""
    for step in steps:
        if step.kind == "create":
            names[step.path] = step.content
            sizes.pop(step.path, None)
        elif step.kind == "extend" and names.get(step.path) is step.content:
            sizes[step.path] = step.size
        elif step.kind == "delete":
            names.pop(step.path, None)
            sizes.pop(step.path, None)
        elif step.kind == "rename" and step.path in names:
            names[step.other] = names.pop(step.path)
            sizes.pop(step.other, None)
            if step.path in sizes:
                sizes[step.other] = sizes.pop(step.path)
