"""The consume queues as a table: a row for each entry, from the first to the last of its queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...stored.errors import StoredError
from ...stored.facts import Column
from ...stored.layout import ENTRY, ENTRY_SIZE, FILLER
from ...stored.queues import Queue, Queues
from .clauses import Clauses, about, bounds, number_mask, text_passes
from .table import INT, LONG, OF_NAMES, OF_NUMBERS, PRESENCE, TEXT, StoreTable, packed

_BLOCK = 1 << 16  # entries of a batch


@dataclass(frozen=True)
class QueueSpan:
    """The entries of one file of a queue: indices [first, past)."""

    queue: Queue
    path: str
    first: int
    past: int


def _parts(folders: Sequence[str], clauses: Clauses, part_size: int) -> list[tuple[QueueSpan, ...]]:
    """Return the spans that can contain requested topics, queues and offsets, grouped to parts. Raises StoredError."""
    low, high = bounds(clauses, "queueOffset")
    spans = []
    for queue in (queue for folder in folders for queue in Queues([folder]).all()):
        if not text_passes(about(clauses, "topic"), queue.topic):
            continue
        if not number_mask(about(clauses, "queueId"), np.array([queue.queue_id]))[0]:
            continue
        for file in queue.files:
            first = file.base // ENTRY_SIZE
            span = QueueSpan(queue, file.path, first, first + file.length // ENTRY_SIZE)
            if span.first <= high and span.past > low and text_passes(about(clauses, "file"), file.path):
                spans.append(span)
    return packed(spans, lambda span: (span.past - span.first) * ENTRY_SIZE, part_size)


def _read(part: Sequence[QueueSpan], columns: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
    for span in part:
        at = span.first
        try:
            past = min(span.past, span.queue.max)
            at = max(at, span.queue.min)
            while at < past:
                count = min(_BLOCK, past - at)
                yield from _block(span, at, count, columns, clauses)
                at += count
        except StoredError as error:
            row: dict[str, int | str] = {"topic": span.queue.topic, "queueId": span.queue.queue_id, "file": span.path, "error": str(error)}
            yield from TABLE.row_batch(row, columns, clauses)


def _block(span: QueueSpan, first: int, count: int, columns: Sequence[str], clauses: Clauses) -> Iterator[pa.RecordBatch]:
    entries = span.queue.entries(first, count)
    is_entry = entries.found == ENTRY
    values: Mapping[str, Column] = {
        "queueOffset": first + np.arange(len(is_entry)),
        "physicalOffset": entries.physicalOffset,
        "size": entries.size,
        "tagsCode": entries.tagsCode,
    }
    passed = number_mask(about(clauses, "error"), entries.found, ~is_entry)
    for name, numbers in values.items():
        passed &= number_mask(about(clauses, name), numbers, None if name == "queueOffset" else is_entry)
    if not passed.any():
        return
    kept = np.flatnonzero(passed)
    constants = {"topic": span.queue.topic, "queueId": span.queue.queue_id, "file": span.path}
    not_entry = ~is_entry[kept]
    arrays: list[Any] = []
    for name in columns:
        kind = TABLE.columns[name]
        if name in constants:
            arrays.append(pa.repeat(pa.scalar(constants[name], kind), len(kept)))
        elif name == "error":
            arrays.append(pa.array(_SENTENCES, kind).take(pa.array((entries.found[kept] == FILLER).astype(np.int32), mask=~not_entry)))
        else:
            arrays.append(pa.array(values[name][kept].astype(kind.to_pandas_dtype()), mask=None if name == "queueOffset" else not_entry))
    yield pa.RecordBatch.from_arrays(arrays, schema=TABLE.schema(columns))


_SENTENCES = ("zeros, and entries behind them", "filler, and entries before it")
_NUMBERS: Mapping[str, pa.DataType] = {"queueOffset": LONG, "physicalOffset": LONG, "size": INT, "tagsCode": LONG}
_COLUMNS: Mapping[str, pa.DataType] = {"topic": TEXT, "queueId": INT, **_NUMBERS, "file": TEXT, "error": TEXT}

TABLE = StoreTable(
    name="rocketmq-consumequeue",
    columns=_COLUMNS,
    standard=tuple(_COLUMNS),
    pushed={**dict.fromkeys(("queueId", *_NUMBERS), OF_NUMBERS), "topic": OF_NAMES, "file": OF_NAMES, "error": PRESENCE},
    parts=_parts,
    read=_read,
)
