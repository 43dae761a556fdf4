"""Real files: writes, forces, locks and refusals."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest
from storing import message

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.scheduler import Scheduler
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.store.service import MessageStore
from rocketproof_impl.system.disk import StoreInUse, SystemDisk
from rocketproof_impl.system.node import BrokerNode
from rocketproof_profiles import PROFILES

GIB = 1 << 30


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Start another process with the same modules."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_a_file_is_written_read_renamed_and_deleted(tmp_path: Path) -> None:
    disk = SystemDisk(tmp_path)
    assert disk.read("a/b/file") is None
    assert disk.size("a/b/file") is None
    disk.write("a/b/file", b"long content")
    disk.write("a/b/file", b"short")
    assert (disk.read("a/b/file"), disk.size("a/b/file")) == (b"short", 5)
    disk.write("a/b/other", b"x")
    assert disk.names("a/b") == ["file", "other"]
    assert disk.names("a") == ["b"]
    assert disk.names("nowhere") == disk.names("a/b/file") == []
    assert disk.rename("a/b/file", "a/b/other")
    assert disk.read("a/b/other") == b"short"
    assert not disk.rename("a/b/file", "a/b/other")
    assert disk.delete("a/b/other")
    assert not disk.delete("a/b/other")
    assert disk.delete("a/b")
    assert disk.names("a") == []


def test_file_has_no_name_before_its_full_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process killed while it creates a file leaves nothing that makes a start fail."""

    def killed(descriptor: int, size: int) -> None:
        raise KeyboardInterrupt(f"{descriptor} {size}")

    with SystemDisk(tmp_path) as disk:
        with monkeypatch.context() as patch:
            patch.setattr(os, "ftruncate", killed)
            with pytest.raises(KeyboardInterrupt):
                disk.map("log/0", 100)
        assert disk.names("log") == []
        assert disk.size("log/0") is None
        region = disk.map("log/0", 100)
        region.write(0, b"hello")
        assert disk.names("log") == ["0"]
        assert disk.size("log/0") == 100
    assert sorted(os.listdir(tmp_path / "log")) == ["0"]


def test_mapped_file_is_sparse_and_shared_between_processes(tmp_path: Path) -> None:
    with SystemDisk(tmp_path) as disk:
        region = disk.map("log/0", GIB)
        region.write(GIB - 5, b"hello")
        region.force()
        place = tmp_path / "log" / "0"
        assert place.stat().st_size == GIB
        assert place.stat().st_blocks * 512 < 1 << 20
        with place.open("r+b") as file, mmap.mmap(file.fileno(), GIB) as mapped:
            assert mapped[GIB - 5 :] == b"hello"
            mapped[:2] = b"me"
            assert region.read(0, 4) == b"me\0\0"
        assert region.read(GIB - 3, 100) == b"llo"
        assert disk.map("log/0", GIB) is region
    with SystemDisk(tmp_path) as disk:
        assert disk.map("log/0", GIB).read(GIB - 5, 5) == b"hello"


def test_mapping_extends_a_shorter_file_and_keeps_a_longer(tmp_path: Path) -> None:
    with SystemDisk(tmp_path) as disk:
        disk.write("short", b"abc")
        disk.write("long", b"0123456789")
        assert disk.map("short", 5).read(0, 5) == b"abc\0\0"
        assert disk.map("long", 4).read(0, 10) == b"0123"
        assert (disk.size("short"), disk.size("long")) == (5, 10)


def test_range_truncated_by_another_process_reads_as_zeros(tmp_path: Path) -> None:
    with SystemDisk(tmp_path) as disk:
        region = disk.map("file", 10_000)
        region.write(0, b"x" * 10_000)
        os.truncate(tmp_path / "file", 100)
        assert region.read(90, 20) == b"x" * 10 + bytes(10)


@pytest.mark.parametrize("place", [-1, 8])
def test_error_of_a_write_outside_a_region_names_the_file(tmp_path: Path, place: int) -> None:
    with SystemDisk(tmp_path) as disk, pytest.raises(OSError, match=r"3 bytes at .* file of 10.*/file"):
        disk.map("file", 10).write(place, b"abc")


def test_deleted_or_closed_region_refuses_access(tmp_path: Path) -> None:
    with SystemDisk(tmp_path) as disk:
        deleted, closed = disk.map("deleted", 10), disk.map("closed", 10)
        disk.delete("deleted")
        assert disk.map("deleted", 10) is not deleted
    for region in (deleted, closed):
        with pytest.raises(OSError, match=region.path):
            region.write(0, b"x")
        with pytest.raises(OSError, match=region.path):
            region.read(0, 1)
        with pytest.raises(OSError, match=region.path):
            region.force()


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/hostname", "/"])
def test_paths_outside_the_root_are_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    disk = SystemDisk(root)
    for use in (disk.read, disk.delete, disk.names, disk.size, disk.lock):
        with pytest.raises(OSError, match="not below"):
            use(path)
    with pytest.raises(OSError, match="not below"):
        disk.write(path, b"x")
    with pytest.raises(OSError, match="not below"):
        disk.map(path, 1)
    with pytest.raises(OSError, match="not below"):
        disk.rename("inside", path)
    assert list(tmp_path.iterdir()) == []
    disk.write(f"{root}/a/../inside", b"x")
    assert disk.names("") == ["inside"]


def test_errors_name_the_path(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    disk = SystemDisk(tmp_path)
    for use in (disk.read, lambda path: disk.write(path, b""), lambda path: disk.map(path, 1)):
        with pytest.raises(OSError, match="folder"):
            use("folder")
    with pytest.raises(OSError, match="file"):
        disk.map("file/inside", 1)


def test_store_is_locked_by_one_process(tmp_path: Path) -> None:
    with SystemDisk(tmp_path) as disk:
        disk.lock("store/lock")
        assert (tmp_path / "store" / "lock").read_bytes() == b"lock"
        with SystemDisk(tmp_path) as other, pytest.raises(StoreInUse, match=r"another broker works on this store.*store/lock"):
            other.lock("store/lock")
        script = f"from rocketproof_impl.system.disk import SystemDisk\nSystemDisk({str(tmp_path)!r}).lock('store/lock')"
        refused = python("-c", script)
        assert "StoreInUse" in refused.stderr
    with SystemDisk(tmp_path) as other:
        other.lock("store/lock")


FULL = """
import resource, sys
from rocketproof_impl.system.disk import SystemDisk
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
disk = SystemDisk(sys.argv[1])
for use in ("disk.map('large', 8192)", "disk.write('file', bytes(5000))", "disk.map('old', 8192).write(4000, bytes(200))"):
    try:
        eval(use)
        print("done")
    except OSError as problem:
        print(problem.filename.rsplit("/", 1)[1], problem.strerror)
print(disk.map("old", 8192).read(4090, 10))
"""


def test_a_disk_without_room_is_an_error_and_no_signal(tmp_path: Path) -> None:
    """A file size limit simulates the full disk; the write itself fails in both cases."""
    (tmp_path / "old").write_bytes(b"x" * 8192)
    ended = python("-c", FULL, str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == ["large File too large", "file File too large", "old File too large", repr(bytes(6) + b"xxxx")]


def test_store_runs_on_real_files(tmp_path: Path) -> None:
    settings = BrokerSettings(mapped_file_size_commit_log=1000, mapped_file_size_consume_queue=60)
    scheduler = Scheduler()
    for first in (0, 20):
        with SystemDisk(tmp_path) as disk:
            store = MessageStore(settings, PROFILES["P494"], scheduler.clock, disk)
            assert store.load()
            for number in range(first, first + 20):
                put = scheduler.complete(store.put_message(message(body=b"%05d" % number)))
                assert put.status is PutMessageStatus.PUT_OK
            store.dispatch()
            store.flush_now()
    assert store_bodies(tmp_path, settings) == [b"%05d" % number for number in range(40)]


def store_bodies(root: Path, settings: BrokerSettings) -> list[bytes | None]:
    with SystemDisk(root) as disk:
        store = MessageStore(settings, PROFILES["P494"], Scheduler().clock, disk)
        assert store.load()
        found = [store.get_message("TopicTest", 0, index) for index in range(store.max_offset("TopicTest", 0))]
        return [each.body for each in found if each is not None]


def test_node_refuses_to_lose_power_on_disk_that_keeps_all(tmp_path: Path) -> None:
    """It goes on running: nothing of it is closed."""
    node = BrokerNode(BrokerSettings())
    node.disk = SystemDisk(tmp_path)
    region = node.disk.map("file", 10)
    with pytest.raises(TypeError, match=r"^SystemDisk cannot lose power; give the node disk=VolatileDisk$"):
        node.lose_power()
    region.write(0, b"x")
    node.disk.close()
