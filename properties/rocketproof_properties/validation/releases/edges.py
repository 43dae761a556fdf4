"""Programs about frequent differences between releases that general programs hardly reach: optional fields, and batches of every size.

Batches with properties of about the maximum length are separate, because of a bug in releases 4.8 to 5.3. There a batch's properties, with
what the broker adds, can be longer than their length field states. Nothing after such a message is dispatched.
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
"""How many bytes shorter than the limit the properties are. Brokers add up to about sixty bytes."""

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
    """Return `count` programs whose requests lack fields, numbered from `first` on."""
    drawn = examples(st.lists(weighted((4, _bare), (1, _plain), (1, _bare_back)), min_size=1, max_size=4), count, seed)
    return [Program(number, LEFT_OUT, tuple(steps)) for number, steps in enumerate(drawn, first)]


def edges(count: int, seed: int, first: int) -> list[Program]:
    """Return `count` programs of batches, numbered from `first` on. Equal seeds give equal programs."""
    drawn = examples(_programs, count, seed)
    return [Program(number, EDGES, tuple(steps)) for number, steps in enumerate(drawn, first)]
