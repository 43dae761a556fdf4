"""Stores with numbers, names and bytes that no broker writes: the audit ends with findings or problems, never with a traceback."""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from damaged_stores import SMALL, made
from hypothesis import given
from hypothesis import strategies as st

from nonempty import nonempty
from proportion import few
from rocketproof_properties.commands.audits import command
from rocketproof_properties.commands.audits.brokerconf import of_broker
from rocketproof_properties.reports.choices import InputError
from rocketproof_traces.audit.findings import table
from rocketproof_traces.audit.merge import AuditTotals
from rocketproof_traces.audit.run import SavedAnswers, audit
from rocketproof_traces.common.pools import on_threads
from rocketproof_traces.spark.tables.topics import TABLE
from rocketproof_traces.stored import paths
from rocketproof_traces.stored.config import read_topics
from rocketproof_traces.stored.errors import StoredError, Unreadable
from rocketproof_traces.stored.record import record_at

PREPARED, COMMIT = 4, 8
HALF, OPERATIONS = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
HOST = bytes((127, 0, 0, 1)) + struct.pack(">i", 10911)
EDGES = [sign * (1 << bits) + more for bits in (7, 15, 31, 61, 62, 63, 64) for sign in (1, -1) for more in (-1, 0, 1)]
NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers(), st.sampled_from([10**19, 10**20 - 1, 10**30, -(10**400)])).map(
    str
) | st.sampled_from(["9" * 20, "0" * 25, "7" * 5000, "+5", "1_0", " 0", "٣", "-", "", "1.5", "1e400", "-0"])
PLAN = command.plan_of("P533", (), 100)


def record(topic: str, offset: int, index: int, properties: str, *, flags: int = 0, half: int = 0, body: bytes = b"body") -> bytes:
    """A record with correct lengths, offset and checksum."""
    text, name = properties.encode(), topic.encode()
    size = 91 + len(body) + len(name) + len(text)
    fixed = struct.pack(
        ">iIiiiqqiq8sq8siqi", size, 0xDAA320A7, zlib.crc32(body) & 0x7FFFFFFF, 0, 0, index, offset, flags,
        1_700_000_000_000, HOST, 1_700_000_000_000, HOST, 0, half, len(body),
    )  # fmt: skip
    return fixed + body + bytes((len(name),)) + name + struct.pack(">h", len(text)) + text


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def store_with(root: Path, number: str, *, folder: bool = False) -> None:
    """Write a store that contains a number wherever a real one has a numeric text: properties, bodies, tables or folder names."""
    log = record("Orders", 0, 0, "TAGS\1a\2")
    half = len(log)
    log += record(HALF, half, 0, f"REAL_TOPIC\1Orders\2REAL_QID\1{number}\2TRAN_MSG\1true\2", flags=PREPARED)
    forms = {
        "Orders": f"DELAY\1{number}\2INNER_NUM\1{number}\2RECONSUME_TIME\1{number}\2__CRC32#\1{number}\2",
        "SCHEDULE_TOPIC_XXXX": f"REAL_TOPIC\1Orders\2REAL_QID\1{number}\2DELAY\1{number}\2",
        "%RETRY%g": f"RETRY_TOPIC\1Orders\2ORIGIN_MESSAGE_ID\1{number}\2MAX_RECONSUME_TIMES\1{number}\2",
        "Multi": f"INNER_MULTI_DISPATCH\1%LMQ%a,%LMQ%b\2INNER_MULTI_QUEUE_OFFSET\1{number},{number}\2",
    }
    places = {}
    for topic, text in forms.items():
        places[topic] = len(log)
        log += record(topic, len(log), 0, text)
    log += record(OPERATIONS, len(log), 0, "TAGS\1d\2", body=number.encode())
    log += record("Orders", len(log), 1, "TRAN_MSG\1true\2", flags=COMMIT, half=half)
    write(root / "commitlog" / ("0" * 20), log.ljust(len(log) + 1000, b"\0"))
    entry = struct.pack(">qiq", places["Multi"], 100, -1)
    for queue in ("Orders/0", "%LMQ%a/0", *([f"Orders/{number}"] if folder and 0 < len(number) < 250 else [])):
        write(root / "consumequeue" / queue / ("0" * 20), entry + bytes(180))
    quoted = f'"{number}"'
    for value in (number if number.lstrip("-").isdigit() and number.isascii() else quoted, quoted):
        row = f'{{"topicName": "Orders", "perm": {value}, "readQueueNums": {value}, "writeQueueNums": {value}, "topicSysFlag": {value}}}'
        version = f'"dataVersion": {{"counter": {value}, "timestamp": {value}, "stateVersion": {value}}}'
        write(root / "config" / "topics.json", f'{{"topicConfigTable": {{"Orders": {row}}}, {version}}}'.encode())
        write(root / "config" / "subscriptionGroup.json", f'{{"subscriptionGroupTable": {{"g": {{"retryMaxTimes": {value}}}}}}}'.encode())
        write(root / "config" / "consumerOffset.json", f'{{"offsetTable": {{"Orders@g": {{{quoted}: {value}}}}}}}'.encode())
        write(root / "config" / "delayOffset.json", f'{{"offsetTable": {{{quoted}: {value}}}}}'.encode())


def audited(root: Path, size: int) -> AuditTotals:
    """Audit in ranges of a few bytes, so that most records span several ranges."""
    (found,) = audit(PLAN, [str(root)], on_threads(1), SavedAnswers(None), size=size).totals
    return found


@pytest.mark.slow
@given(number=NUMBERS, folder=st.booleans())
def test_numbers_of_any_size_end_in_findings_or_problems(number: str, folder: bool) -> None:
    with TemporaryDirectory() as place:
        root = Path(place)
        store_with(root, number, folder=folder)
        totals = audited(root, 200)
        assert totals.records or totals.problems
        assert table(totals.findings).num_rows == len(totals.findings)
        assert list(TABLE.read(str(root / "config" / "topics.json"), TABLE.standard, ())), (
            "the table has a row for each topic, or for the error"
        )


QUEUES = {"0": 0, "3": 1, "+3": 1, "2147483647": 1, "2147483648": 1, "9" * 20: 1, "7" * 5000: 1, "x": 1, "-1": 1}


@pytest.mark.parametrize("number", QUEUES)
def test_half_message_of_other_range_uses_queue_of_same_range(number: str, tmp_path: Path) -> None:
    """Different code reads it than the walk's; both interpret the same numbers."""
    log = record("Orders", 0, 0, "TAGS\1a\2")
    half = len(log)
    log += record(HALF, half, 0, f"REAL_TOPIC\1Orders\2REAL_QID\1{number}\2TRAN_MSG\1true\2", flags=PREPARED)
    log += record("Orders", len(log), 1, "TRAN_MSG\1true\2", flags=COMMIT, half=half)
    write(tmp_path / "commitlog" / ("0" * 20), log.ljust(len(log) + 1000, b"\0"))
    whole, cut = audited(tmp_path, 1 << 20), audited(tmp_path, 100)
    assert whole.counts == cut.counts
    assert whole.counts.get("TRX-06.queue", 0) == QUEUES[number]


@pytest.mark.parametrize(("timer", "findings"), [("TIMER_OUT_MS\0015\2", 0), ("", 1)])
def test_delivered_timer_with_commit_flag_ends_no_half_message(timer: str, findings: int, tmp_path: Path) -> None:
    """A delivered timer keeps its real topic and the flags of its sender. Without its time it would be a commit of the first record."""
    log = record("Orders", 0, 0, "TAGS\1a\2")
    log += record("Orders", len(log), 1, f"REAL_TOPIC\1Orders\2REAL_QID\0010\2{timer}", flags=COMMIT)
    write(tmp_path / "commitlog" / ("0" * 20), log.ljust(len(log) + 1000, b"\0"))
    assert audited(tmp_path, 1 << 20).counts.get("TRX-06.half", 0) == findings


BEYOND = [f"messageDelayLevel={'9' * 20}d", f"maxMessageSize={'9' * 20}", "maxMessageSize=-5", "maxMessageSize=2147483648"]


@pytest.mark.parametrize("text", BEYOND)
def test_setting_outside_broker_range_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no value that a broker takes"):
        of_broker(None, (text,))


def test_topic_count_beyond_int_is_another_form(tmp_path: Path) -> None:
    write(tmp_path / "topics.json", b'{"topicConfigTable": {"T": {"perm": 4294967296}}}')
    with pytest.raises(StoredError, match="is not a whole number from -2147483648 to 2147483647"):
        read_topics(str(tmp_path / "topics.json"))


@given(topic=st.binary(min_size=1, max_size=100), text=st.binary(max_size=200))
def test_sizes_are_measured_in_stored_bytes(topic: bytes, text: bytes) -> None:
    """INV-40: bytes that are no UTF-8 become longer in a text."""
    plain = record("T" * len(topic), 0, 0, "p" * len(text))
    behind = len(plain) - len(text)  # the properties are last; before them are their length, in two bytes, and the topic
    data = plain[: behind - 2 - len(topic)] + topic + plain[behind - 2 : behind] + text
    found = record_at(data, 0)
    assert found is not None
    assert (found.total_size, found.parts_size) == (len(data), len(data))


# Bytes that the system does not give


def fails(number: int) -> Callable[..., Any]:
    def call(*_: object) -> Any:
        raise OSError(number, os.strerror(number))

    return call


CODES = [errno.EIO, errno.EACCES, errno.EBADF, errno.ESTALE, errno.ENOMEM, errno.EINTR, errno.EOVERFLOW]


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="the system has no SEEK_DATA")
@pytest.mark.parametrize("number", CODES)
def test_only_enxio_means_that_no_data_follows(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100) + b"x")
    with paths.open_source(str(path)) as source:
        monkeypatch.setattr(os, "lseek", fails(errno.ENXIO))
        assert source.data_from(50) == 101
        monkeypatch.setattr(os, "lseek", fails(errno.EINVAL))
        assert source.data_from(50) == 50, "a file system without holes: everything may be data"
        monkeypatch.setattr(os, "lseek", fails(number))
        with pytest.raises(Unreadable, match=rf"file: cannot be read at byte 50 \({os.strerror(number)}\)"):
            source.data_from(50)


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="the system has no SEEK_DATA")
def test_file_that_became_shorter_does_not_end_in_zeros(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    with paths.open_source(str(path)) as source:
        os.truncate(path, 10)
        with pytest.raises(Unreadable, match="ends at byte 10, and had 100 bytes"):
            source.data_from(50)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, _ = made(tmp_path_factory.mktemp("sound") / "store", replace(SMALL, topics=2, queues=1))
    write(root / "config" / "subscriptionGroup.json", b'{"subscriptionGroupTable": {}}')
    write(root / "config" / "consumerOffset.json", b'{"offsetTable": {}}')
    write(root / "config" / "delayOffset.json", b'{"offsetTable": {}}')
    assert audited(root, 50_000).findings == []
    return root


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not tell the path of an open file")
@pytest.mark.parametrize("part", few([1, 0, 2, 3], 1))
def test_unreadable_bytes_are_problem_not_finding(part: int, sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a store in turn has an unreadable sector, at its begin or `part` quarters into it. The audit names both."""
    pread = os.preadv
    broken, bad = "", 0

    def preadv(file: int, buffers: list[memoryview], offset: int) -> int:
        if os.readlink(f"/proc/self/fd/{file}") != broken or offset + len(buffers[0]) <= bad:
            return pread(file, buffers, offset)
        if offset >= bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return pread(file, [buffers[0][: bad - offset]], offset)

    monkeypatch.setattr(os, "preadv", preadv)
    for path in nonempty([path for path in sorted(sound.rglob("*")) if path.is_file() and path.stat().st_size > 3]):
        broken, bad = str(path), part * path.stat().st_size // 4
        found: list[str]
        try:
            totals = audited(sound, 50_000)
            found, problems = sorted(totals.counts), totals.problems
        except StoredError as error:  # a file of the log, before any is audited
            found, problems = [], [str(error)]
        assert found == [], f"{path}, from byte {bad} on: nothing follows from bytes that nobody has read"
        if part == 0 or path.parent.name in ("commitlog", "config"):
            assert [each for each in problems if each.startswith(f"{path}: cannot be read at byte ")], f"{path}: {problems}"
