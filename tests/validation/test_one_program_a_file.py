"""A history contains one program: appending to another one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.brokers.runs.recording import HistoryRecorder, last_number
from rocketproof_traces.common.errors import TraceError


def test_second_program_in_file_is_refused_and_first_stays(tmp_path: Path) -> None:
    path = tmp_path / "00001.ndjson"
    HistoryRecorder(path, {"program": 1}).close()
    before = path.read_bytes()
    with pytest.raises(TraceError, match=r"00001\.ndjson: has the history of another program; give another folder"):
        HistoryRecorder(path, {"program": 2})
    assert path.read_bytes() == before


def test_empty_file_is_no_history(tmp_path: Path) -> None:
    (tmp_path / "00001.ndjson").touch()
    HistoryRecorder(tmp_path / "00001.ndjson", {}).close()


def test_new_histories_get_greater_numbers(tmp_path: Path) -> None:
    assert last_number(tmp_path) == 0
    for name in ("00007.ndjson", "00012.ndjson", "store.ndjson", "00099.txt"):
        (tmp_path / name).touch()
    assert last_number(tmp_path) == 12
