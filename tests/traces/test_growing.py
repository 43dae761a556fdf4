"""A log that a broker is writing: complete records once, half-written ones never, deleted and rewritten ones reported."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from growing_store import grow
from written_store import BLANK, Sent, Stored, write_store

from rocketproof_traces.stored import growing
from rocketproof_traces.stored.errors import StoredError
from rocketproof_traces.stored.growing import Growth, LogPosition, Rewritten, end_of, growth, growths, ranges_of
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.segments import log_files
from rocketproof_traces.stored.walk import Walk

FILE_SIZE = 1 << 12
ALL = 1 << 40
BEGIN = LogPosition()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Stored]]:
    """Return a log of four files, the last records without properties or body."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    sent = [Sent("orders", n % 2, bytes(4 * n), {"TAGS": "a"} if n % 3 else {}) for n in range(60)]
    return folder, write_store(folder, [*sent, Sent("orders", 0, b"")], FILE_SIZE)


def look(store: Path, position: LogPosition = BEGIN, limit: int = ALL, part_size: int = ALL) -> Growth:
    return growth(log_files([str(store)]), position, limit, part_size)


def offsets(grown: Growth) -> list[int]:
    """Return the physical offsets of the records in the ranges; a row that is no record fails."""
    found: list[int] = []
    for range_ in grown.ranges:
        walk = Walk(range_, NameTable(), growing=True)
        for chunk in walk:
            kinds = chunk["kind"]
            assert (kinds <= 3).all(), "a record or a blank"
            found += chunk["physicalOffset"][kinds < 3].tolist()
        assert (walk.walked.begin, walk.walked.end) == (range_.start, range_.end)
    return found


def test_log_cut_at_any_byte_gives_exactly_its_complete_records(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, stored = whole
    first = stored[3]
    data = (folder / "commitlog" / f"{0:020d}").read_bytes()
    after = first.offset + first.size
    for end in (*range(first.offset, after - 30, 11), *range(after - 30, after + 1)):
        grown = look(grow(folder, tmp_path / "store", end))
        complete = [each.offset for each in stored if each.offset + each.size <= end]
        assert offsets(grown) in ([*complete], [*complete, first.offset]), end  # its last bytes can be zeros already
        assert grown.unfinished == (len(offsets(grown)) == 3 and any(data[first.offset : end]))
        if end < first.offset + first.size - 2:
            assert offsets(grown) == complete, end


@pytest.mark.parametrize("step", [333, 1000, FILE_SIZE + 1])
def test_each_record_is_returned_once_while_log_grows(whole: tuple[Path, list[Stored]], tmp_path: Path, step: int) -> None:
    folder, stored = whole
    position, found = LogPosition(), []
    for end in range(step, stored[-1].offset + stored[-1].size + step, step):
        grown = look(grow(folder, tmp_path / "store", end), position)
        assert grown.missing is None
        found += offsets(grown)
        position = grown.position
    assert found == [each.offset for each in stored]
    assert end_of(log_files([str(folder)])) == position.offset


@pytest.mark.parametrize(("limit", "part_size"), [(1, ALL), (500, 200), (ALL, 700)])
def test_limit_and_parts_cut_between_records(whole: tuple[Path, list[Stored]], limit: int, part_size: int) -> None:
    folder, stored = whole
    grown, found = look(folder, LogPosition(), limit, part_size), []
    while grown.ranges:
        assert grown.size <= limit or len(offsets(grown)) <= 1, "one record, or the blank of a file"
        assert ranges_of(log_files([str(folder)]), grown.borders) == (list(grown.ranges), [])
        found += offsets(grown)
        assert grown.more == (grown.position.offset < stored[-1].offset + stored[-1].size)
        grown = look(folder, grown.position, limit, part_size)
    assert found == [each.offset for each in stored]


def test_body_with_wrong_checksum_at_end_waits_for_next_record(tmp_path: Path) -> None:
    stored = write_store(tmp_path / "whole", [Sent("orders", 0, bytes(50)) for _ in range(3)], FILE_SIZE)
    file = tmp_path / "whole" / "commitlog" / f"{0:020d}"
    data = bytearray(file.read_bytes())
    data[stored[1].offset + 100] ^= 1
    file.write_bytes(data)
    grown = look(grow(tmp_path / "whole", tmp_path / "store", stored[2].offset))
    assert (offsets(grown), grown.unfinished) == ([stored[0].offset], True)
    grown = look(tmp_path / "whole", grown.position)
    assert (offsets(grown), grown.unfinished) == ([stored[1].offset, stored[2].offset], False)


def test_blank_leads_to_next_file_and_zeros_before_one_are_damage(tmp_path: Path) -> None:
    stored = write_store(tmp_path / "store", [Sent("orders", 0, bytes(1500)) for _ in range(4)], FILE_SIZE)
    first, second = sorted((tmp_path / "store" / "commitlog").iterdir())
    blank = stored[1].offset + stored[1].size
    assert struct.unpack_from(">II", first.read_bytes(), blank)[1] == BLANK
    kept = second.read_bytes()
    second.write_bytes(bytes(FILE_SIZE))  # made ahead, without data
    grown = look(tmp_path / "store")
    assert (offsets(grown), grown.position.offset) == ([stored[0].offset, stored[1].offset], FILE_SIZE)
    second.write_bytes(kept)
    first.write_bytes(first.read_bytes()[:blank].ljust(FILE_SIZE, b"\0"))
    grown = look(tmp_path / "store")
    assert [kind for range_ in grown.ranges for chunk in Walk(range_, NameTable()) for kind in chunk["kind"].tolist()] == [1, 1, 4, 1, 1]


def test_deleted_files_are_missing(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, stored = whole
    position = look(grow(folder, tmp_path / "store", 1000)).position
    grow(folder, tmp_path / "store", stored[-1].offset + stored[-1].size)
    for number in (0, 1):
        (tmp_path / "store" / "commitlog" / f"{number * FILE_SIZE:020d}").unlink()
    grown = look(tmp_path / "store", position)
    assert grown.missing == (position.offset, 2 * FILE_SIZE)
    assert offsets(grown) == [each.offset for each in stored if each.offset >= 2 * FILE_SIZE]
    assert look(tmp_path / "store", grown.position) == Growth(grown.position)


def test_log_that_begins_later_has_nothing_missing(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, stored = whole
    grow(folder, tmp_path / "store", stored[-1].offset + stored[-1].size)
    (tmp_path / "store" / "commitlog" / f"{0:020d}").unlink()
    assert look(tmp_path / "store").missing is None


def test_rewritten_log_is_reported(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, stored = whole
    third, fourth = stored[3], stored[4]
    position = look(grow(folder, tmp_path / "store", fourth.offset)).position
    other = write_store(tmp_path / "other", [Sent("orders", 0, bytes(70), stored_at=1_700_000_000_001) for _ in range(20)], FILE_SIZE)
    assert other[-1].offset > third.offset
    with pytest.raises(Rewritten, match=f"was read up to offset {position.offset} and now has other bytes before it.*new checkpoint"):
        look(tmp_path / "other", position)
    last = look(folder).position
    with pytest.raises(Rewritten, match="and now ends at"):
        look(grow(folder, tmp_path / "shorter", 1000), last)


def test_ledger_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "store" / "dledger-n0" / "data"
    folder.mkdir(parents=True)
    (folder / f"{0:020d}").write_bytes(bytes(FILE_SIZE))
    with pytest.raises(StoredError, match="is a log of DLedger, which cannot be followed"):
        look(tmp_path / "store")


@pytest.mark.parametrize(
    "tail", [bytes([255]) * 300, b"\x00\x00\x00\x00\xda\xa3\x20\xa7" * 30, struct.pack(">iI", 2**31 - 1, 0xDAA320A7) * 9]
)
def test_hostile_end_is_left_for_later(whole: tuple[Path, list[Stored]], tmp_path: Path, tail: bytes) -> None:
    folder, stored = whole
    end = stored[5].offset
    file = grow(folder, tmp_path / "store", end) / "commitlog" / f"{0:020d}"
    data = bytearray(file.read_bytes())
    data[end : end + len(tail)] = tail
    file.write_bytes(data)
    grown = look(tmp_path / "store")
    assert (grown.position.offset, grown.unfinished) == (end, True)


def test_single_store_is_looked_at_once_in_a_round(whole: tuple[Path, list[Stored]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that has more than the limit keeps its share, because no other store left anything."""
    looks = []

    def looked(*arguments: Any, **more: Any) -> Growth:
        looks.append(growth(*arguments, **more))
        return looks[-1]

    monkeypatch.setattr(growing, "growth", looked)
    found, _ = growths([str(whole[0])], {}, 3000)
    assert [each.more for each in looks] == [True] and looks == [*found.values()]


def test_stores_share_limit_and_one_that_fails_stops_no_other(whole: tuple[Path, list[Stored]], tmp_path: Path) -> None:
    folder, stored = whole
    small = grow(folder, tmp_path / "small", stored[2].offset)
    names = [str(folder), str(small), str(tmp_path / "none")]
    found, failed = growths(names, {}, 3000)
    assert list(failed) == [names[2]]
    assert found[names[1]].size == stored[2].offset
    assert 2000 < found[names[0]].size <= 3000 - stored[2].offset, "the share of others that they leave"
