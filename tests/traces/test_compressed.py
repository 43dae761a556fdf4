"""Compressed histories are read as the plain ones are, up to where they are damaged."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from many_histories import PROFILE, history, write

from proportion import few
from rocketproof_traces import history as reading
from rocketproof_traces.bulk import local
from rocketproof_traces.bulk.work import JudgingJob
from rocketproof_traces.common.compressed import DamagedStreamError, is_compressed, open_text
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import recordings

DATA = Path(__file__).parents[1] / "data"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def judged(tmp: Path, source: Path) -> Any:
    data = local.judge(JudgingJob((str(source),), PROFILE, str(tmp / "out"), str(tmp / "shelf"))).data()
    return [{**finding, "history": "", "file": ""} for finding in data["findings"]], data["events"], data["verdict"]


@pytest.mark.parametrize("form", PACK)
def test_it_is_read_as_if_it_were_plain(form: str, tmp_path: Path) -> None:
    plain = write(tmp_path / "h.ndjson", *history(wrong="T1"))
    packed = tmp_path / "packed"  # the first bytes decide, not the name
    packed.write_bytes(PACK[form](plain.read_bytes()))
    header, events = reading.read(packed)
    assert (header, list(events)) == (reading.read(plain)[0], list(reading.read(plain)[1]))
    assert reading.is_history(packed) and is_compressed(packed) and not is_compressed(plain)
    assert judged(tmp_path / "a", packed) == judged(tmp_path / "b", plain)


@pytest.mark.parametrize("form", PACK)
def test_several_compressed_members_are_read_in_order(form: str, tmp_path: Path) -> None:
    """`cat a.gz b.gz` produces such a file."""
    path = tmp_path / "two"
    path.write_bytes(PACK[form](b"one\n") + PACK[form](b"two\n"))
    with open_text(path) as file:
        assert list(file) == ["one\n", "two\n"]


@pytest.mark.parametrize("form", PACK)
@pytest.mark.parametrize("left", few([0.6, 0.02], 1))
def test_data_before_truncation_is_read(form: str, left: float, tmp_path: Path) -> None:
    lines = [f"{n} {n * 7919 % 10007} {n * n}\n" for n in range(40_000)]
    data = PACK[form]("".join(lines).encode())
    path = tmp_path / "cut"
    path.write_bytes(data[: int(len(data) * left)])
    found = []
    with pytest.raises(DamagedStreamError) as caught, open_text(path) as file:
        found.extend(file)
    assert caught.value.strerror is not None and caught.value.strerror.endswith("data are cut off")
    assert found == lines[: len(found)]
    assert form == "bz2" or len(found) >= 40_000 * (left - 0.25), "a block of bzip2 holds more than this text"


def test_place_of_cut(tmp_path: Path) -> None:
    header, events = history()
    whole = write(tmp_path / "h.ndjson", header, events).read_bytes()
    path = tmp_path / "cut.ndjson.gz"
    path.write_bytes(gzip.compress(whole)[:-8])  # all data, and no checksum
    _, found = reading.read(path)
    kept = []
    with pytest.raises(TraceError) as caught:
        kept.extend(found)
    assert (len(kept), caught.value.place) == (len(events), f"{path}:{len(events) + 2}")
    findings, counted, verdict = judged(tmp_path, path)
    assert [(finding["line"], finding["recorded"]) for finding in findings] == [
        (len(events) + 2, "cannot be read (its gzip data are cut off); copy the file again, or record again")
    ]
    assert (counted, verdict) == (len(events), "illegal")


def test_data_that_make_no_sense(tmp_path: Path) -> None:
    header, events = history()
    data = bytearray(gzip.compress(write(tmp_path / "h.ndjson", header, events).read_bytes()))
    data[-6] ^= 1  # its checksum
    path = tmp_path / "h.gz"
    path.write_bytes(data)
    with pytest.raises(TraceError, match=rf"h\.gz:{len(events) + 2}: cannot be read \(its gzip data are damaged\)"):
        list(reading.read(path)[1])
    path.write_bytes(gzip.compress(b"")[:5])
    assert not reading.is_history(path)
    with pytest.raises(TraceError, match=r"h\.gz:1: cannot be read"):
        reading.read(path)


def test_compressed_history_is_not_continued(tmp_path: Path) -> None:
    """No reader could read plain lines after compressed ones."""
    path = tmp_path / "h.gz"
    path.write_bytes(before := gzip.compress(write(tmp_path / "h.ndjson", *history()).read_bytes()))
    with pytest.raises(TraceError, match="is compressed and cannot be continued"):
        reading.Writer(path)
    assert path.read_bytes() == before


def test_compressed_recording(tmp_path: Path) -> None:
    plain = DATA / "rocketmq-5.3.3.jsonl"
    packed = tmp_path / "r.xz"
    packed.write_bytes(lzma.compress(plain.read_bytes(), preset=0))
    assert recordings.read(packed).cases == recordings.read(plain).cases
