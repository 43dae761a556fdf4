"""Consumer offsets of groups in queues: commits (request 15) and queries (request 14). `progress` models the use of an offset."""

from __future__ import annotations

from typing import Any, Final

from rocketproof_model.language import Body, Bool, Expr, ite

from .actors import ADMINISTRATOR
from .handling import require_running
from .vocabulary import Specification

NO_OFFSET: Final = -1
"""The offset of a group that has committed none, and the answer that there is none."""


def begins_at(committed: Any, anywhere: Any, heeds: Any, zero: Any, first: Any) -> Expr:
    """The answer to a group that asks for its offset.

    It is the last committed offset. Without one it is 0 if the request allows `zero`, which only some releases `heed`, and either
    `anywhere` holds, as in some releases, or the queue has its `first` message.
    """
    return ite(committed >= 0, committed, ite((zero | ~heeds) & (anywhere | first), 0, NO_OFFSET))


def offsets(s: Specification) -> None:
    """Commit and removal of offsets. A group is identified by its retry topic, and a committed offset by a place."""
    assert s.places is not None and s.places.told is not None
    group, told, given = s.places.group, s.places.told, s.given
    place, offset = told.over[1], told.type
    s.refusals["commit_offset"] = {
        "topic named": s.response("SYSTEM_ERROR"),
        "fields read": s.response("SYSTEM_ERROR"),
        "group listed": s.response("SUBSCRIPTION_GROUP_NOT_EXIST"),
        "topic known": s.response("TOPIC_NOT_EXIST"),
        "fields named": ite(given("names_null_commits"), s.illegal, s.response("SYSTEM_ERROR")),
    }

    @s.model.action(actor=ADMINISTRATOR, b=s.Broker, g=s.Topic, t=s.Topic, named=Bool, whole=Bool, k=place, at=offset)
    def commit_offset(a: Body, b: Expr, g: Expr, t: Expr, named: Expr, whole: Expr, k: Expr, at: Expr) -> None:
        """A group commits an offset, which may be smaller than before or beyond the queue's end. The request may lack the topic or a
        field."""
        require_running(s, a, b)
        if s.scope.of_subject:
            place_of = (g == s.scope.named("retry")[0]) & (t == s.scope.subject) & named
            a.bound("the place's", place_of, "the place belongs to the group and topic that the request names")
        checks = given("checks_commits")
        a.guard("topic named", named | ~checks, "the request names a topic, or the release does not require that")
        a.guard("fields read", whole | checks, "the request names a queue and an offset, or the release checks them later")
        a.guard(
            "group listed",
            group[b, g].listed | ~given("checks_committers"),
            "the broker has the group, or the release does not require that",
        )
        a.guard("topic known", s.config[b, t].known | ~checks, "the broker has the topic, or the release does not check that")
        a.guard("fields named", whole | ~checks, "the request names a queue and an offset, or the release does not check that here")
        a.set(told[b, k], at)

    @s.model.action(actor=ADMINISTRATOR, b=s.Broker, k=place)
    def forget_offset(a: Body, b: Expr, k: Expr) -> None:
        """The offset is removed: deleting a group may remove its offsets, and so does deleting a topic in later releases."""
        require_running(s, a, b)
        a.set(told[b, k], NO_OFFSET)
