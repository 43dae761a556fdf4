"""Machine faults on real brokers, and what strace shows of a process."""

from __future__ import annotations

import sys
from pathlib import Path

from rocketproof_properties.brokers import strace
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.children import Child
from rocketproof_properties.brokers.crashstates import disk_of, lose
from rocketproof_properties.validation.faults import disk, power, slaves, threads
from rocketproof_properties.validation.faults.found import FaultTests

COMMANDS = ("java", "mvn", "strace")

WRITER = """
import mmap, os, sys, time
folder = sys.argv[1]
with open(f"{folder}/a.tmp", "w") as file:
    file.write('{"v": "\\xe9"}')
os.rename(f"{folder}/a.tmp", f"{folder}/a")
with open(f"{folder}/log", "wb+") as file:
    file.truncate(8192)
    pages = mmap.mmap(file.fileno(), 8192)
    pages[:3] = b"one"
    pages.flush()
    time.sleep(0.5)  # the file is read as soon as it is forced
    pages[4096:4099] = b"two"
os.unlink(f"{folder}/old")
os.kill(os.getpid(), 9)
"""


def test_recorded_process_writes_equal_strace_output(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "old").write_text("old")
    before = strace.files_of(folder)
    recorder = strace.Recorder(tmp_path / "calls", folder)
    child = Child((*strace.tracing_command(tmp_path / "calls"), sys.executable, "-c", WRITER, str(folder)), output=tmp_path / "out")
    child.wait(20)
    recorder.close()
    kinds = [(operation.kind, operation.path) for operation in recorder.done]
    assert [("truncate", "a.tmp"), ("append", "a.tmp"), ("rename", "a.tmp")] == kinds[:3]
    assert ("force", "log") in kinds and kinds[-1] == ("delete", "old")
    made = disk_of(before, recorder.done, strace.files_of(folder))
    assert {path: bytes(data)[:8192] for path, data in made.files.items()} == strace.files_of(folder)
    left = [lose(made, seed) for seed in range(40)]
    assert all(files["log"][:3] == b"one" for files in left), "it was forced"
    assert {files["log"][4096:4099] for files in left} == {b"two", bytes(3)}
    assert {"old" in files for files in left} == {True, False}


def test_power_loss_shows_only_known_losses_of_release() -> None:
    faults = FaultTests("power")
    power.run(Apache("5.3.3"), faults, 1, seed=1, most=3)
    assert (faults.rounds, faults.states, faults.findings) == (1, 3, [])
    assert faults.acknowledged > 10
    assert {wrong.claim for wrong in faults.wrong} <= {"start", "topic lost", "group lost", "consume queue", "next offset", "phantom"}


def test_flush_that_fails_is_acknowledged_all_same() -> None:
    faults = FaultTests("disk")
    disk.run(Apache("5.3.3"), faults, 1, seed=1)
    assert (faults.rounds, faults.findings) == (1, [])
    assert any(wrong.claim == "confirmed" for wrong in faults.wrong)


def test_slave_has_all_messages_acknowledged_by_real_master() -> None:
    faults = FaultTests("slave")
    slaves.run(Apache("4.9.4"), faults, 2, seed=1)
    assert (faults.rounds, faults.states, faults.findings, faults.unknown) == (2, 2, [], [])
    assert faults.acknowledged > 10


def struck(version: str, rounds: int) -> FaultTests:
    """Run rounds without threads, and repeat rounds in which none was needed: on a busy machine little happens in three seconds."""
    for seed in range(1, 6):
        faults = FaultTests("threads")
        threads.run(Apache(version), faults, rounds, seed=seed)
        if faults.wrong:
            break
    return faults


def test_error_ends_dispatch_before_fixed_release() -> None:
    found = struck("5.2.0", 1)
    assert [(wrong.claim, bool(wrong.reason)) for wrong in found.wrong] == [("back", True)]


def test_answer_that_finds_no_thread_is_never_given() -> None:
    found = struck("5.3.3", 2)
    assert (found.rounds, found.states, found.findings) == (2, 2, [])
    assert [wrong.claim for wrong in found.wrong] == ["answered"]
    assert found.kept, "the messages are stored"
