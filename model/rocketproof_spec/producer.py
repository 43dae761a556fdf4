"""The producer: route look-up with fallback to the template, queue choice, the 30 s refresh, and retry on another broker.

A producer publishes one topic. In scopes with raw clients, clients send any header instead.
"""

from __future__ import annotations

from typing import Any

from rocketproof_model.language import Body, Bool, Expr, Int, Row, all_of, any_of, const, ite, minimum, rem, total

from .arithmetic import has_bit
from .placement import Kind, request_wait
from .vocabulary import Specification

RETRIABLE = ("TOPIC_NOT_EXIST", "SYSTEM_ERROR", "NO_PERMISSION", "lost")


def _writable(s: Specification, row: Row) -> Expr:
    """CLI-20: the number of writable queues of a route entry."""
    return ite((row.entries > 0) & has_bit(row.perm, 2), row.write, 0)


def _publish(s: Specification, a: Body, p: Expr) -> None:
    a.takes_from("name server")
    for b in s.Broker:
        a.set(s.queues[p, b], _writable(s, s.route[b, s.scope.subject]))
    a.set(s.known_route[p], True)


def routes(s: Specification) -> None:
    """The look-up and refresh of a producer's route (CLI-13 to CLI-21)."""
    subject = s.scope.subject
    advertised = any_of(s.route[b, subject].entries > 0 for b in s.Broker)
    template = any_of(s.route[b, 0].entries > 0 for b in s.Broker)

    def needs_route(a: Body, p: Expr) -> None:
        a.guard("started", s.started[p], "the producer is started")
        a.guard("no route", ~s.known_route[p], "the producer has no route for the topic")

    @s.client(rules="CLI-13 CLI-20")
    def find_route(a: Body, p: Expr) -> None:
        """The producer has no route, asks the name server for the topic, and gets one."""
        needs_route(a, p)
        a.guard("advertised", advertised, "the name server knows the topic")
        _publish(s, a, p)
        a.says("{by} gets the route of {topic} from the name server", topic=const(subject, s.Topic))

    @s.client(takes_from="name server", rules="CLI-14 CLI-16 CLI-18 CLI-22")
    def find_template(a: Body, p: Expr) -> None:
        """The topic is unknown: the producer uses the template's route, with the smaller of its own count and the template's read count."""
        needs_route(a, p)
        a.guard("not advertised", ~advertised, "the name server does not know the topic")
        a.guard("template advertised", template, "the name server knows the template topic")
        for b in s.Broker:
            row = s.route[b, 0]
            queues = minimum(s.given("client_queues"), row.read)
            a.set(s.queues[p, b], ite((row.entries > 0) & has_bit(row.perm, 2) & (queues > 0), queues, 0))
        a.set(s.known_route[p], True)
        a.says("{by} finds no route of {topic} and uses the template's route", topic=const(subject, s.Topic))

    @s.client(rules="CLI-17 CLI-19 CLI-21")
    def refresh(a: Body, p: Expr) -> None:
        """The 30 s timer: the name server's route replaces the cached one, even if that is the template's."""
        timed = s.given("burst") > 0
        differs = any_of(s.queues[p, b] != _writable(s, s.route[b, subject]) for b in s.Broker)
        a.guard("has route", s.known_route[p], "the producer has a route for the topic")
        a.guard("advertised", advertised, "the name server knows the topic")
        a.guard("differs", differs | (timed & ~s.refreshed[p]), "the name server's route differs from the cached one")
        a.guard("timer", ~timed | ((s.sent[p] >= s.given("burst")) & s.quiet), "30 s have passed since the first message")
        _publish(s, a, p)
        a.set(s.refreshed[p], timed)
        a.says("{by} refreshes its route of {topic}", topic=const(subject, s.Topic))


def sending(s: Specification) -> None:
    """A producer's sends over its route (CLI-23, CLI-24, CLI-26, CLI-30, CLI-34)."""
    subject = s.scope.subject

    @s.client(rules="CLI-23", at=s.model.variable("position").type)
    def start(a: Body, p: Expr, at: Expr) -> None:
        """The producer's round robin starts at any position."""
        a.guard("not started", ~s.started[p], "the producer's counter has no value yet")
        a.set(s.started[p], True)
        a.set(s.position[p], at)
        a.says("{by} starts its round robin at position {at}")

    @s.client(rules="CLI-23 CLI-26 CLI-34", fair="strong", b=s.Broker, q=s.Queue)
    def send(a: Body, p: Expr, b: Expr, q: Expr) -> None:
        """The producer sends a message to a queue of its route."""
        row = s.job[p]
        a.guard("idle", s.at(row, "idle"), "the producer does not wait for an answer")
        a.guard("has route", s.known_route[p], "the producer has a route for the topic")
        a.guard("listed", q < s.queues[p, b], "the queue is in the producer's list")
        if not s.scope.symmetric:
            a.guard("its turn", ~s.given("round_robin") | _turn(s, p, b, q), "it is this queue's turn")
        untimed = (s.given("burst") == 0) | s.refreshed[p]
        a.guard("before the timer", untimed | (s.sent[p] < s.given("burst")), "the first period allows another message")
        _sends(s, a, p)
        _header(s, a, p, b, const(subject, s.Topic), const(0, s.Topic), s.given("client_queues"), q)
        length = s.model.variable("position").type.size
        a.set(s.position[p], ite(s.given("round_robin"), rem(s.position[p] + 1, length), s.position[p]))
        a.says("{by} sends a message for {topic} to queue {q} of {b}", topic=const(subject, s.Topic))


def _turn(s: Specification, p: Expr, b: Expr, q: Expr) -> Expr:
    """Whether the queue is at the producer's position in its list of queues, which is sorted by broker name."""
    size = total(s.Broker, lambda c: s.queues[p, c])
    before = total(s.Broker, lambda c: ite(c < b, s.queues[p, c], 0))
    return before + q == rem(s.position[p], ite(size == 0, 1, size))


def _sends(s: Specification, a: Body, p: Expr) -> None:
    """Count one more message, unless their number is unlimited."""
    sends, sent = s.given("sends"), s.sent[p]
    a.bound("sends left", (sends == 0) | (sent < sends), "the scope allows another message")
    a.set(sent, ite(sends == 0, sent, sent + 1))


def _header(s: Specification, a: Body, p: Expr, b: Expr, topic: Expr, default: Expr, numbers: Expr, queue: Expr) -> None:
    a.sends_to(b)
    a.update(s.job[p], phase="arrived", broker=b, topic=topic, default=default, numbers=numbers, queue=queue)


def clients(s: Specification) -> None:
    """Raw clients, which send any header."""
    scope = s.scope

    header: dict[str, Any] = {"numbers": scope.numbers, "queue": scope.queue_ids}
    if scope.store:
        header |= {"kind": Kind, "size": scope.sizes}
    wait: dict[str, Any] = {"level": Int(0, 1), "timed": Bool, "half": Bool} if scope.waits else {}

    @s.client(rules="CLI-34", fair=None, b=s.Broker, t=s.Topic, d=s.Topic, **header, **wait)
    def request(a: Body, p: Expr, b: Expr, t: Expr, d: Expr, numbers: Expr, queue: Expr, **fields: Expr) -> None:
        """A client sends a message with any header."""
        row = s.job[p]
        a.guard("idle", s.at(row, "idle"), "the client does not wait for an answer")
        _sends(s, a, p)
        templates = scope.named(*scope.defaults)
        a.bound("template named", any_of(d == t for t in templates), "the default topic is one of the scope's templates")
        if "size" in fields:
            a.bound("size", fields["size"] <= s.given("size_limit"), "the scope has messages of this size")
        _header(s, a, p, b, t, d, numbers, queue)
        if scope.waits:
            request_wait(s, a, p, **{name: fields.pop(name) for name in wait}, kind=fields["kind"])
        elif s.places is not None:
            a.set(s.places.way[p].step, ite(s.of_class(t, "retry"), "retry", "put"))
        a.update(s.job[p], **fields)
        a.says("{by} sends a message for {t} to queue {queue} of {b}, with default topic {d} and {numbers:queue}")


def answers(s: Specification) -> None:
    """The end of a send for its caller, or its retry on another broker."""

    @s.client(rules="CLI-29")
    def finish(a: Body, p: Expr) -> None:
        """The caller takes the answer: a result, an error without a retry, or the last attempt's error."""
        row = s.job[p]
        a.takes_from(row.broker)
        a.guard("answered", s.at(row, "answered"), "the request is answered")
        a.guard("final", ~_retriable(row) | (row.tries >= s.given("retries")), "the answer does not allow a retry, or no attempt is left")
        a.set(row, s.idle)
        if s.places is not None:
            a.set(s.places.way[p], s.places.idle)
        a.says("{by} ends the send with {answer}", answer=row.answer)

    if s.scope.routes:

        @s.client(rules="CLI-24 CLI-30", b=s.Broker, q=s.Queue)
        def retry(a: Body, p: Expr, b: Expr, q: Expr) -> None:
            """The attempt failed and is repeated, on another broker if the route has one."""
            row = s.job[p]
            a.guard("answered", s.at(row, "answered"), "the request is answered")
            a.guard("retriable", _retriable(row), "the answer's code is in the retry set, or there was no answer")
            a.guard("attempts left", row.tries < s.given("retries"), "there is an attempt left")
            a.guard("listed", q < s.queues[p, b], "the queue is in the producer's list")
            alone = all_of((s.queues[p, c] == 0) | (row.broker == c) for c in s.Broker)
            a.guard("another broker", (row.broker != b) | alone, "the broker is a different one, or the only one in the list")
            a.sends_to(b)
            a.update(row, phase="arrived", answer="none", broker=b, queue=q, tries=row.tries + 1)
            a.update(row, fallback=False, created=False, touched=False, checks=False)
            a.says("{by} repeats the send to queue {q} of {b} after {answer}", answer=row.answer)


def _retriable(row: Row) -> Expr:
    return any_of(row.answer == code for code in RETRIABLE)
