"""A disk in memory. It outlives the process that uses it; a process can be made to end between any two of its steps, or
inside a write, and any operation can be made to fail."""

from __future__ import annotations

from collections.abc import Callable


class ProcessEnded(BaseException):
    """The process that used the disk is gone. Not an Exception: no handler of the described system sees it."""


class SimulatedRegion:
    """A mapped file that takes memory only up to the last byte written."""

    __slots__ = ("_disk", "content", "forced", "path", "size")

    def __init__(self, disk: SimulatedDisk, path: str, size: int, content: bytearray) -> None:
        self._disk = disk
        self.path = path
        self.size = size
        self.content = content
        self.forced = 0

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        if self._disk.armed:
            half = len(data) // 2
            self._disk.step("map", self.path)
            self._put(position, data[:half])
            self._disk.step("map", self.path)
        self._put(position, data)

    def _put(self, position: int, data: bytes | bytearray | memoryview) -> None:
        content = self.content
        if position == len(content):
            content += data
            return
        if position > len(content):
            content += bytes(position - len(content))
        content[position : position + len(data)] = data

    def read(self, position: int, size: int) -> bytes:
        found = bytes(self.content[position : position + size])
        return found if len(found) == size else found + bytes(min(size, self.size - position) - len(found))

    def force(self) -> None:
        self.forced = len(self.content)


class SimulatedDisk:
    """Files by path.

    `operations` lists what was done, as (operation, path). `end_after(n)` ends the process after n more steps; a write has
    three of them: truncated, half written, written. `failing` may raise OSError for an operation on a path.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytearray] = {}
        self.sizes: dict[str, int] = {}
        self.regions: dict[str, SimulatedRegion] = {}
        self.operations: list[tuple[str, str]] = []
        self.failing: Callable[[str, str], None] | None = None
        self.steps = 0
        self._end: int | None = None

    @property
    def armed(self) -> bool:
        """Whether single steps matter: an end or failures are planned."""
        return self._end is not None or self.failing is not None

    def end_after(self, steps: int | None) -> None:
        """End the process before the step that follows `steps` more steps; None takes it back."""
        self._end = None if steps is None else self.steps + steps

    def step(self, operation: str, path: str) -> None:
        """One indivisible step is about to happen."""
        if self._end is not None and self.steps >= self._end:
            self._end = None
            raise ProcessEnded(f"before {operation} {path}")
        if self.failing is not None:
            self.failing(operation, path)
        self.steps += 1

    def read(self, path: str) -> bytes | None:
        if self.failing is not None:
            self.failing("read", path)
        content = self.files.get(path)
        return None if content is None else bytes(content)

    def write(self, path: str, data: bytes) -> None:
        self.operations.append(("write", path))
        self.step("truncate", path)
        self.files[path] = bytearray()
        self.step("write", path)
        self.files[path] += data[: len(data) // 2]
        self.step("write", path)
        self.files[path] = bytearray(data)

    def delete(self, path: str) -> bool:
        self.operations.append(("delete", path))
        self.step("delete", path)
        self.sizes.pop(path, None)
        return self.files.pop(path, None) is not None

    def rename(self, old: str, new: str) -> bool:
        self.operations.append(("rename", old))
        self.step("rename", old)
        content = self.files.pop(old, None)
        if content is None:
            return False
        self.files[new] = content
        return True

    def names(self, folder: str) -> list[str]:
        prefix = folder.rstrip("/") + "/"
        return sorted({path[len(prefix) :].split("/", 1)[0] for path in self.files if path.startswith(prefix)})

    def map(self, path: str, size: int) -> SimulatedRegion:
        self.operations.append(("map", path))
        self.step("map", path)
        content = self.files.setdefault(path, bytearray())
        self.sizes[path] = size
        self.regions[path] = SimulatedRegion(self, path, size, content)
        return self.regions[path]
