"""`rocketproof serve`: the reference implementation as a name server and brokers, on real sockets and real files."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import resource
import signal
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.system.connection import UNREAD
from rocketproof_impl.system.listening import resolved
from rocketproof_impl.system.narrator import Narrator
from rocketproof_impl.system.node import BrokerNode, NameServerNode, NotLoaded, bracketed
from rocketproof_impl.system.server import ServerLimits
from rocketproof_protocol.shown import printable

from ..reports import files as store
from ..reports import output
from ..reports.choices import InputError, split
from .forms import host_and_port
from .settings import change

IPV4 = 4
STEP = 10  # between the ports of two brokers: each listens around its port too
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What to serve. A port of 0 is any free one; `name_server_port` None: no name server here. `settings` are texts name=value. `unread`:
    bytes of answers that a connection may leave unread."""

    folder: Path
    brokers: int = 1
    port: int = 10911
    name_server_port: int | None = 9876
    name_servers: tuple[str, ...] = ()
    cluster: str = "DefaultCluster"
    profile: str = "P49"
    settings: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    connections: int = 1024
    unread: int = UNREAD


def command(wanted: ServeOptions, *, quiet: bool, beyond: bool, json: Path | None) -> None:
    """Serve until Ctrl-C or a polite kill. Raises InputError for what cannot be served."""
    check_host(wanted.host, beyond=beyond)
    brokers = settings_of(wanted)
    allow_files()
    asyncio.run(_serve(wanted, brokers, quiet=quiet, json=json))


def allow_files() -> None:
    """Let this process have as many open files as the system would allow it, as Java does: each queue of a store has one at least."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(ValueError, OSError):  # macOS names no limit, and has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def check_host(host: str, *, beyond: bool) -> None:
    """Check an address to listen at.

    Whoever reaches a port may change everything there, so more than this machine has to be asked for. Raises InputError.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise InputError(f"--listen {host}: is no IP address; give one of this machine's, such as 127.0.0.1") from None
    if not address.is_loopback and not beyond:
        raise InputError(f"--listen {host} lets other machines in, and who comes in may do anything; confirm with --beyond-this-machine")


def settings_of(wanted: ServeOptions) -> list[BrokerSettings]:
    """The settings of each broker. One has the folder to itself, several have one each below it. Raises InputError."""
    if not 0 <= wanted.brokers <= len(LETTERS):
        raise InputError(f"--brokers {wanted.brokers}: give a number up to {len(LETTERS)}")
    for address in wanted.name_servers:
        try:
            host_and_port(address)
        except ValueError as problem:
            raise InputError(f"--nameserver: {problem}") from None
    if not wanted.cluster.strip() or not wanted.cluster.isprintable():
        raise InputError(f"--cluster {wanted.cluster!r}: give a name, such as DefaultCluster")
    if not wanted.brokers and wanted.name_server_port is None:
        raise InputError("--brokers 0 with --no-nameserver leaves nothing to serve; leave out one of them")
    made = []
    for number in range(wanted.brokers):
        name = f"broker-{LETTERS[number]}"
        settings = BrokerSettings(
            broker_name=name,
            broker_cluster_name=wanted.cluster,
            broker_ip1=bracketed(_reached_at(wanted.host)),
            listen_port=wanted.port + STEP * number if wanted.port else 0,
            name_servers=wanted.name_servers,
            store_path_root_dir=str(wanted.folder if wanted.brokers == 1 else wanted.folder / name),
        )
        for text in wanted.settings:
            change(settings, *split(text))
        _check_resolved(settings.broker_ip1)
        made.append(settings)
    if len(made) > 1:
        for name in ("brokerName", "listenPort", "storePathRootDir"):
            if any(text.startswith(f"{name}=") for text in wanted.settings):
                raise InputError(f"--set {name} gives all {len(made)} brokers the same; leave it out, or serve one broker")
    return made


def _reached_at(host: str) -> str:
    """The address at which programs of this machine reach a broker that listens at another one."""
    address = ipaddress.ip_address(host)
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == IPV4 else "::1"


def _check_resolved(host: str) -> None:
    """Raise InputError for a broker's host without an address: each record holds it."""
    try:
        resolved(host)
    except OSError:
        raise InputError(f"--set brokerIP1={host}: no address is known of this host; give one, such as 127.0.0.1") from None


async def _serve(wanted: ServeOptions, brokers: list[BrokerSettings], *, quiet: bool, json: Path | None) -> None:
    """Start everything in order, say so, wait for the end, and stop in the other order."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    limits = ServerLimits(
        connections=wanted.connections, unread=wanted.unread, unread_total=max(ServerLimits().unread_total, wanted.unread)
    )
    async with AsyncExitStack() as stack:
        ready: dict[str, Any] = {"name_server": None, "brokers": {}}
        name_servers = wanted.name_servers
        if wanted.name_server_port is not None:
            server = NameServerNode(host=wanted.host, port=wanted.name_server_port, limits=limits, profile=wanted.profile)
            await _start(server, f"--nameserver-port {wanted.name_server_port}", wanted.host)
            stack.push_async_callback(server.stop)
            ready["name_server"] = server.address
            name_servers = (*name_servers, server.address)
        for settings in brokers:
            if not settings.name_servers:
                settings.name_servers = name_servers
            node = BrokerNode(settings, profile=wanted.profile, host=wanted.host, limits=limits)
            await _start(node, f"--port {settings.listen_port} of {settings.broker_name}", wanted.host)
            stack.push_async_callback(node.stop)
            ready["brokers"][settings.broker_name] = {"address": settings.address, "store": settings.store_path_root_dir}
        if json is not None:
            store.write_json(json, ready)
        say = _Saying(ended)
        say(_ready_line(ready, wanted.profile))
        with nullcontext() if quiet else Narrator(say):
            await ended.wait()
    say("stopped")


class _Saying:
    """Lines on standard output, whatever the names in them. If nobody reads them any more, there is nobody to serve for."""

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended = ended

    def __call__(self, line: str) -> None:
        said = " ".join(printable(line).splitlines())
        try:
            print(said, file=output.for_people(), flush=True)
        except OSError:
            self._ended.set()


def _ready_line(ready: dict[str, Any], profile: str) -> str:
    parts = {name: each["address"] for name, each in ready["brokers"].items()}
    if ready["name_server"] is not None:
        parts = {"name server": ready["name_server"], **parts}
    return f"ready: {', '.join(f'{name} {address}' for name, address in parts.items())} ({profile}); Ctrl-C stops"


async def _start(node: NameServerNode | BrokerNode, option: str, host: str) -> None:
    """Raises InputError where the machine refuses, with the option that it is about."""
    try:
        await node.start()
    except NotLoaded as problem:
        raise InputError(f"--store: {problem}; give another folder, or repair that one") from None
    except OSError as problem:
        reason = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem.strerror or problem)
        if problem.errno == errno.EADDRNOTAVAIL:
            raise InputError(f"--listen {host}: {reason}; give an address of this machine, such as 127.0.0.1") from None
        if problem.filename:
            raise InputError(f"--store: {reason}; give a folder of your own") from None
        raise InputError(f"{option}: {reason}; give another, or 0 for any free port") from None
