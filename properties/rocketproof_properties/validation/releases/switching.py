"""Recorded programs, compared with profiles in which single switches are changed.

A program is recorded once. The reference implementation replays it under each changed profile, so that no broker is needed to try a switch.
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
    """A program's history, with a cache of its differences by changes of its profile."""

    program: Program
    path: Path
    history: ParsedHistory
    _by_read: dict[tuple[str, tuple[str, ...]], dict[tuple[Any, ...], list[FieldDifference]]] = field(default_factory=dict)
    """By a profile's name and the switches that were read, and by the values of these switches."""
    _by_changes: dict[tuple[str, frozenset[SwitchChange]], list[FieldDifference]] = field(default_factory=dict)
    _by_order: dict[tuple[str, str], list[FieldDifference]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> RecordedProgram:
        """Load the history in a file. Raises TraceError."""
        history = load(path)
        return cls(history.program, path, history)

    @property
    def is_comparable(self) -> bool:
        """Whether it can be compared: one client at a time, no request rejected as busy or without response, and a complete history."""
        history = self.history
        return history.whole and not (
            history.concurrent or self.program.concurrent or history.busy or any(fault.leaves_doubt for fault in faults(history))
        )

    @property
    def replays(self) -> int:
        """The number of replays by the reference implementation."""
        return sum(map(len, self._by_read.values()))

    @property
    def size(self) -> tuple[int, int]:
        """The number of steps and of their arguments."""
        return len(self.program.steps), sum(len(args) for _, args in self.program.steps)

    def differences(self, profile: Profile, changes: Sequence[SwitchChange] = ()) -> list[FieldDifference]:
        """Return the differences between the broker and the reference implementation of the changed profile, in order."""
        key = profile.name, frozenset(changes)
        if key not in self._by_changes:
            self._by_changes[key] = self._known(changed(profile, changes)) if self.is_comparable else []
        return self._by_changes[key]

    def _known(self, profile: Profile) -> list[FieldDifference]:
        """Return the differences. No replay is needed for a profile that agrees with an earlier one in all switches that were read."""
        values = vars(profile)
        for (name, read), by_values in self._by_read.items():
            if name == profile.name and (known := by_values.get(tuple(values[switch] for switch in read))) is not None:
                return known
        observed, names = watched(profile)
        compared = self._compared(observed)
        read = tuple(sorted(names))
        self._by_read.setdefault((profile.name, read), {})[tuple(values[switch] for switch in read)] = compared
        return compared

    def _compared(self, profile: Profile) -> list[FieldDifference]:
        """Return the differences that remain under every order and time of the requests.

        The result is cached by the differences in recorded order.
        """
        plainly = list(ReferenceReplay(self.history, profile, self.history.items).compare())
        key = profile.name, repr(plainly)
        if key not in self._by_order:
            self._by_order[key] = differences(self.history, profile) if plainly else []
        return self._by_order[key]
