"""The content of a simulated file in two places: the page cache, which every process sees, and the device, which survives a power loss.

A sector is written completely or not at all. Any subset of the sectors that were not forced may have reached the device.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

PAGE = 4096
SECTOR = 512


class PlainContent(bytearray):
    """A file that is rewritten or grows.

    `device` is its content on the device. `written` is whether that may differ from the page cache. The first `kept` bytes are on the
    device in any case.
    """

    device: bytes = b""
    written: bool = False
    kept: int = 0

    def force(self) -> None:
        self.device, self.written, self.kept = bytes(self), False, len(self)

    def left(self, random: Random, grain: int, *, truncated: bool, whole: bool = False) -> bytes:
        """Return the content after a power loss.

        If the truncation is lost (not `truncated`), so are all later writes. Otherwise `whole` keeps everything.
        """
        if not self.written:
            return bytes(self)
        if not truncated:
            return self.device
        data = bytes(self)
        outcome = 1 if whole else random.randrange(3)
        if outcome < 2:
            return data if outcome else data[: self.kept]
        rest = data[self.kept :]
        end = min(len(rest), random.randint(0, -(-len(rest) // grain)) * grain)
        blocks = (rest[at : min(at + grain, end)] for at in range(0, end, grain))
        return data[: self.kept] + b"".join(block if random.randrange(2) else bytes(len(block)) for block in blocks)


class MappedContent:
    """A file that is written in place. Only written pages take memory; `len` is the end of the last written byte.

    `unforced` maps each page written since the last force to its content on the device, empty for a page that the device lacks. `allocate`
    is called for each new page and raises OSError if the disk is full.
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
        """Write bytes. Raises OSError if the disk is full; the bytes before the failing page are then written."""
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
        """Return `size` bytes, zeros where nothing was written."""
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
        """Return the content after a power loss: each sector that was not forced has its new or its device content.

        With `forced`, every such sector has its device content.
        """
        survivor = MappedContent(allocate=self.allocate)
        survivor.pages = {number: bytearray(page) for number, page in self.pages.items()}
        survivor._end = self._end
        outcome = 1 if forced else random.randrange(3)
        for number, on_device in sorted(self.unforced.items()) if outcome else ():
            page = survivor.pages[number]
            for at in range(0, PAGE, grain):
                if outcome == 1 or random.randrange(2):
                    page[at : at + grain] = on_device[at : at + grain] or bytes(grain)
        return survivor

    def __len__(self) -> int:
        return self._end

    def __bytes__(self) -> bytes:
        return self.read(0, self._end)

    def __getitem__(self, position: int) -> int:
        return self.read(position, 1)[0]

    def __setitem__(self, position: int, value: int) -> None:
        """Damage a byte, in the page cache and on the device."""
        page = self.pages.setdefault(position // PAGE, bytearray(PAGE))
        page[position % PAGE] = value
