"""On small histories with records stored elsewhere, many with lies, the judge equals an enumeration of all orders.

The whole comparison is a command: see placed_histories. tests/long has more of it.
"""

import pytest
from placed_histories import KINDS, TooLarge, compared, printed

HISTORIES = 3
MOST = 500  # states at one event


@pytest.mark.slow
@pytest.mark.behaviour("BACK-03", "BACK-11", "BACK-12", "DLQ-01", "DLQ-03", "DLQ-04", "TRX-04", "CL-02")
@pytest.mark.parametrize("kind", KINDS)
def test_judge_agrees_with_enumeration(kind: str) -> None:
    agreed = 0
    for seed in range(HISTORIES):
        try:
            for outcome in compared(kind, seed, MOST, "P494", 2, 3):
                assert outcome.agree, printed(outcome)
                agreed += 1
        except TooLarge:
            continue
    assert agreed
