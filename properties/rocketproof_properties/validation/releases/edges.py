"""Programs of what the general ones hardly draw, and releases often do otherwise: fields that may be left out, and batches of every size.

Batches whose properties are about as long as a record's may be are apart because of what some releases do behind such a message: from
4.8 to 5.3 a batch's properties and what the broker adds to them can be longer than their length field says, and then nothing behind it
is dispatched.
"""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st

from rocketproof_impl.store.record import PROPERTIES_LIMIT

from ...programs.draws import examples, step, weighted
from ...programs.program import Program

EDGES: Final = "batches of every size"
LEFT_OUT: Final = "fields left out"
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

_bare = step(
    "send",
    topic=("A", "%RETRY%g"),
    without=(None, "unitMode", "batch", "reconsumeTimes", "flag", "properties", "bornTimestamp", "defaultTopicQueueNums"),
    most=(16, None, None),
    times=(0, 0, 16),
    version=(399, 121, 120),
    code=(310, 310, 10),
)
_bare_back = step("back", group=("g", "h"), level=(0, 1, -1), most=(None, 16), named=(True, False), version=(399, 120))


def left_out(count: int, seed: int, first: int) -> list[Program]:
    """So many programs whose requests lack fields, numbered from `first` on."""
    drawn = examples(st.lists(weighted((4, _bare), (1, _plain), (1, _bare_back)), min_size=1, max_size=4), count, seed)
    return [Program(number, LEFT_OUT, tuple(steps)) for number, steps in enumerate(drawn, first)]


def edges(count: int, seed: int, first: int) -> list[Program]:
    """So many programs of batches, numbered from `first` on; the same seed gives the same ones."""
    drawn = examples(_programs, count, seed)
    return [Program(number, EDGES, tuple(steps)) for number, steps in enumerate(drawn, first)]
