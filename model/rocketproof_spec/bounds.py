"""Limits that rules, claims and checkers all ask for, each as one formula: how often a message is retried (DLQ-03, BACK-11), and what it
waits on its delay level (REC-05).

A formula takes terms, of a state or of any row that has them. `retry_limit_of`, `is_given_up` and `is_read_as_another` are
the same formulas for plain values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from rocketproof_model.functions import term_function
from rocketproof_model.language import JAVA_INT, Bool, Expr, Int, Model, Type, ite, rem
from rocketproof_protocol.groups import RETRY_MAX_TIMES

NAMES_LIMIT: Final = 121
"""The version from which on a request may name a limit of its own (3.4.9)."""

NAME_LIMIT: Final = 127
"""Characters of a topic's name, and bytes of one that a record's signed byte can tell (STO-02, APP-08)."""
TEXT_LIMIT: Final = 32_767
"""Characters, and bytes, of a message's properties: the largest number of two signed bytes (STO-02, APP-05)."""

DELAYS_TEXT: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
"""The broker's messageDelayLevel by default."""
_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def delays_of(text: str) -> tuple[int, ...]:
    """What a messageDelayLevel makes each level wait, in milliseconds, from level 1 on. Raises KeyError or ValueError for another text."""
    return tuple(int(each[:-1]) * _UNITS[each[-1]] for each in text.split())


DELAYS: Final = delays_of(DELAYS_TEXT)
DELAY_LEVELS: Final = len(DELAYS)


def retry_limit(group: Any, version: Any, named: Any, requested: Any) -> Expr:
    """DLQ-03, BACK-11: the limit that the request has `named`, if its version may name one, else its group's.

    Where a request of such a version names none, this is the limit of a profile with `null_limit`, for a send `null_send_limit`; in
    others the request fails (HAZ-33) and nothing asks for the limit. The reference implementation has the same rule once more
    (broker/retry.py), on purpose: it is judged by this one and may share no code with it.
    """
    return ite((version >= NAMES_LIMIT) & named, requested, group)


def is_dead(times: Any, limit: Any, beyond: Any) -> Expr:
    """DLQ-03, BACK-12: a message that was retried so often becomes a dead letter; `dlq_beyond` allows a send one retry more."""
    return times >= limit + ite(beyond, 1, 0)


def capped_level(level: Any, levels: Any) -> Expr:
    """CL-02: a delay level above the last counts as the last."""
    return ite(level > levels, levels, level)


def waits_for_time(ahead: Any, most: Any) -> Expr:
    """5.x: a message whose time is so many ms ahead waits in the timer topic, as long as that is not more than timerMaxDelaySec."""
    return (ahead > 0) & (ahead <= most)


def is_refused_time(ahead: Any, most: Any, recalls: Any) -> Expr:
    """5.x: one whose time is further ahead is refused, and so is one that takes another back, whose time is over."""
    return (ahead > most) | (recalls & (ahead <= 0))


def level_queue(level: Any) -> Expr:
    """CL-02: the schedule topic's queue of a delay level."""
    return level - 1


def as_signed(length: Any, limit: int) -> Expr:
    """APP-08: what is read of a length that was written into a number whose largest value is `limit`."""
    return rem(length + limit + 1, 2 * limit + 2) - limit - 1


def is_garbled(name: Any, longer: Any, by_flag: Any) -> Expr:
    """APP-08, HAZ-51: a record's bytes are read as another's, or as none's: its topic has more bytes than a record can tell, or a client's
    flag says that its hosts are `longer` than they are, where a reader goes `by_flag`."""
    return (as_signed(name, NAME_LIMIT) != name) | (longer & by_flag)


def retry_limit_of(requested: int | None, version: int, group: int = RETRY_MAX_TIMES) -> int:
    """`retry_limit` of a request by its header's maxReconsumeTimes, None if it has none."""
    found: int = _retry_limit()((group, version, requested is not None, requested or 0))
    return found


def is_given_up(times: int, limit: int, *, beyond: bool = False) -> bool:
    """`is_dead` of a message that was retried so often."""
    return bool(_is_dead()((times, limit, beyond)))


def is_read_as_another(name: int = 0, *, longer: bool = False, by_flag: bool = False) -> bool:
    """`is_garbled` of a record whose topic has so many bytes."""
    return bool(_is_garbled()((name, longer, by_flag)))


@cache
def _retry_limit() -> Callable[..., int]:
    number = Int(*JAVA_INT)
    return plain(retry_limit, number, number, Bool, number)


@cache
def _is_dead() -> Callable[..., int]:
    return plain(is_dead, Int(*JAVA_INT), Int(*JAVA_INT), Bool)


@cache
def _is_garbled() -> Callable[..., int]:
    return plain(is_garbled, Int(0, JAVA_INT[1]), Bool, Bool)


def plain(formula: Callable[..., Expr], *types: Type) -> Callable[..., int]:
    """The formula as a function of a row of numbers, the codes of values of these types."""
    model = Model(formula.__name__)
    terms = [model.var(f"x{number}", type_, init=type_.decode(max(0, type_.lo))) for number, type_ in enumerate(types)]
    return term_function(model.given(), formula(*terms))
