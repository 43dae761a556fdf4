"""Placement: the topic and queue in which a request's record is stored, and the checks that can refuse it first.

A message is stored in the queue that it names, in the half topic (TRX-04), in its group's dead-letter topic (DLQ-04, BACK-12), or on a
delay level (CL-02, BACK-13). The formulas come first, as in `bounds`; then the variables of scopes whose requests are `placed`. The module
`placed` has the steps of these requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rocketproof_model.language import JAVA_INT, Body, Bool, Enum, Expr, Index, Int, Model, Record, Row, Table, Type, Variable, coerce, ite

from .arithmetic import counted
from .bounds import DELAY_LEVELS, TEXT_LIMIT, capped_level
from .returning import SWITCHES

if TYPE_CHECKING:
    from .vocabulary import Specification

Kind = Enum("not", "prepared", "commit", "rollback")
Step = Enum("put", "retry", "back", "end")
Flaw = Enum("none", "transaction", "error", "size", "encoding")
StoredIn = Enum("requested", "halves", "delayed", "wheel")
"""Where a record is stored: in the queue of its topic, among half messages, on a delay level, or in the timer topic."""


STORE_SWITCHES: Final[tuple[tuple[str, Type, Any, str], ...]] = (
    ("checks_origin", Bool, False, "a send-back that names a topic must name the topic of its record"),
    ("counts_refused", Bool, False, "a message that encoding rejects takes its queue's next offset as well"),
    ("checks_commits", Bool, False, "a commit for an unknown topic is refused"),
    ("checks_committers", Bool, False, "a commit for a group that the broker does not have is refused"),
    ("names_null_commits", Bool, True, "the response to a commit without queue or offset names the missing field"),
    ("begins_anywhere", Bool, True, "a group without a committed offset starts at 0, whatever the queue's first offset is"),
    ("heeds_set_zero", Bool, False, "a query of an offset may ask for no offset in place of 0"),
    ("remakes_groups", Bool, False, "the deletion of a group looks the group up afterwards"),
    ("keeps_order", Bool, False, "an administrator can make a topic ordered"),
    ("deletes_offsets", Bool, False, "deleting a topic deletes the offsets that groups have committed for it"),
    ("half_messages", Bool, True, "a message may be a half message"),
    ("timers", Bool, False, "a message may have a delivery time"),
)
"""The switches of releases for placed requests, apart from those for returned messages."""


def level_of(level: Any) -> Expr:
    """CL-02: the delay level of a message that requests `level`. A larger level counts as the last level."""
    return capped_level(level, DELAY_LEVELS)


def is_free(way: Row, kind: Any) -> Expr:
    """Whether a message has neither a delay level nor a delivery time to wait for."""
    return ~is_delayed(way.level, kind) & ~way.timed


def is_delayed(level: Any, kind: Any) -> Expr:
    """CL-02: a message waits only if it takes a queue offset, and its level is at least 1."""
    return waits_at_level(level, counted(kind))


def waits_at_level(level: Any, takes_offset: Any) -> Expr:
    """CL-02, for a message whose kind is not modelled."""
    return takes_offset & (level > 0)


def is_kept_in_wheel(level: Any, timed: Any, kind: Any) -> Expr:
    """Whether a message waits in the timer topic: for a delivery time, and for no delay level."""
    return timed & ~is_delayed(level, kind) & counted(kind)


def stored_in(half: Any, level: Any, timed: Any, kind: Any) -> Expr:
    """Return the place (`StoredIn`) of a message's first record. A half message counts as `kind` "not" from then on (TRX-04), and can wait,
    too (HAZ-39)."""
    kept_as = ite(half, coerce("not", Kind), kind)
    waits = ite(is_kept_in_wheel(level, timed, kept_as), coerce("wheel", StoredIn), ite(half, coerce("halves", StoredIn), "requested"))
    return ite(is_delayed(level, kept_as), coerce("delayed", StoredIn), waits)


def properties_fit(size: Any) -> Expr:
    """STO-01, STO-02, APP-05: the properties, including those that the broker adds, fit. The limit applies to characters, then to bytes."""
    return size <= TEXT_LIMIT


def body_fits(body: Any, around: Any, limit: Any, record: Any) -> Expr:
    """APP-06, BAT-04: the body, or in releases that limit the `record` the whole record, is not larger than maxMessageSize."""
    return body + ite(record, around, 0) <= limit


def batch_fits(kind: Any, level: Any) -> Expr:
    """BAT-04: a batch takes no part in a transaction and does not wait on a delay level."""
    return (kind == "not") & (level <= 0)


@dataclass(frozen=True, eq=False)
class Places:
    """The variables of placed requests: their placement, the groups (by retry topic), and the offsets that groups have committed."""

    way: Table
    idle: Row
    group: Table
    told: Variable | None


def declare_places(m: Model, constant: dict[str, Expr], broker: Index, producer: Index, topic: Index, offsets: int, told: Type) -> Places:
    """Declare the variables of placed requests, and the constants for the broker's role and its release."""
    number = Int(*JAVA_INT)
    for name, type_, start, sentence in (*SWITCHES, *STORE_SWITCHES, ("slave", Bool, False, "brokerRole is SLAVE")):
        constant[name] = m.constant(name, type_, start, sentence)
    columns: tuple[tuple[str, Any, Any, str], ...] = (
        ("step", Step, "put", "the next step"),
        ("back", Bool, False, "whether it is a send-back"),
        ("half", Bool, False, "whether it will be a half message"),
        ("flaw", Flaw, "none", "the flaw for which its broker or store will refuse it"),
        ("level", Int(-(1 << 31), 1 << 32), 0, "the delay level that it requests"),
        ("timed", Bool, False, "whether it waits for its delivery time"),
        ("kept", Int(0, DELAY_LEVELS), 0, "the delay level of the record that it names"),
        ("times", number, 0, "how often its message was retried"),
        ("version", number, 0, "the request's version"),
        ("named", Bool, False, "whether it names a limit of retries"),
        ("requested", number, 0, "the retry limit that it names"),
        ("locked", Bool, False, "whether its group holds a queue lock"),
        ("found", Bool, False, "whether the record that it names exists"),
        ("fitting", Bool, False, "whether its fields match that record"),
        ("elsewhere", Bool, False, "whether a send-back names a topic that is not its record's"),
        ("place", topic, 0, "the topic in which its record is stored"),
        ("lane", Int(-1, JAVA_INT[1]), -1, "the queue in which its record is stored, -1 for the queue that it requests"),
        ("halves", topic, 0, "the topic of half messages"),
        ("delayed", topic, 0, "the topic of delayed messages"),
        ("wheel", topic, 0, "the topic of messages that wait for their delivery time"),
        ("dead", topic, 0, "the dead-letter topic of its group"),
    )
    way = Record(**{name: type_ for name, type_, *_ in columns}).described(**{name: sentence for name, *_, sentence in columns})
    idle = way(**{name: start for name, _, start, _ in columns})
    group = Record(known=Bool, limit=number, queues=number, listed=Bool).described(
        known="whether it is known, or created by a look-up", limit="retryMaxTimes", queues="retryQueueNums",
        listed="whether it is in the broker's table",
    )  # fmt: skip
    places, start = (broker, m.index("Place", offsets)) if offsets else (), group(known=True, limit=16, queues=1, listed=False)
    sentence = "the offset that a group has committed for a queue, below 0 for none"
    return Places(
        m.var("way", way, over=producer, init=idle, sentence="the placement of the request's record, and the fields that decide it"),
        idle,
        m.var("group", group, over=(broker, topic), init=start, sentence="the group of a retry topic"),
        m.var("told", told, over=places, init=-1, sentence=sentence) if offsets else None,
    )


def destination(s: Specification, p: Expr, queue: Expr) -> tuple[Expr, Expr]:
    """Return the topic and queue in which a request for `queue` is stored. A negative queue counts from the scope's last queue."""
    lane: Expr = ite(s.given("keeps_sign") & (queue < 0), queue + s.scope.queues, queue)
    if s.places is None:
        return s.job[p].topic, lane
    way = s.places.way[p]
    return ite(way.lane < 0, s.job[p].topic, way.place), ite(way.lane < 0, lane, way.lane)


def request_wait(s: Specification, a: Body, p: Expr, *, level: Expr, timed: Expr, half: Expr, kind: Expr) -> None:
    """A client's message requests a delay level or a delivery time, which apply only if it takes a queue offset, or is a half message."""
    assert s.places is not None
    a.bound("halves", ~half | s.given("half_messages"), "the release knows half messages")
    a.bound("times", ~timed | (s.given("timers") & (counted(kind) | half)), "the release has delivery times, and the message can wait")
    delayed, halves, wheel = s.scope.named("forbidden")
    a.update(s.places.way[p], level=level, timed=timed, half=half, lane=-1, delayed=delayed, halves=halves, wheel=wheel)


def require_admitted(s: Specification, a: Body, p: Expr) -> None:
    """Require that the store takes the request: no earlier step is left."""
    if s.places is not None:
        way = s.places.way[p]
        ready = (way.step == "put") & ~way.half & (way.flaw == "none")
        a.guard("at the store", ready, "the request has reached the store, which accepts it")
        a.guard("master", ~s.given("slave"), "the broker is not a slave")
        a.guard(
            "does not wait", is_free(way, s.job[p].kind), "the message is on its delay level or in the timer topic, or requests neither"
        )
