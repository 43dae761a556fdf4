"""A disk that is full under a file with holes."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from rocketproof_impl.simulator.content import PAGE
from rocketproof_properties.validation.faults.disk import FAULTS, full
from rocketproof_properties.validation.faults.kinds import DISK, ROUNDS


@pytest.mark.parametrize(("written", "left"), [(0, 0), (1, PAGE), (PAGE, PAGE), (PAGE + 1, 2 * PAGE), (3 * PAGE, 3 * PAGE)])
def test_a_file_on_a_full_disk_has_the_pages_in_which_something_is_written_and_loses_nothing(
    tmp_path: Path, written: int, left: int
) -> None:
    path = tmp_path / "index"
    before = (b"x".rjust(written, b"\0") if written else b"").ljust(3 * PAGE, b"\0")
    path.write_bytes(before)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        with full([path]):
            assert path.stat().st_size == left
            if left:
                mapped[left - PAGE] = 7  # a page that it has got may be written
        assert path.stat().st_size == len(before)
        changed = [at for at, (one, other) in enumerate(zip(before, path.read_bytes(), strict=True)) if one != other]
        assert changed == ([left - PAGE] if left else [])


def test_a_file_of_no_whole_pages_does_not_become_longer(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"x" * 10)
    with full([path]):
        assert path.stat().st_size == 10


def test_a_fault_that_no_release_stands_strikes_only_who_asks_for_more_rounds() -> None:
    assert [bool(one.full) for one in FAULTS] == [False] * ROUNDS[DISK] + [True]
    assert all(bool(one.inject) != bool(one.full) for one in FAULTS)
