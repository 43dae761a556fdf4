"""Files and folders of this machine or of another one, by one small set of functions.

A local path is read with `pread` into a buffer that is used again: as quick as a memory map, and a file that becomes shorter while it
is read gives an error, where a map would end the process. A path with a scheme (`hdfs://`, `s3://`, `file://`) goes through
pyarrow's file systems.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Protocol, Self
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import getproxies

from rocketproof_protocol.numbers import is_digits, java_int, java_long

from ..common.reach import ANSWER_SECONDS, unreachable
from .errors import StoredError, Unreadable

Buffer = memoryview

_GOOGLE = "check the bucket and GOOGLE_APPLICATION_CREDENTIALS (a public one: gs://anonymous@BUCKET); ?retry_limit_seconds=N waits longer"
_REMEDIES = {
    "gs": _GOOGLE,
    "gcs": _GOOGLE,
    "hdfs": "check the address; Hadoop's libhdfs and Java are found by HADOOP_HOME, JAVA_HOME and CLASSPATH",
    "s3": "check the bucket, and AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
}
"""How to fix what cannot be read, by the scheme of its URL."""
_NO_HOLES: Final = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""The file system does not know where a file has holes."""
_GOOGLES = re.compile(r"google::cloud::Status\(\w+: (?:Retry policy exhausted, with a last message of )?(.*?) error_info=.*", re.DOTALL)
"""An error of Google's library around what went wrong."""


class OpenSource(Protocol):
    """A file that is open for reading. `length` is in bytes, as it was when the file was opened."""

    path: str
    length: int

    def read_into(self, offset: int, buffer: Buffer) -> None:
        """Fill the buffer from an offset on. Raises Unreadable if the file has not so many bytes, or cannot be read."""
        ...

    def data_from(self, offset: int) -> int:
        """The first place from an offset on where the file may have something other than zeros. Raises Unreadable."""
        ...

    def close(self) -> None: ...


class _Reading:
    """What both kinds of files have."""

    path: str
    length: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError

    def data_from(self, offset: int) -> int:
        return offset

    def _short(self, offset: int) -> Unreadable:
        return Unreadable(
            self.path,
            f"ends at byte {offset}, and had {self.length} bytes when it was opened",
            "read a copy, or a store that nobody writes",
        )


class LocalFile(_Reading):
    """A file of this machine. Raises Unreadable."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = -1
        try:
            # Without waiting for somebody who would write into a pipe.
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
            self.length = _regular(path, os.fstat(self._file))
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        except OSError as error:
            self.close()
            raise _unreadable(path, error) from None
        except Unreadable:
            self.close()
            raise

    def read_into(self, offset: int, buffer: Buffer) -> None:
        done = 0
        while done < len(buffer):
            try:
                count = os.preadv(self._file, [buffer[done:]], offset + done)
            except OSError as error:
                raise _unreadable(self.path, error, offset + done) from None
            if count == 0:
                raise self._short(offset + done)
            done += count

    def data_from(self, offset: int) -> int:
        """Holes of sparse files are passed over. Only ENXIO says that nothing but a hole follows."""
        if not hasattr(os, "SEEK_DATA"):
            return offset
        try:
            return os.lseek(self._file, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno in _NO_HOLES:
                return offset
            if error.errno != errno.ENXIO:
                raise _unreadable(self.path, error, offset) from None
            length = os.fstat(self._file).st_size
            if length < self.length:  # ENXIO also stands for an offset beyond the end
                raise self._short(length) from None
            return self.length

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class RemoteFile(_Reading):
    """A file of another file system. Raises Unreadable."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            system, inner = file_system(path)
            self._file: Any = system.open_input_file(inner)
            self.length = int(self._file.size())
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None

    def read_into(self, offset: int, buffer: Buffer) -> None:
        try:
            found = self._file.read_at(len(buffer), offset)
        except OSError as error:
            raise _unreadable(self.path, error, offset) from None
        if len(found) != len(buffer):
            raise self._short(offset + len(found))
        buffer[:] = found

    def close(self) -> None:
        self._file.close()


def open_source(path: str) -> LocalFile | RemoteFile:
    """Open a file. Raises Unreadable."""
    return RemoteFile(path) if is_remote(path) else LocalFile(path)


def length_of(path: str) -> int:
    """The bytes of a file, without opening a local one. Raises Unreadable, also for what is no regular file."""
    if is_remote(path):
        with RemoteFile(path) as source:
            return source.length
    try:
        return _regular(path, os.stat(path))
    except OSError as error:
        raise _unreadable(path, error) from None


def _regular(path: str, status: os.stat_result) -> int:
    """The bytes of a regular file. Raises Unreadable for anything else."""
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(path, "is no regular file", "take it away, or give a store that is on a disk")
    return status.st_size


class KeptOpen:
    """Files that stay open after they were asked for; a context manager, which closes them."""

    def __init__(self) -> None:
        self._sources: dict[str, LocalFile | RemoteFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for source in self._sources.values():
            source.close()

    def source(self, path: str) -> LocalFile | RemoteFile:
        """The file at a path. Raises StoredError."""
        if path not in self._sources:
            self._sources[path] = open_source(path)
        return self._sources[path]


def read(source: OpenSource, offset: int, size: int) -> bytes:
    """Bytes of a file. Raises StoredError."""
    found = bytearray(size)
    source.read_into(offset, memoryview(found))
    return bytes(found)


def read_whole(path: str) -> bytes:
    """All bytes of a small file. Raises StoredError."""
    with open_source(path) as source:
        return read(source, 0, source.length)


def is_remote(path: str) -> bool:
    return "://" in path


def absolute(path: str) -> str:
    """The path as processes know it that are in other folders."""
    return path if is_remote(path) else os.path.abspath(path)


def join(folder: str, *names: str) -> str:
    """Names in a folder. A URL stays one: names such as `%DLQ%group` are quoted, and come before a `?`."""
    if not is_remote(folder):
        return "/".join([folder.rstrip("/") or folder, *names])
    url, mark, options = folder.partition("?")
    return "/".join([url.rstrip("/"), *map(quote, names)]) + mark + options


def names_of(folder: str) -> list[str]:
    """The names in a folder in order; none if there is no such folder. Raises StoredError."""
    with readable(folder):
        if not is_remote(folder):
            try:
                return sorted(os.listdir(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []
        from pyarrow import fs

        system, inner = file_system(folder)
        chosen = fs.FileSelector(inner, allow_not_found=True)
        return sorted(str(found.base_name) for found in system.get_file_info(chosen))


def is_file_name(name: str) -> bool:
    """20 digits, as the files of the log and of the queues are named."""
    return len(name) == 20 and is_digits(name)


def offset_of(folder: str, name: str) -> int:
    """The offset that such a name says. Raises StoredError for one that no file can have."""
    offset = java_long(name)
    if offset is None:
        raise StoredError(join(folder, name), "is named by an offset beyond 8 bytes", "take it away: no broker has written it")
    return offset


def queue_of(folder: str, name: str) -> int:
    """The queue id that a name of digits says. Raises StoredError for one that no queue can have."""
    queue_id = java_int(name)
    if queue_id is None:
        raise StoredError(join(folder, name), "is named by a queue id beyond 4 bytes", "take it away: no broker has written it")
    return queue_id


def exists(path: str) -> bool:
    """Whether there is a file or folder. Raises Unreadable."""
    with readable(path):
        if not is_remote(path):
            return _status(path) is not None
        from pyarrow import fs

        system, inner = file_system(path)
        return bool(system.get_file_info(inner).type != fs.FileType.NotFound)


def _status(path: str) -> os.stat_result | None:
    """The status of a local file or folder; None only where there is none. Raises OSError."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def states_of(folder: str, leaving_out: Set[str] = frozenset()) -> Iterator[tuple[object, ...]]:
    """Yield what tells each file under a folder from another or a later one: its path, size and times; of local ones the inode too.

    The order is fixed. `leaving_out` are local paths. What cannot be looked at is yielded with its error. Raises Unreadable for a folder
    elsewhere.
    """
    if not is_remote(folder):
        yield from _local_states(folder, leaving_out, frozenset())
        return
    with readable(folder):
        from pyarrow import fs

        system, inner = file_system(folder)
        for found in sorted(system.get_file_info(fs.FileSelector(inner, recursive=True)), key=lambda each: str(each.path)):
            if found.type == fs.FileType.File:
                yield found.path, found.size, found.mtime_ns


def _local_states(folder: str, leaving_out: Set[str], above: Set[tuple[int, int]]) -> Iterator[tuple[object, ...]]:
    """`above` are the folders that this one lies in: a link may lead back into one."""
    try:
        entries = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError as error:
        yield folder, error.errno
        return
    for entry in entries:
        if entry.path in leaving_out:
            continue
        try:
            found = entry.stat()
        except OSError as error:
            yield entry.path, error.errno
            continue
        here = found.st_dev, found.st_ino
        if not stat.S_ISDIR(found.st_mode):
            yield entry.path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
        elif here not in above:
            yield from _local_states(entry.path, leaving_out, above | {here})


def file_system(url: str) -> tuple[Any, str]:
    """pyarrow's file system of a URL, and the path in it. Raises StoredError."""
    from pyarrow import fs

    with readable(url):
        system, inner = fs.FileSystem.from_uri(_patient(url))
    return system, str(inner)


def _patient(url: str) -> str:
    """The URL, with a bound of seconds instead of Google's quarter of an hour of asking again; a bound that is there stands.

    Raises OSError where its server is known and nobody is there.
    """
    scheme, netloc, _, query, _ = urlsplit(url)
    google = scheme in ("gs", "gcs")
    given = parse_qs(query)
    if google and "retry_limit_seconds" in given:
        return url
    server = _server(scheme, netloc, given)
    silent = unreachable(*server, speaks=scheme != "hdfs") if server is not None else None
    if silent is not None:
        raise OSError(silent)
    return f"{url}{'&' if query else '?'}retry_limit_seconds={ANSWER_SECONDS}" if google else url


def _server(scheme: str, netloc: str, given: Mapping[str, Sequence[str]]) -> tuple[str, int] | None:
    """Host and port that a URL will be asked from; None where only its library knows, or a proxy does it."""
    if scheme == "hdfs":
        port = urlsplit(f"//{netloc}").port  # without one it may be the name of several servers
        return (urlsplit(f"//{netloc}").hostname or "", port) if port is not None else None
    if scheme == "s3":
        address = _first(given, "endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    elif scheme in ("gs", "gcs"):
        emulated = os.environ.get("CLOUD_STORAGE_EMULATOR_ENDPOINT") or os.environ.get("STORAGE_EMULATOR_HOST")
        address = _first(given, "endpoint_override") or emulated or "storage.googleapis.com"
    else:
        return None
    if not address or getproxies():
        return None
    parts = urlsplit(address if "://" in address else f"{_first(given, 'scheme') or 'https'}://{address}")
    return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)


def _first(given: Mapping[str, Sequence[str]], name: str) -> str:
    return given[name][0] if name in given else ""


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Raise errors of reading inside as Unreadable about the path."""
    try:
        yield
    except (OSError, ValueError, NotImplementedError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception, offset: int | None = None) -> Unreadable:
    reason = getattr(error, "strerror", None) or _GOOGLES.sub(r"\1", str(error)).splitlines()[0]
    return Unreadable(
        path,
        f"cannot be read{'' if offset is None else f' at byte {offset}'} ({reason})",
        _REMEDIES.get(path.partition("://")[0], "give a path that this process may read"),
    )
