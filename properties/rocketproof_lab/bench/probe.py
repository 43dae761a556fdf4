"""Measure how many random cache lines per second this machine reads: the limit of a search whose table of states exceeds the caches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from rocketproof_model.explicit.table import allocate
from rocketproof_model.routines import address, compile_routine, load, routine

from .figures import timed

LEAST: Final = 16 << 20
"""Bytes of a table below which a search may wait for the processor's caches instead of its memory."""
READS: Final = 1 << 22
"""Reads per thread and round."""
ROUNDS: Final = 3
LINE: Final = 64
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407  # Knuth's generator; its upper bits select the line


@routine
def read_lines(memory: int, lines: int, reads: int, seed: int) -> int:
    """Read one word of each of `reads` lines. The reads are independent, so the processor overlaps them."""
    total = 0
    for _ in range(reads):
        seed = seed * MULTIPLIER + INCREMENT
        total = total + load(memory + ((seed >> 32) * lines >> 32) * LINE, 8)
    return total


def random_reads(size: int, threads: int) -> float:
    """Return random reads per CPU second with `threads` threads in `size` bytes, allocated like the search's table.

    The result is the fastest of ROUNDS rounds.
    """
    lines = max(1, min(size // LINE, 1 << 31))
    memory = allocate(lines * LINE)[: lines * LINE]
    memory[:] = 1  # all untouched pages share one page of zeros
    read, at = compile_routine(read_lines), address(memory)
    read(at, lines, 1, 0)

    def go(seed: int) -> int:
        return read(at, lines, READS, seed)

    with ThreadPoolExecutor(threads) as pool:
        spent = [timed(lambda: list(pool.map(go, range(threads))))[1]["cpu_seconds"] for _ in range(ROUNDS)]
    return float(READS * threads / min(spent))
