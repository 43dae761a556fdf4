"""Files of a store that are missing, shorter than thought, damaged or elsewhere; the queues' and the index's own forms."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from odd_logs import damage, log, record, write_log

from rocketproof_traces.stored import config, kernel, plausible
from rocketproof_traces.stored import queues as stored_queues
from rocketproof_traces.stored.errors import StoredError
from rocketproof_traces.stored.facts import column
from rocketproof_traces.stored.index import index_files
from rocketproof_traces.stored.keys import _has
from rocketproof_traces.stored.layout import ENTRY, FILLER, FILLER_SIZE, NO_ENTRY, NO_QUEUE
from rocketproof_traces.stored.memory import MARGIN
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.nametable import LONGEST
from rocketproof_traces.stored.paths import LocalFile, join, names_of, open_source, read
from rocketproof_traces.stored.queues import BEYOND, EntryLookup, Queue, Queues, _Probe
from rocketproof_traces.stored.segments import LogFile, Range, Walked, log_files, ranges, ranges_to_reread
from rocketproof_traces.stored.table import ROWS, new_table
from rocketproof_traces.stored.walk import Walk


def test_files_of_folders_are_ordered_with_last_containing_data(tmp_path: Path) -> None:
    chance = random.Random(1)
    one, two = tmp_path / "one", tmp_path / "two"
    write_log(one, 0, record(chance, 0).ljust(4096, b"\0"))
    write_log(one, 8192, bytes(4096))
    write_log(two, 4096, record(chance, 4096).ljust(4096, b"\0"))
    (one / "commitlog" / "00000000000000000000.tmp").write_bytes(b"")
    files = log_files([str(one), str(two / "commitlog")])
    assert [(file.base, file.length, file.last) for file in files] == [(0, 4096, False), (4096, 4096, True), (8192, 4096, True)]
    write_log(two, 0, b"")
    with pytest.raises(StoredError, match="a second time"):
        log_files([str(one), str(two)])
    with pytest.raises(StoredError, match="nothing: does not exist"):
        log_files([str(tmp_path / "nothing")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoredError, match="empty: has no commit log"):
        log_files([str(tmp_path / "empty")])


def test_ranges_cover_file_and_empty_file_has_one() -> None:
    file = LogFile("p", 0, 1000, True)
    assert [(each.start, each.end, each.exact) for each in ranges([file], 400)] == [(0, 400, True), (400, 800, False), (800, 1000, False)]
    assert [(each.start, each.end) for each in ranges([LogFile("p", 0, 0, True)])] == [(0, 0)]


def test_repair_requests_one_range_of_file_at_once() -> None:
    file = LogFile("p", 0, 1200, True)
    parts = ranges([file], 300)
    good = [
        Walked(parts[0], 0, 310, 1, 310),
        Walked(parts[1], 310, 910, 1, 600),
        Walked(parts[2], None, None, 0, 0),
        Walked(parts[3], 910, 1200, 1, 290),
    ]
    assert ranges_to_reread(good) == []
    assert ranges_to_reread([good[0], good[1], Walked(parts[2], 700, 950, 1, 250), good[3]]) == [Range(file, 900, 900, True)]
    assert ranges_to_reread([good[0], Walked(parts[1], 400, 910, 1, 510), *good[2:]]) == [Range(file, 310, 600, True)]


def test_zeros_to_end_of_earlier_file_are_stretch(tmp_path: Path) -> None:
    chance = random.Random(2)
    first = record(chance, 0)
    write_log(tmp_path, 0, first.ljust(4096, b"\0"))
    write_log(tmp_path, 4096, record(chance, 4096).ljust(4096, b"\0"))
    files = log_files([str(tmp_path)])
    walks = [Walk(range_, NameTable()) for range_ in ranges(files)]
    rows = []
    for walk in walks:
        table = np.concatenate([chunk.table.copy() for chunk in walk], axis=1)
        rows.append(list(zip(*(column(table, name).tolist() for name in ("kind", "reason", "size")), strict=True)))
    assert rows[0][1:] == [(4, 7, 4096 - len(first))]
    assert walks[0].data_end is None and walks[1].data_end == 4096 + rows[1][0][2]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_file_shrinking_while_read_is_error(tmp_path: Path, scheme: str) -> None:
    data = log(random.Random(4), 0, 300)
    path = write_log(tmp_path, 0, data)
    (file,) = log_files([scheme + str(tmp_path)])
    walk = iter(Walk(Range(file, 0, file.length, exact=True), NameTable(), window=4096))
    next(walk)
    os.truncate(path, 5000)
    with pytest.raises(StoredError, match=r"ends at byte 5000, and had \d+ bytes"):
        list(walk)


def test_file_deleted_while_read_is_read_to_end(tmp_path: Path) -> None:
    data = log(random.Random(4), 0, 300)
    path = write_log(tmp_path, 0, data)
    (file,) = log_files([str(tmp_path)])
    walk = Walk(Range(file, 0, file.length, exact=True), NameTable(), window=4096)
    chunks = iter(walk)
    rows = next(chunks).rows
    path.unlink()
    assert rows + sum(chunk.rows for chunk in chunks) == walk.walked.rows >= 300


@pytest.mark.parametrize("path", ["/nowhere/at/all", "file:///nowhere/at/all", "nonsense://x"])
def test_unreadable_path_is_one_line_error(path: str) -> None:
    with pytest.raises(StoredError) as caught:
        open_source(path)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(path)


def test_same_by_scheme(tmp_path: Path) -> None:
    data = log(random.Random(6), 0, 20)
    write_log(tmp_path, 0, data)
    folder = f"file://{tmp_path}"
    assert names_of(join(folder, "commitlog")) == ["00000000000000000000"] and names_of(join(folder, "gone")) == []
    tables = []
    for root in (str(tmp_path), folder):
        (file,) = log_files([root])
        tables.append(np.concatenate([chunk.table.copy() for chunk in Walk(ranges([file])[0], NameTable())], axis=1))
        with open_source(file.path) as source:
            assert read(source, 10, 20) == data[10:30]
    assert (tables[0] == tables[1]).all()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs memory that may not be read")
def test_kernel_reads_no_byte_beyond_margins() -> None:
    """The buffer ends at an unreadable page: reading one more byte kills the process."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for guard in (address, address + 2 * page):
        assert libc.mprotect(ctypes.c_void_p(guard), page, 0) == 0
    chance = random.Random(7)
    table, names = new_table(), NameTable()
    for _ in range(300):
        count = chance.randrange(1, page - 2 * MARGIN)
        data = damage(chance, damage(chance, log(chance, 0, 8)))[:count]
        # Once the first byte, once the last byte is at the edge.
        for start in (page + MARGIN, 2 * page - MARGIN - len(data)):
            memory[start : start + len(data)] = data
            at, limit = 0, chance.choice([len(data), 1 << 20])
            while at < len(data):
                place = address + start, at, len(data), len(data), limit, 0
                _, at, why = kernel.walk(*place, 3, table.ctypes.data, 0, ROWS, names.address, 0, 0)
                names.grow()
                at += 1 if why in (kernel.ODD, kernel.MORE) else 0
            assert 0 <= kernel.find_magic(address + start, 0, len(data)) <= len(data)
            assert kernel.find_data(address + start, 0, len(data))[0] <= len(data)
    for guard in (address, address + 2 * page):
        assert libc.mprotect(ctypes.c_void_p(guard), page, 3) == 0


def test_names_keep_their_numbers_while_table_grows() -> None:
    names = NameTable(["first", "", "x" * LONGEST])
    many = [f"%RETRY%group-{number:05d}-of-the-service" for number in range(5000)]
    numbers = [names.number(name) for name in many]
    assert numbers == list(range(3, 5003)) and [names.number(name) for name in many] == numbers
    assert names.texts() == ["first", "", "x" * LONGEST, *many] and len(names) == 5003
    with pytest.raises(ValueError, match="255"):
        names.number("y" * (LONGEST + 1))


def write_queue(folder: Path, topic: str, queue_id: int, base: int, entries: list[tuple[int, int, int]], count: int = 50) -> None:
    path = folder / "consumequeue" / topic / str(queue_id) / f"{base * 20:020d}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(struct.pack(">qiq", *each) for each in entries).ljust(count * 20, b"\0"))


def test_bounds_and_content_of_queue_are_found(tmp_path: Path) -> None:
    filler = (0, FILLER_SIZE, 0)
    write_queue(tmp_path, "T", 3, 50, [filler] * 7 + [(100 * n, 90, -n) for n in range(57, 100)])
    write_queue(tmp_path, "T", 3, 100, [(100 * n, 90, 1 << 63 - 1 if n == 104 else n) for n in range(100, 105)])
    write_queue(tmp_path, "T", 3, 150, [])
    write_queue(tmp_path, "Empty", 0, 0, [])
    queues = Queues([str(tmp_path)])
    empty, queue = queues.all()
    assert (empty.min, empty.max, queue.min, queue.max) == (0, 0, 57, 105)
    assert queue.between(6050, 10200) == (61, 102) and queue.between(0, 1 << 60) == (57, 105)
    assert empty.between(0, 100) == (0, 0)
    entries = queue.entries(56, 52)
    assert entries.found.tolist() == [FILLER] + [ENTRY] * 48 + [NO_ENTRY] * 3
    assert entries.physicalOffset[1:49].tolist() == [100 * n for n in range(57, 105)]
    assert entries.tagsCode[48] == 1 << 62
    names = NameTable(["T", "Empty", "Other"])
    rows = [(0, 3, 57), (0, 3, 104), (0, 3, 105), (0, 3, 56), (0, 2, 57), (1, 0, 0), (2, 0, 0), (-1, 0, 0), (0, 3, 99), (0, -1, 0)]
    looked = EntryLookup(queues, names).find(*(np.array(each) for each in zip(*rows, strict=True)))
    assert looked.found.tolist() == [ENTRY, ENTRY, NO_ENTRY, NO_ENTRY, NO_QUEUE, NO_ENTRY, NO_QUEUE, NO_QUEUE, ENTRY, NO_QUEUE]
    assert looked.physicalOffset[[0, 1, 8]].tolist() == [5700, 10400, 9900]


def test_entries_far_after_zeros_are_past_queue_end(tmp_path: Path) -> None:
    entries = [(100 * n, 90, n) for n in range(40)]
    write_queue(tmp_path, "T", 0, 0, [*entries, *[(0, 0, 0)] * (3 * BEYOND), *entries * 400], count=1 << 15)
    (queue,) = Queues([str(tmp_path)]).all()
    assert (queue.min, queue.max) == (0, 40)


def test_ends_of_queue_are_found_in_few_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_queue(tmp_path, "T", 0, 0, [(100 * n, 90, n) for n in range(1000)], count=1 << 15)
    probed: list[int] = []
    entry = _Probe.entry
    monkeypatch.setattr(_Probe, "entry", lambda self, file, index: (probed.append(index), entry(self, file, index))[1])
    (queue,) = Queues([str(tmp_path)]).all()
    assert (queue.min, queue.max) == (0, 1000) and queue.between(0, 1 << 60) == (0, 1000)
    assert sorted(probed) == [0, 0, 999]


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="the system does not tell where a file has holes")
@pytest.mark.parametrize("count", [1, 1000, BEYOND + 1000])
def test_queue_with_hole_after_entries_is_read_once(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read for its ends and its first window."""
    write_queue(tmp_path, "T", 0, 0, [(100 * n, 90, n) for n in range(count)], count=0)
    os.truncate(tmp_path / "consumequeue" / "T" / "0" / f"{0:020d}", 20 << 15)
    read: list[int] = []
    read_into = LocalFile.read_into
    monkeypatch.setattr(LocalFile, "read_into", lambda self, offset, room: (read.append(offset), read_into(self, offset, room))[1])
    queues, index = Queues([str(tmp_path)]), np.array([0, count - 1, count])
    found = EntryLookup(queues, NameTable(["T"])).find(index * 0, index * 0, index)
    assert found.found.tolist() == [ENTRY, ENTRY, NO_ENTRY] and found.physicalOffset[:2].tolist() == [0, 100 * (count - 1)]
    assert read == [0]


@pytest.mark.parametrize("count", [1, BEYOND - 1, BEYOND, BEYOND + 1, 3 * BEYOND, 5 * BEYOND + 7, 1 << 15])
def test_end_of_queue_of_any_length_is_found(count: int, tmp_path: Path) -> None:
    write_queue(tmp_path, "T", 0, 0, [(100 * n, 90, n) for n in range(count)], count=1 << 15)
    (queue,) = Queues([str(tmp_path)]).all()
    assert (queue.min, queue.max) == (0, count)


def test_looking_up_many_entries_in_many_queues(tmp_path: Path) -> None:
    chance = random.Random(9)
    topics = [f"T{number}" for number in range(40)]
    for number, topic in enumerate(topics):
        for queue_id in range(4):
            write_queue(tmp_path, topic, queue_id, 0, [((number * 4 + queue_id) << 20 | n, 100 + n, n) for n in range(30)])
    names = NameTable(topics)
    rows = [(chance.randrange(40), chance.randrange(4), chance.randrange(30)) for _ in range(5000)]
    lookup = EntryLookup(Queues([str(tmp_path)]), names)
    lookup._queues.windows.size = 4  # so that windows are read again
    topic, queue_id, index = (np.array(each) for each in zip(*rows, strict=True))
    found = lookup.find(topic, queue_id, index)
    assert (found.found == ENTRY).all()
    assert (found.physicalOffset == ((topic * 4 + queue_id) << 20 | index)).all() and (found.size == 100 + index).all()


def test_queue_already_read_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_queue(tmp_path, "T", 0, 0, [(100 * n, 90, n) for n in range(50)])
    queues, names, read = Queues([str(tmp_path)]), NameTable(["T"]), []
    read_into = Queue.read_into
    monkeypatch.setattr(Queue, "read_into", lambda self, first, room: (read.append(first), read_into(self, first, room))[1])
    for rows in ([0, 3, 20], [30, 49], [5]):
        index = np.array(rows)
        found = EntryLookup(queues, names).find(index * 0, index * 0, index)
        assert found.physicalOffset.tolist() == [100 * n for n in rows]
    assert read == [0]
    monkeypatch.setattr(stored_queues, "_MEMORY", 20)
    queues.windows.size = 10
    for row in (0, 15, 0):
        index = np.array([row])
        EntryLookup(queues, names).find(index * 0, index * 0, index)
    assert read == [0, 10, 0], "what does not fit goes"


def java_hash(text: str) -> int:
    value = 0
    for each in text.encode():
        value = value * 31 + each & 0xFFFFFFFF
    return abs((value ^ 0x80000000) - 0x80000000)


@pytest.mark.parametrize(("key", "there"), [("t#a", True), ("t#b", True), ("t#T#red", True), ("t#red", False), ("t#T#a", False)])
@pytest.mark.behaviour("REC-04")
def test_index_entry_is_for_key_or_since_5_4_tags(key: str, there: bool) -> None:
    room = np.frombuffer(b"TAGS\x01red\x02KEYS\x01a b", np.uint8)
    assert bool(_has(room.ctypes.data, java_hash("t"), 0, room.size, java_hash(key))) == there


def test_index_states_how_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    path = tmp_path / "index" / "20240101000000000"
    entries = b"".join(struct.pack(">iqii", *each) for each in [(0, 0, 0, 0), (7, 1 << 40, 3, 0), (8, 1 << 41, 4, 1)])
    path.write_bytes(struct.pack(">qqqqii", 1, 2, 1 << 40, 1 << 41, 1, 3) + struct.pack(">ii", 0, 2) + entries.ljust(20 * 5, b"\0"))
    (file,) = index_files([str(tmp_path)], slots=2)
    assert (file.begin_timestamp, file.end_offset, file.count, file.limit) == (1, 1 << 41, 3, 5)
    found = file.entries(1, 10)
    assert [each.tolist() for each in (found.keyHash, found.physicalOffset, found.seconds, found.previous)] == [
        [7, 8],
        [1 << 40, 1 << 41],
        [3, 4],
        [0, 1],
    ]
    assert file.heads(0, 9).tolist() == [0, 2]
    path.write_bytes(b"short")
    with pytest.raises(StoredError, match="fewer than the header"):
        index_files([str(tmp_path)])


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "no JSON"), ("[]", "no JSON object"), ("{}", "no topicConfigTable"),
     ('{"topicConfigTable":{"T":{"perm":"x"}}}', "of another form"),
     ('{"topicConfigTable":{"T":3}}', "of another form"), (b"\xff", "UTF-8")],
)  # fmt: skip
def test_table_of_topics_that_is_none(tmp_path: Path, text: str | bytes, problem: str) -> None:
    path = tmp_path / "topics.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(StoredError, match=problem):
        config.read_topics(str(path))


def test_dialect_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "consumerOffset.json"
    path.write_text('{"offsetTable":{"a@b,1:":{0:5,1:6,\n-2 :7},"c\\"{3:":{}},"dataVersion":{"counter":1}}', encoding="utf-8")
    assert config.read_json(str(path))["offsetTable"] == {"a@b,1:": {"0": 5, "1": 6, "-2": 7}, 'c"{3:': {}}


def test_long_and_short_checkpoints_are_read(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(struct.pack(">qqqqq", 1, 2, 3, 4, 5).ljust(4096, b"\0"))
    assert config.read_checkpoint(str(path)) == config.CheckpointTimes(1, 2, 3, 4, 5)
    path.write_bytes(b"\0" * 24)
    with pytest.raises(StoredError, match="24 bytes"):
        config.read_checkpoint(str(path))
    assert not config.has_abort(str(tmp_path))
    (tmp_path / "abort").touch()
    assert config.has_abort(str(tmp_path))


def test_magic_numbers_and_data_are_found_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plausible, "_BLOCK", 100)
    chance = random.Random(11)
    for gap in range(60, 220, 7):
        wanted = record(chance, gap, body=b"b" * 10)
        path = write_log(tmp_path, 0, chance.randbytes(gap) + wanted + bytes(300) + b"\1" + bytes(50))
        with open_source(str(path)) as source:
            place = plausible.FilePlace(source, 0)
            assert place.next_plausible(0, source.length) == gap
            assert place.data_in_rest(gap + len(wanted)) == (gap + len(wanted) + 300,) * 2
            assert place.data_in_rest(gap + len(wanted) + 301) is None


def test_kernels_are_cached_under_hash_of_possible_sources() -> None:
    from numba import config

    from rocketproof_model.diskcache import cache_directory
    from rocketproof_traces.stored.kernel import walk

    assert Path(walk.stats.cache_path).is_relative_to(cache_directory())
    assert not str(config.CACHE_DIR).startswith(str(cache_directory())), "kernels of others are theirs"
