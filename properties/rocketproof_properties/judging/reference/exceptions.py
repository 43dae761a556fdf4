"""Recorded cases in which the implementation may differ, each with the reason."""

from __future__ import annotations

EXCEPTIONS: dict[tuple[str, str, str, int], str] = {}
"""Why a case may differ, by profile, recorded version, `cfg` and number of the case."""
