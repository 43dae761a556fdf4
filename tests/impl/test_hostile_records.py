"""Records and files from a hostile client or a damaged disk: every reader terminates, and every service continues."""

from __future__ import annotations

import logging
import struct
from itertools import islice

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from marks import behaviour, every
from simulated import present
from storing import Stand, message, real_files, real_stand, sized

from rocketproof_impl.message import Host, Message
from rocketproof_impl.ports import Region
from rocketproof_impl.simulator.scheduler import SimulatedThread
from rocketproof_impl.store import record
from rocketproof_impl.store.logreader import _LARGE
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.store.service import MessageStore
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.requests import batch_item
from rocketproof_protocol.flags import BORN_IPV6, HOSTS_IPV6, STORE_IPV6
from rocketproof_protocol.topics import SCHEDULE, WHEEL_TIMER_TOPIC

few = settings(max_examples=60, deadline=None, derandomize=True)
INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
IPV6 = "2001:0db8:0000:0000:0000:0000:0000:0001"
PORTS = st.integers(0, 65535)
V4 = st.tuples(st.binary(min_size=4, max_size=4).map(lambda data: ".".join(map(str, data))), PORTS)
V6 = st.tuples(st.binary(min_size=16, max_size=16).map(lambda data: data.hex(":", 2)), PORTS)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LATER = [name for name, profile in PROFILES.items() if profile.hosts_by_flag]
EARLIER = [name for name, profile in PROFILES.items() if not profile.hosts_by_flag]


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Generate messages as a store has them at the write: the flags agree with the hosts."""
    found = Message(
        draw(TEXT),
        draw(INT),
        draw(st.one_of(st.none(), st.binary(min_size=1, max_size=200))),
        flag=draw(INT),
        properties_text=draw(st.one_of(st.none(), TEXT.filter(bool))),
        sys_flag=draw(INT) & ~HOSTS_IPV6,
        born_timestamp=draw(LONG),
        born_host=draw(st.one_of(V4, V6)),
        store_host=draw(st.one_of(V4, V6)),
        reconsume_times=draw(INT),
        prepared_transaction_offset=draw(LONG),
        store_timestamp=draw(LONG),
        queue_offset=draw(LONG),
        physical_offset=draw(LONG),
    )
    found.body_crc = record.body_crc(found.body or b"")
    found.sys_flag |= record.flags_of_hosts(found)
    return found


def coded(given_: Message, *, hosts_by_flag: bool = True) -> bytes:
    return record.encode(given_, record.parts_of(given_, hosts_by_flag=hosts_by_flag))


# Reader and writer


@behaviour("APP-08", "REC-01", "REC-02")
@few
@given(messages(), st.booleans())
def test_written_records_round_trip(written: Message, exact: bool) -> None:
    data = coded(written)
    assert record.is_whole(data) and record.shape(data) is record.RecordLengths.WHOLE
    found = present(record.decode(data, exact=exact))
    for name in ("topic", "queue_id", "body", "properties_text", "sys_flag", "born_host", "store_host", "queue_offset", "physical_offset"):
        assert getattr(found, name) == getattr(written, name), name
    assert coded(found) == data
    assert len(found.msg_id) == (56 if written.sys_flag & STORE_IPV6 else 32)


@behaviour("APP-08", "REC-01")
@few
@given(messages(), st.data())
def test_every_readable_record_can_be_written_again(written: Message, data: st.DataObject) -> None:
    """Damage a record anywhere. The message read from it has the same bytes, or texts or lengths that no writer produces."""
    made = bytearray(coded(written))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(made) - 1))
        made[at] = data.draw(st.integers(0, 255))
    hosts_by_flag = data.draw(st.booleans())
    for whole in (False, True):
        found = record.decode(bytes(made), exact=False, hosts_by_flag=hosts_by_flag, whole=whole)
        if found is None:
            continue
        again = coded(found, hosts_by_flag=hosts_by_flag)
        once_more = present(record.decode(again, exact=False, hosts_by_flag=hosts_by_flag, whole=True))
        assert coded(once_more, hosts_by_flag=hosts_by_flag) == again
        magic_and_length = struct.unpack_from(">iI", made)[0] == len(made) and made[4:8] == bytes.fromhex("DAA320A7")
        if record.is_whole(bytes(made), hosts_by_flag=hosts_by_flag) and magic_and_length and "\ufffd" not in found.topic:
            text = found.properties_text or ""
            assert again == made or "\ufffd" in text or not text


@behaviour("APP-08")
@few
@given(messages())
def test_a_release_without_ipv6_keeps_four_bytes_of_an_address(written: Message) -> None:
    data = coded(written, hosts_by_flag=False)
    assert record.is_whole(data, hosts_by_flag=False)
    found = present(record.decode(data, exact=False, hosts_by_flag=False))
    assert record.host_bytes(found.born_host) == record.host_bytes(written.born_host)[:4] + record.host_bytes(written.born_host)[-4:]


@behaviour("REC-01")
@pytest.mark.parametrize("host", ["born_host", "store_host"])
def test_record_with_a_port_above_65535_is_dispatched_but_unreadable(host: str) -> None:
    data = coded(message(**{host: ("127.0.0.1", 65536)}))
    assert record.decode(data, exact=False) is None
    assert record.decode(data, exact=False, whole=True) is not None


# Hosts of IPv6 in a store


@behaviour("APP-08", "REC-02", "REC-05")
@every
def test_store_with_ipv6_hosts_loads_and_delivers_delayed_messages(profile: str) -> None:
    hosts: dict[str, Host] = {"born_host": (IPV6, 1), "store_host": (IPV6, 2)}
    stand = Stand(profile)
    stand.put(message(**hosts))
    stand.put_batch(message("Batch", body=batch_item(b"a", "") * 2, **hosts))
    stand.put(message("Later", properties={"DELAY": "1"}, **hosts))
    stand.store.dispatch()
    stand = stand.reopen()
    stand.scheduler.advance(2000)
    assert stand.deliver() == 1
    stand.store.dispatch()
    found = present(stand.store.get_message("Later", 0, 0))
    address = IPV6 if stand.profile.hosts_by_flag else "32.1.13.184"
    assert (found.born_host, found.store_host) == ((address, 1), (address, 2))
    assert stand.store.max_offset("Batch", 0) == 2


OTHERS = [SCHEDULE.encode(), WHEEL_TIMER_TOPIC.encode()]


def run_services(stand: Stand) -> list[SimulatedThread[None]]:
    """Start the threads of the store."""
    return [stand.scheduler.spawn(service.run(), service.name) for service in stand.store.services()]


def body_with_lengths(flags: int, topic: str, inner: bytes, inner_topic: bytes, rest: bytes) -> bytes:
    """Return a body whose bytes read as the lengths of a whole record, if `flags` claim IPv6 and the hosts are IPv4.

    The reader finds each field after the hosts 12 bytes later per flag, so it finds the length of the body inside the body.
    """
    shift = record.longer_hosts(flags)
    after_body = 1 + len(topic) + 2 + shift  # bytes of the record after the body: topic, length of the properties, zeros
    return b"".join(
        (
            bytes(shift - 4),
            struct.pack(">i", len(inner)),
            inner,
            bytes((len(inner_topic),)),
            inner_topic,
            struct.pack(">h", len(rest) + after_body),
            rest,
        )
    )


@behaviour("REC-04", "HAZ-51")
@few
@example("P494", STORE_IPV6, b"", b"", b"")
@given(
    st.sampled_from(LATER),
    st.sampled_from([BORN_IPV6, STORE_IPV6, HOSTS_IPV6]),
    st.binary(max_size=50),
    st.one_of(st.sampled_from([b"", b"/", b"..", b"../x", b"TopicTest", *OTHERS]), st.binary(max_size=127)),
    st.binary(max_size=80),
)
def test_dispatch_continues_after_a_body_read_as_lengths(profile: str, flags: int, inner: bytes, inner_topic: bytes, rest: bytes) -> None:
    stand = Stand(profile)
    body = body_with_lengths(flags, "TopicTest", inner, inner_topic, rest)
    services = run_services(stand)
    assert stand.put(message(body=body, sys_flag=flags)).status is PutMessageStatus.PUT_OK
    for _ in range(3):
        stand.put(message())
    stand.scheduler.advance(3000)
    assert [task.name for task in services if task.done.done] == []
    assert stand.store.behind() == 0
    assert stand.store.max_offset("TopicTest", 0) == 4  # the record took offset 0


@behaviour("REC-04", "HAZ-51")
@pytest.mark.parametrize("profile", LATER)
def test_dispatch_continues_after_a_body_length_that_spans_the_rest(profile: str) -> None:
    stand = Stand(profile)
    services = run_services(stand)
    padding = bytes(20)
    body = bytes(8) + struct.pack(">i", 12 + len(padding) + len("TopicTest")) + padding
    assert stand.put(message(body=body, sys_flag=STORE_IPV6)).status is PutMessageStatus.PUT_OK
    for _ in range(3):
        stand.put(message())
    stand.scheduler.advance(3000)
    assert [task.name for task in services if task.done.done] == []
    assert stand.store.max_offset("TopicTest", 0) == 4


# Lengths on the disk

FILE_SIZE = 400
RECORD_SIZE = 100  # three records and a blank per file
RECORDS = 8
PLACES = [number // 3 * FILE_SIZE + number % 3 * RECORD_SIZE for number in range(RECORDS)]
BLANKS = [300, 700]
SIZES = st.one_of(st.sampled_from([0, -1, 1, 8, RECORD_SIZE, FILE_SIZE, 2**31 - 1, -(2**31)]), INT)
MAGICS = st.sampled_from([record.BLANK_MAGIC, record.MESSAGE_MAGIC, 0])


def damaged(profile: str, damage: dict[int, tuple[int, int]], *, clean: bool, queues: bool) -> Stand:
    """Return a stand on a store whose log has other sizes and magic numbers at some offsets."""
    stand = Stand(profile, mapped_file_size_commit_log=FILE_SIZE, mapped_file_size_consume_queue=1000)
    for _ in range(RECORDS):
        stand.put(sized(RECORD_SIZE))
    stand.store.dispatch()
    for place, (size, magic) in damage.items():
        path = f"store/commitlog/{place // FILE_SIZE * FILE_SIZE:020d}"
        stand.disk.regions[path].write(place % FILE_SIZE, struct.pack(">ii", size, magic))
    if clean:
        stand.disk.delete("store/abort")
    if not queues:
        for path in [path for path in stand.disk.files if path.startswith("store/consumequeue/")]:
            stand.disk.delete(path)
    fresh = Stand(profile, stand.disk)
    fresh.settings = stand.settings
    fresh.store = MessageStore(fresh.settings, fresh.profile, fresh.clock, fresh.disk)
    return fresh


@behaviour("REC-02", "REC-04")
@settings(few, max_examples=25)
@example("P494", {0: (0, record.BLANK_MAGIC)}, True, False)
@given(
    st.sampled_from(sorted(PROFILES)),
    st.dictionaries(st.sampled_from(PLACES + BLANKS), st.tuples(SIZES, MAGICS), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
)
def test_every_scan_ends_after_damaged_sizes(profile: str, damage: dict[int, tuple[int, int]], clean: bool, queues: bool) -> None:
    stand = damaged(profile, damage, clean=clean, queues=queues)
    log = stand.store.commit_log
    log.files.load(stand.profile.wrong_length)
    for dispatching in (False, True):
        steps = list(islice(log.records(0, log.files.max_offset, dispatching=dispatching), 100))
        assert len(steps) < 100
        assert [at for at, _ in steps] == sorted({at for at, _ in steps})
    fresh = damaged(profile, damage, clean=clean, queues=queues)
    assert fresh.store.load()
    services = run_services(fresh)
    fresh.put(sized(RECORD_SIZE))
    fresh.scheduler.advance(2000)
    assert [task.name for task in services if task.done.done] == []


@behaviour("REC-02")
@pytest.mark.parametrize("size", [0, -1, 8, 100, 2**31 - 1])
def test_blank_of_any_size_leads_to_the_next_file(size: int) -> None:
    stand = damaged("P494", {300: (size, record.BLANK_MAGIC)}, clean=True, queues=False)
    assert stand.store.load()
    assert stand.store.max_offset("T", 0) == RECORDS


class Asked:
    """A region that records the largest requested number of bytes."""

    def __init__(self, region: Region) -> None:
        self.size, self.write, self.force = region.size, region.write, region.force
        self._read = region.read
        self.largest = 0

    def read(self, position: int, size: int) -> bytes:
        self.largest = max(self.largest, size)
        return self._read(position, min(size, 1000))


@behaviour("REC-01")
@pytest.mark.parametrize("size", [_LARGE + 1, 1 << 29, 2**31 - 1])
def test_damaged_size_of_a_large_file_is_not_read(size: int) -> None:
    """The lengths inside the record add up to less, so no reader requests the bytes of the whole size."""
    stand = Stand("P494", mapped_file_size_commit_log=2**31 - 1)
    stand.put(message())
    stand.store.commit_log.files.files[0].end(2**31 - 1)
    mapped = stand.store.commit_log.files.files[0]
    mapped.region.write(0, struct.pack(">i", size))
    mapped.region = asked = Asked(mapped.region)
    stand.store.commit_log.look(0)
    stand.store.select_one_message_by_offset(0)
    stand.store.dispatch()
    assert 0 < asked.largest <= _LARGE


# Any bytes in any file

CHANGES = st.tuples(
    st.sampled_from(sorted(path for path in real_files() if real_files()[path])),
    st.integers(0, 4000),
    st.one_of(st.binary(min_size=1, max_size=8), INT.map(lambda number: struct.pack(">i", number))),
)


@behaviour("REC-02", "REC-04", "PER-03")
@settings(few, max_examples=25)
@given(st.lists(CHANGES, min_size=1, max_size=4), st.booleans())
def test_no_service_ends_on_a_store_with_changed_bytes(changes: list[tuple[str, int, bytes]], crashed: bool) -> None:
    """A start fails, or every service continues. No error is logged that releases do not have."""
    stand = real_stand()
    for path, at, data in changes:
        content = stand.disk.files[f"store/{path}"]
        at %= len(content)
        content[at : at + len(data)] = data[: len(content) - at]
    if crashed:
        stand.disk.write("store/abort", b"")
    unforeseen: list[str] = []
    handler = Unforeseen(unforeseen)
    log = logging.getLogger("rocketproof_impl")
    log.addHandler(handler)
    try:
        if not stand.store.load():
            return
        services = run_services(stand)
        stand.put(message())
        stand.scheduler.advance(1500)
        stand.deliver()
        ended = [task.name for task in services if task.done.done]
        stand.scheduler.complete(stand.store.stop())
    finally:
        log.removeHandler(handler)
    assert ended == [] and unforeseen == []
    assert all(task.done.done for task in services)


class Unforeseen(logging.Handler):
    """Keeps the log messages about contained exceptions, which include a traceback."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._kept.append(record.getMessage())
