"""The shrinker: removes from a program, a history's requests or a witness' moves what is not needed for the evidence.

It is delta debugging over a sequence: parts are removed, then simplified. Every subsequence of the parts must be meaningful on its own. The
callback `shows` runs a candidate on a simulated cluster, a broker, or a target of the specification. A candidate is accepted only if it
certainly shows the evidence: one whose verdict is unknown is treated like one that shows nothing.
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
    """Return a minimal sequence that still shows evidence, and the evidence: no part can be removed or simplified.

    `evidence`: what all parts show. `shows` returns None if a candidate shows nothing or is undecided. `simpler` yields simpler forms
    of a part. `needed` returns the parts that the evidence uses. After an interrupt, returns the smallest sequence so far.
    """

    def attempt(candidate: Sequence[Part]) -> Evidence | None:
        return None if interrupts.came() else shows(candidate)

    smallest = list(parts) if needed is None else list(needed(evidence))
    before: list[Part] | None = None
    while before != smallest:
        before = list(smallest)
        size = max(1, len(smallest) // 2)
        while True:
            position = len(smallest) - size
            while position > -size and smallest:
                fewer = smallest[: max(0, position)] + smallest[position + size :]
                shown = attempt(fewer)
                if shown is not None:
                    evidence, smallest = shown, fewer if needed is None else list(needed(shown))
                position = min(position, len(smallest)) - size
            if size == 1:
                break
            size //= 2
        for position in range(len(smallest)):
            changed = True
            while changed and position < len(smallest):
                changed = False
                for form in simpler(smallest[position]) if simpler is not None else ():
                    other = [*smallest[:position], form, *smallest[position + 1 :]]
                    shown = attempt(other)
                    if shown is not None:
                        evidence, smallest = shown, other if needed is None else list(needed(shown))
                        changed = True
                        break
    return smallest, evidence


def smaller_forms(parts: Sequence[Part], simpler: Callable[[Part], Iterable[Part]]) -> Iterator[tuple[Part, ...]]:
    """Yield different candidates of one round of shrinking, the smallest first, for callers that run many candidates together.

    These are single parts, halves, all parts but one and, for at most three parts, simpler forms of one part.
    """
    count = len(parts)
    chunks = [(at, at + 1) for at in range(count)] + [(0, count // 2), (count // 2, count)] if count > 1 else []
    kept = [tuple(parts[first:last]) for first, last in chunks]
    kept += [(*parts[:at], *parts[at + 1 :]) for at in range(count) if count > 1]
    if count <= 3:
        kept += [(*parts[:at], form, *parts[at + 1 :]) for at, part in enumerate(parts) for form in simpler(part)]
    yield from {repr(candidate): candidate for candidate in kept}.values()


def simpler_steps(step: Step) -> Iterator[Step]:
    """Yield the step with the default for one argument, or without one property."""
    name, args = step
    for key, value in args.items():
        kept = {k: v for k, v in args.items() if k != key}
        yield name, kept
        if isinstance(value, dict):
            for left in value:
                yield name, {**kept, key: {k: v for k, v in value.items() if k != left}}
