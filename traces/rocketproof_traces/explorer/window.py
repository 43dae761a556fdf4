"""What of a long history a page holds: as much around one place as a size allows, most of it from before that place."""

from __future__ import annotations

from collections.abc import Sequence

LARGEST = 1_750_000
"""Bytes that the rows of a page may have, so that with the page's own script it stays below 2 MB."""
AFTER = 4
"""A quarter of the size is kept for what comes after the place."""


def window(sizes: Sequence[int], place: int, largest: int = LARGEST) -> range:
    """The rows to keep, of which `sizes` are the bytes: the one at `place`, and its neighbours as far as there is room."""
    if not sizes:
        return range(0)
    first, last, used = place, place + 1, sizes[place]

    def on(most: int) -> None:
        nonlocal last, used
        while last < len(sizes) and used + sizes[last] <= most:
            used += sizes[last]
            last += 1

    on(largest // AFTER)
    while first > 0 and used + sizes[first - 1] <= largest:
        first -= 1
        used += sizes[first]
    on(largest)
    return range(first, last)


__all__ = ["LARGEST", "window"]
