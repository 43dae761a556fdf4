"""Files of compiled code between one process and the next: what is read is one's own, whole and in its place, or it is not there.

Machine code and pickles are executed, so before anything is made of a file its owner and its mode are looked at, and a checksum
over its name and its content. A file that fails is built again, and replaced where that is allowed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_MAGIC = b"rocketproof kept 1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


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
