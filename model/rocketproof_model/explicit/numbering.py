"""Routines that number states and write the edges between the numbers.

A table with 4 bytes per slot holds numbers + 1. Edges take two passes, so that several threads can write them to their final places: the
first pass counts the edges of each state, the second writes them. The second pass looks up the targets of several states together. It
prefetches their slots, and then their words, before it reads any of them.
"""

from __future__ import annotations

from ..routines import GIVEN, call, get, load, prefetch, put, routine, store
from .loops import CONSTS, COUNTS, COVER, FRONTIER, HASHES, OUT, SUCC, hash_of, keep, same

WIDTH = GIVEN
STAYING = GIVEN  # whether an edge from a state to itself counts


@routine
def number_states(states: int, total: int, slots: int, slot_mask: int) -> int:
    """Enter the numbers of all states into the table."""
    for i in range(total):
        slot = hash_of(states, i * WIDTH) & slot_mask
        while load(slots + 4 * slot, 4) != 0:
            slot = slot + 1 & slot_mask
        store(slots + 4 * slot, 4, i + 1)
    return 0


@routine
def moves(p: int, state: int, out: int, tags: int) -> int:
    """Write a state's successors and their instances and return their number. The state itself is left out unless STAYING."""
    n = call(get(p, SUCC), state, get(p, CONSTS), out, tags, get(p, COUNTS), get(p, COVER))
    if STAYING == 0:
        count = 0
        for j in range(n):
            if not same(out, j * WIDTH, state, 0):
                if count < j:
                    keep(out + j * 8 * WIDTH, out + count * 8 * WIDTH, WIDTH)
                    put(tags, count, get(tags, j))
                count = count + 1
        n = count
    return n


@routine
def count_edges(p: int, first: int, last: int, tags: int, many: int) -> int:
    """Write the number of edges of each of the frontier's states `first` to `last` - 1."""
    for i in range(first, last):
        put(many, i, moves(p, get(p, FRONTIER) + i * 8 * WIDTH, get(p, OUT), tags))
    return 0


@routine
def write_edges(
    p: int, first: int, last: int, block: int, tags: int, slots: int, slot_mask: int, at: int, target: int, instance: int
) -> int:
    """Write the edges of the frontier's states `first` to `last` - 1 from place `at` on, in order, `block` states at a time.

    `target` and `instance` have 32-bit elements; `tags` and the worker have room for a block's successors.
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
