"""A broker with its executors on the simulator, and a caller that keeps every answer of its connection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from simulated import FakeChannel, Simulated

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.executor import POOLS, ThreadPool
from rocketproof_impl.message import Message, properties_text
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.headers import (
    SendMessageBackRequestHeader,
    SendMessageRequestHeader,
    encode,
    encode_v1,
    encode_v2,
    layout,
)
from rocketproof_impl.simulator.chance import SimulatedRandomness
from rocketproof_impl.simulator.network import SimulatedNetwork
from rocketproof_impl.store.result import PutResult
from rocketproof_impl.topic import TopicConfig
from rocketproof_protocol.codes import CONSUMER_SEND_MSG_BACK, SEND_BATCH_MESSAGE, SEND_MESSAGE, SEND_MESSAGE_V2, SYSTEM_ERROR

CALLER = "127.0.0.1:50001"
HEADER = SendMessageRequestHeader("pg", "T", "TBW102", 4, 0, 0, 1_700_000_000_000, 0, "", 0)


NULL_POINTER = "java.lang.NullPointerException, "
BY_ZERO = "java.lang.ArithmeticException: / by zero, "


class Stand(Simulated):
    """A broker that has loaded an empty disk and has no name server. Keyword arguments are settings."""

    def __init__(self, profile: str = "P49", *, threads: int | None = None, capacity: int | None = None, **settings: Any) -> None:
        super().__init__(profile, **{"name_servers": (), **settings})
        self.random = SimulatedRandomness()
        self.executors = {name: ThreadPool(self.scheduler, name) for name in POOLS}
        self.executors["send"] = ThreadPool(self.scheduler, "send", threads, capacity)
        network = SimulatedNetwork(self.scheduler).endpoint("127.0.0.1:40911")
        self.broker = Broker(self.settings, self.profile, self.clock, self.disk, network, self.random, dict(self.executors))
        assert self.broker.load()
        self.channel = FakeChannel()

    # Requests

    def request(self, command: Command) -> Command | None:
        """Deliver a command and run until nothing is left to do. Return its only answer, or None."""
        before = len(self.channel.written)
        self.broker.receive(self.channel, command)
        self.scheduler.advance(10_000)
        answers = self.channel.written[before:]
        assert len(answers) <= 1
        return answers[0] if answers else None

    def ask(self, command: Command) -> Command:
        answer = self.request(command)
        assert answer is not None
        assert answer.is_response
        assert answer.opaque == command.opaque
        return answer

    def call(self, code: int, body: bytes | None = None, **fields: object) -> Command:
        """Send a request with its extFields as texts."""
        return self.ask(Command(code, {name: _text(value) for name, value in fields.items()}, body, opaque=7))

    def send(self, topic: str = "T", **fields: Any) -> Command:
        """Send a message and have its answer; fields of the header and of the command by name."""
        return self.ask(send_request(topic, **fields))

    def send_back(self, offset: int = 0, group: str = "G", delay_level: int = 0, *, version: int = 399, **fields: Any) -> Command:
        header = SendMessageBackRequestHeader(offset, group, delay_level, **fields)
        return self.ask(Command(CONSUMER_SEND_MSG_BACK, encode(header, layout(SendMessageBackRequestHeader)), opaque=9, version=version))

    # State of the broker

    def topic(self, name: str = "T", write: int = 4, read: int = 4, **fields: Any) -> TopicConfig:
        """Add a topic to the table."""
        config = TopicConfig(name, read, write, **fields)
        self.broker.topics.table[name] = config
        return config

    def stored(self) -> list[Message]:
        return list(self.broker.store.records())

    def last(self) -> Message:
        return self.stored()[-1]

    def known(self) -> set[str]:
        """Return the names in the topic table."""
        return set(self.broker.topics.table)

    def put_gives(self, result: PutResult | None) -> None:
        """Replace the result of the store's puts, for messages and batches."""

        async def put(_: Message) -> PutResult | None:
            return result

        self.broker.store.put_message = put  # type: ignore[method-assign, assignment]  # a double of the method
        self.broker.store.put_messages = put  # type: ignore[method-assign, assignment]  # another one


def thrown(answer: Command, start: str) -> bool:
    """Return whether `answer` is the fresh answer to an exception and its remark starts with this text."""
    return answer.code == SYSTEM_ERROR and answer.ext_fields is None and str(answer.remark).startswith(start)


def send_request(
    topic: str = "T",
    *,
    code: int = SEND_MESSAGE_V2,
    body: bytes | None = b"hello",
    properties: dict[str, str] | str | None = "",
    opaque: int = 1,
    one_way: bool = False,
    version: int = 399,
    owner: str | None = None,
    **fields: Any,
) -> Command:
    """Return a send request; `properties` is a map or the encoded text."""
    text = properties_text(properties, trailing=True) if isinstance(properties, dict) else properties
    header = replace(HEADER, topic=topic, properties=text, **fields)
    ext_fields = encode_v1(header) if code == SEND_MESSAGE else encode_v2(header)
    if owner is not None:
        ext_fields["Owner"] = owner
    return Command(code, ext_fields, body, opaque, ONE_WAY if one_way else 0, version)


def batch_request(
    topic: str = "T", bodies: tuple[bytes, ...] = (b"one", b"two"), properties: str = "", of_items: str = "", **fields: Any
) -> Command:
    body = b"".join(_item(one, of_items.encode()) for one in bodies)
    return send_request(topic, code=SEND_BATCH_MESSAGE, body=body, batch=True, properties=properties, **fields)


def _item(body: bytes, properties: bytes) -> bytes:
    head = (22 + len(body) + len(properties)).to_bytes(4, "big") + bytes(12) + len(body).to_bytes(4, "big")
    return head + body + len(properties).to_bytes(2, "big") + properties


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
