"""A running name server, a running broker: the ports wired to the machine, the periodic tasks driven, started and stopped in order.

Both live on the asyncio loop that runs where they are made, each with threads of its own, so that several of them fit into one
process and one can end without the others.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from rocketproof_profiles import Profile, profile_of

from ..broker.broker import Broker
from ..broker.settings import BrokerSettings
from ..executor import sized_pools
from ..nameserver import NameServer
from ..periodic import drive
from ..remoting.ports import Channel
from ..service import Service, Step, run_all
from ..tasks import Future, Work
from .chance import SystemRandomness
from .connection import ServerConnection
from .disk import SystemDisk
from .links import LinkServer, dial
from .listening import listening_socket, resolved
from .network import TcpNetwork
from .server import ServerLimits, TcpServer
from .threads import Threads, log

LOOPBACK = "127.0.0.1"


ATTEMPTS = 50

AROUND = (0, 1, -2)
"""Where a broker listens, as distances from its port: there for clients, at the next one for slaves, and two below for clients that want
a way of their own for sends, as those up to 4.4 do by default (VIP channel)."""


class NotLoaded(Exception):
    """What is on the disk cannot be read, so the broker must not start (PER-03)."""


class NameServerNode:
    """A name server on a socket. `server` is what it knows."""

    def __init__(self, *, host: str = LOOPBACK, port: int = 0, limits: ServerLimits | None = None, profile: Profile | str = "P49") -> None:
        self._wanted = (host, port)
        self.profile = profile_of(profile)
        self._limits = limits
        self.address = f"{bracketed(host)}:{port}"
        self.port = port

    async def start(self) -> None:
        """Listen. Raises OSError where that is not possible."""
        listening = listening_socket(*self._wanted)
        self.port = listening.getsockname()[1]
        self.address = f"{bracketed(self._wanted[0])}:{self.port}"
        self.threads = Threads()
        self.server = NameServer(self.threads.clock, profile=self.profile)
        self._tcp = TcpServer(self.threads, self.server, self._limits)
        self._tcp.start(listening)
        drive(self.threads, self.server, self.server.PERIODIC, close_all)

    async def stop(self) -> None:
        """Answer what has come, then close every connection."""
        await run_all((("server", self._tcp.stop), ("threads", self.threads.close)))


class BrokerNode:
    """A broker on a socket and on a disk. `settings.listen_port` 0 becomes the port that was chosen; `broker` is there once it is
    started."""

    broker: Broker

    def __init__(
        self,
        settings: BrokerSettings,
        *,
        profile: Profile | str = "P49",
        host: str = LOOPBACK,
        seed: int | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        self.settings = settings
        self.profile = profile_of(profile)
        self._host = host
        self._seed = seed
        self._limits = limits

    async def start(self) -> None:
        """Take store and ports, load, run the services, register. Raises OSError for what cannot be had, NotLoaded."""
        settings = self.settings
        self.threads = Threads()
        settings.store_path_root_dir = os.path.abspath(settings.store_path_root_dir)
        self.disk = SystemDisk(settings.store_path_root_dir)
        self.network = TcpNetwork(self.threads, notices_ends=self.profile.notices_ends)
        listening: list[socket.socket] = []
        try:
            self.disk.lock("lock")
            listening = sockets(self._host, settings.listen_port)
            settings.listen_port = listening[0].getsockname()[1]
            pools = sized_pools(self.threads, settings)
            random = SystemRandomness(self._seed)
            host = resolved(settings.broker_ip1)
            self.broker = Broker(settings, self.profile, self.threads.clock, self.disk, self.network, random, dict(pools), host)
            if not self.broker.load():
                raise NotLoaded(f"what is stored in {settings.store_path_root_dir} cannot be read")
            await self._begin(*listening)
        except BaseException:
            for one in listening:
                one.close()
            self.kill()
            raise

    async def _begin(self, for_clients: socket.socket, for_slaves: socket.socket, for_sends: socket.socket) -> None:
        """Let everything run that a broker does, once it is loaded."""
        broker, store = self.broker, self.broker.store
        self._run((*store.services(lambda address: dial(self.threads, address), self.threads.aside), *broker.services()))
        self._links = LinkServer(self.threads, lambda link: self._run(store.ha.accept(link)))
        self._tcp = TcpServer(self.threads, broker, self._limits)
        self._links.start(for_slaves)
        self._tcp.start(for_clients, for_sends)
        await self._complete(broker.start)
        for thing in (broker, broker.registration, broker.slave):
            drive(self.threads, thing, thing.PERIODIC, close_all)

    async def stop(self) -> None:
        """Leave the name servers, answer what has come, let the services end, bring everything to the device.

        A step that fails keeps no other from being done. Raises the first error.
        """
        await run_all(self._endings())

    def _endings(self) -> Iterator[Step]:
        yield "broker", partial(self._complete, self.broker.stop)
        yield "server", self._tcp.stop
        for service in self.broker.services():
            yield service.name, partial(self._complete, service.shutdown)
        yield "store", partial(self._complete, self.broker.store.stop)
        yield "links of slaves", self._links.stop
        yield "threads and files", self.kill

    def _run(self, services: Iterable[Service]) -> None:
        """Spawn services, and tell of those that fail."""
        for service in services:
            self.threads.spawn(service.run(), service.name).done.then(partial(_report, service.name))

    async def _complete(self, begin: Callable[[], Work[None]]) -> None:
        await self.threads.outcome(self.threads.spawn(begin(), self.settings.broker_name).done)

    def kill(self) -> None:
        """End at once, as a killed process does: nothing more is written or said. What was written survives, unforced."""
        try:
            self.threads.close()
        finally:
            self.disk.close()


def bracketed(host: str) -> str:
    """Return a host as it stands before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def close_all(channels: Iterable[Channel]) -> None:
    """Close connections whose other side has been silent for too long (NS-07)."""
    for channel in channels:
        if isinstance(channel, ServerConnection):
            channel.abort()


def sockets(host: str, port: int) -> list[socket.socket]:
    """Sockets at a broker's port and around it (AROUND). Port 0 is any where all are free. Raises OSError."""
    attempts = 1 if port else ATTEMPTS
    while True:
        attempts -= 1
        found: list[socket.socket] = []
        wanted = port
        try:
            for distance in AROUND:
                wanted = found[0].getsockname()[1] + distance if found else port
                found.append(listening_socket(host, wanted))
        except OSError as problem:
            for one in found:
                one.close()
            if not attempts:
                raise OSError(problem.errno, f"port {wanted}: {problem.strerror}") from None
        else:
            return found


def _report(name: str, ended: Future[None]) -> None:
    """A service that ends by an exception is a fault of this implementation, and nobody else will notice it."""
    try:
        ended.result()
    except Exception as problem:  # noqa: BLE001 - whatever has ended the service
        log.error("service %s ended: %r", name, problem)
