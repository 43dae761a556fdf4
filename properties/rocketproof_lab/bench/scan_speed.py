"""Measure the speed of reading a store compared with checksums: the kernel's scan with and without its parts, and zlib.

Every measurement reads the first bytes of the log in one run and counts CPU time of this thread. Each row is the best of several rounds.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator

import numpy as np

from rocketproof_traces.stored.crc import crc32
from rocketproof_traces.stored.memory import MARGIN
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.paths import open_source
from rocketproof_traces.stored.segments import Range, log_files
from rocketproof_traces.stored.walk import Walk

from .figures import Bench, FigureColumn, FigureTable, Tell, benchmark, timed

LIMIT = 256 << 20
TABLE = FigureTable(
    (
        FigureColumn("work", "work"), FigureColumn("bytes", "bytes", ",d"), FigureColumn("records", "records", ",d"),
        FigureColumn("CPU s", "cpu_seconds", ".3f"), FigureColumn("wall s", "wall_seconds", ".3f"),
        FigureColumn("GB a CPU s", "bytes_per_cpu_second", lambda rate: f"{rate / 1e9:.2f}"), FigureColumn("of zlib", "of_zlib", ".2f"),
    ),
)  # fmt: skip
_STEP = 1 << 20


@benchmark
def measure(folder: str, *, limit: int = LIMIT, rounds: int = 3, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE over at most `limit` bytes of the first file of a store's log. Raises StoredError.

    First checksums of bytes in memory, then work that also reads the file.
    """
    file = log_files([folder])[0]
    part = Range(file, 0, min(limit, file.length), exact=True)
    tell("a first scan, which compiles or loads")
    first = _walk(part, crc=True, properties=True)
    size = first.walked.size if first.data_end is None else first.data_end - file.base
    room = np.zeros(size + 2 * MARGIN, np.uint8)
    data = room[MARGIN : MARGIN + size].data
    with open_source(file.path) as source:
        source.read_into(0, data)
    step = memoryview(bytearray(_STEP))

    def read(each: Callable[[memoryview], object]) -> None:
        with open_source(file.path) as source:
            for at in range(0, size, _STEP):
                view = step[: min(_STEP, size - at)]
                source.read_into(at, view)
                each(view)

    works: dict[str, Callable[[], object]] = {
        "zlib.crc32, in memory": lambda: zlib.crc32(data),
        "the kernel's CRC, in memory": lambda: crc32(room.ctypes.data, MARGIN, size),
        "reading": lambda: read(len),
        "zlib.crc32": lambda: read(zlib.crc32),
        "scan": lambda: _walk(part, crc=True, properties=True),
        "scan without CRC": lambda: _walk(part, crc=False, properties=True),
        "walk": lambda: _walk(part, crc=False, properties=False),
    }
    spent: dict[str, list[Bench]] = {name: [] for name in works}
    for number in range(rounds):
        tell(f"round {number + 1}")
        for name, work in works.items():
            spent[name].append(timed(work, time.thread_time)[1])
    best = {name: min(rounds_, key=lambda each: each["cpu_seconds"]) for name, rounds_ in spent.items()}
    for name, each in best.items():
        rate, of_zlib = size / each["cpu_seconds"], best["zlib.crc32"]["cpu_seconds"] / each["cpu_seconds"]
        figures = {"work": name, "bytes": size, "records": first.walked.rows, "bytes_per_cpu_second": rate, "of_zlib": of_zlib}
        yield TABLE.row(figures | each)


def _walk(part: Range, *, crc: bool, properties: bool) -> Walk:
    walk = Walk(part, NameTable(), crc=crc, properties=properties)
    for _ in walk:
        pass
    return walk
