"""Where a request's record comes to lie, and what refuses it on the way there.

A message lies in the queue that it asks for, in the half topic (TRX-04), in the dead letters of its group (DLQ-04, BACK-12), or on a delay
level (CL-02, BACK-13). First formulas, as in `bounds`; then what scopes have whose requests are `placed`. Their steps are in `placed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..language import JAVA_INT, Body, Bool, Enum, Expr, Index, Int, Model, Record, Table, ite
from .arithmetic import counted
from .bounds import DELAY_LEVELS, TEXT_LIMIT, capped_level, is_dead

if TYPE_CHECKING:
    from .vocabulary import Specification

FIRST_LEVEL: Final = 3
Step = Enum("put", "retry", "back", "end")
Flaw = Enum("none", "transaction", "error", "size")


def level_of(asked: Any) -> Expr:
    """CL-02: the level on which a message waits that asks for one; the last one for what is beyond."""
    return capped_level(asked, DELAY_LEVELS)


def is_delayed(asked: Any, kind: Any) -> Expr:
    """CL-02: only a message that its queue counts waits, and not on a level below 1."""
    delayed: Expr = counted(kind) & (asked > 0)
    return delayed


def next_level(asked: Any, times: Any) -> Expr:
    """BACK-13: the level that a consumer asks for, or one that grows with each retry."""
    level: Expr = ite(asked == 0, FIRST_LEVEL + times, asked)
    return level


def gives_up(times: Any, limit: Any, asked: Any) -> Expr:
    """BACK-12: the message was retried as often as it may be, or the consumer wants no more of it."""
    given_up: Expr = is_dead(times, limit, False) | (asked < 0)
    return given_up


def properties_fit(size: Any) -> Expr:
    """STO-01, STO-02, APP-05: the properties with what the broker adds; in characters, and then in bytes."""
    fit: Expr = size <= TEXT_LIMIT
    return fit


def body_fits(body: Any, around: Any, limit: Any, record: Any) -> Expr:
    """APP-06, BAT-04: the body, or in releases that limit the `record` all that is written, is not larger than maxMessageSize."""
    fit: Expr = body + ite(record, around, 0) <= limit
    return fit


def batch_fits(kind: Any, asked: Any) -> Expr:
    """BAT-04: a batch has no part in a transaction, and does not wait."""
    fit: Expr = (kind == "not") & (asked <= 0)
    return fit


@dataclass(frozen=True, eq=False)
class Places:
    """What a placed request has beside its job, and the groups, each by its retry topic."""

    way: Table
    group: Table


def declare_places(m: Model, constant: dict[str, Expr], broker: Index, producer: Index, topic: Index) -> Places:
    """The variables, and more constants: what a broker's role and its release make of placed requests."""
    number = Int(*JAVA_INT)
    for name, type_, start, sentence in (
        ("slave", Bool, False, "brokerRole is SLAVE"),
        ("dlq_beyond", Bool, False, "a send becomes a dead letter one retry later"),
        ("dlq_perm", Int(0, 15), 6, "permission of a topic of dead letters that the broker makes"),
        ("dlq_keeps_delay", Bool, False, "a send that becomes a dead letter loses its delay level"),
        ("null_limit", Bool, True, "a request may leave out maxReconsumeTimes"),
        ("wants_origin", Bool, False, "who gives a message up has to name the topic that it came from"),
    ):
        constant[name] = m.constant(name, type_, start, sentence)
    way = Record(
        step=Step,
        back=Bool,
        half=Bool,
        flaw=Flaw,
        level=Int(-(1 << 31), 1 << 32),
        times=number,
        version=number,
        named=Bool,
        requested=number,
        found=Bool,
        fitting=Bool,
        place=topic,
        lane=Int(-1, JAVA_INT[1]),
        halves=topic,
        delayed=topic,
        dead=topic,
    ).described(
        step="what comes next",
        back="whether it is a send-back",
        half="whether it will be a half message",
        flaw="what its broker or its store will refuse it for",
        level="the delay level that it asks for",
        times="how often its message was retried",
        version="the request's version",
        named="whether it names a limit of retries",
        requested="the limit that it names",
        found="whether the record that it names is there",
        fitting="whether what it tells of that record is so",
        place="the topic that its record lies in",
        lane="the queue that its record lies in, -1 for the one that it asks for",
        halves="the topic of half messages",
        delayed="the topic of delayed messages",
        dead="the topic of its group's dead letters",
    )
    begins: dict[str, Any] = {**dict.fromkeys(way.fields, False), "step": "put", "flaw": "none", "lane": -1}
    begins |= dict.fromkeys(("level", "times", "version", "requested", "place", "halves", "delayed", "dead"), 0)
    idle = way(**begins)
    group = Record(known=Bool, limit=number, queues=number).described(
        known="whether it is known, or made when it is asked for", limit="retryMaxTimes", queues="retryQueueNums"
    )
    return Places(
        m.var("way", way, over=producer, init=idle, sentence="where the request's record is to lie, and what it depends on"),
        m.var("group", group, over=(broker, topic), init=group(known=True, limit=16, queues=1), sentence="the group of a retry topic"),
    )


def destination(s: Specification, p: Expr, queue: Expr) -> tuple[Expr, Expr]:
    """The topic and the queue in which the request's record is stored that asks for this queue."""
    if s.places is None:
        return s.job[p].topic, queue
    way = s.places.way[p]
    return ite(way.lane < 0, s.job[p].topic, way.place), ite(way.lane < 0, queue, way.lane)


def admitted(s: Specification, a: Body, p: Expr) -> None:
    """Guards of the store: nothing is left to be done with the request before."""
    if s.places is not None:
        way = s.places.way[p]
        ready = (way.step == "put") & ~way.half & (way.flaw == "none")
        a.guard("at the store", ready, "the request has come to the store, which may take it")
        a.guard("master", ~s.given("slave"), "the broker is no slave")
        a.guard("does not wait", ~is_delayed(way.level, s.job[p].kind), "the message is on its level, or asks for none")
