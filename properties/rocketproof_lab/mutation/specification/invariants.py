"""Invariants of sending that hold for all constants. A mutant that differs only in states that violate them is equivalent.

Each is a sentence with its formula. Every run proves, scope by scope, that all steps preserve them. An invariant that is not preserved is
left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from rocketproof_model import Action, Bool, Expr, Model, Row, all_of, any_of, exists, forall, implies
from rocketproof_model.language import coerce, const
from rocketproof_model.proofs.weakest import holds, preserved
from rocketproof_model.result import Limits
from rocketproof_model.transforms.mutation import ModelMutant
from rocketproof_profiles import NameClass
from rocketproof_spec import Specification, part
from rocketproof_spec.arithmetic import has_bit

Formula = Callable[[Specification], Expr]
LIMITS: Final = Limits(seconds=10.0)
"""Limits of one proof."""
_PUT: Final = ("put", "versioned", "persisted", "unlocked")
REFUSED: Final[tuple[NameClass, ...]] = ("blank", "illegal", "long", "forbidden")


def _requests(body: Callable[[Specification, Row], Expr]) -> Formula:
    return lambda s: forall(s.Producer, lambda p: body(s, s.job[p]))


def _inside(s: Specification, row: Row) -> Expr:
    """The request has been accepted and is not answered."""
    return (row.phase != "idle") & (row.phase != "arrived") & (row.phase != "answered")


def _runs(s: Specification, row: Row) -> Expr:
    return implies(_inside(s, row), exists(s.Broker, lambda b: (row.broker == b) & s.up[b]))


def _at(s: Specification, p: Expr, b: Expr, *phases: str) -> Expr:
    return (s.job[p].broker == b) & s.within(s.job[p], phases)


def _made(s: Specification, p: Expr, b: Expr, body: Callable[[Expr], Expr]) -> Expr:
    """Holds for the topic that the request is about to create."""
    here = _at(s, p, b, "template", "inherit", "built")
    return forall(s.Topic, lambda t: implies(here & (s.job[p].topic == t), body(t)))


def _known(s: Specification, p: Expr, b: Expr) -> Expr:
    return forall(s.Topic, lambda t: implies(s.job[p].topic == t, s.config[b, t].known))


def _empty(s: Specification, b: Expr) -> Expr:
    counts = forall(s.Topic, lambda t: (s.creations[b, t] == 0) & s.config[b, t].same_as(s.absent))
    return s.up[b] | ((s.version[b] == 0) & ~s.registration_in_flight[b] & counts)


def _proper(s: Specification, b: Expr, t: Expr) -> Expr:
    known = any_of(row.known for row in (s.config[b, t], s.file[b, t], s.registration[b, t]))
    asked = s.given("check_names") & s.given("guards_topics")  # names in sends, and names from an administrator
    refused = [name for name in REFUSED if name != "forbidden" or not s.scope.waits]  # a broker has the topics of waiting messages
    return implies(asked & s.of_class(t, *refused), ~known)


def _without_counts(s: Specification, row: Row) -> Expr:
    return (row.read == s.absent.read) & (row.write == s.absent.write)


def _unwritable(s: Specification) -> Expr:
    """No client lists a queue or sends."""
    none = forall(s.Broker, lambda b: forall(s.Topic, lambda t: ~has_bit(s.registration[b, t].perm, 2) & ~has_bit(s.route[b, t].perm, 2)))
    return none & forall(s.Producer, lambda p: (s.job[p].phase == "idle") & forall(s.Broker, lambda b: s.queues[p, b] == 0))


def _brokers(body: Callable[[Specification, Expr], Expr]) -> Formula:
    return lambda s: forall(s.Broker, lambda b: body(s, b))


def _topics(body: Callable[[Specification, Expr, Expr], Expr]) -> Formula:
    return lambda s: forall(s.Broker, lambda b: forall(s.Topic, lambda t: body(s, b, t)))


def _producers(body: Callable[[Specification, Expr], Expr]) -> Formula:
    return lambda s: forall(s.Producer, lambda p: body(s, p))


INVARIANTS: Final[dict[str, Formula]] = {
    "an idle producer has no request": _requests(lambda s, row: implies(row.phase == "idle", row.same_as(s.idle))),
    "a request is at a broker": _requests(lambda s, row: (row.phase == "idle") == row.broker.is_none),
    "a broker runs unless it crashed": _brokers(lambda s, b: s.up[b] | (s.crashes > 0)),
    "no broker crashes in a scope without crashes": lambda s: (s.crashes == 0) | const(int(s.scope.crashes), Bool),
    "a request is processed only by a running broker": _requests(_runs),
    "the broker lock is held exactly by a request inside topic creation": _brokers(
        lambda s, b: forall(s.Producer, lambda p: (s.lock[b] == p) == s.creates(s.job[p], b))
    ),
    "a producer without a route lists no queue": _producers(
        lambda s, p: implies(~s.known_route[p], forall(s.Broker, lambda b: s.queues[p, b] == 0))
    ),
    "a producer with a route is started": _producers(lambda s, p: implies(s.known_route[p], s.started[p])),
    "a topic that is not in a table has no configuration there": _topics(
        lambda s, b, t: all_of(implies(~row.known, row.same_as(s.absent)) for row in (s.config[b, t], s.file[b, t]))
    ),
    "a registration has no counts of a topic that it does not contain": _topics(
        lambda s, b, t: s.registration[b, t].known | _without_counts(s, s.registration[b, t])
    ),
    "only the topic that exists at the start may be an order topic": _topics(
        lambda s, b, t: all_of(
            implies(row.order, (t == s.scope.subject) & s.given("existing") & s.given("order_topic"))
            for row in (s.config[b, t], s.file[b, t], s.registration[b, t])
        )
    ),
    "a table contains no rejected name": _topics(_proper),
    "a request that has passed the checks has no rejected name": _requests(
        lambda s, row: implies(s.given("check_names") & _inside(s, row), ~s.of_class(row.topic, *REFUSED))
    ),
    "an order topic is in the table as it is in the file": _topics(
        lambda s, b, t: implies(s.up[b], s.config[b, t].order == s.file[b, t].order)
    ),
    "without changes of settings, the table's version is the file's, or a request is about to write it": _brokers(
        lambda s, b: implies(
            s.up[b] & ~const(int(s.scope.configures), Bool),
            (s.version[b] == s.file_version[b]) | exists(s.Producer, lambda p: _at(s, p, b, "versioned")),
        )
    ),
    "a broker that does not run has nothing in memory": _brokers(_empty),
    "only retry topics use the fallback": _requests(lambda s, row: implies(row.fallback, s.of_class(row.topic, "retry"))),
    "a request has an answer exactly if it is answered": _requests(lambda s, row: (row.answer == "none") == (row.phase != "answered")),
    "an answer is lost only in a crash": _requests(lambda s, row: implies(row.answer == "lost", s.crashes > 0)),
    "a queue has as many records as its next offset says": lambda s: (
        all_of(s.log.offset[b, t, q] == s.log.records[b, t, q] for b in s.Broker for t in s.Topic for q in s.Queue)
        if s.scope.store and not s.scope.placed  # a message rejected while it is encoded may also be counted
        else const(1, Bool)
    ),
    "without deletions, a topic that a request has put exists": _brokers(
        lambda s, b: forall(s.Producer, lambda p: implies(_at(s, p, b, *_PUT) & ~const(int(s.scope.deletes), Bool), _known(s, p, b)))
    ),
    "without deletions, a topic is not created or announced before it exists": _topics(
        lambda s, b, t: const(int(s.scope.deletes), Bool) | s.config[b, t].known | ((s.creations[b, t] == 0) & (s.announcements[b, t] == 0))
    ),
    "unlimited sends are not counted": _producers(lambda s, p: implies(s.given("sends") == 0, s.sent[p] == 0)),
    "unlimited updates are not counted": lambda s: implies(s.given("update_budget") < 0, s.updates == 0),
    "the name server considers only crashed brokers dead": _brokers(lambda s, b: s.live[b] | (s.crashes > 0)),
    "a topic created from a template has equal numbers of read and write queues": _requests(
        lambda s, row: implies(s.within(row, ("built", "put", "versioned", "persisted", "unlocked")), row.read == row.write)
    ),
    "a topic that is being created is not an order topic": _brokers(
        lambda s, b: forall(s.Producer, lambda p: _made(s, p, b, lambda t: ~s.config[b, t].order))
    ),
    "if only producers send, the default topic is the template": _requests(
        lambda s, row: const(int(s.scope.requests), Bool) | (row.default == 0)
    ),
    "no client can send to a read-only broker": lambda s: const(int(s.scope.requests), Bool) | s.given("broker_writable") | _unwritable(s),
    "nothing is stored in a scope without a log": _requests(lambda s, row: const(int(s.scope.store), Bool) | (row.offset == 0)),
}
"""Formulas by sentence."""


@cache
def known(scope: str) -> Expr:
    """Return the conjunction of the invariants that the steps of a scope preserve. There are none for scopes of faults."""
    s = part(scope)
    return all_of(preserved(s.model, [formula(s) for formula in INVARIANTS.values()]) if isinstance(s, Specification) else ())


def equal(model: Model, mutant: ModelMutant, known: Expr) -> bool:
    """Whether z3 proves that the mutant changes nothing if `known` holds, for all values of variables, parameters and constants."""
    action = model.named(mutant.action)
    others = all_of(guard.condition for guard in action.guards if guard.name != mutant.guard)
    return holds(model, known & others, _same(action, mutant), LIMITS)


def _same(action: Action, mutant: ModelMutant) -> Expr:
    """The guard is equal if the other guards hold; the assigned values are equal if all guards hold."""
    if mutant.guard:
        guard = action.guard(mutant.guard)
        same: Expr = coerce(mutant.change(guard), Bool) == guard.condition
        return same
    changed = [update for update in action.updates if update.target.args[0].name == mutant.sets]
    return all_of(coerce(mutant.change(update), update.target.type) == update.value for update in changed)
