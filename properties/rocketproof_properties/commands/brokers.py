"""The command that runs the reference implementation as brokers that listen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..reports.exitcode import OK
from .common import Count, Flag, Json, Many, Profile, Settings


def serve(
    *,
    brokers: int = 1,
    store: Path = Path(".rocketproof/brokers"),
    port: int = 10911,
    nameserver_port: int = 9876,
    no_nameserver: Flag = False,
    nameserver: Annotated[tuple[str, ...], Many] = (),
    cluster: str = "DefaultCluster",
    profile: Profile = "P49",
    settings: Settings = (),
    listen: str = "127.0.0.1",
    beyond_this_machine: Flag = False,
    connections: Count = 1024,
    unread: Count = 32,
    quiet: Flag = False,
    json: Json = None,
) -> int:
    """Run the reference implementation as a name server and brokers that real clients can talk to, until Ctrl-C.

    One line shows what became of each request: the rules it went through, and its answer.

    Parameters
    ----------
    brokers
        How many brokers: broker-a, broker-b and so on; 0 for a name server alone.
    store
        The folder of the store. One broker has it to itself, several have a folder each in it.
    port
        The first broker's port; it takes the next one and that two below too, and each further broker is 10 higher. 0 for any free ports.
    nameserver_port
        The name server's port, or 0 for any free one.
    no_nameserver
        Start no name server.
    nameserver
        The address of a name server elsewhere, where the brokers register too; may be repeated.
    cluster
        The name of the brokers' cluster.
    profile
        Whose behaviour, such as P494.
    settings
        A setting of all brokers by RocketMQ's name, such as brokerPermission=4; may be repeated.
    listen
        The address to listen at.
    beyond_this_machine
        Confirm that --listen names an address that other machines can reach.
    connections
        How many connections each part serves at a time.
    unread
        How many MiB of answers a connection may leave unread; it is closed when more wait. All connections of a part together may leave
        128 MiB, or this if it is more; the one that leaves most is closed then.
    quiet
        Tell nothing of requests, which is much quicker.
    json
        Write the addresses to this file as soon as everything is ready.
    """
    from ..brokers import serve as serving

    wanted = serving.ServeOptions(
        store,
        brokers=brokers,
        port=port,
        name_server_port=None if no_nameserver else nameserver_port,
        name_servers=nameserver,
        cluster=cluster,
        profile=profile,
        settings=settings,
        host=listen,
        connections=connections,
        unread=unread * 1024 * 1024,
    )
    serving.command(wanted, quiet=quiet, beyond=beyond_this_machine, json=json)
    return OK
