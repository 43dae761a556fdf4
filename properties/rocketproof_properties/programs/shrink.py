"""The one shrinker: a program, a history's requests or a witness's moves without what is not needed for what they show.

What is made smaller is a sequence whose parts mean something whatever stands before them. Whether a smaller one still shows the same is
asked of `shows`, which runs it wherever it runs: on a simulated cluster, on a broker, on a target of the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rocketproof_model import interrupts

from .vocabulary import Step

Part = TypeVar("Part")
Evidence = TypeVar("Evidence")


def shrink(
    parts: Sequence[Part],
    evidence: Evidence,
    shows: Callable[[Sequence[Part]], Evidence | None],
    *,
    simpler: Callable[[Part], Iterable[Part]] | None = None,
    needed: Callable[[Evidence], Sequence[Part]] | None = None,
) -> tuple[list[Part], Evidence]:
    """A smallest sequence that still shows something, and what it shows: no part of it can be left out or made simpler.

    `evidence` is what all the parts show; `shows` gives None where nothing is shown. `simpler` gives the simpler forms of a part, and
    `needed` the parts that came to be used, where evidence shows them. After an interrupt it tries nothing more and gives the smallest
    sequence so far.
    """

    def tried(some: Sequence[Part]) -> Evidence | None:
        return None if interrupts.came() else shows(some)

    found = list(parts) if needed is None else list(needed(evidence))
    before: list[Part] | None = None
    while before != found:
        before = list(found)
        size = max(1, len(found) // 2)
        while True:
            at = len(found) - size
            while at > -size and found:
                fewer = found[: max(0, at)] + found[at + size :]
                again = tried(fewer)
                if again is not None:
                    evidence, found = again, fewer if needed is None else list(needed(again))
                at = min(at, len(found)) - size
            if size == 1:
                break
            size //= 2
        for at in range(len(found)):
            changed = True
            while changed and at < len(found):
                changed = False
                for one in simpler(found[at]) if simpler is not None else ():
                    other = [*found[:at], one, *found[at + 1 :]]
                    again = tried(other)
                    if again is not None:
                        evidence, found = again, other if needed is None else list(needed(again))
                        changed = True
                        break
    return found, evidence


def simpler_steps(step: Step) -> Iterator[Step]:
    """A step with the default in the place of one argument, or without one property."""
    name, args = step
    for key, value in args.items():
        kept = {k: v for k, v in args.items() if k != key}
        yield name, kept
        if isinstance(value, dict):
            for left in value:
                yield name, {**kept, key: {k: v for k, v in value.items() if k != left}}
