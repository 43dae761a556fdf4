"""Select the rows of a long history that fit into a page: the rows around a given place, most of them from before it."""

from __future__ import annotations

from collections.abc import Sequence

LARGEST = 1_750_000
"""The maximum size of a page's rows in bytes. With its own script the page stays below 2 MB."""
AFTER = 4
"""One part in `AFTER` of the size is reserved for rows after the place."""


def window(sizes: Sequence[int], place: int, largest: int = LARGEST) -> range:
    """Return the rows to keep: the row at `place`, and its neighbours as far as there is room. `sizes` are the sizes of all rows in
    bytes."""
    if not sizes:
        return range(0)
    first, last, used = place, place + 1, sizes[place]

    def extend(most: int) -> None:
        nonlocal last, used
        while last < len(sizes) and used + sizes[last] <= most:
            used += sizes[last]
            last += 1

    extend(largest // AFTER)
    while first > 0 and used + sizes[first - 1] <= largest:
        first -= 1
        used += sizes[first]
    extend(largest)
    return range(first, last)


__all__ = ["LARGEST", "window"]
