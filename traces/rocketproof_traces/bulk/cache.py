"""A folder of histories in Parquet, cut into pieces: sources are read once and can be judged repeatedly.

`NAME.pieces.json` describes the pieces of a source. It is written last, so a source is either complete or absent, and writing it again is
harmless. Folders may be anywhere pyarrow can access (`hdfs://`, `s3://`, a path).
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from operator import index
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from ..common.errors import TraceError
from ..stored.paths import file_system, is_remote
from .tables import EVENTS

SUFFIX = ".pieces.json"
BATCH = 16_384
"""The number of events held in memory while a piece is read or written."""


@dataclass(frozen=True)
class Piece:
    """Events of one history, in order, in a file of the cache; `newest` is the latest event time."""

    file: str
    history: str
    rows: int
    first: int
    last: int
    newest: int = 0


@dataclass(frozen=True)
class CachedSource:
    """A cached source. `stamp` is its size and time. `origins` are the origins in its headers, by history. `problems` are the places
    where reading stopped: the history, the line or None, and a sentence."""

    source: str
    stamp: str
    pieces: tuple[Piece, ...] = ()
    origins: Mapping[str, Any] = field(default_factory=dict)
    problems: tuple[tuple[str, int | None, str], ...] = ()

    @property
    def histories(self) -> set[str]:
        return {*self.origins, *(p.history for p in self.pieces), *(history for history, _, _ in self.problems)}


def place(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path or URL, and the path in it. Raises TraceError if it is unreachable."""
    return file_system(path) if is_remote(path) else (fs.LocalFileSystem(), path)


@contextmanager
def written(files: fs.FileSystem, path: str) -> Iterator[str]:
    """Yield a temporary name to write to; the file gets its own name when it is complete. Raises TraceError if it cannot be written."""
    part = f"{path}.{uuid.uuid4().hex}.part"
    try:
        yield part
        files.move(part, path)
    except OSError as error:
        raise TraceError(path, f"cannot be written ({error})", "give a folder of your own with room in it") from None
    finally:
        with suppress(OSError):
            files.delete_file(part)


class PieceCache:
    """A folder of pieces."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self.files, self.path = place(self.root)

    def name(self, source: str) -> str:
        """Return the common name prefix of a source's files."""
        return hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def create(self) -> None:
        try:
            self.files.create_dir(self.path, recursive=True)
        except OSError as error:
            raise TraceError(self.root, f"cannot be made ({error})", "give a folder of your own") from None

    def sources(self) -> dict[str, CachedSource]:
        """Return the cached sources by name."""
        infos = self.files.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        names = sorted(info.path for info in infos if info.path.endswith(SUFFIX))
        return {cached.source: cached for cached in map(self._manifest, names)}

    def _manifest(self, path: str) -> CachedSource:
        try:
            with self.files.open_input_stream(path) as stream:
                data = json.loads(stream.read())
            pieces = tuple(Piece(**piece) for piece in data["pieces"])
            problems = tuple((history, line, text) for history, line, text in data["problems"])
            return CachedSource(data["source"], data["stamp"], pieces, data["origins"], problems)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise TraceError(path, f"is no list of pieces ({error})", "delete it: the source is read again") from None

    def put(self, source: CachedSource) -> None:
        """Make the new files of a source valid, replacing its earlier ones."""
        name = self.name(source.source)
        path = f"{self.path}/{name}{SUFFIX}"
        data = asdict(source)
        with written(self.files, path) as part, self.files.open_output_stream(part) as stream:
            stream.write(json.dumps(data).encode())
        current = {piece.file for piece in source.pieces}
        for info in self.files.get_file_info(fs.FileSelector(self.path)):
            base = info.base_name
            if base.startswith(f"{name}-") and base.endswith(".parquet") and base not in current:
                with suppress(OSError):
                    self.files.delete_file(info.path)

    def batches(self, piece: Piece, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield a piece as a stream from its file. Raises TraceError if it is missing or damaged."""
        path = f"{self.path}/{piece.file}"
        try:
            with self.files.open_input_file(path) as file, pq.ParquetFile(file) as parquet:
                yield from parquet.iter_batches(BATCH, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise TraceError(path, f"cannot be read ({' '.join(str(error).split())})", "delete the folder: it is made again") from None


class Runs:
    """Writes the events of one history as they arrive, one piece per ascending run of event numbers."""

    def __init__(self, cache: PieceCache, source: str, history: str, numbers: Iterator[int]) -> None:
        self._cache, self._source, self._history, self._numbers = cache, source, history, numbers
        self.pieces: list[Piece] = []
        self._writer: pq.ParquetWriter | None = None
        self._part = ""

    @property
    def open(self) -> bool:
        return self._writer is not None

    def add(self, table: pa.Table) -> None:
        """Append events, in the schema EVENTS; they are sorted first."""
        if not table.num_rows:
            return
        seqs = table["seq"].to_numpy()
        if (seqs[1:] < seqs[:-1]).any():
            table = table.sort_by("seq")
            seqs = table["seq"].to_numpy()
        if self.open and seqs[0] < self.pieces[-1].last:
            self.close()
        writer = self._writer or self._begin(index(seqs[0]))
        writer.write_table(table)
        piece = self.pieces[-1]
        newest = max(piece.newest, table["time"].drop_null().to_numpy().max(initial=0).item())
        self.pieces[-1] = Piece(piece.file, piece.history, piece.rows + table.num_rows, piece.first, index(seqs[-1]), newest)

    def _begin(self, first: int) -> pq.ParquetWriter:
        file = f"{self._cache.name(self._source)}-{next(self._numbers):06d}.parquet"
        self._part = f"{self._cache.path}/{file}.{uuid.uuid4().hex}.part"
        self._writer = pq.ParquetWriter(self._part, EVENTS, filesystem=self._cache.files, compression="zstd", compression_level=1)
        self.pieces.append(Piece(file, self._history, 0, first, first))
        return self._writer

    def drop(self) -> None:
        """Discard the open piece."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            with suppress(OSError):
                self._cache.files.delete_file(self._part)

    def close(self) -> None:
        """Complete the open piece."""
        if self._writer is not None:
            self._writer.close()
            self._cache.files.move(self._part, f"{self._cache.path}/{self.pieces[-1].file}")
            self._writer = None


def by_history(sources: Iterable[CachedSource]) -> dict[str, list[CachedSource]]:
    """Return the sources of each history."""
    sources_of: dict[str, list[CachedSource]] = {}
    for source in sorted(sources, key=lambda source: source.source):
        for history in source.histories:
            sources_of.setdefault(history, []).append(source)
    return sources_of


__all__ = ["BATCH", "SUFFIX", "Piece", "Runs", "PieceCache", "CachedSource", "by_history", "place", "written"]
