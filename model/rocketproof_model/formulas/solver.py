"""A z3 solver under limits, and what it means that the engines disagree."""

from __future__ import annotations

from dataclasses import replace

from ..errors import LimitReached
from ..result import GAVE_UP, INTERRUPTED, MEMORY, TIME, Watch
from .smt import z3
from .values import Value, formula


class EnginesDisagree(RuntimeError):
    """z3 and the interpreter differ about a path or a value: a mistake in rocketproof itself."""


class Solver:
    """A z3 solver for bit-vectors under limits of time and memory; `check` raises LimitReached instead of giving no answer."""

    def __init__(self, watch: Watch, *, of_integers: bool = False) -> None:
        """A solver that computes with bits, or `of_integers`."""
        self.watch = watch
        if of_integers:
            self._solver = z3.SimpleSolver()
            self._solver.set("bv.solver", 2)
        else:  # measured: ten times faster on transition systems than z3's default solver
            self._solver = z3.SolverFor("QF_BV")
        if watch.limits.memory is not None:
            self._solver.set("max_memory", max(1, watch.limits.memory >> 20))

    def add(self, *terms: Value) -> None:
        self._solver.add(*(formula(t) for t in terms))

    def check(self, *assumptions: Value) -> Value | None:
        """A z3 model of what was added and assumed (literals), or None if there is none; then `core` tells what of that suffices."""
        self.watch.check()
        left = self.watch.left
        if left is not None:
            self._solver.set("timeout", max(1, int(left * 1000)))
        answer = self._solver.check(*assumptions)
        if answer == z3.sat:
            return self._solver.model()
        if answer == z3.unsat:
            return None
        raise LimitReached(self._reason())

    def core(self) -> list[str]:
        """The names of the assumed literals without which the last `check` might have had a model."""
        return [str(literal) for literal in self._solver.unsat_core()]

    def _reason(self) -> str:
        said = self._solver.reason_unknown()
        if "memory" in said:
            return MEMORY
        left = self.watch.left
        if (left is not None and left < 0.05) or "timeout" in said:
            return TIME
        return INTERRUPTED if "interrupt" in said or "cancel" in said else GAVE_UP


_TRIES: tuple[tuple[bool, float], ...] = ((False, 0.3), (True, 3.0))
"""Whether a solver of integers is asked, and for how many seconds, before one of bits gets all the time."""


def solved(watch: Watch, *terms: Value) -> Value | None:
    """A z3 model of the terms, None if there is none. Raises LimitReached.

    Two solvers are asked in turn: the order of some numbers of 32 bits takes one of integers half a second, and one of bits any time
    between that and ten seconds; remainders and masks are the other way round.
    """
    for of_integers, seconds in _TRIES:
        left = watch.left
        if left is not None and left <= seconds:
            break
        solver = Solver(Watch(replace(watch.limits, seconds=seconds)), of_integers=of_integers)
        solver.add(*terms)
        try:
            return solver.check()
        except LimitReached as stop:
            if stop.reason == INTERRUPTED:
                raise
    solver = Solver(watch)
    solver.add(*terms)
    return solver.check()
