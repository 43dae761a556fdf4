"""Files of the operating system below one folder.

The described system maps its files into memory. A mapped page that finds no room on a full disk, or cannot be read, ends the process with a
SIGBUS. A region here is the same sparse file in the same page cache, accessed with pread and pwrite. Its bytes survive a killed process,
other processes that map the file see them immediately, and a full or broken disk raises OSError. A call takes about a microsecond more, and
a file of a gibibyte remains sparse. Nothing is allocated in advance, so the disk can become full inside an existing file, as in the
described system.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from struct import Struct
from types import TracebackType

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter
_FLOCK = Struct("hhqqi4x")  # a lock request: type, whence, start, length, process


UNFINISHED = ".making"  # the suffix of a file's name until the file has its full length


class StoreInUse(OSError):
    """The files are in use by another process, or by another disk of this one."""


class SystemRegion:
    """A file of a fixed size in bytes. It is open until it is deleted or its disk is closed."""

    __slots__ = ("_descriptor", "path", "size")

    def __init__(self, path: str, size: int, descriptor: int) -> None:
        self.path = path
        self.size = size
        self._descriptor = descriptor

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        """Write bytes. Raises OSError on a full disk, after writing as much as fits, and for a position outside the file."""
        size = len(data)
        if position < 0 or position + size > self.size:
            raise OSError(errno.EINVAL, f"{size} bytes at {position} do not lie in a file of {self.size}", self.path)
        try:
            wrote = os.pwrite(self._descriptor, data, position)
            while wrote < size:
                wrote += os.pwrite(self._descriptor, memoryview(data)[wrote:], position + wrote)
        except OSError as problem:
            raise _named(problem, self.path) from None

    def read(self, position: int, size: int) -> bytes:
        """Return the bytes, zeros where nothing was written, fewer at the end of the file. Raises OSError."""
        if position + size > self.size:
            size = max(0, self.size - position)
        try:
            data = os.pread(self._descriptor, size, position)
            while len(data) < size:
                more = os.pread(self._descriptor, size - len(data), position + len(data))
                data += more or bytes(size - len(data))
        except OSError as problem:
            raise _named(problem, self.path) from None
        return data

    def force(self) -> None:
        """Sync the file to the device. Raises OSError."""
        if self._descriptor < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        try:
            _sync(self._descriptor)
        except OSError as problem:
            raise _named(problem, self.path) from None

    def close(self) -> None:
        """Close the file without syncing. Later use raises OSError."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class VolatileRegion(SystemRegion):
    """A region that can lose what was written since it was last forced."""

    __slots__ = ("_guard", "_lost")

    def __init__(self, path: str, size: int, descriptor: int) -> None:
        super().__init__(path, size, descriptor)
        self._guard = threading.Lock()
        self._lost: list[tuple[int, bytes]] = []

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        with self._guard:
            self._lost.append((position, self.read(position, len(data))))
            super().write(position, data)

    def force(self) -> None:
        with self._guard:
            super().force()
            self._lost.clear()

    def lose(self) -> None:
        """Restore the bytes as they were when the region was last forced. Raises OSError."""
        with self._guard:
            for position, data in reversed(self._lost):
                super().write(position, data)
            self._lost.clear()


class SystemDisk:
    """The files below `root`. Paths are relative to it, or absolute and inside it; other files are never accessed.

    Symbolic links in the folder are followed, because parts of a store may be on other disks. Every operation raises OSError with the path.
    Several threads may use one disk. Closing it does not sync what was written.
    """

    region: type[SystemRegion] = SystemRegion

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(root)
        self._regions: dict[str, SystemRegion] = {}
        self._locks: list[int] = []
        self._guard = threading.Lock()

    def __enter__(self) -> SystemDisk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._absolute(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        absolute = self._absolute(path)
        os.makedirs(os.path.dirname(absolute), exist_ok=True)
        try:
            with open(absolute, "wb") as file:
                file.write(data)
        except OSError as problem:
            raise _named(problem, absolute) from None

    def delete(self, path: str) -> bool:
        """Delete a file or an empty folder."""
        absolute = self._absolute(path)
        with self._guard:
            region = self._regions.pop(absolute, None)
            if region is not None:
                region.close()
        try:
            if os.path.isdir(absolute) and not os.path.islink(absolute):
                os.rmdir(absolute)
            else:
                os.unlink(absolute)
        except FileNotFoundError:
            return False
        return True

    def rename(self, old: str, new: str) -> bool:
        try:
            os.replace(self._absolute(old), self._absolute(new))
        except FileNotFoundError:
            return False
        return True

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._absolute(folder)) if not name.endswith(UNFINISHED))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def size(self, path: str) -> int | None:
        try:
            return os.stat(self._absolute(path)).st_size
        except FileNotFoundError:
            return None

    def map(self, path: str, size: int) -> SystemRegion:
        """Map the file, extended to `size` if it is shorter. Mapping it again returns the same region."""
        absolute = self._absolute(path)
        with self._guard:
            region = self._regions.get(absolute)
            if region is not None and region.size == size:
                return region
            os.makedirs(os.path.dirname(absolute), exist_ok=True)
            descriptor = _opened(absolute, size)
            if region is not None:
                region.close()
            created = self._regions[absolute] = self.region(absolute, size, descriptor)
            return created

    def lock(self, path: str) -> None:
        """Lock the store for this process until the disk is closed. Raises StoreInUse.

        It locks the file's first byte, as the described system does, so that each of the two excludes the other.
        """
        absolute = self._absolute(path)
        os.makedirs(os.path.dirname(absolute), exist_ok=True)
        descriptor = os.open(absolute, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock_first_byte(descriptor)
            os.pwrite(descriptor, b"lock", 0)
            os.fsync(descriptor)
        except OSError as problem:
            os.close(descriptor)
            if problem.errno in (errno.EACCES, errno.EAGAIN):
                raise StoreInUse(
                    errno.EAGAIN, "another broker works on this store: stop it, or give each a store of its own", absolute
                ) from None
            raise _named(problem, absolute) from None
        self._locks.append(descriptor)

    def close(self) -> None:
        """Close every file and release the locks."""
        with self._guard:
            for region in self._regions.values():
                region.close()
            self._regions.clear()
            for descriptor in self._locks:
                os.close(descriptor)
            self._locks.clear()

    def _absolute(self, path: str) -> str:
        absolute = os.path.normpath(os.path.join(self.root, path))
        if absolute != self.root and not absolute.startswith(self.root.rstrip("/") + "/"):
            raise OSError(errno.EPERM, f"not below {self.root}, and nothing else may be touched", path)
        return absolute


class VolatileDisk(SystemDisk):
    """A disk that can lose power: of files written in place, only forced bytes are left. Other files and all names are kept."""

    region = VolatileRegion

    def lose_power(self) -> None:
        """Lose all bytes of open regions that were not forced. Raises OSError."""
        with self._guard:
            for region in self._regions.values():
                if isinstance(region, VolatileRegion):
                    region.lose()


def _lock_first_byte(descriptor: int) -> None:
    """Lock the byte. Raises OSError if it is locked.

    Linux has locks of the open file. They also exclude other disks of the same process, and remain when the process opens and closes the
    file again.
    """
    if hasattr(fcntl, "F_OFD_SETLK"):
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0, os.SEEK_SET)


def _opened(absolute: str, size: int) -> int:
    """Open a file of at least this length.

    A new file gets its final name only at full length. Otherwise a killed process could leave a short file, from which no store starts,
    here or in the described system.
    """
    new = not os.path.exists(absolute)
    name = absolute + UNFINISHED if new else absolute
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if new else 0), 0o644)
    try:
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        if new:
            os.rename(name, absolute)
    except OSError as problem:
        os.close(descriptor)
        raise _named(problem, absolute) from None
    return descriptor


def _named(problem: OSError, path: str) -> OSError:
    """Return the error with its path, which Python omits for file descriptors."""
    return OSError(problem.errno, problem.strerror, path)
