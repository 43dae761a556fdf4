"""Queue numbers in order of first occurrence over many chunks, compared with a dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from rocketproof_traces.audit.joining import NUMBER
from rocketproof_traces.audit.queue_tracker import QueueTracker
from rocketproof_traces.stored.table import ROWS, new_table


@pytest.mark.parametrize("topics", [3, 2500])
def test_previous_record_of_queue_is_found_for_any_chunk_size(topics: int) -> None:
    random, lines, last = np.random.default_rng(7), QueueTracker(("physicalOffset", "queueOffset")), dict[tuple[int, int], int]()
    table, matched = new_table(len(NUMBER)), 0
    for chunk in range(4):
        topic, queue_id = random.integers(-1, topics, ROWS), random.integers(-1, 4, ROWS)
        offset = np.arange(ROWS) + chunk * ROWS
        left_out = random.integers(0, 2, ROWS, np.uint64)
        entry, there = offset + random.integers(0, 2, ROWS), random.integers(0, 2, ROWS)
        given = {"topic": topic, "queueId": queue_id, "physicalOffset": offset, "queueOffset": offset}
        for name, column in (given | {"entryThere": there, "entryOffset": entry}).items():
            table[NUMBER[name], :ROWS] = column
        pairs = lines.follow(table, ROWS, left_out)
        expected = []
        for row in np.flatnonzero((left_out == 0) & (topic >= 0)).tolist():
            key = int(topic[row]), int(queue_id[row])
            if key in last:
                expected.append((int(offset[row]), last[key]))
            last[key] = int(offset[row])
            matched += int(there[row] and entry[row] == offset[row])
        found = lines.after["physicalOffset"][:pairs].tolist(), lines.before["queueOffset"][:pairs].tolist()
        assert list(zip(*found, strict=True)) == expected
    keys = list(zip(lines.topic.tolist(), lines.queue_id.tolist(), strict=True))
    assert len(set(keys)) == lines.count == len(keys)
    ends = dict(zip(keys, lines.final["queueOffset"].tolist(), strict=True))
    assert {key: ends[key] for key in last} == last
    assert int(lines.matched.sum()) == matched
