"""The arithmetic rules, as functions of terms. Guards, effects and lemmas use them."""

from __future__ import annotations

from typing import Any

from rocketproof_model.language import Expr, ite, java_abs, maximum, minimum, rem, without_bits

READ, WRITE, INHERIT = 4, 2, 1
RANDOM_MODULUS = 99999999
PREPARED, COMMIT, ROLLBACK = "prepared", "commit", "rollback"


def has_bit(perm: Expr, bit: int) -> Expr:
    """PERM-01: (perm & bit) == bit."""
    return (perm & bit) == bit


def stripped(perm: Expr) -> Expr:
    """TCM-15: the template's permission without INHERIT. The bit is cleared, not subtracted."""
    return without_bits(perm, INHERIT)


def clamped(client: Any, template_write: Any) -> Expr:
    """TCM-15: the smaller of the client's requested count and the template's write count, but at least 0."""
    return maximum(minimum(client, template_write), 0)


def queue_bound(read: Any, write: Any) -> Expr:
    """CHK-10: the first queue id that is illegal for a topic."""
    return maximum(read, write)


def legal_queue(queue: Expr, read: Any, write: Any) -> Expr:
    """CHK-10: the queue id is below the larger count. A negative id is always legal."""
    return queue < queue_bound(read, write)


def random_queue(signed: Expr, keeps: Expr, draw: Expr, write: Expr) -> Expr:
    """SEND-22: the queue for a negative id. It has no value for write = 0.

    P40 and P45: abs(draw % 99999999) % write for any int. A release that `keeps` the sign omits the abs. P49: draw % write, where draw is
    in 0..99999998.
    """
    reduced = rem(draw, RANDOM_MODULUS)
    return rem(ite(signed, ite(keeps, reduced, java_abs(reduced)), draw), write)


def counted(kind: Expr) -> Expr:
    """APP-04, APP-10: only NOT and COMMIT take a queue offset."""
    return (kind != PREPARED) & (kind != ROLLBACK)


def fits(size: Any, position: Any, file_size: Any, blank: Any) -> Expr:
    """APP-07: the record and the smallest blank fit between the position and the file's end."""
    return position + size + blank <= file_size


def has_room(rest: Any, blank: Any) -> Expr:
    """INV-38: a file with `rest` free units is full, or has room for a blank."""
    return (rest == 0) | (rest >= blank)


def proper_position(position: Expr, file_size: Any, blank: Any) -> Expr:
    """INV-38: the free space after a position is empty, or large enough for a blank."""
    return has_room(file_size - position, blank)
