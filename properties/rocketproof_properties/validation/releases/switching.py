"""Recorded programs, and what profiles that differ in single switches say of them.

A program is recorded once. What a broker with another switch would have answered, the reference implementation says: it is asked the same
again under each profile, so that no broker is needed to try one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_profiles import Profile
from rocketproof_profiles.differing import SwitchChange, changed, watched

from ...brokers.runs.parsed import ParsedHistory, load
from ...brokers.runs.transport import faults
from ...judging.reference.comparison import FieldDifference
from ...judging.reference.differences import differences
from ...judging.reference.program import ReferenceReplay
from ...programs.program import Program


@dataclass
class RecordedProgram:
    """A program's history, and what was found out of it so far, by the changes that its profile had."""

    program: Program
    path: Path
    history: ParsedHistory
    _found: dict[tuple[str, tuple[str, ...]], dict[tuple[Any, ...], list[FieldDifference]]] = field(default_factory=dict)
    """By a profile's name and the switches that were read, and by the values that these had."""
    _given: dict[tuple[str, frozenset[SwitchChange]], list[FieldDifference]] = field(default_factory=dict)
    _whole: dict[tuple[str, str], list[FieldDifference]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> RecordedProgram:
        """The history in a file. Raises TraceError."""
        history = load(path)
        return cls(history.program, path, history)

    @property
    def tells(self) -> bool:
        """Whether it can be compared at all: one client at a time, nothing refused or lost for want of time, and read to its end."""
        one = self.history
        return one.whole and not (one.concurrent or self.program.concurrent or one.busy or any(each.leaves_doubt for each in faults(one)))

    @property
    def looks(self) -> int:
        """How often the reference implementation was asked."""
        return sum(map(len, self._found.values()))

    @property
    def size(self) -> tuple[int, int]:
        """Steps, and what they say."""
        return len(self.program.steps), sum(len(args) for _, args in self.program.steps)

    def differences(self, profile: Profile, given: Sequence[SwitchChange] = ()) -> list[FieldDifference]:
        """Where the broker and the reference implementation of the changed profile differ, in order."""
        key = profile.name, frozenset(given)
        if key not in self._given:
            self._given[key] = self._known(changed(profile, given)) if self.tells else []
        return self._given[key]

    def _known(self, profile: Profile) -> list[FieldDifference]:
        """What differs; a profile that has the values which were read under another one needs no second look."""
        values = vars(profile)
        for (name, read), found in self._found.items():
            if name == profile.name and (known := found.get(tuple(values[one] for one in read))) is not None:
                return known
        seen, names = watched(profile)
        compared = self._compared(seen)
        read = tuple(sorted(names))
        self._found.setdefault((profile.name, read), {})[tuple(values[one] for one in read)] = compared
        return compared

    def _compared(self, profile: Profile) -> list[FieldDifference]:
        """What differs over all orders and moments; where the order as it was asked shows the same as before, so do the others."""
        plainly = list(ReferenceReplay(self.history, profile, self.history.items).compare())
        key = profile.name, repr(plainly)
        if key not in self._whole:
            self._whole[key] = differences(self.history, profile) if plainly else []
        return self._whole[key]
