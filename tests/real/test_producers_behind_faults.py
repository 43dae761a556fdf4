"""Real producers behind a faulty network: what they make of an answer that comes twice, late, never, or with the connection's end.

Two brokers are behind proxies, and so is the name server, which names the proxies. The fault strikes the first attempt of each
message. The reference implementation's producer is one of the producers, and does what Java's of 4.9.4 does.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from test_go_client import program

from faultproxy import Fault, FaultProxy
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import BrokerError, ClientError
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.store import record
from rocketproof_impl.system.client import Client
from rocketproof_profiles import PROFILES, Profile
from rocketproof_properties.deployments.connection import call
from rocketproof_properties.deployments.deployment import Deployment, Setup
from rocketproof_properties.deployments.javaprograms import JavaPrograms
from rocketproof_properties.deployments.served import Served
from rocketproof_properties.runs.readback import Reader
from rocketproof_properties.runs.waiting import until
from rocketproof_properties.steps.vocabulary import plain
from rocketproof_protocol.codes import SEND_MESSAGE, SEND_MESSAGE_V2, SUCCESS
from rocketproof_protocol.fields import FULL_NAMES
from rocketproof_protocol.properties import NAME_END, PROPERTY_END, UNIQ_KEY

COMMANDS = ("java", "javac", "mvn", "go")
TOPIC, QUEUES = "Faulty", 4
TIMES, MILLIS = 3, 2000
LATE = 2.5
SHORT = next(short for short, name in FULL_NAMES.items() if name == "properties")
FAULTS = (
    Fault.TWICE,
    Fault.DOUBLED,
    Fault.CLOSE_BEFORE,
    Fault.CLOSE_AFTER,
    Fault.CLOSE_INSIDE,
    Fault.SLOW,
    Fault.SILENT,
    Fault.GARBAGE,
)


class Outcome(NamedTuple):
    """Of the messages behind one fault: how many were reported as sent and as failed, and how many the brokers have never, once and more
    than once. `where`: what was reported as sent lies where the report says."""

    sent: int
    failed: int
    never: int
    once: int
    more: int
    where: bool


class FirstAttempts(FaultProxy):
    """A proxy whose fault strikes sends, each message once; `struck` are the messages of all proxies."""

    def __init__(self, address: str, struck: set[str]) -> None:
        self.kind: Fault | None = None
        self._struck = struck
        super().__init__(address, slow=LATE)

    def fault(self, request: Command) -> Fault | None:
        fields = request.ext_fields or {}
        properties = fields.get("properties", fields.get(SHORT))
        if self.kind is None or request.code not in (SEND_MESSAGE, SEND_MESSAGE_V2) or properties is None:
            return None
        texts = properties.split(PROPERTY_END)
        key = next(text for text in texts if text.partition(NAME_END)[0] == UNIQ_KEY)
        if key in self._struck:
            return None
        self._struck.add(key)
        return self.kind


Sends = Callable[[str], list[str]]
"""Sends the messages of one name, and says how each ended."""


@contextmanager
def ours(profile: Profile, name_server: str) -> Iterator[Sends]:
    """The reference implementation's producer."""
    with Client(notices_ends=profile.notices_ends) as client:
        made = client.producer("producers", name_servers=(name_server,), profile=profile)

        def send(number: int, name: str) -> str:
            try:
                found = client.background.run(made.send(Message(TOPIC, body=f"{name} {number}".encode()), MILLIS))
            except (RemotingError, ClientError, BrokerError) as problem:
                return type(problem).__name__
            return f"{found.status.value} {found.queue.broker_name} {found.queue.queue_id} {found.queue_offset}"

        yield lambda name: [send(number, name) for number in range(TIMES)]


@contextmanager
def java(version: str, name_server: str) -> Iterator[Sends]:
    programs = JavaPrograms(Path(__file__).parent / "producers", version)
    with programs.started("Producer", name_server, TOPIC, str(TIMES), str(MILLIS)) as child:
        yield lambda name: asked(child, name)


@contextmanager
def go(name_server: str) -> Iterator[Sends]:
    command = [str(program()), name_server, TOPIC, str(TIMES), str(MILLIS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield lambda name: asked(child, name)
        finally:
            child.kill()


def asked(child: subprocess.Popen[str], name: str) -> list[str]:
    """What a program says that reads a name and writes how each send ended; less, if it ends meanwhile."""
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    child.stdin.write(f"{name}\n")
    child.stdin.flush()
    found = []
    for line in child.stdout:
        if line == "end\n":
            break
        if line.startswith("> "):
            found.append(line[2:].strip())
    return found


Made = Callable[[str], AbstractContextManager[Sends]]
PRODUCERS: Mapping[str, tuple[str, Made]] = {
    "P494": ("P494", partial(ours, PROFILES["P494"])),
    "P533": ("P533", partial(ours, PROFILES["P533"])),
    "Java 4.9.4": ("P494", partial(java, "4.9.4")),
    "Java 5.3.3": ("P533", partial(java, "5.3.3")),
    "Go 2.1.2": ("P494", go),
}
"""By the name of the producer the profile of the brokers that it sends to, and how it is started for a name server."""


def stored(running: Deployment) -> dict[str, list[tuple[str, int, int]]]:
    """Where the messages of the topic lie, by their bodies: broker, queue, offset of each."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    for broker in running.brokers:
        reader = Reader(running, broker)
        for queue in range(QUEUES):
            for data in reader.pull(TOPIC, queue, 0, reader.next_offset(TOPIC, queue) or 0):
                message = record.decode(data, exact=False)
                assert message is not None and message.body is not None
                found.setdefault(message.body.decode(), []).append((broker, queue, message.queue_offset))
        assert not reader.missed
        reader.close()
    return found


def outcome(name: str, told: list[str], places: Mapping[str, list[tuple[str, int, int]]]) -> Outcome:
    """What became of the messages of a name that ended so."""
    mine = [places.get(f"{name} {number}", []) for number in range(TIMES)]
    sent = {number: tuple(text.split()[1:]) for number, text in enumerate(told) if text.startswith("SEND_OK ")}
    where = all(tuple(map(str, place)) in [tuple(map(str, one)) for one in mine[number]] for number, place in sent.items())
    often = Counter(min(len(found), 2) for found in mine)
    return Outcome(len(sent), TIMES - len(sent), often[0], often[1], often[2], where)


@pytest.fixture(scope="module", params=PRODUCERS)
def outcomes(request: pytest.FixtureRequest) -> dict[Fault | None, Outcome]:
    """By the fault what became of the messages that it struck; None is no fault."""
    profile, started = PRODUCERS[request.param]
    struck: set[str] = set()
    told: dict[Fault | None, list[str]] = {}
    with ExitStack() as stack:
        running = stack.enter_context(Served(profile).open(Setup(brokers=2)))
        proxies = {address: stack.enter_context(FirstAttempts(address, struck)) for address in running.brokers.values()}
        renamed = {address: proxy.address for address, proxy in proxies.items()}
        server = stack.enter_context(FaultProxy(str(running.name_server), renamed=renamed))
        for address in running.brokers.values():
            assert call(address, plain("topic", topic=TOPIC, read=QUEUES, write=QUEUES)).code == SUCCESS
        send = stack.enter_context(started(server.address))
        send("first")  # connections are made, and a virtual machine has loaded what it needs
        for fault in (None, *FAULTS):
            for proxy in proxies.values():
                proxy.kind = fault
            told[fault] = send(str(fault and fault.name))
        places = until(partial(stored, running), lambda _: False, 2.0, 0.2)  # what was passed on late may still be on its way
    return {fault: outcome(str(fault and fault.name), lines, places) for fault, lines in told.items()}


STORED_ONCE, STORED_TWICE = Outcome(TIMES, 0, 0, TIMES, 0, where=True), Outcome(TIMES, 0, 0, 0, TIMES, where=True)
NOT_STORED, IN_DOUBT = Outcome(0, TIMES, TIMES, 0, 0, where=True), Outcome(0, TIMES, 0, TIMES, 0, where=True)
"""Reported as sent: stored once, or twice. Reported as failed: not stored, or stored all the same."""
TRIED_AGAIN = {NOT_STORED: Outcome(0, TIMES, TIMES - 1, 1, 0, where=True), IN_DOUBT: Outcome(0, TIMES, 0, TIMES - 1, 1, where=True)}
"""What may come of the first: with a millisecond left when an attempt has waited in vain, a producer tries once more (CLI-27)."""
IN_TIME: Mapping[Fault | None, Outcome] = {
    None: STORED_ONCE,
    Fault.TWICE: STORED_ONCE,
    Fault.DOUBLED: STORED_TWICE,
    Fault.CLOSE_BEFORE: STORED_ONCE,
    Fault.CLOSE_AFTER: STORED_TWICE,
    Fault.CLOSE_INSIDE: STORED_TWICE,
    Fault.SLOW: IN_DOUBT,
    Fault.SILENT: IN_DOUBT,
    Fault.GARBAGE: STORED_TWICE,
}
"""A producer that tries again at another broker as soon as a connection ends, and has no time left where no answer comes."""
UNNOTICED = {Fault.CLOSE_BEFORE: NOT_STORED, Fault.CLOSE_AFTER: IN_DOUBT, Fault.CLOSE_INSIDE: IN_DOUBT}
"""One that waits to the end of its time for an answer on a connection that has ended."""
OF_GO = {Fault.SLOW: STORED_ONCE, Fault.SILENT: STORED_TWICE, Fault.GARBAGE: Outcome(0, TIMES, TIMES - 1, 1, 0, where=True)}
"""Each attempt has 3 s, whatever time a send is given. Bytes that are no frame end its process: it takes the size for granted."""
EXPECTED = {
    "P494": {**IN_TIME, **UNNOTICED},
    "P533": IN_TIME,
    "Java 4.9.4": {**IN_TIME, **UNNOTICED},
    "Java 5.3.3": IN_TIME,
    "Go 2.1.2": {**IN_TIME, **OF_GO},
}


@pytest.mark.behaviour("CLI-27", "CLI-28", "CLI-30")
def test_what_a_producer_makes_of_each_fault(request: pytest.FixtureRequest, outcomes: dict[Fault | None, Outcome]) -> None:
    name = request.node.callspec.params["outcomes"]
    late = {fault: one for fault, one in EXPECTED[name].items() if TRIED_AGAIN.get(one) == outcomes.get(fault)}
    assert outcomes | late == EXPECTED[name]
