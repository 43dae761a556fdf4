"""The checkpoint: the times up to which log, consume queues and index are on the device (REC-02)."""

from __future__ import annotations

from struct import Struct

from ..ports import Disk, Region

SIZE = 4096
MARGIN = 3000
_TIMES = Struct(">qqq")


class StoreCheckpoint:
    """The file `checkpoint`. Times are store timestamps in milliseconds, 0 for never; `flush` writes them to the file."""

    __slots__ = ("_disk", "_path", "_region", "index_msg_timestamp", "logics_msg_timestamp", "physic_msg_timestamp")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._region: Region | None = None
        self.physic_msg_timestamp = 0
        self.logics_msg_timestamp = 0
        self.index_msg_timestamp = 0

    def load(self) -> None:
        """Read the file, created if missing. Raises OSError."""
        times = _TIMES.unpack(self._mapped().read(0, _TIMES.size))
        self.physic_msg_timestamp, self.logics_msg_timestamp, self.index_msg_timestamp = times

    def flush(self) -> None:
        """Sync the times to the device. Raises OSError."""
        region = self._mapped()
        region.write(0, _TIMES.pack(self.physic_msg_timestamp, self.logics_msg_timestamp, self.index_msg_timestamp))
        region.force()

    def min_timestamp(self, *, with_index: bool) -> int:
        """Return the time before which log and consume queues are on the device, minus a margin of three seconds.

        `with_index` includes the index, without a margin.
        """
        least = max(0, min(self.physic_msg_timestamp, self.logics_msg_timestamp) - MARGIN)
        return min(least, self.index_msg_timestamp) if with_index else least

    def _mapped(self) -> Region:
        if self._region is None:
            self._region = self._disk.map(self._path, SIZE)
        return self._region
