"""The durability of the reference implementation: a simulated machine meets each fault at every point of the load.

The clock, the disk and the replication are simulated, so that the same profile gives the same numbers. The store's threads run, so that
flushes, dispatches and deliveries happen at the times of the release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.periodic import drive
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster, Node
from rocketproof_impl.simulator.content import PAGE
from rocketproof_impl.simulator.crashes import count_steps, every_crash_point, sample
from rocketproof_impl.simulator.disk import ProcessEnded, SimulatedDisk
from rocketproof_impl.simulator.journal import PowerLoss
from rocketproof_impl.simulator.scheduler import SimulatedThread

from ...brokers.settings import change
from ...brokers.simulated import DiskFolder, SimulatedDeployment
from ...programs.corruption import HOWS
from .outcome import SETTINGS, Copy, DurabilityLoad, FaultOutcome
from .usedbytes import PARTS, used_bytes

MASTER: Final = "broker-a"
SLAVE: Final = "broker-a:1"
POWER_SEEDS: Final = 1
"""Random power losses at each point, besides the one that leaves only forced data."""
_TASKS: Final = ("deliver_delayed", "persist_delay_offsets", "persist_offsets", "register_periodically", "sync_all")
_FOLLOWING: Final = 15_000
"""Milliseconds until a slave has its master's address, connection and tables."""
_POWER_POINTS: Final = 40
"""The number of points at which the power fails."""
_PROMOTIONS: Final = 12
"""The number of points at which a master is killed. A pair takes ten times as long as a single broker."""
_MOST_PAGES: Final = 64


class LoadedMachine:
    """A broker on a simulated machine with the load's topic, and a slave if its `role` is given. Its files are on the device.

    `copies`: the setting inSyncReplicas, which releases before 5.0 do not have.
    """

    def __init__(self, profile: str, flush: str, role: str = "", copies: int = 1) -> None:
        self.cluster = Cluster(0, profile=profile, services=True)
        self.load = DurabilityLoad()
        master: dict[str, Any] = {"flush_disk_type": flush, "in_sync_replicas": copies, **({"broker_role": role} if role else {})}
        slave: dict[str, Any] = {"flush_disk_type": flush, "broker_role": "SLAVE", "broker_id": 1}
        self._start(self.cluster.add(replace(_settings(), listen_port=10911, **master), start=False))
        follower = self.cluster.add(replace(_settings(), listen_port=10921, **slave), start=False) if role else None
        self.running = SimulatedDeployment(self.cluster)
        self.load.create_topic(self.running, MASTER)
        if follower is not None:
            self._start(follower)
            self.cluster.scheduler.advance(_FOLLOWING)
        self.disk.sync()

    @property
    def disk(self) -> SimulatedDisk:
        return self.cluster.node(MASTER).disk

    def _start(self, node: Node) -> bool:
        if not self.cluster.start(node):
            return False
        broker, tasks = node.running, _Tasks(self.cluster, node)
        for target in (broker, broker.registration, broker.slave):
            drive(tasks, target, [task for task in target.PERIODIC if task.name in _TASKS])
        return True

    def run(self) -> None:
        """Perform the load. Raises ProcessEnded if the master's process ends meanwhile; its threads and connections have then ended."""
        try:
            self.load.run(self.running, MASTER)
        except ProcessEnded:
            self.cluster.crash(MASTER, silent=True)
            raise

    def end(self, *, stopped: bool = False) -> None:
        """End the master: `stopped` gracefully, otherwise by a kill."""
        node = self.cluster.node(MASTER)
        if node.broker is None:
            return
        if stopped:
            self.running.end(node)
        self.cluster.crash(MASTER, silent=True)

    def promote(self) -> None:
        """Kill the slave. Its next start is as the master."""
        self.cluster.crash(SLAVE, silent=True)
        settings = self.cluster.node(SLAVE).settings
        settings.broker_role, settings.broker_id = "ASYNC_MASTER", 0

    def read(self, broker: str = MASTER) -> list[Copy] | None:
        """Start the broker and return what a consumer gets; None if it does not start."""
        return self.load.read(self.running, broker) if self._start(self.cluster.node(broker)) else None


class _Tasks:
    """The driver of a broker's periodic tasks. They end with its process."""

    def __init__(self, cluster: Cluster, node: Node) -> None:
        self._scheduler, self._node, self._broker = cluster.scheduler, node, node.broker

    def spawn(self, work: Any, name: str = "task") -> SimulatedThread[Any]:
        thread = self._scheduler.spawn(work, name)
        self._node.threads.append(thread)
        return thread

    def every(self, first: int, period: int, action: Callable[[], None]) -> None:
        def again() -> None:
            if self._node.broker is self._broker:
                self._scheduler.after(period, again)
                action()

        self._scheduler.after(first, again)


@cache
def _settings() -> BrokerSettings:
    """Return the settings that all brokers share."""
    settings = BrokerSettings(broker_name=MASTER, name_servers=(NAME_SERVER,))
    for name, value in SETTINGS.items():
        change(settings, name, value)
    return settings


def kill(profile: str, flush: str) -> FaultOutcome:
    """Kill the process before every operation on the disk, and inside of each write."""
    return _crashes(profile, flush, [None])


def power(profile: str, flush: str) -> FaultOutcome:
    """Let the power fail at random points of the operations on the disk, with several disk states for each."""
    losses = [PowerLoss(only_forced=True), *(PowerLoss(seed, in_place=PAGE) for seed in range(POWER_SEEDS))]
    return _crashes(profile, flush, losses, _POWER_POINTS)


def _disk_of(machine: LoadedMachine) -> SimulatedDisk:
    return machine.disk


def _crashes(profile: str, flush: str, losses: Sequence[PowerLoss | None], most: int | None = None) -> FaultOutcome:
    outcome = FaultOutcome()

    def make() -> LoadedMachine:
        return LoadedMachine(profile, flush)

    points = None if most is None else sample(count_steps(make, LoadedMachine.run, _disk_of), most, 0)
    for _, machine in every_crash_point(make, LoadedMachine.run, _disk_of, losses, points):
        machine.end()
        outcome.add(machine.load.acknowledged, machine.read())
    return outcome


def one_byte(part: str, profile: str, flush: str) -> FaultOutcome:
    """Flip or zero each byte of a part of the store after a graceful stop. One byte differs in each state."""
    outcome, machine = FaultOutcome(), LoadedMachine(profile, flush)
    machine.run()
    machine.end(stopped=True)
    node = machine.cluster.node(MASTER)
    stopped = {path: bytes(content) for path, content in node.disk.files.items()}, dict(node.disk.sizes)
    for byte in used_bytes(DiskFolder(node), part, machine.load.topic):
        for how in HOWS:
            node.disk = _disk(*stopped)
            if byte.change(DiskFolder(node), how):
                outcome.add(machine.load.acknowledged, machine.read())
                machine.end()
    return outcome


def _disk(files: Mapping[str, bytes], sizes: Mapping[str, int]) -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.files.update({path: bytearray(data) for path, data in files.items()})
    disk.sizes.update(sizes)
    disk.sync()
    return disk


def full_disk(profile: str, flush: str) -> FaultOutcome:
    """Let the disk become full after each number of pages of 4 KiB, kill the process, and start it with free space again."""
    outcome = FaultOutcome()
    for pages in range(_MOST_PAGES):
        machine = LoadedMachine(profile, flush)
        machine.disk.room = pages * PAGE
        machine.run()
        if machine.disk.room:
            break
        machine.disk.room = None
        machine.end()
        outcome.add(machine.load.acknowledged, machine.read())
    return outcome


def promotion(role: str, copies: int, profile: str, flush: str) -> FaultOutcome:
    """Kill the master at random points of its operations on the disk; the slave then starts as the master."""
    outcome = FaultOutcome()

    def make() -> LoadedMachine:
        return LoadedMachine(profile, flush, role, copies)

    points = sample(count_steps(make, LoadedMachine.run, _disk_of), _PROMOTIONS, 0)
    for _, machine in every_crash_point(make, LoadedMachine.run, _disk_of, points=points):
        machine.end()
        machine.promote()
        outcome.add(machine.load.acknowledged, machine.read(SLAVE))
    return outcome


MEASURES: Final[Mapping[str, Callable[[str, str], FaultOutcome]]] = {
    "kill": kill,
    "power": power,
    **{f"byte of {part}": partial(one_byte, part) for part in PARTS},
    "full disk": full_disk,
    "promotion, ASYNC_MASTER": partial(promotion, "ASYNC_MASTER", 1),
    "promotion, SYNC_MASTER": partial(promotion, "SYNC_MASTER", 1),
    "promotion, SYNC_MASTER with inSyncReplicas=2": partial(promotion, "SYNC_MASTER", 2),
}
"""What measures each fault, given a profile and a flush mode."""
