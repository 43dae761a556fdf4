"""On small histories of every shape, many with lies, the judge equals an enumeration of a handwritten broker.

The whole comparison is a command: see compared_opinions.
"""

import pytest
from compared_opinions import compared, printed
from random_histories import PROFILES, SHAPES
from tiny_opinion import TooLarge

from proportion import few

HISTORIES = 3
MOST = 1500  # states at one event


@pytest.mark.parametrize(("number", "shape"), few(enumerate(SHAPES), 7), ids=list(SHAPES))
def test_judge_agrees_with_broker_written_by_hand(number: int, shape: str) -> None:
    """Here a shape keeps one release and one switch value, because the judge compiles the specification for each."""
    agreed = 0
    for seed in range(HISTORIES):
        try:
            outcome = compared(shape, seed, MOST, PROFILES[number % len(PROFILES)], auto=number % 3 != 2)
        except TooLarge:
            continue
        assert outcome.agree, printed(outcome)
        agreed += 1
    assert agreed
