"""Disk states that a power loss can leave after the file operations of a process, by the rules of the simulated disk. Without side effects.

`SimulatedDisk` has the guarantees of a journaling file system ("ordered" of `PowerLoss`):

- Names and lengths persist in the order of the operations. Forcing a file persists all earlier operations.
- Of unforced data any subset of sectors persists. Of a mapped file any subset of pages persists, whatever happened to the names.
- All but the last 64 operations on names and lengths have persisted.

This is the weaker kind of journal, as in XFS. ext4 keeps more if a file is renamed over another.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rocketproof_impl.simulator.content import PAGE, MappedContent
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.journal import PowerLoss
from rocketproof_protocol import fastjson
from rocketproof_protocol.numbers import is_digits

from .systemcalls import FileOperation

Files = Mapping[str, bytes]
"""Contents by paths relative to the store's folder."""
SEEDS: Final = 200
"""The number of power losses that are tried for the states of one run."""


def disk_of(before: Files, done: Iterable[FileOperation], after: Files) -> SimulatedDisk:
    """Return the disk as the process leaves it: the files `before` have persisted, then its operations follow.

    Files written in place get their content from `after`.
    """
    disk = SimulatedDisk()
    disk.files.update({path: bytearray(data) for path, data in before.items()})
    disk.sync()
    in_place: dict[str, int] = {}
    for operation in done:
        if operation.kind in ("size", "map"):
            disk.map(operation.path, operation.size)
            in_place[operation.path] = operation.size
        elif operation.kind == "force" and operation.path in in_place:
            _write(disk, operation.path, operation.pages)
            disk.regions[operation.path].force()
        elif operation.kind == "force":
            disk.force(operation.path)
        elif operation.kind == "delete":
            disk.delete(operation.path)
            in_place.pop(operation.path, None)
        elif operation.kind == "rename":
            disk.rename(operation.path, operation.other)
            in_place.pop(operation.other, None)
            if operation.path in in_place:
                in_place[operation.other] = in_place.pop(operation.path)
                disk.map(operation.other, in_place[operation.other])
        elif operation.path not in in_place:
            disk.append(operation.path, operation.data) if operation.kind == "append" else disk.truncate(operation.path)
    for path in sorted(in_place.keys() & after.keys()):
        _write(disk, path, changed(bytes(disk.files[path]), after[path]))
    return disk


def _write(disk: SimulatedDisk, path: str, pages: Mapping[int, bytes]) -> None:
    for offset, data in pages.items():
        disk.regions[path].write(offset, data)


def changed(before: bytes, after: bytes) -> dict[int, bytes]:
    """Return the pages that differ, by their offsets. Beyond its end, `before` counts as zeros."""
    pages = {}
    for offset in range(0, len(after), PAGE):
        page = after[offset : offset + PAGE]
        if page != before[offset : offset + PAGE].ljust(len(page), b"\0"):
            pages[offset] = page
    return pages


def lose(disk: SimulatedDisk, seed: int) -> dict[str, bytes]:
    """Return the files after a power loss. The disk itself does not change."""
    return _left(disk, PowerLoss(seed, in_place=PAGE))


def forced(disk: SimulatedDisk) -> dict[str, bytes]:
    """Return the state in which files written in place have exactly their forced data, and all other data have persisted.

    With many files a random state is hardly ever this one, because each file's remains are drawn independently.
    """
    return _left(disk, PowerLoss(only_forced=True))


def _left(disk: SimulatedDisk, loss: PowerLoss) -> dict[str, bytes]:
    left = copy.deepcopy(disk)
    left.power_loss(loss)
    return {path: bytes(content).ljust(left.size(path) or 0, b"\0") for path, content in left.files.items()}


def states(disk: SimulatedDisk, most: int, seed: int) -> Iterator[dict[str, bytes]]:
    """Yield up to `most` distinct disk states that a power loss can leave.

    The first contains only forced data of files written in place. Each further one has the most files in a condition not seen before.
    """
    first = forced(disk)
    by_shape: dict[Shape, dict[str, bytes]] = {shape(disk, first): first}
    for number in range(SEEDS):
        left = lose(disk, seed * SEEDS + number)
        by_shape.setdefault(shape(disk, left), left)
    seen: set[tuple[str, str]] = set()
    todo = list(by_shape.items())
    for number in range(min(most, len(todo))):
        best = max(todo, key=lambda candidate: len(set(candidate[0]) - seen)) if number else todo[0]
        todo.remove(best)
        seen |= set(best[0])
        yield best[1]


def moments(before: Files, done: Sequence[FileOperation]) -> Iterator[int]:
    """Yield the numbers of operations after which a new file was created while the end of the previous file in its folder has persisted.

    If only forced data persist, the last file of the folder is then empty.
    """
    device = {path: bytearray(data) for path, data in before.items() if _folder(path)}
    for number, operation in enumerate(done, 1):
        if operation.kind == "size" and operation.path not in device and _folder(operation.path):
            last = max((path for path in device if _folder(path) == _folder(operation.path) and path < operation.path), default=None)
            device[operation.path] = bytearray(operation.size)
            if last is not None and device[last][-_END:].strip(b"\0"):
                yield number
        elif operation.kind == "force" and operation.path in device:
            for at, page in operation.pages.items():
                device[operation.path][at : at + len(page)] = page


def _folder(path: str) -> str:
    """Return the folder of a file whose name is an offset, like files of the log and of queues; "" for others."""
    folder, _, name = path.rpartition("/")
    return folder if is_digits(name) else ""


_END: Final = 20
"""The bytes of an entry. The last entry of a queue's file is within them."""
Shape = tuple[tuple[str, str], ...]


def shape(disk: SimulatedDisk, left: Files) -> Shape:
    """Return the condition of each file in a state, compared with what the process saw: whole, empty, broken, missing or older."""
    return tuple((path, _condition(disk, path, left.get(path))) for path in sorted({*disk.files, *left}))


def _condition(disk: SimulatedDisk, path: str, data: bytes | None) -> str:
    if data is None:
        return "missing"
    if not data.strip(b"\0"):
        return "empty"
    content = disk.files.get(path)
    if isinstance(content, MappedContent):
        return "whole" if not changed(data, bytes(content)) else "older"
    if content is not None and bytes(content) == data:
        return "whole"
    if ".json" in path and not parsable(data):
        return "broken"
    return "older"


def parsable(data: bytes) -> bool:
    """Return whether a broker can parse the data."""
    try:
        fastjson.loads(data)
    except ValueError:
        return False
    return True


def described(disk: SimulatedDisk, left: Files, folder: str = "config") -> str:
    """Describe the settings files that differ from what the process saw."""
    odd = [f"{path.rpartition('/')[2]} is {how}" for path, how in shape(disk, left) if how != "whole" and path.startswith(f"{folder}/")]
    return ", ".join(odd) or "its files of settings are whole"
