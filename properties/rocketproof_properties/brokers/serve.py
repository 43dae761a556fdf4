"""`rocketproof serve`: the reference implementation as a name server and brokers, on real sockets and real files."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import resource
import signal
import stat
from contextlib import AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.system.clock import SystemClock
from rocketproof_impl.system.connection import UNREAD
from rocketproof_impl.system.listening import resolved
from rocketproof_impl.system.narrator import Narrator
from rocketproof_impl.system.node import BrokerNode, NameServerNode, NotLoaded, bracketed
from rocketproof_impl.system.server import ServerLimits
from rocketproof_protocol.shown import json_text, printable

from ..reports import files as store
from ..reports import output
from ..reports.choices import InputError, split
from . import guardian, routed
from .deployment import TargetError
from .forms import host_and_port
from .settings import change, name_server_settings

IPV4 = 4
STEP = 10  # between the ports of two brokers, because each also listens on neighbouring ports
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What to serve. Port 0: any free port. `name_server_port` None: no name server. `settings` of the brokers and
    `name_server_settings`: texts name=value.

    `topics` are created on each broker before the server is ready. `unread`: bytes of responses that a connection may leave unread.
    `clock`: milliseconds by which the brokers' clocks are ahead of this machine's.
    """

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
    topics: tuple[str, ...] = ()
    clock: int = 0
    name_server_settings: tuple[str, ...] = ()


def command(wanted: ServeOptions, *, quiet: bool, beyond: bool, json: Path | None, temporary: bool = False) -> None:
    """Serve until Ctrl-C or SIGTERM. With `json` on standard output, also until the end of a piped standard input.

    `temporary`: the store is a new folder, which is removed at the end. Raises InputError for invalid options.
    """
    check_host(wanted.host, beyond=beyond)
    if wanted.topics and not (wanted.brokers and (wanted.name_server_port is not None or wanted.name_servers)):
        raise InputError("--topic needs a broker and a name server; leave out --no-nameserver and --brokers 0, or the topic")
    allow_files()
    with guardian.temporary_folder() if temporary else nullcontext(wanted.folder) as folder:
        wanted = replace(wanted, folder=folder)
        asyncio.run(_serve(wanted, settings_of(wanted), quiet=quiet, json=json))


def allow_files() -> None:
    """Raise the limit of open files to the maximum, as Java does: each queue of a store needs at least one."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(ValueError, OSError):  # macOS reports no limit, but has one
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def check_host(host: str, *, beyond: bool) -> None:
    """Check an address to listen at.

    Every client of a port can change everything, so that addresses beyond this machine need a confirmation. Raises InputError.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise InputError(f"--listen {host}: is no IP address; give one of this machine's, such as 127.0.0.1") from None
    if not address.is_loopback and not beyond:
        raise InputError(f"--listen {host} lets other machines in, and who comes in may do anything; confirm with --beyond-this-machine")


def settings_of(wanted: ServeOptions) -> list[BrokerSettings]:
    """Return the settings of each broker. A single broker uses the folder itself, several have one each below it. Raises InputError."""
    if not 0 <= wanted.brokers <= len(LETTERS):
        raise InputError(f"--brokers {wanted.brokers}: give a number up to {len(LETTERS)}")
    for address in wanted.name_servers:
        try:
            host_and_port(address)
        except ValueError as problem:
            raise InputError(f"--nameserver: {problem}") from None
    if not wanted.cluster.strip() or not wanted.cluster.isprintable():
        raise InputError(f"--cluster {wanted.cluster!r}: give a name, such as DefaultCluster")
    if wanted.name_server_settings and wanted.name_server_port is None:
        raise InputError("--set-nameserver with --no-nameserver: there is no name server to set; leave out one of them")
    if not wanted.brokers and wanted.name_server_port is None:
        raise InputError("--brokers 0 with --no-nameserver leaves nothing to serve; leave out one of them")
    brokers = []
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
        brokers.append(settings)
    if len(brokers) > 1:
        for name in ("brokerName", "listenPort", "storePathRootDir"):
            if any(text.startswith(f"{name}=") for text in wanted.settings):
                raise InputError(f"--set {name} gives all {len(brokers)} brokers the same; leave it out, or serve one broker")
    return brokers


def _reached_at(host: str) -> str:
    """Return the address at which local programs reach a broker that listens at `host`."""
    address = ipaddress.ip_address(host)
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == IPV4 else "::1"


def _check_resolved(host: str) -> None:
    """Raise InputError for a broker's host without an address, because each record contains it."""
    try:
        resolved(host)
    except OSError:
        raise InputError(f"--set brokerIP1={host}: no address is known of this host; give one, such as 127.0.0.1") from None


async def _serve(wanted: ServeOptions, brokers: list[BrokerSettings], *, quiet: bool, json: Path | None) -> None:
    """Start everything in order, print the ready line, wait for the end, and stop in reverse order."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    limits = ServerLimits(
        connections=wanted.connections, unread=wanted.unread, unread_total=max(ServerLimits().unread_total, wanted.unread)
    )
    async with AsyncExitStack() as stack:
        ready: dict[str, Any] = {"name_server": None, "brokers": {}, "profile": wanted.profile, "pid": os.getpid()}
        name_servers = wanted.name_servers
        if wanted.name_server_port is not None:
            own = name_server_settings(dict(map(split, wanted.name_server_settings)))
            server = NameServerNode(host=wanted.host, port=wanted.name_server_port, limits=limits, profile=wanted.profile, settings=own)
            await _start(server, f"--nameserver-port {wanted.name_server_port}", wanted.host)
            stack.push_async_callback(server.stop)
            ready["name_server"] = server.address
            name_servers = (*name_servers, server.address)
        for settings in brokers:
            if not settings.name_servers:
                settings.name_servers = name_servers
            clock = SystemClock(wanted.clock)
            node = BrokerNode(settings, profile=wanted.profile, host=wanted.host, limits=limits, clock=clock)
            await _start(node, f"--port {settings.listen_port} of {settings.broker_name}", wanted.host)
            stack.push_async_callback(node.stop)
            ready["brokers"][settings.broker_name] = {"address": settings.address, "store": settings.store_path_root_dir}
        if wanted.topics:
            addresses = {name: entry["address"] for name, entry in ready["brokers"].items()}
            await asyncio.to_thread(_create_topics, wanted.topics, addresses, name_servers[0])
        if json == store.STREAM:
            output.write(json_text(ready) + "\n")
            _end_with_input(loop, ended)
        elif json is not None:
            store.write_json(json, ready)
        say = _LinePrinter(ended)
        say(_ready_line(ready, wanted.profile))
        with nullcontext() if quiet else Narrator(say):
            await ended.wait()
    say("stopped")


def _create_topics(topics: tuple[str, ...], brokers: dict[str, str], name_server: str) -> None:
    """Create topics on each broker and wait for their routes. Raises InputError."""
    try:
        routed.create_topics(name_server, brokers, topics)
    except TargetError as problem:
        raise InputError(f"--topic: {problem}") from None


def _end_with_input(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """End the server at the end of standard input, if that is a pipe or a socket: the process that started this one is then gone."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return

    def read() -> None:
        with suppress(OSError):
            if os.read(0, 1 << 16):
                return
        loop.remove_reader(0)
        ended.set()

    loop.add_reader(0, read)


class _LinePrinter:
    """Prints lines on standard output with escaped names. If standard output is closed, the server stops."""

    def __init__(self, ended: asyncio.Event) -> None:
        self._ended = ended

    def __call__(self, line: str) -> None:
        text = " ".join(printable(line).splitlines())
        try:
            print(text, file=output.for_people(), flush=True)
        except OSError:
            self._ended.set()


def _ready_line(ready: dict[str, Any], profile: str) -> str:
    parts = {name: entry["address"] for name, entry in ready["brokers"].items()}
    if ready["name_server"] is not None:
        parts = {"name server": ready["name_server"], **parts}
    return f"ready: {', '.join(f'{name} {address}' for name, address in parts.items())} ({profile}); Ctrl-C stops"


async def _start(node: NameServerNode | BrokerNode, option: str, host: str) -> None:
    """Start a node. Raises InputError with the option that the operating system rejects."""
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
