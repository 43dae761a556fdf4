"""Returned messages: send-backs (BACK-03 to BACK-18) and sends to a retry topic (DLQ-01 to DLQ-06), each action defined once.

`declare_returns` declares the actions in a model that implements `Returns`. `sendbacks` searches them in a small model whose positions are
finite. `placed` takes positions and facts from a request's record, and the checker explains histories with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

from rocketproof_model.language import Body, Bool, Expr, Int, Type, ite

from .arithmetic import WRITE, has_bit
from .bounds import NAMES_LIMIT, becomes_dead_letter, retry_limit

Returned = Literal["back", "send"]
"""How a message is returned: by a send-back (request 36), or by a send to the retry topic."""
FIRST_LEVEL: Final = 3


SWITCHES: Final[tuple[tuple[str, Type, Any, str], ...]] = (
    ("null_limit", Bool, True, "a send-back without maxReconsumeTimes uses the group's limit"),
    ("null_send_limit", Bool, True, "a send to a retry topic without maxReconsumeTimes uses the group's limit"),
    ("wants_origin", Bool, False, "a request that gives a message up must name the message's original topic"),
    ("dlq_beyond", Bool, False, "a send makes a message a dead letter one retry later"),
    ("dlq_while_locked", Bool, False, "a message that is sent while its group holds a queue lock becomes a dead letter"),
    ("dlq_perm", Int(0, 7), 6, "the permission with which a dead-letter topic is created"),
    ("dlq_clears_delay", Bool, True, "a send-back removes a dead letter's delay"),
    ("dlq_keeps_delay", Bool, False, "the delay property that a send writes into a dead letter is stored"),
)
"""The switches of releases for returned messages: name, type, default and meaning."""


class Check(NamedTuple):
    """A check of a returned message: its sentence, the sentence for its failure, the response code of a failure, and its rules.

    `back` has the rules for a send-back, and `send` those for a send. The check does not apply to a kind of request without rules.
    """

    sentence: str
    otherwise: str
    answer: str
    back: str
    send: str = ""


CHECKS: Final = {
    "group": Check(
        "the broker has the group, or creates it", "the broker does not have the group and creates none", "SUBSCRIPTION_GROUP_NOT_EXIST",
        "BACK-03", "DLQ-01 DLQ-02",
    ),
    "broker": Check("the broker is writable", "the broker is not writable", "NO_PERMISSION", "BACK-04"),
    "queues": Check("the group has retry queues", "the group has no retry queues", "SUCCESS", "BACK-05"),
    "topic": Check(
        "the retry topic is writable", "the retry topic is not writable", "NO_PERMISSION", "BACK-08 TCM-20"
    ),
    "record": Check(
        "the record is in the log at the position in the request", "the record is not in the log, or of another topic", "SYSTEM_ERROR",
        "BACK-07 BACK-09 TCM-22",
    ),
    "limit": Check(
        "the request names a limit, or need not", "the request names no limit, but must", "SYSTEM_ERROR", "BACK-07 BACK-11 TCM-22",
        "DLQ-03",
    ),
}  # fmt: skip
"""The checks of a returned message, in the broker's order."""


def next_level(level: Any, times: Any) -> Expr:
    """BACK-13: the delay level that the consumer requests, or a default that grows with each retry."""
    return ite(level == 0, FIRST_LEVEL + times, level)


def dead_letter_level(back: Any, clears: Any, keeps: Any, level: Any, kept: Any) -> Expr:
    """The delay level of a dead letter.

    BACK-12: one that is given `back` has none, or its record's level `kept` in releases that do not clear it. DLQ-06: one that is sent has
    its `level`. Most releases lose the level -1 that the broker writes, so it waits (HAZ-17).
    """
    return ite(back, ite(clears, 0, kept), ite(keeps, -1, level))


@dataclass(frozen=True, eq=False)
class ReturnedMessage:
    """A returned message, its request, and what the broker has, as terms over the state before the action.

    `has_group`: the broker has the group, or a look-up creates it. `lacks_retry`: it does not have the retry topic yet. `retry_perm`: that
    topic's permission. `writable`: brokerPermission has WRITE. `in_log`: the record that the request names is in the log.

    `times`: how often the message was retried. For a send, the request states that, and counts this retry already. `level`: the delay level
    that the request names. `kept`: the record's delay level. `names_limit`, `limit`: whether the request names a limit of retries, and
    which. `names_topic`: it names the topic of the record. `locked`: the group holds a queue lock.
    """

    by: Returned
    has_group: Expr
    group_queues: Expr
    group_limit: Expr
    lacks_retry: Expr
    retry_perm: Expr
    writable: Expr
    in_log: Expr
    times: Expr
    level: Expr
    kept: Expr
    version: Expr
    names_limit: Expr
    limit: Expr
    names_topic: Expr
    locked: Expr


class ReturnAction(NamedTuple):
    """An action by which a message is returned. `outcome`: it is refused, stored for a retry, or becomes a dead letter."""

    name: str
    by: Returned
    outcome: Literal["refused", "retried", "dead"]
    sentence: str
    rules: str


M = TypeVar("M", bound=ReturnedMessage)
Effect = Callable[[Body, M], None]


class Returns(ABC, Generic[M]):
    """A model in which messages are returned. It decides what a position is, and how much of a request one action does."""

    @abstractmethod
    def given(self, name: str) -> Expr:
        """Return the constant of a switch."""

    @abstractmethod
    def declare(self, action: ReturnAction, effect: Effect[M]) -> None:
        """Declare an action with the effect, which gets the returned message."""

    @abstractmethod
    def after_checks(self, a: Body, message: M, passed: list[str]) -> None:
        """Add what the broker has created by then, or must have created, if these checks have passed."""

    @abstractmethod
    def refuse(self, a: Body, message: M, code: str) -> None:
        """End the request with this code. No record is stored."""

    @abstractmethod
    def store(self, a: Body, message: M, level: Expr, *, dead: bool) -> None:
        """Store the message in the retry topic or as a `dead` letter, with this delay level."""

    def conditions(self, message: M) -> dict[str, Expr]:
        """Return the condition of each check."""
        null_limit = self.given("null_limit" if message.by == "back" else "null_send_limit")
        return {
            "group": message.has_group,
            "broker": message.writable,
            "queues": message.group_queues > 0,
            "topic": message.lacks_retry | has_bit(message.retry_perm, WRITE),
            "record": message.in_log,
            "limit": null_limit | message.names_limit | (message.version < NAMES_LIMIT),
        }

    def require_checks(self, a: Body, message: M, upto: str = "", *, fails: bool = True) -> None:
        """Require that the checks before `upto` pass, or all without `upto`. If it `fails`, the check `upto` must fail."""
        holds = self.conditions(message)
        order = [name for name, check in CHECKS.items() if getattr(check, message.by)]
        passed = order[: order.index(upto)] if upto else order
        for name in passed:
            a.guard(name, holds[name], CHECKS[name].sentence)
        if upto and fails:
            a.guard(f"no {upto}", ~holds[upto], CHECKS[upto].otherwise)
        self.after_checks(a, message, passed)

    def require_outcome(self, a: Body, message: M, *, dead: bool) -> None:
        """Require that all checks pass, and that the message can be retried, or becomes a `dead` letter."""
        self.require_checks(a, message)
        limit = retry_limit(message.group_limit, message.version, message.names_limit, message.limit)
        locked = self.given("dlq_while_locked") & message.locked
        given_up = becomes_dead_letter(message.by == "back", message.times, limit, message.level, self.given("dlq_beyond"), locked)
        if dead:
            a.guard("no retries left", given_up, "the message has no retries left, is given up, or is sent under a queue lock")
        else:
            a.guard("retries left", ~given_up, "the message has retries left")

    def require_dead_letter(self, a: Body, message: M) -> None:
        """Require that the message becomes a dead letter, and that the request names its topic where a release requires that."""
        self.require_outcome(a, message, dead=True)
        if message.by == "back":
            named = ~self.given("wants_origin") | message.names_topic
            a.guard("origin", named, "the request names the message's topic, or the release does not require it")


def declare_returns(s: Returns[M]) -> None:
    """Declare the actions of both kinds of request: first the refusals, in the order of the checks, then the requests that are accepted."""
    for name, check in CHECKS.items():
        _refusal(s, name, check, "back", f"BACK-01 {check.back}")
        if check.send:
            _refusal(s, name, check, "send", f"{check.send} SEND-23 CHK-06 CHK-08")

    def no_origin(a: Body, message: M) -> None:
        s.require_outcome(a, message, dead=True)
        unnamed = s.given("wants_origin") & ~message.names_topic
        a.guard("no origin", unnamed, "the request does not name the message's topic, but must")
        s.refuse(a, message, "SYSTEM_ERROR")

    s.declare(NO_ORIGIN, no_origin)

    def retry(a: Body, message: M) -> None:
        s.require_outcome(a, message, dead=False)
        s.store(a, message, next_level(message.level, message.times) if message.by == "back" else message.level, dead=False)

    def bury(a: Body, message: M) -> None:
        s.require_dead_letter(a, message)
        clears, keeps = s.given("dlq_clears_delay"), s.given("dlq_keeps_delay")
        s.store(a, message, dead_letter_level(message.by == "back", clears, keeps, message.level, message.kept), dead=True)

    for action in STORING:
        s.declare(action, retry if action.outcome == "retried" else bury)


def _refusal(s: Returns[M], failing: str, check: Check, by: Returned, rules: str) -> None:
    def refuse(a: Body, message: M) -> None:
        s.require_checks(a, message, failing)
        s.refuse(a, message, check.answer)

    happens = "given back" if by == "back" else "sent to its retry topic"
    s.declare(ReturnAction(f"{by}_no_{failing}", by, "refused", f"The message is {happens}, but {check.otherwise}.", rules), refuse)


_BACK: Final = "BACK-01 BACK-10 BACK-11 BACK-14 BACK-15 BACK-16 BACK-17 BACK-18 TCM-20 TCM-22 CL-02"
_SEND: Final = "DLQ-01 DLQ-03 SEND-23 SEND-24 CHK-06 CHK-07 CHK-08 TCM-20 TCM-22 CL-02"
NO_ORIGIN: Final = ReturnAction(
    "back_no_origin", "back", "dead", "A request that gives a message up must name the message's original topic, and does not.", "BACK-12"
)
STORING: Final = (
    ReturnAction(
        "back_retry", "back", "retried",
        "The message is given back and waits on a delay level for its retry. Its queue is one of the group's retry queues, even if the"
        " topic has others.",
        f"BACK-06 BACK-07 BACK-13 {_BACK}",
    ),
    ReturnAction(
        "back_bury", "back", "dead",
        "The message is given back and becomes a dead letter. The permission of the dead-letter topic is not checked.",
        f"BACK-12 {_BACK}",
    ),
    ReturnAction(
        "send_retry", "send", "retried",
        "The message is sent to its retry topic for a retry. The permissions of broker and topic are not checked.",
        _SEND,
    ),
    ReturnAction(
        "send_bury", "send", "dead",
        "The message is sent to its retry topic and becomes a dead letter. The answer has the queue of the retry topic. Most releases keep"
        " the delay (HAZ-17).",
        f"DLQ-04 DLQ-06 DLQ-07 {_SEND}",
    ),
)  # fmt: skip
"""The actions that store the message."""
