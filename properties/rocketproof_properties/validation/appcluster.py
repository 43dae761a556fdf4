"""`RocketMQ`: a cluster for the tests of an application, with faults on request, a recorded history, and a judgement of it.

Input: the target, the number of brokers and the topics. Output: the address of a name server for any client, and what the brokers did.
The pytest plugin provides it as the fixture `rocketmq`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from rocketproof_impl.message import Message
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.result import SendResult
from rocketproof_impl.store import record as records
from rocketproof_impl.system.client import Client
from rocketproof_profiles import PROFILES
from rocketproof_protocol.codes import SUCCESS, SYSTEM_BUSY
from rocketproof_protocol.properties import UNIQ_KEY
from rocketproof_protocol.shown import printable
from rocketproof_traces.common.outcomes import JudgingOutcome
from rocketproof_traces.history import read
from rocketproof_traces.history.exchange import Exchange
from rocketproof_traces.history.exchanges import SENDS, pair

from ..brokers import routed
from ..brokers.choose import choose_named
from ..brokers.comeback import come_back
from ..brokers.deployment import Setup, TargetError, ValidationTarget
from ..brokers.inprocess import InProcess, InProcessDeployment
from ..brokers.recordingproxy import Proxies, RequestFault
from ..brokers.runs.parsed import readable
from ..brokers.runs.readback import Reader
from ..brokers.runs.recording import HistoryRecorder, wall
from ..judging.undecided import Undecided
from ..programs.parts import NAME_SERVER
from ..reports.choices import known

if TYPE_CHECKING:
    from rocketproof_traces.checker.histories import HistoryVerdict

PROFILE: Final = "P494"
GROUP: Final = "rocketproof-test"
"""The producer group of `RocketMQ.send`."""
QUEUES: Final = 4


@dataclass(frozen=True)
class LostMessage:
    """A message that a broker acknowledged and no longer has. `seq` is the event of its request in the history."""

    topic: str
    broker: str
    queue: int
    offset: int
    msg_id: str
    seq: int

    def __str__(self) -> str:
        return (
            f"{printable(self.topic)} queue {self.queue} offset {self.offset} of {self.broker} ({printable(self.msg_id)}, event {self.seq})"
        )


@dataclass(frozen=True)
class ClusterJudgement:
    """The specification's verdict on the recorded responses, and the acknowledged messages that are lost (PRO-03)."""

    verdict: HistoryVerdict
    lost: tuple[LostMessage, ...]
    history: Path

    @property
    def problems(self) -> tuple[str, ...]:
        """One text per finding and per lost message."""
        return (
            *(str(finding) for finding in self.verdict.findings),
            *(f"acknowledged and lost: {message}" for message in self.lost),
        )


@dataclass(frozen=True)
class ClusterSetup:
    """What a test needs: topics with a route on every broker, and the brokers' settings by RocketMQ's names.

    `target`: "" for reference brokers in this process, otherwise any target, such as 4.9.4. `profile` is that of reference brokers.
    """

    target: str = ""
    profile: str | None = None
    brokers: int = 1
    topics: tuple[str, ...] = ()
    queues: int = QUEUES
    settings: Mapping[str, str] = field(default_factory=dict)


class RocketMQ:
    """A running cluster behind proxies that record each request. A context manager; `close` leaves no process, port or folder.

    Raises TargetError if the cluster cannot be started or a topic gets no route.
    """

    def __init__(self, setup: ClusterSetup, folder: Path) -> None:
        target = _target_of(setup)
        self.profile = target.profile
        self.history_file = folder / "history.ndjson"
        self._queues = setup.queues
        self._down: set[str] = set()
        with ExitStack() as stack:
            self._deployment = stack.enter_context(target.open(Setup(setup.brokers, dict(setup.settings))))
            if self._deployment.name_server is None:
                raise TargetError(f"{target.name} has no name server; give the address of its name server")
            self._recording = HistoryRecorder(self.history_file, self._origin(target))
            stack.callback(self._recording.close)
            routed.create_topics(self._deployment.name_server, self._deployment.brokers, setup.topics, setup.queues)
            for broker in self._deployment.brokers:
                self._record_topics(broker)
            self._proxies = Proxies(self._deployment, self._recording)
            stack.callback(self._proxies.close)
            self._opened = stack.pop_all()

    @property
    def namesrv_addr(self) -> str:
        """The name server's address for clients, host:port."""
        return self._proxies.address(NAME_SERVER)

    @property
    def brokers(self) -> tuple[str, ...]:
        """The brokers' names: broker-a, broker-b and so on."""
        return tuple(self._deployment.brokers)

    def address(self, broker: str) -> str:
        """Return the broker's address for clients, host:port."""
        return self._proxies.address(known("broker", broker, self.brokers))

    # Topics and messages

    def create_topic(self, topic: str, *brokers: str, queues: int | None = None) -> None:
        """Create a topic, by default on every broker, and wait until its route has these brokers."""
        addresses = {name: self._deployment.brokers[known("broker", name, self.brokers)] for name in brokers or self.brokers}
        for name in addresses:
            self._need_running(name)
        routed.create_topics(self._name_server, addresses, [topic], queues or self._queues)
        for name in addresses:
            self._record_topics(name)

    def wait_for_route(self, topic: str, *brokers: str, seconds: float = routed.SECONDS) -> None:
        """Wait until the name server has a route to the topic with these brokers. Raises NoRoute after `seconds`."""
        routed.await_routes(self._name_server, [topic], brokers, seconds)

    def send(self, topic: str, body: bytes | str, *, millis: int = 3000) -> SendResult:
        """Send a message with a producer of the reference implementation, for tests without a client library.

        Raises ClientError, such as "No route info of this topic", BrokerError for an error response, RemotingError.
        """
        message = Message(topic, body=body.encode() if isinstance(body, str) else body)
        return self._client.background.run(self._producer.send(message, millis))

    # Faults of requests and connections, of any target

    def lose_request(self, op: str = "send", *, broker: str = "", times: int = 1) -> None:
        """Break the connection of the next requests of an operation before the broker gets them."""
        self._proxies.inject(RequestFault("lose request", op, broker, times))

    def lose_response(self, op: str = "send", *, broker: str = "", times: int = 1) -> None:
        """Break the connection of the next requests of an operation after the broker has performed them, before the response."""
        self._proxies.inject(RequestFault("lose response", op, broker, times))

    def reject(self, op: str = "send", *, code: int = SYSTEM_BUSY, remark: str = "", broker: str = "", times: int = 1) -> None:
        """Answer the next requests of an operation with an error code; the broker does not get them."""
        self._proxies.inject(RequestFault("reject", op, broker, times, code, remark))

    def delay(self, seconds: float, op: str = "send", *, broker: str = "", times: int = 1) -> None:
        """Delay the next requests of an operation."""
        self._proxies.inject(RequestFault("delay", op, broker, times, seconds=seconds))

    def disconnect(self, part: str) -> None:
        """Cut a broker, or `name server`, off from its clients until `reconnect`. It stays registered."""
        self._proxies.cut(part)

    def reconnect(self, part: str) -> None:
        self._proxies.restore(part)

    # Faults of brokers

    def stop(self, broker: str) -> None:
        """Stop a broker gracefully."""
        self._end(broker, "stop", self._deployment.stop)

    def kill(self, broker: str) -> None:
        """Kill a broker like `kill -9`: what it has written stays."""
        running = self._deployment
        self._end(broker, "crash", running.cut_off if isinstance(running, InProcessDeployment) else running.kill)

    def lose_power(self, broker: str) -> None:
        """End a broker like an outage of its machine: only what was flushed to the device stays.

        Raises TargetError unless the brokers are reference brokers in this process.
        """
        if not isinstance(self._deployment, InProcessDeployment):
            raise TargetError(f"{self._deployment.name} cannot lose power; leave out the target to use reference brokers")
        self._end(broker, "crash", self._deployment.lose_power)

    @property
    def can_lose_power(self) -> bool:
        return isinstance(self._deployment, InProcessDeployment)

    def start(self, broker: str, settings: Mapping[str, str] | None = None) -> None:
        """Start a broker again on its files, with some settings changed, and wait until it has registered."""
        come_back(self._deployment, known("broker", broker, self.brokers), settings)
        self._down.discard(broker)

    # History and judgement

    def history(self) -> tuple[Exchange, ...]:
        """Return the requests so far with their responses, in the order in which they were sent."""
        _, events = read(self.history_file)
        return pair(list(events)).exchanges

    def lost(self) -> tuple[LostMessage, ...]:
        """Return the acknowledged messages that the brokers no longer have. Raises Undecided if a broker does not run or answer."""
        lost: list[LostMessage] = []
        readers: dict[str, Reader] = {}
        exact = PROFILES[self.profile].exact_properties if self.profile in PROFILES else True
        try:
            for exchange in self.history():
                if exchange.op not in SENDS or exchange.code != SUCCESS:
                    continue
                self._need_running(exchange.broker)
                reader = readers.setdefault(exchange.broker, Reader(self._deployment, exchange.broker))
                for number, place in enumerate(exchange.places):
                    if not _is_there(reader, exchange, place, number, exact=exact):
                        lost.append(_lost(exchange, number))
        finally:
            for reader in readers.values():
                reader.close()
        return tuple(lost)

    def judge(self, *, lost: bool = True) -> ClusterJudgement:
        """Judge the recorded responses by the specification, and with `lost` whether acknowledged messages are still there.

        Raises AssertionError for responses that the profile does not explain and for lost messages. Raises Undecided if a bound was
        reached, or if a broker does not run.
        """
        __tracebackhide__ = True
        from rocketproof_traces.checker.histories import judge_history  # it loads the checker, which the start of a cluster does not need

        header, events = read(self.history_file)
        verdict = judge_history(header, list(events), self.profile)
        judgement = ClusterJudgement(verdict, self.lost() if lost else (), self.history_file)
        if judgement.problems:
            raise AssertionError("\n".join([*judgement.problems, f"recorded in {self.history_file}"]))
        if verdict.verdict is JudgingOutcome.UNDECIDED:
            raise Undecided("\n".join([*(f"not decided: {reason}" for reason in verdict.unknown), f"recorded in {self.history_file}"]))
        return judgement

    def close(self) -> None:
        """Stop everything. A second call does nothing."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # Parts

    @cached_property
    def _client(self) -> Client:
        return self._opened.enter_context(Client())

    @cached_property
    def _producer(self) -> Producer:
        return self._client.producer(GROUP, name_servers=(self.namesrv_addr,))

    @property
    def _name_server(self) -> str:
        assert self._deployment.name_server is not None
        return self._deployment.name_server

    def _origin(self, target: ValidationTarget) -> dict[str, Any]:
        """Return the header of the history: the target, and the settings that the judge reads."""
        reader = Reader(self._deployment, next(iter(self._deployment.brokers)))
        try:
            settings = readable(reader.settings() or {})
        finally:
            reader.close()
        return {
            "target": {"name": target.name},
            "profile": self.profile,
            "brokers": dict(self._deployment.brokers),
            "settings": settings,
            "cluster": settings.get("brokerClusterName", "DefaultCluster"),
        }

    def _record_topics(self, broker: str) -> None:
        """Record a broker's topic table, which the judge needs before the first request."""
        reader = Reader(self._deployment, broker)
        try:
            topics = reader.topics()
        finally:
            reader.close()
        if topics is not None:
            self._recording.add("state", broker, "topics", {"topics": topics})

    def _end(self, broker: str, event: str, end: Callable[[str], None]) -> None:
        self._need_running(broker)
        end(broker)
        self._recording.add("crash", broker, event, {"at": wall()})
        self._down.add(broker)

    def _need_running(self, broker: str) -> None:
        if known("broker", broker, self.brokers) in self._down:
            raise Undecided(f"{broker} does not run; start it with rocketmq.start({broker!r})")


def _target_of(setup: ClusterSetup) -> ValidationTarget:
    if not setup.target or setup.target.partition(":")[0] == "inprocess":
        return InProcess(setup.profile or setup.target.partition(":")[2] or PROFILE, volatile=True)
    return choose_named(setup.target, setup.profile, "--rocketmq-target")


def _is_there(reader: Reader, exchange: Exchange, place: int, number: int, *, exact: bool) -> bool:
    """Return whether the message is at its place in the log. A record that another message has replaced is not the message."""
    data = reader.view(place)
    if data is None:
        raise Undecided(f"{exchange.broker} did not answer whether it still has a message: {reader.faults[-1:] or ''}")
    message = records.decode(data, exact=exact) if data else None
    first = exchange.answered("queueOffset")
    if message is None or (first is not None and message.queue_offset != first + number):
        return False
    sent = exchange.properties.get(UNIQ_KEY) if exchange.op == "send" else None
    return sent is None or message.properties.get(UNIQ_KEY) == sent


def _lost(exchange: Exchange, number: int) -> LostMessage:
    fields = exchange.response_fields
    ids = str(fields.get("msgId", "")).split(",")
    offset, queue = exchange.answered("queueOffset"), exchange.answered("queueId")
    return LostMessage(
        exchange.topic,
        exchange.broker,
        -1 if queue is None else queue,
        -1 if offset is None else offset + number,
        exchange.properties.get(UNIQ_KEY, ids[number] if number < len(ids) else ""),
        exchange.seq,
    )


def setup_of(target: str, profile: str | None, marked: Iterable[Mapping[str, Any]]) -> ClusterSetup:
    """Return the setup of a test: the values of its markers, the closest first, and of the options.

    Raises TypeError for an unknown name. A marker's `profile` counts for reference brokers only: a release has its own.
    """
    values: dict[str, Any] = {}
    for marker in marked:
        values = {**marker, **values}
    own = values.pop("profile", None)
    if not target or target.partition(":")[0] in ("inprocess", "served"):
        profile = own or profile
    values["topics"] = (values["topics"],) if isinstance(values.get("topics"), str) else tuple(values.get("topics", ()))
    values["settings"] = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.get("settings", {}).items()
    }
    return ClusterSetup(target, profile, **values)
