"""Running name servers and brokers: the ports connected to the machine, the periodic tasks driven, start and stop in order.

A node runs on the asyncio loop in which it is created, with its own threads. Several nodes fit into a process, and each can end alone.
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
from ..nameserversettings import NameServerSettings
from ..periodic import drive
from ..ports import Clock
from ..remoting.ports import Channel
from ..routeinfo import DEFAULTS
from ..service import Service, Step, run_all
from ..tasks import Future, Work
from .chance import SystemRandomness
from .connection import ServerConnection
from .disk import SystemDisk, VolatileDisk
from .links import LinkServer, dial
from .listening import listening_socket, resolved
from .network import TcpNetwork
from .server import ServerLimits, TcpServer
from .threads import Threads, log

LOOPBACK = "127.0.0.1"


ATTEMPTS = 50

AROUND = (0, 1, -2)
"""A broker's listening ports as distances from its port: for clients, for slaves, and for sends of clients that use the VIP channel, as
clients up to 4.4 do by default."""


class NotLoaded(Exception):
    """The files cannot be read, so the broker must not start (PER-03)."""


class NameServerNode:
    """A name server on a socket. `server` contains its tables."""

    def __init__(
        self,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        limits: ServerLimits | None = None,
        profile: Profile | str = "P49",
        settings: NameServerSettings = DEFAULTS,
    ) -> None:
        self._requested = (host, port)
        self._settings = settings
        self.profile = profile_of(profile)
        self._limits = limits
        self.address = f"{bracketed(host)}:{port}"
        self.port = port

    async def start(self) -> None:
        """Start listening. Raises OSError."""
        listening = listening_socket(*self._requested)
        self.port = listening.getsockname()[1]
        self.address = f"{bracketed(self._requested[0])}:{self.port}"
        self.threads = Threads()
        self.server = NameServer(self.threads.clock, settings=self._settings, profile=self.profile)
        self._tcp = TcpServer(self.threads, self.server, self._limits)
        self._tcp.start(listening)
        drive(self.threads, self.server, self.server.PERIODIC, close_all)

    async def stop(self) -> None:
        """Answer the received requests, then close every connection."""
        await run_all((("server", self._tcp.stop), ("threads", self.threads.close)))


class BrokerNode:
    """A broker on a socket and a disk. `settings.listen_port` 0 is replaced by the chosen port; `broker` exists after `start`."""

    broker: Broker

    def __init__(
        self,
        settings: BrokerSettings,
        *,
        profile: Profile | str = "P49",
        host: str = LOOPBACK,
        seed: int | None = None,
        limits: ServerLimits | None = None,
        disk: type[SystemDisk] = SystemDisk,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self.profile = profile_of(profile)
        self._disk = disk
        self._host = host
        self._seed = seed
        self._limits = limits

    async def start(self) -> None:
        """Lock the store, bind the ports, load, run the services, register. Raises OSError for an unavailable resource, NotLoaded."""
        settings = self.settings
        self.threads = Threads(clock=self._clock)
        settings.store_path_root_dir = os.path.abspath(settings.store_path_root_dir)
        self.disk = self._disk(settings.store_path_root_dir)
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
            for socket_ in listening:
                socket_.close()
            self.kill()
            raise

    async def _begin(self, for_clients: socket.socket, for_slaves: socket.socket, for_sends: socket.socket) -> None:
        """Start the services, the listeners and the periodic tasks of a loaded broker."""
        broker, store = self.broker, self.broker.store
        self._run((*store.services(lambda address: dial(self.threads, address), self.threads.run_blocking), *broker.services()))
        self._links = LinkServer(self.threads, lambda link: self._run(store.ha.accept(link)))
        self._tcp = TcpServer(self.threads, broker, self._limits)
        self._links.start(for_slaves)
        self._tcp.start(for_clients, for_sends)
        await self._complete(broker.start)
        for target in (broker, broker.registration, broker.slave):
            drive(self.threads, target, target.PERIODIC, close_all)

    async def stop(self) -> None:
        """Unregister from the name servers, answer the received requests, end the services, sync everything to the device.

        Every step runs, even after a failing one. Raises the first error.
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
        """Spawn services, and log those that fail."""
        for service in services:
            self.threads.spawn(service.run(), service.name).done.then(partial(_report, service.name))

    async def _complete(self, begin: Callable[[], Work[None]]) -> None:
        await self.threads.outcome(self.threads.spawn(begin(), self.settings.broker_name).done)

    def kill(self) -> None:
        """End immediately like a killed process: nothing more is written or sent. Written data remain, unsynced."""
        try:
            self.threads.close()
        finally:
            self.disk.close()

    def lose_power(self) -> None:
        """End immediately like a machine without power: only synced data of files written in place remain.

        Raises TypeError if the node does not write to a VolatileDisk. The node then goes on running.
        """
        if not isinstance(self.disk, VolatileDisk):
            raise TypeError(f"{type(self.disk).__name__} cannot lose power; give the node disk=VolatileDisk")
        try:
            self.threads.close()
            self.disk.lose_power()
        finally:
            self.disk.close()


def bracketed(host: str) -> str:
    """Return a host as it is written before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def close_all(channels: Iterable[Channel]) -> None:
    """Close connections that were silent for too long (NS-07)."""
    for channel in channels:
        if isinstance(channel, ServerConnection):
            channel.abort()


def sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets at a broker's ports (AROUND). Port 0 selects a port with all of them free. Raises OSError."""
    attempts = 1 if port else ATTEMPTS
    while True:
        attempts -= 1
        bound: list[socket.socket] = []
        requested = port
        try:
            for distance in AROUND:
                requested = bound[0].getsockname()[1] + distance if bound else port
                bound.append(listening_socket(host, requested))
        except OSError as problem:
            for listening in bound:
                listening.close()
            if not attempts:
                raise OSError(problem.errno, f"port {requested}: {problem.strerror}") from None
        else:
            return bound


def _report(name: str, ended: Future[None]) -> None:
    """Log the exception of an ended service. Nothing else would report it."""
    try:
        ended.result()
    except Exception as problem:  # noqa: BLE001 - every exception is logged
        log.error("service %s ended: %r", name, problem)
