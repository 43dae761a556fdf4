"""The walk over a commit log compared with a plain reader, for any bytes and any division into ranges."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_logs import damage, log, record, write_log
from plain_reader import Answer, Reader, Row

from nonempty import nonempty
from proportion import in_proportion
from rocketproof_traces.stored.facts import COLUMNS, column
from rocketproof_traces.stored.kinds import PROPERTIES, Reason, RowKind
from rocketproof_traces.stored.names import NameTable
from rocketproof_traces.stored.segments import LogFile, Range, Walked, ranges, ranges_to_reread
from rocketproof_traces.stored.walk import Walk


def rows_of(walk: Walk) -> list[Row]:
    found = []
    for chunk in walk:
        texts = {name: chunk.text(name).to_pylist() for name in ("tags", "keys", "properties", "topic")}
        for n in range(chunk.rows):
            row: Row = {name: int(chunk[name][n]) for name in COLUMNS}
            if row["kind"] >= RowKind.BLANK:
                found.append({name: row[name] for name in ("kind", "reason", "physicalOffset", "size")})
                continue
            for name in ("topic", "realTopic", "retryTopic"):
                row[name] = chunk.names.raw(row[name]) if row[name] >= 0 else None
            row["tags"], row["keys"], row["text"] = (texts[name][n] for name in ("tags", "keys", "properties"))
            row["topicText"] = texts["topic"][n]
            found.append(row)
    return found


def plain_rows(answer: Answer) -> list[Row]:
    found = []
    for row in answer.rows:
        row = dict(row)
        if row["kind"] < RowKind.BLANK:
            for name in ("tags", "keys", "text"):
                row[name] = None if row[name] is None else row[name].decode("utf-8", "replace")
            row["text"] = row["text"] if row["propertiesLength"] >= 0 else None
            row["topicText"] = None if row["topic"] is None else row["topic"].decode("utf-8", "replace")
        found.append(row)
    return found


def assert_same(found: list[Row], expected: list[Row]) -> None:
    assert [row["physicalOffset"] for row in found] == [row["physicalOffset"] for row in expected]
    for actual, other in zip(found, expected, strict=True):
        if actual.get("odd", 0) & 1:  # the hash of tags that are no UTF-8 means nothing
            actual = actual | {"tagsHash": None}
            other = other | {"tagsHash": None}
        assert {name: value for name, value in actual.items() if name in other} == other


def file_of(path: Path, base: int, *, last: bool = True) -> LogFile:
    return LogFile(str(path), base, path.stat().st_size, last)


@settings(max_examples=in_proportion(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**9), count=st.integers(0, 12), mishaps=st.integers(0, 4), window=st.sampled_from([200, 700, 1 << 16]),
    rows=st.sampled_from([1, 3, 4096]), last=st.booleans(),
)  # fmt: skip
def test_walk_of_file_equals_plain_reader(seed: int, count: int, mishaps: int, window: int, rows: int, last: bool, tmp_path: Path) -> None:
    chance = random.Random(seed)
    base = chance.choice([0, 1 << 20, 7 << 33])
    data = log(chance, base, count)
    for _ in range(mishaps):
        data = damage(chance, data)
    file = file_of(write_log(tmp_path, base, data), base, last=last)
    walk = Walk(Range(file, 0, file.length, exact=True), NameTable(), rows=rows, window=window)
    found = rows_of(walk)
    expected = Reader(data, base, last=last).walk()
    assert_same(found, plain_rows(expected))
    assert (walk.walked.begin, walk.walked.end, walk.data_end) == (expected.begin, expected.end, expected.data_end)
    assert walk.walked.rows == len(found)


@settings(max_examples=in_proportion(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), mishaps=st.integers(0, 4), size=st.integers(20, 2000))
def test_ranges_together_have_each_row_of_file_once(seed: int, mishaps: int, size: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    data = log(chance, 0, 12)
    for _ in range(mishaps):
        data = damage(chance, data)
    file = file_of(write_log(tmp_path, 0, data), 0)
    whole = rows_of(Walk(Range(file, 0, file.length, exact=True), NameTable()))
    assert_same(divided(file, size), whole)


def divided(file: LogFile, size: int) -> list[Row]:
    """Return the rows of a file walked in ranges, after repair."""
    done: dict[int, tuple[Walked, list[Row]]] = {}
    todo = list(ranges([file], size))
    while todo:
        for range_ in todo:
            walk = Walk(range_, NameTable(), window=300)
            rows = rows_of(walk)
            done[range_.end] = walk.walked, rows
        todo = ranges_to_reread([walked for walked, _ in done.values()])
    return [row for end in sorted(done) for row in done[end][1]]


@settings(max_examples=in_proportion(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9), size=st.integers(20, 900), mishaps=st.integers(0, 3))
def test_each_range_equals_plain_reader(seed: int, size: int, mishaps: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    data = log(chance, 0, 8)
    for _ in range(mishaps):
        data = damage(chance, data)
    file = file_of(write_log(tmp_path, 0, data), 0)
    reader = Reader(data)
    for range_ in ranges([file], size):
        walk = Walk(range_, NameTable())
        found = rows_of(walk)
        expected = reader.walk(range_.start, range_.end, exact=range_.exact)
        assert_same(found, plain_rows(expected))
        assert (walk.walked.begin, walk.walked.end) == (expected.begin, expected.end)


def test_record_inside_body_is_detected_when_ranges_are_repaired(tmp_path: Path) -> None:
    """A body that holds two records, each at its stated offset, deceives a range that begins before them."""
    chance = random.Random(5)
    first = record(chance, 0, topic=b"T", text=b"", body=b"x" * 300)
    inside = len(first) + 120
    inner = record(chance, inside, topic=b"Fake", text=b"", body=b"1")
    two = record(chance, inside + len(inner), topic=b"Fake", text=b"", body=b"2")
    flagless = b""
    while not flagless:  # the body must begin where it was thought to: IPv4 hosts
        wrapper = record(chance, len(first), topic=b"T", text=b"", body=b"y" * (inside - len(first) - 88) + inner + two + b"z" * 200)
        flagless = wrapper if wrapper[36:40] == bytes(4) else b""
    data = first + wrapper
    data += record(chance, len(data), topic=b"T", text=b"", body=b"3")
    file = file_of(write_log(tmp_path, 0, data), 0)
    cut = len(first) + 50
    deceived = rows_of(Walk(Range(file, cut, file.length, exact=False), NameTable()))
    assert [row.get("topicText") for row in deceived][:2] == ["Fake", "Fake"]
    assert [row["topicText"] for row in divided(file, cut)] == ["T", "T", "T"]


REASONS = {
    Reason.MAGIC: lambda data, cut: data[: cut + 4] + b"\0" + data[cut + 5 :],
    Reason.SIZE: lambda data, cut: data[:cut] + b"\x7f\xff\xff\xff" + data[cut + 4 : cut + 84] + b"\x7f" + data[cut + 85 :],
    Reason.LENGTHS: lambda data, cut: data[:cut] + b"\0\0\0\x5c" + data[cut + 4 : cut + 84] + b"\x7f" + data[cut + 85 :],
    Reason.TRUNCATED: lambda data, cut: data[: cut + 200],
    Reason.HOLE: lambda data, cut: data[:cut] + bytes(50) + data[cut + 50 :],
    Reason.BLANK: lambda data, cut: data[:cut] + b"\0\0\0\x09\xcb\xd4\x31\x94" + data[cut + 8 :],
}


@pytest.mark.parametrize("reason", REASONS)
def test_why_stretch_is_no_record(reason: Reason, tmp_path: Path) -> None:
    chance = random.Random(3)
    parts: list[bytes] = []
    while len(parts) < 3:
        made = record(chance, sum(map(len, parts)), topic=b"T", text=b"", body=bytes(range(1, 241)))
        if made[36:40] == bytes(4):
            parts.append(made)
    cut = len(parts[0])
    data = REASONS[reason](b"".join(parts), cut)
    file = file_of(write_log(tmp_path, 0, data), 0)
    rows = rows_of(Walk(Range(file, 0, file.length, exact=True), NameTable()))
    end = len(data) if reason is Reason.TRUNCATED else 2 * cut
    assert rows[1] == {"kind": RowKind.CORRUPT, "reason": reason, "physicalOffset": cut, "size": end - cut}
    assert [row["kind"] for row in rows[2:]] == ([] if reason is Reason.TRUNCATED else [RowKind.MESSAGE])
    assert reason.sentence


def test_without_crc_and_properties_these_columns_are_empty(tmp_path: Path) -> None:
    data = log(random.Random(8), 0, 40)
    file = file_of(write_log(tmp_path, 0, data), 0)
    for chunk in nonempty(Walk(Range(file, 0, file.length, exact=True), NameTable(), crc=False, properties=False)):
        messages = chunk.table[:, chunk.is_message]
        assert set(column(messages, "computedCRC")) == {-1} and set(column(messages, "properties")) == {0}
        assert set(column(messages, "topic")) != {-1}


def test_record_repeating_property_with_topics_adds_last(tmp_path: Path) -> None:
    text = b"\2".join(b"REAL_TOPIC\1t%d" % number for number in range(1500))
    names = NameTable()
    file = file_of(write_log(tmp_path, 0, record(random.Random(2), 0, topic=b"T", text=text)), 0)
    (row,) = rows_of(Walk(Range(file, 0, file.length, exact=True), names))
    assert (row["realTopic"], row["items"]) == (b"t1499", 1500)
    assert names.texts() == ["T", "t1499"]


def test_documentation_names_every_column_and_reason() -> None:
    text = (Path(__file__).parents[2] / "traces" / "docs" / "stored.md").read_text(encoding="utf-8")
    assert [name for name in (*COLUMNS, *PROPERTIES) if f"`{name}`" not in text] == []
    assert [reason for reason in Reason if reason and f"| `{reason.name}` {reason.value} |" not in text] == []
