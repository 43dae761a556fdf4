"""What an engine answers: objects that carry their evidence. Printing is done elsewhere.

A verdict is `holds`, `violated`, `unknown` (with a reason) or `not inductive` (a counterexample to induction, which is
no bug: its state may be unreachable). For `reachable`, `holds` comes with a witness that shows it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from . import interrupts
from .errors import LimitReached
from .interpreter import State
from .language import Instance, Property

Verdict = Literal["holds", "violated", "unknown", "not inductive"]
Engine = Literal["explicit", "symbolic", "simulate", "stateful", "spark"]

SEARCHED = ("always", "reachable", "step", "deadlock_free")  # kinds of properties that a search of all states decides
LIVE = ("leads_to", "eventually_always")  # kinds that fair loops in the graph of all states decide

# Reasons of `unknown`, the words of `--json`.
BOUND, TIME, MEMORY, STATES, INTERRUPTED, GAVE_UP = "bound reached", "time", "memory", "states", "interrupted", "engine gave up"
MODEL_ERROR, DISK = "model error", "disk full"


@dataclass(frozen=True)
class Move:
    """One step of a witness: the action's name and its argument codes."""

    action: str
    args: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Witness:
    """A path: `states` has one more element than `moves`; `loop` is the index of the state that the last one returns to.

    A lasso that ends in a state without a fair step has `loop` equal to the last index: it stays there.
    `note` states what matters, such as the fairness assumption that a lasso respects.
    """

    instance: Instance
    property: Property
    moves: tuple[Move, ...]
    states: tuple[State, ...]
    loop: int | None = None
    note: str = ""

    def __len__(self) -> int:
        """How many steps the path has."""
        return len(self.moves)

    def __bool__(self) -> bool:
        """Always true: a path of no steps is a witness too."""
        return True

    def labels(self) -> list[str]:
        return [self.instance.model.named(m.action).label(m.args) for m in self.moves]


@dataclass(frozen=True)
class Coverage:
    """What a run exercised. `guards` maps (action, guard) to (was seen true, was seen false); guards are asked in order. `pairs` counts
    which action came right after which, where programs were run; a search has no order to count."""

    taken: dict[str, int]
    guards: dict[tuple[str, str], tuple[bool, bool]]
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def never(self) -> list[tuple[str, str]]:
        """Actions that never happened, each with the name of the guard that stopped it ("" if none was even reached)."""
        return [(action, self.stopper(action)) for action, times in self.taken.items() if times == 0]

    def stopper(self, action: str) -> str:
        for (name, guard), (seen_true, _) in self.guards.items():
            if name == action and not seen_true:
                return guard
        return ""

    def one_sided(self) -> list[tuple[str, str, bool]]:
        """Guards that were asked but gave one answer only: (action, guard, that answer)."""
        return [(a, g, t) for (a, g), (t, f) in self.guards.items() if t != f]

    def merge(self, other: Coverage) -> Coverage:
        taken = {a: self.taken.get(a, 0) + other.taken.get(a, 0) for a in self.taken | other.taken}
        keys = self.guards | other.guards
        none = (False, False)
        both = {k: (self.guards.get(k, none), other.guards.get(k, none)) for k in keys}
        return Coverage(taken, {k: (x[0] or y[0], x[1] or y[1]) for k, (x, y) in both.items()}, self.pairs + other.pairs)


@dataclass(frozen=True, eq=False)
class Outcome:
    """One property decided (or not) by one engine."""

    property: Property
    engine: Engine
    verdict: Verdict
    reason: str = ""
    witness: Witness | None = None
    states: int | None = None
    transitions: int | None = None
    depth: int | None = None
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Explored:
    """What a search of all reachable states established.

    `states` are the distinct ones, `transitions` all generated states (the initial one and one for each transition), `depth`
    the number of levels, `deadlocks` the states without successor. `finished` is False if a limit, an interruption or
    what was `enough` ended the search before all states were seen; `reason` is which.
    """

    instance: Instance
    outcomes: list[Outcome]
    states: int
    transitions: int
    depth: int
    deadlocks: int
    coverage: Coverage
    reason: str
    seconds: float

    @property
    def finished(self) -> bool:
        return not self.reason

    def outcome(self, id_: str) -> Outcome:
        """The outcome of the property with this id; KeyError if it was not asked."""
        for outcome in self.outcomes:
            if outcome.property.id == id_:
                return outcome
        raise KeyError(id_)


@dataclass(frozen=True)
class Limits:
    """Bounds of one run: wall seconds, bytes of the engine's arrays, distinct states. None is no bound.

    `disk` is how many bytes the explicit search may have in its checkpoint's folder when memory ends; None: it ends with memory.
    """

    seconds: float | None = None
    memory: int | None = None
    states: int | None = None
    disk: int | None = None


@dataclass(frozen=True)
class Progress:
    """Where a run is, passed to a callback about twice a second."""

    engine: Engine
    depth: int
    states: int
    frontier: int
    seconds: float


Report = Callable[[Progress], None]


class Watch:
    """Seconds since it was made, and whether a limit of time has passed. Asked for its limit, it raises KeyboardInterrupt in a process that
    was interrupted: engines ask it before each piece of their work."""

    def __init__(self, limits: Limits) -> None:
        self.start = time.monotonic()
        self.limits = limits

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    @property
    def expired(self) -> bool:
        interrupts.stop_if_interrupted()
        return self.limits.seconds is not None and self.seconds > self.limits.seconds

    def check(self) -> None:
        """Raise LimitReached if the limit of time has passed."""
        if self.expired:
            raise LimitReached(TIME)

    @property
    def left(self) -> float | None:
        interrupts.stop_if_interrupted()
        return None if self.limits.seconds is None else max(0.0, self.limits.seconds - self.seconds)
