"""What the steps of a broker's threads have in common: where a request stands, its answer, the file, the registration that is sent."""

from __future__ import annotations

from collections.abc import Callable

from rocketproof_model.language import Body, Expr, Row, ite

from .vocabulary import Specification


def answer(s: Specification, a: Body, p: Expr, code: str | Expr, *, checks: bool = False) -> None:
    """The request ends with this code, which the broker sends to the client; `checks` marks a refusal by the validity checks."""
    job = s.job[p]
    a.update(job, phase="answered", answer=code)
    a.sends_to(p)
    if checks:
        a.set(job.checks, True)


def runs(s: Specification, a: Body, b: Expr) -> None:
    """Guard that the broker runs."""
    a.guard("broker runs", s.up[b], "the broker runs")


def in_phase(s: Specification, a: Body, p: Expr, phase: str, sentence: str, *, name: str = "", then: str = "") -> tuple[Row, Expr]:
    """Guard, by the phase's name or another, that the request is in this phase at a running broker; its row and that broker.

    `then` is the phase in which the action leaves it.
    """
    row = s.job[p]
    a.by(row.broker)
    a.guard(name or phase, s.at(row, phase), sentence)
    runs(s, a, row.broker.get)
    if then:
        a.set(row.phase, then)
    return row, row.broker.get


def at_hand(s: Specification, a: Body, row: Row, found: Row) -> None:
    """The request goes on with the configuration that it has found, whatever an administrator puts in its place (CHK-05, CHK-10).

    Where nobody changes topics the table still has it, and nothing needs to be remembered.
    """
    if s.scope.changes:
        a.update(row, read=found.read, write=found.write, perm=found.perm)


def write_queues(s: Specification, b: Expr, row: Row) -> Expr:
    """The queues from which an accepted request may draw: those that its topic has, or had when it was deleted since."""
    write = s.config[b, row.topic].write
    if not s.scope.deletes:
        return write
    return ite(s.config[b, row.topic].known, write, row.write)


Table = Callable[[Expr], Row]


def write_file(s: Specification, a: Body, b: Expr, table: Table | None = None, version: Expr | None = None) -> None:
    """Write the table (as it is, or as given) to the broker's file (PER-01)."""
    for t in s.Topic:
        a.set(s.file[b, t], table(t) if table else s.config[b, t])
    a.set(s.file_version[b], s.version[b] if version is None else version)


def send_registration(
    s: Specification, a: Body, b: Expr, table: Table | None = None, version: Expr | None = None, only: tuple[Expr, Expr] | None = None
) -> None:
    """Send the table (as it is, or as given) to the name server (NS-11); `only`: a topic, and whether it is sent alone."""
    a.sends_to("name server")
    for t in s.Topic:
        sent = s.published(table(t) if table else s.config[b, t], alone=only is not None and only[1])
        a.set(s.registration[b, t], sent if only is None else ite(only[1] & (only[0] != t), s.absent, sent))
    a.set(s.registration_version[b], s.version[b] if version is None else version)
    a.set(s.registration_in_flight[b], True)


def end_registration(s: Specification, a: Body, b: Expr) -> None:
    """No registration of the broker is in flight any more."""
    a.set(s.registration_in_flight[b], False)
    a.set(s.registration_version[b], 0)
    for t in s.Topic:
        a.set(s.registration[b, t], s.absent)
