"""The journal of a simulated file system: changes to names and lengths of files, and which of them a power loss leaves."""

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
    """How the power fails, as data: the same loss on the same disk leaves the same files.

    `seed` chooses what has reached the device. For data these are any sectors, in blocks of `grain` bytes, or of `in_place` bytes in a
    mapped file, which the system writes by pages. `metadata` limits the surviving steps on names and lengths:

    - "ordered": a prefix of the steps that includes everything before the last force, as in a journaling file system.
    - "unordered": any steps, but a forced file exists under the name it was created with.
    - "posix": any steps. A forced file may have no name, because no folder is forced.

    `only_forced`: files written in place keep exactly their forced data; all names, lengths and other files survive. The seed has no effect
    then.
    """

    seed: int = 0
    metadata: Metadata = "ordered"
    grain: int = SECTOR
    in_place: int = 0
    only_forced: bool = False

    @property
    def mapped(self) -> int:
        """The block size of mapped files in bytes."""
        return self.in_place or self.grain


class JournalStep(NamedTuple):
    """A change of names or lengths: create, truncate, extend (to `size`), delete, or rename (to `other`).

    `force` is not a change; it guarantees that some earlier steps survive.
    """

    kind: Literal["create", "truncate", "extend", "delete", "rename", "force"]
    path: str
    content: Content
    other: str = ""
    size: int = 0


class Journal:
    """The names on the device, and the later steps that a power loss may drop. Beyond LONGEST steps the oldest ones reach the device."""

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
        """Bring all steps to the device."""
        for step in self.steps:
            self._apply(step)
        self.steps.clear()

    def _apply(self, step: JournalStep) -> None:
        if step.kind == "truncate" and isinstance(step.content, PlainContent):
            step.content.device = b""
        replay(self.names, self.sizes, [step])

    def survivors(self, loss: PowerLoss, random: Random) -> list[JournalStep]:
        """Return the steps that survive a power loss."""
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
    """Apply steps to a table of names and to the lengths of mapped files. A step for a missing file has no effect."""
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
