"""The cache of compiled code and verdicts on disk. A file is read only if it belongs to this user, is complete and has the right name.

Machine code and pickles are executed, so a file's owner, mode and checksum over its name and content are checked before its content is
used. A file that fails the check is built again, and replaced if that is permitted.

Files that depend on the project's code are in a folder per version of the code. A few older folders stay, for users who switch between
versions; the others are removed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_MAGIC = b"rocketproof kept 1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
KEPT = 4
"""Number of folders of each name that stay, including the newest."""
QUIET_SECONDS = 3600
"""Seconds that a folder must be unused before it may be removed."""


def cache_directory() -> Path:
    """Return ROCKETPROOF_CACHE, or the platform's directory for caches."""
    configured = os.environ.get("ROCKETPROOF_CACHE")
    if configured:
        return Path(configured)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rocketproof"


def code_digest(files: Iterable[Path]) -> str:
    """Return a digest of fixed length of the content of source files. Raises OSError."""
    content = hashlib.sha256()
    for path in sorted(files):
        content.update(hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()


def folder(name: str, code: str) -> Path:
    """Return the cache folder of a version of the code, with the digest `code`, and create it.

    When a folder is created, old folders of the name are removed. If it cannot be created, it does not exist.
    """
    path = cache_directory() / f"{name}-{code[:16]}"
    with suppress(OSError):
        fresh = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        os.utime(path)  # the time of the last use, which `_sweep` sorts by
        if fresh:
            _sweep(path.parent, name)
    return path


def _sweep(parent: Path, name: str) -> None:
    """Remove the folders of a name except the most recently used.

    A process that still uses a removed folder creates it again when it writes.
    """
    used: list[tuple[float, Path]] = []
    for folder_ in parent.glob(f"{name}-{'[0-9a-f]' * 16}"):
        with suppress(OSError):  # another process may remove folders at the same time
            used.append((folder_.stat().st_mtime, folder_))
    for last, folder_ in sorted(used, reverse=True)[KEPT:]:
        if last < time.time() - QUIET_SECONDS:
            shutil.rmtree(folder_, ignore_errors=True)


def read(path: Path) -> bytes | None:
    """Return the content written by `write`; None if it is missing or damaged, or if other users own it or can write to it."""
    try:
        with open(path, "rb", opener=_no_link) as file:
            if not _is_own(os.fstat(file.fileno())):
                return None
            data = file.read()
    except OSError:
        return None
    content = data[_HEAD:]
    return content if data[:_HEAD] == _head(path, content) else None


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, accessible to its owner only. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_head(path, content) + content)
        os.replace(name, path)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        raise


def _head(path: Path, content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(b"%s\0%s" % (path.name.encode(), content)).digest()


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))


def _is_own(status: os.stat_result) -> bool:
    """Return whether it is a regular file of this user that no other user can write. On Windows, files in the user's folder are trusted."""
    if sys.platform == "win32":
        return True
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE
