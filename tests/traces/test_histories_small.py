"""On small histories the judge equals an enumeration of all orders, down to the first unexplained event."""

import random

import pytest
from small_histories import Whole, spoilt, wishes

from rocketproof_traces.checker.histories import judge_history


@pytest.mark.slow
@pytest.mark.parametrize("auto_create", [True, False], ids=["auto-create", "no auto-create"])
@pytest.mark.parametrize("seed", range(16))
def test_judge_agrees_with_enumeration(seed: int, *, auto_create: bool) -> None:
    chance = random.Random(seed)
    whole = Whole(wishes(chance, chance.choice((1, 2, 2, 3))), auto_create=auto_create)
    right = whole.walk(chance)
    for lines in (right, spoilt(chance, right), spoilt(chance, right), spoilt(chance, spoilt(chance, right))):
        first = whole.first_unexplained(lines)
        assert lines is not right or first is None
        verdict = judge_history(whole.origin, whole.events(lines), "P494")
        seen = verdict.findings[0].seq - 1 if verdict.findings else None
        assert (verdict.verdict, seen) == ("ok" if first is None else "illegal", first), (lines, [str(f) for f in verdict.findings])
