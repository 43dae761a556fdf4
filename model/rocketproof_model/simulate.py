"""Random simulation: many walks from the initial state, and how often each claim was seen, with confidence intervals.

In each state an enabled action instance is chosen in proportion to its action's weight. An action of weight 0 is chosen only if no other is
enabled. A walk ends after a number of steps, in a state without successor, or where `until` holds. Walks run on the kernels, each with its
own generator (see `chance`), so the interpreter can repeat any walk. Witnesses are built this way, so walking needs no memory for paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from . import interrupts
from .errors import EvaluationError, LimitReached, ModelError
from .explicit import kernel
from .explicit.chance import Generator, base, choose, interval
from .explicit.loops import successors as successors_of
from .explicit.walks import DEADLOCK, UNTIL, walk_runs
from .faults import fault_at_end, fault_of_claims, instances
from .interpreter import State, effect, holds, initials, refusing, successors
from .language import Expr, Instance, Property
from .result import BOUND, INTERRUPTED, TIME, Coverage, Limits, Move, Outcome, Progress, Report, Watch, Witness

KINDS = ("always", "reachable", "step", "deadlock_free")
_BATCH_SECONDS = 0.3
REPLAY_SECONDS = 1.0
"""Seconds that the replays of runs may take after the limit of time, or after an interrupt."""
Long = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ClaimTally:
    """The counts of one claim: states with the formula of `reachable`, or violations of the others.

    `count` is the number of runs that showed it in some state (or step). `last` is the number of runs that showed it in the last state
    (None for `step`). The intervals are for the probabilities per run. `run` is the first run that showed it. It has no `witness` if the
    limit of time ended the run's replay.
    """

    property: Property
    count: int
    last: int | None
    interval: tuple[float, float]
    last_interval: tuple[float, float] | None
    run: int | None
    witness: Witness | None


@dataclass(frozen=True, eq=False)
class Simulation:
    """The completed walks. `reason` is empty if all were completed, else the reason why not; `transitions` counts their steps."""

    instance: Instance
    seed: int
    steps: int
    runs: int
    confidence: float
    tallies: tuple[ClaimTally, ...]
    transitions: int
    longest: int
    deadlocks: int
    stopped: int
    coverage: Coverage
    reason: str
    seconds: float

    def tally(self, id_: str) -> ClaimTally:
        for tally in self.tallies:
            if tally.property.id == id_:
                return tally
        raise ModelError(f"nothing called {id_!r} was counted", f"there is {', '.join(t.property.id for t in self.tallies) or 'nothing'}")


def walk(instance: Instance, *, seed: int, run: int, steps: int, until: Expr | None = None) -> Iterator[tuple[Move | None, State]]:
    """Yield one run of the interpreter: an initial state without a move, then each move and the state after it.

    The initial state is drawn if there are several.
    """
    generator, starts = Generator.of(seed, run), list(initials(instance))
    state = starts[int(generator.uniform() * len(starts))] if len(starts) > 1 else starts[0]
    yield None, state
    for _ in range(steps):
        if until is not None and holds(instance, until, state):
            return
        enabled = list(successors(instance, state))
        if not enabled:
            return
        step = enabled[choose([s.action.weight for s in enabled], generator.uniform())]
        state = step.state
        yield Move(step.action.name, step.args), state


def check(
    instance: Instance,
    properties: Iterable[Property] | None = None,
    *,
    runs: int = 10_000,
    steps: int = 100,
    seed: int = 0,
    limits: Limits = Limits(),
    report: Report | None = None,
    confidence: float = 0.99,
) -> list[Outcome]:
    """Search for violations of `always`, `step` and `deadlock_free` and for states of `reachable` by random walks.

    A claim that was not seen stays unknown. `details` has the number of runs, the number that showed the claim, the interval of the
    probability per run, the seed and the first run that showed it. Without `properties` it takes all of the model's properties of these
    kinds.
    """
    chosen = [p for p in instance.model.properties if p.kind in KINDS] if properties is None else list(properties)
    simulation = estimate(instance, chosen, runs=runs, steps=steps, seed=seed, limits=limits, report=report, confidence=confidence)
    return [outcome(simulation, tally) for tally in simulation.tallies]


def outcome(simulation: Simulation, tally: ClaimTally) -> Outcome:
    """Return the verdict of a tally, as `check` does."""
    good = tally.property.kind == "reachable"
    details = {"runs": simulation.runs, "count": tally.count, "interval": tally.interval, "seed": simulation.seed, "run": tally.run}
    return Outcome(
        tally.property,
        "simulate",
        "unknown" if tally.witness is None else "holds" if good else "violated",
        (simulation.reason or (BOUND if tally.run is None else TIME)) if tally.witness is None else "",
        tally.witness,
        transitions=simulation.transitions,
        depth=simulation.longest,
        seconds=simulation.seconds,
        details=details,
    )


def estimate(
    instance: Instance,
    claims: Sequence[Property] | Mapping[str, Expr],
    *,
    runs: int,
    steps: int,
    seed: int,
    until: Expr | None = None,
    confidence: float = 0.99,
    limits: Limits = Limits(),
    report: Report | None = None,
) -> Simulation:
    """Walk `runs` times for at most `steps` steps and count each claim: properties, or formulas by name.

    The same seed gives the same result, unless a limit of time or an interrupt ends it early. `runs` of the result is then the number of
    walks that count. Raises ModelError for a claim that walks cannot judge and EvaluationError where the interpreter would.
    """
    watch = Watch(limits)
    if runs < 1 or steps < 0 or not 0.0 < confidence < 1.0:
        raise ModelError(f"{runs} runs of {steps} steps at confidence {confidence}", "at least one run, and a confidence between 0 and 1")
    chosen = list(claims if not isinstance(claims, Mapping) else _named(claims))
    for claim in chosen:
        if claim.kind not in KINDS:
            raise ModelError(
                f"property {claim.id} is of kind {claim.declared}, which random walks cannot judge", f"they judge {', '.join(KINDS)}"
            )
    walks = _Walks(instance, chosen, until, seed, steps)
    reason = walks.go(runs, watch, report)
    return walks.result(reason, confidence, watch)


def _named(formulas: Mapping[str, Expr]) -> list[Property]:
    return [Property(name, name, "reachable", formula) for name, formula in formulas.items()]


def sought(claim: Property) -> Expr:
    """Return the formula that a walk searches for: that of `reachable`, the negation of the others."""
    return claim.formula if claim.kind == "reachable" else ~claim.formula


@dataclass(eq=False)
class _Walks:
    """The arrays of a simulation; row k of `seen`, `last`, `length` and `ended` belongs to run k."""

    instance: Instance
    claims: list[Property]
    until: Expr | None
    seed: int
    steps: int
    done: int = 0
    seen: list[Long] = field(default_factory=list)
    last: list[Long] = field(default_factory=list)
    length: list[Long] = field(default_factory=list)
    ended: list[Long] = field(default_factory=list)

    def __post_init__(self) -> None:
        model = self.instance.model
        self.states = [c for c in self.claims if c.kind not in ("step", "deadlock_free")]
        self.moves = [c for c in self.claims if c.kind == "step"]
        self.stops = [c for c in self.claims if c.kind == "deadlock_free"]
        formulas = [sought(c) for c in self.states] + ([self.until] if self.until is not None else [])
        self.kernel = kernel.build(model)
        self.check = kernel.compile_masks("check", self.kernel.layout, formulas)
        relations = [sought(c) for c in self.moves]
        self.step = kernel.compile_masks("steps", self.kernel.layout, relations)
        self.width = kernel.mask_words(formulas)
        ends = [sought(c) for c in self.stops]  # they need no value in states with a successor
        self.end = kernel.compile_masks("ends", self.kernel.layout, ends)
        self.middle = self.width + kernel.mask_words(relations)
        self.all = self.middle + kernel.mask_words(ends)
        self.stop = len(formulas) - 1 if self.until is not None else -1
        words, most = self.kernel.layout.words, max(1, self.kernel.max_successors)
        self.weights = np.repeat([float(a.weight) for a in model.actions], [a.count for a in model.actions]).astype(np.float64)
        self.owner = np.repeat(np.arange(len(model.actions)), [a.count for a in model.actions]).astype(np.int64)
        self.consts = self.kernel.consts(self.instance)
        self.start = self.kernel.layout.pack_many(np.array(list(initials(self.instance)), np.int64).reshape(-1, model.slots))
        self.out, self.tags = np.zeros(most * words, np.int64), np.zeros(most, np.int64)
        self.taken, self.counts = np.zeros((2, max(1, len(model.actions))), np.int64)
        self.cover = np.zeros(self.kernel.cover_words, np.int64)
        self.here, self.masks = np.zeros(2 * words, np.int64), np.zeros(self.all, np.int64)

    def go(self, runs: int, watch: Watch, report: Report | None) -> str:
        """Walk in batches of about a third of a second. Return the reason why not all runs were completed, or ""."""
        batch = 1  # a run may take a second: a step tries up to a million action instances
        try:
            while self.done < runs:
                if watch.expired:
                    return TIME
                before = watch.seconds
                self.some(min(batch, runs - self.done), watch)
                spent = watch.seconds - before
                batch = max(1, min(2 * batch, int(batch * _BATCH_SECONDS / max(spent, 1e-6))))
                if report is not None:
                    walked = int(sum(part.sum() for part in self.length))
                    report(Progress("simulate", self.steps, walked, runs - self.done, watch.seconds))
        except KeyboardInterrupt:
            interrupts.heard()
            return INTERRUPTED
        return ""

    def some(self, runs: int, watch: Watch) -> None:
        seen, last = np.zeros((runs, self.all), np.int64), np.zeros((runs, self.all), np.int64)
        length, ended = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
        seed = np.uint64(base(self.seed))
        calls = (self.kernel.succ, self.check, self.step, self.end)
        plan = (self.done, self.steps, self.width, self.middle, self.stop)
        fault = walk_runs(
            calls, plan, seed, self.weights, self.owner, self.consts, self.start, self.out, self.tags, self.counts, self.taken, self.cover,
            self.here, self.masks, seen, last, length, ended,
        )  # fmt: skip
        if fault >= 0:
            self.raise_fault(self.done + int(fault), _Allowance.after(watch))
        self.done += runs
        for rows, more in ((self.seen, seen), (self.last, last), (self.length, length), (self.ended, ended)):
            rows.append(more)

    def raise_fault(self, run: int, replays: _Allowance) -> None:
        """Raise the interpreter's error, with its path, for the term without a value that the kernel met in a run."""
        where = f"run {run} of seed {self.seed} meets a term without a value"
        moves: list[Move] = []
        states: list[State] = []
        try:
            for move, state in replays.of(self.replay(run)):
                moves += [] if move is None else [move]
                states.append(state)
                fault = fault_of_claims(self.instance, moves, states, self.claims)
                if fault is not None:
                    raise fault
            fault = fault_at_end(self.instance, moves, states, self.claims, steps=replays.of(instances(self.instance)))
        except LimitReached:
            raise EvaluationError(f"{where}, and the limit of time ended the replay that shows where; allow more time") from None
        raise fault or EvaluationError(f"{where}, which the interpreter does not confirm")

    def result(self, reason: str, confidence: float, watch: Watch) -> Simulation:
        replays = _Allowance.after(watch, stopped=bool(reason))
        empty = np.zeros((0, self.all), np.int64)
        seen, final = np.concatenate([empty, *self.seen]), np.concatenate([empty, *self.last])
        length, ended = (np.concatenate([np.zeros(0, np.int64), *part]) for part in (self.length, self.ended))
        tallies = []
        for claim in self.claims:
            first, among = (
                (self.width, self.moves) if claim.kind == "step"
                else (self.middle, self.stops) if claim.kind == "deadlock_free"
                else (0, self.states)
            )  # fmt: skip
            word, shift = first + among.index(claim) // kernel.BITS, among.index(claim) % kernel.BITS
            shown = seen[:, word] >> shift & 1 == 1
            at_end = shown if claim.kind == "deadlock_free" else final[:, word] >> shift & 1 == 1
            tallies.append(self.tally(claim, shown, None if claim.kind == "step" else at_end, confidence, replays))
        return Simulation(
            self.instance, self.seed, self.steps, self.done, confidence, tuple(tallies), int(length.sum()), int(length.max(initial=0)),
            int((ended == DEADLOCK).sum()), int((ended == UNTIL).sum()), self.kernel.coverage(self.taken, self.cover), reason,
            watch.seconds,
        )  # fmt: skip

    def tally(
        self, claim: Property, shown: NDArray[np.bool_], at_end: NDArray[np.bool_] | None, confidence: float, replays: _Allowance
    ) -> ClaimTally:
        count = int(shown.sum())
        run = int(np.argmax(shown)) if count else None
        last = None if at_end is None else int(at_end.sum())
        return ClaimTally(
            claim, count, last, interval(count, self.done, confidence), None if last is None else interval(last, self.done, confidence),
            run, None if run is None else self.witness(claim, run, replays),
        )  # fmt: skip

    def replay(self, run: int) -> Iterator[tuple[Move | None, State]]:
        """Yield what `walk` yields for this run; the kernel chooses each step and the interpreter confirms it."""
        places, generator = self.kernel.layout, Generator.of(self.seed, run)
        at = self.start[int(generator.uniform() * len(self.start)) if len(self.start) > 1 else 0]
        state = places.unpack(tuple(at.tolist()))
        yield None, state
        for _ in range(self.steps):
            if self.until is not None and holds(self.instance, self.until, state):
                return
            n = successors_of(self.kernel.succ, at, self.consts, self.out, self.tags, self.counts, self.cover)
            if n <= 0:
                return
            pick = choose(self.weights[self.tags[:n]], generator.uniform())
            move, before = self.kernel.move(int(self.tags[pick])), state
            at = self.out.reshape(-1, places.words)[pick].copy()
            state = places.unpack(tuple(at.tolist()))
            action = self.instance.model.named(move.action)
            assert refusing(self.instance, before, action, move.args) is None, f"run {run}: the interpreter refuses {move}"
            assert effect(self.instance, before, action, move.args) == state, f"run {run}: kernel and interpreter differ after {move}"
            yield move, state

    def witness(self, claim: Property, run: int, replays: _Allowance) -> Witness | None:
        """Return the run up to the place where the claim's formula (or its violation) appears; None if the time for replays ends before."""
        moves: list[Move] = []
        states: list[State] = []
        shown = False
        try:
            for move, state in replays.of(self.replay(run)):
                if move is not None:
                    moves.append(move)
                states.append(state)
                if claim.kind == "step":
                    shown = move is not None and not holds(self.instance, claim.formula, states[-2], state)
                else:  # a run ends in its deadlock
                    shown = claim.kind != "deadlock_free" and holds(self.instance, sought(claim), state)
                if shown:
                    break
            if claim.kind == "deadlock_free":
                shown = self.stuck(states[-1], replays) and not holds(self.instance, claim.formula, states[-1])
            if shown:
                return Witness(self.instance, claim, tuple(moves), tuple(states), note=f"run {run} of seed {self.seed}")
        except LimitReached:
            return None
        raise AssertionError(f"kernel and interpreter disagree on run {run} of seed {self.seed}")

    def stuck(self, state: State, replays: _Allowance) -> bool:
        """Return whether no action instance is enabled."""
        steps = replays.of(instances(self.instance))
        return all(refusing(self.instance, state, action, args) is not None for action, args in steps)


@dataclass(frozen=True)
class _Allowance:
    """The time for replays: up to `end` in the watch's seconds, or unlimited."""

    watch: Watch
    end: float | None

    @classmethod
    def after(cls, watch: Watch, *, stopped: bool = False) -> _Allowance:
        """Allow REPLAY_SECONDS after the limit of time, or from now on if the walks were stopped."""
        last = watch.seconds if stopped else watch.limits.seconds
        return cls(watch, None if last is None else last + REPLAY_SECONDS)

    def of(self, work: Iterable[T]) -> Iterator[T]:
        """Yield the same items. Raises LimitReached before requesting an item after the end."""
        self._check()
        for item in work:
            yield item
            self._check()

    def _check(self) -> None:
        if self.end is not None and self.watch.seconds > self.end:
            raise LimitReached(TIME)
