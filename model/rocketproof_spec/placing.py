"""Where a request's record comes to lie, and what refuses it on the way there.

A message lies in the queue that it asks for, in the half topic (TRX-04), in the dead letters of its group (DLQ-04, BACK-12), or on a delay
level (CL-02, BACK-13). First formulas, as in `bounds`; then what scopes have whose requests are `placed`. Their steps are in `placed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rocketproof_model.language import JAVA_INT, Body, Bool, Enum, Expr, Index, Int, Model, Record, Row, Table, Type, Variable, ite

from .arithmetic import WRITE, counted, has_bit
from .bounds import DELAY_LEVELS, NAMES_LIMIT, TEXT_LIMIT, capped_level, is_dead

if TYPE_CHECKING:
    from .vocabulary import Specification

FIRST_LEVEL: Final = 3
Step = Enum("put", "retry", "back", "end")
Flaw = Enum("none", "transaction", "error", "size", "encoding")


SWITCHES: Final[tuple[tuple[str, Type, Any, str], ...]] = (
    ("null_limit", Bool, True, "a send-back without maxReconsumeTimes is served by the group's limit"),
    ("null_send_limit", Bool, True, "so is a send to a retry topic"),
    ("dlq_beyond", Bool, False, "a send makes a message a dead letter one retry later"),
    ("dlq_perm", Int(0, 7), 6, "the permission of a dead-letter topic that is made"),
    ("dlq_clears_delay", Bool, True, "a send-back takes a dead letter's delay away"),
    ("dlq_keeps_delay", Bool, False, "what a send writes into a dead letter's properties is stored"),
)
"""What a release makes of messages that come back: name, type, default and meaning."""
OF_STORES: Final[tuple[tuple[str, Type, Any, str], ...]] = (
    ("wants_origin", Bool, False, "who gives a message up has to name the topic that it came from"),
    ("checks_origin", Bool, False, "who gives a message back and names its topic has to name that of its record"),
    ("counts_refused", Bool, False, "a message that is refused while it is encoded has its queue's next offset all the same"),
    ("checks_commits", Bool, False, "the offset of an unknown topic is refused"),
    ("checks_committers", Bool, False, "so is that of a group which the broker does not have"),
    ("begins_anywhere", Bool, True, "a group that has told nothing goes on at 0, whatever the queue has"),
    ("deletes_offsets", Bool, False, "what groups have told of a topic goes with it"),
    ("half_messages", Bool, True, "a message may be a half message"),
    ("timers", Bool, False, "a message may wait for a time of its own"),
)
"""What else a release asks of placed requests."""


def level_of(asked: Any) -> Expr:
    """CL-02: the level on which a message waits that asks for one; the last one for what is beyond."""
    return capped_level(asked, DELAY_LEVELS)


def is_free(way: Row, kind: Any) -> Expr:
    """Whether a message waits for nothing, neither a delay level nor a time of its own."""
    return ~is_delayed(way.level, kind) & ~way.timed


def is_delayed(asked: Any, kind: Any) -> Expr:
    """CL-02: only a message that its queue counts waits, and not on a level below 1."""
    return counted(kind) & (asked > 0)


def next_level(asked: Any, times: Any) -> Expr:
    """BACK-13: the level that a consumer asks for, or one that grows with each retry."""
    return ite(asked == 0, FIRST_LEVEL + times, asked)


def gives_up(times: Any, limit: Any, asked: Any) -> Expr:
    """BACK-12: the message was retried as often as it may be, or the consumer wants no more of it."""
    return is_dead(times, limit, False) | (asked < 0)


def retries_left(a: Body, last: Expr, *, dead: bool) -> None:
    """Guard that the message may be retried, or has to be a `dead` letter; `last`: it is given up."""
    if dead:
        a.guard("no retries left", last, "it was retried as often as it may be, or the consumer wants no more of it")
    else:
        a.guard("retries left", ~last, "it was retried less often than it may be")


def level_given_back(clears: Any, kept: Any) -> Expr:
    """BACK-12: the level of a dead letter that is given back: none, or in releases that do not clear it the one that the record has."""
    return ite(clears, 0, kept)


def level_sent(keeps: Any, asked: Any) -> Expr:
    """DLQ-06: the level of a dead letter that is sent: most releases lose what the broker writes there, and it waits (HAZ-17)."""
    return ite(keeps, -1, asked)


class Check(NamedTuple):
    """What is asked of a message that comes back: what holds, its opposite, what the opposite is answered with, and the rules of a
    send-back and of a send; without rules it is not asked."""

    sentence: str
    otherwise: str
    answer: str
    back: str
    send: str = ""


CHECKS: Final = {
    "group": Check(
        "the broker has the group, or makes it", "the broker has no such group and makes none", "SUBSCRIPTION_GROUP_NOT_EXIST",
        "BACK-03", "DLQ-01 DLQ-02",
    ),
    "broker": Check("the broker may be written to", "the broker may not be written to", "NO_PERMISSION", "BACK-04"),
    "queues": Check("the group has retry queues", "the group has no retry queues", "SUCCESS", "BACK-05"),
    "topic": Check(
        "the retry topic may be written to", "the retry topic may not be written to", "NO_PERMISSION", "BACK-08 TCM-20"
    ),
    "record": Check(
        "the record is in the log, where the request says", "the record is not in the log, or of another topic", "SYSTEM_ERROR",
        "BACK-07 BACK-09 TCM-22",
    ),
    "limit": Check(
        "the request names a limit, or need not", "the request names no limit and has to", "SYSTEM_ERROR", "BACK-07 BACK-11 TCM-22",
        "DLQ-03",
    ),
}  # fmt: skip
"""The checks of a message that comes back, in their order."""


def conditions(
    asked: str, group: Row, topic: Row, new: Any, *, writable: Any, found: Any, given: Callable[[str], Expr], named: Any, version: Any
) -> dict[str, Expr]:
    """When each check holds of a message that is `asked` to come back ("back" or "send"); a retry topic that is `new` is made by the
    request. `given`: the value of a switch."""
    null_limit = given("null_limit" if asked == "back" else "null_send_limit")
    return {
        "group": group.known,
        "broker": writable,
        "queues": group.queues > 0,
        "topic": new | has_bit(topic.perm, WRITE),
        "record": found,
        "limit": null_limit | named | (version < NAMES_LIMIT),
    }


def asks(a: Body, holds: Mapping[str, Expr], asked: str, upto: str = "", *, fails: bool = True) -> list[str]:
    """Guards of a message that is `asked` to come back ("back" or "send"): what is checked before one check holds, and that does not, if
    it `fails`; without one all hold. The checks that hold."""
    order = [name for name, check in CHECKS.items() if getattr(check, asked)]
    passed = order[: order.index(upto)] if upto else order
    for name in passed:
        a.guard(name, holds[name], CHECKS[name].sentence)
    if upto and fails:
        a.guard(f"no {upto}", ~holds[upto], CHECKS[upto].otherwise)
    return passed


def properties_fit(size: Any) -> Expr:
    """STO-01, STO-02, APP-05: the properties with what the broker adds; in characters, and then in bytes."""
    return size <= TEXT_LIMIT


def body_fits(body: Any, around: Any, limit: Any, record: Any) -> Expr:
    """APP-06, BAT-04: the body, or in releases that limit the `record` all that is written, is not larger than maxMessageSize."""
    return body + ite(record, around, 0) <= limit


def batch_fits(kind: Any, asked: Any) -> Expr:
    """BAT-04: a batch has no part in a transaction, and does not wait."""
    return (kind == "not") & (asked <= 0)


@dataclass(frozen=True, eq=False)
class Places:
    """What a placed request has beside its job, the groups, each by its retry topic, and what they have told of queues."""

    way: Table
    idle: Row
    group: Table
    told: Variable | None


def declare_places(m: Model, constant: dict[str, Expr], broker: Index, producer: Index, topic: Index, offsets: int, told: Type) -> Places:
    """The variables, and more constants: what a broker's role and its release make of placed requests."""
    number = Int(*JAVA_INT)
    for name, type_, start, sentence in (*SWITCHES, *OF_STORES, ("slave", Bool, False, "brokerRole is SLAVE")):
        constant[name] = m.constant(name, type_, start, sentence)
    columns: tuple[tuple[str, Any, Any, str], ...] = (
        ("step", Step, "put", "what comes next"),
        ("back", Bool, False, "whether it is a send-back"),
        ("half", Bool, False, "whether it will be a half message"),
        ("flaw", Flaw, "none", "what its broker or its store will refuse it for"),
        ("level", Int(-(1 << 31), 1 << 32), 0, "the delay level that it asks for"),
        ("timed", Bool, False, "whether it waits for a time of its own"),
        ("kept", Int(0, DELAY_LEVELS), 0, "the delay level that the record has which it names"),
        ("times", number, 0, "how often its message was retried"),
        ("version", number, 0, "the request's version"),
        ("named", Bool, False, "whether it names a limit of retries"),
        ("requested", number, 0, "the limit that it names"),
        ("found", Bool, False, "whether the record that it names is there"),
        ("fitting", Bool, False, "whether what it tells of that record is so"),
        ("elsewhere", Bool, False, "whether a send-back names another topic than that of its record"),
        ("place", topic, 0, "the topic that its record lies in"),
        ("lane", Int(-1, JAVA_INT[1]), -1, "the queue that its record lies in, -1 for the one that it asks for"),
        ("halves", topic, 0, "the topic of half messages"),
        ("delayed", topic, 0, "the topic of delayed messages"),
        ("wheel", topic, 0, "the topic of messages that wait for a time of their own"),
        ("dead", topic, 0, "the topic of its group's dead letters"),
    )
    way = Record(**{name: type_ for name, type_, *_ in columns}).described(**{name: sentence for name, *_, sentence in columns})
    idle = way(**{name: start for name, _, start, _ in columns})
    group = Record(known=Bool, limit=number, queues=number, listed=Bool).described(
        known="whether it is known, or made when it is asked for", limit="retryMaxTimes", queues="retryQueueNums",
        listed="whether it is in the broker's table",
    )  # fmt: skip
    places, start = (broker, m.index("Place", offsets)) if offsets else (), group(known=True, limit=16, queues=1, listed=False)
    sentence = "the offset that a group has told of a queue, below 0 for none"
    return Places(
        m.var("way", way, over=producer, init=idle, sentence="where the request's record is to lie, and what it depends on"),
        idle,
        m.var("group", group, over=(broker, topic), init=start, sentence="the group of a retry topic"),
        m.var("told", told, over=places, init=-1, sentence=sentence) if offsets else None,
    )


def destination(s: Specification, p: Expr, queue: Expr) -> tuple[Expr, Expr]:
    """The topic and the queue in which the request's record is stored that asks for this queue; one below 0 is counted from the scope's
    end."""
    lane: Expr = ite(s.given("keeps_sign") & (queue < 0), queue + s.scope.queues, queue)
    if s.places is None:
        return s.job[p].topic, lane
    way = s.places.way[p]
    return ite(way.lane < 0, s.job[p].topic, way.place), ite(way.lane < 0, lane, way.lane)


def waits(s: Specification, a: Body, p: Expr, *, level: Expr, timed: Expr, half: Expr, kind: Expr) -> None:
    """A client's message asks for a delay level or a time of its own, which counts where its queue does, or is a half message."""
    assert s.places is not None
    a.bound("halves", ~half | s.given("half_messages"), "the release knows half messages")
    a.bound("times", ~timed | (s.given("timers") & (counted(kind) | half)), "the release knows times, and they count for the message")
    delayed, halves, wheel = s.scope.named("forbidden")
    a.update(s.places.way[p], level=level, timed=timed, half=half, lane=-1, delayed=delayed, halves=halves, wheel=wheel)


def admitted(s: Specification, a: Body, p: Expr) -> None:
    """Guards of the store: nothing is left to be done with the request before."""
    if s.places is not None:
        way = s.places.way[p]
        ready = (way.step == "put") & ~way.half & (way.flaw == "none")
        a.guard("at the store", ready, "the request has come to the store, which may take it")
        a.guard("master", ~s.given("slave"), "the broker is no slave")
        a.guard("does not wait", is_free(way, s.job[p].kind), "the message is on its level or at its time, or asks for none")
