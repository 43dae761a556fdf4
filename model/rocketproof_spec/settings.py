"""Changes of settings while a broker runs (request 25). The switches of these settings become variables."""

from __future__ import annotations

from rocketproof_model.language import Body, Bool, Expr, Row, ite

from .actors import ADMINISTRATOR
from .handling import require_running
from .switches import published_perm
from .vocabulary import Specification


def changes_of_settings(s: Specification) -> None:
    """Changes of settings. Existing topics, and the template that the constructor has created, stay as they are."""
    now = s.constant

    @s.action(actor=ADMINISTRATOR, part="administrator", b=s.Broker, on=Bool, weight=0.1)
    def switch_creation(a: Body, b: Expr, on: Expr) -> None:
        """An administrator switches autoCreateTopicEnable."""
        require_running(s, a, b)
        a.set(now["auto_create"], on)
        a.says("an administrator switches auto-creation on {b} {on:on|off}")

    @s.action(actor=ADMINISTRATOR, part="administrator", rules="NS-11", b=s.Broker, readable=Bool, writable=Bool, weight=0.1)
    def permit(a: Body, b: Expr, readable: Expr, writable: Expr) -> None:
        """An administrator changes brokerPermission. The topic table gets a new version, and is registered with the new permission."""
        a.sends_to("name server")
        require_running(s, a, b)
        a.bound("none in flight", ~s.registration_in_flight[b], "no registration of this broker is in flight")
        a.bound("versions left", s.version[b] < s.scope.versions, "the scope counts that far")
        then = {**now, "broker_readable": readable, "broker_writable": writable}
        a.set(now["broker_readable"], readable)
        a.set(now["broker_writable"], writable)
        a.set(s.version[b], s.version[b] + 1)
        for t in s.Topic:
            row = s.config[b, t]
            order = ite(readable & writable, row.order, False)
            perm = ite(row.known, published_perm(then, row.perm), 0)
            a.set(s.registration[b, t], Row({**row.fields, "perm": perm, "order": order}))
        a.set(s.registration_version[b], s.version[b] + 1)
        a.set(s.registration_in_flight[b], True)
        a.says("an administrator makes {b} {readable:readable|unreadable} and {writable:writable|not writable}")
