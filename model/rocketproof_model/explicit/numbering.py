"""Routines that number states and write the edges between them by these numbers.

A table of 4 bytes a slot holds numbers + 1. Edges take two sweeps, so that they are written to their places at once and by several
threads: one counts the edges of each state, the other one writes them. The second looks for the targets of some states together, whose
slots, and then whose words, are prefetched before any of them is read.
"""

from __future__ import annotations

from ..routines import GIVEN, call, get, load, prefetch, put, routine, store
from .loops import CONSTS, COUNTS, COVER, FRONTIER, HASHES, OUT, SUCC, hash_of, keep, same

WIDTH = GIVEN
STAYING = GIVEN  # whether an edge from a state to itself counts


@routine
def number_states(states: int, total: int, slots: int, slot_mask: int) -> int:
    """Fill the table."""
    for i in range(total):
        slot = hash_of(states, i * WIDTH) & slot_mask
        while load(slots + 4 * slot, 4) != 0:
            slot = slot + 1 & slot_mask
        store(slots + 4 * slot, 4, i + 1)
    return 0


@routine
def moves(p: int, state: int, out: int, tags: int) -> int:
    """Write a state's successors and their instances; how many, without the state itself unless that counts."""
    n = call(get(p, SUCC), state, get(p, CONSTS), out, tags, get(p, COUNTS), get(p, COVER))
    if STAYING == 0:
        kept = 0
        for j in range(n):
            if not same(out, j * WIDTH, state, 0):
                if kept < j:
                    keep(out + j * 8 * WIDTH, out + kept * 8 * WIDTH, WIDTH)
                    put(tags, kept, get(tags, j))
                kept = kept + 1
        n = kept
    return n


@routine
def count_edges(p: int, first: int, last: int, tags: int, many: int) -> int:
    """Write how many edges each of the frontier's states first to last - 1 has."""
    for i in range(first, last):
        put(many, i, moves(p, get(p, FRONTIER) + i * 8 * WIDTH, get(p, OUT), tags))
    return 0


@routine
def write_edges(
    p: int, first: int, last: int, block: int, tags: int, slots: int, slot_mask: int, at: int, target: int, instance: int
) -> int:
    """Write the edges of the frontier's states first to last - 1 from place `at` on, in order, for `block` states at once.

    `target` and `instance` are of 32 bits; `tags` has room for a block's successors, as the worker has.
    """
    stride = 8 * WIDTH
    states, out, places = get(p, FRONTIER), get(p, OUT), get(p, HASHES)
    while first < last:
        end = first + block if first + block < last else last
        n = 0
        for i in range(first, end):
            n = n + moves(p, states + i * stride, out + n * stride, tags + 8 * n)
        for j in range(n):
            slot = hash_of(out, j * WIDTH) & slot_mask
            put(places, j, slot)
            prefetch(slots + 4 * slot)
        for j in range(n):
            prefetch(states + (load(slots + 4 * get(places, j), 4) - 1) * stride)
        for j in range(n):
            slot = get(places, j)
            number = load(slots + 4 * slot, 4) - 1
            while not same(states, number * WIDTH, out, j * WIDTH):
                slot = slot + 1 & slot_mask
                number = load(slots + 4 * slot, 4) - 1
            store(target + 4 * at, 4, number)
            store(instance + 4 * at, 4, get(tags, j))
            at = at + 1
        first = end
    return at
