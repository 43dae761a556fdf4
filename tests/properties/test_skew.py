"""The simulated skew agrees with the formula within three standard errors, exactly at both ends, and with real brokers."""

import pytest

from rocketproof_lab.bench.skew import RECORDED, RECORDED_TOPICS, share

TOPICS = 2000


@pytest.mark.parametrize("first_messages", [1, 2, 3, 4, 5])
def test_share_of_skewed_topics(first_messages: int) -> None:
    found = share(first_messages, topics=TOPICS, seed=7)
    assert found.standard_errors <= 3, f"k={first_messages}: {found.share} simulated, {found.predicted} predicted"
    if first_messages in (1, 5):
        assert found.share == found.predicted
    for release, counts in RECORDED.items():
        real = counts[first_messages - 1]
        spread = (RECORDED_TOPICS * found.share * (1 - found.share)) ** 0.5
        assert abs(real - RECORDED_TOPICS * found.share) <= 3 * spread, f"{release} ended with {real} of {RECORDED_TOPICS}"


def test_same_seed_same_topics() -> None:
    assert share(3, topics=200, seed=1) == share(3, topics=200, seed=1) != share(3, topics=200, seed=2)
