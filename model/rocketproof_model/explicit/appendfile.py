"""A file that grows at its end. A separate thread writes it and bypasses the system's cache, so that appending costs the caller little.

Appended data is copied into a buffer; a full buffer is written while another fills. If the system allows it, the file is opened with
O_DIRECT: a copy in the system's cache would cost several times the processor time of the rest, and is never read. O_DIRECT needs whole
blocks, so meaningless bytes may follow the end of the data.
"""

from __future__ import annotations

import errno
import mmap
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

BLOCK = 4096  # bytes that are written as a whole
BUFFER = 1 << 23


class AppendFile:
    """A file that keeps its first `end` bytes and grows from there. Every method but `close` can raise OSError when the disk is full."""

    def __init__(self, path: Path, end: int = 0, buffer: int = BUFFER) -> None:
        self.descriptor = _open(path)
        self.buffers = [mmap.mmap(-1, buffer), mmap.mmap(-1, buffer)]  # aligned, and no memory before they are used
        self.bytes = np.frombuffer(self.buffers[0], dtype=np.uint8)
        self.thread = ThreadPoolExecutor(1)
        self.writing: Future[None] | None = None  # writes the second buffer
        self.start, self.filled = -1, 0  # of the first buffer: its place in the file, and the number of valid bytes
        os.ftruncate(self.descriptor, end)
        self.seek(end)

    @property
    def end(self) -> int:
        return self.start + self.filled

    def seek(self, end: int) -> None:
        """Continue at `end`, which is not beyond the appended data, and discard the data after it."""
        if self.start >= 0 and end >= self.start:
            self.filled = end - self.start
            return
        self._wait()
        self.start, self.filled = end // BLOCK * BLOCK, end % BLOCK
        if self.filled:
            os.preadv(self.descriptor, [memoryview(self.buffers[0])[:BLOCK]], self.start)

    def append(self, data: np.ndarray) -> None:
        left = data.view(np.uint8)
        while len(left):
            room = min(len(left), len(self.bytes) - self.filled)
            self.bytes[self.filled : self.filled + room] = left[:room]
            self.filled += room
            left = left[room:]
            if self.filled == len(self.bytes):
                self._wait()
                self.writing = self.thread.submit(_write, self.descriptor, self.buffers[0], self.filled, self.start)
                self.buffers.reverse()
                self.bytes = np.frombuffer(self.buffers[0], dtype=np.uint8)
                self.start, self.filled = self.start + self.filled, 0

    def _wait(self) -> None:
        if self.writing is not None:
            self.writing.result()
            self.writing = None

    def sync(self) -> None:
        """Write all appended data to the disk."""
        self._wait()
        _write(self.descriptor, self.buffers[0], -(-self.filled // BLOCK) * BLOCK, self.start)
        os.fsync(self.descriptor)

    def close(self) -> None:
        """Close the file. Data appended since the last `sync` may be lost."""
        self.thread.shutdown()
        os.close(self.descriptor)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT
    try:
        return os.open(path, flags | getattr(os, "O_DIRECT", 0), 0o666)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system does not support O_DIRECT
            raise
        return os.open(path, flags, 0o666)


def _write(descriptor: int, buffer: mmap.mmap, size: int, at: int) -> None:
    done = 0
    with memoryview(buffer) as data:
        while done < size:
            done += os.pwrite(descriptor, data[done:size], at + done)
