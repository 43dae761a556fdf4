"""Limits that rules, claims and checkers share, each as one formula.

They include the limit of retries (DLQ-03, BACK-11) and the queue of a delay level (REC-05). A formula takes terms of the language.
`retry_limit_of`, `is_given_up` and `is_read_as_another` apply the same formulas to plain values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from rocketproof_model.functions import term_function
from rocketproof_model.language import JAVA_INT, Bool, Expr, Int, Model, Type, ite, rem
from rocketproof_protocol.groups import RETRY_MAX_TIMES

NAMES_LIMIT: Final = 121
"""The first protocol version whose requests may name a retry limit (3.4.9)."""

NAME_LIMIT: Final = 127
"""The largest length of a topic's name in characters, and in bytes as a record's signed byte stores it (STO-02, APP-08)."""
TEXT_LIMIT: Final = 32_767
"""The largest length of a message's properties in characters and bytes: the maximum of a signed 16-bit number (STO-02, APP-05)."""

DELAYS_TEXT: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
"""The default of the broker's messageDelayLevel."""
_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def delays_of(text: str) -> tuple[int, ...]:
    """Return the delay of each level in milliseconds, from level 1 on. Raises KeyError or ValueError for a malformed text."""
    return tuple(int(each[:-1]) * _UNITS[each[-1]] for each in text.split())


DELAYS: Final = delays_of(DELAYS_TEXT)
DELAY_LEVELS: Final = len(DELAYS)


def retry_limit(group: Any, version: Any, named: Any, requested: Any) -> Expr:
    """DLQ-03, BACK-11: the limit `requested` if the request has `named` one and its version allows that, otherwise the limit of its
    `group`.

    If a request of a version that allows a limit names none, profiles with `null_limit` (for a send: `null_send_limit`) use this limit. In
    other profiles the request fails (HAZ-33), and the limit is not used. The reference implementation repeats this rule in broker/retry.py
    on purpose: this formula judges it, so they share no code.
    """
    return ite((version >= NAMES_LIMIT) & named, requested, group)


def is_dead(times: Any, limit: Any, beyond: Any) -> Expr:
    """DLQ-03, BACK-12: a message retried `times` times becomes a dead letter. `dlq_beyond` allows a send one more retry."""
    return times >= limit + ite(beyond, 1, 0)


def becomes_dead_letter(back: Any, times: Any, limit: Any, level: Any, beyond: Any, locked: Any) -> Expr:
    """DLQ-03, BACK-12: a returned message becomes a dead letter if it has no retries left. A consumer that gives it `back` can also give it
    up, by a negative `level`. DLQ-07: a message that is sent also does if its group is `locked`, in releases where that counts."""
    return ite(back, is_dead(times, limit, False) | (level < 0), is_dead(times, limit, beyond) | locked)


def capped_level(level: Any, levels: Any) -> Expr:
    """CL-02: a delay level above the last counts as the last."""
    return ite(level > levels, levels, level)


def waits_for_time(ahead: Any, most: Any) -> Expr:
    """5.x: a message whose time is `ahead` ms in the future waits in the timer topic if `ahead` is at most timerMaxDelaySec."""
    return (ahead > 0) & (ahead <= most)


def is_refused_time(ahead: Any, most: Any, recalls: Any) -> Expr:
    """5.x: a message is refused if its time is more than `most` ms ahead, or if it recalls a message whose time has passed."""
    return (ahead > most) | (recalls & (ahead <= 0))


def level_queue(level: Any) -> Expr:
    """CL-02: the schedule topic's queue of a delay level."""
    return level - 1


def as_signed(length: Any, limit: int) -> Expr:
    """APP-08: the number that is read back after `length` was written to a signed number with the maximum `limit`."""
    return rem(length + limit + 1, 2 * limit + 2) - limit - 1


def is_garbled(name: Any, longer: Any, by_flag: Any) -> Expr:
    """APP-08, HAZ-51: a reader misreads the record, as another record or as none.

    Either its topic has more bytes than a record can store, or a client's flag claims that its hosts are `longer` than they are and the
    reader relies on that flag (`by_flag`).
    """
    return (as_signed(name, NAME_LIMIT) != name) | (longer & by_flag)


def retry_limit_of(requested: int | None, version: int, group: int = RETRY_MAX_TIMES) -> int:
    """Return `retry_limit` for a header's maxReconsumeTimes, which is None if the header has none."""
    limit: int = _retry_limit()((group, version, requested is not None, requested or 0))
    return limit


def is_given_up(times: int, limit: int, *, back: bool = False, level: int = 0, beyond: bool = False, locked: bool = False) -> bool:
    """Return `becomes_dead_letter` for a message that was retried `times` times, and is given `back` or else sent."""
    return bool(_becomes_dead_letter()((back, times, limit, level, beyond, locked)))


def is_read_as_another(name: int = 0, *, longer: bool = False, by_flag: bool = False) -> bool:
    """Return `is_garbled` for a record whose topic has `name` bytes."""
    return bool(_is_garbled()((name, longer, by_flag)))


@cache
def _retry_limit() -> Callable[..., int]:
    number = Int(*JAVA_INT)
    return plain(retry_limit, number, number, Bool, number)


@cache
def _becomes_dead_letter() -> Callable[..., int]:
    number = Int(*JAVA_INT)
    return plain(becomes_dead_letter, Bool, number, number, number, Bool, Bool)


@cache
def _is_garbled() -> Callable[..., int]:
    return plain(is_garbled, Int(0, JAVA_INT[1]), Bool, Bool)


def plain(formula: Callable[..., Expr], *types: Type) -> Callable[..., int]:
    """Compile the formula to a function of one row of numbers: the codes of values of these types."""
    model = Model(formula.__name__)
    terms = [model.var(f"x{number}", type_, init=type_.decode(max(0, type_.lo))) for number, type_ in enumerate(types)]
    return term_function(model.given(), formula(*terms))
