"""An append file has the appended data, wherever its buffers and blocks end."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from rocketproof_model.explicit import appendfile
from rocketproof_model.explicit.appendfile import BLOCK, AppendFile

SMALL = 2 * BLOCK


def words(first: int, count: int) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.int64)


def content(path: Path, end: int) -> list[int]:
    found: list[int] = np.frombuffer(path.read_bytes()[:end], dtype=np.int64).tolist()
    return found


@pytest.mark.parametrize("plain", [False, True], ids=["as the system allows", "through the cache"])
def test_appended_data_is_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: bool) -> None:
    path, real, at = tmp_path / "file", os.open, 0

    def refused(place: Path, flags: int, mode: int = 0o777) -> int:
        if flags & getattr(os, "O_DIRECT", 0):
            raise OSError(errno.EINVAL, "no such way here")
        return real(place, flags, mode)

    if plain:
        monkeypatch.setattr(os, "open", refused)
    for count in (0, 1, 511, 512, 1023, 1024, 5000):  # words of 8 bytes: none, parts of a block, blocks, buffers
        file = AppendFile(path, 8 * at, SMALL)
        for first in range(at, at + count, 700):
            file.append(words(first, min(700, at + count - first)))
        file.sync()
        at += count
        assert file.end == 8 * at and content(path, file.end) == list(range(at))
        file.append(words(9, 3))  # in no finished record
        file.close()


@pytest.mark.parametrize("more", [1, 600, 5000])
def test_an_interrupted_attempt_is_overwritten(tmp_path: Path, more: int) -> None:
    file = AppendFile(tmp_path / "file", 0, SMALL)
    file.append(words(0, 700))
    file.append(words(-9, more))
    file.seek(8 * 700)
    file.append(words(700, 2000))
    file.sync()
    assert content(tmp_path / "file", file.end) == list(range(2700))
    file.close()


def test_a_full_disk_raises_from_every_later_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    file = AppendFile(tmp_path / "file", 0, SMALL)
    with monkeypatch.context() as patch:
        patch.setattr(appendfile, "_write", full)
        file.append(words(0, 1024))
        for _ in range(2):
            with pytest.raises(OSError, match="no space left"):
                file.sync()
    with pytest.raises(OSError, match="no space left"):
        file.sync()
    file.close()
