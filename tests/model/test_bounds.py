"""The limit of retries and the delay levels: the formula as numbers, compared with the rules of the behaviour."""

from __future__ import annotations

import pytest

from rocketproof_spec.bounds import DELAY_LEVELS, DELAYS, DELAYS_TEXT, delays_of, is_given_up, retry_limit_of


@pytest.mark.behaviour("DLQ-03", "BACK-11")
@pytest.mark.parametrize(
    ("requested", "version", "group", "limit"),
    [(None, 399, 16, 16), (None, 399, 2, 2), (5, 121, 2, 5), (5, 120, 2, 2), (0, 399, 16, 0), (-1, 399, 16, -1), (None, 0, 3, 3)],
)
def test_limit_is_the_requests_if_it_can_name_one(requested: int | None, version: int, group: int, limit: int) -> None:
    assert retry_limit_of(requested, version, group) == limit


@pytest.mark.behaviour("DLQ-03")
def test_unconfigured_group_retries_16_times() -> None:
    assert retry_limit_of(None, 399) == 16


@pytest.mark.behaviour("DLQ-03", "BACK-12")
@pytest.mark.parametrize(("times", "beyond", "dead"), [(15, False, False), (16, False, True), (16, True, False), (17, True, True)])
def test_message_is_dead_at_its_limit_or_after_it(times: int, beyond: bool, dead: bool) -> None:
    assert is_given_up(times, 16, beyond=beyond) is dead


@pytest.mark.behaviour("DLQ-07")
def test_only_a_sent_message_is_dead_because_of_a_lock() -> None:
    assert is_given_up(0, 16, locked=True)
    assert not is_given_up(0, 16, locked=True, back=True)


@pytest.mark.behaviour("REC-05")
def test_the_18_levels_wait_from_a_second_to_two_hours() -> None:
    assert DELAY_LEVELS == 18 and DELAYS[0] == 1000 and DELAYS[2] == 10_000 and DELAYS[17] == 7_200_000
    assert delays_of(DELAYS_TEXT) == DELAYS


@pytest.mark.parametrize("text", ["5", "5x", "s"])
def test_other_texts_are_no_levels(text: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        delays_of(text)
