"""The error of a file that cannot be read, or that changes while it is read."""

from __future__ import annotations

from ..common.errors import TraceError


class StoredError(TraceError):
    """A file of a store that cannot be read. `place` is its path."""


class Unreadable(StoredError):
    """Bytes that the system does not give, such as after an error of the device: what they hold is unknown, and nothing follows from it."""
