"""The files of a commit log, cut into ranges that are read one by one.

A file is named by the physical offset of its first byte. A range that does not begin with its file begins at the first place that is
plausibly a record's, and the range before it ends where its own walk meets such a place. Where a body holds what looks like a
record at the very offset it lies at, the two may differ: `mend` compares them, and gives the ranges to walk again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .errors import StoredError
from .layout import BLANK_SIZE, LEDGER_HEADER, MESSAGE_MAGIC, MESSAGE_MAGIC_V2
from .paths import is_file_name, join, names_of, offset_of, open_source, read

RANGE_SIZE = 128 << 20
_MAGIC = [magic.to_bytes(4, "big") for magic in (MESSAGE_MAGIC, MESSAGE_MAGIC_V2)]


@dataclass(frozen=True)
class LogFile:
    """A file of the commit log: its first byte's physical offset, its bytes, and whether no later file has data. `header`: the bytes in
    front of each record, which a log of DLedger has; `index`: the folder of the index beside such a log, empty where it is not known;
    `hosts_by_flag`: its hosts are as long as sysFlag says, as since IPv6 came; before that a client could set those bits, and they meant
    nothing."""

    path: str
    base: int
    length: int
    last: bool
    header: int = 0
    index: str = ""
    hosts_by_flag: bool = True


@dataclass(frozen=True)
class Range:
    """The records of a file that begin in [start, end), offsets inside the file. `exact`: one begins at the start."""

    file: LogFile
    start: int
    end: int
    exact: bool


@dataclass(frozen=True)
class Walked:
    """Where the walk of a range began and ended, as offsets inside the file; its rows, and the bytes that they cover.

    A range in which no record begins was not walked: its `begin` and `end` are None.
    """

    range: Range
    begin: int | None
    end: int | None
    rows: int
    size: int


def log_files(folders: Sequence[str], *, hosts_by_flag: bool = True) -> tuple[LogFile, ...]:
    """The files of a commit log in order. A folder is a store's, or has the files themselves; a store may have several, and a part of its
    log with DLedger, behind what was written without it. `hosts_by_flag`: as of `LogFile`.

    Raises StoredError if there is none, and if two have the same name.
    """
    found: dict[int, _Named] = {}
    for named in (named for folder in folders for named in _named(folder)):
        if named.base in found:
            raise StoredError(named.path, f"is there a second time as {found[named.base].path}", "give folders of one store")
        found[named.base] = named
    if not found:
        raise StoredError(", ".join(folders), "has no commit log", "give a store's folder, or one with files of 20 digits")
    files = []
    order = [found[base] for base in sorted(found)]
    data = [_begin(named.path) for named in order]
    for number, named in enumerate(order):
        last = not any(filled for _, filled in data[number + 1 :])
        files.append(LogFile(named.path, named.base, data[number][0], last, named.header, named.beside, hosts_by_flag))
    return tuple(files)


class _Named(NamedTuple):
    path: str
    base: int
    header: int
    beside: str


def _named(folder: str) -> list[_Named]:
    """The files of the log in a folder, by their names."""
    plain = _in(join(folder, "commitlog"), 0)
    members = [join(folder, name) for name in names_of(folder) if name.startswith("dledger-")]
    entries = [named for member in members for named in _in(join(member, "data"), LEDGER_HEADER, join(member, "index"))]
    if plain or entries:
        return plain + entries
    alone = _in(folder, 0)
    return _in(folder, LEDGER_HEADER) if _are_entries(alone) else alone


def _in(folder: str, header: int, index: str = "") -> list[_Named]:
    return [_Named(join(folder, name), offset_of(folder, name), header, index) for name in names_of(folder) if is_file_name(name)]


def _are_entries(files: Sequence[_Named]) -> bool:
    """More of the files have a message's magic number behind DLedger's header than at their begin."""
    seen: Counter[int] = Counter()
    for named in files:
        with open_source(named.path) as source:
            head = read(source, 0, min(LEDGER_HEADER + BLANK_SIZE, source.length))
        seen.update(header for header in (0, LEDGER_HEADER) if head[header + 4 : header + BLANK_SIZE] in _MAGIC)
    return seen[LEDGER_HEADER] > seen[0]


def _begin(path: str) -> tuple[int, bool]:
    """The length of a file, and whether it begins with data: a file that was only made has zeros."""
    with open_source(path) as source:
        return source.length, any(read(source, 0, min(8, source.length)))


def ranges(files: Iterable[LogFile], size: int = RANGE_SIZE) -> tuple[Range, ...]:
    """The files, cut into ranges of a size."""
    return tuple(
        Range(file, start, min(start + size, file.length), start == 0) for file in files for start in range(0, max(file.length, 1), size)
    )


def mend(walked: Iterable[Walked]) -> list[Range]:
    """The ranges to walk again in the place of others of the same file and end, as a walk reached them elsewhere than they began.

    Walk them, put them in place, and ask again, until there are none. A range with `start` = `end` has no record.
    """
    by_file: dict[str, list[Walked]] = {}
    for each in walked:
        by_file.setdefault(each.range.file.path, []).append(each)
    again = []
    for parts in by_file.values():
        parts.sort(key=lambda each: each.range.end)
        reached = 0
        for each in parts:
            range_ = each.range
            begin = each.begin
            if (begin is None and reached < range_.end) or (begin is not None and begin != reached):
                again.append(replace(range_, start=min(reached, range_.end), exact=True))
                break
            reached = reached if each.end is None else each.end
    return again
