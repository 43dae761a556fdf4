"""Find where the first record of a range begins without walking the previous range.

The range begins at the first plausible position, unless it lies inside a record or a blank. A body can contain bytes that look like a
record with the right physical offset, and a blank can be filled with older records. If a record or blank extends over the position, the
file is walked up to the range, and the range begins where that walk ends. `segments.ranges_to_reread` finds the same position when all
ranges are walked.
"""

from __future__ import annotations

from dataclasses import replace

from .names import NameTable
from .paths import open_source
from .plausible import FilePlace
from .segments import Range
from .walk import Walk


def with_exact_start(range_: Range) -> Range:
    """Return the range with an exact start. If no record begins in the range, its start is its end.

    A record of more than `plausible.LARGEST` bytes that extends over the border is not noticed. Raises StoredError.
    """
    if range_.exact:
        return range_
    with open_source(range_.file.path) as source:
        positions = FilePlace(source, range_.file.base, range_.file.header, hosts_by_flag=range_.file.hosts_by_flag)
        begin = positions.next_plausible(range_.start, range_.end)
        if begin is not None and positions.is_covered(begin):
            walk = Walk(Range(range_.file, 0, range_.start, exact=True), NameTable(), crc=False, properties=False, source=source)
            for _ in walk:
                pass
            begin = walk.walked.end
    return replace(range_, start=range_.end if begin is None else min(begin, range_.end), exact=True)
