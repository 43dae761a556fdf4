"""On many small histories of what comes to lie elsewhere, the judge says what an enumeration of all orders says (tests/traces)."""

import pytest
from placed_histories import KINDS, TooLarge, compared, printed

HISTORIES = 15
MOST = 1500  # states at one event

# "everything" is left out: the judge asks for no group where a retry is stored, and so takes one to a group that nobody makes.


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
