"""Replication, the master's side: sends the log to every connected slave, and lets puts wait until a slave has it (FLU-07).

A slave sends only the end of its log, as eight bytes. It receives pieces of the master's log. Twelve bytes before each piece contain its
offset and length; a piece without data is a heartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct

from rocketproof_profiles import Profile

from ..link import Link
from ..ports import Clock
from ..service import Service, sleep
from ..tasks import Future, Wait
from .commitlog import CommitLog
from .log import log
from .settings import StoreSettings

HEADER = Struct(">qi")
OFFSET = Struct(">q")
SELECT, FIRST_WAIT, NEXT_WAIT = 1000, 10, 100
GROUP_WAIT, TRANSFER_WAIT = 10, 1000


@dataclass(slots=True)
class TransferRequest:
    """A put that waits until a slave has the log up to an offset, at most until its deadline (ms)."""

    next_offset: int
    deadline: int
    transferred: Future[bool] = field(default_factory=Future)


class HAService:
    """All slaves of a master, as `Replicas` (flush.py). The listener passes every connection to `accept`.

    `transfers` is the thread that answers waiting puts. A driver spawns it and the threads that `accept` returns.
    """

    def __init__(self, settings: StoreSettings, profile: Profile, clock: Clock, commit_log: CommitLog) -> None:
        self.settings = settings
        self.clock = clock
        self.commit_log = commit_log
        self.connections = 0
        self.push2_slave_max_offset = 0
        self.connection_list: list[HAConnection] = []
        self.transfers = GroupTransferService(self)
        self._profile = profile
        self._stopped = False

    def accept(self, link: Link) -> tuple[Service, ...]:
        """Add a connected slave. Return the threads to run for it, none if the master stops."""
        if self._stopped:
            link.close()
            return ()
        connection = HAConnection(self, link)
        self.connections += 1
        self.connection_list.append(connection)
        log.info("HAService receive new connection, %s", link.remote)
        return connection.reader, connection.writer

    def request(self, next_offset: int) -> Future[bool]:
        """Return a future of whether a slave has the log up to this offset in time."""
        millis = self.settings.slave_timeout if self._profile.replica_wait is None else self._profile.replica_wait
        request = TransferRequest(next_offset, self.clock.now() + millis)
        self.transfers.put_request(request)
        for connection in self.connection_list:
            connection.writer.wakeup()
        return request.transferred

    def notify_transfer_some(self, offset: int) -> None:
        """Record that a slave has the log up to this offset."""
        if offset > self.push2_slave_max_offset:
            self.push2_slave_max_offset = offset
            self.transfers.notify_transfer_some()

    async def shutdown(self) -> None:
        """Disconnect every slave, then end the waits of puts."""
        self._stopped = True
        for connection in list(self.connection_list):
            connection.close()
        await self.transfers.shutdown()


class HAConnection:
    """A slave: the offset that it first requested, and the offset that it has (-1 until it reports). Each direction has a thread."""

    __slots__ = ("ack_offset", "link", "reader", "request_offset", "service", "writer")

    def __init__(self, service: HAService, link: Link) -> None:
        self.service = service
        self.link = link
        self.request_offset = -1
        self.ack_offset = -1
        self.reader = ReadSocketService(self)
        self.writer = WriteSocketService(self)

    def close(self) -> None:
        """End both threads, and do not count the slave any more."""
        self.reader.stop()
        self.writer.stop()
        self.link.close()
        if self in self.service.connection_list:
            self.service.connection_list.remove(self)
            self.service.connections -= 1


class _SocketService(Service):
    """One direction of a connection to a slave. An error in either direction ends the connection, as in the release."""

    __slots__ = ("_connection",)

    def __init__(self, name: str, connection: HAConnection) -> None:
        super().__init__(name)
        self._connection = connection

    async def failed(self) -> None:
        self.stop()

    def release(self) -> None:
        self._connection.close()


class ReadSocketService(_SocketService):
    """Reads the slave's reports. A slave that is silent for 20 s, or that has more than its master, is disconnected."""

    __slots__ = ("_incomplete", "_last_read")

    def __init__(self, connection: HAConnection) -> None:
        super().__init__("ReadSocketService", connection)
        self._incomplete = b""
        self._last_read = connection.service.clock.now()

    async def round(self) -> None:
        if not await self._receive():
            self.stop()

    async def _receive(self) -> bool:
        service = self._connection.service
        data = await self._connection.link.read(SELECT)
        if data is not None:
            self._last_read = service.clock.now()
            return bool(data) and self._process(data)
        return service.clock.now() - self._last_read <= service.settings.ha_housekeeping_interval

    def _process(self, data: bytes) -> bool:
        """Read the last complete offset. Return False if it is after the end of the master's log."""
        data = self._incomplete + data
        whole = len(data) - len(data) % OFFSET.size
        self._incomplete = data[whole:]
        if not whole:
            return True
        connection, service = self._connection, self._connection.service
        (connection.ack_offset,) = OFFSET.unpack_from(data, whole - OFFSET.size)
        if connection.request_offset < 0:
            connection.request_offset = connection.ack_offset
            log.info("slave[%s] request offset %d", connection.link.remote, connection.ack_offset)
        elif connection.ack_offset > (end := service.commit_log.files.max_offset):
            log.warning("slave[%s] has %d, more than the %d of its master", connection.link.remote, connection.ack_offset, end)
            return False
        service.notify_transfer_some(connection.ack_offset)
        return True


class WriteSocketService(_SocketService):
    """Sends the log from the requested offset on, in pieces of at most 32 KiB, and a heartbeat after 5 s without a piece."""

    __slots__ = ("_last_write", "next_transfer_from_where")

    def __init__(self, connection: HAConnection) -> None:
        super().__init__("WriteSocketService", connection)
        self.next_transfer_from_where = -1
        self._last_write = connection.service.clock.now()

    async def round(self) -> None:
        service = self._connection.service
        if self._connection.request_offset < 0:
            await sleep(FIRST_WAIT)
            return
        if self.next_transfer_from_where < 0:
            self.next_transfer_from_where = self._first()
        if service.clock.now() - self._last_write > service.settings.ha_send_heartbeat_interval:
            await self._send(b"")
        data = service.commit_log.data_from(self.next_transfer_from_where, service.settings.ha_transfer_batch_size)
        if data is None:
            await self.wait_for_running(NEXT_WAIT)
        else:
            await self._send(data)

    def _first(self) -> int:
        """Return the offset that the slave requested. An empty slave gets only the last file of the log."""
        if self._connection.request_offset:
            return self._connection.request_offset
        files = self._connection.service.commit_log.files
        return files.max_offset - files.max_offset % files.file_size

    async def _send(self, data: bytes) -> None:
        header = HEADER.pack(self.next_transfer_from_where, len(data))
        self.next_transfer_from_where += len(data)
        await self._connection.link.write(header + data)
        self._last_write = self._connection.service.clock.now()


class GroupTransferService(Service):
    """Answers puts that wait for a slave, one after the other, each at its deadline at the latest (FLU-07)."""

    __slots__ = ("_ha", "_moved", "_requests_read", "_requests_write")

    def __init__(self, ha: HAService) -> None:
        super().__init__("GroupTransferService")
        self._ha = ha
        self._moved: Future[None] = Future()
        self._requests_write: list[TransferRequest] = []
        self._requests_read: list[TransferRequest] = []

    @property
    def waiting(self) -> int:
        """The number of waiting puts that no round has taken yet."""
        return len(self._requests_write)

    def put_request(self, request: TransferRequest) -> None:
        self._requests_write.append(request)
        self.wakeup()

    def notify_transfer_some(self) -> None:
        """Wake the waiting put, because a slave has more than before."""
        moved, self._moved = self._moved, Future()
        moved.complete(None)

    async def round(self) -> None:
        await self.wait_for_running(GROUP_WAIT)
        self._requests_write, self._requests_read = self._requests_read, self._requests_write
        for request in self._requests_read:
            request.transferred.complete(await self._transferred(request))
        self._requests_read.clear()

    async def _transferred(self, request: TransferRequest) -> bool:
        while self._ha.push2_slave_max_offset < request.next_offset and self._ha.clock.now() < request.deadline:
            await Wait(self._moved, TRANSFER_WAIT)
        return self._ha.push2_slave_max_offset >= request.next_offset
