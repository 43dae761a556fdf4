"""A bounded verdict never contradicts the unbounded one, on random histories whose settings may be unknown.

More histories are in tests/long, and `bounded_verdicts.py` is a command.
"""

from __future__ import annotations

import pytest
from bounded_verdicts import Counts, contradictions, count
from compared_opinions import made
from random_histories import SHAPES

from nonempty import nonempty
from proportion import few, in_proportion
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.history import Header


@pytest.mark.parametrize("limit", [16, 32, 64, 128])
def test_setting_stopped_by_bound_is_not_refuted_by_another(limit: int) -> None:
    """Without autoCreateTopicEnable the history is legal, and the explaining setting needs more than 64 states."""
    header, events, _, _ = made("updates", 36, "P494")
    header = Header({name: value for name, value in header.origin.items() if name != "settings"})
    assert judge_history(header, events, "P494").verdict == "ok"
    assert judge_history(header, events, "P494", limit).verdict in ("ok", "unknown")


@pytest.mark.parametrize(("number", "shape"), few(enumerate(SHAPES), 11), ids=list(SHAPES))
def test_bounded_verdict_never_contradicts(number: int, shape: str) -> None:
    counts = Counts()
    turns = (0, 2, 3)[: in_proportion(3)]  # the judge needs seconds for a history of turn 1
    for turn in nonempty(turns):
        seed = number + turn * len(SHAPES)
        count(seed, counts, "P494", bounds=2, most=100, auto=True)
    assert not counts.wrong, counts.wrong[0]
    assert counts.unbounded.total() == len(turns)


def test_first_unexplained_event_is_named_or_undecided() -> None:
    """The search for the event may reach the bound after the part is already refused."""
    illegal = 0
    for shape in ("updates", "deletions", "let in"):
        for seed in range(6):
            header, events, _, _ = made(shape, seed, "P494", auto=True)
            whole = judge_history(header, events, "P494")
            for limit in range(1, 60, 8):
                bounded = judge_history(header, events, "P494", limit)
                assert contradictions(whole, bounded) == []
                illegal += bounded.verdict == "illegal"
    assert illegal > 15
