"""The queue of a message whose sender leaves the choice to the broker (SEND-21, SEND-22)."""

from __future__ import annotations

from rocketproof_profiles import Profile

from ..java import absolute, null_pointer, remainder
from ..ports import Randomness
from ..topic import TopicConfig

RANDOM_MODULUS = 99_999_999


def random_queue_id(random: Randomness, queue_nums: int, *, signed: bool) -> int:
    """Return a random queue below `queue_nums` (SEND-22). Raises JavaError if there is none (HAZ-07).

    With `signed`, any int is drawn and loses its sign between two Java remainders; otherwise a number in 0..99999998 is drawn. The queues
    are not equally likely (HAZ-34).
    """
    if signed:
        return remainder(absolute(remainder(random.int32(), RANDOM_MODULUS)), queue_nums)
    return remainder(random.below(RANDOM_MODULUS), queue_nums)


def queue_id_of(requested: int, config: TopicConfig | None, random: Randomness, profile: Profile) -> int:
    """Return the requested queue or, if it is negative, a random write queue (SEND-22), although CHK-10 checks the larger count (HAZ-16).

    In a release that keeps the sign of the drawn number the result can be below 0. Raises JavaError if the topic was deleted after its
    check (SEND-21, HAZ-18).
    """
    if requested >= 0:
        return requested
    if config is None:
        raise null_pointer()
    if profile.keeps_sign:
        return remainder(remainder(random.int32(), RANDOM_MODULUS), config.write_queue_nums)
    return random_queue_id(random, config.write_queue_nums, signed=profile.signed_random)
