"""The cache on disk reads only complete files of the same user under their own name."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from rocketproof_model import diskcache


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "new" / "one.o"
    diskcache.write(path, b"machine code")
    return path


def test_written_content_is_readable_by_its_owner_only(file: Path) -> None:
    assert diskcache.read(file) == b"machine code"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["one.o"]
    diskcache.write(file, b"")
    assert diskcache.read(file) == b""


def test_a_changed_byte_invalidates_the_file(file: Path) -> None:
    whole = file.read_bytes()
    for changed in (whole[:-1], whole + b"x", b"", *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole)))):
        file.write_bytes(changed)
        assert diskcache.read(file) is None


def test_a_file_under_another_name_is_not_read(file: Path) -> None:
    other = file.with_name("other.o")
    shutil.copy(file, other)
    assert diskcache.read(other) is None
    other.unlink()
    other.symlink_to(file)
    assert diskcache.read(other) is None
    assert diskcache.read(file.parent) is None and diskcache.read(file / "below") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_read(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert diskcache.read(file) is None


def test_a_file_of_another_user_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert diskcache.read(file) is None


def test_a_failed_write_raises_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        diskcache.write(tmp_path / "one.o", b"x")
    assert not list(tmp_path.iterdir())
