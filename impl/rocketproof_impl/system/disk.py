"""Files of the operating system, below one folder.

The described system maps its files into memory. A mapped page that finds no room on a full disk ends the process with a
SIGBUS, and so does one that cannot be read. So a region here is the same sparse file in the same page cache, reached with
pread and pwrite: its bytes survive a process that is killed, whoever else maps the file sees them at once, and a full or
broken disk is an OSError. That costs a microsecond a call and leaves a file of a gibibyte as sparse as it was. Nothing is
allocated beforehand, so a disk can fill up inside a file that exists, as the described system's can.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from struct import Struct
from types import TracebackType

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter
_FLOCK = Struct("hhqqi4x")  # type, whence, start, length, process: what a lock request is made of


UNFINISHED = ".making"  # the end of a name until the file is as long as it should be


class StoreInUse(OSError):
    """Somebody else works on the same files: another process, or another disk of this one."""


class SystemRegion:
    """A file of a fixed size, in bytes. It is open until it is deleted or its disk is closed."""

    __slots__ = ("_descriptor", "path", "size")

    def __init__(self, path: str, size: int, descriptor: int) -> None:
        self.path = path
        self.size = size
        self._descriptor = descriptor

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        """Raises OSError where there is no room, with the part that found some written, and for a place outside the file."""
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
        """What stands there, zeros where nothing was written; less behind the end of the file. Raises OSError."""
        if position + size > self.size:
            size = max(0, self.size - position)
        try:
            found = os.pread(self._descriptor, size, position)
            while len(found) < size:
                more = os.pread(self._descriptor, size - len(found), position + len(found))
                found += more or bytes(size - len(found))
        except OSError as problem:
            raise _named(problem, self.path) from None
        return found

    def force(self) -> None:
        """Bring the file to the device. Raises OSError."""
        if self._descriptor < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        try:
            _sync(self._descriptor)
        except OSError as problem:
            raise _named(problem, self.path) from None

    def close(self) -> None:
        """Let the file go, unforced; a later use raises OSError."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class SystemDisk:
    """The files below `root`: paths are relative to it, or absolute and inside it; nothing else is touched.

    Symbolic links that lie in the folder are followed, as people put parts of a store on other disks. Every operation raises
    OSError with the path in it. Several threads may use one disk. Close it in the end; what was written stays, unforced.
    """

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
            with open(self._place(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        place = self._place(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        try:
            with open(place, "wb") as file:
                file.write(data)
        except OSError as problem:
            raise _named(problem, place) from None

    def delete(self, path: str) -> bool:
        """Also of an empty folder."""
        place = self._place(path)
        with self._guard:
            region = self._regions.pop(place, None)
            if region is not None:
                region.close()
        try:
            if os.path.isdir(place) and not os.path.islink(place):
                os.rmdir(place)
            else:
                os.unlink(place)
        except FileNotFoundError:
            return False
        return True

    def rename(self, old: str, new: str) -> bool:
        try:
            os.replace(self._place(old), self._place(new))
        except FileNotFoundError:
            return False
        return True

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._place(folder)) if not name.endswith(UNFINISHED))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def size(self, path: str) -> int | None:
        try:
            return os.stat(self._place(path)).st_size
        except FileNotFoundError:
            return None

    def map(self, path: str, size: int) -> SystemRegion:
        """The file, made as long as asked where it is shorter. One that is mapped already is the same region."""
        place = self._place(path)
        with self._guard:
            region = self._regions.get(place)
            if region is not None and region.size == size:
                return region
            os.makedirs(os.path.dirname(place), exist_ok=True)
            descriptor = _opened(place, size)
            if region is not None:
                region.close()
            made = self._regions[place] = SystemRegion(place, size, descriptor)
            return made

    def lock(self, path: str) -> None:
        """Take the store for this process until the disk is closed, as the described system does: its first byte is locked,
        so that either of the two keeps the other out. Raises StoreInUse."""
        place = self._place(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock_first_byte(descriptor)
            os.pwrite(descriptor, b"lock", 0)
            os.fsync(descriptor)
        except OSError as problem:
            os.close(descriptor)
            if problem.errno in (errno.EACCES, errno.EAGAIN):
                raise StoreInUse(
                    errno.EAGAIN, "another broker works on this store: stop it, or give each a store of its own", place
                ) from None
            raise _named(problem, place) from None
        self._locks.append(descriptor)

    def close(self) -> None:
        """Close every file and give the locks back."""
        with self._guard:
            for region in self._regions.values():
                region.close()
            self._regions.clear()
            for descriptor in self._locks:
                os.close(descriptor)
            self._locks.clear()

    def _place(self, path: str) -> str:
        place = os.path.normpath(os.path.join(self.root, path))
        if place != self.root and not place.startswith(self.root.rstrip("/") + "/"):
            raise OSError(errno.EPERM, f"not below {self.root}, and nothing else may be touched", path)
        return place


def _lock_first_byte(descriptor: int) -> None:
    """Raises OSError if it is locked. Linux has a lock that belongs to the open file: it also keeps the same process out, and
    does not go when the process opens and closes the file once more."""
    if hasattr(fcntl, "F_OFD_SETLK"):
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0, os.SEEK_SET)


def _opened(place: str, size: int) -> int:
    """A file of at least this length. A new one gets its name when it is that long: a process that is killed in between would
    leave a short one, and a store does not start from that, here or in the described system."""
    new = not os.path.exists(place)
    name = place + UNFINISHED if new else place
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if new else 0), 0o644)
    try:
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        if new:
            os.rename(name, place)
    except OSError as problem:
        os.close(descriptor)
        raise _named(problem, place) from None
    return descriptor


def _named(problem: OSError, path: str) -> OSError:
    """The same error with its path; Python leaves it out where a file is known by its number."""
    return OSError(problem.errno, problem.strerror, path)
