"""Real producers on a faulty network: their reaction to a response that is doubled, late or lost, or to a closed connection.

Two brokers are reached through proxies. So is the name server, which returns the proxies' addresses. The fault affects the first attempt
of each message. One producer is that of the reference implementation, which follows Java 4.9.4.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from otherclients import NODE, go_program, node_packages, python_packages, rust_program

from faultproxy import Fault, FaultProxy
from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import BrokerError, ClientError
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.store import record
from rocketproof_impl.system.client import Client
from rocketproof_profiles import PROFILES, Profile
from rocketproof_properties.brokers.connection import call
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.javaprograms import JavaPrograms
from rocketproof_properties.brokers.runs.readback import Reader
from rocketproof_properties.brokers.runs.waiting import until
from rocketproof_properties.brokers.served import Served
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import SEND_MESSAGE, SEND_MESSAGE_V2, SUCCESS
from rocketproof_protocol.properties import UNIQ_KEY

COMMANDS = ("java", "javac", "mvn", "go")
PROGRAMS = Path(__file__).parent / "producers"
TOPIC, QUEUES = "Faulty", 4
TIMES, MILLIS = 3, 2000
LATE = 2.5
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
    """Counts for the messages affected by one fault: reported as sent, reported as failed, and stored never, once and more than once.

    `where`: each message reported as sent is stored at the reported position. `one_id`: copies of a message have the same id.
    """

    sent: int
    failed: int
    never: int
    once: int
    more: int
    where: bool
    one_id: bool = True


class FirstAttempts(FaultProxy):
    """A proxy that injects a fault into the first send of each message. `struck`: bodies of the affected messages of all proxies."""

    def __init__(self, address: str, struck: set[bytes | None]) -> None:
        self.kind: Fault | None = None
        self._struck = struck
        super().__init__(address, slow=LATE)

    def fault(self, request: Command) -> Fault | None:
        if self.kind is None or request.code not in (SEND_MESSAGE, SEND_MESSAGE_V2) or request.body in self._struck:
            return None
        self._struck.add(request.body)
        return self.kind


Sends = Callable[[str], list[str]]
"""Sends the messages of one name, and says how each ended."""


@contextmanager
def ours(profile: Profile, name_server: str) -> Iterator[Sends]:
    with Client(notices_ends=profile.notices_ends) as client:
        made = client.producer("producers", name_servers=(name_server,), profile=profile)

        def send(number: int, name: str) -> str:
            try:
                result = client.background.run(made.send(Message(TOPIC, body=f"{name} {number}".encode()), MILLIS))
            except (RemotingError, ClientError, BrokerError) as problem:
                return type(problem).__name__
            return f"{result.status.value} {result.queue.broker_name} {result.queue.queue_id} {result.queue_offset}"

        yield lambda name: [send(number, name) for number in range(TIMES)]


@contextmanager
def java(version: str, name_server: str) -> Iterator[Sends]:
    programs = JavaPrograms(PROGRAMS, version)
    with programs.started("Producer", name_server, TOPIC, str(TIMES), str(MILLIS)) as child:
        yield lambda name: asked(child, name)


def go(name_server: str) -> AbstractContextManager[Sends]:
    return sending([go_program()], name_server)


def rust(name_server: str) -> AbstractContextManager[Sends]:
    return sending([rust_program()], name_server)


def node(name_server: str) -> AbstractContextManager[Sends]:
    packages = node_packages("ali-ons@3.12.0", "urllib@2.44.0")
    return sending([NODE, PROGRAMS / "producer.mjs"], name_server, PACKAGES=str(packages))


def python(name_server: str) -> AbstractContextManager[Sends]:
    """The Python producer, which wraps the C++ one."""
    packages = python_packages("rocketmq==0.4.4")
    return sending([sys.executable, PROGRAMS / "sends.py"], name_server, PYTHONPATH=str(packages))


@contextmanager
def sending(started: Sequence[str | Path], name_server: str, **env: str) -> Iterator[Sends]:
    """Run a program that sends for each line of its input."""
    command = [*started, name_server, TOPIC, str(TIMES), str(MILLIS)]
    pipe, variables = subprocess.PIPE, {**os.environ, **env}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=variables) as child:
        try:
            yield lambda name: asked(child, name)
        finally:
            child.kill()


def asked(child: subprocess.Popen[str], name: str) -> list[str]:
    """Return the output of a program that reads a topic and prints the outcome of each send; less if the program ends early."""
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
    "Node 3.12.0": ("P494", node),
    "Rust 1.0.0": ("P533", rust),
    "Python 0.4.4": ("P494", python),
}
"""By the name of the producer the profile of the brokers that it sends to, and how it is started for a name server."""


class Stored(NamedTuple):
    """A message that a broker has: its position, and its producer's id."""

    place: tuple[str, int, int]
    id: str


def stored(running: Deployment) -> dict[str, list[Stored]]:
    """Return the messages of the topic by body."""
    found: dict[str, list[Stored]] = {}
    for broker in running.brokers:
        reader = Reader(running, broker)
        for queue in range(QUEUES):
            for data in reader.pull(TOPIC, queue, 0, reader.next_offset(TOPIC, queue) or 0):
                message = record.decode(data, exact=False)
                assert message is not None and message.body is not None
                found.setdefault(message.body.decode(), []).append(
                    Stored((broker, queue, message.queue_offset), message.properties.get(UNIQ_KEY, ""))
                )
        assert not reader.missed
        reader.close()
    return found


def outcome(name: str, told: list[str], places: Mapping[str, list[Stored]]) -> Outcome:
    """Return the outcome of the messages of a name."""
    mine = [places.get(f"{name} {number}", []) for number in range(TIMES)]
    sent = {number: tuple(text.split()[1:]) for number, text in enumerate(told) if text.startswith("SEND_OK ")}
    where = all(any(is_at(place, copy.place) for copy in mine[number]) for number, place in sent.items())
    often = Counter(min(len(found), 2) for found in mine)
    one_id = all(len({copy.id for copy in found}) < 2 for found in mine)
    return Outcome(len(sent), TIMES - len(sent), often[0], often[1], often[2], where, one_id)


def is_at(told: Sequence[str], place: Sequence[object]) -> bool:
    """Return whether this is the position that a producer reports, in which `-` stands for omitted parts."""
    return all(said in ("-", str(part)) for said, part in zip(told, place, strict=True))


@pytest.fixture(scope="module", params=PRODUCERS)
def outcomes(request: pytest.FixtureRequest) -> dict[Fault | None, Outcome]:
    """Return the outcome of the affected messages by fault; None means no fault."""
    profile, started = PRODUCERS[request.param]
    struck: set[bytes | None] = set()
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
        places = until(partial(stored, running), lambda _: False, 2.0, 0.2)  # delayed frames may still be in flight
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
EACH = {Fault.SLOW: STORED_TWICE, Fault.SILENT: STORED_TWICE}
"""Each attempt has the time that a send is given."""
OF_PYTHON = {
    fault: outcome._replace(one_id=outcome is not STORED_TWICE or fault is Fault.DOUBLED) for fault, outcome in {**IN_TIME, **EACH}.items()
}
"""Each attempt has an id of its own, so that nobody can tell a copy by it."""
EXPECTED = {
    "P494": {**IN_TIME, **UNNOTICED},
    "P533": IN_TIME,
    "Java 4.9.4": {**IN_TIME, **UNNOTICED},
    "Java 5.3.3": IN_TIME,
    "Go 2.1.2": {**IN_TIME, **OF_GO},
    "Node 3.12.0": {**IN_TIME, **EACH},
    "Rust 1.0.0": {**IN_TIME, **UNNOTICED, Fault.GARBAGE: IN_DOUBT},
    "Python 0.4.4": OF_PYTHON,
}


@pytest.mark.behaviour("CLI-27", "CLI-28", "CLI-30")
def test_producer_reacts_to_each_fault_as_recorded(request: pytest.FixtureRequest, outcomes: dict[Fault | None, Outcome]) -> None:
    name = request.node.callspec.params["outcomes"]
    late = {fault: outcome for fault, outcome in EXPECTED[name].items() if TRIED_AGAIN.get(outcome) == outcomes.get(fault)}
    assert outcomes | late == EXPECTED[name]
