"""The files of a commit log, cut into ranges that are read independently.

A file is named by the physical offset of its first byte. A range in the middle of a file begins at the first plausible position of a
record. The walk of the previous range ends where it meets a plausible position. The two can differ if a body contains bytes that look like
a record with the right physical offset. `ranges_to_reread` compares them and returns the ranges to walk again.
"""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .errors import StoredError
from .layout import BLANK_SIZE, LEDGER_HEADER, MESSAGE_MAGIC, MESSAGE_MAGIC_V2
from .paths import is_file_name, is_remote, join, names_of, offset_of, open_source, read

RANGE_SIZE = 128 << 20
_MAGIC = [magic.to_bytes(4, "big") for magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2)]


@dataclass(frozen=True)
class LogFile:
    """A file of the commit log.

    - `base`: the physical offset of its first byte.
    - `length`: its bytes.
    - `last`: no later file has data.
    - `header`: bytes in front of each record; DLedger's log has them.
    - `index`: the folder with the index of a DLedger log, empty if it is not known.
    - `hosts_by_flag`: sysFlag states the length of the hosts, as in releases with IPv6. In older releases a client could set these bits,
      which had no meaning.
    """

    path: str
    base: int
    length: int
    last: bool
    header: int = 0
    index: str = ""
    hosts_by_flag: bool = True


@dataclass(frozen=True)
class Range:
    """The records of a file that begin in [start, end), offsets inside the file.

    `exact`: a record begins at `start`. `exact_end`: a record ends at `end`, and nothing after it is read.
    """

    file: LogFile
    start: int
    end: int
    exact: bool
    exact_end: bool = False


@dataclass(frozen=True)
class Walked:
    """Where the walk of a range began and ended, as offsets inside the file; its number of rows, and the bytes that they cover.

    A range in which no record begins was not walked: its `begin` and `end` are None.
    """

    range: Range
    begin: int | None
    end: int | None
    rows: int
    size: int


def log_files(folders: Sequence[str], *, hosts_by_flag: bool = True) -> tuple[LogFile, ...]:
    """Return the files of a commit log in order.

    A folder is a store's, or contains the files themselves. A store can have several folders. The files of a DLedger log follow those that
    were written without DLedger. `hosts_by_flag`: see `LogFile`.

    Raises StoredError if there is no file, or if two files have the same name.
    """
    by_base: dict[int, _NamedFile] = {}
    for named in (named for folder in folders for named in _log_files_of(folder)):
        if named.base in by_base:
            raise StoredError(named.path, f"is there a second time as {by_base[named.base].path}", "give folders of one store")
        by_base[named.base] = named
    if not by_base:
        raise _no_log(folders)
    files = []
    order = [by_base[base] for base in sorted(by_base)]
    data = [_begin(named.path) for named in order]
    for number, named in enumerate(order):
        last = not any(filled for _, filled in data[number + 1 :])
        files.append(LogFile(named.path, named.base, data[number][0], last, named.header, named.index_folder, hosts_by_flag))
    return tuple(files)


def _no_log(folders: Sequence[str]) -> StoredError:
    """Return the error about folders without a log. A folder of this machine that does not exist is named."""
    for folder in folders:
        if not is_remote(folder) and not os.path.exists(folder):
            return StoredError(folder, "does not exist", "give a store's folder, the one that has commitlog in it")
    return StoredError(", ".join(folders), "has no commit log", "give a store's folder, or one with files of 20 digits")


class _NamedFile(NamedTuple):
    path: str
    base: int
    header: int
    index_folder: str


def _log_files_of(folder: str) -> list[_NamedFile]:
    """Return the files of the log in a folder, by their names."""
    plain = _files_in(join(folder, "commitlog"), 0)
    members = [join(folder, name) for name in names_of(folder) if name.startswith("dledger-")]
    entries = [named for member in members for named in _files_in(join(member, "data"), LEDGER_HEADER, join(member, "index"))]
    if plain or entries:
        return plain + entries
    files = _files_in(folder, 0)
    return _files_in(folder, LEDGER_HEADER) if _are_entries(files) else files


def _files_in(folder: str, header: int, index: str = "") -> list[_NamedFile]:
    return [_NamedFile(join(folder, name), offset_of(folder, name), header, index) for name in names_of(folder) if is_file_name(name)]


def _are_entries(files: Sequence[_NamedFile]) -> bool:
    """Return whether most files have a message's magic number after DLedger's header instead of at their start."""
    counts: Counter[int] = Counter()
    for named in files:
        with open_source(named.path) as source:
            head = read(source, 0, min(LEDGER_HEADER + BLANK_SIZE, source.length))
        counts.update(header for header in (0, LEDGER_HEADER) if head[header + 4 : header + BLANK_SIZE] in _MAGIC)
    return counts[LEDGER_HEADER] > counts[0]


def _begin(path: str) -> tuple[int, bool]:
    """Return the length of a file, and whether it begins with data: a new file contains zeros."""
    with open_source(path) as source:
        return source.length, any(read(source, 0, min(8, source.length)))


def ranges(files: Iterable[LogFile], size: int = RANGE_SIZE) -> tuple[Range, ...]:
    """Cut the files into ranges of `size` bytes."""
    return tuple(
        Range(file, start, min(start + size, file.length), start == 0) for file in files for start in range(0, max(file.length, 1), size)
    )


def ranges_to_reread(walked: Iterable[Walked]) -> list[Range]:
    """Return the ranges to walk again: those that begin elsewhere than the walk of the previous range ended.

    Each replaces the range of the same file and end. Walk them, replace their results, and call this again until the list is empty. A range
    with `start` = `end` has no record.
    """
    by_file: dict[str, list[Walked]] = {}
    for walk in walked:
        by_file.setdefault(walk.range.file.path, []).append(walk)
    again = []
    for walks in by_file.values():
        walks.sort(key=lambda walk: walk.range.end)
        reached = 0
        for walk in walks:
            range_ = walk.range
            begin = walk.begin
            if (begin is None and reached < range_.end) or (begin is not None and begin != reached):
                again.append(replace(range_, start=min(reached, range_.end), exact=True))
                break
            reached = reached if walk.end is None else walk.end
    return again
