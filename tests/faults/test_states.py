"""The disk states that a power loss can leave after a process's operations."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rocketproof_properties.brokers.crashstates import Files, changed, described, disk_of, forced, lose, moments, shape, states
from rocketproof_properties.brokers.systemcalls import FileOperation

MAIN, TMP, BAK = "config/t.json", "config/t.json.tmp", "config/t.json.bak"
OLD, NEW = (b'{"v":%d}' % version + b" " * 2000 + b"\n" for version in (1, 2))
LOG = "commitlog/0"


def written(path: str, data: bytes) -> list[FileOperation]:
    return [FileOperation("truncate", path), FileOperation("append", path, data)]


REPLACED = [*written(TMP, NEW), *written(BAK, OLD), FileOperation("delete", MAIN), FileOperation("rename", TMP, other=MAIN)]
OVERWRITTEN = [*written(BAK, OLD), *written(MAIN, NEW)]
MOVED = [
    FileOperation("rename", MAIN, other=BAK),
    FileOperation("force", "config"),
    FileOperation("append", MAIN, NEW),
    FileOperation("force", MAIN),
    FileOperation("force", "config"),
]


def left(before: Files, done: Iterable[FileOperation], after: Files) -> list[dict[str, bytes]]:
    disk = disk_of(before, done, after)
    return [lose(disk, seed) for seed in range(150)]


def pairs(done: Iterable[FileOperation]) -> set[tuple[str, str]]:
    """Return the states of main file and backup over all losses."""
    disk = disk_of({MAIN: OLD}, done, {})
    shapes = [dict(shape(disk, lose(disk, seed))) for seed in range(400)]
    return {(one.get(MAIN, "missing"), one.get(BAK, "missing")) for one in shapes}


@pytest.mark.behaviour("PER-02", "PER-05")
def test_replaced_file_can_be_missing_empty_or_broken() -> None:
    found = pairs(REPLACED)
    assert {("missing", "whole"), ("empty", "whole"), ("broken", "whole"), ("older", "empty"), ("whole", "broken")} <= found
    assert ("missing", "missing") not in found, "the backup's name exists before the main file is removed"


@pytest.mark.behaviour("PER-06", "PER-10")
def test_overwritten_file_can_be_broken_but_never_missing() -> None:
    found = pairs(OVERWRITTEN)
    assert {("broken", "broken"), ("empty", "empty"), ("whole", "empty"), ("older", "empty")} <= found
    assert not any(main == "missing" for main, _ in found)


def test_moved_and_forced_file_keeps_a_whole_backup() -> None:
    disk = disk_of({MAIN: OLD}, MOVED, {})
    assert all(one == {MAIN: NEW, BAK: OLD} for one in (lose(disk, seed) for seed in range(50)))
    half = disk_of({MAIN: OLD}, MOVED[:3], {})
    assert {one[BAK] for one in (lose(half, seed) for seed in range(50))} == {OLD}


def test_forced_part_of_a_growing_file_stays() -> None:
    done = [FileOperation("append", "a", b"1" * 600), FileOperation("force", "a"), FileOperation("append", "a", b"2" * 600)]
    found = {one["a"] for one in left({}, done, {})}
    assert all(one.startswith(b"1" * 600) for one in found)
    assert {b"1" * 600, b"1" * 600 + b"2" * 600} <= found


def test_a_mapped_file_keeps_the_pages_that_were_forced() -> None:
    page = b"a" * 4096
    done = [FileOperation("size", LOG, size=12288), FileOperation("map", LOG, size=12288), FileOperation("force", LOG, pages={0: page})]
    after = page + b"b" * 4096 + bytes(4096)
    found = left({}, done, {LOG: after})
    assert all(len(one[LOG]) == 12288 and one[LOG][:4096] == page for one in found)
    assert {page + bytes(8192), after} <= {one[LOG] for one in found}


def test_new_file_can_lack_its_length_and_old_keep_content() -> None:
    new = [FileOperation("size", LOG, size=4096), FileOperation("map", LOG, size=4096)]
    assert {len(one.get(LOG, b"none")) for one in left({}, new, {})} == {0, 4, 4096}
    was = [FileOperation("map", LOG, size=4096)]
    assert {one[LOG] for one in left({LOG: b"c" * 4096}, was, {LOG: b"d" * 4096})} >= {b"c" * 4096, b"d" * 4096}


def test_file_sized_before_its_rename_keeps_forced_data() -> None:
    made = [FileOperation("size", TMP, size=4096), FileOperation("rename", TMP, other=LOG), FileOperation("append", LOG, b"x")]
    after = b"e" * 4096
    found = left({}, [*made, FileOperation("force", LOG, pages={0: after})], {LOG: after})
    assert all(one == {LOG: after} for one in found)


def test_power_loss_is_deterministic_and_leaves_the_model_unchanged() -> None:
    disk = disk_of({MAIN: OLD}, REPLACED, {})
    assert [lose(disk, seed) for seed in range(20)] == [lose(disk, seed) for seed in range(20)]


def test_states_are_distinct_and_varied() -> None:
    disk = disk_of({MAIN: OLD}, OVERWRITTEN, {})
    few = list(states(disk, 3, 0))
    assert len({shape(disk, one) for one in few}) == 3
    assert len({how for one in few for how in shape(disk, one)}) >= 5
    assert few == list(states(disk, 3, 0)) != list(states(disk, 3, 1))


def test_first_state_has_forced_pages_and_all_other_writes() -> None:
    """This state is tried first. With many files, random states never equal it."""
    queues = [f"consumequeue/T/{number}/0" for number in range(12)]
    sized = [FileOperation(kind, path, size=8192) for path in queues for kind in ("size", "map")]
    done = [*sized, *(FileOperation("force", path, pages={0: b"a" * 4096}) for path in queues[::2]), *OVERWRITTEN]
    disk = disk_of({MAIN: OLD}, done, dict.fromkeys(queues, b"a" * 4096 + b"b" * 4096))
    on_device = {path: (b"a" * 4096).ljust(8192, b"\0") if path in queues[::2] else bytes(8192) for path in queues}
    found = forced(disk)
    assert found == {**on_device, MAIN: NEW, BAK: OLD} == next(states(disk, 1, 0))
    assert not any(shape(disk, lose(disk, seed)) == shape(disk, found) for seed in range(200))


def test_existing_mapped_file_changes_only_in_forced_pages() -> None:
    before, after = b"c" * 8192, b"d" * 8192
    disk = disk_of({LOG: before}, [FileOperation("map", LOG, size=8192), FileOperation("force", LOG, pages={0: b"e" * 4096})], {LOG: after})
    assert forced(disk) == {LOG: b"e" * 4096 + b"c" * 4096}


QUEUE = "consumequeue/T/0"
FIRST, SECOND = f"{QUEUE}/{0:020}", f"{QUEUE}/{400:020}"
FULL = b"e" * 400


def made(path: str) -> list[FileOperation]:
    return [FileOperation(kind, path, size=400) for kind in ("size", "map")]


@pytest.mark.parametrize(
    ("before", "forced_first", "found"),
    [
        ({}, {0: FULL}, [4]),
        ({}, {0: FULL[:380]}, []),
        ({FIRST: FULL}, {}, [4]),
    ],
    ids=["it was forced", "its end was not forced", "it was there before"],
)
def test_moment_is_a_file_creation_after_a_forced_end(before: Files, forced_first: dict[int, bytes], found: list[int]) -> None:
    done = [*made(FIRST), FileOperation("force", FIRST, pages=forced_first), *made(SECOND), FileOperation("force", SECOND, pages={0: FULL})]
    assert [*moments(before, done)] == found
    for number in found:
        left = forced(disk_of(before, done[:number], {}))
        assert left == {FIRST: FULL, SECOND: bytes(400)}


def test_only_files_named_by_offset_form_a_sequence() -> None:
    done = [*made("index/1"), FileOperation("force", "index/1", pages={0: FULL}), *made("index/2x"), *made("checkpoint"), *made("other/2")]
    assert [*moments({}, done)] == []


def test_state_is_described_by_its_settings_files() -> None:
    disk = disk_of({MAIN: OLD}, OVERWRITTEN, {})
    assert described(disk, {MAIN: b"", BAK: OLD}) == "t.json is empty"
    assert described(disk, {BAK: b"{" + bytes(9)}) == "t.json is missing, t.json.bak is broken"
    assert described(disk, {MAIN: NEW, BAK: OLD}) == "its files of settings are whole"


def test_changed_pages() -> None:
    assert changed(b"a" * 4096, b"a" * 4096 + bytes(5000)) == {}
    assert changed(b"", b"a") == {0: b"a"}
    assert set(changed(b"a" * 9000, b"a" * 8999 + b"b")) == {8192}
