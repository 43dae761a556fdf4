"""Replication: the bytes in both directions, puts that wait for it, and a slave that follows its master."""

from __future__ import annotations

from typing import Any

import pytest
from marks import behaviour
from storing import Stand, appended, message, sized

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.link import Link
from rocketproof_impl.message import Message
from rocketproof_impl.producer.result import SendStatus
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_impl.store.ha import HEADER, OFFSET
from rocketproof_impl.store.haclient import MOST_BYTES, HAClient
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.store.service import MessageStore
from rocketproof_protocol.properties import WAIT

SECOND = 1000


class Peer(Stand):
    """A store and one connection; the test is the other end. `sent` has the bytes that the store sent."""

    def __init__(self, **settings: Any) -> None:
        super().__init__("P49", **settings)
        self.sent = bytearray()
        self.hung_up = False

    def _hang_up(self) -> None:
        self.hung_up = True

    def make_link(self) -> Link:
        return Link("peer:1", self.sent.extend, self._hang_up)

    def taken(self) -> bytes:
        found = bytes(self.sent)
        self.sent.clear()
        return found


class Master(Peer):
    """A master with one slave, the test."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"broker_role": "SYNC_MASTER", "mapped_file_size_commit_log": 100_000} | settings)
        for service in self.store.services():
            self.scheduler.spawn(service.run(), service.name)

    def begin_put(self) -> None:
        """Start a put without waiting for its result."""
        self.put(message(properties={WAIT: "false"}))

    def connect(self, has: int | None = None) -> Link:
        """Connect a slave, and report this offset unless it is None."""
        link = self.make_link()
        for service in self.store.ha.accept(link):
            self.scheduler.spawn(service.run(), service.name)
        self.scheduler.settle()
        if has is not None:
            self.report(link, has)
        return link

    def report(self, link: Link, offset: int) -> None:
        link.feed(OFFSET.pack(offset))
        self.scheduler.advance(10)

    def pieces(self) -> list[tuple[int, int]]:
        """Return start and length of each sent piece; assert that its bytes are those of the log."""
        data, found = self.taken(), []
        while data:
            where, size = HEADER.unpack_from(data)
            assert data[12 : 12 + size] == self.store.commit_log.data_from(where, size) or not size
            found.append((where, size))
            data = data[12 + size :]
        return found


class Slave(Peer):
    """A slave whose master is the test."""

    link: Link

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"broker_role": "SLAVE", "mapped_file_size_commit_log": 2000} | settings)
        self.dialled: list[str] = []
        self.refuses = False
        for service in self.store.services(self._dial):
            self.scheduler.spawn(service.run(), service.name)
        self.scheduler.settle()

    async def _dial(self, address: str) -> Link:
        self.dialled.append(address)
        if self.refuses:
            raise ConnectionRefusedError(address)
        self.link = self.make_link()
        return self.link

    def follow(self) -> None:
        """Connect as a started slave does: at its next check, five seconds after the first."""
        self.store.ha_client.update_master_address("master:10912")
        self.scheduler.advance(5 * SECOND)

    def push(self, where: int, data: bytes) -> None:
        self.link.feed(HEADER.pack(where, len(data)) + data)
        self.scheduler.settle()

    def reports(self) -> list[int]:
        return [offset for (offset,) in OFFSET.iter_unpack(self.taken())]


def log_of(store: MessageStore, start: int = 0) -> bytes:
    return b"".join(store.commit_log.data_from(mapped.file_from_offset, mapped.size) or b"" for mapped in store.commit_log.files.files)[
        start:
    ]


# The master


@pytest.fixture
def master() -> Master:
    return Master()


@behaviour("FLU-07")
def test_master_waits_for_the_slaves_first_report(master: Master) -> None:
    master.put(message())
    link = master.connect()
    master.scheduler.advance(19 * SECOND)
    assert (master.taken(), master.store.ha.connections) == (b"", 1)
    master.report(link, 0)
    assert master.taken() == HEADER.pack(0, 0) + HEADER.pack(0, 105) + master.log()


@pytest.mark.parametrize(("asked", "first"), [(0, 4000), (105, 105), (4000, 4000), (4105, 4105)])
def test_slave_gets_the_log_from_its_reported_offset(asked: int, first: int) -> None:
    """An empty slave gets only the last file."""
    master = Master(mapped_file_size_commit_log=2000)
    for _ in range(46):
        master.begin_put()
    assert [mapped.wrote_position for mapped in master.store.commit_log.files.files] == [2000, 2000, 46 * 105 - 36 * 105]
    master.connect(has=asked)
    pieces = master.pieces()
    end = master.store.max_phy_offset
    assert pieces[0][0] == first if first < end else not pieces
    assert sum(size for _, size in pieces) == end - first
    assert all(where // 2000 == (where + size - 1) // 2000 for where, size in pieces), "no piece crosses the end of a file"


def test_pieces_have_at_most_32_kib(master: Master) -> None:
    master.put(sized(80_000))
    master.connect(has=0)
    assert master.pieces() == [(0, 32_768), (32_768, 32_768), (65_536, 14_464)]
    master.settings.ha_transfer_batch_size = 100
    master.put(sized(150))
    master.scheduler.advance(100)
    assert master.pieces() == [(80_000, 100), (80_100, 50)]


def test_heartbeat_is_sent_after_five_seconds_of_silence(master: Master) -> None:
    master.put(message())
    master.connect(has=105)
    master.scheduler.advance(5 * SECOND - 11)
    assert master.taken() == b""
    master.scheduler.advance(150)
    assert master.pieces() == [(105, 0)]
    master.begin_put()
    master.scheduler.advance(5 * SECOND)
    assert master.pieces() == [(105, 105)]
    master.scheduler.advance(300)
    assert master.pieces() == [(210, 0)]


def test_master_disconnects_a_slave_silent_for_twenty_seconds(master: Master) -> None:
    link = master.connect(has=0)
    master.scheduler.advance(20 * SECOND - 10)
    assert (master.store.ha.connections, master.hung_up) == (1, False)
    master.scheduler.advance(2 * SECOND)
    assert (master.store.ha.connections, master.hung_up, link.closed) == (0, True, True)
    assert master.store.ha.connection_list == []


def test_slave_ahead_of_its_master_is_disconnected(master: Master) -> None:
    """The first report is the exception: the master takes it as the requested offset."""
    master.put(message())
    link = master.connect(has=500)
    assert (master.store.ha.connections, master.taken()) == (1, b"")
    master.report(link, 105)
    assert master.store.ha.connections == 1
    master.report(link, 106)
    assert (master.store.ha.connections, master.hung_up) == (0, True)


def test_a_closed_connection_does_not_count(master: Master) -> None:
    first, second = master.connect(), master.connect()
    assert master.store.ha.connections == 2
    first.ended()
    master.scheduler.settle()
    assert master.store.ha.connections == 1
    second.close()
    master.scheduler.advance(200)
    assert master.store.ha.connections == 0


@pytest.mark.parametrize("chunks", [(1, 7), (3, 5), (8, 8), (12, 4), (8, 1, 7), (1, 1, 14)])
def test_offsets_arrive_in_pieces_of_any_size(master: Master, chunks: tuple[int, ...]) -> None:
    """The last of several whole offsets counts."""
    for _ in range(3):
        master.put(message())
    link = master.connect()
    stream = b"".join(OFFSET.pack(offset) for offset in (105, 210)[: sum(chunks) // 8])
    for chunk in chunks:
        link.feed(stream[:chunk])
        stream = stream[chunk:]
        master.scheduler.settle()
    assert master.store.ha.push2_slave_max_offset == 105 * (sum(chunks) // 8)


def test_stopped_master_disconnects_slaves_and_accepts_no_more(master: Master) -> None:
    link = master.connect(has=0)
    master.scheduler.complete(master.store.stop())
    assert (link.closed, master.store.ha.connections) == (True, 0)
    assert master.connect().closed
    assert master.store.ha.connections == 0


def test_a_slave_that_does_not_read_gets_no_more(master: Master) -> None:
    link = master.connect(has=0)
    link.hold(True)
    for _ in range(5):
        master.put(message())
        master.scheduler.advance(200)
    assert master.taken() == b""
    link.hold(False)
    master.scheduler.advance(200)
    assert master.pieces() == [(0, 105), (105, 420)]


# Waiting puts


@behaviour("FLU-07", "LIV-09")
@pytest.mark.parametrize("after", [0, 1, 999, 2999])
def test_a_put_waits_until_a_slave_has_it(master: Master, after: int) -> None:
    link = master.connect()
    link.feed(OFFSET.pack(0))
    master.scheduler.advance(10)
    task = master.scheduler.spawn(master.store.put_message(message()))
    master.scheduler.advance(after)
    assert not task.done.done
    assert master.pieces() == [(0, 105)], "a put wakes the transfer"
    link.feed(OFFSET.pack(105))
    master.scheduler.advance(0)
    assert task.result().status is PutMessageStatus.PUT_OK


@behaviour("FLU-07")
def test_partial_copy_does_not_complete_a_put(master: Master) -> None:
    link = master.connect(has=0)
    task = master.scheduler.spawn(master.store.put_message(message()))
    master.scheduler.settle()
    master.report(link, 104)
    began = master.clock.now()
    assert master.scheduler.run(task.done).status is PutMessageStatus.FLUSH_SLAVE_TIMEOUT
    assert master.clock.now() == began - 10 + 3000
    master.report(link, 105)
    assert master.store.ha.push2_slave_max_offset == 105


@behaviour("FLU-07")
def test_many_puts_wait_for_one_report(master: Master) -> None:
    link = master.connect(has=0)
    tasks = [master.scheduler.spawn(master.store.put_message(message())) for _ in range(20)]
    master.scheduler.advance(5)
    master.report(link, 105 * 20)
    assert {task.result().status for task in tasks} == {PutMessageStatus.PUT_OK}


@behaviour("FLU-07")
def test_timed_out_put_stops_delaying_later_puts(master: Master) -> None:
    """The thread checks one put after the other."""
    link = master.connect(has=0)
    first = master.scheduler.spawn(master.store.put_message(message()))
    master.scheduler.advance(1500)
    second = master.scheduler.spawn(master.store.put_message(message()))
    master.scheduler.advance(1500)
    assert first.result().status is PutMessageStatus.FLUSH_SLAVE_TIMEOUT
    master.report(link, 210)
    assert second.result().status is PutMessageStatus.PUT_OK


@behaviour("FLU-07")
def test_without_a_slave_no_put_waits(master: Master) -> None:
    began = master.clock.now()
    assert master.put(message()).status is PutMessageStatus.SLAVE_NOT_AVAILABLE
    link = master.connect(has=105)
    link.ended()
    master.scheduler.settle()
    assert master.put(message()).status is PutMessageStatus.SLAVE_NOT_AVAILABLE
    assert master.clock.now() == began + 10


# The slave


def test_a_slave_reports_first_after_five_seconds() -> None:
    slave = Slave()
    slave.follow()
    assert (slave.dialled, slave.taken()) == (["master:10912"], b"")
    slave.scheduler.advance(5 * SECOND)
    assert slave.reports() == []
    slave.scheduler.advance(SECOND)
    assert slave.reports() == [0]
    slave.scheduler.advance(12 * SECOND)
    assert slave.reports() == [0, 0], "at its checks every second, after more than five seconds"


def test_a_slave_without_a_master_connects_nowhere() -> None:
    slave = Slave()
    slave.scheduler.advance(60 * SECOND)
    assert slave.dialled == []


def test_a_slave_appends_and_reports_each_piece() -> None:
    master, slave = Master(), Slave()
    for _ in range(3):
        master.put(message())
    slave.follow()
    slave.push(0, master.log()[:105])
    assert slave.reports() == [105]
    slave.push(105, b"")
    assert slave.reports() == []
    slave.push(105, master.log()[105:315])
    assert slave.reports() == [315]
    assert slave.log() == master.log()
    slave.scheduler.advance(1)
    assert slave.store.max_offset("TopicTest", 0) == 3
    assert slave.store.get_message("TopicTest", 0, 2) == master.store.look_message_by_offset(210)


@pytest.mark.parametrize("size", [1, 5, 11, 13, 100])
def test_slave_accepts_pieces_split_anywhere(size: int) -> None:
    """A record split over two pieces is no record until both have arrived."""
    master, slave = Master(), Slave()
    for _ in range(4):
        master.put(message())
    log, slave.link = master.log(), slave.make_link()
    stream = b"".join(HEADER.pack(where, 70) + log[where : where + 70] for where in range(0, 420, 70))
    slave.follow()
    for start in range(0, len(stream), size):
        slave.link.feed(stream[start : start + size])
        slave.scheduler.advance(1)
        assert slave.store.dispatched_to % 105 == 0
        assert slave.store.dispatched_to <= slave.store.max_phy_offset
    assert slave.log() == log
    assert slave.reports() == [70, 140, 210, 280, 350, 420]
    slave.scheduler.advance(1)
    assert slave.store.max_offset("TopicTest", 0) == 4


def test_empty_slave_begins_at_the_masters_offset() -> None:
    """Its log does not begin at 0; it is flushed and dispatched nevertheless."""
    master, slave = Master(mapped_file_size_commit_log=2000), Slave()
    for _ in range(25):
        master.begin_put()
    assert [mapped.wrote_position for mapped in master.store.commit_log.files.files] == [2000, 735]
    slave.follow()
    slave.push(2000, master.store.commit_log.data_from(2000, 2000) or b"")
    slave.scheduler.advance(11 * SECOND)
    files = slave.store.commit_log.files
    assert (files.min_offset, files.max_offset, files.flushed_where) == (2000, 2735, 2735)
    assert [record.queue_offset for record in slave.store.records(2000)] == list(range(18, 25))
    assert slave.store.behind() == 0
    assert slave.store.get_message("TopicTest", 0, 24) is not None


@pytest.mark.parametrize("head", [HEADER.pack(106, 5), HEADER.pack(0, 5), HEADER.pack(105, -1), HEADER.pack(105, MOST_BYTES)])
def test_slave_disconnects_from_a_master_that_sends_other_data(head: bytes) -> None:
    """Other data is an offset different from the slave's end, or an implausible size. The slave reconnects and reports its end."""
    master, slave = Master(), Slave()
    master.put(message())
    slave.follow()
    slave.push(0, master.log())
    slave.link.feed(head)
    slave.scheduler.settle()
    assert slave.hung_up
    assert slave.dialled == ["master:10912"] * 2
    slave.taken()
    slave.push(105, b"")
    slave.scheduler.advance(6 * SECOND)
    assert slave.reports() == [105]


@pytest.mark.parametrize(("cut", "end"), [(1, 105), (8, 105), (60, 105), (92, 105), (93, 105), (94, 210), (100, 210)])
def test_slave_that_ends_inside_a_record_requests_it_again(cut: int, end: int) -> None:
    """Exception: the body and the lengths are complete.

    The checksum covers only the body, so a record whose topic or properties are zeros is accepted as whole.
    """
    master, slave = Master(), Slave()
    for _ in range(3):
        master.put(message())
    slave.follow()
    slave.push(0, master.log()[: 105 + cut])
    again = slave.reopen()
    assert again.store.max_phy_offset == end
    assert (log_of(again.store) == master.log()[:end]) is (end == 105)


def test_a_slave_tries_again_every_five_seconds() -> None:
    slave = Slave()
    slave.refuses = True
    slave.follow()
    slave.scheduler.advance(20 * SECOND)
    assert len(slave.dialled) == 5
    slave.refuses = False
    slave.scheduler.advance(5 * SECOND)
    assert len(slave.dialled) == 6
    slave.link.ended()
    slave.scheduler.settle()
    assert len(slave.dialled) == 7, "a lost connection is made again at once"


def test_stopped_slave_disconnects() -> None:
    slave = Slave()
    slave.follow()
    service = next(service for service in slave.store.services(slave._dial) if isinstance(service, HAClient))
    slave.scheduler.complete(slave.store.stop())
    assert slave.hung_up
    assert service.ended.done


# Both


class Pair(Cluster):
    """A master and a slave with all their threads and periodic tasks."""

    def __init__(self, role: str = "SYNC_MASTER", **settings: Any) -> None:
        super().__init__(services=True, broker_role=role, mapped_file_size_commit_log=3000, **settings)
        self.sender = self.producer()
        self.add(
            BrokerSettings(
                broker_id=1, broker_role="SLAVE", listen_port=10921, name_servers=("127.0.0.1:9876",), mapped_file_size_commit_log=3000
            )
        )

    def send(self, body: bytes = b"hello") -> SendStatus:
        return self.scheduler.complete(self.sender.send(Message("TopicTest", body=body))).status

    def settle(self, millis: int = 12 * SECOND) -> None:
        """Wait until the slave has connected, reported and caught up."""
        self.scheduler.advance(millis)

    @property
    def master(self) -> MessageStore:
        return self.broker().store

    @property
    def slave(self) -> MessageStore:
        return self.broker("broker-a:1").store

    def synced(self) -> bool:
        return log_of(self.slave) == log_of(self.master, self.slave.commit_log.files.min_offset)


@behaviour("FLU-07", "NS-02")
def test_a_slave_follows_the_master_that_the_name_server_names() -> None:
    pair = Pair()
    assert pair.send() is SendStatus.SLAVE_NOT_AVAILABLE
    pair.settle()
    for number in range(60):
        assert pair.send(b"x" * (1 + number * 7)) is SendStatus.SEND_OK
        assert pair.slave.max_phy_offset == pair.master.max_phy_offset
    pair.settle(100)
    assert len(pair.master.commit_log.files.files) > 5
    assert pair.synced()
    assert pair.slave.behind() == pair.master.behind() == 0
    for queue in range(4):
        assert pair.slave.max_offset("TopicTest", queue) == pair.master.max_offset("TopicTest", queue) > 0


@behaviour("STO-01")
def test_slave_refuses_messages() -> None:
    pair = Pair()
    pair.settle()
    stored = pair.scheduler.complete(pair.slave.put_message(message()))
    assert stored.status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert stored.append is None


def test_slave_copies_the_topic_table() -> None:
    pair = Pair()
    pair.send()
    pair.settle()
    slave = pair.broker("broker-a:1")
    assert slave.topics.select("TopicTest") is None
    assert slave.slave.master_addr == pair.node().settings.address
    pair.scheduler.complete(slave.slave.sync_all())
    assert slave.topics.table == pair.broker().topics.table
    assert slave.topics.data_version == pair.broker().topics.data_version
    assert b"TopicTest" in (pair.node("broker-a:1").disk.read(slave.topics.path) or b"")
    master = pair.broker()
    pair.scheduler.complete(master.slave.sync_all())
    assert master.slave.master_addr is None


def test_same_version_and_dead_master_change_no_table() -> None:
    pair = Pair()
    pair.settle()
    slave = pair.broker("broker-a:1")
    pair.scheduler.complete(slave.slave.sync_all())
    del slave.topics.table["BenchmarkTest"]
    pair.scheduler.complete(slave.slave.sync_all())
    assert "BenchmarkTest" not in slave.topics.table
    pair.crash()
    pair.scheduler.complete(slave.slave.sync_all())
    assert "TBW102" in slave.topics.table


def test_a_slave_that_was_away_catches_up() -> None:
    pair = Pair("ASYNC_MASTER")
    pair.settle()
    for _ in range(10):
        pair.send()
    pair.settle(200)
    pair.crash("broker-a:1")
    for number in range(40):
        pair.send(b"y" * (1 + number))
    pair.restart("broker-a:1")
    pair.settle()
    assert pair.synced()
    assert pair.slave.behind() == 0


def test_a_master_that_was_away_is_found_again() -> None:
    pair = Pair()
    pair.settle()
    assert pair.send() is SendStatus.SEND_OK
    pair.crash()
    pair.restart()
    pair.sender.topic_publish_info_table.clear()
    pair.scheduler.complete(pair.broker("broker-a:1").start())
    pair.settle(20 * SECOND)
    assert pair.send() is SendStatus.SEND_OK
    assert pair.synced()


@behaviour("FLU-07", "LIV-09")
def test_slow_connection_makes_a_slave_late() -> None:
    pair = Pair()
    pair.settle()
    for delay, status in ((1400, PutMessageStatus.PUT_OK), (1600, PutMessageStatus.FLUSH_SLAVE_TIMEOUT)):
        pair.streams.delay = delay
        stored = pair.scheduler.complete(pair.master.put_message(message()))
        assert (stored.status, appended(stored).wrote_bytes) == (status, 105)
    pair.settle(5000)
    assert pair.synced()
