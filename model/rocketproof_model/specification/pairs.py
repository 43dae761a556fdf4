"""A master and its slave: the log that it copies, what waiting puts are answered, its topic, and its promotion (FLU-07, FLU-08).

Records are counted and alike. A put is answered before the next one begins. A flush may miss its time, which the answer of a SYNC_MASTER
can hide. The master's machine is lost with its disk, and the slave starts again as the master.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..language import Body, Bool, Enum, Expr, Int, Model, coerce, ite, maximum
from .actors import ADMINISTRATOR, ENVIRONMENT, HANDLER, SERVICE

Answer = Enum("none", "waits", "PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE", "SERVICE_NOT_AVAILABLE")
LAG = 2
"""Records in place of 256 MiB: a slave that is so far behind does not count."""


@dataclass(frozen=True, eq=False)
class Pair:
    """The model and its vocabulary, in counts of records: `written` by the master, `copied` by the slave, `pushed` as far as the master
    knows, `acknowledged` up to the last one that was answered PUT_OK. `late`: the last put's flush missed its time."""

    records: int
    model: Model
    constant: dict[str, Expr]
    alive: Expr
    promoted: Expr
    connected: Expr
    written: Expr
    copied: Expr
    pushed: Expr
    acknowledged: Expr
    answer: Expr
    late: Expr
    topic: Expr
    copied_topic: Expr
    listed: Expr
    routed: Expr
    switches: ClassVar[tuple[str, ...]] = ("counts_replicas",)


def specify(name: str, *, records: int = 3) -> Pair:
    """The model, whose log has so many records at most."""
    m = Model(f"specification/{name}")
    m.acting("client", "administrator", "master", "slave", "name server", handler="master", service="slave", environment="master")
    count = Int(0, records)
    flags = {
        "counts_replicas": "a SYNC_MASTER waits for inSyncReplicas copies, of which its own is one, and one is enough by default",
        "sync": "the broker is a SYNC_MASTER",
        "lags": "a flush may miss its time",
    }

    def has(name: str, init: bool, sentence: str, part: str) -> Expr:
        term: Expr = m.var(name, Bool, init=init, sentence=f"whether {sentence}", part=part)
        return term

    def counts(name: str, sentence: str, part: str) -> Expr:
        term: Expr = m.var(name, count, init=0, sentence=f"how many records {sentence}", part=part)
        return term

    p = Pair(
        records=records,
        model=m,
        constant={flag: m.constant(flag, Bool, flag == "sync", sentence) for flag, sentence in flags.items()},
        alive=has("alive", True, "the master runs", "master"),
        promoted=has("promoted", False, "the slave has become the master", "slave"),
        connected=has("connected", False, "the slave follows the master", "slave"),
        written=counts("written", "the master has", "master"),
        copied=counts("copied", "the slave has", "slave"),
        pushed=counts("pushed", "the slave has as it has told the master", "master"),
        acknowledged=counts("acknowledged", "there are up to the last one that was answered PUT_OK", "client"),
        answer=m.var("answer", Answer, init="none", sentence="the last put's answer", part="client"),
        late=has("late", False, "the last put's flush missed its time", "master"),
        topic=has("topic", False, "the master has the topic", "master"),
        copied_topic=has("copied_topic", False, "the slave has the topic", "slave"),
        listed=has("listed", False, "the name server knows the slave", "name server"),
        routed=has("routed", False, "the topic has a route", "name server"),
    )
    _puts(p)
    _copies(p)
    _fails(p)
    return p


def _lives(p: Pair, a: Body) -> None:
    a.guard("master lives", p.alive, "the master runs")


def _puts(p: Pair) -> None:
    m, sync, counts = p.model, p.constant["sync"], p.constant["counts_replicas"]

    def answers(a: Body, answer: Expr | str) -> None:
        a.sends_to("client")
        a.set(p.answer, answer)

    def in_time(late: Expr) -> Expr:
        done: Expr = ite(late, coerce("FLUSH_DISK_TIMEOUT", Answer), "PUT_OK")
        return done

    def waits(a: Body) -> None:
        a.guard("waits", p.answer == "waits", "a put waits for the slave")

    @m.action(actor=HANDLER, rules="FLU-02 FLU-07 FLU-08", late=Bool)
    def put(a: Body, late: Expr) -> None:
        """A message is stored. A SYNC_MASTER lets it wait for a slave that is near, and without one its answer hides that of the flush."""
        _lives(p, a)
        a.bound("none waits", p.answer != "waits", "the put before it is answered")
        a.bound("late", ~late | p.constant["lags"], "the condition lets flushes be late")
        a.bound("records left", p.written < p.records, "the scope's log has room")
        asks = sync & ~counts
        near = p.connected & (p.written + 1 - p.pushed < LAG)
        answer = ite(asks, ite(near, coerce("waits", Answer), "SLAVE_NOT_AVAILABLE"), in_time(late))
        answers(a, answer)
        a.set(p.late, late)
        a.set(p.written, p.written + 1)
        a.set(p.acknowledged, p.written + 1, when=answer == "PUT_OK")

    @m.action(actor=SERVICE, rules="FLU-07", fair="weak")
    def confirm(a: Body) -> None:
        """The slave has told of the record: the put is answered by its flush."""
        a.by("master")
        waits(a)
        a.guard("pushed", p.pushed >= p.written, "the slave has told that it has the record")
        answers(a, in_time(p.late))
        a.set(p.acknowledged, p.written, when=~p.late)

    @m.action(actor=HANDLER, rules="FLU-07 FLU-08", fair="weak")
    def time_out(a: Body) -> None:
        """The slave has not told of the record in time: FLUSH_SLAVE_TIMEOUT, whatever the flush did."""
        waits(a)
        a.guard("not pushed", p.pushed < p.written, "the slave has not told that it has the record")
        answers(a, "FLUSH_SLAVE_TIMEOUT")

    @m.action(actor=HANDLER, rules="STO-01")
    def refuse(a: Body) -> None:
        """A slave takes no message."""
        a.by("slave")
        a.bound("none waits", p.answer != "waits", "the put before it is answered")
        a.guard("a slave", ~p.promoted, "the slave is one")
        answers(a, "SERVICE_NOT_AVAILABLE")
        a.set(p.late, False)


def _copies(p: Pair) -> None:
    m = p.model

    def follows(a: Body) -> None:
        a.takes_from("master")
        _lives(p, a)
        a.guard("connected", p.connected, "the slave follows the master")

    @m.action(actor=SERVICE, rules="NS-02 NS-05")
    def register_slave(a: Body) -> None:
        """The slave registers and learns who its master is; what it says of topics changes nothing."""
        a.sends_to("name server")
        a.bound("a slave", ~p.promoted, "the slave is one")
        a.set(p.listed, True)

    @m.action(actor=SERVICE, rules="FLU-07")
    def connect(a: Body) -> None:
        """The slave connects, and tells what it has."""
        a.sends_to("master")
        _lives(p, a)
        a.guard("knows its master", p.listed, "the slave has registered")
        a.bound("not connected", ~p.connected, "one connection at a time")
        a.set(p.connected, True)
        a.set(p.pushed, maximum(p.pushed, p.copied))

    @m.action(actor=SERVICE, rules="FLU-07", fair="weak")
    def copy(a: Body) -> None:
        """The slave appends the next record of the master's log."""
        follows(a)
        a.guard("behind", p.copied < p.written, "the master has more records")
        a.set(p.copied, p.copied + 1)

    @m.action(actor=SERVICE, rules="FLU-07", fair="weak")
    def report(a: Body) -> None:
        """The slave tells the master how many records it has."""
        follows(a)
        a.guard("news", p.pushed < p.copied, "the slave has more than it has told")
        a.set(p.pushed, p.copied)

    @m.action(actor=ADMINISTRATOR, rules="TCM-30 NS-02")
    def create(a: Body) -> None:
        """An administrator creates the topic on the master, which registers it."""
        a.sends_to("master")
        _lives(p, a)
        a.guard("new", ~p.topic, "the master does not have the topic")
        a.set(p.topic, True)
        a.set(p.routed, True)

    @m.action(actor=SERVICE, fair="weak")
    def copy_topics(a: Body) -> None:
        """The slave asks for the master's table, as it does every 10 s."""
        _lives(p, a)
        a.guard("knows its master", p.listed, "the slave has registered")
        a.guard("news", p.topic & ~p.copied_topic, "the master has another table")
        a.set(p.copied_topic, True)


def _fails(p: Pair) -> None:
    m = p.model

    @m.action(actor=ENVIRONMENT, weight=0.5)
    def disconnect(a: Body) -> None:
        """The connection breaks."""
        a.guard("connected", p.connected, "the slave follows the master")
        a.set(p.connected, False)

    @m.action(actor=ENVIRONMENT, rules="NS-08", weight=0.3)
    def lose_master(a: Body) -> None:
        """The master's machine is lost: the name server takes its topics out, unless a slave of its name is left (HAZ-43)."""
        _lives(p, a)
        a.bound("none waits", p.answer != "waits", "no put waits, as none of those would be answered")
        a.set(p.alive, False)
        a.set(p.connected, False)
        a.set(p.routed, p.routed & p.listed)

    @m.action(actor=ENVIRONMENT, rules="NS-02 NS-08")
    def promote(a: Body) -> None:
        """The slave is started again as the master: its name had no address left meanwhile, and it registers the topics that it has."""
        a.by("slave")
        a.guard("no master", ~p.alive & ~p.promoted, "there is no master")
        a.set(p.promoted, True)
        a.set(p.routed, p.copied_topic)
