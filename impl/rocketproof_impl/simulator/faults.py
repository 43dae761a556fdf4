"""Faults as data: what a network, a disk and a clock do to a cluster, by name and with a seed.

The same faults on the same cluster with the same calls give the same run. `inject` makes them happen from now on, and `heal`
ends those that can end; what they did stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from .cluster import Cluster, Node
from .disk import no_room
from .network import Packet


@dataclass(frozen=True)
class Cut:
    """No packet goes from one address to another, nor back if `both`. An address may lack its end: "127.0.0.1:109" is any that
    begins so."""

    source: str = ""
    target: str = ""
    both: bool = True

    def stops(self, packet: Packet) -> bool:
        return self._lies(packet.source, packet.target) or (self.both and self._lies(packet.target, packet.source))

    def _lies(self, source: str, target: str) -> bool:
        return source.startswith(self.source) and target.startswith(self.target)


@dataclass(frozen=True)
class NetworkFaults:
    """Of each packet, requests and answers alike: how probable it is that it is lost, comes twice, or comes late, and how late
    at most, in milliseconds. Packets that are late come in another order than they were sent."""

    lose: float = 0.0
    double: float = 0.0
    late: float = 0.0
    latest: int = 1000
    cuts: tuple[Cut, ...] = ()

    def plan(self, seed: int) -> Callable[[Packet], Sequence[int]]:
        """What becomes of each packet, for `SimulatedNetwork.plan`."""
        random = Random(seed)

        def plan(packet: Packet) -> Sequence[int]:
            lost, twice = random.random() < self.lose, random.random() < self.double
            delays = [random.randint(1, self.latest) if random.random() < self.late else 0 for _ in range(1 + twice)]
            return () if lost or any(cut.stops(packet) for cut in self.cuts) else delays

        return plan


@dataclass(frozen=True)
class DiskFaults:
    """How probable it is that an operation fails; how many milliseconds one takes; how many bytes are free, None for enough.

    `operations`: which ones fail or take time, by the names that a SimulatedDisk gives them; all if none is named. `where`: only
    those on a path with this in it.
    """

    fail: float = 0.0
    slow: int = 0
    room: int | None = None
    operations: frozenset[str] = frozenset()
    where: str = ""

    def concerns(self, operation: str, path: str) -> bool:
        return self.where in path and (not self.operations or operation in self.operations)

    def inject(self, node: Node, seed: int) -> None:
        random, disk = Random(seed), node.disk

        def failing(operation: str, path: str) -> None:
            if self.concerns(operation, path) and random.random() < self.fail:
                raise no_room() if operation == "extend" else OSError(5, "Input/output error", path)

        disk.failing = failing if self.fail else None
        disk.slow = (lambda operation, path: self.slow if self.concerns(operation, path) else 0) if self.slow else None
        disk.room = self.room


@dataclass(frozen=True)
class Faults:
    """What happens at once: to packets, to the disk of each broker, and to the clock, which jumps so many milliseconds."""

    about: str
    network: NetworkFaults = NetworkFaults()
    disk: DiskFaults = DiskFaults()
    jump: int = 0


HOUR = 3_600_000
FORCE = frozenset({"force"})

FAULTS: dict[str, Faults] = {
    "lossy network": Faults("one packet in five is lost", NetworkFaults(lose=0.2)),
    "echoing network": Faults("one packet in five comes twice, the second one late", NetworkFaults(double=0.2, late=0.5)),
    "slow network": Faults("half of the packets come up to a second late, and in another order", NetworkFaults(late=0.5)),
    "bad network": Faults("packets are lost, come twice and come late", NetworkFaults(lose=0.1, double=0.1, late=0.3, latest=4000)),
    "cut from the name server": Faults("nobody reaches the name server", NetworkFaults(cuts=(Cut(target="127.0.0.1:9876"),))),
    "no answers": Faults("brokers get requests and their answers are lost", NetworkFaults(cuts=(Cut(source="127.0.0.1:109", both=False),))),
    "full disk": Faults("what is not on the disk yet finds no room", disk=DiskFaults(room=0)),
    "failing disk": Faults("one operation on the disk in five fails", disk=DiskFaults(fail=0.2)),
    "deaf device": Faults("nothing can be forced to the device", disk=DiskFaults(fail=1.0, operations=FORCE)),
    "slow disk": Faults("each operation on the disk takes 20 ms", disk=DiskFaults(slow=20)),
    "slow device": Faults("each force takes 6 s, longer than a put waits", disk=DiskFaults(slow=6000, operations=FORCE)),
    "clock forward": Faults("the clock is set an hour forward", jump=HOUR),
    "clock back": Faults("the clock is set an hour back", jump=-HOUR),
}


def inject(cluster: Cluster, faults: Faults | str, seed: int = 0) -> None:
    """Let faults happen from now on, in the place of those that were injected before. Raises KeyError for a name that is none."""
    chosen = FAULTS[faults] if isinstance(faults, str) else faults
    cluster.network.plan = None if chosen.network == NetworkFaults() else chosen.network.plan(seed)
    for number, node in enumerate(cluster.nodes.values(), seed):
        chosen.disk.inject(node, number)
    cluster.clock.jump(chosen.jump)


def heal(cluster: Cluster) -> None:
    """Network and disks are as good as new; a clock that jumped stays where it is."""
    inject(cluster, Faults("none"))
