"""Strategies of programs for details that only the wire shows: headers, templates, queues and retry topics of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hypothesis import strategies as st

from rocketproof_protocol.fields import SHORT_NAMES
from rocketproof_protocol.topics import RETRY_PREFIX, TEMPLATE

from ..catalogue import conditions as about
from .draws import Steps, step, weighted
from .vocabulary import Step

TEMPLATES, QUEUES = "templates of every kind", "queues of every number"
HEADERS, RETRIED = "headers of every kind", "retry topics of every kind"
LONGEST_WAIT: Final = 2500
"""The longest time in ms that a step lets pass: enough for the first delay level."""


_planned = step(
    "topic",
    topic=("T", "T", "A", f"{RETRY_PREFIX}g"),
    read=(8, 4, 2, 1, 0),
    write=(8, 4, 2, 1, 0),
    perm=(7, 7, 6, 15, 3, 1, 5, 4),
    filter_type=("SINGLE_TAG", "SINGLE_TAG", "MULTI_TAG"),
    sys_flag=(0, 0, 1, 2),
    order=(False, False, True),
)
_from_template = step(
    "send",
    topic=("A", "A", "B", "C", f"{RETRY_PREFIX}g", "T"),
    default=("T", "T", "T", TEMPLATE, "DefaultCluster", "SELF_TEST_TOPIC", "nowhere"),
    nums=(4, 1, 2, 3, 8, 9, 0, -1, -3),
    queue=(0, 0, 1, 2, 3, 4, 7, 8, -1, -1, -2),
    unit=(False, False, True),
    times=(0, 0, 1, 16),
    body=("a", "b"),
)
_route_query = step("route", topic=("A", "B", "T", "nowhere", TEMPLATE))
_group = step("group", group=("g", "h"), queues=(1, 2, 4, 0), retries=(16, 2, 0))
_given_back = step("back", record=range(6), group=("g", "h"), level=(0, 0, 1, 3, 30, -1), most=(16, None, 1, 0), version=(399, 120))
_nameless = step("back", record=range(6), level=(0, 1, -1), most=(16, 0), named=(False,))
_to_retry = step(
    "send",
    topic=(f"{RETRY_PREFIX}g", f"{RETRY_PREFIX}g", f"{RETRY_PREFIX}h"),
    default=("nowhere", "nowhere", "T", TEMPLATE),
    nums=(4, 1, 2, 8),
    queue=(0, 0, 1, 2, 3, -1),
    unit=(False, True),
    times=(0, 1, 2, 16),
    body=("a", "b"),
)
_odd = step(
    "send",
    topic=("A", "A", "%RETRY%g", "%DLQ%g", "a" * 120, "ä", "a.b", "a\n", "%a|b", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "BenchmarkTest"),
    without=(None, None, None, None, *SHORT_NAMES),
    altered=(None, None, None, ("queueId", "x"), ("queueId", "2147483648"), ("batch", "TRUE"), ("unitMode", "1"), ("flag", "")),
    code=(310, 10),
    most=(16, None, 3),
    times=(0, 3, 16),
    version=(399, 121, 120),
    properties=({}, {"p": "v" * 32760}, {"p": "v" * 32700}, {"p": "ä" * 16380}, {"p": "ä" * 16300}, {"WAIT": "false", "KEYS": "k"}),
    body=("a", "", None),
)


_long = step(
    "send",
    topic=("A", "%RETRY%g"),
    properties=({"p": "v" * 32768}, {"p": "v" * 32760}, {"p": "v" * 32700}, {"p": "ä" * 16380}, {"p": "ä" * 16300}),
    nums=(4, 1),
    body=("a", "", None),
)


_earliest = step("earliest", topic=("A", "A", f"{RETRY_PREFIX}g", "nowhere"), queue=(*range(4), 8, -1))
_planned_counts = step("topic", topic=("A", "A", f"{RETRY_PREFIX}g"), read=(8, 4, 2, 1, 0), write=(8, 4, 2, 1, 0), perm=(6, 6, 4, 2, 7))
_to_queue = step(
    "send",
    topic=("A", "A", f"{RETRY_PREFIX}g"),
    queue=(*range(9), -1, -2),
    times=(0, 15, 16),
    properties=({}, {"WAIT": "true"}),
    body=("a",),
)
_large = step("send", topic=("A",), body=("",), size=(10, 20_000, 30_000, 65_000, 65_536, 70_000, 70_000), queue=(0, 1))
_filling = step("send", topic=("A",), body=("",), size=(10,), leave=(0, 1, 4, 7, 8, 9, 12, 100), queue=(0,))


def _programs(least: int, most: int, *choices: tuple[int, Steps]) -> st.SearchStrategy[list[Step]]:
    return st.lists(weighted(*choices), min_size=least, max_size=most)


WIRE_PROGRAMS: Final[Mapping[str, st.SearchStrategy[list[Step]]]] = {
    about.TOO_LARGE: _programs(3, 8, (1, _large), (1, _filling)),
    QUEUES: _programs(3, 10, (1, _planned_counts), (4, _to_queue), (1, _earliest), (1, _group), (1, _given_back)),
    TEMPLATES: _programs(3, 10, (2, _planned), (6, _from_template), (1, _route_query), (1, _earliest), (1, _group), (1, _given_back)),
    RETRIED: _programs(2, 8, (2, _group), (5, _to_retry), (1, _given_back)),
    HEADERS: _programs(2, 6, (8, _odd), (2, _long), (2, _given_back), (1, _nameless)),
}
"""Strategies of whole programs by source."""
