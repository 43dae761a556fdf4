"""A client with blocking calls over real sockets, usable from any number of threads."""

from __future__ import annotations

import concurrent.futures
import os
from types import TracebackType
from typing import Any

from ..periodic import drive
from ..producer.instance import ClientInstance
from ..producer.producer import Producer
from ..remoting.command import Command
from .background import Background
from .chance import SystemRandomness
from .network import TcpNetwork
from .server import Receiver

MILLIS = 3000


class Client:
    """Requests to name servers and brokers, as a context manager: `with Client() as client: client.call("127.0.0.1:9876", request)`.

    All calls to one address share a connection. `receiver` serves requests of the other side. `notices_ends`: see TcpNetwork.
    """

    def __init__(self, receiver: Receiver | None = None, *, notices_ends: bool = True) -> None:
        self.background = Background("rocketproof client")
        self.network = TcpNetwork(self.background.threads, receiver, notices_ends=notices_ends)
        self._instances: dict[str, ClientInstance] = {}

    def __enter__(self) -> Client:
        self.background.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.background.__exit__(kind, error, trace)

    def call(self, address: str, request: Command, millis: int = MILLIS) -> Command:
        """Send and wait for the response. Raises ConnectFailed, SendFailed or TimedOut (remoting.errors)."""
        return self.begin(address, request, millis).result()

    def begin(self, address: str, request: Command, millis: int = MILLIS) -> concurrent.futures.Future[Command]:
        """Send, and return a future of the response."""
        return self.background.submit(self.network.call(address, request, millis), f"call {request.code}")

    def post(self, address: str, request: Command) -> None:
        """Send a one-way request. Raises ConnectFailed."""
        self.background.run(self.network.post(address, request), f"post {request.code}")

    def producer(self, group: str, *, name_servers: tuple[str, ...], seed: int | None = None, **options: Any) -> Producer:
        """Return a started producer over this client's connections, with its periodic tasks running. `options` are the producer's own.

        Run its functions with `background.run` or `background.submit`. Raises ClientError.
        """
        threads = self.background.threads
        producer = Producer(
            group,
            clock=threads.clock,
            network=self.network,
            random=SystemRandomness(seed),
            name_servers=name_servers,
            clients=self._instances,
            process_id=os.getpid(),
            **options,
        )
        self.background.complete(self._start(producer))
        return producer

    async def _start(self, producer: Producer) -> None:
        threads, known = self.background.threads, set(self._instances)
        await threads.outcome(threads.spawn(producer.start(), f"{producer.group}/start").done)
        if producer.client.client_id not in known:
            drive(threads, producer.client, producer.client.periodic())
