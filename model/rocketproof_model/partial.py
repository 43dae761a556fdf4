"""The meaning of a term when only a part of the state is known: its value if the known part decides it, else None.

For all values of the unknown slots the interpreter gives the same value or none; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .functions import fold
from .language import DEEPEST, Action, Expr, Guard, Variable, in_reach

Partial = Sequence[int | None]
"""A state with unknown slots, which are None."""


@dataclass(frozen=True, eq=False)
class View:
    """The inputs of a term: the known slots, the action's arguments, the constants, and assumed values of some terms."""

    state: Partial
    args: Mapping[str, int]
    constants: Mapping[str, int]
    taken: Mapping[Expr, int] = field(default_factory=dict)
    known: dict[Expr, int | None] = field(default_factory=dict, init=False, repr=False)


def decided(e: Expr, seen: View) -> int | None:
    """Return the code of a term if the known slots decide it."""
    if e.depth <= DEEPEST:
        return _decided(e, seen)
    for part in in_reach(e, seen.known):
        seen.known[part] = _decided(part, seen)
    return seen.known[e]


def _decided(e: Expr, seen: View) -> int | None:
    op, a = e.op, e.args
    if e in seen.taken:
        return seen.taken[e]
    if op == "const":
        return int(a[0])
    if op == "par":
        return seen.args.get(a[0])
    if op == "given":
        return seen.constants[a[0]]
    if op == "ref":
        slot = place(e, seen)
        return None if slot is None else seen.state[slot]
    if op in ("and", "or"):
        settles = int(op == "or")
        values = [decided(x, seen) for x in a]
        return settles if settles in values else None if None in values else 1 - settles
    if op == "ite":
        condition = decided(a[0], seen)
        if condition is not None:
            return decided(a[1] if condition else a[2], seen)
        then, otherwise = decided(a[1], seen), decided(a[2], seen)
        return then if then == otherwise else None
    known = [x for x in (decided(x, seen) for x in a) if x is not None]
    return fold(e, known) if len(known) == len(a) else None


def place(ref: Expr, seen: View) -> int | None:
    """Return the slot of a reference if the known slots decide it."""
    variable: Variable = ref.args[0]
    at = [x for x in (decided(i, seen) for i in ref.args[1:]) if x is not None]
    inside = len(at) == len(variable.over) and all(axis.lo <= k <= axis.hi for k, axis in zip(at, variable.over, strict=True))
    return variable.slot(tuple(at)) if inside else None


def excluding(action: Action, seen: View) -> Guard | None:
    """Return the first guard by which no state with these known slots allows the action; None if some may."""
    return next((guard for guard in action.guards if not guard.bound and decided(guard.condition, seen) == 0), None)


__all__ = ["Partial", "View", "decided", "place", "excluding"]
