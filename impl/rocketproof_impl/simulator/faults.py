"""Faults as data, by name and with a seed: what network, disk and clock do to a cluster.

The same faults with the same calls on the same cluster give the same run. `inject` activates them; `heal` ends those that can end. Their
effects remain.
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
    """Drop packets from one address to another, and in the other direction if `both`.

    An address is a prefix: "127.0.0.1:109" matches all addresses that begin with it.
    """

    source: str = ""
    target: str = ""
    both: bool = True

    def stops(self, packet: Packet) -> bool:
        return self._matches(packet.source, packet.target) or (self.both and self._matches(packet.target, packet.source))

    def _matches(self, source: str, target: str) -> bool:
        return source.startswith(self.source) and target.startswith(self.target)


@dataclass(frozen=True)
class NetworkFaults:
    """Probabilities that a packet, request or response, is lost, duplicated or delayed; `latest` is the maximum delay in milliseconds.

    Delays reorder packets.
    """

    lose: float = 0.0
    double: float = 0.0
    late: float = 0.0
    latest: int = 1000
    cuts: tuple[Cut, ...] = ()

    def plan(self, seed: int) -> Callable[[Packet], Sequence[int]]:
        """Return a function for `SimulatedNetwork.plan` that decides the fate of each packet."""
        random = Random(seed)

        def plan(packet: Packet) -> Sequence[int]:
            lost, duplicated = random.random() < self.lose, random.random() < self.double
            delays = [random.randint(1, self.latest) if random.random() < self.late else 0 for _ in range(1 + duplicated)]
            return () if lost or any(cut.stops(packet) for cut in self.cuts) else delays

        return plan


@dataclass(frozen=True)
class DiskFaults:
    """The probability that an operation fails, the milliseconds that it takes, and the free bytes (None: unlimited).

    `operations` are the affected operations of SimulatedDisk; all if it is empty. `where` limits the faults to paths that contain it.
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
    """Simultaneous faults of the packets, of each broker's disk, and of the clock, which jumps by `jump` milliseconds."""

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
    """Activate faults, replacing those injected before. Raises KeyError for an unknown name."""
    active = FAULTS[faults] if isinstance(faults, str) else faults
    cluster.network.plan = None if active.network == NetworkFaults() else active.network.plan(seed)
    for node_seed, node in enumerate(cluster.nodes.values(), seed):
        active.disk.inject(node, node_seed)
    cluster.clock.jump(active.jump)


def heal(cluster: Cluster) -> None:
    """End all faults of network and disks. A clock that jumped is not reset."""
    inject(cluster, Faults("none"))
