"""Results of engines: objects that contain their evidence. Other modules print them.

A verdict is `holds`, `violated`, `unknown` (with a reason) or `not inductive`. The last is a counterexample to induction, which is no bug:
its state may be unreachable. For `reachable`, `holds` has a witness.
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

# Reasons of `unknown`, as in the output of `--json`.
BOUND, TIME, MEMORY, STATES, INTERRUPTED, GAVE_UP = "bound reached", "time", "memory", "states", "interrupted", "engine gave up"
MODEL_ERROR, DISK = "model error", "disk full"


@dataclass(frozen=True)
class Move:
    """One step of a witness: the action's name and its argument codes."""

    action: str
    args: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Witness:
    """A path: `states` has one more element than `moves`.

    If it is a lasso, `loop` is the index of the state to which the last state returns.

    A lasso that ends in a state without a fair step has `loop` equal to the last index: it stays there. `note` explains it, such as the
    fairness assumption that a lasso respects.
    """

    instance: Instance
    property: Property
    moves: tuple[Move, ...]
    states: tuple[State, ...]
    loop: int | None = None
    note: str = ""

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.moves)

    def __bool__(self) -> bool:
        """Return True: a path of no steps is a witness too."""
        return True

    def labels(self) -> list[str]:
        return [self.instance.model.named(m.action).label(m.args) for m in self.moves]


@dataclass(frozen=True)
class Coverage:
    """What a run exercised. `guards` maps (action, guard) to (was seen true, was seen false); guards are evaluated in order.

    `pairs` counts how often an action directly followed another in programs; a search has no order to count.
    """

    taken: dict[str, int]
    guards: dict[tuple[str, str], tuple[bool, bool]]
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def never(self) -> list[tuple[str, str]]:
        """Return the actions that never happened, each with the name of the guard that stopped it ("" if no guard was reached)."""
        return [(action, self.stopper(action)) for action, times in self.taken.items() if times == 0]

    def stopper(self, action: str) -> str:
        for (name, guard), (seen_true, _) in self.guards.items():
            if name == action and not seen_true:
                return guard
        return ""

    def one_sided(self) -> list[tuple[str, str, bool]]:
        """Return guards that were evaluated with one answer only: (action, guard, that answer)."""
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
    """The result of a search of all reachable states.

    `states` counts distinct states, `transitions` all generated states (the initial state and one per transition), `depth` the levels,
    `deadlocks` the states without successor. `finished` is False if a limit, an interruption or the condition `enough` ended the search
    early; `reason` states which.
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
        """Return the outcome of the property with this id; raises KeyError if there is none."""
        for outcome in self.outcomes:
            if outcome.property.id == id_:
                return outcome
        raise KeyError(id_)


@dataclass(frozen=True)
class Limits:
    """Bounds of one run: wall seconds, bytes of the engine's arrays, distinct states. None is no bound.

    `disk` is the maximum of bytes in the checkpoint's folder with which an explicit search continues when memory is full. With None the
    search ends when memory is full.
    """

    seconds: float | None = None
    memory: int | None = None
    states: int | None = None
    disk: int | None = None


@dataclass(frozen=True)
class Progress:
    """The progress of a run, passed to a callback about twice a second."""

    engine: Engine
    depth: int
    states: int
    frontier: int
    seconds: float


Report = Callable[[Progress], None]


class Watch:
    """The seconds since its creation, and whether a limit of time has passed.

    Engines query the limit before each piece of work. In an interrupted process this raises KeyboardInterrupt.
    """

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
