"""Read sources into pieces in the cache: NDJSON histories and their pieces, recordings of single requests (all of them plain or
compressed), and Parquet.

The kind of a source is recognised by its content. Everything before a damaged place is kept, and the place is recorded. No source is read
twice.
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
from rocketproof_protocol.numbers import java_int, whole_number

from .. import history
from ..common.compressed import open_text
from ..common.errors import TraceError
from ..history import Event, Header, recordings
from ..stored.paths import join, readable
from .cache import BATCH, SUFFIX, CachedSource, PieceCache, Runs, place
from .tables import EVENTS, event_row, object_of

NEEDED = ("seq", "process", "type", "op", "value")
"""The required columns of a table of events; `history` and `time` are optional."""

MOST_OPEN = 200
"""The maximum number of files open for writing."""


def sources(paths: list[str]) -> list[tuple[str, str]]:
    """Return the files in these files and folders, each with a stamp of its size and time. Raises TraceError for a missing path."""
    stamped = []
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
        for file in infos:
            hidden = any(part.startswith(("_", ".")) for part in file.path[len(inner) :].split("/"))
            if file.type == fs.FileType.File and not hidden and not file.path.endswith(".part"):
                inside = file.path[len(inner) :].strip("/")
                stamped.append((join(path, *inside.split("/")) if inside else path, f"{file.size}-{file.mtime_ns}"))
    return sorted(set(stamped))


def size_of(stamp: str) -> int:
    """Return the size in a stamp of `sources`, in bytes."""
    return whole_number(stamp.partition("-")[0])


def _below(folder: str) -> list[str]:
    """Return the files in a local folder, each once, even if links lead to it or to a folder around it. A file's own name takes
    precedence over that of a link."""
    files: dict[str, str] = {}
    folders, links, known = [folder], list[str](), set[str]()
    while folders or links:
        here = folders.pop() if folders else links.pop(0)
        real = os.path.realpath(here)
        if real in files or real in known:
            continue
        if not os.path.isdir(real):
            files[real] = here
            continue
        known.add(real)
        for name in sorted(os.listdir(here)):
            path = os.path.join(here, name)
            if os.path.islink(path):
                links.append(path)
            elif os.path.isdir(path):
                folders.append(path)
            else:
                files[os.path.realpath(path)] = path
    return list(files.values())


def stamp_of(source: str) -> str:
    """Return size and time of a source, empty if it is missing."""
    files, inner = place(source)
    info = files.get_file_info(inner)
    return f"{info.size}-{info.mtime_ns}" if info.type == fs.FileType.File else ""


def take(cache: PieceCache, source: str) -> CachedSource:
    """Read a source into the cache. Repeated calls give the same pieces. An unreadable source is a problem of its history."""
    ingest = _Ingest(cache, source)
    stamp = stamp_of(source)
    try:
        ingest.read()
    except UNREADABLE_SOURCE as error:
        ingest.stop(unreadable(source, error))
    except BaseException:
        ingest.drop()
        raise
    cached = CachedSource(source, stamp, ingest.pieces(), ingest.origins, tuple(ingest.problems))
    cache.put(cached)
    return cached


UNREADABLE_SOURCE = (RocketproofError, OSError, pa.ArrowException, OverflowError)
"""What reading a source raises if it is damaged or cannot be read."""


def unreadable(source: str, error: BaseException) -> RocketproofError:
    """Return one of UNREADABLE_SOURCE as an error of one line."""
    if isinstance(error, RocketproofError):
        return error
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TraceError(source, f"cannot be read ({' '.join(reason.split())})", "give a history")


class SourceReader:
    """Reads a source as tables of events. `origins` has the origin of each history that was found so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.origins: dict[str, Any] = {}
        self.history = source
        """The history that the next event belongs to, for a problem of the source."""

    def tables(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield tables of EVENTS, each with its history. Raises what reading raises, after all events before the damaged place."""
        if self.source.endswith((".parquet", ".pq")):
            yield from self._parquet()
            return
        with _here(self.source) as path:
            first = _first_object(path)
            if first.get("schema") == history.SCHEMA:
                yield from self._history_file(path)
            elif "request" in first or "settings" in first:
                yield from self._recording(path)
            else:
                raise TraceError(f"{self.source}:1", "is neither a history nor a recording", "see docs/history.md in the room traces")

    def _history_file(self, path: Path) -> Iterator[tuple[str, pa.Table]]:
        header, events = _piece_or_whole(path)
        name = header.origin.get("history")
        self.history = name if isinstance(name, str) and name else self.source
        self.origins[self.history] = dict(header.origin)
        return _tables((self.history, event) for event in events)

    def _recording(self, path: Path) -> Iterator[tuple[str, pa.Table]]:
        origins, events = recordings.histories(path)
        self.origins = {f"{self.source}#{cfg}": origin for cfg, origin in origins.items()}
        return _tables((f"{self.source}#{cfg}", event) for cfg, event in events)

    def _parquet(self) -> Iterator[tuple[str, pa.Table]]:
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
                    yield from self._by_history(table.select(EVENTS.names).cast(EVENTS))
                else:
                    yield from self._derived(table)

    def _derived(self, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        """Yield a table of bare events, with the columns derived from their values."""
        rows: list[dict[str, Any]] = []
        problem: TraceError | None = None
        for row in table.to_pylist():
            try:
                rows.append(self._bare(row))
            except TraceError as error:
                problem = error
                break
        yield from self._by_history(pa.Table.from_pylist(rows, EVENTS))
        if problem is not None:
            raise problem

    def _bare(self, row: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(row["seq"], int):
            raise TraceError(f"{self.source}: event {row['seq']}", "is no event", "seq is a number, value a JSON object")
        text = row["value"] if isinstance(row["value"], str) else json.dumps(row["value"], default=str)
        value = object_of(text)
        event = event_row(
            str(row.get("history") or self.source),
            Event(row["seq"], str(row["type"]), str(row["process"]), str(row["op"]), value or {}, row.get("time")),
        )
        return event if value is not None else {**event, "value": text}  # the history ends when this value is parsed

    def _by_history(self, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        names = table["history"].unique().to_pylist()
        for name in names:
            self.origins.setdefault(name, {})
            mine = pa.array([history == name for history in table["history"].to_pylist()]) if len(names) > 1 else None
            yield name, table if mine is None else table.filter(mine)


def _tables(events: Iterator[tuple[str, Event]]) -> Iterator[tuple[str, pa.Table]]:
    """Yield events in tables of up to BATCH rows by history. An error of the events is raised after the last table."""
    waiting: dict[str, list[dict[str, Any]]] = {}
    problem: RocketproofError | None = None
    while True:
        try:
            name, event = next(events)
        except StopIteration:
            break
        except RocketproofError as error:
            problem = error
            break
        rows = waiting.setdefault(name, [])
        rows.append(event_row(name, event))
        if len(rows) >= BATCH:
            yield name, pa.Table.from_pylist(rows, EVENTS)
            rows.clear()
    for name, rows in waiting.items():
        yield name, pa.Table.from_pylist(rows, EVENTS)
    if problem is not None:
        raise problem


class _Ingest:
    """A source whose events are written into a cache."""

    def __init__(self, cache: PieceCache, source: str) -> None:
        self.cache, self.source = cache, source
        self.problems: list[tuple[str, int | None, str]] = []
        self._reader = SourceReader(source)
        self._numbers = itertools.count()
        self._runs: dict[str, Runs] = {}

    @property
    def origins(self) -> dict[str, Any]:
        return self._reader.origins

    def pieces(self) -> tuple[Any, ...]:
        for run in self._runs.values():
            run.close()
        return tuple(piece for run in self._runs.values() for piece in run.pieces)

    def drop(self) -> None:
        """Discard incomplete files before the process ends."""
        for run in self._runs.values():
            run.drop()

    def stop(self, error: RocketproofError) -> None:
        """Record where and why reading stopped."""
        line, text = problem_of(self.source, error)
        self.problems.append((self._reader.history, line, text))

    def read(self) -> None:
        for name, table in self._reader.tables():
            self._put(name, table)

    def _put(self, name: str, table: pa.Table) -> None:
        if name not in self._runs:
            self._runs[name] = Runs(self.cache, self.source, name, self._numbers)
        if not self._runs[name].open and sum(run.open for run in self._runs.values()) >= MOST_OPEN:
            for run in self._runs.values():
                run.close()
        self._runs[name].add(table)


def problem_of(source: str, error: RocketproofError) -> tuple[int | None, str]:
    """Return the line at which reading a source stopped, None if unknown, and the reason."""
    text = str(error)
    line = None
    if text.startswith(f"{source}:"):
        place_, _, rest = text[len(source) + 1 :].partition(": ")
        line = java_int(place_)
        text = rest if line is not None else text
    return line, text.removeprefix(f"{source}: ")


def _piece_or_whole(path: Path) -> tuple[Header, Iterator[Event]]:
    """Read a history file. A file that names its history is a piece of it, with the event numbers of the whole."""
    header, numbered = history.read_piece(path)
    if isinstance(header.origin.get("history"), str):
        return header, (event for _, event in numbered)
    return history.read(path)


def _first_object(path: Path) -> dict[str, Any]:
    """Return the first line of a text file. Raises TraceError if it is not a JSON object."""
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
    """Yield the source as a local file."""
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


__all__ = ["SUFFIX", "UNREADABLE_SOURCE", "SourceReader", "problem_of", "sources", "stamp_of", "take", "unreadable"]
