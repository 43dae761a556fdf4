"""Drives a simulated broker and the name server by the model of expiry, second by second on the simulated clock."""

from __future__ import annotations

from rocketproof_impl.broker.registration import Registration
from rocketproof_impl.simulator.cluster import Cluster
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_spec.deadlines import Expiry

from .base import Deviation, ModelDriver, Seen, require

SECOND = 1000


class ExpiryDriver(ModelDriver):
    """One registered broker. Scans and registrations occur at the implementation's periods."""

    def __init__(self, specification: Expiry, instance: Instance, profile: Profile) -> None:
        super().__init__(instance)
        self.cluster = Cluster(1, profile=profile)
        self.scan = self._now() + self.cluster.name_server.PERIODIC[0].first
        self.begun = False
        self.last_registration = self._now()
        self.died: int | None = None

    def _do_begin(self, offset: int) -> None:
        require(not self.begun, "the clocks run already: the specification starts them once")
        self.scan = self._now() + offset * SECOND
        self.begun = True

    def _do_register(self) -> None:
        (periodic,) = Registration.PERIODIC
        if self._now() - self.last_registration != periodic.period:
            raise Deviation(f"the broker registers every {periodic.period} ms: the specification says that it is time now")
        self.cluster.scheduler.complete(self.cluster.broker().registration.register_periodically(), "registration")

    def _do_die(self) -> None:
        self._end(silent=True)

    def _do_close(self) -> None:
        self._end(silent=False)

    def _end(self, *, silent: bool) -> None:
        require(self.died is None, "the broker's machine is dead: the specification says that it lives")
        self.cluster.crash(silent=silent)
        self.died = self._now()

    def _do_look(self) -> None:
        require(self.scan == self._now(), f"the next scan is in {self.scan - self._now()} ms: the specification says that it is time now")
        self.cluster.name_server.scan()
        self.scan = self._now() + self.cluster.name_server.PERIODIC[0].period

    def _do_second(self) -> None:
        (periodic,) = Registration.PERIODIC
        if self.died is None and self._now() - self.last_registration >= periodic.period:
            raise Deviation("the broker registers now: the specification lets a second pass first")
        self.cluster.scheduler.advance(SECOND)

    def _now(self) -> int:
        return self.cluster.clock.now()

    def seen(self) -> Seen:
        node, server = self.cluster.node(), self.cluster.name_server
        live = server.live_info(node.settings.broker_cluster_name, node.settings.address)
        if live is not None:
            self.last_registration = live.last_update_timestamp
        return {
            "alive": node.broker is not None,
            "age": (self._now() - self.last_registration) // SECOND,
            "dead": 0 if self.died is None else (self._now() - self.died) // SECOND,
            "scan": (self.scan - self._now()) // SECOND,
            "begun": self.begun,
            "listed": node.name in server.broker_addr_table,
        }
