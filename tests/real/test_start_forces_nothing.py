"""A start after kill -9 takes what it reads for flushed: no file of the log but the last is ever forced again (HAZ-53), as the calls of the
system show."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.comeback import come_back
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.programs.vocabulary import plain

COMMANDS = ("java", "mvn", "strace")
BROKER = "broker-a"
LAZY = {
    "flushDiskType": "ASYNC_FLUSH",
    "flushIntervalCommitLog": "600000",
    "flushCommitLogThoroughInterval": str(2**31 - 1),
    "flushCommitLogLeastPages": "100000",
}
"""Nothing is flushed while a broker with these settings runs."""
MAPPED = re.compile(r" mmap\((?:NULL|0x\w+), (\d+), [^<]*<([^>]*)>.*\) = 0x(\w+)")
FORCED = re.compile(r" msync\(0x(\w+), ")


def wrapped(folder: Path) -> Path:
    """Return a Java home whose brokers log mapped files and syncs once the file `calls` is writable."""
    java, home = shutil.which("java"), folder / "java"
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "java"
    traced = f'exec strace -f -y -e trace=mmap,msync -o "{folder}/calls" {java} "$@"'
    script.write_text(f'#!/bin/sh\nif [ -e "{folder}/on" ]; then {traced}; fi\nexec {java} "$@"\n')
    script.chmod(0o755)
    return home


def sent(running: Deployment, topic: str, size: int) -> int:
    with running.connect(BROKER) as line:
        return line.ask(plain("send", topic=topic, size=size), 10.0).code


def forced(calls: str) -> list[str]:
    """Return the synced files of the log, in order."""
    mapped: list[tuple[int, int, str]] = []
    found = []
    for line in calls.splitlines():
        if (new := MAPPED.search(line)) is not None:
            mapped.append((int(new[3], 16), int(new[1]), new[2]))
        if (call := FORCED.search(line)) is not None:
            at = int(call[1], 16)
            found += [name for start, size, name in mapped if start <= at < start + size][-1:]
    return [Path(name).name for name in found if "/commitlog/" in name]


@pytest.mark.behaviour("REC-02", "FLU-05", "HAZ-53")
@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_start_syncs_no_file_and_flush_only_last(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(wrapped(tmp_path)))
    with Apache(version).open(Setup(settings=LAZY)) as running:
        assert [sent(running, "late", 400_000) for _ in range(3)] == [0, 0, 0], "two of them fill a file"
        running.kill(BROKER)
        (tmp_path / "on").touch()
        come_back(running, BROKER, {"flushDiskType": "SYNC_FLUSH"})
        before = (tmp_path / "calls").read_text()
        assert forced(before) == []
        assert sent(running, "T", 10) == 0
        assert set(forced((tmp_path / "calls").read_text())) == {"00000000000001048576"}
