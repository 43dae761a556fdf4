"""The file of the topic table: its five steps, a crash at each of them, and the result of the next start."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from marks import behaviour
from simulated import present
from table_bench import BACKUP, MAIN, TEMPORARY, TableBench

from rocketproof_impl.persistence import load, persist, string_to_file
from rocketproof_impl.simulator.disk import ProcessEnded, SimulatedDisk
from rocketproof_impl.topic import DataVersion, TopicConfig

STORE = Path(__file__).parents[1] / "data" / "store-4.9.4.tar.gz"

STEPS = ("tmp truncated", "tmp half", "tmp written", "bak truncated", "bak half", "bak written", "main deleted", "tmp renamed")
FIRST_STEPS = ("tmp truncated", "tmp half", "tmp written", "main deleted", "tmp renamed")


def content(disk: SimulatedDisk) -> dict[str, bytes | None]:
    return {name: disk.read(path) for name, path in (("main", MAIN), ("bak", BACKUP), ("tmp", TEMPORARY))}


def topic_names(disk: SimulatedDisk) -> tuple[bool, set[str]]:
    """Load in a new process: return the result of load, and the topics beyond those of the constructor."""
    bench = TableBench(disk=disk)
    system = set(bench.topics.table)
    return bench.topics.load(), set(bench.topics.table) - system


def three_versions() -> tuple[TableBench, bytes, bytes, bytes]:
    """Return a table that was persisted twice and is about to be persisted again: the contents of backup, old and new file."""
    bench = TableBench()
    bench.create("B")
    backup = bench.disk.read(MAIN)
    bench.create("old")
    old = bench.disk.read(MAIN)
    probe = TableBench(disk=SimulatedDisk())
    probe.disk.files.update({path: bytearray(data) for path, data in bench.disk.files.items()})
    assert probe.topics.load()
    probe.topics.update(TopicConfig("new"))
    new = probe.disk.read(MAIN)
    assert backup is not None and old is not None and new is not None
    return bench, backup, old, new


def crash(bench: TableBench, steps: int, topic: str = "new") -> None:
    """Persist one more topic, with a crash after this many steps of the disk."""
    bench.disk.end_after(steps)
    with pytest.raises(ProcessEnded):
        bench.topics.update(TopicConfig(topic))


# The five steps


@behaviour("PER-02")
def test_a_file_is_replaced_in_five_steps() -> None:
    bench, _, old, new = three_versions()
    bench.disk.operations.clear()
    bench.topics.update(TopicConfig("new"))
    assert bench.disk.operations == [("write", TEMPORARY), ("write", BACKUP), ("delete", MAIN), ("rename", TEMPORARY)]
    assert content(bench.disk) == {"main": new, "bak": old, "tmp": None}


@behaviour("PER-02")
def test_the_first_file_has_no_backup() -> None:
    disk = SimulatedDisk()
    string_to_file(disk, "text", MAIN)
    assert disk.operations == [("write", TEMPORARY), ("delete", MAIN), ("rename", TEMPORARY)]
    assert content(disk) == {"main": b"text", "bak": None, "tmp": None}


@behaviour("PER-02", "PER-06")
def test_an_empty_file_empties_the_backup() -> None:
    disk = SimulatedDisk()
    disk.write(MAIN, b"")
    disk.write(BACKUP, b"B")
    string_to_file(disk, "text", MAIN)
    assert content(disk) == {"main": b"text", "bak": b"", "tmp": None}


@behaviour("PER-01")
@pytest.mark.parametrize("operation", ["truncate", "read"])
def test_input_output_error_ends_only_the_persist(operation: str, caplog: pytest.LogCaptureFixture) -> None:
    bench, _, old, _ = three_versions()
    with bench.failing(operation=operation):
        bench.topics.update(TopicConfig("new"))
        assert "I/O error" in caplog.text
    assert topic_names(bench.disk) == (True, {"B", "old"})
    assert old in (bench.disk.read(MAIN), bench.disk.read(BACKUP))


@behaviour("PER-01")
def test_file_is_in_the_stores_config_folder() -> None:
    assert TableBench(store_path_root_dir="/home/r/store").topics.path == "/home/r/store/config/topics.json"


@behaviour("PER-02", "PER-05")
def test_failed_replacing_rename_still_removes_the_temporary_file() -> None:
    class Strict(SimulatedDisk):
        def rename(self, old: str, new: str) -> bool:
            return new not in self.files and super().rename(old, new)

    disk = Strict()
    string_to_file(disk, "old", MAIN)
    string_to_file(disk, "new", MAIN)
    assert content(disk) == {"main": b"new", "bak": b"old", "tmp": None}


@pytest.mark.parametrize(("operation", "main", "left"), [("delete", True, False), ("rename", False, True)])
@behaviour("PER-02", "PER-03")
def test_results_of_the_last_two_steps_are_ignored(operation: str, main: bool, left: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A rename replaces a file that could not be deleted; without a rename only the backup has the old table."""
    bench = TableBench()
    bench.topics.update(TopicConfig("old"))
    with bench.failing(operation=operation):
        bench.topics.update(TopicConfig("new"))
    assert not caplog.records
    assert (bench.disk.read(MAIN) is not None, bench.disk.read(TEMPORARY) is not None) == (main, left)
    assert b'"new"' not in (bench.disk.read(BACKUP) or b"")
    again = bench.restarted()
    assert again.topics.load()
    assert ("new" in again.topics.table, "old" in again.topics.table) == (main, True)


# A crash in one persist


@behaviour("PER-05", "PER-02", "INV-26", "INV-29")
@pytest.mark.parametrize("done", range(len(STEPS) + 1), ids=lambda n: f"after-{STEPS[n - 1].replace(' ', '-')}" if n else "before")
def test_crash_in_a_persist_leaves_old_or_new(done: int) -> None:
    bench, backup, old, new = three_versions()
    if done < len(STEPS):
        crash(bench, done)
    else:
        bench.topics.update(TopicConfig("new"))
    partial = {1: b"", 2: new[: len(new) // 2]}
    expected = {
        "main": old if done < 7 else None if done == 7 else new,
        "bak": backup if done < 4 else b"" if done == 4 else old[: len(old) // 2] if done == 5 else old,
        "tmp": None if done in (0, 8) else partial.get(done, new),
    }
    assert content(bench.disk) == expected
    topics = {"B", "old", "new"} if done == 8 else {"B", "old"}
    assert topic_names(bench.disk) == (True, topics)


@behaviour("PER-05", "PER-03", "INV-26", "INV-28", "HAZ-35")
@pytest.mark.parametrize("done", range(len(FIRST_STEPS) + 1))
def test_crash_in_the_first_persist_loses_all_topics_silently(done: int) -> None:
    bench = TableBench()
    if done < len(FIRST_STEPS):
        crash(bench, done)
    else:
        bench.topics.update(TopicConfig("new"))
    found = content(bench.disk)
    assert found["bak"] is None
    assert (found["main"] is not None) == (done == 5)
    assert topic_names(bench.disk) == (True, {"new"} if done == 5 else set())
    if done in (3, 4):
        assert found["tmp"] is not None
        json.loads(found["tmp"])


@behaviour("PER-05", "TCM-04", "HAZ-10", "INV-21")
def test_crash_before_the_persist_ends_loses_a_visible_topic() -> None:
    bench, _, _, _ = three_versions()
    bench.stop = lambda task, name: name == "versioned"
    bench.start("seen")
    assert bench.topics.select("seen") is not None
    assert topic_names(bench.disk) == (True, {"B", "old"})


@behaviour("PER-05", "HAZ-35")
@pytest.mark.parametrize("lost", [b"", b"\x00\x00\x00\x00", b"\xff\xfe{", b'{"topicConfigTable":{"ol'])
def test_a_power_loss_after_the_rename_leaves_the_backup(lost: bytes) -> None:
    bench, _, _, _ = three_versions()
    bench.topics.update(TopicConfig("new"))
    bench.disk.files[MAIN] = bytearray(lost)
    assert topic_names(bench.disk) == (True, {"B", "old"})


@behaviour("PER-10", "PER-01")
@pytest.mark.parametrize("done", range(7))
def test_in_place_crash_leaves_a_partial_file_and_the_backup(done: int) -> None:
    bench, backup, old, _ = three_versions()
    fresh = TableBench("P533", disk=bench.disk)
    assert fresh.topics.load()
    bench.disk.operations.clear()
    if done < 6:
        crash(fresh, done)
    else:
        fresh.topics.update(TopicConfig("new"))
        assert bench.disk.operations == [("write", BACKUP), ("write", MAIN)]
    main = bench.disk.read(MAIN) or b""
    assert main.startswith(b"{\n\t") or done in (0, 4)
    assert main.endswith(b"}") is (done not in (4, 5))
    assert content(bench.disk) == {
        "main": old if done < 4 else b"" if done == 4 else main,
        "bak": backup if done < 1 else b"" if done == 1 else old[: len(old) // 2] if done == 2 else old,
        "tmp": None,
    }
    loaded, topics = topic_names(bench.disk)
    assert loaded
    assert topics & {"B", "old", "new"} == {"B", "old"} | ({"new"} if done == 6 else set())


@behaviour("PER-10", "PER-06")
def test_in_place_second_crash_copies_a_partial_file_to_backup() -> None:
    disk = SimulatedDisk()
    disk.end_after(2)
    with pytest.raises(ProcessEnded):
        persist(disk, "whole", MAIN, in_place=True)
    assert content(disk) == {"main": b"wh", "bak": None, "tmp": None}
    persist(disk, "again", MAIN, in_place=True)
    assert content(disk) == {"main": b"again", "bak": b"wh", "tmp": None}


# Later crashes


@behaviour("PER-06", "PER-02", "INV-27", "INV-28", "INV-29", "HAZ-35")
@pytest.mark.parametrize(("lost", "answer"), [(b"", True), (b"garbage", False)])
def test_next_persist_overwrites_the_good_backup(lost: bytes, answer: bool) -> None:
    bench, _, old, _ = three_versions()
    bench.topics.update(TopicConfig("new"))
    bench.disk.files[MAIN] = bytearray(lost)
    again = bench.restarted()
    assert again.topics.load()
    assert bench.disk.read(BACKUP) == old
    crash(again, 7, "next")
    assert bench.disk.read(MAIN) is None
    assert bench.disk.read(BACKUP) == lost
    assert topic_names(bench.disk) == (answer, set())


@behaviour("PER-07", "HAZ-35")
def test_without_a_main_file_the_backup_is_unchanged() -> None:
    bench, _, old, _ = three_versions()
    crash(bench, 7)
    again = bench.restarted()
    assert again.topics.load()
    crash(again, 4, "next")
    found = content(bench.disk)
    assert found["main"] is None
    assert found["bak"] == old
    assert found["tmp"] is not None and b'"next"' in found["tmp"]
    assert topic_names(bench.disk) == (True, {"B", "old"})


@behaviour("PER-08", "INV-17")
def test_start_from_the_backup_restores_an_older_version() -> None:
    bench, _, _, _ = three_versions()
    before = bench.topics.data_version.copy()
    bench.scheduler.clock.time += 5
    bench.topics.update(TopicConfig("new"))
    bench.scheduler.clock.time += 5
    bench.disk.end_after(7)
    with pytest.raises(ProcessEnded):
        bench.topics.update(TopicConfig("next"))
    again = bench.restarted()
    assert again.topics.load()
    assert again.topics.data_version == DataVersion(before.timestamp + 5, before.counter + 1)
    assert again.topics.data_version != bench.topics.data_version


@behaviour("PER-08", "HAZ-10", "HAZ-36")
def test_a_lost_topic_is_created_again_with_other_counts() -> None:
    bench, _, _, _ = three_versions()
    bench.disk.end_after(2)
    with pytest.raises(ProcessEnded):
        bench.create("T", nums=4)
    bench.disk.end_after(None)
    again = bench.restarted()
    assert again.topics.load()
    assert again.create("T", nums=2) == TopicConfig("T", 2, 2, 6)


# Load


@behaviour("PER-03")
def test_load_reads_main_then_backup_never_the_temporary() -> None:
    disk = SimulatedDisk()
    found: list[str] = []
    disk.write(TEMPORARY, b"tmp")
    assert load(disk, MAIN, found.append)
    assert found == []
    disk.write(BACKUP, b"bak")
    assert load(disk, MAIN, found.append)
    disk.write(MAIN, b"")
    assert load(disk, MAIN, found.append)
    disk.write(MAIN, b"main")
    assert load(disk, MAIN, found.append)
    assert found == ["bak", "bak", "main"]


@behaviour("PER-03", "PER-05")
@pytest.mark.parametrize(
    ("main", "backup", "answer", "topics"),
    [
        (None, None, True, set()),
        (b"", None, True, set()),
        (b"", b"", True, set()),
        (b"{", None, True, set()),
        (b"{", b"", True, set()),
        (b"{", b"{", False, set()),
        (b"", b"[]", False, set()),
        (None, b"\xff", False, set()),
        (b"[]", b'{"topicConfigTable":{"T":{}}}', True, {"T"}),
        (b'{"topicConfigTable":{"U":{},"V":3}}', b'{"topicConfigTable":{"T":{}}}', True, {"T"}),
        (b'{"topicConfigTable":{"U":{}},"dataVersion":{}}', b'{"topicConfigTable":{"T":{}}}', True, {"T"}),
    ],
)
def test_start_fails_only_if_a_needed_backup_is_broken(main: bytes | None, backup: bytes | None, answer: bool, topics: set[str]) -> None:
    disk = SimulatedDisk()
    for path, data in ((MAIN, main), (BACKUP, backup)):
        if data is not None:
            disk.write(path, data)
    assert topic_names(disk) == (answer, topics)


@behaviour("PER-03")
def test_unreadable_main_file_falls_back_and_unreadable_backup_fails() -> None:
    bench, _, _, _ = three_versions()
    unreadable = {MAIN}

    def failing(operation: str, path: str) -> None:
        if path in unreadable:
            raise OSError("I/O error")

    bench.disk.failing = failing
    assert topic_names(bench.disk) == (True, {"B"})
    unreadable.add(BACKUP)
    assert topic_names(bench.disk) == (False, set())


@behaviour("PER-04", "INV-17", "HAZ-03")
def test_stored_topics_replace_those_of_the_constructor() -> None:
    bench = TableBench()
    bench.topics.update(TopicConfig("TBW102", 3, 5, 6))
    bench.topics.update(TopicConfig("T", 1, 2, 4, "MULTI_TAG", 3, True))
    again = bench.restarted(default_topic_queue_nums=2)
    again.scheduler.clock.time += 1000
    assert again.topics.load()
    assert again.topics.table["TBW102"] == TopicConfig("TBW102", 3, 5, 6)
    assert again.topics.table["T"] == TopicConfig("T", 1, 2, 4, "MULTI_TAG", 3, True)
    assert again.topics.data_version == bench.topics.data_version
    assert again.topics.data_version.counter == 2


@behaviour("PER-03", "PER-04")
@pytest.mark.parametrize(("content", "topics"), [(b"{}", set()), (b"null", set()), (b"[]", {"B"}), (b"{", {"B"})])
def test_file_without_topics_is_valid(content: bytes, topics: set[str]) -> None:
    bench, _, _, _ = three_versions()
    bench.disk.write(MAIN, content)
    assert topic_names(bench.disk) == (True, topics)


@behaviour("PER-09")
def test_texts_are_utf_8() -> None:
    disk = SimulatedDisk()
    persist(disk, "ü", MAIN, in_place=False)
    assert disk.files[MAIN] == b"\xc3\xbc"
    bench = TableBench()
    bench.topics.update(TopicConfig("Größe"))
    assert topic_names(bench.disk) == (True, {"Größe"})


@behaviour("PER-01", "PER-09")
@pytest.mark.parametrize("name", ["config/topics.json", "config/topics.json.bak", "topics_noauto.json", "topics_slave.json"])
def test_real_brokers_topic_file_round_trips_byte_for_byte(name: str) -> None:
    with tarfile.open(STORE) as archive:
        file = present(archive.extractfile(f"store-4.9.4/{name}"))
        data = file.read()
    bench = TableBench("P494", auto_create_topic_enable=False)
    system = set(bench.topics.table)
    bench.disk.write(MAIN, data)
    bench.topics.table.clear()
    assert bench.topics.load()
    bench.topics.persist()
    assert bench.disk.files[MAIN] == data
    assert bench.disk.files[BACKUP] == data
    assert system <= set(bench.topics.table)
