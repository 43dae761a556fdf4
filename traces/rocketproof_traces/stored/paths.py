"""Read files and folders, local or remote, with one small set of functions.

A local path is read with `pread` into a reused buffer. This is as fast as a memory map, and a file that is truncated during the read raises
an error instead of ending the process. A path with a scheme (`hdfs://`, `s3://`, `file://`) is read with pyarrow's file systems.
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
"""The remedy for an unreadable path, by the scheme of its URL."""
_NO_HOLES: Final = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of `lseek` on a file system that does not report holes."""
_GOOGLE_ERROR = re.compile(
    r"google::cloud::Status\(\w+: (?:Retry policy exhausted, with a last message of )?(.*?) error_info=.*", re.DOTALL
)
"""An error of Google's library; group 1 is the cause."""


class OpenSource(Protocol):
    """A file that is open for reading. `length` is its size in bytes when it was opened."""

    path: str
    length: int

    def read_into(self, offset: int, buffer: Buffer) -> None:
        """Fill the buffer from an offset on. Raises Unreadable if the file is too short or cannot be read."""
        ...

    def data_from(self, offset: int) -> int:
        """Return the first offset from `offset` on that may hold a byte other than zero. Raises Unreadable."""
        ...

    def close(self) -> None: ...


class _OpenFile:
    """Base class of local and remote files."""

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


class LocalFile(_OpenFile):
    """A local file. Raises Unreadable."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = -1
        try:
            # O_NONBLOCK: opening a pipe must not wait for its writer.
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
        """Skip holes of sparse files. Only ENXIO means that nothing but a hole follows."""
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
            if length < self.length:  # ENXIO is also the error for an offset after the end
                raise self._short(length) from None
            return self.length

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class RemoteFile(_OpenFile):
    """A file of a remote file system. Raises Unreadable."""

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
            data = self._file.read_at(len(buffer), offset)
        except OSError as error:
            raise _unreadable(self.path, error, offset) from None
        if len(data) != len(buffer):
            raise self._short(offset + len(data))
        buffer[:] = data

    def close(self) -> None:
        self._file.close()


def open_source(path: str) -> LocalFile | RemoteFile:
    """Open a file. Raises Unreadable."""
    return RemoteFile(path) if is_remote(path) else LocalFile(path)


def length_of(path: str) -> int:
    """Return the size of a file in bytes, without opening a local file. Raises Unreadable, also if it is not a regular file."""
    if is_remote(path):
        with RemoteFile(path) as source:
            return source.length
    try:
        return _regular(path, os.stat(path))
    except OSError as error:
        raise _unreadable(path, error) from None


def _regular(path: str, status: os.stat_result) -> int:
    """Return the size of a regular file in bytes. Raises Unreadable for anything else."""
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(path, "is no regular file", "take it away, or give a store that is on a disk")
    return status.st_size


class KeptOpen:
    """A context manager that keeps the requested files open until it is left."""

    def __init__(self) -> None:
        self._sources: dict[str, LocalFile | RemoteFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for source in self._sources.values():
            source.close()

    def source(self, path: str) -> LocalFile | RemoteFile:
        """Return the file at a path, opened on the first request. Raises StoredError."""
        if path not in self._sources:
            self._sources[path] = open_source(path)
        return self._sources[path]


def read(source: OpenSource, offset: int, size: int) -> bytes:
    """Return `size` bytes of a file. Raises StoredError."""
    data = bytearray(size)
    source.read_into(offset, memoryview(data))
    return bytes(data)


def read_whole(path: str) -> bytes:
    """Return all bytes of a small file. Raises StoredError."""
    with open_source(path) as source:
        return read(source, 0, source.length)


def is_remote(path: str) -> bool:
    return "://" in path


def absolute(path: str) -> str:
    """Return the path in a form that is valid in processes with another working folder."""
    return path if is_remote(path) else os.path.abspath(path)


def join(folder: str, *names: str) -> str:
    """Append names to a folder. In a URL, names such as `%DLQ%group` are quoted and inserted before a `?`."""
    if not is_remote(folder):
        return "/".join([folder.rstrip("/") or folder, *names])
    url, mark, options = folder.partition("?")
    return "/".join([url.rstrip("/"), *map(quote, names)]) + mark + options


def names_of(folder: str) -> list[str]:
    """Return the names in a folder, sorted; an empty list if the folder does not exist. Raises StoredError."""
    with readable(folder):
        if not is_remote(folder):
            try:
                return sorted(os.listdir(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []
        return sorted(name for name, _ in _remote_entries(folder))


def entries_of(folder: str) -> dict[str, bool]:
    """Return the names in a folder, sorted, each with whether it is a folder; empty if the folder does not exist. Raises StoredError."""
    with readable(folder):
        if is_remote(folder):
            return dict(sorted(_remote_entries(folder)))
        try:
            with os.scandir(folder) as entries:
                return dict(sorted((entry.name, entry.is_dir()) for entry in entries))
        except (FileNotFoundError, NotADirectoryError):
            return {}


def _remote_entries(folder: str) -> list[tuple[str, bool]]:
    """Return each name in the folder of a URL, and whether it is a folder."""
    from pyarrow import fs

    system, inner = file_system(folder)
    infos = system.get_file_info(fs.FileSelector(inner, allow_not_found=True))
    return [(str(info.base_name), info.type == fs.FileType.Directory) for info in infos]


def is_file_name(name: str) -> bool:
    """Return whether a name has 20 digits, as the files of the commit log and of consume queues do."""
    return len(name) == 20 and is_digits(name)


def offset_of(folder: str, name: str) -> int:
    """Return the offset in a file's name. Raises StoredError if it exceeds 8 bytes."""
    offset = java_long(name)
    if offset is None:
        raise StoredError(join(folder, name), "is named by an offset beyond 8 bytes", "take it away: no broker has written it")
    return offset


def queue_of(folder: str, name: str) -> int:
    """Return the queue id in a folder's name. Raises StoredError if it exceeds 4 bytes."""
    queue_id = java_int(name)
    if queue_id is None:
        raise StoredError(join(folder, name), "is named by a queue id beyond 4 bytes", "take it away: no broker has written it")
    return queue_id


def exists(path: str) -> bool:
    """Return whether a file or folder exists. Raises Unreadable."""
    with readable(path):
        if not is_remote(path):
            return _status(path) is not None
        from pyarrow import fs

        system, inner = file_system(path)
        return bool(system.get_file_info(inner).type != fs.FileType.NotFound)


def _status(path: str) -> os.stat_result | None:
    """Return the status of a local file or folder, None only if it does not exist. Raises OSError."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def states_of(folder: str, leaving_out: Set[str] = frozenset()) -> Iterator[tuple[object, ...]]:
    """Yield a fingerprint of each file under a folder: path, size and modification time, for local files also change time and inode.

    The order is fixed. `leaving_out` are local paths. A local entry that cannot be read yields its path and error number. Raises Unreadable
    for a remote folder that cannot be read.
    """
    if not is_remote(folder):
        yield from _local_states(folder, leaving_out, frozenset())
        return
    with readable(folder):
        from pyarrow import fs

        system, inner = file_system(folder)
        for entry in sorted(system.get_file_info(fs.FileSelector(inner, recursive=True)), key=lambda entry: str(entry.path)):
            if entry.type == fs.FileType.File:
                yield entry.path, entry.size, entry.mtime_ns


def _local_states(folder: str, leaving_out: Set[str], above: Set[tuple[int, int]]) -> Iterator[tuple[object, ...]]:
    """`above` are the parent folders: a link may lead back to one of them."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield folder, error.errno
        return
    for entry in entries:
        if entry.path in leaving_out:
            continue
        try:
            status = entry.stat()
        except OSError as error:
            yield entry.path, error.errno
            continue
        folder_id = status.st_dev, status.st_ino
        if not stat.S_ISDIR(status.st_mode):
            yield entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        elif folder_id not in above:
            yield from _local_states(entry.path, leaving_out, above | {folder_id})


def file_system(url: str) -> tuple[Any, str]:
    """Return pyarrow's file system of a URL, and the path in it. Raises StoredError."""
    from pyarrow import fs

    with readable(url):
        system, inner = fs.FileSystem.from_uri(_with_retry_limit(url))
    return system, str(inner)


def _with_retry_limit(url: str) -> str:
    """Return the URL with a retry limit of ANSWER_SECONDS for Google, whose default is 15 minutes. A limit in the URL is kept.

    Raises OSError if the URL's server is known and does not respond.
    """
    scheme, netloc, _, query, _ = urlsplit(url)
    google = scheme in ("gs", "gcs")
    options = parse_qs(query)
    if google and "retry_limit_seconds" in options:
        return url
    server = _server(scheme, netloc, options)
    problem = unreachable(*server, speaks=scheme != "hdfs") if server is not None else None
    if problem is not None:
        raise OSError(problem)
    return f"{url}{'&' if query else '?'}retry_limit_seconds={ANSWER_SECONDS}" if google else url


def _server(scheme: str, netloc: str, options: Mapping[str, Sequence[str]]) -> tuple[str, int] | None:
    """Return the host and port that a URL connects to. None if only its library knows them or a proxy is used."""
    if scheme == "hdfs":
        port = urlsplit(f"//{netloc}").port  # without a port it can be the name of several servers
        return (urlsplit(f"//{netloc}").hostname or "", port) if port is not None else None
    if scheme == "s3":
        address = _first(options, "endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    elif scheme in ("gs", "gcs"):
        emulator = os.environ.get("CLOUD_STORAGE_EMULATOR_ENDPOINT") or os.environ.get("STORAGE_EMULATOR_HOST")
        address = _first(options, "endpoint_override") or emulator or "storage.googleapis.com"
    else:
        return None
    if not address or getproxies():
        return None
    parts = urlsplit(address if "://" in address else f"{_first(options, 'scheme') or 'https'}://{address}")
    return parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)


def _first(options: Mapping[str, Sequence[str]], name: str) -> str:
    return options[name][0] if name in options else ""


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Convert errors of reading inside the block to Unreadable with this path."""
    try:
        yield
    except (OSError, ValueError, NotImplementedError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception, offset: int | None = None) -> Unreadable:
    reason = getattr(error, "strerror", None) or _GOOGLE_ERROR.sub(r"\1", str(error)).splitlines()[0]
    return Unreadable(
        path,
        f"cannot be read{'' if offset is None else f' at byte {offset}'} ({reason})",
        _REMEDIES.get(path.partition("://")[0], "give a path that this process may read"),
    )
