"""Which requests matter to what an answered request does next: a persistent set, found from footprints.

*Near* are the answered request and whatever is connected with it by slots that one writes and the other touches, from here to its end if
nobody else moves (its footprint). A step that assigns what is there already and has not looked at it counts as a write: later it may
change something. The footprint of a near request need not know what others make it do: until one of them takes a step that another near
one sees, each goes its own way, and after that step the footprints are taken anew. The footprint of one that is not near must: others
that are not near may have moved before. So a request whose way another one may change is near, too (`_led`). The lock needs no such care:
a footprint has the steps of a free lock and of a held one.
"""

from __future__ import annotations

from collections.abc import Mapping

Footprints = Mapping[int, tuple[int, int]]
"""The slots that each request reads and writes from here to its end, one bit a slot."""


def component(mine: int, marks: Footprints, deciding: int) -> list[int]:
    """The requests that matter to what `mine` does next: near are those that are connected with it by slots that one writes and the other
    touches. Of the rest none may change what another of the rest touches, for else that is not known yet: such a one is near too."""
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
    for one in near:
        reads, writes = marks[one]
        touched = reads | writes
        joined = [o for o in rest if marks[o][1] & touched or marks[o][0] & writes]
        rest = [o for o in rest if o not in joined]
        near += joined
        if one == near[-1] and rest:
            near += _led(rest, marks, deciding)
            rest = [o for o in rest if o not in near]
    return near


def _led(rest: list[int], marks: Footprints, deciding: int) -> list[int]:
    """The requests whose way another one may change."""
    leaders = [o for o in rest if marks[o][1] & deciding]
    return [o for o in rest if any(marks[other][1] & marks[o][0] & deciding for other in leaders if other != o)]


__all__ = ["Footprints", "component"]
