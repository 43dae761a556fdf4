"""Producers: their starts, the calls that they refuse themselves, and asynchronous retries (HAZ-28)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_model import Expr, after, any_of, exists, forall, implies
from rocketproof_spec.starting import Starting, starting

from .claim import Case, Claim, cases


def _of_producer(id_: str, sentence: str, kind: Any, formula: Callable[[Starting], Any]) -> Claim:
    return Claim(id_, sentence, kind, formula, part=Starting)


def _running(s: Starting) -> Expr:
    """A call is sent or checked only in a step in which its producer runs."""
    call = s.call
    begins = (call.step == "none") & (after(call.step) != "none") & (after(call.mode) != "start")
    processed = (after(call.step) == "sent") | (after(call.said) != "not running")
    return forall(s.Producer, lambda p: implies(begins & processed & (after(call.by) == p), s.life[p].state == "RUNNING"))


def _order(s: Starting) -> Expr:
    """If a message is refused for a reason, then no earlier check has found an error."""
    call = s.call

    def result(*names: str) -> Expr:
        return any_of(call.said == name for name in names)

    sends = (call.step == "over") & (call.mode != "start")
    of_topic, of_payload = result("blank", "illegal", "long", "system"), result("no body", "empty", "large")
    return implies(
        sends,
        implies(result("null message"), call.null)
        & implies(of_topic, ~call.null & (call.topic != "fine") & ((call.said == "long") == (call.topic == "long")))
        & implies(of_payload, ~call.null & (call.topic == "fine"))
        & implies(result("no route", "no name server"), ~call.null & (call.topic == "fine") & (call.payload == "fine")),
    )


def _once(s: Starting) -> Expr:
    called: Expr = s.call.callbacks == 1
    return ((s.call.step == "over") & (s.call.mode == "asynchronous")) == called


RUNNING = _of_producer("AUX-65", "a producer that does not run sends nothing and validates no message", "step", _running)
ONCE = _of_producer(
    "AUX-65.callback", "a callback is called once, with a result or an exception", "always", lambda s: _once(s) & (s.call.callbacks < 2)
)
ORDER = _of_producer("AUX-66", "a message is rejected for its first defect", "always", _order)
OWN_QUEUE = _of_producer(
    "AUX-66.queue", "the queue id of a request exists on its broker", "always",
    lambda s: implies(s.call.step == "sent", ~s.call.other | (s.call.queue == 0)),
)  # fmt: skip
LOSER = _of_producer(
    "AUX-67", "a producer whose group is already in use can be started again", "always",
    lambda s: forall(s.Producer, lambda p: implies((s.call.said == "taken") & (s.call.by == p), s.life[p].state == "CREATE_JUST")),
)  # fmt: skip
ONE_OWNER = _of_producer(
    "AUX-67.group", "a group has one producer in an instance", "always",
    lambda s: forall(
        s.Producer, lambda p: forall(s.Producer, lambda q: (p == q) | (s.life[p].group == "none") | (s.life[p].group != s.life[q].group))
    ),
)  # fmt: skip
PUBLISHES = _of_producer(
    "AUX-67.template", "a running producer publishes the template topic", "always",
    lambda s: forall(s.Producer, lambda p: implies(s.life[p].state == "RUNNING", s.life[p].template)),
)  # fmt: skip
FAILED = _of_producer(
    "AUX-68", "after a failed start, neither the producer nor its instance can start again", "step",
    lambda s: forall(
        s.Producer,
        lambda p: implies((s.life[p].state == "START_FAILED") & (s.life[p].start == "none"), after(s.life[p].state) == "START_FAILED"),
    )
    & implies((s.instance == "START_FAILED") & ~starting(s), after(s.instance) == "START_FAILED"),
)  # fmt: skip
IN_USE = _of_producer(
    "AUX-68.group", "a group in the instance's table has a producer that runs or starts", "always",
    lambda s: forall(s.Producer, lambda p: (s.life[p].group == "none") | (s.life[p].state == "RUNNING") | (s.life[p].start != "none")),
)  # fmt: skip
FOREIGN = _of_producer("REA-150", "a broker rejects the queue id of a retry", "reachable", lambda s: s.call.said == "illegal queue")
BOTH = _of_producer(
    "REA-151", "both producers run, each with its group", "reachable", lambda s: forall(s.Producer, lambda p: s.life[p].state == "RUNNING")
)
WAITS = _of_producer(
    "REA-152", "a producer waits for the instance that another producer starts", "reachable",
    lambda s: exists(s.Producer, lambda p: s.life[p].start == "waits"),
)  # fmt: skip
CUT_OFF = _of_producer(
    "REA-153", "a producer is shut down during a request, and its callback gets the error that it does not run", "reachable",
    lambda s: (s.call.said == "not running") & (s.call.code != "none"),
)  # fmt: skip
UNROUTED = _of_producer(
    "REA-154", "a valid message has no route", "reachable", lambda s: (s.call.said == "no route") | (s.call.said == "no name server")
)

CLAIMS = [
    RUNNING, ONCE, ORDER, OWN_QUEUE, LOSER, ONE_OWNER, PUBLISHES, FAILED, IN_USE, FOREIGN, BOTH, WAITS, CUT_OFF, UNROUTED,
]  # fmt: skip

_ROUTED: dict[str, Any] = {"condition": "a route is known"}
_UNROUTED: dict[str, Any] = {"condition": "no route is known", "given": {"way": "no route"}}
_UNNAMED: dict[str, Any] = {"condition": "no name server is known", "given": {"way": "no name server"}}
CASES: list[Case] = [
    *[c for claim in (RUNNING, ONCE, ORDER, LOSER, ONE_OWNER, PUBLISHES, FAILED) for c in cases(claim, "producers", "holds", **_ROUTED)],
    *cases(ORDER, "producers", "holds", **_UNROUTED),
    *cases(ORDER, "producers", "holds", **_UNNAMED),
    *cases(OWN_QUEUE, "producers", "violated", **_ROUTED, reason="HAZ-28: an asynchronous retry keeps the first broker's queue id"),
    *cases(IN_USE, "producers", "violated", **_ROUTED, reason="CLI-06: the group is registered before the instance fails to start"),
    *[c for claim in (FOREIGN, BOTH, WAITS, CUT_OFF) for c in cases(claim, "producers", "holds", **_ROUTED)],
    *cases(UNROUTED, "producers", "holds", **_UNROUTED),
    *cases(UNROUTED, "producers", "holds", **_UNNAMED),
]
