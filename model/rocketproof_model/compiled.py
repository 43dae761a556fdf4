"""How Numba's functions are compiled: at their first call, and kept on disk for as long as no file of their package has changed.

Numba by itself keeps machine code until the function's own file changes, whatever functions and numbers of other files went into it: after
an update an old kernel would write columns where others no longer look for them.
"""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="import-untyped"
# pyright: basic
from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit

from .explicit.native import cache_directory


def compiled(function: Callable[..., Any]) -> Any:
    """A function that runs without the interpreter's lock, compiled for the types of its arguments."""
    settings: Any = config
    before, settings.CACHE_DIR = settings.CACHE_DIR, str(_directory(Path(function.__code__.co_filename).parent))
    try:
        return njit(cache=True, nogil=True)(function)
    finally:
        settings.CACHE_DIR = before


@cache
def _directory(package: Path) -> Path:
    """Where the functions of a package are kept: another folder for other files of the package."""
    content = hashlib.sha256()
    for path in sorted(package.glob("*.py")):
        content.update(path.read_bytes())
    return cache_directory() / f"{package.name}-{content.hexdigest()[:16]}"
