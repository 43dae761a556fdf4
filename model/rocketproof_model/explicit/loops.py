"""The search's inner loops: expand a level, grow the table, look for predecessors and edges.

States are rows of `width` words in one-dimensional arrays. The table holds whole states at slots found by hashing and
linear probing; a slot is empty while its first word is 0. A state of one word is entered by one compare-and-swap. For
wider ones the first word becomes BUSY, the others are written, then the first word is released: who meets BUSY
waits for these few writes. Successors of a block of states are hashed and their slots prefetched before any is looked up.

Names that end in `_at`, and the arguments of the small functions, are addresses. All functions are compiled once for
all models, which come in as addresses of kernel functions.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
# ruff: noqa: SIM110 (Numba compiles loops, no generators)
from __future__ import annotations

from ..compiled import compiled
from .atomics import address, call_masks, call_succ, fetch_add, get, load, mix, prefetch, put, store, swap

BUSY = -1

# Places in `shared`, a cache line apart.
CURSOR, COUNT, STOP = 0, 16, 32
SHARED = 48

# Places in a worker's `own`.
FRESH, TRANSITIONS, DEADLOCKS, FAULTS = range(4)

# What expand() returns: the level is done, the queue or the table lacks room for another block, or STOP was set.
DONE, FULL_QUEUE, FULL_TABLE, STOPPED = range(4)


@compiled
def hashed(states, at, width):
    """The hash of the state at this place, the same in every process."""
    h = mix(get(states, at))
    for k in range(1, width):
        h = mix(h ^ get(states, at + k))
    return h


@compiled
def less(states, at, best, to, width):
    """Whether the state comes before the best so far (-1 is none)."""
    if get(best, to) == -1:
        return True
    for k in range(width):
        if get(states, at + k) != get(best, to + k):
            return get(states, at + k) < get(best, to + k)
    return False


@compiled
def keep(states, at, best, to, width):
    for k in range(width):
        put(best, to + k, get(states, at + k))


@compiled
def _insert(table, slot_mask, slot, states, at, width, alone):
    """Enter a state into the table; whether it is new. The table must have room."""
    key = get(states, at)
    if width == 1:
        while True:
            found = load(table, slot)
            if found == 0:
                if alone:
                    put(table, slot, key)
                    return True
                found = swap(table, slot, 0, key)
                if found == 0:
                    return True
            if found == key:
                return False
            slot = (slot + 1) & slot_mask
    while True:
        place = slot * width
        found = load(table, place)
        if found == 0:
            if alone:
                for k in range(width):
                    put(table, place + k, get(states, at + k))
                return True
            found = swap(table, place, 0, BUSY)
            if found == 0:
                for k in range(1, width):
                    put(table, place + k, get(states, at + k))
                store(table, place, key)
                return True
        while found == BUSY:
            found = load(table, place)
        if found == key:
            equal = True
            for k in range(1, width):
                if get(table, place + k) != get(states, at + k):
                    equal = False
                    break
            if equal:
                return False
        slot = (slot + 1) & slot_mask


@compiled
def enter(table, slot_mask, states, total, width):
    """Enter rows that are known to be different, leaving out empty ones; nobody else may use the table."""
    table_at, states_at = address(table), address(states)
    for i in range(total):
        at = i * width
        if get(states_at, at) != 0:
            _insert(table_at, slot_mask, hashed(states_at, at, width) & slot_mask, states_at, at, width, True)


@compiled
def note(masks, many, open_, hits, states, at, best, width):
    """Count the formulas that hold, and keep the smallest state for those that are still open."""
    for w in range(many):
        bits = get(masks, w)
        k = w * 62
        while bits != 0:
            if bits & 1:
                put(hits, k, get(hits, k) + 1)
                if get(open_, k) and less(states, at, best, k * width, width):
                    keep(states, at, best, k * width, width)
            bits >>= 1
            k += 1


@compiled
def keep_fault(states, at, best, width):
    """Keep the smallest state that has one; 1, the number of faults."""
    if less(states, at, best, 0, width):
        keep(states, at, best, 0, width)
    return 1


@compiled
def expand(
    calls, width, consts, most, block, frontier, total, shared, alone, table, slot_mask, limit,
    out, tags, hashes, pair, fresh, room, own, counts, cover,
    check_masks, check_open, check_hits, check_best,
    ends_masks, ends_open, ends_hits, ends_best,
    steps_masks, steps_open, steps_hits, steps_best, fault_best,
):  # fmt: skip
    """Take blocks of the frontier until it is done; new states go to `fresh`. Returns one of the words above."""
    succ, check, ends, steps = calls[0], calls[1], calls[2], calls[3]
    stride = 8 * width
    frontier_at, consts_at, out_at, tags_at, fresh_at = address(frontier), address(consts), address(out), address(tags), address(fresh)
    counts_at, cover_at, hashes_at, pair_at = address(counts), address(cover), address(hashes), address(pair)
    table_at, shared_at, fault_at = address(table), address(shared), address(fault_best)
    check_many, check_at, check_open_at = len(check_masks), address(check_masks), address(check_open)
    check_hits_at, check_best_at = address(check_hits), address(check_best)
    ends_many, ends_at, ends_open_at = len(ends_masks), address(ends_masks), address(ends_open)
    ends_hits_at, ends_best_at = address(ends_hits), address(ends_best)
    steps_many, steps_at, steps_open_at = len(steps_masks), address(steps_masks), address(steps_open)
    steps_hits_at, steps_best_at = address(steps_hits), address(steps_best)
    n_fresh, transitions, deadlocks, faults = own[FRESH], own[TRANSITIONS], own[DEADLOCKS], own[FAULTS]
    status = STOPPED
    while True:
        if load(shared_at, STOP) != 0:
            break
        if room - n_fresh < block * most:
            status = FULL_QUEUE
            break
        if load(shared_at, COUNT) > limit:
            status = FULL_TABLE
            break
        first = fetch_add(shared_at, CURSOR, block)
        if first >= total:
            status = DONE
            break
        k = 0
        for i in range(first, min(first + block, total)):
            state_at = frontier_at + i * stride
            n = call_succ(succ, state_at, consts_at, out_at + k * stride, tags_at, counts_at, cover_at)
            if n <= 0:
                found = n
                if n == 0:
                    deadlocks += 1
                    if ends != 0:
                        found = call_masks(ends, state_at, consts_at, ends_at, 0)
                        if found > 0:
                            note(ends_at, ends_many, ends_open_at, ends_hits_at, frontier_at, i * width, ends_best_at, width)
                if found < 0:
                    faults += keep_fault(frontier_at, i * width, fault_at, width)
                continue
            if steps != 0:
                for j in range(k, k + n):
                    found = call_masks(steps, state_at, consts_at, steps_at, out_at + j * stride)
                    if found > 0:
                        keep(frontier_at, i * width, pair_at, 0, width)
                        keep(out_at, j * width, pair_at, width, width)
                        note(steps_at, steps_many, steps_open_at, steps_hits_at, pair_at, 0, steps_best_at, 2 * width)
                    elif found < 0:
                        faults += keep_fault(frontier_at, i * width, fault_at, width)
            for j in range(k, k + n):
                slot = hashed(out_at, j * width, width) & slot_mask
                put(hashes_at, j, slot)
                prefetch(table_at, slot * width)
            k += n
        transitions += k
        before = n_fresh
        for j in range(k):
            if _insert(table_at, slot_mask, get(hashes_at, j), out_at, j * width, width, alone):
                keep(out_at, j * width, fresh_at, n_fresh * width, width)
                if check != 0:
                    found = call_masks(check, fresh_at + n_fresh * stride, consts_at, check_at, 0)
                    if found > 0:
                        note(check_at, check_many, check_open_at, check_hits_at, out_at, j * width, check_best_at, width)
                    elif found < 0:
                        faults += keep_fault(out_at, j * width, fault_at, width)
                n_fresh += 1
        if n_fresh > before:
            fetch_add(shared_at, COUNT, n_fresh - before)
    own[FRESH], own[TRANSITIONS], own[DEADLOCKS], own[FAULTS] = n_fresh, transitions, deadlocks, faults
    return status


@compiled
def ask(function, state, consts, masks, after):
    """Call `check`, `ends` or `steps` once."""
    return call_masks(function, address(state), address(consts), address(masks), address(after))


@compiled
def ask_all(check, consts, states, total, width, masks, open_, hits, best, fault):
    """Call `check` for all states and note its answers; the number of faults."""
    states_at, consts_at, masks_at, many = address(states), address(consts), address(masks), len(masks)
    open_at, hits_at, best_at, faults = address(open_), address(hits), address(best), 0
    for i in range(total):
        found = call_masks(check, states_at + i * 8 * width, consts_at, masks_at, 0)
        if found > 0:
            note(masks_at, many, open_at, hits_at, states_at, i * width, best_at, width)
        elif found < 0:
            faults += keep_fault(states_at, i * width, address(fault), width)
    return faults


@compiled
def successors(succ, state, consts, out, tags, counts, cover):
    """Call `succ` once."""
    return call_succ(succ, address(state), address(consts), address(out), address(tags), address(counts), address(cover))


@compiled
def same(one, at, other, to, width):
    """Whether two places hold the same state."""
    for k in range(width):
        if get(one, at + k) != get(other, to + k):
            return False
    return True


@compiled
def predecessors(succ, width, consts, states, first, last, wanted, best, out, tags, counts, cover):
    """For each wanted state keep in `best` the smallest of states[first:last] that has it as a successor."""
    states_at, consts_at, out_at, tags_at = address(states), address(consts), address(out), address(tags)
    counts_at, cover_at, wanted_at, best_at = address(counts), address(cover), address(wanted), address(best)
    many = len(wanted) // width
    sieve = 0  # one bit of 64 for each wanted state's hash: most successors need no comparison
    for w in range(many):
        sieve |= 1 << (hashed(wanted_at, w * width, width) & 63)
    for i in range(first, last):
        n = call_succ(succ, states_at + i * 8 * width, consts_at, out_at, tags_at, counts_at, cover_at)
        for j in range(n):
            if sieve >> (hashed(out_at, j * width, width) & 63) & 1:
                for w in range(many):
                    if same(wanted_at, w * width, out_at, j * width, width) and less(states_at, i * width, best_at, w * width, width):
                        keep(states_at, i * width, best_at, w * width, width)


@compiled
def number(states, total, width, slots, slot_mask):
    """Fill a table of row numbers + 1 for looking up states."""
    states_at = address(states)
    for i in range(total):
        slot = hashed(states_at, i * width, width) & slot_mask
        while slots[slot] != 0:
            slot = (slot + 1) & slot_mask
        slots[slot] = i + 1


@compiled
def edges(succ, width, consts, states, first, last, slots, slot_mask, out, tags, counts, cover, at, source, target, instance):
    """Write the edges of states[first:last] from place `at` on, in order; the place after them."""
    states_at, consts_at, out_at, tags_at = address(states), address(consts), address(out), address(tags)
    counts_at, cover_at = address(counts), address(cover)
    for i in range(first, last):
        n = call_succ(succ, states_at + i * 8 * width, consts_at, out_at, tags_at, counts_at, cover_at)
        for j in range(n):
            slot = hashed(out_at, j * width, width) & slot_mask
            while not same(states_at, (slots[slot] - 1) * width, out_at, j * width, width):
                slot = (slot + 1) & slot_mask
            source[at], target[at], instance[at] = i, slots[slot] - 1, tags[j]
            at += 1
    return at
