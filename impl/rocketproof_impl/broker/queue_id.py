"""Which queue a message goes to, where the sender leaves it to the broker (SEND-21, SEND-22)."""

from __future__ import annotations

from rocketproof_profiles import Profile

from ..java import absolute, null_pointer, remainder
from ..ports import Randomness
from ..topic import TopicConfig

RANDOM_MODULUS = 99_999_999


def random_queue_id(random: Randomness, queue_nums: int, *, signed: bool) -> int:
    """A queue below `queue_nums` by chance (SEND-22). Raises JavaError if there is none (HAZ-07).

    `signed`: any int is drawn, and its sign is lost between two Java remainders; otherwise a number in 0..99999998 is drawn.
    Not every queue is equally likely (HAZ-34).
    """
    if signed:
        return remainder(absolute(remainder(random.int32(), RANDOM_MODULUS)), queue_nums)
    return remainder(random.below(RANDOM_MODULUS), queue_nums)


def queue_id_of(requested: int, config: TopicConfig | None, random: Randomness, profile: Profile) -> int:
    """The requested queue; for a negative one any of the topic's write queues, though CHK-10 asks the larger count (HAZ-16), or one below
    0 in a release that keeps the sign of what it draws.

    Raises JavaError if the topic was deleted since it was checked (SEND-21, HAZ-18).
    """
    if requested >= 0:
        return requested
    if config is None:
        raise null_pointer()
    if profile.keeps_sign:
        return remainder(remainder(random.int32(), RANDOM_MODULUS), config.write_queue_nums)
    return random_queue_id(random, config.write_queue_nums, signed=profile.signed_random)
