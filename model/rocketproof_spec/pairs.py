"""A master and its slave: replication, the answers of waiting puts, the topic, and the slave's promotion (FLU-07, FLU-08).

Records are counted and identical. A put is answered before the next put begins. A flush may be late; the answer of a SYNC_MASTER can hide
that. The master's machine is lost with its disk, and the slave restarts as the master.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Int, coerce, ite, maximum

from .actors import ADMINISTRATOR, ENVIRONMENT, HANDLER, SERVICE
from .part import Part

Answer = Enum("none", "waits", "PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE", "SERVICE_NOT_AVAILABLE")
LAG = 2
"""Records that stand for 256 MiB. A slave that lags by this much does not count."""


class MasterAndSlave(Part):
    """A master's log of at most `records` records, and its slave's. All counts are of records."""

    switches = ("counts_replicas",)

    def __init__(self, name: str, *, records: int = 3) -> None:
        super().__init__(name)
        self.records = records
        m, count = self.model, Int(0, records)
        m.acting("client", "administrator", "master", "slave", "name server", handler="master", service="slave", environment="master")
        self.counts_replicas = m.constant(
            "counts_replicas", Bool, False,
            "a SYNC_MASTER waits for inSyncReplicas copies; its own counts, and the default is 1",
        )  # fmt: skip
        self.sync = m.constant("sync", Bool, True, "the broker is a SYNC_MASTER")
        self.lags = m.constant("lags", Bool, False, "a flush may time out")
        self.alive = m.var("alive", Bool, init=True, sentence="whether the master runs", part="master")
        self.promoted = m.var("promoted", Bool, init=False, sentence="whether the slave has become the master", part="slave")
        self.connected = m.var("connected", Bool, init=False, sentence="whether the slave follows the master", part="slave")
        self.written = m.var("written", count, init=0, sentence="how many records the master has", part="master")
        self.copied = m.var("copied", count, init=0, sentence="how many records the slave has", part="slave")
        self.pushed = m.var("pushed", count, init=0, sentence="how many records the slave has reported to the master", part="master")
        self.acknowledged = m.var(
            "acknowledged",
            count,
            init=0,
            sentence="how many records there are up to the last record that was answered PUT_OK",
            part="client",
        )
        self.answer = m.var("answer", Answer, init="none", sentence="the last put's answer", part="client")
        self.late = m.var("late", Bool, init=False, sentence="whether the last put's flush timed out", part="master")
        self.topic = m.var("topic", Bool, init=False, sentence="whether the master has the topic", part="master")
        self.copied_topic = m.var("copied_topic", Bool, init=False, sentence="whether the slave has the topic", part="slave")
        self.listed = m.var("listed", Bool, init=False, sentence="whether the name server knows the slave", part="name server")
        self.routed = m.var("routed", Bool, init=False, sentence="whether the topic has a route", part="name server")
        _puts(self)
        _copies(self)
        _fails(self)


def _require_master(p: MasterAndSlave, a: Body) -> None:
    a.guard("master lives", p.alive, "the master runs")


def _puts(p: MasterAndSlave) -> None:
    def answers(a: Body, answer: Expr | str) -> None:
        a.sends_to("client")
        a.set(p.answer, answer)

    def in_time(late: Expr) -> Expr:
        return ite(late, coerce("FLUSH_DISK_TIMEOUT", Answer), "PUT_OK")

    def waits(a: Body) -> None:
        a.guard("waits", p.answer == "waits", "a put waits for the slave")

    @p.action(actor=HANDLER, rules="FLU-02 FLU-07 FLU-08", late=Bool)
    def put(a: Body, late: Expr) -> None:
        """A message is stored. On a SYNC_MASTER the put waits for a slave that is close enough. Without one, the answer hides the flush's
        result."""
        _require_master(p, a)
        a.bound("none waits", p.answer != "waits", "the put before it is answered")
        a.bound("late", ~late | p.lags, "the condition allows late flushes")
        a.bound("records left", p.written < p.records, "the scope's log has room")
        needs_slave = p.sync & ~p.counts_replicas
        caught_up = p.connected & (p.written + 1 - p.pushed < LAG)
        answer = ite(needs_slave, ite(caught_up, coerce("waits", Answer), "SLAVE_NOT_AVAILABLE"), in_time(late))
        answers(a, answer)
        a.update(p, late=late, written=p.written + 1)
        a.set(p.acknowledged, p.written + 1, when=answer == "PUT_OK")

    @p.action(actor=SERVICE, part="master", rules="FLU-07", fair="weak")
    def confirm(a: Body) -> None:
        """The slave has reported the record: the put is answered with its flush's result."""
        waits(a)
        a.guard("pushed", p.pushed >= p.written, "the slave has reported the record")
        answers(a, in_time(p.late))
        a.set(p.acknowledged, p.written, when=~p.late)

    @p.action(actor=HANDLER, rules="FLU-07 FLU-08", fair="weak")
    def time_out(a: Body) -> None:
        """The slave has not reported the record in time: FLUSH_SLAVE_TIMEOUT, regardless of the flush."""
        waits(a)
        a.guard("not pushed", p.pushed < p.written, "the slave has not reported the record")
        answers(a, "FLUSH_SLAVE_TIMEOUT")

    @p.action(actor=HANDLER, part="slave", rules="STO-01")
    def refuse(a: Body) -> None:
        """A slave rejects messages."""
        a.bound("none waits", p.answer != "waits", "the put before it is answered")
        a.guard("a slave", ~p.promoted, "the slave is not promoted")
        answers(a, "SERVICE_NOT_AVAILABLE")
        a.set(p.late, False)


def _copies(p: MasterAndSlave) -> None:
    def follows(a: Body) -> None:
        a.takes_from("master")
        _require_master(p, a)
        a.guard("connected", p.connected, "the slave follows the master")

    @p.action(actor=SERVICE, sends_to="name server", rules="NS-02 NS-05")
    def register_slave(a: Body) -> None:
        """The slave registers and gets its master's address. Its registration does not change topics."""
        a.bound("a slave", ~p.promoted, "the slave is not promoted")
        a.set(p.listed, True)

    @p.action(actor=SERVICE, sends_to="master", rules="FLU-07")
    def connect(a: Body) -> None:
        """The slave connects and reports how many records it has."""
        _require_master(p, a)
        a.guard("knows its master", p.listed, "the slave has registered")
        a.bound("not connected", ~p.connected, "one connection at a time")
        a.update(p, connected=True, pushed=maximum(p.pushed, p.copied))

    @p.action(actor=SERVICE, rules="FLU-07", fair="weak")
    def copy(a: Body) -> None:
        """The slave appends the next record of the master's log."""
        follows(a)
        a.guard("behind", p.copied < p.written, "the master has more records")
        a.set(p.copied, p.copied + 1)

    @p.action(actor=SERVICE, rules="FLU-07", fair="weak")
    def report(a: Body) -> None:
        """The slave reports to the master how many records it has."""
        follows(a)
        a.guard("news", p.pushed < p.copied, "the slave has records that it has not reported")
        a.set(p.pushed, p.copied)

    @p.action(actor=ADMINISTRATOR, sends_to="master", rules="TCM-30 NS-02")
    def create(a: Body) -> None:
        """An administrator creates the topic on the master, which registers it."""
        _require_master(p, a)
        a.guard("new", ~p.topic, "the master does not have the topic")
        a.update(p, topic=True, routed=True)

    @p.action(actor=SERVICE, fair="weak")
    def copy_topics(a: Body) -> None:
        """The slave asks for the master's table, as it does every 10 s."""
        _require_master(p, a)
        a.guard("knows its master", p.listed, "the slave has registered")
        a.guard("news", p.topic & ~p.copied_topic, "the slave lacks the master's topic")
        a.set(p.copied_topic, True)


def _fails(p: MasterAndSlave) -> None:
    @p.action(actor=ENVIRONMENT, weight=0.5)
    def disconnect(a: Body) -> None:
        """The connection breaks."""
        a.guard("connected", p.connected, "the slave follows the master")
        a.set(p.connected, False)

    @p.action(actor=ENVIRONMENT, rules="NS-08", weight=0.3)
    def lose_master(a: Body) -> None:
        """The master's machine is lost. The name server removes its topics, unless a slave of its name is left (HAZ-43)."""
        _require_master(p, a)
        a.bound("none waits", p.answer != "waits", "no put waits, because it would never be answered")
        a.update(p, alive=False, connected=False, routed=p.routed & p.listed)

    @p.action(actor=ENVIRONMENT, part="slave", rules="NS-02 NS-08")
    def promote(a: Body) -> None:
        """The slave restarts as the master. Its name had no address left, and it registers the topics that it has."""
        a.guard("no master", ~p.alive & ~p.promoted, "there is no master")
        a.update(p, promoted=True, routed=p.copied_topic)
