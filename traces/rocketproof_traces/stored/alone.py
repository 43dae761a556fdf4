"""A range that is read alone: no walk of what is before it says where its first record begins.

The first plausible place is that, unless it lies inside of a record or a blank: a body may hold what looks like a record at the very
offset it lies at, and the filler of a blank may be older records. Where something reaches over that place, all before the range is
walked: it begins where that walk ends, which is what `segments.mend` says of ranges that are all walked.
"""

from __future__ import annotations

from dataclasses import replace

from .names import NameTable
from .paths import open_source
from .plausible import FilePlace
from .segments import Range
from .walk import Walk


def settled(range_: Range) -> Range:
    """The range with an exact begin, which is its end if no record begins in it. Raises StoredError.

    A record of more than `plausible.LARGEST` bytes is not seen to reach over the border.
    """
    if range_.exact:
        return range_
    with open_source(range_.file.path) as source:
        place = FilePlace(source, range_.file.base, range_.file.header, hosts_by_flag=range_.file.hosts_by_flag)
        begin = place.next_plausible(range_.start, range_.end)
        if begin is not None and place.is_covered(begin):
            before = Walk(Range(range_.file, 0, range_.start, exact=True), NameTable(), crc=False, properties=False, source=source)
            for _ in before:
                pass
            begin = before.walked.end
    return replace(range_, start=range_.end if begin is None else min(begin, range_.end), exact=True)
