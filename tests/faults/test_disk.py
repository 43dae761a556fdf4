"""A full disk below a sparse file."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from rocketproof_impl.simulator.content import PAGE
from rocketproof_properties.validation.faults.disk import FAULTS, full
from rocketproof_properties.validation.faults.kinds import DISK, ROUNDS


@pytest.mark.parametrize(("written", "left"), [(0, 0), (1, PAGE), (PAGE, PAGE), (PAGE + 1, 2 * PAGE), (3 * PAGE, 3 * PAGE)])
def test_full_disk_keeps_the_written_pages_of_a_file(tmp_path: Path, written: int, left: int) -> None:
    path = tmp_path / "index"
    before = (b"x".rjust(written, b"\0") if written else b"").ljust(3 * PAGE, b"\0")
    path.write_bytes(before)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        with full([path]):
            assert path.stat().st_size == left
            if left:
                mapped[left - PAGE] = 7  # a page with space can be written
        assert path.stat().st_size == len(before)
        changed = [at for at, (one, other) in enumerate(zip(before, path.read_bytes(), strict=True)) if one != other]
        assert changed == ([left - PAGE] if left else [])


def test_file_below_a_page_keeps_its_length(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"x" * 10)
    with full([path]):
        assert path.stat().st_size == 10


def test_full_disk_fault_is_injected_only_in_extra_rounds() -> None:
    assert [bool(fault.full) for fault in FAULTS] == [False] * ROUNDS[DISK] + [True]
    assert all(bool(fault.inject) != bool(fault.full) for fault in FAULTS)
