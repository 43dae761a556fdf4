"""Files of compiled code and of verdicts between one process and the next: what is read is one's own, whole and in its place, or it is not
there.

Machine code and pickles are executed, so before anything is made of a file its owner and its mode are looked at, and a checksum
over its name and its content. A file that fails is built again, and replaced where that is allowed.

What depends on the project's code lies in a folder for that state of the code. The folders of some former states stay, for those who go
from one to another; older ones are removed.
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
"""Folders of each name that stay, the newest among them."""
QUIET_SECONDS = 3600
"""How long a folder must not have been opened before it may go."""


def cache_directory() -> Path:
    """ROCKETPROOF_CACHE, or the platform's place for such files."""
    given = os.environ.get("ROCKETPROOF_CACHE")
    if given:
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rocketproof"


def code_digest(files: Iterable[Path]) -> str:
    """Words of fixed length for the content of source files. Raises OSError."""
    content = hashlib.sha256()
    for path in sorted(files):
        content.update(hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()


def folder(name: str, code: str) -> Path:
    """The folder in the cache for what a state of the code makes, `code` being its digest. A new one is made, and old ones of the name are
    removed; where that is impossible the folder is not there."""
    found = cache_directory() / f"{name}-{code[:16]}"
    with suppress(OSError):
        fresh = not found.exists()
        found.mkdir(parents=True, exist_ok=True)
        os.utime(found)  # the time of the last use, by which `_sweep` goes
        if fresh:
            _sweep(found.parent, name)
    return found


def _sweep(parent: Path, name: str) -> None:
    """Remove the folders of a name but those used last. A process that still has one of them makes it again when it writes."""
    used: list[tuple[float, Path]] = []
    for each in parent.glob(f"{name}-{'[0-9a-f]' * 16}"):
        with suppress(OSError):  # another process may sweep too
            used.append((each.stat().st_mtime, each))
    for last, each in sorted(used, reverse=True)[KEPT:]:
        if last < time.time() - QUIET_SECONDS:
            shutil.rmtree(each, ignore_errors=True)


def read(path: Path) -> bytes | None:
    """What `write` has put there; None if there is nothing, if others own it or may write to it, or if a byte of it is another."""
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
    """Put a file there at once, for its owner alone. Raises OSError."""
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


def _is_own(found: os.stat_result) -> bool:
    """A regular file of this user that nobody else may write to; where users have no numbers, what is in their folder is theirs."""
    if sys.platform == "win32":
        return True
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE
