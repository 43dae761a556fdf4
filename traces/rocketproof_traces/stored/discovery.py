"""Find stores: those below a folder, and those that a pattern of folders matches."""

from __future__ import annotations

from fnmatch import fnmatchcase

from .paths import entries_of, is_file_name, is_remote, join

DEPTH = 8
"""The number of levels of folders that are searched below a folder."""


def stores_below(folder: str) -> list[str]:
    """Return the stores in and below a folder: the folders with a `commitlog`, a `dledger-*` or files of 20 digits.

    Without any, the folder itself is returned. Raises StoredError.
    """
    return _below(folder, DEPTH) or [folder]


def stores_matching(pattern: str) -> list[str]:
    """Return the stores in and below the folders that a pattern matches. `**` is not special. Raises StoredError."""
    return [store for folder in _matching(pattern) for store in _below(folder, DEPTH)]


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern of folders. In a URL, `?` begins its options."""
    return any(mark in path for mark in ("*[" if is_remote(path) else "*[?"))


def _below(folder: str, depth: int) -> list[str]:
    entries = entries_of(folder)
    folders = [name for name, is_folder in entries.items() if is_folder]
    if any(name == "commitlog" or name.startswith("dledger-") for name in folders) or any(map(is_file_name, entries)):
        return [folder]
    return [store for name in folders for store in _below(join(folder, name), depth - 1)] if depth else []


def _matching(pattern: str) -> list[str]:
    """Return the folders that a pattern matches, part by part."""
    scheme, separator, inner = pattern.rpartition("://")
    inner, mark, options = inner.partition("?") if scheme else (inner, "", "")
    parts = inner.rstrip("/").split("/")
    fixed = next(number for number, part in enumerate(parts) if is_pattern(part))
    folders = [f"{scheme}{separator}{'/'.join(parts[:fixed])}{mark}{options}" or ("/" if inner.startswith("/") else ".")]
    for part in parts[fixed:]:
        folders = [
            join(folder, name)
            for folder in folders
            for name, is_folder in entries_of(folder).items()
            if is_folder and fnmatchcase(name, part)
        ]
    return folders
