"""A file that grows at its end, by a thread of its own and past the system's cache, so that whoever appends neither waits nor pays for it.

What is appended is copied into a buffer; full buffers are written while the next one fills. Where the system allows it (O_DIRECT) they go
to the disk as they are: a copy in the system's cache costs many times the processor time of the rest, and nobody reads it there. That
needs whole blocks, so the file may have bytes behind its end that mean nothing.
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


class Appended:
    """A file from a place `end` on, beyond which nothing is kept. OSError, once there is no room for good, from any method but `close`."""

    def __init__(self, path: Path, end: int = 0, buffer: int = BUFFER) -> None:
        self.descriptor = _open(path)
        self.buffers = [mmap.mmap(-1, buffer), mmap.mmap(-1, buffer)]  # aligned, and no memory before they are used
        self.bytes = np.frombuffer(self.buffers[0], dtype=np.uint8)
        self.thread = ThreadPoolExecutor(1)
        self.writing: Future[None] | None = None  # the other buffer's
        self.start, self.filled = -1, 0  # of the first buffer: where it belongs, and its bytes that count
        os.ftruncate(self.descriptor, end)
        self.seek(end)

    @property
    def end(self) -> int:
        return self.start + self.filled

    def seek(self, end: int) -> None:
        """Go on at a place up to which all was appended, and forget what is behind it."""
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
        """All that was appended is on the disk."""
        self._wait()
        _write(self.descriptor, self.buffers[0], -(-self.filled // BLOCK) * BLOCK, self.start)
        os.fsync(self.descriptor)

    def close(self) -> None:
        """What was appended since the last `sync` may be lost."""
        self.thread.shutdown()
        os.close(self.descriptor)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT
    try:
        return os.open(path, flags | getattr(os, "O_DIRECT", 0), 0o666)
    except OSError as error:
        if error.errno != errno.EINVAL:  # what a file system says that has no such way
            raise
        return os.open(path, flags, 0o666)


def _write(descriptor: int, buffer: mmap.mmap, size: int, at: int) -> None:
    done = 0
    with memoryview(buffer) as data:
        while done < size:
            done += os.pwrite(descriptor, data[done:size], at + done)
