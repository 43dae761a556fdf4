"""Steps that the broker's threads share: the phase of a request, its answer, the topic file, and the registration."""

from __future__ import annotations

from collections.abc import Callable

from rocketproof_model.language import Body, Expr, Row, ite

from .vocabulary import Specification


def answer(s: Specification, a: Body, p: Expr, code: str | Expr, *, checks: bool = False) -> None:
    """End the request with this code, which the broker sends to the client. `checks` marks a refusal by the validity checks."""
    job = s.job[p]
    a.update(job, phase="answered", answer=code)
    a.sends_to(p)
    if checks:
        a.set(job.checks, True)


def require_running(s: Specification, a: Body, b: Expr) -> None:
    """Require that the broker runs."""
    a.guard("broker runs", s.up[b], "the broker runs")


def in_phase(s: Specification, a: Body, p: Expr, phase: str, sentence: str, *, name: str = "", then: str = "") -> tuple[Row, Expr]:
    """Require that the request is in this phase at a running broker. Returns the request's row and that broker.

    `name` is the guard's name if it is not the phase's. `then` is the phase after the action.
    """
    row = s.job[p]
    a.by(row.broker)
    a.guard(name or phase, s.at(row, phase), sentence)
    require_running(s, a, row.broker.get)
    if then:
        a.set(row.phase, then)
    return row, row.broker.get


def use_config(s: Specification, a: Body, row: Row, config: Row) -> None:
    """Store the configuration that the request has found. It uses that configuration even if an administrator changes the topic (CHK-05,
    CHK-10).

    In scopes in which topics do not change, the table still has it, so nothing is stored.
    """
    if s.scope.changes:
        a.update(row, read=config.read, write=config.write, perm=config.perm)


def write_queues(s: Specification, b: Expr, row: Row) -> Expr:
    """The queues from which an accepted request draws: its topic's queues, or the queues before the topic was deleted."""
    write = s.config[b, row.topic].write
    if not s.scope.deletes:
        return write
    return ite(s.config[b, row.topic].known, write, row.write)


Table = Callable[[Expr], Row]


def write_file(s: Specification, a: Body, b: Expr, table: Table | None = None, version: Expr | None = None) -> None:
    """Write the broker's table (or `table`) to its file (PER-01)."""
    for t in s.Topic:
        a.set(s.file[b, t], table(t) if table else s.config[b, t])
    a.set(s.file_version[b], s.version[b] if version is None else version)


def send_registration(
    s: Specification, a: Body, b: Expr, table: Table | None = None, version: Expr | None = None, only: tuple[Expr, Expr] | None = None
) -> None:
    """Send the broker's table (or `table`) to the name server (NS-11). `only`: a topic, and whether it is sent alone."""
    a.sends_to("name server")
    for t in s.Topic:
        sent = s.published(table(t) if table else s.config[b, t], alone=only is not None and only[1])
        a.set(s.registration[b, t], sent if only is None else ite(only[1] & (only[0] != t), s.absent, sent))
    a.set(s.registration_version[b], s.version[b] if version is None else version)
    a.set(s.registration_in_flight[b], True)


def end_registration(s: Specification, a: Body, b: Expr) -> None:
    """Clear the broker's registration that was in flight."""
    a.set(s.registration_in_flight[b], False)
    a.set(s.registration_version[b], 0)
    for t in s.Topic:
        a.set(s.registration[b, t], s.absent)
