"""Configuration files: a temporary file, a backup and a rename (PER-01 to PER-08).

A file is replaced in five disk operations. The process may end between any two of them or inside a write. Nothing is synced to the device,
so a power loss can also undo completed operations. Texts are UTF-8 (PER-09): an unpaired surrogate becomes a question mark as in Java. A
real 4.x broker uses its platform's encoding instead. 5.x writes a backup and then overwrites the file in place (PER-10).
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
    """Replace the file with `text` in UTF-8 (PER-09), and save its previous content as `.bak` (PER-02). Raises OSError.

    An empty file counts as previous content, so the backup becomes empty. Between the delete and the rename there is no main file (PER-05,
    HAZ-35). Without a main file the backup is unchanged (PER-07). Failures of the delete and of the rename are ignored: the rename runs
    even if the delete failed.
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
    """Save the file's previous content as a backup, then write the file in place (PER-10). Raises OSError.

    The main file always exists, but a crash inside the write leaves a part of the text.
    """
    previous = disk.read(path)
    if previous is not None:
        disk.write(path + ".bak", previous)
    disk.write(path, utf8(text))


def persist(disk: Disk, text: str, path: str, *, in_place: bool) -> None:
    """Write the file in place or through a temporary file. Log an OSError and do not raise it (PER-01, TCM-18)."""
    write = overwrite if in_place else string_to_file
    try:
        write(disk, text, path)
    except OSError as error:
        log.error("persist file [%s] exception: %s", path, error)


def load(disk: Disk, path: str, decode: Callable[[str], None]) -> bool:
    """Decode the file, or its backup if the file is missing, empty or broken (PER-03). A `.tmp` file is never read.

    Return False, which fails the broker's start, only if the backup is needed and broken. If both files are missing or empty, nothing is
    loaded and the result is True. `decode` must change nothing when it raises. An old backup restores an old version (PER-08), and an empty
    one an empty table (PER-06).
    """
    try:
        text = _text(disk, path)
        if text:
            decode(text)
            return True
    except Exception as error:  # noqa: BLE001 - PER-03 covers every exception
        log.error("load %s failed, and try to load backup file: %s", path, error)
    return _load_backup(disk, path, decode)


def _load_backup(disk: Disk, path: str, decode: Callable[[str], None]) -> bool:
    try:
        text = _text(disk, path + ".bak")
        if text:
            decode(text)
    except Exception as error:  # noqa: BLE001 - PER-03 covers every exception
        log.error("load %s.bak failed: %s", path, error)
        return False
    return True


def _text(disk: Disk, path: str) -> str | None:
    content = disk.read(path)
    return None if content is None else content.decode()
