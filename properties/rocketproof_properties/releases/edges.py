"""Programs of batches whose properties are about as long as a record's may be, which the general ones hardly draw.

They are apart because of what some releases do behind such a message: from 4.8 to 5.3 a batch's properties and what the broker adds to them
can be longer than their length field says, and then nothing behind it is dispatched.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from rocketproof_impl.store.record import PROPERTIES_LIMIT

from ..generators.draws import examples, step, weighted
from ..generators.programs import Program

EDGES: Final = "batches of every size"
_NAMED: Final = len("p\x01")
_BELOW: Final = (0, 1, 2, 10, 25, 26, 30, 60, 70, 100)
"""How many bytes fewer than the limit the text of properties has: what brokers add has up to some sixty."""

_item = st.tuples(
    st.sampled_from(("a", "b")),
    st.one_of(
        st.just({}),
        st.sampled_from([{"p": "v" * (PROPERTIES_LIMIT - _NAMED - less)} for less in _BELOW]),
        st.sampled_from(({"KEYS": "k"}, {"TAGS": "t"}, {"KEYS": "k", "TAGS": "t1"})),
    ),
)
_batch = step("send", topic=("A", "B"), items=st.lists(_item, min_size=1, max_size=3), queue=(0, 1))
_plain = step("send", topic=("A", "B"), queue=(0, 1), body=("a", "b"))
_programs = st.lists(weighted((2, _batch), (1, _plain)), min_size=1, max_size=4)


def edges(count: int, seed: int, first: int) -> list[Program]:
    """So many programs, numbered from `first` on; the same seed gives the same ones."""
    drawn = examples(_programs, count, seed)
    return [Program(number, EDGES, tuple(steps)) for number, steps in enumerate(drawn, first)]
