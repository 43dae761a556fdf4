"""Registrations of a broker whose topics change, at name servers that restart: of all topics, or of one alone (NS-01 to NS-04, NS-09).

A change and its new version are one action. Its registration is written later, with the version at that time. Registrations can be late,
lost or reordered. A topic exists or not, with or without its unit flag; a route shows nothing more of it.
"""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Enum, Expr, Field, Int, Record, Row, coerce, exists, ite

from .actors import ADMINISTRATOR, CLIENT, ENVIRONMENT, NAME_SERVER, SERVICE
from .part import Part

Content = Enum("none", "plain", "flagged", "wiped")
"""A topic's content: missing, without or with its unit flag; at a name server also without the permission to write (PERM-02)."""

MESSAGE, TIMER = 0, 2  # indices of senders
FAULTS = {"loss": "a registration may be lost", "restart": "a name server may restart", "wipe": "a name server may wipe permissions"}


class Registrations(Part):
    """At most `changes` changes of the table. A sender registers the topic that it has changed; the timer registers all topics."""

    switches = ("registers_updated_alone", "registers_created_alone", "refuses_single_topic", "takes_unknown_topics", "skips_equal_topic")

    def __init__(self, name: str, *, changes: int = 2) -> None:
        super().__init__(name)
        self.changes = changes
        m, version = self.model, Int(0, changes)
        self.Server = server = m.index("Server", ["first", "second"])
        self.Topic = topic = m.index("Topic", ["A", "B"])
        self.Sender = sender = m.index("Sender", ["message", "administrator", "timer"])
        m.acting("client", "administrator", "broker", server, "network", service="broker", environment="network")
        self.registers_updated_alone = m.constant(
            "registers_updated_alone", Bool, False, "a topic that an administrator has changed is registered without the others"
        )
        self.registers_created_alone = m.constant(
            "registers_created_alone",
            Bool,
            False,
            "a topic that a message creates, or whose unit flag is set, is registered without the others",
        )
        self.refuses_single_topic = m.constant(
            "refuses_single_topic", Bool, False, "a name server refuses a first registration of one topic alone"
        )
        self.takes_unknown_topics = m.constant(
            "takes_unknown_topics", Bool, False, "a registration of the stored version adds topics that the name server does not have"
        )
        self.skips_equal_topic = m.constant("skips_equal_topic", Bool, False, "an update without a change is skipped")
        self.asks = m.constant("asks", Bool, False, "the timer asks for the stored versions first: forceRegister is off")
        self.two = m.constant("two", Bool, False, "there are two name servers")
        self.bare = m.constant(
            "bare", Bool, False, "a registration of one topic alone has no version: enableSingleTopicRegister of 5.x is on"
        )
        self.may = {fault: m.constant(fault, Bool, False, sentence) for fault, sentence in FAULTS.items()}
        pending = Record(
            due=Field(Bool, False, "whether it must be registered"),
            topic=Field(topic, 0, "the changed topic"),
            content=Field(Content, "none", "the topic's new content"),
        )
        registration = Record(
            sent=Field(Bool, False, "whether it is in flight"),
            alone=Field(Bool, False, "whether it has only one topic"),
            version=Field(version, 0, "its version, 0 for none"),
        )
        self.nothing, self.no_letter = pending.start, registration.start
        self.config = m.var("config", Content, over=topic, init="none", sentence="the topic in the broker's table", part="broker")
        self.version = m.var("version", version, init=0, sentence="the version of the broker's table", part="broker")
        self.wanted = m.var("wanted", pending, over=sender, sentence="a change that must be registered", part="broker")
        self.letter = m.var("letter", registration, over=(server, sender), sentence="a registration in flight")
        self.carried = m.var("carried", Content, over=(server, sender, topic), init="none", sentence="the topic in the registration")
        self.live = m.var("live", Bool, over=server, init=True, sentence="whether the name server knows the broker")
        self.stored = m.var("stored", version, over=server, init=0, sentence="the version that the name server has stored")
        self.route = m.var("route", Content, over=(server, topic), init="none", sentence="the topic in the name server's route")
        self.spent = m.var("spent", Bool, over=m.index("Fault", list(FAULTS)), init=False, sentence="whether the run has had this fault")
        _changes(self)
        _registers(self)
        _serves(self)
        _faults(self)


def _changes(r: Registrations) -> None:
    def changes(a: Body, t: Expr | None, content: Expr | str = "none", by: str = "") -> None:
        a.sends_to("broker")
        a.bound("versions left", r.version < r.changes, "the scope counts that far")
        a.set(r.version, r.version + 1)
        if t is not None:
            a.set(r.config[t], content)
        if by and t is not None:
            restrict = a.guard if by == "administrator" else a.bound
            restrict("none due", ~r.wanted[by].due, "the previous change is registered")
            a.update(r.wanted[by], due=True, topic=t, content=content)

    @r.action(actor=CLIENT, rules="TCM-16", t=r.Topic)
    def create(a: Body, t: Expr) -> None:
        """A message creates a topic."""
        a.guard("missing", r.config[t] == "none", "the broker does not have the topic")
        changes(a, t, "plain", "message")

    @r.action(actor=CLIENT, rules="TCM-32", t=r.Topic)
    def set_flag(a: Body, t: Expr) -> None:
        """A client of a unit connects or leaves: the topic's flag is set or cleared. A pending registration of an administrator has it
        too."""
        a.guard("known", r.config[t] != "none", "the broker has the topic")
        content, row = ite(r.config[t] == "plain", coerce("flagged", Content), "plain"), r.wanted["administrator"]
        changes(a, t, content, "message")
        a.set(row.content, content, when=row.due & (row.topic == t))

    @r.action(actor=ADMINISTRATOR, rules="TCM-30", t=r.Topic, unit=Bool)
    def update(a: Body, t: Expr, unit: Expr) -> None:
        """An administrator creates or changes a topic, flag included."""
        content = ite(unit, coerce("flagged", Content), "plain")
        equal = r.skips_equal_topic & (r.config[t] == content)
        a.guard("another topic", ~equal, "the table has another configuration, or the release does not compare them")
        changes(a, t, content, "administrator")

    @r.action(actor=ADMINISTRATOR, rules="TCM-31", t=r.Topic)
    def delete(a: Body, t: Expr) -> None:
        """An administrator deletes a topic. The version changes, but name servers are not informed."""
        a.guard("known", r.config[t] != "none", "the broker has the topic")
        a.guard("one at a time", ~r.wanted["administrator"].due, "the administrator's previous change is registered")
        changes(a, t)

    @r.action(actor=SERVICE, rules="NS-12")
    def apply_order(a: Body) -> None:
        """The answer to a registration lists other order topics: flags of the table change. Routes do not show these flags."""
        a.guard("a topic", exists(r.Topic, lambda t: r.config[t] != "none"), "the broker has a topic")
        changes(a, None)


def _registers(r: Registrations) -> None:
    def send(a: Body, s: Expr | int, alone: Expr | bool, only: Row) -> None:
        """Send a registration with the table's current version to each name server."""
        for n in r.Server:
            in_use: Expr | bool = True if n.args[0] == 0 else r.two
            a.bound(f"none in flight to {n.args[0]}", ~r.letter[n, s].sent, "no earlier registration of this sender is in flight")
            a.update(r.letter[n, s], sent=in_use, alone=in_use & alone, version=ite(in_use & ~(alone & r.bare), r.version, 0))
            for t in r.Topic:
                content = ite(alone, ite(only.topic == t, only.content, coerce("none", Content)), r.config[t])
                a.set(r.carried[n, s, t], ite(in_use, content, "none"))

    @r.action(actor=SERVICE, rules="TCM-17 TCM-30 TCM-34 NS-10", fair="weak", s=r.Sender)
    def register(a: Body, s: Expr) -> None:
        """The change is registered with the current version: the whole table, or in later releases the topic alone."""
        row = r.wanted[s]
        a.guard("due", row.due, "a change must be registered")
        send(a, s, ite(s == MESSAGE, r.registers_created_alone, r.registers_updated_alone), row)
        a.set(row, r.nothing)

    @r.action(actor=SERVICE, rules="NS-09 NS-10", fair="weak")
    def register_timer(a: Body) -> None:
        """The 30 s timer registers the whole table. If it asks first, it does so only if a name server has another version."""
        first, second = (r.live[n] & (r.stored[n] == r.version) for n in r.Server)
        all_known = first & (second | ~r.two)
        a.guard("needed", ~(r.asks & all_known), "the timer does not ask, or a name server has another version")
        send(a, TIMER, False, r.wanted[TIMER])


def _arrives(r: Registrations, a: Body, n: Expr, s: Expr, by: Expr | str) -> Row:
    a.by(by)
    row = r.letter[n, s]
    a.guard("on its way", row.sent, "the sender's registration to this name server is in flight")
    a.set(row, r.no_letter)
    for t in r.Topic:
        a.set(r.carried[n, s, t], "none")
    return row


def _serves(r: Registrations) -> None:
    def is_bare(row: Row) -> Expr:
        return row.alone & r.bare

    def takes(a: Body, n: Expr, s: Expr, known: Expr | bool, unknown: Expr | bool) -> None:
        for t in r.Topic:
            replaced = ite(r.route[n, t] == "none", unknown, known)
            a.set(r.route[n, t], r.carried[n, s, t], when=(r.carried[n, s, t] != "none") & replaced)

    @r.action(actor=NAME_SERVER, rules="NS-01 NS-02 NS-03 NS-04", fair="weak", n=r.Server, s=r.Sender)
    def take(a: Body, n: Expr, s: Expr) -> None:
        """A registration of another version arrives, older or newer. Its topics replace the topics of the route."""
        row = _arrives(r, a, n, s, n)
        a.guard("with a version", ~is_bare(row), "the registration has a version")
        refused = ~r.live[n] & r.refuses_single_topic & row.alone
        a.guard("not refused", ~refused, "the broker is known, all topics are registered, or the release refuses no registration")
        a.guard(
            "version differs",
            ~r.live[n] | (r.stored[n] != row.version),
            "it is the first registration, or its version is not the stored version",
        )
        a.set(r.live[n], True)
        a.set(r.stored[n], row.version)
        takes(a, n, s, True, True)

    @r.action(actor=NAME_SERVER, rules="NS-03", fair="weak", n=r.Server, s=r.Sender)
    def ignore(a: Body, n: Expr, s: Expr) -> None:
        """A registration of the stored version arrives and changes nothing. In later releases it adds missing topics."""
        row = _arrives(r, a, n, s, n)
        a.guard("with a version", ~is_bare(row), "the registration has a version")
        a.guard("same version", r.live[n] & (r.stored[n] == row.version), "its version is the stored version")
        takes(a, n, s, False, r.takes_unknown_topics)

    @r.action(actor=NAME_SERVER, rules="NS-04 TCM-34", fair="weak", n=r.Server, s=r.Sender)
    def put(a: Body, n: Expr, s: Expr) -> None:
        """A topic without a version arrives. It replaces the topic in the route, and the stored version stays."""
        row = _arrives(r, a, n, s, n)
        a.guard("without a version", is_bare(row), "the registration has no version")
        a.guard("known broker", r.live[n], "the name server knows the broker")
        takes(a, n, s, True, True)

    @r.action(actor=NAME_SERVER, rules="NS-02", fair="weak", n=r.Server, s=r.Sender)
    def refuse(a: Body, n: Expr, s: Expr) -> None:
        """A name server that does not know the broker refuses a registration of one topic alone, with or without a version."""
        row = _arrives(r, a, n, s, n)
        a.guard("unknown broker", ~r.live[n], "the name server does not know the broker")
        a.guard("refuses", r.refuses_single_topic & row.alone, "the registration has one topic alone, which the release refuses")


def _faults(r: Registrations) -> None:
    def spends(a: Body, fault: str) -> None:
        a.bound("may happen", r.may[fault] & ~r.spent[fault], "the condition allows this fault, once")
        a.set(r.spent[fault], True)

    @r.action(actor=ENVIRONMENT, rules="NS-10", weight=0.3, n=r.Server, s=r.Sender)
    def lose(a: Body, n: Expr, s: Expr) -> None:
        """A registration is lost."""
        spends(a, "loss")
        _arrives(r, a, n, s, "network")

    @r.action(actor=ENVIRONMENT, rules="NS-01", weight=0.3, n=r.Server)
    def restart(a: Body, n: Expr) -> None:
        """A name server restarts: its tables were only in memory."""
        a.by(n)
        spends(a, "restart")
        a.guard("live", r.live[n], "the name server knows the broker")
        a.set(r.live[n], False)
        a.set(r.stored[n], 0)
        for t in r.Topic:
            a.set(r.route[n, t], "none")

    @r.action(actor=ADMINISTRATOR, rules="PERM-02", weight=0.3, n=r.Server)
    def wipe(a: Body, n: Expr) -> None:
        """A name server removes the broker's permission to write from its routes (205). The broker is not informed."""
        a.sends_to(n)
        spends(a, "wipe")
        a.guard("live", r.live[n], "the name server knows the broker")
        for t in r.Topic:
            a.set(r.route[n, t], "wiped", when=r.route[n, t] != "none")
