"""A disk in memory that survives the process using it.

A test can end the process between any two of its steps or inside a write. A power loss drops data that was not forced. Any operation can
fail, take time, or find the disk full.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random

from .content import PAGE, MappedContent, PlainContent
from .journal import Content, Journal, JournalStep, PowerLoss, replay


class ProcessEnded(BaseException):
    """The process that used the disk was killed. It is not an Exception, so no handler of the described system catches it."""


class SimulatedRegion:
    """A mapped file. `forced` is its length at the last force."""

    __slots__ = ("_disk", "content", "forced", "path", "size")

    def __init__(self, disk: SimulatedDisk, path: str, size: int, content: MappedContent) -> None:
        self._disk = disk
        self.path = path
        self.size = size
        self.content = content
        self.forced = 0

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        if self._disk.armed:
            half = len(data) // 2
            self._disk.step("map", self.path)
            self.content.write(position, data[:half])
            self._disk.step("map", self.path)
        self.content.write(position, data)

    def read(self, position: int, size: int) -> bytes:
        return self.content.read(position, max(0, min(size, self.size - position)))

    def force(self) -> None:
        if self._disk.armed:
            self._disk.step("force", self.path)
        self.content.force()
        self.forced = len(self.content)
        self._disk.forced(self.path, self.content)


class SimulatedDisk:
    """Files by path.

    - `operations` lists the operations as (operation, path).
    - `end_after(n)` ends the process after n more steps. A write has three: truncated, half written, written.
    - `failing` may raise OSError for an operation on a path.
    - `slow` returns how many milliseconds an operation takes; `sleep` lets them pass.
    - `room` is the free space in bytes, in whole pages; None is unlimited. A mapped file takes space when it is written.
    """

    def __init__(self) -> None:
        self.files: dict[str, Content] = {}
        self.sizes: dict[str, int] = {}
        self.regions: dict[str, SimulatedRegion] = {}
        self.operations: list[tuple[str, str]] = []
        self.failing: Callable[[str, str], None] | None = None
        self.slow: Callable[[str, str], int] | None = None
        self.sleep: Callable[[int], None] | None = None
        self.room: int | None = None
        self.steps = 0
        self._end: int | None = None
        self._journal = Journal()

    @property
    def armed(self) -> bool:
        """Whether single steps matter: an end, failures or delays are planned."""
        return self._end is not None or self.failing is not None or self.slow is not None

    def end_after(self, steps: int | None) -> None:
        """End the process before the step that follows `steps` more steps. None cancels the planned end."""
        self._end = None if steps is None else self.steps + steps

    def step(self, operation: str, path: str) -> None:
        """Count an indivisible step that is about to happen. Raises ProcessEnded if the end is planned here."""
        if self._end is not None and self.steps >= self._end:
            self._end = None
            raise ProcessEnded(f"before {operation} {path}")
        self._apply_faults(operation, path)
        self.steps += 1

    def _apply_faults(self, operation: str, path: str) -> None:
        if self.failing is not None:
            self.failing(operation, path)
        if self.slow is not None and self.sleep is not None and (millis := self.slow(operation, path)) > 0:
            self.sleep(millis)

    # Operations

    def read(self, path: str) -> bytes | None:
        self._apply_faults("read", path)
        content = self.files.get(path)
        return None if content is None else bytes(content)

    def write(self, path: str, data: bytes) -> None:
        self.operations.append(("write", path))
        self.step("truncate", path)
        content = self._truncated(path)
        self.step("write", path)
        self._fill(content, data[: len(data) // 2])
        self.step("write", path)
        self._fill(content, data)

    def append(self, path: str, data: bytes) -> None:
        """Append to a plain file, which is created if missing."""
        self.operations.append(("append", path))
        self.step("write", path)
        content = self._content(path)
        if content is None:
            content = self.files[path] = PlainContent()
            self._journal.add(JournalStep("create", path, content))
        if isinstance(content, PlainContent):
            content.written = True
            self._fill(content, bytes(content) + data)

    def force(self, path: str) -> None:
        """Sync a plain file to the device. For a folder: sync the names in it."""
        self.operations.append(("force", path))
        self.step("force", path)
        content = self._content(path)
        if isinstance(content, PlainContent):
            content.force()
        self._journal.add(JournalStep("force", path, PlainContent() if content is None else content))

    def truncate(self, path: str) -> None:
        """Truncate a plain file, or create it."""
        self.operations.append(("truncate", path))
        self.step("truncate", path)
        self._truncated(path)

    def _content(self, path: str) -> Content | None:
        """Return the content at a path. A content that a test stored directly in `files` counts as already on the device."""
        content = self.files.get(path)
        if content is not None and not isinstance(content, PlainContent | MappedContent):
            self.files[path] = self._journal.names[path] = content = PlainContent(content)
            content.force()
        return content

    def _truncated(self, path: str) -> PlainContent:
        before = self._content(path)
        if isinstance(before, PlainContent):
            self._free(before)
            before.clear()
            before.written, before.kept = True, 0
            self._journal.add(JournalStep("truncate", path, before))
            return before
        content = PlainContent()
        content.written = True
        self._journal.add(JournalStep("create", path, content))
        self._journal.add(JournalStep("truncate", path, content))
        if before is not None:
            content.device = bytes(before)
            self._free(before)
        self.sizes.pop(path, None)
        self.files[path] = content
        return content

    def _fill(self, content: PlainContent, data: bytes) -> None:
        """Set the content. Raises OSError if the disk is full, after writing as much as fits."""
        if self.room is not None:
            more = _pages(len(data)) - _pages(len(content))
            if more * PAGE > self.room:
                room = (_pages(len(content)) + self.room // PAGE) * PAGE
                self.room %= PAGE
                content[:] = data[:room]
                raise no_room()
            self.room -= more * PAGE
        content[:] = data

    def delete(self, path: str) -> bool:
        self.operations.append(("delete", path))
        self.step("delete", path)
        content = self._content(path)
        if content is None:
            return False
        del self.files[path]
        self.sizes.pop(path, None)
        self._free(content)
        self._journal.add(JournalStep("delete", path, content))
        return True

    def rename(self, old: str, new: str) -> bool:
        self.operations.append(("rename", old))
        self.step("rename", old)
        content = self._content(old)
        if content is None:
            return False
        self.files[new] = self.files.pop(old)
        self._journal.add(JournalStep("rename", old, content, new))
        return True

    def names(self, folder: str) -> list[str]:
        prefix = folder.rstrip("/") + "/"
        return sorted({path[len(prefix) :].split("/", 1)[0] for path in self.files if path.startswith(prefix)})

    def size(self, path: str) -> int | None:
        content = self.files.get(path)
        return None if content is None else max(len(content), self.sizes.get(path, 0))

    def map(self, path: str, size: int) -> SimulatedRegion:
        """Map a file. Creating it takes two steps: its name, and its length."""
        self.operations.append(("map", path))
        self.step("map", path)
        content = self._content(path)
        if not isinstance(content, MappedContent):
            mapped = MappedContent(content or b"", self._allocate)
            if content is None or self._journal.names.get(path) is not content:
                self._journal.add(JournalStep("create", path, mapped))
            else:
                self._journal.names[path], self._journal.sizes[path] = mapped, len(content)
            content = self.files[path] = mapped
        if (self.size(path) or 0) < size:
            self.step("extend", path)
            self.sizes[path] = size
            self._journal.add(JournalStep("extend", path, content, size=size))
        self.regions[path] = SimulatedRegion(self, path, size, content)
        return self.regions[path]

    def _allocate(self) -> None:
        if self.room is not None:
            if self.room < PAGE:
                raise no_room()
            self.room -= PAGE

    def _free(self, content: Content) -> None:
        if self.room is not None:
            self.room += PAGE * (len(content.pages) if isinstance(content, MappedContent) else _pages(len(content)))

    # The device

    def forced(self, path: str, content: MappedContent) -> None:
        """Record that a file is on the device."""
        self._journal.add(JournalStep("force", path, content))

    def sync(self) -> None:
        """Bring everything to the device, as the operating system does after half a minute."""
        self._journal = Journal()
        for path in list(self.files):
            content = self._content(path)
            if isinstance(content, PlainContent | MappedContent):
                content.force()
        self._journal.names, self._journal.sizes = dict(self.files), dict(self.sizes)

    def power_loss(self, loss: PowerLoss) -> None:
        """Stop the machine: only data that had reached the device is left. No process may be running."""
        for path in list(self.files):
            self._content(path)
        random = Random(loss.seed)
        journal = self._journal
        names, sizes = dict(journal.names), dict(journal.sizes)
        survivors = journal.survivors(loss, random)
        replay(names, sizes, survivors)
        surviving = {id(step.content) for step in survivors if step.kind == "truncate"}
        lost = {id(step.content) for step in journal.steps if step.kind == "truncate"} - surviving
        self.files, self.sizes = {}, sizes
        for path, content in sorted(names.items()):
            if isinstance(content, PlainContent):
                truncated = id(content) not in lost
                left: Content = PlainContent(content.left(random, loss.grain, truncated=truncated, whole=loss.only_forced))
            elif isinstance(content, MappedContent) and path in sizes:
                left = content.left(random, loss.mapped, forced=loss.only_forced)
            else:
                left = MappedContent(allocate=self._allocate)
            self.files[path] = left
        self.regions.clear()
        self.sync()


def no_room() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def _pages(size: int) -> int:
    return -(-size // PAGE)
