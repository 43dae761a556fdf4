"""The table of states behaves as a set with levels, for any width, growth and number of writers."""

import random
import threading
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proportion import few
from rocketproof_model import Bool, Int, Model
from rocketproof_model.explicit import buckets, loops
from rocketproof_model.explicit.buckets import entered, hashed, mixed, unmixed
from rocketproof_model.explicit.layout import Layout, layout
from rocketproof_model.explicit.table import StateTable, TableLayout, _steps, constants
from rocketproof_model.routines import address, compile_routine, routine

State = tuple[int, ...]


def laid(*bits: int) -> Layout:
    """Return a layout with a single field of this many bits per word."""
    m = Model("bits")
    for k, width in enumerate(bits):
        m.var(f"v{k}", Int(0, (1 << width) - 1) if width > 1 else Bool, init=0)
    found = layout(m)
    assert found.words == len(bits)
    return found


LAYOUTS = {"narrow": laid(9), "usual": laid(53), "full": laid(62), "two": laid(62, 33), "three": laid(60, 50, 40)}


def states_of(shape: Layout, rng: random.Random, many: int) -> list[State]:
    """Generate distinct states, half of them close to each other."""
    widths = [int(m).bit_length() for m in shape.slot_mask]
    codes = {tuple(rng.getrandbits(w) for w in widths) for _ in range(many)}
    codes |= {tuple((k * 5 + j) % (1 << w) for j, w in enumerate(widths)) for k in range(many)}
    return [tuple(row) for row in shape.pack_many(np.array(sorted(codes), dtype=np.int64)).tolist()]


class Entering:
    """Enters states one at a time, and grows when the table is full."""

    def __init__(self, shape: Layout, homes: int = 1, *, alone: int = 1) -> None:
        self.table, self.grown, self.count = StateTable(shape, homes), 0, 0
        self.workers = 1 if alone else 3
        self.run = compile_routine(entered_at, ALONE=alone, **constants(shape))

    def enter(self, state: State, level: int) -> bool:
        if self.count > self.table.shape.capacity or level >= self.table.shape.levels:
            self.grow(level + 1)
        while True:
            found = self.run(address(self.table.block), address(np.array(state, dtype=np.int64)), level)
            if found >= 0:
                self.count += found
                return bool(found)
            self.grow(level + 1)

    def grow(self, levels: int) -> None:
        self.table.grow(self.table.larger(self.count + 1, levels), self.workers)
        self.grown += 1


@routine
def entered_at(table: int, state: int, level: int) -> int:
    return entered(table, hashed(state), state, level)


@routine
def mixed_back(word: int) -> int:
    return unmixed(mixed(word))


@routine
def enter_many(table: int, states: int, first: int, last: int, step: int, words: int) -> int:
    new = 0
    for k in range(first, last):
        state = states + 8 * words * (k * step % last)
        new = new + entered(table, hashed(state), state, 3)
    return new


@pytest.mark.parametrize("name", LAYOUTS)
def test_mixing_can_be_undone(name: str) -> None:
    rng, told = random.Random(2), constants(LAYOUTS[name])
    run, key = compile_routine(mixed_back, **told), told["KEY"]
    assert isinstance(key, int)
    for word in [0, 1, (1 << key) - 1, *(rng.getrandbits(key) for _ in range(200))]:
        assert run(word) == word


@pytest.mark.parametrize("alone", [0, 1])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_table_is_a_set_with_levels(name: str, alone: int) -> None:
    rng, shape = random.Random(3), LAYOUTS[name]
    states = states_of(shape, rng, 3000)
    rng.shuffle(states)
    entering, level_of = Entering(shape, alone=alone), {}
    for k, state in enumerate(states):
        assert entering.enter(state, k // 100)
        level_of[state] = k // 100
        again = states[rng.randrange(k + 1)]
        assert not entering.enter(again, 77)
    assert entering.grown >= 3 and entering.table.shape.capacity >= len(states) * 0.9
    sizes = [min(100, len(states) - k) for k in range(0, len(states), 100)]
    levels = entering.table.levels(sizes, 0, len(sizes))
    read = {tuple(row): k for k, level in enumerate(levels) for row in level.reshape(-1, shape.words).tolist()}
    assert read == level_of
    (middle,) = entering.table.levels(sizes, 2, 3)
    assert sorted(middle.tolist()) == sorted(levels[2].tolist())
    entering.table.clear()
    assert all(len(level) == 0 for level in entering.table.levels([0] * len(sizes), 0, len(sizes)))


def test_many_levels_make_entries_wider() -> None:
    shape = LAYOUTS["usual"]
    entering, states = Entering(shape), states_of(shape, random.Random(4), 400)
    for level, state in enumerate(states):
        assert entering.enter(state, level * 1000)
    found = entering.table.levels([0] * 0 + [1 if k % 1000 == 0 else 0 for k in range(len(states) * 1000)], 0, len(states) * 1000)
    assert [tuple(level.tolist()) for level in found if len(level)] == states


@pytest.mark.parametrize("name", ["usual", "two"])
def test_threads_enter_each_state_once(name: str) -> None:
    shape = LAYOUTS[name]
    states = states_of(shape, random.Random(5), 20_000)
    flat, many = np.array(states, dtype=np.int64).ravel(), len(states)
    table = StateTable(shape, 1)
    table.grow(table.larger(many, 8))
    run, new = compile_routine(enter_many, ALONE=0, **constants(shape)), [0] * 4

    def work(k: int) -> None:
        new[k] = run(address(table.block), address(flat), 0, many, [1, 1, many - 1, 1][k], shape.words)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(new) == many
    (level,) = table.levels([0, 0, 0, many], 3, 4)
    assert {tuple(row) for row in level.reshape(-1, shape.words).tolist()} == set(states)


def test_overflowing_home_requires_a_larger_table() -> None:
    """All states have the same home; they are computed backwards from hashes."""
    shape = LAYOUTS["usual"]
    table, told = StateTable(shape, 1 << 12), constants(shape)
    run, undo = compile_routine(entered_at, ALONE=1, **told), compile_routine(unmixed, **told)
    many = table.shape.slots * (buckets.FAR + 1) + 1
    words = [undo(k * ((1 << 41) // many)) | 1 << shape.present for k in range(many)]
    found = [run(address(table.block), address(np.array([word], dtype=np.int64)), 0) for word in words]
    assert found == [1] * (len(words) - 1) + [-1]
    assert [run(address(table.block), address(np.array([word], dtype=np.int64)), 0) for word in words[::50]] == [0] * len(words[:-1:50])
    table.grow(table.larger(1 << 20, 4))
    assert sorted(table.levels([len(words) - 1], 0, 1)[0].tolist()) == sorted(words[:-1])


@pytest.mark.parametrize("workers", few([3, 2, 5], 1))
@pytest.mark.parametrize("name", ["narrow", "usual", "two"])
def test_threads_that_grow_a_table_lose_no_state(name: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketproof_model.explicit.table._SHARE", 150)
    monkeypatch.setattr("rocketproof_model.explicit.table._ASIDE", 16)
    shape = LAYOUTS[name]
    states = states_of(shape, random.Random(6), 12_000)
    entering = Entering(shape, 3000)
    for k, state in enumerate(states):
        assert entering.enter(state, k % 3)
    for _ in range(3):
        entering.table.grow(entering.table.larger(1, 4), workers)
    levels = entering.table.levels([len(states[k::3]) for k in range(3)], 0, 3)
    for k in range(3):
        assert {tuple(row) for row in levels[k].reshape(-1, shape.words).tolist()} == set(states[k::3])
    assert not any(entering.enter(state, 0) for state in states[::7])


shapes = st.builds(TableLayout.of, st.just(52), st.integers(0, 16), st.integers(1 << 13, 1 << 20), st.just(32)).filter(bool)


@given(shapes, shapes, st.integers(0, 2000), st.integers(1, 4))
def test_ranges_moved_together_do_not_overlap(old: TableLayout, new: TableLayout, first: int, workers: int) -> None:
    assume(new.homes >= old.homes and new.bytes >= 1.2 * old.bytes)

    def written(moved: range) -> tuple[int, int]:
        """Return the range of bytes in the new table that states of these buckets can occupy."""
        low, high = max(moved.start - buckets.FAR, 0), moved.stop - 1
        return low * new.homes // old.homes * new.size, (min(high, old.homes - 1) * new.homes // old.homes + 2 + buckets.FAR) * new.size

    last = old.buckets
    for step in _steps(old, new, first, workers):
        assert len(step) <= workers
        if len(step) > 1:
            assert min(map(written, step))[0] >= last * old.size
            assert all(one[1] <= other[0] for one, other in pairwise(sorted(map(written, step))))
        moved = sorted(step, key=lambda each: each.start)
        last = moved[0].start if moved[-1].stop == last else last
    assert sorted(chain.from_iterable(chain.from_iterable(_steps(old, new, first, workers)))) == list(range(first, old.buckets))


def test_a_shape_is_compact() -> None:
    shape = TableLayout.of(52, 0, 500_000, 32)
    assert shape is not None and (shape.slots, shape.rest, shape.size) == (10, 5, 64)
    assert TableLayout.of(62, 0, 1, 1 << 20) is None
    wide = TableLayout.of(62, 40, 1 << 20, 32)
    assert wide is not None and wide.slots >= 7 and wide.size % 64 == 0 and wide.slots * (wide.rest + 1) < wide.size


def test_routines_agree_on_blocks() -> None:
    assert loops.WORDS == loops.GROUPS + 15
