"""On many random histories no verdict with a bound contradicts the unbounded verdict, and the second opinion agrees (tests/traces).

ROCKETPROOF_HISTORIES sets the number of histories.
"""

from __future__ import annotations

import os

import pytest
from bounded_verdicts import Counts, count

HISTORIES = int(os.environ.get("ROCKETPROOF_HISTORIES", "400"))
SHARES = 8


@pytest.mark.parametrize("share", range(SHARES))
def test_bounded_verdict_never_contradicts(share: int) -> None:
    counts = Counts()
    for number in range(share, HISTORIES, SHARES):
        count(number, counts)
    assert not counts.wrong, counts.wrong[0]
    assert counts.unbounded["ok"] and counts.unbounded["illegal"] and counts.bounded["unknown"]
