"""Replication, the slave's side: connects to its master, reports the end of its log, and appends received data (ha.py)."""

from __future__ import annotations

from ..link import Dial, Link
from ..ports import Clock
from ..service import Service
from .commitlog import CommitLog
from .ha import HEADER, OFFSET, SELECT
from .log import log
from .settings import StoreSettings

RETRY = 5000
MOST_BYTES = 4 * 1024 * 1024  # of a piece with its header


class HAClient(Service):
    """Follows the master at `master_address`, None while it is unknown. `dial` connects to it, None if the driver cannot connect.

    An unchanged offset is reported only every five seconds, so a slave's first report is that late.
    """

    __slots__ = ("_clock", "_commit_log", "_last_write", "_link", "_received", "_reported", "_settings", "dial", "master_address")

    def __init__(self, settings: StoreSettings, clock: Clock, commit_log: CommitLog) -> None:
        super().__init__("HAClient")
        self.master_address: str | None = None
        self.dial: Dial | None = None
        self._settings = settings
        self._clock = clock
        self._commit_log = commit_log
        self._link: Link | None = None
        self._received = bytearray()
        self._reported = 0
        self._last_write = 0

    def update_master_address(self, address: str) -> None:
        """Set the address for the next connection."""
        if address != self.master_address:
            log.info("update master address, OLD: %s NEW: %s", self.master_address, address)
            self.master_address = address

    async def round(self) -> None:
        """Follow the master. A broken connection is opened again immediately; a failed attempt is repeated after five seconds."""
        link = await self._connected()
        if link is None:
            await self.wait_for_running(RETRY)
        elif not await self._follow(link):
            self.release()

    async def failed(self) -> None:
        """Disconnect from the master, and connect again after five seconds."""
        self.release()
        await self.wait_for_running(RETRY)

    async def _connected(self) -> Link | None:
        if self._link is None and self.dial is not None and self.master_address is not None:
            try:
                self._link = await self.dial(self.master_address)
            except OSError as problem:
                log.info("connect to master %s failed: %s", self.master_address, problem)
                return None
            self._reported = self._end
            self._last_write = self._clock.now()
        return self._link

    @property
    def _end(self) -> int:
        return self._commit_log.files.max_offset

    async def _follow(self, link: Link) -> bool:
        """Report if it is time, then read and append. Return False if the connection must be closed."""
        try:
            if self._clock.now() - self._last_write > self._settings.ha_send_heartbeat_interval:
                await self._report(link)
            data = await link.read(SELECT)
            if data is None:
                return True
            self._received += data
            return bool(data) and await self._append_received(link)
        except OSError as problem:
            log.info("the connection to master %s is lost: %s", link.remote, problem)
            return False

    async def _append_received(self, link: Link) -> bool:
        """Append every complete piece. Return False if a piece does not begin at the end of the log, or has an impossible size."""
        while len(self._received) >= HEADER.size:
            where, size = HEADER.unpack_from(self._received)
            if where < 0 or self._end not in (0, where):
                log.error("master pushed offset not equal the max phy offset in slave, SLAVE: %d MASTER: %d", self._end, where)
                return False
            if not 0 <= size <= MOST_BYTES - HEADER.size:
                log.error("master pushed %d bytes in one piece", size)
                return False
            if len(self._received) < HEADER.size + size:
                break
            data = bytes(self._received[HEADER.size : HEADER.size + size])
            del self._received[: HEADER.size + size]
            if not await self._commit_log.append_data(where, data):
                log.error("append of %d bytes at %d failed", size, where)
            if self._end > self._reported:
                self._reported = self._end
                await self._report(link)
        return True

    async def _report(self, link: Link) -> None:
        await link.write(OFFSET.pack(self._reported))
        self._last_write = self._clock.now()

    def release(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None
            self._received.clear()
