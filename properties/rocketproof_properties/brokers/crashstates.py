"""From what a process did to files to what a loss of power may leave of them: pure, and by the rules of the simulated disk.

`SimulatedDisk` knows what a journaling file system promises: names and lengths are kept in the order of the steps, and with a file that was
forced all steps before it; of data that nobody forced any sectors reach the device, or none, and of a mapped file any pages, whatever
became of the names ("ordered" of `PowerLoss`). It is the weaker kind of journal, as XFS has it; ext4 keeps more where a file is renamed
over another one. What is older than the last 64 steps on names and lengths has reached the device.
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
"""Contents by paths below the store's folder."""
SEEDS: Final = 200
"""Losses of power that are tried for the states of one run."""


def disk_of(before: Files, done: Iterable[FileOperation], after: Files) -> SimulatedDisk:
    """The disk as the process leaves it: what there was `before` is on the device, then come its operations. Files that were written in
    place have what is found in them `after` its end."""
    disk = SimulatedDisk()
    disk.files.update({path: bytearray(data) for path, data in before.items()})
    disk.sync()
    in_place: dict[str, int] = {}
    for one in done:
        if one.kind in ("size", "map"):
            disk.map(one.path, one.size)
            in_place[one.path] = one.size
        elif one.kind == "force" and one.path in in_place:
            _write(disk, one.path, one.pages)
            disk.regions[one.path].force()
        elif one.kind == "force":
            disk.force(one.path)
        elif one.kind == "delete":
            disk.delete(one.path)
            in_place.pop(one.path, None)
        elif one.kind == "rename":
            disk.rename(one.path, one.other)
            in_place.pop(one.other, None)
            if one.path in in_place:
                in_place[one.other] = in_place.pop(one.path)
                disk.map(one.other, in_place[one.other])
        elif one.path not in in_place:
            disk.append(one.path, one.data) if one.kind == "append" else disk.truncate(one.path)
    for path in sorted(in_place.keys() & after.keys()):
        _write(disk, path, changed(bytes(disk.files[path]), after[path]))
    return disk


def _write(disk: SimulatedDisk, path: str, pages: Mapping[int, bytes]) -> None:
    for at, data in pages.items():
        disk.regions[path].write(at, data)


def changed(before: bytes, after: bytes) -> dict[int, bytes]:
    """The pages that differ, by their places; zeros are what is behind an end."""
    found = {}
    for at in range(0, len(after), PAGE):
        page = after[at : at + PAGE]
        if page != before[at : at + PAGE].ljust(len(page), b"\0"):
            found[at] = page
    return found


def lose(disk: SimulatedDisk, seed: int) -> dict[str, bytes]:
    """What a loss of power leaves of the disk, which stays as it is."""
    return _left(disk, PowerLoss(seed, in_place=PAGE))


def forced(disk: SimulatedDisk) -> dict[str, bytes]:
    """The state in which of files that are written in place exactly what was forced is there, and of all else everything. Of the states
    that are drawn none is so where there are many files, as what is left of each is drawn for itself."""
    return _left(disk, PowerLoss(only_forced=True))


def _left(disk: SimulatedDisk, loss: PowerLoss) -> dict[str, bytes]:
    left = copy.deepcopy(disk)
    left.power_loss(loss)
    return {path: bytes(content).ljust(left.size(path) or 0, b"\0") for path, content in left.files.items()}


def states(disk: SimulatedDisk, most: int, seed: int) -> Iterator[dict[str, bytes]]:
    """So many different states that a loss of power may leave: the one with only what was forced, then those whose files are so as no state
    before has them."""
    first = forced(disk)
    found: dict[Shape, dict[str, bytes]] = {shape(disk, first): first}
    for number in range(SEEDS):
        left = lose(disk, seed * SEEDS + number)
        found.setdefault(shape(disk, left), left)
    seen: set[tuple[str, str]] = set()
    todo = list(found.items())
    for number in range(min(most, len(todo))):
        best = max(todo, key=lambda one: len(set(one[0]) - seen)) if number else todo[0]
        todo.remove(best)
        seen |= set(best[0])
        yield best[1]


def moments(before: Files, done: Sequence[FileOperation]) -> Iterator[int]:
    """How many operations were done each time when a file that is written in place had just been made behind another one of its folder, of
    which the device has the end: with what was forced until then alone, the folder's last file is empty."""
    device = {path: bytearray(data) for path, data in before.items() if _folder(path)}
    for number, one in enumerate(done, 1):
        if one.kind == "size" and one.path not in device and _folder(one.path):
            last = max((path for path in device if _folder(path) == _folder(one.path) and path < one.path), default=None)
            device[one.path] = bytearray(one.size)
            if last is not None and device[last][-_END:].strip(b"\0"):
                yield number
        elif one.kind == "force" and one.path in device:
            for at, page in one.pages.items():
                device[one.path][at : at + len(page)] = page


def _folder(path: str) -> str:
    """The folder of a file whose name is a place, as those of the log and of queues are; "" for others."""
    folder, _, name = path.rpartition("/")
    return folder if is_digits(name) else ""


_END: Final = 20
"""Bytes of an entry, in which the last one of a queue's file lies."""
Shape = tuple[tuple[str, str], ...]


def shape(disk: SimulatedDisk, left: Files) -> Shape:
    """How each file is in a state, beside what the process saw: whole, empty, broken, missing or older."""
    return tuple((path, _how(disk, path, left.get(path))) for path in sorted({*disk.files, *left}))


def _how(disk: SimulatedDisk, path: str, data: bytes | None) -> str:
    if data is None:
        return "missing"
    if not data.strip(b"\0"):
        return "empty"
    there = disk.files.get(path)
    if isinstance(there, MappedContent):
        return "whole" if not changed(data, bytes(there)) else "older"
    if there is not None and bytes(there) == data:
        return "whole"
    if ".json" in path and not parsable(data):
        return "broken"
    return "older"


def parsable(data: bytes) -> bool:
    """Whether a broker can read it."""
    try:
        fastjson.loads(data)
    except ValueError:
        return False
    return True


def described(disk: SimulatedDisk, left: Files, folder: str = "config") -> str:
    """The files of the settings that are not as the process saw them, in words."""
    odd = [f"{path.rpartition('/')[2]} is {how}" for path, how in shape(disk, left) if how != "whole" and path.startswith(f"{folder}/")]
    return ", ".join(odd) or "its files of settings are whole"
