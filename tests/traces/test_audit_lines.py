"""Queues numbered as they are met, over many chunks, beside a dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from rocketproof_traces.audit.lines import Lines

ROWS = 4096


@pytest.mark.parametrize("topics", [3, 700])
def test_the_record_before_each_in_its_queue_is_found_whatever_the_size_of_chunks(topics: int) -> None:
    random, lines, last = np.random.default_rng(7), Lines(("queueOffset",)), dict[tuple[int, int], int]()
    for chunk in range(4):
        topic, queue_id = random.integers(0, topics, ROWS), random.integers(0, 4, ROWS)
        offset = np.arange(ROWS) + chunk * ROWS
        member = random.random(ROWS) < 0.9
        rows = {"topic": topic, "queueId": queue_id, "physicalOffset": offset, "queueOffset": offset}
        follows, earlier = lines.follow(rows, member, member)
        expected = []
        for row in np.flatnonzero(member).tolist():
            key = int(topic[row]), int(queue_id[row])
            if key in last:
                expected.append((row, last[key]))
            last[key] = int(offset[row])
        assert list(zip(follows.tolist(), earlier["queueOffset"].tolist(), strict=True)) == expected
    keys = list(zip(lines.topic[: lines.count].tolist(), lines.queue_id[: lines.count].tolist(), strict=True))
    assert len(set(keys)) == lines.count
    ends = dict(zip(keys, lines.final["queueOffset"].tolist(), strict=False))
    assert {key: ends[key] for key in last} == last
