"""What a simulated file holds: in the page cache, where every process sees it, and on the device, where a power loss leaves it.

A sector is written whole or not at all. Which of the sectors that nobody forced have reached the device, nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

PAGE = 4096
SECTOR = 512


class PlainContent(bytearray):
    """A file that is written whole, or grows. `device` is what the device has of it, `written` whether that may be something else; its
    first `kept` bytes are on the device whatever comes."""

    device: bytes = b""
    written: bool = False
    kept: int = 0

    def force(self) -> None:
        self.device, self.written, self.kept = bytes(self), False, len(self)

    def left(self, random: Random, grain: int, *, truncated: bool, whole: bool = False) -> bytes:
        """What a power loss leaves. Where the truncation is lost, so is all that came after it; `whole`, where not, leaves all."""
        if not self.written:
            return bytes(self)
        if not truncated:
            return self.device
        data = bytes(self)
        fate = 1 if whole else random.randrange(3)
        if fate < 2:
            return data if fate else data[: self.kept]
        rest = data[self.kept :]
        end = min(len(rest), random.randint(0, -(-len(rest) // grain)) * grain)
        pieces = (rest[at : min(at + grain, end)] for at in range(0, end, grain))
        return data[: self.kept] + b"".join(piece if random.randrange(2) else bytes(len(piece)) for piece in pieces)


class MappedContent:
    """A file that is written in place. It takes memory only for the pages that were written; `len` is the end of the last byte.

    `unforced`: pages written since they were forced, with what the device has of them; empty for a page it has not.
    `allocate` is asked for each new page and raises OSError if there is no room.
    """

    __slots__ = ("_end", "allocate", "pages", "unforced")

    def __init__(self, data: bytes | bytearray = b"", allocate: Callable[[], None] | None = None) -> None:
        self.pages: dict[int, bytearray] = {}
        self.unforced: dict[int, bytes] = {}
        self.allocate = allocate
        self._end = 0
        self.write(0, data)
        self.unforced.clear()

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        """Raises OSError where there is no room, with what came before written."""
        end = position + len(data)
        at = position
        while at < end:
            number, start = divmod(at, PAGE)
            size = min(end - at, PAGE - start)
            page = self.pages[number] if number in self.unforced else self._writable(number)
            page[start : start + size] = data[at - position : at - position + size]
            at += size
            if at > self._end:
                self._end = at

    def _writable(self, number: int) -> bytearray:
        page = self.pages.get(number)
        if page is None:
            if self.allocate is not None:
                self.allocate()
            page = self.pages[number] = bytearray(PAGE)
            self.unforced.setdefault(number, b"")
        elif number not in self.unforced:
            self.unforced[number] = bytes(page)
        return page

    def read(self, position: int, size: int) -> bytes:
        """So many bytes, zeros where nothing was written."""
        number, start = divmod(position, PAGE)
        if start + size <= PAGE:
            page = self.pages.get(number)
            return bytes(size) if page is None else bytes(page[start : start + size])
        pieces = []
        while size > 0:
            part = min(size, PAGE - start)
            page = self.pages.get(number)
            pieces.append(bytes(part) if page is None else page[start : start + part])
            size -= part
            number, start = number + 1, 0
        return b"".join(pieces)

    def force(self) -> None:
        self.unforced.clear()

    def left(self, random: Random, grain: int, *, forced: bool = False) -> MappedContent:
        """What a power loss leaves: of each sector nobody forced, the new bytes or those on the device; of all the latter where only what
        was `forced` is there."""
        found = MappedContent(allocate=self.allocate)
        found.pages = {number: bytearray(page) for number, page in self.pages.items()}
        found._end = self._end
        fate = 1 if forced else random.randrange(3)
        for number, before in sorted(self.unforced.items()) if fate else ():
            page = found.pages[number]
            for at in range(0, PAGE, grain):
                if fate == 1 or random.randrange(2):
                    page[at : at + grain] = before[at : at + grain] or bytes(grain)
        return found

    def __len__(self) -> int:
        return self._end

    def __bytes__(self) -> bytes:
        return self.read(0, self._end)

    def __getitem__(self, position: int) -> int:
        return self.read(position, 1)[0]

    def __setitem__(self, position: int, value: int) -> None:
        """Damage: the device has it too."""
        page = self.pages.setdefault(position // PAGE, bytearray(PAGE))
        page[position % PAGE] = value
