"""File operations of a process from the output of `strace -f -y -ttt`.

A call that is interrupted by another thread's line has two lines and counts where it ends. An operation changes names, lengths or contents,
or makes them durable. Failed calls are skipped. Writes to mapped memory are not system calls; `strace.Recorder` reads the content of mapped
files.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from rocketproof_protocol.numbers import hexadecimal, whole_number

TRACED: Final = (
    "open", "openat", "creat", "write", "pwrite64", "ftruncate", "rename", "renameat", "renameat2", "unlink", "unlinkat",
    "mmap", "msync", "fsync", "fdatasync",
)  # fmt: skip
"""The system calls that must be traced."""

Kind = Literal["truncate", "append", "size", "map", "force", "delete", "rename"]


@dataclass(frozen=True)
class FileOperation:
    """A file operation.

    - `truncate`: open a file and discard its content.
    - `append`: write `data` at the end.
    - `size`: set the size of a file that is written in place.
    - `map`: map a file into memory.
    - `force`: make a file durable, or a folder with the names in it.
    - `delete`, `rename` (to `other`).

    `pages`: the changed pages of a forced file that is written in place, by offset. `at`: the time of the call in seconds on the wall
    clock, or of its end if it was interrupted.
    """

    kind: Kind
    path: str
    data: bytes = b""
    other: str = ""
    size: int = 0
    pages: Mapping[int, bytes] = field(default_factory=dict, compare=False)
    at: float = field(default=0.0, compare=False)


class _Mapped(NamedTuple):
    start: int
    end: int
    path: str


_LINE: Final = re.compile(r"([0-9]+) +([0-9.]+) (.*)")
_RESUMED: Final = re.compile(r"<\.\.\. \w+ resumed>(.*)")
_UNFINISHED: Final = " <unfinished ...>"
_CALL: Final = re.compile(r"(\w+)\((.*)\) += +(0x[0-9a-f]+|-?[0-9]+)", re.DOTALL)
_TEXT: Final = r'"((?:[^"\\]|\\.)*)"'
_OPENED: Final = re.compile(rf"(?:AT_FDCWD(?:<[^>]*>)?, )?{_TEXT}(?:, ([A-Z_|0-9]+))?")
_NAMES: Final = re.compile(_TEXT)
_OF_FILE: Final = re.compile(r"([0-9]+)<((?:[^>\\]|\\.)*)>")
_WRITTEN: Final = re.compile(rf"{_OF_FILE.pattern}, {_TEXT}(\.\.\.)?, ([0-9]+)")
_SIZED: Final = re.compile(rf"{_OF_FILE.pattern}, ([0-9]+)")
_MAPPED: Final = re.compile(rf"(?:NULL|0x[0-9a-f]+), ([0-9]+), ([A-Z_|]+), ([A-Z_|]+), {_OF_FILE.pattern}, (0x[0-9a-f]+|[0-9]+)")
_FORCED: Final = re.compile(r"0x([0-9a-f]+), ([0-9]+)")


class Calls:
    """Parses lines one by one as they arrive. `of` yields the operations below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder.rstrip("/") + "/"
        self._begun: dict[str, str] = {}
        self._mapped: list[_Mapped] = []

    def of(self, lines: Iterable[str]) -> Iterator[FileOperation]:
        for line in lines:
            yield from self._of(line)

    def _of(self, line: str) -> Iterator[FileOperation]:
        match = _LINE.match(line)
        if match is None:
            return
        thread, at, text = match.groups()
        if text.endswith(_UNFINISHED):
            self._begun[thread] = text.removesuffix(_UNFINISHED)
            return
        resumed = _RESUMED.match(text)
        if resumed is not None:
            text = self._begun.pop(thread, "") + resumed[1]
        call = _CALL.match(text)
        if call is None or call[3].startswith("-"):
            return
        for operation in self._operations(call[1], call[2], call[3]):
            if self._folder in (operation.path[: len(self._folder)], operation.path + "/"):
                yield replace(operation, at=float(at))

    def _operations(self, name: str, arguments: str, result: str) -> Iterator[FileOperation]:
        if name in ("open", "openat", "creat"):
            opened = _OPENED.match(arguments)
            if opened is not None and (name == "creat" or "O_TRUNC" in (opened[2] or "")):
                yield FileOperation("truncate", _bytes(opened[1]).decode())
        elif name in ("write", "pwrite64"):
            written = _WRITTEN.match(arguments)
            if written is not None:
                yield FileOperation("append", _path(written[2]), _bytes(written[3])[: whole_number(result)])
        elif name == "ftruncate":
            sized = _SIZED.match(arguments)
            if sized is not None:
                yield FileOperation("size", _path(sized[2]), size=whole_number(sized[3]))
        elif name == "mmap":
            yield from self._map(arguments, hexadecimal(result.removeprefix("0x")))
        elif name == "msync":
            forced = _FORCED.match(arguments)
            at = hexadecimal(forced[1]) if forced is not None else 0
            yield from (FileOperation("force", mapping.path) for mapping in self._mapped if mapping.start <= at < mapping.end)
        elif name in ("fsync", "fdatasync"):
            file = _OF_FILE.match(arguments)
            if file is not None:
                yield FileOperation("force", _path(file[2]))
        elif name.startswith("unlink"):
            yield from (FileOperation("delete", _bytes(name_).decode()) for name_ in _NAMES.findall(arguments)[:1])
        elif name.startswith("rename"):
            names = _NAMES.findall(arguments)
            if len(names) == 2:
                yield FileOperation("rename", _bytes(names[0]).decode(), other=_bytes(names[1]).decode())

    def _map(self, arguments: str, start: int) -> Iterator[FileOperation]:
        match = _MAPPED.match(arguments)
        size = whole_number(arguments.partition(", ")[2].partition(",")[0])
        self._mapped = [mapping for mapping in self._mapped if mapping.end <= start or mapping.start >= start + size]
        if match is not None and "MAP_SHARED" in match[3] and "PROT_WRITE" in match[2]:
            path = _path(match[5])
            self._mapped.append(_Mapped(start, start + size, path))
            begin = hexadecimal(match[6].removeprefix("0x")) if match[6].startswith("0x") else whole_number(match[6])
            yield FileOperation("map", path, size=size + begin)


def _bytes(text: str) -> bytes:
    """Decode a C string."""
    decoded: bytes = codecs.escape_decode(text.encode("latin-1"))[0]
    return decoded


def _path(text: str) -> str:
    return _bytes(text).decode("utf-8", "replace")
