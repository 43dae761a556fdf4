"""A simulated broker and the name server as a target of the specification of expiry, second by second on the simulated clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocketproof_impl.broker.registration import Registration
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_model import Action, Instance
from rocketproof_model.interpreter import State
from rocketproof_model.specification.deadlines import Expiry
from rocketproof_profiles import Profile

from .abstraction import Deviation, encoded

SECOND = 1000


class ExpiryTarget:
    """One broker that is registered. Scans and registrations come at the periods that the implementation names."""

    def __init__(self, specification: Expiry, instance: Instance, profile: Profile) -> None:
        self.instance = instance
        self.cluster = Cluster(1, profile=profile)
        self.scan = self._now() + self.cluster.name_server.PERIODIC[0].first
        self.begun = False
        self.heard = self._now()
        self.died: int | None = None

    def can(self, action: Action, args: Sequence[int]) -> bool:
        return True

    def perform(self, action: Action, args: Sequence[int]) -> None:
        """Do the action. Raises Deviation where broker or name server cannot."""
        values = {name: type_.decode(code) for (name, type_), code in zip(action.parameters.items(), args, strict=True)}
        getattr(self, f"_do_{action.name}")(**values)

    def _do_begin(self, offset: int) -> None:
        self.scan = self._now() + offset * SECOND
        self.begun = True

    def _do_register(self) -> None:
        (periodic,) = Registration.PERIODIC
        if self._now() - self.heard != periodic.period:
            raise Deviation(f"the broker registers every {periodic.period} ms: the specification says that it is time now")
        self.cluster.scheduler.complete(self.cluster.broker().registration.register_periodically(), "registration")

    def _do_die(self) -> None:
        self._end(silent=True)

    def _do_close(self) -> None:
        self._end(silent=False)

    def _end(self, *, silent: bool) -> None:
        self.cluster.crash(silent=silent)
        self.died = self._now()

    def _do_look(self) -> None:
        self.cluster.name_server.scan()
        self.scan = self._now() + self.cluster.name_server.PERIODIC[0].period

    def _do_second(self) -> None:
        self.cluster.scheduler.advance(SECOND)

    def _now(self) -> int:
        return self.cluster.clock.now()

    def observe(self) -> State:
        """The state of the specification that broker and name server are in."""
        node, server = self.cluster.node(), self.cluster.name_server
        live = server.broker_live_table.get(node.settings.address)
        if live is not None:
            self.heard = live.last_update_timestamp
        found: dict[str, Any] = {
            "alive": node.broker is not None,
            "age": (self._now() - self.heard) // SECOND,
            "dead": 0 if self.died is None else (self._now() - self.died) // SECOND,
            "scan": (self.scan - self._now()) // SECOND,
            "begun": self.begun,
            "listed": node.name in server.broker_addr_table,
        }
        return tuple(encoded(variable, (), found[variable.name]) for variable in self.instance.model.variables)
