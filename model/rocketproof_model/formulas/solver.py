"""A z3 solver under limits, and the error for contradictions between engines."""

from __future__ import annotations

from dataclasses import replace

from ..errors import LimitReached
from ..result import GAVE_UP, INTERRUPTED, MEMORY, TIME, Watch
from .smt import z3
from .values import Value, formula


class EnginesDisagree(RuntimeError):
    """z3 and the interpreter differ about a path or a value: a bug in rocketproof itself."""


class Solver:
    """A z3 solver for bit-vectors under limits of time and memory. `check` raises LimitReached if z3 has no answer."""

    def __init__(self, watch: Watch, *, of_integers: bool = False) -> None:
        """Create a solver that computes with bit-vectors, or with integers if `of_integers`."""
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
        """Return a z3 model of the added formulas and the assumed literals, or None if there is none.

        Without a model, `core` names sufficient assumptions.
        """
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
        """Return the names of the assumed literals without which the last `check` might have had a model."""
        return [str(literal) for literal in self._solver.unsat_core()]

    def _reason(self) -> str:
        reason = self._solver.reason_unknown()
        if "memory" in reason:
            return MEMORY
        left = self.watch.left
        if (left is not None and left < 0.05) or "timeout" in reason:
            return TIME
        return INTERRUPTED if "interrupt" in reason or "cancel" in reason else GAVE_UP


_TRIES: tuple[tuple[bool, float], ...] = ((False, 0.3), (True, 3.0))
"""The solvers that are tried first: whether it is a solver of integers, and its seconds. Then a solver of bits gets all the time."""


def solved(watch: Watch, *terms: Value) -> Value | None:
    """Return a z3 model of the terms, None if there is none. Raises LimitReached.

    Two solvers are tried in turn. The order of some 32-bit numbers takes an integer solver half a second, and a bit-vector solver between
    half a second and ten seconds. Remainders and masks are the other way round.
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
