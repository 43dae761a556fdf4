"""Compares all ways of deciding a model on thousands of generated models with plain loops.

uv run python tests/agreement/many_models.py 10000

A model is searched with one and two threads, with and without symmetry, in memory, in pieces between checkpoints, and on disk with little
memory. z3 checks its first steps, and its graph is searched for fair loops. The final output lists the language constructs of the compared
models, because "no difference" alone does not show the coverage.

Slices of models run in processes of their own, because compiled kernels stay loaded. Slice K always has the same models: `1 --first K`
repeats it. With `--results FILE` each compared kind of a slice is stored there, and another run with the file continues after it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import oracle
from compared import ODD, USUAL, same_bounded, same_lasso, same_search
from fair_models import fair_models
from generated_models import Case, generated, models
from hypothesis.strategies import SearchStrategy
from sifted_models import sifted_models
from symmetric_models import orbits, symmetric_models

from rocketproof_model import EvaluationError, Instance, liveness, search, symbolic
from rocketproof_model.explicit import pool
from rocketproof_model.explicit.canonical import plan
from rocketproof_model.explicit.checkpoint import SearchCheckpoint
from rocketproof_model.explicit.exploration import Exploration
from rocketproof_model.faults import ModelFault
from rocketproof_model.interpreter import State, effect, initials
from rocketproof_model.language import Action, HoldingType, MaybeShape, Model
from rocketproof_model.language.sequences import SequenceType
from rocketproof_model.language.symmetry import symmetric_indices
from rocketproof_model.result import Limits, Outcome

SLICE = 500  # models per process
MEMORY = Path("/dev/shm")  # if present: thousands of tiny checkpoints then wait for no disk
MOST_FAILED = 5  # slices
FEWEST = 5  # models with fewer states are skipped: they show little
say = partial(print, flush=True)
DEPTH = 2  # of bounded checking
FAIRNESS: dict[str, tuple[str, str | None]] = {
    "strong fairness decides, weak would not": ("strong", "weak"),
    "weak fairness decides, none would not": ("weak", None),
    "weak fairness does not decide, strong would": ("weak", "strong"),
}
"""Labels of models in which a verdict changes if the first kind of fairness is replaced by the second."""
KINDS: dict[str, tuple[float, Callable[[], SearchStrategy[Case]]]] = {
    "plain": (0.3, models),
    "symmetric": (0.3, symmetric_models),
    "sifted": (0.2, sifted_models),
    "fair": (0.1, fair_models),
    "faulty": (0.05, lambda: models(faulty=True)),
    "symmetric, faulty": (0.05, lambda: symmetric_models(faulty=True)),
}
"""The generators and their shares of the models."""


def compare(case: Case, folder: Path) -> set[str]:
    """Decide a model in every way. Return its constructs and findings, or nothing for a tiny model. AssertionError if two ways differ."""
    parts = constructs(case.model)
    symmetric = bool(symmetric_indices(case.model.variables))
    tuning = (USUAL, ODD)[len(str(case.model.properties)) % 2]  # alternates, because a kernel costs most to compile
    try:
        space = oracle.explore(case.instance)
    except EvaluationError:
        same_faults(case.instance, [way for _, way in ways(case.instance, folder, 60, tuning, symmetric=symmetric)])
        return parts | {"an error of the model"}
    if len(space.states) < FEWEST:
        return set()
    classes = orbits(case.instance, space.states)
    same_in_orbits(space, classes)
    run: Exploration
    for reduced, way in ways(case.instance, folder, len(space.states), tuning, symmetric=symmetric):
        run = way()
        assert bool(run.symmetric) == reduced
        same_search(space, run, classes if reduced else None)
        parts |= {"up to symmetry"} if run.states < len(space.states) else set()
    parts |= arranged(run)
    fair = liveness.check(case.instance, exploration=run)
    for outcome in fair:
        same_lasso(space, outcome)
    same_bounded(space, symbolic.bounded(case.instance, depth=DEPTH), DEPTH)
    return parts | fairness(space, fair) | findings(space, [*run.outcomes, *fair])


def ways(
    instance: Instance, folder: Path, states: int, tuning: search.Tuning, *, symmetric: bool
) -> Iterator[tuple[bool, Callable[[], Exploration]]]:
    """Yield searches of a model with this many states, each with whether it uses symmetry; the last search does not."""

    def at_once(workers: int) -> Exploration:
        return search.explore(instance, workers=workers, tuning=tuning, symmetry=reduced)

    def in_pieces() -> Exploration:
        for most in sorted({1, states // 3, 2 * states // 3}):
            search.explore(instance, limits=Limits(states=most), tuning=tuning, symmetry=reduced, checkpoint=SearchCheckpoint(folder, 0.0))
        return search.explore(instance, tuning=tuning, symmetry=reduced, checkpoint=SearchCheckpoint(folder, 0.0))

    def on_disk() -> Exploration:
        for most in (max(1, states // 2), None):
            limits, kept = Limits(states=most, memory=1, disk=1 << 30), SearchCheckpoint(folder, 0.0)
            exploration = search.explore(instance, limits=limits, tuning=tiny, symmetry=reduced, checkpoint=kept)
        assert exploration.disk > 0
        return exploration

    tiny = replace(tuning, homes=1, block=2, run_block=7)
    for reduced in (True, False) if symmetric else (False,):
        yield reduced, in_pieces
        yield reduced, on_disk
        for workers in (2, 1):
            yield reduced, partial(at_once, workers)


def same_in_orbits(space: oracle.Space, classes: Sequence[frozenset[State]]) -> None:
    """Assert that the model is symmetric as declared: its reachable states, and claims about a state."""
    assert sum(map(len, classes)) == len(space.states), "the reachable states are not symmetric"
    claims = [p for p in space.instance.model.properties if p.kind != "step"]
    for formula in [e for p in claims for e in (p.formula, p.goal) if e is not None]:
        for orbit in classes:
            assert len({oracle.holds(space.instance, formula, state) for state in orbit}) == 1, f"{formula} distinguishes elements"


def same_faults(instance: Instance, searches: Sequence[Callable[[], Exploration]]) -> None:
    """Assert that every search ends with the model's error, after a path of the same length whose last state or step has no value."""
    lengths = set()
    for way in searches:
        try:
            way()
            raise AssertionError("a search missed an error of the model")
        except ModelFault as fault:
            path = fault.witness
        state = path.states[0]
        assert state in initials(instance)
        for move, following in zip(path.moves, path.states[1:], strict=True):
            state = effect(instance, state, instance.model.named(move.action), move.args)
            assert state == following
        lengths.add(len(path.moves))
    assert len(lengths) == 1, f"paths to the error have {sorted(lengths)} steps"


# -- constructs and findings ---------------------------------------------------------------------------------------------


def constructs(model: Model) -> set[str]:
    """Return the constructs of the language that a model uses."""
    types = [v.type for v in model.variables]
    fields = {field for of in types for field in (of, getattr(of, "of", None))}
    found = {
        "several initial states": any(len(way) > 1 for v in model.variables for way in v.init),
        "a condition on them": bool(model.starts),
        "a constant": bool(model.constants),
        "an array": any(v.over for v in model.variables),
        "an array over two": any(len(v.over) > 1 for v in model.variables),
        "a record": any(".f" in v.name for v in model.variables),
        "a number": any(of.sort == "int" for of in types),
        "an Enum": any(of.sort == "enum" for of in fields if of is not None),
        "a Maybe": any(of.sort == "maybe" for of in types),
        "a set in a word": any(of.sort == "set" for of in types),
        "a set in a set or Maybe": any(isinstance(of, HoldingType) and isinstance(of.of, HoldingType) for of in types),
        "a choice from a set, bag or sequence": any(g.name.endswith(" chosen") for a in model.actions for g in a.guards),
        "two writes to one array": any(len({u.target.args[0] for u in a.updates}) < len(a.updates) for a in model.actions),
        "two conditional writes of one variable": any(two_conditional_writes(a) for a in model.actions),
        "weak fairness": any(a.fair == "weak" for a in model.actions),
        "strong fairness": any(a.fair == "strong" for a in model.actions),
        "a symmetric index": bool(indices := symmetric_indices(model.variables)),
        "two symmetric indices": len(indices) > 1,
    }
    for container in model.containers:
        if isinstance(container.type, MaybeShape):
            kind = "Maybe of several parts"
        else:
            kind = "sequence" if isinstance(container.type, SequenceType) else "bag" if container.type.most else "set of cells"
        found |= {f"a {kind}": True, f"a {kind} of symmetric elements": bool(symmetric_indices(container.variables))}
    return {name for name, there in found.items() if there}


def two_conditional_writes(action: Action) -> bool:
    conditional = [u.target.args[0] for u in action.updates if u.when.op != "const"]
    return len(set(conditional)) < len(conditional)


def arranged(run: Exploration) -> set[str]:
    """Return how states are packed in words, and how the symmetry reduction works."""
    places = run.kernel.layout
    how = plan(places, symmetric_indices(run.instance.model.variables))
    found = {"states of several words": places.words > 1, "columns sorted": how.sorted is not None, "arrangements": bool(how.arranged)}
    return {name for name, there in found.items() if there}


def fairness(space: oracle.Space, outcomes: Sequence[Outcome]) -> set[str]:
    """Return the kinds of fairness that the verdicts of a model depend on."""
    found = set()
    for part, (of, instead) in FAIRNESS.items():
        if of in space.fairness.values():
            other = replace(space, fairness={name: instead if fair == of else fair for name, fair in space.fairness.items()})
            if any((oracle.lasso(other, o.property) is None) != (o.verdict == "holds") for o in outcomes):
                found.add(part)
    return found


def findings(space: oracle.Space, outcomes: Sequence[Outcome]) -> set[str]:
    """Return the kinds of verdicts."""
    found = {f"{outcome.property.kind} {outcome.verdict}" for outcome in outcomes}
    longest = max((len(o.witness) for o in outcomes if o.witness), default=0)
    loops = any(o.witness and o.witness.loop is not None and o.witness.loop < len(o.witness) for o in outcomes)
    sizes = {f"at least {n} states": len(space.states) >= n for n in (10, 50, 200)}
    found |= {name for name, there in sizes.items() if there}
    found |= {f"a witness of {n} steps or more" for n in (3, 6) if longest >= n}
    return found | ({"a lasso that moves"} if loops else set())


# -- slices ---------------------------------------------------------------------------------------------------------------


def run_slice(number: int, examples: int, results: Path) -> None:
    """Compare the models of a slice; each kind's counts become a line of the file, unless it has them."""
    kept = {kind for slice_, kind, _ in read(results) if slice_ == number}
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        for kind, (share, strategy) in KINDS.items():
            if kind not in kept:
                counts: Counter[str] = Counter()
                for parts in compared(number, max(1, round(share * examples)), strategy(), Path(folder)):
                    counts.update({"models"} | parts if parts else {"left out"})
                with results.open("a") as file:
                    file.write(json.dumps([number, kind, counts]) + "\n")


def read(results: Path) -> list[tuple[int, str, Counter[str]]]:
    """Read slice, kind and counts: the number of models with each construct, and under `models` the number of all."""
    lines = results.read_text().splitlines() if results.exists() else ()
    return [(number, kind, Counter(counts)) for number, kind, counts in map(json.loads, lines)]


def memory() -> Path | None:
    return MEMORY if MEMORY.is_dir() else None


def compared(seed: int, examples: int, strategy: SearchStrategy[Case], folder: Path) -> list[set[str]]:
    """Compare this many models; return the count of each construct."""
    found: list[set[str]] = []

    @generated(seed, examples, strategy)
    def agree(case: Case) -> None:
        found.append(compare(case, folder / "checkpoint"))

    agree()
    return found


def table(results: Iterable[tuple[int, str, Counter[str]]]) -> Iterator[str]:
    """Return a Markdown table with the number of models of each kind by construct, most frequent first."""
    kinds: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for _, kind, counts in results:
        kinds[kind].update(counts)
    total = sum(kinds.values(), Counter())
    yield "| | " + " | ".join(("all", *kinds)) + " |"
    yield "|---|" + "---:|" * (1 + len(kinds))
    for part, count in total.most_common():
        yield f"| {part} | " + " | ".join(f"{n:,}" for n in (count, *(counts[part] for counts in kinds.values()))) + " |"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare all engines on generated models.")
    parser.add_argument("models", type=int, help="how many are compared at least")
    parser.add_argument("--first", type=int, default=0, help="the number of the first slice")
    parser.add_argument("--results", type=Path, help="a file of what was compared, from which another run goes on")
    parser.add_argument("--here", action="store_true", help="one slice, of so many models made, in this process")
    given = parser.parse_args(words)
    if given.here:
        pool._ALONE = 0  # start threads for the smallest level
        run_slice(given.first, given.models, given.results)
        return 0
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        return run_slices(given.models, given.first, given.results or Path(folder) / "results", Path(folder) / "cache")


def run_slices(models: int, first: int, results: Path, cache: Path) -> int:
    """Compare slices up to this number of models; return whether a slice had a difference."""
    failed: list[int] = []
    number, done = first, 0
    while done < models and len(failed) < MOST_FAILED:
        command = [sys.executable, __file__, str(SLICE), "--first", str(number), "--results", str(results), "--here"]
        if subprocess.run(command, env={**os.environ, "ROCKETPROOF_CACHE": str(cache)}, check=False).returncode:
            failed.append(number)
            say(f"slice {number}: see above")
        shutil.rmtree(cache, ignore_errors=True)
        done = sum(counts["models"] for slice_, _, counts in read(results) if first <= slice_ <= number)
        say(f"slice {number}: {done:,} models without a difference so far")
        number += 1
    say(*table(read(results)), sep="\n")
    if failed:
        say("repeat with --first:", *failed)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
