"""The files of a store directory on this machine, whose broker is down."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class StoppedStore:
    """A store directory as `programs.corruption.StoreFiles`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, folder: str) -> Sequence[str]:
        path = self._root / folder
        return sorted(entry.name for entry in path.iterdir() if entry.is_file()) if path.is_dir() else []

    def size(self, path: str) -> int:
        file = self._root / path
        return file.stat().st_size if file.is_file() else 0

    def read(self, path: str, position: int, length: int) -> bytes:
        with (self._root / path).open("rb") as file:
            file.seek(position)
            return file.read(length)

    def replace(self, path: str, position: int, data: bytes) -> None:
        with (self._root / path).open("r+b") as file:
            file.seek(position)
            file.write(data)
