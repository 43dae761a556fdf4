"""Recorded cases that the implementation need not agree with, each with the reason."""

from __future__ import annotations

EXCEPTIONS: dict[tuple[str, str, str, int], str] = {}
"""Profile, recorded version, `cfg` and number of the case, and why it may differ."""
