"""The network of the simulator: requests and responses as packets that can be delivered, lost, duplicated, delayed or held.

`plan` decides about each packet. It returns the delays in milliseconds of its copies ([0] is normal, [] loses it, [0, 0] duplicates it), or
HOLD to keep it until `deliver` or `drop`. `watch` is called for each packet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rocketproof_protocol.numbers import whole_number

from ..remoting.command import ONE_WAY, Command, stamped
from ..remoting.errors import ConnectFailed, SendFailed, TimedOut
from ..tasks import Future, Wait
from .scheduler import Scheduler

HOLD = "hold"


class Server(Protocol):
    """A process that listens at an address."""

    def receive(self, channel: SimulatedChannel, command: Command) -> None: ...


@dataclass(slots=True, eq=False)
class Packet:
    """A command in transit. `answer`: whether it is a response on its way to the caller."""

    source: str
    target: str
    command: Command
    channel: SimulatedChannel
    answer: bool


class SimulatedChannel:
    """The connection from one address to another, as the server sees it."""

    __slots__ = ("_network", "caller", "closed", "pending", "remote", "server")

    def __init__(self, network: SimulatedNetwork, caller: str, server: str) -> None:
        self._network = network
        self.caller = caller
        self.server = server
        host, _, port = caller.rpartition(":")
        self.remote = (host, whole_number(port))
        self.pending: dict[int, Future[Command]] = {}
        self.closed = False

    @property
    def closing(self) -> bool:
        return self.closed

    def write(self, command: Command) -> None:
        if self.closed:
            raise OSError(f"the connection from {self.caller} is closed")
        self._network.carry(Packet(self.server, self.caller, command, self, True))


class Endpoint:
    """The network as a caller sees it."""

    __slots__ = ("_network", "_opaque", "address")

    def __init__(self, network: SimulatedNetwork, address: str) -> None:
        self._network = network
        self._opaque = 0
        self.address = address

    async def call(self, address: str, request: Command, millis: int) -> Command:
        channel = self._network.channel(self.address, address)
        sent = self._stamped(request)
        answer: Future[Command] = Future()
        channel.pending[sent.opaque] = answer
        self._network.carry(Packet(self.address, address, sent, channel, False))
        if not answer.done and not await Wait(answer, millis):
            channel.pending.pop(sent.opaque, None)
            raise TimedOut(f"wait response on the channel <{address}> timeout, {millis}(ms)")
        return answer.result()

    async def post(self, address: str, request: Command) -> None:
        channel = self._network.channel(self.address, address)
        sent = self._stamped(request)
        sent.flag |= ONE_WAY
        self._network.carry(Packet(self.address, address, sent, channel, False))

    def _stamped(self, request: Command) -> Command:
        """Return a copy with an opaque of its own: each attempt sends a new one."""
        self._opaque += 1
        return stamped(request, self._opaque)


class SimulatedNetwork:
    """All connections. Packets arrive immediately unless `plan` decides otherwise."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._servers: dict[str, Server] = {}
        self._channels: dict[tuple[str, str], SimulatedChannel] = {}
        self.plan: Callable[[Packet], Sequence[int] | str] | None = None
        self.watch: Callable[[Packet], None] | None = None
        self.held: list[Packet] = []
        self.unmatched: list[Packet] = []

    def listen(self, address: str, server: Server) -> None:
        self._servers[address] = server

    def endpoint(self, address: str) -> Endpoint:
        """Return the network for a caller at this address."""
        return Endpoint(self, address)

    def close(self, address: str, *, silent: bool = False) -> list[SimulatedChannel]:
        """Stop listening at an address and close all its connections. Return the connections that this address opened.

        With `silent`, callers waiting for its responses do not notice and time out; responses in transit still arrive.
        """
        self._servers.pop(address, None)
        opened = []
        for key, channel in list(self._channels.items()):
            if address in key:
                channel.closed = True
                del self._channels[key]
                if key[0] == address:
                    opened.append(channel)
                if silent:
                    continue
                pending, channel.pending = channel.pending, {}
                for answer in pending.values():
                    answer.fail(SendFailed(f"the connection from {key[0]} to {key[1]} is lost"))
        self.held = [packet for packet in self.held if not packet.channel.closed or (silent and packet.answer)]
        return opened

    def channel(self, caller: str, server: str) -> SimulatedChannel:
        """Return the connection between two addresses, opened if missing. Raises ConnectFailed if no server listens."""
        channel = self._channels.get((caller, server))
        if channel is None:
            if server not in self._servers:
                raise ConnectFailed(f"connect to {server} failed")
            channel = self._channels[caller, server] = SimulatedChannel(self, caller, server)
        return channel

    def carry(self, packet: Packet) -> None:
        """Send a packet."""
        if self.watch is not None:
            self.watch(packet)
        if self.plan is None:
            self.deliver(packet)
            return
        delays = self.plan(packet)
        if delays == HOLD:
            self.held.append(packet)
            return
        for delay in delays:
            assert isinstance(delay, int)
            if delay == 0:
                self.deliver(packet)
            else:
                self._scheduler.after(delay, lambda: self.deliver(packet))

    def deliver(self, packet: Packet) -> None:
        """Deliver a packet, whether it was held or not."""
        if packet in self.held:
            self.held.remove(packet)
        if not packet.answer:
            if packet.channel.closed:
                return
            self._servers[packet.target].receive(packet.channel, packet.command)
            return
        waiting = packet.channel.pending.pop(packet.command.opaque, None)
        if waiting is None:
            self.unmatched.append(packet)
        else:
            waiting.complete(packet.command)

    def drop(self, packet: Packet) -> None:
        """Lose a held packet."""
        self.held.remove(packet)
