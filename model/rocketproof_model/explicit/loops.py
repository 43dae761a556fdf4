"""The search's inner loops: expand a level, find predecessors.

States are rows of WIDTH words. The successors of a block of states are hashed and their homes in the table prefetched before any of them is
looked up. A loop reads its arguments, mostly addresses, from a block of words. A loop that stops early stores its progress there.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from ..routines import GIVEN, acquire, address, call, fetch_add, get, prefetch, put, routine, unrolled
from .buckets import SIZE, entered, hashed, home_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

# Places in `shared`, a cache line apart.
COUNT, STOP, PAUSE = 0, 16, 32
SHARED = 48

# Places in a worker's `own`.
TRANSITIONS, DEADLOCKS, FAULTS = range(3)

# Results of expand_states: all states are done, the queue or the table lacks room, or STOP was set.
DONE, FULL_QUEUE, FULL_TABLE, STOPPED = range(4)

# Places in the block of a worker. `NEXT` to `LAST` are the states to expand, `PENDING` to `FILLED` the successors not yet entered.
SUCC, CHECK, ENDS, STEPS, CANON, CONSTS, BLOCK, TABLE, SHARED_AT, LIMIT, LEVEL = range(11)
FRONTIER, NEXT, LAST, PENDING, FILLED, FRESH, FRESH_COUNT, ROOM = range(11, 19)
OUT, TAGS, HASHES, PAIR, OWN, COUNTS, COVER, FAULT = range(19, 27)
GROUPS = 27
"""From here on `check`, `ends` and `steps` have five words each:"""
MASKS, MANY, OPEN, HITS, BEST = range(5)
GROUP = 5
WORDS = GROUPS + 3 * GROUP

WIDTH = GIVEN
BITS = 62  # formulas in one mask
MIX, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9


_SUCC = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 6)


def successors(succ: int, state: Words, consts: Words, out: Words, tags: Words, counts: Words, cover: Words) -> int:
    """Call a kernel's `succ` once."""
    return int(_SUCC(succ)(*map(address, (state, consts, out, tags, counts, cover))))


def canonical(function: int, states: Words, n: int) -> int:
    """Call a kernel's `canon` or `orbits` once."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(function)(address(states), n))


def ask(function: int, state: Words, consts: Words, masks: Words, after: Words) -> int:
    """Call a kernel's `check`, `ends` or `steps` once."""
    called = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(function)
    return int(called(*map(address, (state, consts, masks, after))))


@routine
def same(left: int, at: int, right: int, to: int) -> int:
    """Return whether two places hold the same state."""
    for k in unrolled(WIDTH):
        if get(left, at + k) != get(right, to + k):
            return 0
    return 1


@routine
def less(states: int, best: int, words: int) -> int:
    """Return whether a state is smaller than the best so far; -1 in `best` means none."""
    if get(best, 0) == -1:
        return 1
    for k in range(words):
        if get(states, k) != get(best, k):
            return get(states, k) < get(best, k)
    return 0


@routine
def keep(state: int, to: int, words: int) -> int:
    for k in range(words):
        put(to, k, get(state, k))
    return 0


@routine
def note(group: int, state: int, words: int) -> int:
    """Count the formulas that hold, and keep the smallest state for those that are still open."""
    for w in range(get(group, MANY)):
        bits = get(get(group, MASKS), w)
        k = w * BITS
        while bits != 0:
            if bits & 1:
                put(get(group, HITS), k, get(get(group, HITS), k) + 1)
                best = get(group, BEST) + 8 * k * words
                if get(get(group, OPEN), k) and less(state, best, words):
                    keep(state, best, words)
            bits = bits >> 1
            k = k + 1
    return 0


@routine
def fault(p: int, state: int) -> int:
    """Count a fault, and keep the smallest state that has one."""
    own = get(p, OWN)
    put(own, FAULTS, get(own, FAULTS) + 1)
    if less(state, get(p, FAULT), WIDTH):
        keep(state, get(p, FAULT), WIDTH)
    return 0


@routine
def expand_block(p: int, first: int, last: int) -> int:
    """Write the successors of states to OUT, evaluate the formulas for steps and deadlocks, and prefetch the successors' homes.

    Returns the number of successors.
    """
    stride = 8 * WIDTH
    succ, ends, steps, canon, consts = get(p, SUCC), get(p, ENDS), get(p, STEPS), get(p, CANON), get(p, CONSTS)
    out, tags, counts, cover, hashes, table = get(p, OUT), get(p, TAGS), get(p, COUNTS), get(p, COVER), get(p, HASHES), get(p, TABLE)
    frontier = get(p, FRONTIER)
    k = 0
    for i in range(first, last):
        state = frontier + i * stride
        n = call(succ, state, consts, out + k * stride, tags, counts, cover)
        if n <= 0:
            answer = n
            if n == 0:
                put(get(p, OWN), DEADLOCKS, get(get(p, OWN), DEADLOCKS) + 1)
                if ends:
                    group = p + 8 * (GROUPS + GROUP)
                    answer = call(ends, state, consts, get(group, MASKS), 0)
                    if answer > 0:
                        note(group, state, WIDTH)
            if answer < 0:
                fault(p, state)
            continue
        if steps:
            for j in range(k, k + n):
                group = p + 8 * (GROUPS + 2 * GROUP)
                answer = call(steps, state, consts, get(group, MASKS), out + j * stride)
                if answer > 0:
                    keep(state, get(p, PAIR), WIDTH)
                    keep(out + j * stride, get(p, PAIR) + stride, WIDTH)
                    note(group, get(p, PAIR), 2 * WIDTH)
                elif answer < 0:
                    fault(p, state)
        if canon:
            call(canon, out + k * stride, n)
        for j in range(k, k + n):
            hash_ = hashed(out + j * stride)
            put(hashes, j, hash_)
            prefetch(home_of(table, hash_) + get(table, SIZE) - 1)  # the line of the tags
        k = k + n
    return k


@routine
def expand_states(p: int) -> int:
    """Expand the states from NEXT to LAST and write new states to FRESH. Returns DONE, FULL_QUEUE, FULL_TABLE or STOPPED."""
    stride = 8 * WIDTH
    shared, check, table, level = get(p, SHARED_AT), get(p, CHECK), get(p, TABLE), get(p, LEVEL)
    out, hashes, fresh, room, consts = get(p, OUT), get(p, HASHES), get(p, FRESH), get(p, ROOM), get(p, CONSTS)
    group = p + 8 * GROUPS
    while True:
        j, filled, n_fresh = get(p, PENDING), get(p, FILLED), get(p, FRESH_COUNT)
        before, status = n_fresh, DONE
        while j < filled:
            if n_fresh == room:
                status = FULL_QUEUE
                break
            state = out + j * stride
            entry = entered(table, get(hashes, j), state, level)
            if entry != 0:
                if entry < 0:
                    status = FULL_TABLE
                    break
                keep(state, fresh + n_fresh * stride, WIDTH)
                n_fresh = n_fresh + 1
                if check:
                    answer = call(check, state, consts, get(group, MASKS), 0)
                    if answer > 0:
                        note(group, state, WIDTH)
                    elif answer < 0:
                        fault(p, state)
            j = j + 1
        put(p, PENDING, j)
        put(p, FRESH_COUNT, n_fresh)
        if n_fresh > before:
            fetch_add(shared + 8 * COUNT, n_fresh - before)
        if status != DONE:
            if status == FULL_TABLE:
                put(shared, PAUSE, 1)
            return status
        first = get(p, NEXT)
        last = get(p, LAST)
        if first >= last:
            return DONE
        if acquire(shared + 8 * STOP, 8) != 0:
            return STOPPED
        if acquire(shared + 8 * PAUSE, 8) != 0 or acquire(shared + 8 * COUNT, 8) > get(p, LIMIT):
            return FULL_TABLE
        if last - first > get(p, BLOCK):
            last = first + get(p, BLOCK)
        filled = expand_block(p, first, last)
        own = get(p, OWN)
        put(own, TRANSITIONS, get(own, TRANSITIONS) + filled)
        put(p, NEXT, last)
        put(p, PENDING, 0)
        put(p, FILLED, filled)


@routine
def enter_states(p: int, states: int, total: int) -> int:
    """Enter states of the worker's level and write the new ones to FRESH, which must have room. Returns -1 if the table has no room."""
    n = get(p, FRESH_COUNT)
    for i in range(total):
        state = states + i * 8 * WIDTH
        entry = entered(get(p, TABLE), hashed(state), state, get(p, LEVEL))
        if entry < 0:
            return -1
        if entry:
            keep(state, get(p, FRESH) + n * 8 * WIDTH, WIDTH)
            n = n + 1
            put(p, FRESH_COUNT, n)
    return n


@routine
def ask_states(check: int, consts: int, states: int, total: int, group: int, best: int) -> int:
    """Call `check` for all states and note its answers. Returns the number of faults; `best` keeps the smallest state with a fault."""
    faults = 0
    for i in range(total):
        state = states + i * 8 * WIDTH
        answer = call(check, state, consts, get(group, MASKS), 0)
        if answer > 0:
            note(group, state, WIDTH)
        elif answer < 0:
            faults = faults + 1
            if less(state, best, WIDTH):
                keep(state, best, WIDTH)
    return faults


@routine
def ask_all(check: int, consts: int, states: int, total: int, words: int, masks: int, many: int) -> int:
    """Fill the `many` words of masks of each state. Returns the number of a state in which a formula has no value, or -1."""
    for i in range(total):
        if call(check, states + 8 * i * words, consts, masks + 8 * i * many, 0) < 0:
            return i
    return -1


@routine
def mix(word: int) -> int:
    """Spread the bits of a word over all 64 (two rounds of multiply and shift)."""
    word = (word ^ word >> 32) * MIX
    word = (word ^ word >> 29) * MIX_2
    return word ^ word >> 32


@routine
def hash_of(states: int, at: int) -> int:
    """Return the hash of a state, equal in every process. Tables of numbers and runs are ordered by it."""
    h = mix(get(states, at))
    for k in unrolled(WIDTH - 1):
        h = mix(h ^ get(states, at + k + 1))
    return h


@routine
def follow_path(p: int, states: int, steps: int, tags: int) -> int:
    """Replace each state of a path but the first by the first successor, in model order, that equals it up to symmetry.

    `tags` receives the action instance of each step. Returns the number of steps; it is smaller if a step has no such successor.
    """
    out, canon, like, stride = get(p, OUT), get(p, CANON), get(p, PAIR), 8 * WIDTH
    for i in range(steps):
        n = call(get(p, SUCC), states + i * stride, get(p, CONSTS), out, get(p, TAGS), get(p, COUNTS), get(p, COVER))
        after, matched = states + (i + 1) * stride, 0
        for j in range(n):
            keep(out + j * stride, like, WIDTH)
            if canon:
                call(canon, like, 1)
            if same(like, 0, after, 0):
                keep(out + j * stride, after, WIDTH)
                put(tags, i, get(get(p, TAGS), j))
                matched = 1
                break
        if not matched:
            return i
    return steps


@routine
def find_predecessors(p: int, first: int, last: int, wanted: int, many: int, best: int) -> int:
    """Keep in `best` the smallest predecessor of each wanted state among the frontier's states `first` to `last` - 1."""
    out, canon, consts = get(p, OUT), get(p, CANON), get(p, CONSTS)
    stride = 8 * WIDTH
    sieve = 0  # one bit of 64 per wanted state's hash: most successors need no comparison
    for w in range(many):
        sieve = sieve | 1 << (hash_of(wanted, w * WIDTH) & 63)
    for i in range(first, last):
        state = get(p, FRONTIER) + i * stride
        n = call(get(p, SUCC), state, consts, out, get(p, TAGS), get(p, COUNTS), get(p, COVER))
        if canon:
            call(canon, out, n)
        for j in range(n):
            if sieve >> (hash_of(out, j * WIDTH) & 63) & 1:
                for w in range(many):
                    if same(wanted, w * WIDTH, out, j * WIDTH) and less(state, best + w * stride, WIDTH):
                        keep(state, best + w * stride, WIDTH)
    return 0
