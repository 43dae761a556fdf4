"""Find the switches that explain how a broker deviates from a profile.

A change of a switch explains a difference if the reference implementation with the changed profile does not differ there. The change that
explains most is taken. This is repeated in combination with the changes taken, until no change explains anything. A program that needs
several changes is explained one difference at a time: a change must move the first remaining difference to a later event, or reduce the
number of differences.
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
"""Number of programs per cause that are replayed under each change, the smallest first."""

DOUBTED: Final = 4
"""Number of changes without which the search is repeated if something is unexplained: a change that explains one program may prevent the
explanation of another.
"""

Tick = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Proposal:
    """A change, the programs that need it in addition to the other proposals (smallest first), and changes that explain the same."""

    change: SwitchChange
    shown: tuple[RecordedProgram, ...]
    instead: tuple[SwitchChange, ...] = ()


@dataclass
class SwitchExplanation:
    """The changes of a profile that explain a broker's programs.

    `agreeing` programs agree with the unchanged profile. `unexplained` programs differ even with all proposals.
    """

    profile: Profile
    proposals: list[Proposal] = field(default_factory=list)
    unexplained: dict[Cause, list[RecordedProgram]] = field(default_factory=dict)
    agreeing: list[RecordedProgram] = field(default_factory=list)

    @property
    def changes(self) -> tuple[SwitchChange, ...]:
        return tuple(proposal.change for proposal in self.proposals)


def explain(recorded: Sequence[RecordedProgram], profile: Profile, tick: Tick = lambda what, done, all_: None) -> SwitchExplanation:
    """Find the changes of a profile that explain recorded programs."""
    explanation = SwitchExplanation(profile)
    recorded = [program for program in recorded if program.is_comparable]
    for number, program in enumerate(recorded, 1):
        if not program.differences(profile):
            explanation.agreeing.append(program)
        tick("comparing program", number, len(recorded))
    chosen, instead = _select(recorded, profile, frozenset(), tick)
    for change in sorted(chosen, key=lambda candidate: len(_explained_by(candidate, recorded, profile, chosen)))[:DOUBTED]:
        open_ = _unexplained_count(recorded, profile, chosen)
        if not open_:
            break
        others = _select(recorded, profile, frozenset({change}), tick)
        if _unexplained_count(recorded, profile, others[0]) < open_:
            chosen, instead = others
    explanation.proposals = [
        Proposal(change, tuple(_explained_by(change, recorded, profile, chosen)), instead[change]) for change in chosen
    ]
    for program in sorted(recorded, key=lambda candidate: candidate.size):
        differences = program.differences(profile, chosen)
        if differences:
            explanation.unexplained.setdefault(cause_of(differences[0], program.history), []).append(program)
    return explanation


def _unexplained_count(recorded: Sequence[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange]) -> int:
    """Return how many programs differ under these changes."""
    return sum(bool(program.differences(profile, chosen)) for program in recorded)


def _select(
    recorded: Sequence[RecordedProgram], profile: Profile, without: frozenset[SwitchChange], tick: Tick
) -> tuple[list[SwitchChange], dict[SwitchChange, tuple[SwitchChange, ...]]]:
    """Return the changes that explain most, in order, and the equivalent alternatives of each. Changes in `without` are excluded."""
    chosen: list[SwitchChange] = []
    instead: dict[SwitchChange, tuple[SwitchChange, ...]] = {}
    while True:
        best, equal = _best(recorded, profile, chosen, without, tick)
        if best is None:
            break
        chosen.append(best)
        instead[best] = equal
    for change in list(chosen):  # a later change may have made it unnecessary
        if not _explained_by(change, recorded, profile, chosen):
            chosen = [other for other in chosen if other != change]
    return chosen, instead


def _explained_by(
    change: SwitchChange, recorded: Iterable[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange]
) -> list[RecordedProgram]:
    """Return the programs that all changes together explain, but not without this change; smallest first."""
    without = [other for other in chosen if other != change]
    explained = [program for program in recorded if not program.differences(profile, chosen) and program.differences(profile, without)]
    return sorted(explained, key=lambda program: program.size)


def _best(
    recorded: Sequence[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange], without: frozenset[SwitchChange], tick: Tick
) -> tuple[SwitchChange | None, tuple[SwitchChange, ...]]:
    """Return the change that explains most in addition to those chosen, and others that explain the same samples.

    It must explain more programs than it breaks: programs that were explained without it.
    """
    open_ = [program for program in recorded if program.differences(profile, chosen)]
    sample = _sample(open_, profile, chosen)
    taken = {change.switch for change in chosen}
    free = [change for change in changes(profile) if change.switch not in taken and change not in without]
    shown: dict[SwitchChange, frozenset[int]] = {}
    for number, change in enumerate(free, 1):
        tick("trying switch", number, len(free))
        combined = (*chosen, change)
        shown[change] = frozenset(
            n
            for n, program in enumerate(sample)
            if _is_progress(program.differences(profile, chosen), program.differences(profile, combined))
        )
    good = [program for program in recorded if not program.differences(profile, chosen)]
    for best in sorted((change for change in free if shown[change]), key=lambda change: (-len(shown[change]), distance(profile, change))):
        combined = (*chosen, best)
        gained = sum(_is_progress(program.differences(profile, chosen), program.differences(profile, combined)) for program in open_)
        if gained > sum(bool(program.differences(profile, combined)) for program in good):
            return best, tuple(other for other in free if other != best and shown[other] == shown[best])
    return None, ()


def _is_progress(before: Sequence[FieldDifference], after: Sequence[FieldDifference]) -> bool:
    """Return whether the first difference is gone, no earlier one appeared, and the rest is either known or smaller in number.

    A change that breaks an earlier response may hide later differences.
    """
    if before[0] in after or (after and _when(after[0]) < _when(before[0])):
        return False
    return len(after) < len(before) or all(difference in before for difference in after)


def _when(difference: FieldDifference) -> float:
    """Return the number of the differing event; infinity for state that was read at the end."""
    return difference.seq if difference.seq >= 0 else inf


def _sample(open_: Sequence[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange]) -> list[RecordedProgram]:
    """Return some programs of each cause, preferring small programs that do not wait."""
    by_cause: dict[Cause, list[RecordedProgram]] = {}
    for program in sorted(open_, key=lambda candidate: (candidate.program.waits, candidate.size)):
        by_cause.setdefault(cause_of(program.differences(profile, chosen)[0], program.history), []).append(program)
    return [program for group in by_cause.values() for program in group[:SAMPLE]]


def excluding(
    recorded: Iterable[RecordedProgram], profile: Profile, chosen: Sequence[SwitchChange], changes_: Iterable[SwitchChange], tick: Tick
) -> dict[SwitchChange, RecordedProgram]:
    """Return the programs that exclude another value of a switch: they agree with the profile, and would differ with the change."""
    agreeing = [
        program
        for program in sorted(recorded, key=lambda candidate: (candidate.program.waits, candidate.size))
        if program.is_comparable and not program.differences(profile, chosen)
    ]
    confirming = {}
    candidates = list(changes_)
    for number, change in enumerate(candidates, 1):
        tick("confirming switch", number, len(candidates))
        for program in agreeing:
            if program.differences(profile, (*[other for other in chosen if other.switch != change.switch], change)):
                confirming[change] = program
                break
    return confirming
