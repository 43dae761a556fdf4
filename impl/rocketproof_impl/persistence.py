"""Configuration files that outlive a crash, mostly: a temporary file, a backup and a rename (PER-01 to PER-08).

A file is replaced in five steps on the disk, and the process may end between any two of them or inside a write. Nothing is
forced to the device, so a power loss can also undo steps that were done. Texts are UTF-8 (PER-09), where
half a surrogate pair is a question mark as in Java; a 4.x broker takes whatever its platform has. 5.x has another way: a backup, then
the file is written over (PER-10).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from .java import utf8
from .ports import Disk

log = logging.getLogger("rocketproof_impl.persistence")
log.addHandler(logging.NullHandler())


def string_to_file(disk: Disk, text: str, path: str) -> None:
    """Replace the file by this text, as UTF-8 (PER-09), and keep what it had in `.bak` (PER-02). Raises OSError.

    An empty file counts as a previous content, and makes the backup empty. Between the delete and the rename there is no
    main file at all (PER-05, HAZ-35). Without a main file the backup stays as it was (PER-07). Whether these two worked is not
    asked: a rename goes ahead after a delete that failed.
    """
    disk.write(path + ".tmp", utf8(text))
    previous = disk.read(path)
    if previous is not None:
        disk.write(path + ".bak", previous)
    with suppress(OSError):
        disk.delete(path)
    with suppress(OSError):
        disk.rename(path + ".tmp", path)


def overwrite(disk: Disk, text: str, path: str) -> None:
    """Write the file in place, behind a backup of what it had (PER-10). Raises OSError.

    There is a main file at each instant, but a crash inside the write leaves a part of it.
    """
    previous = disk.read(path)
    if previous is not None:
        disk.write(path + ".bak", previous)
    disk.write(path, utf8(text))


def persist(disk: Disk, text: str, path: str, *, in_place: bool) -> None:
    """Write the file in one of the two ways; an input or output error is logged and nobody else hears of it (PER-01, TCM-18)."""
    write = overwrite if in_place else string_to_file
    try:
        write(disk, text, path)
    except OSError as error:
        log.error("persist file [%s] exception: %s", path, error)


def load(disk: Disk, path: str, decode: Callable[[str], None]) -> bool:
    """Decode the file, or its backup if the file is missing, empty or broken (PER-03). A `.tmp` is never read.

    False, which fails the broker's start, only if the backup is needed and broken: when both are missing or empty, nothing
    is loaded and all is well. `decode` must change nothing when it raises. An old backup brings back an old version
    (PER-08), and an empty one an empty table (PER-06).
    """
    try:
        text = _text(disk, path)
        if text:
            decode(text)
            return True
    except Exception as error:  # noqa: BLE001 - the rule says: whatever goes wrong
        log.error("load %s failed, and try to load backup file: %s", path, error)
    return _load_backup(disk, path, decode)


def _load_backup(disk: Disk, path: str, decode: Callable[[str], None]) -> bool:
    try:
        text = _text(disk, path + ".bak")
        if text:
            decode(text)
    except Exception as error:  # noqa: BLE001 - the rule says: whatever goes wrong
        log.error("load %s.bak failed: %s", path, error)
        return False
    return True


def _text(disk: Disk, path: str) -> str | None:
    content = disk.read(path)
    return None if content is None else content.decode()
