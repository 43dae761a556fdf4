"""The command `serve`, which runs the reference implementation as brokers that listen."""

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
    set_nameserver: Annotated[tuple[str, ...], Many] = (),
    topic: Annotated[tuple[str, ...], Many] = (),
    clock: int = 0,
    temporary: Flag = False,
    listen: str = "127.0.0.1",
    beyond_this_machine: Flag = False,
    connections: Count = 1024,
    unread: Count = 32,
    quiet: Flag = False,
    json: Json = None,
) -> int:
    """Run the reference implementation as a name server and brokers for real clients, until Ctrl-C.

    Each request is logged in one line: the rules that were applied, and the response.

    Parameters
    ----------
    brokers
        Number of brokers: broker-a, broker-b and so on; 0 for a name server only.
    store
        The folder of the store. Several brokers have a folder each in it.
    port
        The first broker's port P. It also listens at P+1 and P-2. Each further broker is 10 higher. 0 for any free ports.
    nameserver_port
        The name server's port, or 0 for any free port.
    no_nameserver
        Start no name server.
    nameserver
        The address of another name server at which the brokers register too; may be repeated.
    cluster
        The name of the brokers' cluster.
    profile
        The profile that brokers implement, such as P494.
    settings
        A setting of all brokers by RocketMQ's name, such as brokerPermission=4; may be repeated.
    set_nameserver
        A setting of the name server by RocketMQ's name, such as orderMessageEnable=true; may be repeated.
    topic
        Create this topic on each broker, and be ready when its route exists; may be repeated.
    clock
        Milliseconds by which the brokers' clocks are ahead of this machine's; negative: behind.
    temporary
        Use a new folder as --store, and remove it at the end.
    listen
        The address to listen at.
    beyond_this_machine
        Confirm that --listen names an address that other machines can reach.
    connections
        Maximum number of connections per broker and name server.
    unread
        Maximum MiB of unread responses per connection; a connection with more is closed. All connections of a server together may
        leave 128 MiB unread, or this value if it is larger. Above that, the connection with the most unread data is closed.
    quiet
        Do not log requests (much faster).
    json
        Write the addresses, the profile and the process id to this file when all servers are ready. Without FILE: as one line on
        standard output. The server then also stops when its standard input, if it is a pipe, is closed.
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
        topics=topic,
        clock=clock,
        name_server_settings=set_nameserver,
    )
    serving.command(wanted, quiet=quiet, beyond=beyond_this_machine, json=json, temporary=temporary)
    return OK
