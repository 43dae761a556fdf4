"""What a process did to files, as `strace -f -y -ttt` has written it down: system calls become operations on paths.

A call that another thread's line interrupts has two lines, and counts where it ends. Only what changes names, lengths or contents is an
operation, or makes it durable; a call that failed is none. What is written into a mapped memory shows nowhere: the content of such a file
is known only to who reads it (`recorder`).
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
"""The calls that have to be traced."""

Kind = Literal["truncate", "append", "size", "map", "force", "delete", "rename"]


@dataclass(frozen=True)
class FileOperation:
    """`truncate`: opened to be written anew; `append`: `data` is written behind what there is; `size`: a file that is written in place has
    so many bytes from here on; `map`: it is mapped; `force`: it is on the device, a folder with the names in it; `delete`; `rename` to
    `other`.

    Of a forced file that is written in place `pages` are those that changed since they were read last, by their place. `at`: when it was
    called, or ended if something came between, in seconds on the wall clock.
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
    """Reads lines one by one, as they come; `of` are the operations below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder.rstrip("/") + "/"
        self._begun: dict[str, str] = {}
        self._mapped: list[_Mapped] = []

    def of(self, lines: Iterable[str]) -> Iterator[FileOperation]:
        for line in lines:
            yield from self._of(line)

    def _of(self, line: str) -> Iterator[FileOperation]:
        found = _LINE.match(line)
        if found is None:
            return
        thread, at, text = found.groups()
        if text.endswith(_UNFINISHED):
            self._begun[thread] = text.removesuffix(_UNFINISHED)
            return
        resumed = _RESUMED.match(text)
        if resumed is not None:
            text = self._begun.pop(thread, "") + resumed[1]
        call = _CALL.match(text)
        if call is None or call[3].startswith("-"):
            return
        for one in self._operations(call[1], call[2], call[3]):
            if self._folder in (one.path[: len(self._folder)], one.path + "/"):
                yield replace(one, at=float(at))

    def _operations(self, name: str, given: str, result: str) -> Iterator[FileOperation]:
        if name in ("open", "openat", "creat"):
            opened = _OPENED.match(given)
            if opened is not None and (name == "creat" or "O_TRUNC" in (opened[2] or "")):
                yield FileOperation("truncate", _bytes(opened[1]).decode())
        elif name in ("write", "pwrite64"):
            written = _WRITTEN.match(given)
            if written is not None:
                yield FileOperation("append", _path(written[2]), _bytes(written[3])[: whole_number(result)])
        elif name == "ftruncate":
            sized = _SIZED.match(given)
            if sized is not None:
                yield FileOperation("size", _path(sized[2]), size=whole_number(sized[3]))
        elif name == "mmap":
            yield from self._map(given, hexadecimal(result.removeprefix("0x")))
        elif name == "msync":
            forced = _FORCED.match(given)
            at = hexadecimal(forced[1]) if forced is not None else 0
            yield from (FileOperation("force", one.path) for one in self._mapped if one.start <= at < one.end)
        elif name in ("fsync", "fdatasync"):
            of = _OF_FILE.match(given)
            if of is not None:
                yield FileOperation("force", _path(of[2]))
        elif name.startswith("unlink"):
            yield from (FileOperation("delete", _bytes(one).decode()) for one in _NAMES.findall(given)[:1])
        elif name.startswith("rename"):
            names = _NAMES.findall(given)
            if len(names) == 2:
                yield FileOperation("rename", _bytes(names[0]).decode(), other=_bytes(names[1]).decode())

    def _map(self, given: str, start: int) -> Iterator[FileOperation]:
        found = _MAPPED.match(given)
        size = whole_number(given.partition(", ")[2].partition(",")[0])
        self._mapped = [one for one in self._mapped if one.end <= start or one.start >= start + size]
        if found is not None and "MAP_SHARED" in found[3] and "PROT_WRITE" in found[2]:
            path = _path(found[5])
            self._mapped.append(_Mapped(start, start + size, path))
            begin = hexadecimal(found[6].removeprefix("0x")) if found[6].startswith("0x") else whole_number(found[6])
            yield FileOperation("map", path, size=size + begin)


def _bytes(text: str) -> bytes:
    """What a string of C says."""
    decoded: bytes = codecs.escape_decode(text.encode("latin-1"))[0]
    return decoded


def _path(text: str) -> str:
    return _bytes(text).decode("utf-8", "replace")
