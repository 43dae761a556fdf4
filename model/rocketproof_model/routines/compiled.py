"""Compilation of Numba's functions: at their first call, and cached on disk until a file of their package changes.

Numba's own cache is valid until the function's own file changes, although functions and numbers of other files are compiled in. After an
update an old kernel would then write columns to places where the new code does not read them.
"""

# Numba's functions have no types.
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

from .. import diskcache


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function that runs without the interpreter's lock for the types of its arguments."""
    return _compiled(function, nogil=True)


def compiled_brief(function: Callable[..., Any]) -> Any:
    """Compile a function of some microseconds, which keeps the interpreter's lock: waiting for it again would take a thread longer."""
    return _compiled(function, nogil=False)


def _compiled(function: Callable[..., Any], *, nogil: bool) -> Any:
    settings: Any = config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(_directory(Path(function.__code__.co_filename).parent))
    try:
        dispatcher: Any = njit(cache=True, nogil=nogil)(function)
    finally:
        settings.CACHE_DIR = before
    dispatcher._cache._cache_file.__class__ = _OwnFiles  # noqa: SLF001 - Numba has no other way to say how files are read
    return dispatcher


class _OwnFiles(IndexDataCacheFile):
    """Numba's two files of a function. Content that another user or a fault of the disk could have written is never unpickled."""

    def _load_index(self) -> dict[Any, str]:
        data = diskcache.read(Path(self._index_path))
        if data is None:
            return {}
        stamp, overloads = pickle.loads(data)
        return overloads if stamp == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with suppress(OSError):  # continue without a cache if the disk is full
            diskcache.write(Path(self._index_path), self._dump(((self._version, self._source_stamp), overloads)))

    def _load_data(self, name: str) -> Any:
        data = diskcache.read(Path(self._data_path(name)))
        if data is None:
            raise FileNotFoundError(name)  # Numba then compiles the function
        return pickle.loads(data)

    def _save_data(self, name: str, data: Any) -> None:
        with suppress(OSError):
            diskcache.write(Path(self._data_path(name)), self._dump(data))


@cache
def _directory(package: Path) -> Path:
    """Return the folder for the functions of a package; it depends on the content of the package's files."""
    return diskcache.folder(package.name, diskcache.code_digest(package.glob("*.py")))
