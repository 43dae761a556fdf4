"""Settings as a target reports them: arbitrary texts, some of which must be numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketproof_protocol.numbers import whole_number

_INT: Final = range(1 << 31)
RANGES: Final[Mapping[str, range]] = {
    "brokerPermission": range(16),
    "listenPort": range(1, 1 << 16),
    "mappedFileSizeCommitLog": _INT[1:],
    "maxMessageSize": _INT,
    "transactionCheckInterval": range(1 << 63),
}
"""The settings that judging reads as numbers, with their valid ranges."""


def unreadable(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the reported settings that must be numbers and are not: their values are unknown."""
    return {name: settings[name] for name, numbers in RANGES.items() if name in settings and not _is_one_of(settings[name], numbers)}


def readable(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return the other settings."""
    unknown = unreadable(settings)
    return {name: value for name, value in settings.items() if name not in unknown} if unknown else settings


def _is_one_of(text: str, numbers: range) -> bool:
    try:
        return whole_number(text) in numbers
    except (TypeError, ValueError):
        return False
