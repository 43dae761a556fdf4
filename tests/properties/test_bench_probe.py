"""The probe of random reads visits the lines that it is given, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from rocketproof_lab.bench.probe import LINE, random_reads, read_lines
from rocketproof_model.routines import address, compile_routine


@pytest.mark.parametrize("lines", [1, 3, 1000])
def test_reads_are_spread_over_all_lines_and_stay_inside(lines: int) -> None:
    memory = np.zeros((lines + 2, LINE // 8), dtype=np.int64)
    memory[0], memory[-1] = 1 << 40, 1 << 40  # before and after the given lines
    memory[1:-1, 0] = 1
    read, at = compile_routine(read_lines), address(memory[1:])
    assert read(at, lines, 10 * lines, 7) == 10 * lines
    seen = set()
    for line in range(lines):
        memory[1:-1, 0] = 0
        memory[1 + line, 0] = 1
        if read(at, lines, 20 * lines + 100, 7):
            seen.add(line)
        if line == 20:
            break
    assert len(seen) == min(lines, 21)


def test_rate_is_positive_number() -> None:
    assert random_reads(1 << 20, 1) > 0
