"""Files that are kept for the next process: what is not one's own, whole and in its place is not there."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from rocketproof_model import kept


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "new" / "one.o"
    kept.write(path, b"machine code")
    return path


def test_what_was_written_is_read_and_is_its_owners_alone(file: Path) -> None:
    assert kept.read(file) == b"machine code"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["one.o"]
    kept.write(file, b"")
    assert kept.read(file) == b""


def test_every_byte_counts(file: Path) -> None:
    whole = file.read_bytes()
    for changed in (whole[:-1], whole + b"x", b"", *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole)))):
        file.write_bytes(changed)
        assert kept.read(file) is None


def test_a_file_in_the_place_of_another_one_is_not_taken(file: Path) -> None:
    other = file.with_name("other.o")
    shutil.copy(file, other)
    assert kept.read(other) is None
    other.unlink()
    other.symlink_to(file)
    assert kept.read(other) is None
    assert kept.read(file.parent) is None and kept.read(file / "below") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_may_write_is_not_taken(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert kept.read(file) is None


def test_what_another_user_owns_is_not_taken(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    assert kept.read(file) is None


def test_a_folder_that_cannot_be_written_is_told_and_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        kept.write(tmp_path / "one.o", b"x")
    assert not list(tmp_path.iterdir())
