"""Measure one long search of the specification that continues in files when memory is full, at each growth of its states by a quarter.

The rows are saved next to the search's checkpoint. A stopped search resumes with both, and its seconds are the sum over all its processes.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from rocketproof_model import search
from rocketproof_model.explicit.checkpoint import SearchCheckpoint
from rocketproof_model.result import Limits, Progress

from .figures import Bench, FigureColumn, FigureTable, Tell, mebibytes, quiet
from .measure import instance
from .search_speed import PROFILE
from .usage import resident_memory

TABLE = FigureTable(
    (
        FigureColumn("distinct", "distinct", ",d"), FigureColumn("levels", "levels", ",d"), FigureColumn("cpu s", "cpu_seconds", ",.1f"),
        FigureColumn("wall s", "wall_seconds", ",.1f"), FigureColumn("MiB of files", "file_bytes", mebibytes),
        FigureColumn("MiB resident", "resident_bytes", mebibytes), FigureColumn("all", "finished"),
    ),
)  # fmt: skip
_FIRST, _MORE = 100_000, 1.25


def measure(
    folder: Path, *, scope: str, sends: int, limits: Limits, threads: int = 1, tell: Tell = quiet, into: list[Bench] | None = None
) -> list[Bench]:
    """Return rows of TABLE from 10^5 states on, for a scope of the specification with this number of sends, without symmetry.

    `finished` is true in the last row if all states were visited. Rows are added to `into` as they arrive. Raises RocketproofError for a
    folder with the progress of another search.
    """
    rows, saved = [] if into is None else into, folder / "curve.json"
    subject = instance({"scope": scope, "sizes": {"sends": sends}, "profile": PROFILE})
    search.explore(subject, [], workers=threads, limits=Limits(states=0), symmetry=False)  # compiles
    if saved.is_file():
        rows += json.loads(saved.read_text())
    earlier, start = rows[-1] if rows else dict.fromkeys(TABLE.keys, 0), (time.process_time(), time.perf_counter())

    def add(states: int, levels: int, files: int, *, finished: bool) -> None:
        cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
        spent = {"cpu_seconds": earlier["cpu_seconds"] + cpu, "wall_seconds": earlier["wall_seconds"] + wall}
        figures = {"distinct": states, "levels": levels, "file_bytes": files, "resident_bytes": resident_memory(), "finished": finished}
        rows.append(TABLE.row({**figures, **spent}))
        folder.mkdir(parents=True, exist_ok=True)
        saved.write_text(json.dumps(rows))
        tell(TABLE.text(rows[-1:]).splitlines()[-1])

    def report(progress: Progress) -> None:
        if progress.states >= (rows[-1]["distinct"] * _MORE if rows else _FIRST):
            add(progress.states, progress.depth, sum(place.stat().st_size for place in folder.glob("*")), finished=False)

    exploration = search.explore(
        subject, [], workers=threads, limits=limits, report=report, symmetry=False, checkpoint=SearchCheckpoint(folder)
    )
    add(exploration.states, exploration.depth, exploration.disk, finished=exploration.finished)
    return rows
