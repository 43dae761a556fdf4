"""Find a persistent set: the requests that can affect what an answered request does next, computed from footprints.

A footprint is the set of slots that a request reads and writes from here to its end if no other request moves. The *near* requests are the
answered request and all requests connected with it: one writes a slot that the other touches. Assigning a value that is already there,
without reading it, counts as a write, because later it may change something.

The footprint of a near request need not cover what other requests make it do. Once a request takes a step that another near request sees,
all footprints are computed again. The footprint of a request that is not near must cover it, because other such requests may have moved
before. So a request whose path another request can change is near, too (`_redirected`). The lock needs no such care: a footprint includes
the steps with a free lock and with a held lock.
"""

from __future__ import annotations

from collections.abc import Mapping

Footprints = Mapping[int, tuple[int, int]]
"""The slots that each request reads and writes from here to its end, one bit per slot."""


def component(mine: int, marks: Footprints, deciding: int) -> list[int]:
    """Return the requests that can affect what `mine` does next, `mine` first.

    They are the requests connected with `mine` by slots that one writes and the other touches. Another request is also returned if it reads
    a slot in `deciding` that a third one changes, because its path is not known yet.
    """
    reads, writes = marks[mine]
    touched, leading = reads | writes, 0
    for other, (sees, changes) in marks.items():
        if other != mine:
            if changes & touched or sees & writes:
                break
            leading |= changes
    else:
        if not leading & deciding:
            return [mine]
    near, rest = [mine], [o for o in marks if o != mine]
    for request in near:
        reads, writes = marks[request]
        touched = reads | writes
        connected = [o for o in rest if marks[o][1] & touched or marks[o][0] & writes]
        rest = [o for o in rest if o not in connected]
        near += connected
        if request == near[-1] and rest:
            near += _redirected(rest, marks, deciding)
            rest = [o for o in rest if o not in near]
    return near


def _redirected(rest: list[int], marks: Footprints, deciding: int) -> list[int]:
    """Return the requests whose path another request can change."""
    leaders = [o for o in rest if marks[o][1] & deciding]
    return [o for o in rest if any(marks[other][1] & marks[o][0] & deciding for other in leaders if other != o)]


__all__ = ["Footprints", "component"]
