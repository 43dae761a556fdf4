"""How fast a store is read, beside the checksum that everyone has: all in one run, in bytes a second of this thread's CPU time."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .memory import MARGIN
from .names import Names
from .paths import open_source
from .segments import Range, log_files
from .walk import Walk

_STEP = 1 << 20


@dataclass(frozen=True)
class ScanSpeeds:
    """Bytes a second, each the best of some rounds. `zlib` and `crc` are over the bytes in memory; the others read the file too.

    `scan` has checksums and properties, `scan_without_crc` no checksums, `walk` neither; `zlib_from_file` reads as the scan does.
    """

    size: int
    records: int
    zlib: float
    crc: float
    read: float
    zlib_from_file: float
    scan: float
    scan_without_crc: float
    walk: float


def scan_speeds(folder: str, limit: int = 256 << 20, rounds: int = 3) -> ScanSpeeds:
    """Measure over the first bytes of a store's log, at most `limit` and at most its first file. Raises StoredError."""
    from .crc import crc32

    file = log_files([folder])[0]
    part = Range(file, 0, min(limit, file.length), exact=True)
    first = _walk(part, crc=True, properties=True)
    size, records = first.walked.size, first.walked.rows
    if first.data_end is not None:
        size = first.data_end - file.base
    room = np.zeros(size + 2 * MARGIN, np.uint8)
    with open_source(file.path) as source:
        source.read_into(0, room[MARGIN : MARGIN + size].data)
    data = room[MARGIN : MARGIN + size].data
    step = memoryview(bytearray(_STEP))

    def read(each: Callable[[memoryview], object]) -> None:
        with open_source(file.path) as source:
            for at in range(0, size, _STEP):
                view = step[: min(_STEP, size - at)]
                source.read_into(at, view)
                each(view)

    works: dict[str, Callable[[], object]] = {
        "zlib": lambda: zlib.crc32(data),
        "crc": lambda: crc32(room.ctypes.data, MARGIN, size),
        "read": lambda: read(len),
        "zlib_from_file": lambda: read(zlib.crc32),
        "scan": lambda: _walk(part, crc=True, properties=True),
        "scan_without_crc": lambda: _walk(part, crc=False, properties=True),
        "walk": lambda: _walk(part, crc=False, properties=False),
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            start = time.thread_time()
            work()
            best[name] = min(best[name], time.thread_time() - start)
    return ScanSpeeds(size, records, **{name: size / max(seconds, 1e-9) for name, seconds in best.items()})


def _walk(part: Range, *, crc: bool, properties: bool) -> Walk:
    walk = Walk(part, Names(), crc=crc, properties=properties)
    for _ in walk:
        pass
    return walk
