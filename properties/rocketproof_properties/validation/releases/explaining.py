"""Which switches explain what a broker did otherwise than a profile says.

A change of a switch explains a difference if the reference implementation of the changed profile does not differ there. The change that
explains most is taken, then the next one beside it, until none explains anything. What one program needs several changes for is explained
a difference at a time: of those that are left, the first has to come later, or there have to be fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final

from rocketproof_profiles import Profile
from rocketproof_profiles.differing import SwitchChange, changes, distance

from ...judging.reference.comparison import FieldDifference
from .causes import Cause, cause_of
from .switching import RecordedProgram

SAMPLE: Final = 3
"""Programs of a cause that are asked again under each change, the smallest ones."""

DOUBTED: Final = 4
"""Changes without which the search begins again where something is left: a change that explains one program may keep another from being
explained."""

Tick = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Proposal:
    """A change, the programs that only it explains besides the other proposals, smallest first, and changes that explain the same."""

    change: SwitchChange
    shown: tuple[RecordedProgram, ...]
    instead: tuple[SwitchChange, ...] = ()


@dataclass
class SwitchExplanation:
    """What a profile says of a broker's programs. `decided`: for each switch that some program tells, the program that is smallest.

    `agreeing` programs are as the profile says, without a change; `unexplained` are the others that differ under the proposals too.
    """

    profile: Profile
    proposals: list[Proposal] = field(default_factory=list)
    unexplained: dict[Cause, list[RecordedProgram]] = field(default_factory=dict)
    agreeing: list[RecordedProgram] = field(default_factory=list)

    @property
    def changes(self) -> tuple[SwitchChange, ...]:
        return tuple(one.change for one in self.proposals)


def explain(recorded: Sequence[RecordedProgram], profile: Profile, tick: Tick = lambda what, done, all_: None) -> SwitchExplanation:
    """Find the changes of a profile that explain recorded programs."""
    found = SwitchExplanation(profile)
    recorded = [one for one in recorded if one.tells]
    for number, one in enumerate(recorded, 1):
        if not one.differences(profile):
            found.agreeing.append(one)
        tick("comparing program", number, len(recorded))
    chosen, instead = _chosen(recorded, profile, frozenset(), tick)
    for change in sorted(chosen, key=lambda one: len(_explained_by(one, recorded, profile, chosen)))[:DOUBTED]:
        open_ = _left(recorded, profile, chosen)
        if not open_:
            break
        others = _chosen(recorded, profile, frozenset({change}), tick)
        if _left(recorded, profile, others[0]) < open_:
            chosen, instead = others
    found.proposals = [Proposal(one, tuple(_explained_by(one, recorded, profile, chosen)), instead[one]) for one in chosen]
    for one in sorted(recorded, key=lambda each: each.size):
        left = one.differences(profile, chosen)
        if left:
            found.unexplained.setdefault(cause_of(left[0], one.history), []).append(one)
    return found


def _left(recorded: Sequence[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange]) -> int:
    """How many programs differ under these changes."""
    return sum(bool(one.differences(profile, chosen)) for one in recorded)


def _chosen(
    recorded: Sequence[RecordedProgram], profile: Profile, without: frozenset[SwitchChange], tick: Tick
) -> tuple[list[SwitchChange], dict[SwitchChange, tuple[SwitchChange, ...]]]:
    """The changes that explain most, one after the other, and what explains the same as each; some are not to be taken."""
    chosen: list[SwitchChange] = []
    instead: dict[SwitchChange, tuple[SwitchChange, ...]] = {}
    while True:
        best, equal = _best(recorded, profile, chosen, without, tick)
        if best is None:
            break
        chosen.append(best)
        instead[best] = equal
    for change in list(chosen):  # a later one may have made it needless
        if not _explained_by(change, recorded, profile, chosen):
            chosen = [other for other in chosen if other != change]
    return chosen, instead


def _explained_by(
    one: SwitchChange, recorded: Iterable[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange]
) -> list[RecordedProgram]:
    """The programs that all the changes explain, and the others without this one do not; smallest first."""
    without = [other for other in chosen if other != one]
    whole = [each for each in recorded if not each.differences(profile, chosen) and each.differences(profile, without)]
    return sorted(whole, key=lambda each: each.size)


def _best(
    recorded: Sequence[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange], without: frozenset[SwitchChange], tick: Tick
) -> tuple[SwitchChange | None, tuple[SwitchChange, ...]]:
    """The change that explains most beside those that were chosen, and others that explain the same of the samples.

    What it explains has to be more than what it spoils: programs that were explained without it.
    """
    open_ = [one for one in recorded if one.differences(profile, chosen)]
    sample = _sample(open_, profile, chosen)
    taken = {one.switch for one in chosen}
    free = [one for one in changes(profile) if one.switch not in taken and one not in without]
    shown: dict[SwitchChange, frozenset[int]] = {}
    for number, change in enumerate(free, 1):
        tick("trying switch", number, len(free))
        both = (*chosen, change)
        shown[change] = frozenset(
            n for n, one in enumerate(sample) if _is_progress(one.differences(profile, chosen), one.differences(profile, both))
        )
    good = [one for one in recorded if not one.differences(profile, chosen)]
    for best in sorted((change for change in free if shown[change]), key=lambda change: (-len(shown[change]), distance(profile, change))):
        both = (*chosen, best)
        gained = sum(_is_progress(one.differences(profile, chosen), one.differences(profile, both)) for one in open_)
        if gained > sum(bool(one.differences(profile, both)) for one in good):
            return best, tuple(one for one in free if one != best and shown[one] == shown[best])
    return None, ()


def _is_progress(before: Sequence[FieldDifference], after: Sequence[FieldDifference]) -> bool:
    """Whether the first difference is gone, none comes earlier, and what is left was there before or is less: a change that spoils an
    earlier answer may leave less behind it."""
    if before[0] in after or (after and _when(after[0]) < _when(before[0])):
        return False
    return len(after) < len(before) or all(one in before for one in after)


def _when(one: FieldDifference) -> float:
    """The event that differs; what was read back at the end comes behind all."""
    return one.seq if one.seq >= 0 else inf


def _sample(open_: Sequence[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange]) -> list[RecordedProgram]:
    """Some programs of each cause, small ones that let no time pass."""
    by: dict[Cause, list[RecordedProgram]] = {}
    for one in sorted(open_, key=lambda each: (each.program.waits, each.size)):
        by.setdefault(cause_of(one.differences(profile, chosen)[0], one.history), []).append(one)
    return [one for group in by.values() for one in group[:SAMPLE]]


def told(
    recorded: Iterable[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange], wanted: Iterable[SwitchChange], tick: Tick
) -> dict[SwitchChange, RecordedProgram]:
    """Which programs tell that a switch has no other value: they agree with the profile, and would not with the change."""
    agreeing = [
        one
        for one in sorted(recorded, key=lambda each: (each.program.waits, each.size))
        if one.tells and not one.differences(profile, chosen)
    ]
    found = {}
    asked = list(wanted)
    for number, change in enumerate(asked, 1):
        tick("confirming switch", number, len(asked))
        for one in agreeing:
            if one.differences(profile, (*[each for each in chosen if each.switch != change.switch], change)):
                found[change] = one
                break
    return found
