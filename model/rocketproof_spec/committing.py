"""How far groups are in queues, as their consumers tell and ask (requests 15 and 14). What becomes of an offset that counts: `progress`."""

from __future__ import annotations

from typing import Any, Final

from rocketproof_model.language import Body, Bool, Expr, ite

from .actors import ADMINISTRATOR
from .handling import runs
from .vocabulary import Specification

UNTOLD: Final = -1
"""The offset of a group that has told none, and the answer that there is none."""
REFUSALS: Final = {
    "topic named": "SYSTEM_ERROR",
    "fields read": "SYSTEM_ERROR",
    "group listed": "SUBSCRIPTION_GROUP_NOT_EXIST",
    "topic known": "TOPIC_NOT_EXIST",
    "fields named": "INVALID_PARAMETER",
}
"""What is answered where one of the guards of `commit_offset` refuses."""


def begins_at(told: Any, anywhere: Any, zero: Any, first: Any) -> Expr:
    """The answer to a group that asks where it goes on: what it told last, or 0 where it takes `zero`: in some releases `anywhere`,
    in others where the queue has its `first` message."""
    return ite(told >= 0, told, ite(zero & (anywhere | first), 0, UNTOLD))


def offsets(s: Specification) -> None:
    """What groups tell, and what is forgotten of it. A group is known by its retry topic, and what it tells of a queue by a place."""
    assert s.places is not None and s.places.told is not None
    group, told, given = s.places.group, s.places.told, s.given
    place, offset = told.over[1], told.type

    @s.model.action(actor=ADMINISTRATOR, b=s.Broker, g=s.Topic, t=s.Topic, named=Bool, whole=Bool, k=place, at=offset)
    def commit_offset(a: Body, b: Expr, g: Expr, t: Expr, named: Expr, whole: Expr, k: Expr, at: Expr) -> None:
        """A group tells its offset, a smaller one, too, or one beyond the queue's end; the request may name no topic, and be not whole."""
        runs(s, a, b)
        if s.scope.of_subject:
            place_of = (g == s.scope.named("retry")[0]) & (t == s.scope.subject) & named
            a.bound("the place's", place_of, "the place is of the group and the topic, which the request names")
        checks = given("checks_commits")
        a.guard("topic named", named | ~checks, "the request names a topic, or need not")
        a.guard("fields read", whole | checks, "its queue and its offset can be read")
        a.guard("group listed", group[b, g].listed | ~given("checks_committers"), "the broker has the group, and makes none")
        a.guard("topic known", s.config[b, t].known | ~checks, "the broker has the topic, or does not ask")
        a.guard("fields named", whole | ~checks, "the request names a queue and an offset")
        a.set(told[b, k], at)

    @s.model.action(actor=ADMINISTRATOR, b=s.Broker, k=place)
    def forget_offset(a: Body, b: Expr, k: Expr) -> None:
        """Whoever deletes a group may have its offsets go, too; in later releases whoever deletes a topic has."""
        runs(s, a, b)
        a.set(told[b, k], UNTOLD)
