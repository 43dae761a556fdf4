"""Errors of a store's files that cannot be read or change while they are read."""

from __future__ import annotations

from ..common.errors import TraceError


class StoredError(TraceError):
    """A store's file that cannot be read. `place` is its path."""


class Unreadable(StoredError):
    """Bytes that the operating system does not return, such as after a device error. Their content is unknown: nothing is concluded from
    them."""
