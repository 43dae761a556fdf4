"""A store that grows: the first bytes of a complete store, cut anywhere, as a reader sees them while a broker writes."""

from __future__ import annotations

from pathlib import Path


def grow(whole: Path, store: Path, end: int) -> Path:
    """Give `store` the commit log of `whole` up to physical offset `end`; the rest of the last file is zeros. Return `store`."""
    log = store / "commitlog"
    log.mkdir(parents=True, exist_ok=True)
    for file in sorted((whole / "commitlog").iterdir()):
        base, data = int(file.name), file.read_bytes()
        if base < end:
            kept = data[: end - base]
            (log / file.name).write_bytes(kept.ljust(len(data), b"\0"))
    return store
