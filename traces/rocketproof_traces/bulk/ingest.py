"""From what somebody recorded to pieces in the cache: NDJSON histories and their pieces, recordings of single requests (all of these as
they are or compressed), Parquet.

A source is known by its shape. What can be read before a damaged place is kept, and the place is noted; nothing is read twice.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from rocketproof_model import RocketproofError
from rocketproof_protocol.numbers import java_int

from .. import history
from ..common.compressed import open_text
from ..common.errors import TraceError
from ..history import Event, Header, recordings
from ..stored.paths import join, readable
from .cache import BATCH, SUFFIX, CachedSource, PieceCache, Runs, place
from .tables import EVENTS, event_row, object_of

NEEDED = ("seq", "process", "type", "op", "value")
"""The columns without which a table holds no events; `history` and `time` may be missing."""

MOST_OPEN = 200
"""Files that are written to at once."""


def sources(paths: list[str]) -> list[tuple[str, str]]:
    """The files that these files and folders are, each with a stamp of its size and time. Raises TraceError for one that is not there."""
    found = []
    for path in paths:
        files, inner = place(path)
        with readable(path):
            info = files.get_file_info(inner)
            if info.type != fs.FileType.Directory:
                infos = [info]
            elif isinstance(files, fs.LocalFileSystem):
                infos = files.get_file_info(_below(inner))
            else:
                infos = files.get_file_info(fs.FileSelector(inner, recursive=True))
        if info.type == fs.FileType.NotFound:
            raise TraceError(path, "is not there", "give files or folders of histories")
        for one in infos:
            hidden = any(part.startswith(("_", ".")) for part in one.path[len(inner) :].split("/"))
            if one.type == fs.FileType.File and not hidden and not one.path.endswith(".part"):
                inside = one.path[len(inner) :].strip("/")
                found.append((join(path, *inside.split("/")) if inside else path, f"{one.size}-{one.mtime_ns}"))
    return sorted(set(found))


def _below(folder: str) -> list[str]:
    """The files below a folder of this machine, each once, though links may lead to it or to a folder around it. Its own name goes
    before that of a link."""
    found: dict[str, str] = {}
    folders, links, known = [folder], list[str](), set[str]()
    while folders or links:
        here = folders.pop() if folders else links.pop(0)
        real = os.path.realpath(here)
        if real in found or real in known:
            continue
        if not os.path.isdir(real):
            found[real] = here
            continue
        known.add(real)
        for name in sorted(os.listdir(here)):
            path = os.path.join(here, name)
            if os.path.islink(path):
                links.append(path)
            elif os.path.isdir(path):
                folders.append(path)
            else:
                found[os.path.realpath(path)] = path
    return list(found.values())


def stamp_of(source: str) -> str:
    """Size and time of a source; empty where it is gone."""
    files, inner = place(source)
    info = files.get_file_info(inner)
    return f"{info.size}-{info.mtime_ns}" if info.type == fs.FileType.File else ""


def take(cache: PieceCache, source: str) -> CachedSource:
    """Read a source into the cache. It gives the same pieces each time; a source that cannot be read is a problem of its history."""
    ingest = _Ingest(cache, source)
    stamp = stamp_of(source)
    try:
        ingest.read()
    except RocketproofError as error:
        ingest.stop(error)
    except (OSError, pa.ArrowException, OverflowError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        ingest.stop(TraceError(source, f"cannot be read ({' '.join(said.split())})", "give a history"))
    except BaseException:
        ingest.drop()
        raise
    cached = CachedSource(source, stamp, ingest.pieces(), ingest.origins, tuple(ingest.problems))
    cache.put(cached)
    return cached


class _Ingest:
    """One source being read."""

    def __init__(self, cache: PieceCache, source: str) -> None:
        self.cache, self.source = cache, source
        self.origins: dict[str, Any] = {}
        self.problems: list[tuple[str, int | None, str]] = []
        self._numbers = itertools.count()
        self._runs: dict[str, Runs] = {}
        self._history = source

    def pieces(self) -> tuple[Any, ...]:
        for run in self._runs.values():
            run.close()
        return tuple(piece for run in self._runs.values() for piece in run.pieces)

    def drop(self) -> None:
        """Leave nothing half written: the process is about to end."""
        for run in self._runs.values():
            run.drop()

    def stop(self, error: RocketproofError) -> None:
        """Note where reading ended and why."""
        line = None
        text = str(error)
        if text.startswith(f"{self.source}:"):
            place_, _, rest = text[len(self.source) + 1 :].partition(": ")
            line = java_int(place_)
            text = rest if line is not None else text
        self.problems.append((self._history, line, text.removeprefix(f"{self.source}: ")))

    def read(self) -> None:
        if self.source.endswith((".parquet", ".pq")):
            self._parquet()
            return
        with _here(self.source) as path:
            first = _first_object(path)
            if first.get("schema") == history.SCHEMA:
                self._history_file(path)
            elif "request" in first or "settings" in first:
                self._recording(path)
            else:
                raise TraceError(f"{self.source}:1", "is neither a history nor a recording", "see docs/history.md in the room traces")

    def _history_file(self, path: Path) -> None:
        header, events = _piece_or_whole(path)
        name = header.origin.get("history")
        self._history = name if isinstance(name, str) and name else self.source
        self.origins[self._history] = dict(header.origin)
        self._rows((self._history, event) for event in events)

    def _recording(self, path: Path) -> None:
        origins, events = recordings.histories(path)
        self.origins = {f"{self.source}#{cfg}": origin for cfg, origin in origins.items()}
        self._rows((f"{self.source}#{cfg}", event) for cfg, event in events)

    def _rows(self, events: Iterator[tuple[str, Event]]) -> None:
        waiting: dict[str, list[dict[str, Any]]] = {}
        try:
            for name, event in events:
                rows = waiting.setdefault(name, [])
                rows.append(event_row(name, event))
                if len(rows) >= BATCH:
                    self._put(name, pa.Table.from_pylist(rows, EVENTS))
                    rows.clear()
        finally:
            for name, rows in waiting.items():
                self._put(name, pa.Table.from_pylist(rows, EVENTS))

    def _put(self, name: str, table: pa.Table) -> None:
        if name not in self._runs:
            self._runs[name] = Runs(self.cache, self.source, name, self._numbers)
        if not self._runs[name].open and sum(run.open for run in self._runs.values()) >= MOST_OPEN:
            for run in self._runs.values():
                run.close()
        self._runs[name].add(table)

    def _parquet(self) -> None:
        files, inner = place(self.source)
        with files.open_input_file(inner) as file, pq.ParquetFile(file) as parquet:
            names = parquet.schema_arrow.names
            missing = [name for name in NEEDED if name not in names]
            if missing:
                raise TraceError(self.source, f"has no column {missing[0]!r}", f"events have {', '.join(NEEDED)}; history, time")
            ready = all(field.name in names for field in EVENTS)
            columns = EVENTS.names if ready else [name for name in (*NEEDED, "history", "time") if name in names]
            for batch in parquet.iter_batches(BATCH, columns=columns):
                table = pa.Table.from_batches([batch])
                if ready:
                    self._spread(table.select(EVENTS.names).cast(EVENTS))
                else:
                    self._derive(table)

    def _derive(self, table: pa.Table) -> None:
        """Take a table of bare events, with the columns that repeat what their values say."""
        rows: list[dict[str, Any]] = []
        try:
            for row in table.to_pylist():
                rows.append(self._bare(row))
        finally:
            self._spread(pa.Table.from_pylist(rows, EVENTS))

    def _bare(self, row: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(row["seq"], int):
            raise TraceError(f"{self.source}: event {row['seq']}", "is no event", "seq is a number, value a JSON object")
        text = row["value"] if isinstance(row["value"], str) else json.dumps(row["value"], default=str)
        value = object_of(text)
        made = event_row(
            str(row.get("history") or self.source),
            Event(row["seq"], str(row["type"]), str(row["process"]), str(row["op"]), value or {}, row.get("time")),
        )
        return made if value is not None else {**made, "value": text}  # its history ends where this value is read

    def _spread(self, table: pa.Table) -> None:
        names = table["history"].unique().to_pylist()
        for name in names:
            self.origins.setdefault(name, {})
            self._put(name, table if len(names) == 1 else table.filter(pa.array([one == name for one in table["history"].to_pylist()])))


def _piece_or_whole(path: Path) -> tuple[Header, Iterator[Event]]:
    """A history file: one that names its history is a piece of it, and its numbers are those of the whole."""
    header, numbered = history.read_piece(path)
    if isinstance(header.origin.get("history"), str):
        return header, (event for _, event in numbered)
    return history.read(path)


def _first_object(path: Path) -> dict[str, Any]:
    """The first line of a text file. Raises TraceError where it is no JSON object."""
    line = ""
    try:
        with open_text(path) as file:
            line = file.readline()
        row = json.loads(line)
    except (ValueError, RecursionError):
        problem = "is no NDJSON" if line.strip() or path.stat().st_size else "is empty"
        raise TraceError(str(path), problem, "give a history, a recording or Parquet") from None
    return row if isinstance(row, dict) else {}


@contextmanager
def _here(source: str) -> Iterator[Path]:
    """The source as a file of this machine."""
    if "://" not in source:
        yield Path(source)
        return
    files, inner = place(source)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "source.ndjson"
        with files.open_input_stream(inner) as there, path.open("wb") as here:
            shutil.copyfileobj(there, here, 1 << 20)
        try:
            yield path
        except TraceError as error:
            raise TraceError(error.place.replace(str(path), source), error.problem, error.remedy) from None


__all__ = ["SUFFIX", "sources", "stamp_of", "take"]
