"""How Numba's functions are compiled: at their first call, and kept on disk for as long as no file of their package has changed.

Numba by itself keeps machine code until the function's own file changes, whatever functions and numbers of other files went into it: after
an update an old kernel would write columns where others no longer look for them.
"""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="import-untyped,no-untyped-call"
# pyright: basic
from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core.caching import IndexDataCacheFile

from .. import kept


def compiled(function: Callable[..., Any]) -> Any:
    """A function that runs without the interpreter's lock, compiled for the types of its arguments."""
    return _compiled(function, nogil=True)


def compiled_brief(function: Callable[..., Any]) -> Any:
    """The same for a function of some microseconds, which keeps the lock: waiting for it again would take a thread longer."""
    return _compiled(function, nogil=False)


def _compiled(function: Callable[..., Any], *, nogil: bool) -> Any:
    settings: Any = config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(_directory(Path(function.__code__.co_filename).parent))
    try:
        made: Any = njit(cache=True, nogil=nogil)(function)
    finally:
        settings.CACHE_DIR = before
    made._cache._cache_file.__class__ = _OwnFiles  # noqa: SLF001 - Numba has no other way to say how files are read
    return made


class _OwnFiles(IndexDataCacheFile):
    """Numba's two files of a function, of which nothing is unpickled that another user, or a fault of the disk, could have written."""

    def _load_index(self) -> dict[Any, str]:
        data = kept.read(Path(self._index_path))
        if data is None:
            return {}
        stamp, overloads = pickle.loads(data)
        return overloads if stamp == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with suppress(OSError):  # a full disk is no reason not to go on
            kept.write(Path(self._index_path), self._dump(((self._version, self._source_stamp), overloads)))

    def _load_data(self, name: str) -> Any:
        data = kept.read(Path(self._data_path(name)))
        if data is None:
            raise FileNotFoundError(name)  # what Numba takes for a function to compile
        return pickle.loads(data)

    def _save_data(self, name: str, data: Any) -> None:
        with suppress(OSError):
            kept.write(Path(self._data_path(name)), self._dump(data))


@cache
def _directory(package: Path) -> Path:
    """Where the functions of a package are kept: another folder for other files of the package."""
    return kept.folder(package.name, kept.code_digest(package.glob("*.py")))
