"""Read growing commit logs as a stream: `readStream.format("rocketmq-commitlog")`, with each record exactly once.

An offset of the stream holds for each store its `LogPosition` and how the last micro-batch is divided. So a restarted query reads exactly
the records that its checkpoint names, and a task does not search for where its records begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import datasource as api
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from ..common.errors import TraceError
from ..stored.growing import Growth, LogPosition, end_of, growths, ranges_of
from ..stored.segments import log_files
from .failures import one_line
from .tables.commitlog import TABLE, LogPart
from .tables.table import renamed

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_SIZE = 1 << 30  # bytes that a micro-batch reads from all stores
DELETED = "deleted before these bytes were read"
_ALL = 1 << 62

Offset = dict[str, dict[str, Any]]
"""By store: `offset` and `mark` of a LogPosition, `borders` and `missing` of a Growth (empty instead of None)."""


@dataclass(frozen=True)
class MissingPart:
    """Physical offsets [start, end) of a store whose file no longer exists."""

    store: str
    start: int
    end: int


class LogStreamReader(api.DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads some columns of growing logs; `names` are their spellings in the query.

    A micro-batch reads about `batch_size` bytes, and a task of it about `part_size` bytes.
    """

    def __init__(self, folders: Sequence[str], columns: Sequence[str], names: Sequence[str], part_size: int, batch_size: int) -> None:
        self.folders = folders
        self.columns = columns
        self.names = names
        self.part_size = part_size
        self.batch_size = batch_size
        self.until: dict[str, int] = {}

    def initialOffset(self) -> Offset:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self.batch_size)

    def prepareForTriggerAvailableNow(self) -> None:
        with one_line():
            self.until = {folder: end_of(log_files([folder])) for folder in self.folders}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        most = _ALL if isinstance(limit, ReadAllAvailable) else self.batch_size
        with one_line():
            positions = {folder: _position(folder, data) for folder, data in start.items()}
            found, failed = growths(self.folders, positions, most, self.part_size, until=self.until)
            for error in failed.values():
                raise error
        if all(grown.position == positions.get(folder) for folder, grown in found.items()):
            return start
        return {folder: _offset(grown) for folder, grown in found.items()}

    def partitions(self, start: Offset, end: Offset) -> Sequence[api.InputPartition]:
        parts: list[LogPart | MissingPart] = []
        with one_line():
            for folder in self.folders:
                data = end.get(folder)
                if data is None or data == start.get(folder):
                    continue
                _position(folder, data)
                ranges, missing = ranges_of(log_files([folder]), data["borders"])
                parts += [LogPart(range_) for range_ in ranges]
                parts += [MissingPart(folder, *each) for each in (*missing, *([data["missing"]] if data["missing"] else []))]
        return [api.InputPartition(part) for part in parts]

    def read(self, partition: api.InputPartition) -> Iterator[pa.RecordBatch]:
        part = partition.value
        if isinstance(part, MissingPart):
            row: dict[str, int | str] = {"physicalOffset": part.start, "size": part.end - part.start, "file": part.store, "error": DELETED}
            batches = TABLE.row_batch(row, self.columns, ())
        else:
            batches = TABLE.read(part, self.columns, ())
        yield from renamed(batches, self.names)


def _offset(grown: Growth) -> dict[str, Any]:
    position = grown.position
    return {"offset": position.offset, "mark": position.mark, "borders": list(grown.borders), "missing": list(grown.missing or ())}


def _position(folder: str, data: Mapping[str, Any]) -> LogPosition:
    """Return the position of a store in an offset. Raises TraceError for a checkpoint that this source did not write."""
    wanted = {"offset": int, "mark": int, "borders": list, "missing": list}
    if not isinstance(data, dict) or any(not isinstance(data.get(name), type_) for name, type_ in wanted.items()):
        raise TraceError(f"checkpoint of the query: {folder}", "has no position that this source wrote", "begin with a new checkpoint")
    return LogPosition(data["offset"], data["mark"])
