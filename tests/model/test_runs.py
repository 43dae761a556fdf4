"""Runs of states behave as sets for any width, and states with equal hashes stay distinct."""

import random

import numpy as np
import pytest

from rocketproof_model.explicit import numbering, runs
from rocketproof_model.routines import address, compile_routine

WORD = (1 << 64) - 1


def mix(word: int) -> int:
    """Compute the hash's mixing with Python's numbers."""
    word ^= word >> 32
    word = word * 0x9E3779B97F4A7C15 & WORD
    word ^= word >> 29
    word = word * 0xBF58476D1CE4E5B9 & WORD
    return word ^ word >> 32


def hash_of(state: tuple[int, ...]) -> int:
    """Return a state's hash as a signed word."""
    found = mix(state[0] & WORD)
    for word in state[1:]:
        found = mix(found ^ word & WORD)
    return found - (1 << 64) if found >> 63 else found


def colliding(first: tuple[int, int], word: int) -> tuple[int, int]:
    """Return a state with another first word and the same hash."""
    second = mix(first[0]) ^ first[1] ^ mix(word)
    return word, second - (1 << 64) if second >> 63 else second


def flat(states: list[tuple[int, ...]]) -> np.ndarray:
    return np.array(states, dtype=np.int64).ravel()


def rows(run: np.ndarray, width: int) -> list[tuple[int, ...]]:
    return [tuple(row) for row in run.reshape(-1, width).tolist()]


def some(rng: random.Random, many: int, width: int) -> list[tuple[int, ...]]:
    states = [tuple(rng.randrange(1, 40) for _ in range(width)) for _ in range(many)]
    if width == 2:
        states += [colliding(state, rng.randrange(1, 40)) for state in states[: many // 3]]
    return states


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_runs_are_sets(width: int, seed: int) -> None:
    rng = random.Random(seed)
    one, other, third = (some(rng, many, width) for many in (60, 200, 9))
    run = runs.run_of(flat(one), width)
    assert len(rows(run, width)) == len(set(rows(run, width))) and set(rows(run, width)) == set(one)
    assert [hash_of(state) for state in rows(run, width)] == sorted(hash_of(state) for state in set(one))
    seen = [runs.run_of(flat(other), width), runs.run_of(flat(third), width)]
    assert set(rows(runs.unseen(run, seen, width), width)) == set(one) - set(other) - set(third)
    assert len(runs.unseen(run, [run], width)) == 0 and (runs.unseen(run, [], width) == run).all()
    fresh = runs.unseen(run, seen[:1], width)
    both = runs.merged(fresh, seen[0], width)
    assert rows(both, width) == rows(runs.merged(seen[0], fresh, width), width) or width == 2
    assert set(rows(both, width)) == set(one) | set(other) and len(rows(both, width)) == len(set(one) | set(other))
    hashes = [hash_of(state) for state in rows(both, width)]
    assert hashes == sorted(hashes)


def test_states_of_equal_hash_are_different_states() -> None:
    state = (5, 9)
    twins = [colliding(state, word) for word in (6, 7, 8)]
    assert {hash_of(twin) for twin in twins} == {hash_of(state)}
    everything = runs.run_of(flat([*twins, state, *twins]), 2)
    assert set(rows(everything, 2)) == {state, *twins} and len(everything) == 8
    assert rows(runs.unseen(everything, [runs.run_of(flat(twins), 2)], 2), 2) == [state]
    one = np.array(state, dtype=np.int64)
    slots = np.zeros(8, dtype=np.uint32)
    compile_routine(numbering.number_states, WIDTH=2)(address(one), 1, address(slots), 7)  # the graph's table has the same hashes
    assert slots[hash_of(state) & 7] == 1


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_shards_are_ranges_of_hashes(shards: int) -> None:
    states = some(random.Random(shards), 300, 3)
    run = runs.run_of(flat(states), 3)
    borders = runs.borders(run, shards, 3)
    assert borders[0] == 0 and borders[-1] == len(run) // 3 and borders == sorted(borders)
    for shard in range(shards):
        for state in rows(run, 3)[borders[shard] : borders[shard + 1]]:
            assert (hash_of(state) + (1 << 63)) * shards >> 64 == shard
    assert runs.borders(run[:0], shards, 3) == [0] * (shards + 1)


def test_there_are_few_runs_and_no_state_is_merged_often() -> None:
    rng = random.Random(3)
    lengths: list[int] = []
    total = work = 0
    for _ in range(2000):
        lengths.append(rng.randrange(1, 500))
        total += lengths[-1]
        many = runs.tail(lengths)
        merged = sum(lengths[-many:])
        work += merged if many > 1 else 0
        lengths[-many:] = [merged]
    assert len(lengths) < 12 and work < 12 * total
