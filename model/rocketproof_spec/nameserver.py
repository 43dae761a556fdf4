"""The name server: registrations arrive or are lost, versions are compared, and dead brokers are removed."""

from __future__ import annotations

from functools import partial, update_wrapper

from rocketproof_model.language import Body, Enum, Expr, Row, any_of, ite

from .actors import ADMINISTRATOR, ENVIRONMENT, NAME_SERVER
from .handling import end_registration, require_running, send_registration, write_file
from .vocabulary import Specification


def nameserver(s: Specification) -> None:
    def receive(a: Body, b: Expr, by: str = "name server") -> None:
        a.by(by)
        a.takes_from(b)
        a.guard("registration sent", s.registration_in_flight[b], "a registration of the broker is in flight")
        end_registration(s, a, b)

    def take(a: Body, b: Expr, t: Expr, when: Expr) -> None:
        """Set the broker's queue data of a topic to the registered ones."""
        topic = s.registration[b, t]
        a.set(s.route[b, t], s.listed(entries=1, read=topic.read, write=topic.write, perm=topic.perm), when=when)

    @s.action(actor=NAME_SERVER, rules="NS-02 NS-03 NS-04", fair="weak", b=s.Broker, weight=4)
    def accept_registration(a: Body, b: Expr) -> None:
        """A registration with another version arrives. Its topics are added to the broker's queue data or replace them; none is removed."""
        receive(a, b)
        differs = ~s.live[b] | (s.live_version[b] != s.registration_version[b])
        a.guard("version differs", differs, "it is the first registration, or its version is not the stored version")
        a.set(s.live[b], True)
        a.set(s.live_version[b], s.registration_version[b])
        for t in s.Topic:
            take(a, b, t, when=s.registration[b, t].known)
        a.says("the name server takes the topics of {b} with version {version}", version=s.registration_version[b])

    @s.action(actor=NAME_SERVER, rules="NS-03", fair="weak", b=s.Broker, weight=4)
    def ignore_registration(a: Body, b: Expr) -> None:
        """A registration with the stored version arrives and changes nothing. In later releases it adds topics that the broker lacks
        there."""
        receive(a, b)
        a.guard("same version", s.live[b] & (s.live_version[b] == s.registration_version[b]), "its version is the stored version")
        for t in s.Topic:
            unknown = s.registration[b, t].known & (s.route[b, t].entries == 0)
            take(a, b, t, when=s.given("takes_unknown_topics") & unknown)
        a.says("the name server ignores the registration of {b}: it has version {version}", version=s.registration_version[b])

    @s.action(actor=ENVIRONMENT, rules="NS-10", b=s.Broker, weight=0.05)
    def lose_registration(a: Body, b: Expr) -> None:
        """The one-way registration is lost, and neither side notices."""
        receive(a, b, "network")
        a.bound("losses left", s.losses < s.given("loss_budget"), "the scope allows another loss")
        a.set(s.losses, s.losses + 1)
        a.says("the registration of {b} is lost in the network")

    if s.scope.crashes:

        @s.action(actor=NAME_SERVER, part="name server", rules="NS-07 NS-08", fair="weak", b=s.Broker)
        def expire(a: Body, b: Expr) -> None:
            """The name server detects that a dead broker's channel is closed, and removes its queue data from all routes."""
            a.guard("broker down", ~s.up[b], "the broker does not run")
            a.guard("live", s.live[b], "the name server still has the broker as alive")
            a.set(s.live[b], False)
            a.set(s.live_version[b], 0)
            for t in s.Topic:
                a.set(s.route[b, t], s.listed(entries=0, read=s.scope.counts.lo, write=s.scope.counts.lo, perm=0))
            a.says("the name server removes {b} from its routes")


Strangers = Enum("none", "before", "behind")
"""The position of unknown brokers in a request: before the known broker, or after it ("behind")."""


def manual_routes(s: Specification) -> None:
    """Routes that an administrator sets at the name server, independent of registrations."""

    @s.action(
        actor=ADMINISTRATOR, rules="TCM-34 NS-04", b=s.Broker, t=s.Topic, read=s.scope.counts, write=s.scope.counts,
        perm=s.Config.fields["perm"], strangers=Strangers,
    )  # fmt: skip
    def register_topic(a: Body, b: Expr, t: Expr, read: Expr, write: Expr, perm: Expr, strangers: Expr) -> None:
        """Request 217 sets the queues of one topic on a known broker. An unknown broker ends the request. For a topic without a route, all
        named brokers must be known."""
        a.by("administrator")
        _has_permission(s, a, perm)
        a.guard("served", s.given("takes_topics"), "the name server serves the request")
        a.guard("broker known", s.live[b], "the name server knows the broker")
        a.guard("no stranger before", strangers != "before", "no unknown broker is named before this broker")
        routed = any_of(s.route[c, t].entries > 0 for c in s.Broker)
        a.guard("a route, or no stranger", routed | (strangers == "none"), "the topic has a route, or all named brokers are known")
        a.set(s.route[b, t], s.listed(entries=1, read=read, write=write, perm=perm))
        a.says("an administrator routes {t} to {b} with {read:read queue} and {write:write queue}")

    @s.action(actor=ADMINISTRATOR, part="administrator", rules="NS-04", b=s.Broker, t=s.Topic)
    def forget_topic(a: Body, b: Expr, t: Expr) -> None:
        """Request 216 removes the topic on this broker from the name server."""
        a.set(s.route[b, t], s.listed(entries=0, read=s.scope.counts.lo, write=s.scope.counts.lo, perm=0))
        a.says("an administrator removes {t} on {b} from the name server")


def _has_permission(s: Specification, a: Body, perm: Expr) -> None:
    a.bound("permission in scope", any_of(perm == code for code in s.scope.permissions), "the scope has this permission")


def administrator(s: Specification) -> None:
    """Request 17 (TCM-30): a topic's configuration is put, counted and persisted without the broker lock."""
    counts, perms = s.scope.counts, s.Config.fields["perm"]
    orders = (False, True) if s.scope.placed else (False,)

    def update_topic(a: Body, b: Expr, t: Expr, read: Expr, write: Expr, perm: Expr, order: bool = False) -> None:
        """An administrator creates or changes a topic. The broker persists its table and registers at once."""
        a.by("administrator")
        require_running(s, a, b)
        text = s.of_class(t, "blank", "illegal", "long") | (s.given("reserves_template") & s.of_class(t, "template"))
        free = ~s.of_class(t, "cluster") & ~(s.given("check_names") & text)
        proper = s.of_class(t, "ordinary", "retry") | (~s.given("guards_topics") & free)
        why = "the name is legal and not a system topic's, or the release checks it as in a send and forbids the cluster's name"
        a.guard("proper name", proper, why)
        endless = s.given("update_budget") < 0
        a.bound("updates left", endless | (s.updates < s.given("update_budget")), "the scope allows another update")
        _has_permission(s, a, perm)
        a.bound("none in flight", ~s.registration_in_flight[b], "no registration of this broker is in flight")
        a.bound("versions left", s.version[b] < s.scope.versions, "the scope counts that far")
        new = s.Config(known=True, read=read, write=write, perm=perm, order=s.given("keeps_order") if order else False)
        equal = s.given("skips_equal_topic") & s.config[b, t].same_as(new)
        a.guard("another topic", ~equal, "the table has another configuration, or the release does not compare them")

        def table(x: Expr) -> Row:
            return ite(x == t, new, s.config[b, x])

        a.set(s.updates, ite(endless, s.updates, s.updates + 1))
        a.set(s.config[b, t], new)
        a.set(s.version[b], s.version[b] + 1)
        write_file(s, a, b, table, s.version[b] + 1)
        send_registration(s, a, b, table, s.version[b] + 1, only=(t, s.given("registers_updated_alone")))
        a.sends_to(b)
        a.says("an administrator sets {t} on {b} to {read:read queue}, {write:write queue} and permission {perm}")

    for order in orders:
        name = "update_ordered" if order else "update_topic"
        s.refusals[name] = {"proper name": s.illegal, "another topic": s.response("SUCCESS")}
        declare = s.action(name=name, actor=ADMINISTRATOR, rules="TCM-30", b=s.Broker, t=s.Topic, read=counts, write=counts, perm=perms)
        declare(update_wrapper(partial(update_topic, order=order), update_topic))
