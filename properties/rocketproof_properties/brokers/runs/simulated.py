"""A program on a simulated cluster: the events of its run in memory, and the history for claims.

Requests are sent one after the other without waiting for delayed responses. Each has a connection of its own. The history closes it when
its response arrives, or at the end. `state` events contain what only direct access shows:

- what each request stored
- its group and topic when it was served
- the content of the stores at the end
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_profiles import Profile
from rocketproof_protocol.codes import CHECK_TRANSACTION_STATE, NOTIFY_CONSUMER_IDS_CHANGED
from rocketproof_protocol.topics import DLQ_PREFIX, HALF_TOPIC, OP_HALF_TOPIC, RETRY_PREFIX, SCHEDULE
from rocketproof_traces.history import Event
from rocketproof_traces.history.exchanges import STRAY
from rocketproof_traces.stored.record import StoredRecord

from ...catalogue.history import History
from ...programs.call import Context, RecordedCall, StoredPlace
from ...programs.names import ProgramNames
from ...programs.parts import NAME_SERVER
from ...programs.settings import ClusterSettings
from ...programs.sizes import left_of_file
from ...programs.vocabulary import ENDS_PROCESS, Step, arguments, is_request, request_of
from ..simulated import SECOND, SimulatedConnection, SimulatedDeployment, cluster_of
from .claimhistory import history_of_stores
from .parsed import parse
from .recording import answer_data, bytes_data, call_data

LONGEST_DELAY: Final = 2 * 3600 * SECOND
PATIENCE: Final = 20 * SECOND  # longer than any put takes


def history_of(profile: Profile, setting: ClusterSettings, steps: Sequence[Step]) -> History:
    """Return the history of a program, with a twin also the stored properties without hooks. Raises InputError for an unknown step."""
    history = _performed(SimulatedRun(profile, setting), steps)
    if setting.twin:
        bare = _performed(SimulatedRun(profile, setting, hookless=True), steps)
        history.twin = {n: tuple(r.properties_text for r in bare.stored(e)) for n, e in enumerate(bare.exchanges)}
    return history


def _performed(run: SimulatedRun, steps: Sequence[Step]) -> History:
    for step in steps:
        run.step(step)
    return run.history()


@dataclass
class _StoreContext(Context):
    """The context of steps, read from the stores."""

    deployment: SimulatedDeployment = field(kw_only=True)

    def part(self, broker: str | int) -> str:
        return self.deployment.node(broker).name

    def stored(self, to: str) -> Sequence[StoredPlace]:
        half = self.profile.half_messages
        records = self.deployment.records(to).records
        return [StoredPlace(r.at, r.queue_offset, half and r.topic == HALF_TOPIC, is_visible(r), r.topic) for r in records]

    def free(self, to: str) -> int:
        node = self.deployment.node(to)
        size = node.settings.mapped_file_size_commit_log
        return left_of_file(node.running.store.max_phy_offset, size)

    def longest(self, to: str) -> int:
        return self.deployment.node(to).settings.max_message_size


def is_visible(record: StoredRecord) -> bool:
    """Return whether consumers can read the record at its place."""
    return record.counted and record.topic not in (SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC)


@dataclass
class _Outstanding:
    """A request in progress. `span`: the ends of its broker's log before it and right after it."""

    event: Event
    opaque: int
    one_way: bool
    open: bool = True
    span: tuple[int, int] = (0, 0)


class SimulatedRun:
    """A cluster that runs a program, and the events so far. `hookless`: steps that register hooks do nothing."""

    def __init__(self, profile: Profile, setting: ClusterSettings, *, hookless: bool = False) -> None:
        self.deployment = SimulatedDeployment(cluster_of(setting, profile), periodic=setting.periodic, hookless=hookless)
        self.cluster = self.deployment.cluster
        self.events: list[Event] = []
        self._context = _StoreContext(ProgramNames("", 0), "", profile=profile, deployment=self.deployment, now=self.cluster.clock.now)
        self._asked: list[_Outstanding] = []
        self._lines: dict[str, SimulatedConnection] = {}
        self._failed: set[tuple[str, int]] = set()
        self._questions: list[dict[str, Any]] = []
        self._notified: dict[str, set[str]] = {}
        self._periodic = setting.periodic
        self._topic_facts: dict[tuple[str, str, str, str], None] = {}
        if setting.periodic:
            self.deployment.passed = self._note_topics
            self.deployment.used = self._note_use
            self._note_topics()

    def step(self, step: Step) -> None:
        """Perform one step of a program. Raises InputError for an unknown step or argument."""
        name, args = step
        if is_request(name):
            call = request_of(step, self._context)
            if call is not None:
                self._call(call)
        elif name == "fail":
            self._fail(self._context.part(args.get("broker", 0)), **arguments(step))
        elif name == "lose":
            self._lose(**arguments(step))
        elif name == "hang_up":
            for address in [*self._lines]:
                self._lines.pop(address).close()
        elif name == "question":
            self._wait_for_question()
        elif name == "checked":
            self._check()
        elif name == "notified":
            self._write_notifications()
        elif name != "meet":
            self.deployment.act(name, args.get("broker", 0), **arguments(step))
            if name in ENDS_PROCESS:
                self._forget(self._context.part(args.get("broker", 0)))
        if self._periodic:
            self._note_topics()

    # Requests

    def _call(self, call: RecordedCall) -> None:
        if call.to == NAME_SERVER:
            self._call_name_server(call)
            return
        node = self.deployment.node(call.to)
        store = node.running.store
        group = call.fields.get("group") or call.fields.get("topic", "").removeprefix(RETRY_PREFIX)
        config = node.running.groups.table.get(group)
        before = store.max_phy_offset
        request = self._begin(call)
        topic = node.running.topics.table.get(call.fields.get("topic", ""))
        request.span = (before, store.max_phy_offset)
        queues = None if topic is None else (topic.read_queue_nums, topic.write_queue_nums)
        self._add("state", call.to, "served", {"of": request.event.seq, "retries": config and config.retry_max_times, "queues": queues})

    def _call_name_server(self, call: RecordedCall) -> None:
        self._begin(call)
        self._note_routes()

    def _begin(self, call: RecordedCall) -> _Outstanding:
        """Send a request, and run everything that needs no time."""
        number = len(self._asked) + 1
        event = self._add("invoke", f"client {number}", call.op, call_data(call, self.cluster.clock.now(), bytes_data))
        request = _Outstanding(event, number, call.one_way)
        self._asked.append(request)
        command = call.command()
        command.opaque = number
        command.flag |= ONE_WAY if call.one_way else 0
        if call.one_way:
            self._close(request, "info", {"oneWay": True})
        connection = self._lines.get(call.line) or SimulatedConnection(self.deployment, call.to)
        connection.arrived = lambda answer: self._arrived(request, answer)
        if call.line:
            self._lines[call.line] = connection
        connection.begin(command)
        return request

    def _wait_for_question(self) -> None:
        """Let time pass and the brokers check unfinished half messages. Without a check, the client is the last heartbeat's producer."""
        self._check()
        producers = [request.event.process for request in self._asked if request.event.op == "heartbeat"]
        question = next(iter(self._questions), {"code": None, "client": producers[-1] if producers else ""})
        self._questions.clear()
        self._add("info", str(question["client"]), "question", question)

    def _check(self) -> None:
        """Let time pass, and the brokers check their half messages once."""
        self.deployment.act("time", millis=PATIENCE)
        for node in self.cluster.nodes.values():
            self.cluster.scheduler.complete(node.running.transaction_check.check())

    def _write_notifications(self) -> None:
        """Record the notifications. Each consumer that got one has a connection of its own."""
        for client, groups in self._notified.items():
            self._add("info", client, "notified", {"client": client, "groups": sorted(groups)})
        self._notified.clear()

    def _arrived(self, request: _Outstanding, answer: Command) -> None:
        value = answer_data(answer, self.cluster.clock.now(), bytes_data)
        if answer.code == CHECK_TRANSACTION_STATE and not answer.is_response:
            self._questions.append({**value, "client": request.event.process})
            return
        if answer.code == NOTIFY_CONSUMER_IDS_CHANGED and not answer.is_response:
            self._notified.setdefault(request.event.process, set()).add((answer.ext_fields or {}).get("consumerGroup", ""))
            return
        if request.open and answer.opaque == request.opaque:
            self._close(request, "ok", value)
        else:
            seq = request.event.seq if answer.opaque == request.opaque else None
            self._add("info", request.event.process, STRAY, {"of": seq, **value})

    def _close(self, request: _Outstanding, type_: str, value: Mapping[str, Any]) -> None:
        request.open = False
        self._add(type_, request.event.process, request.event.op, value)

    def _add(self, type_: str, process: str, op: str, value: Mapping[str, Any]) -> Event:
        event = Event(len(self.events), type_, process, op, value, self.cluster.clock.now() * 1_000_000)
        self.events.append(event)
        return event

    # Composite steps

    def _fail(self, broker: str, record: int, group: str, rounds: int, level: int, most: int | None) -> None:
        """Consumption of a message fails at each delivery: `rounds` times, or until it is no longer delivered."""
        candidates = [r for r in self._visible(broker) if (broker, r.born_timestamp) not in self._failed]
        if not candidates:
            return
        current = candidates[record % len(candidates)]
        self._failed.add((broker, current.born_timestamp))
        for _ in range(rounds):
            self.step(("back", {"broker": broker, "offset": current.at, "group": group, "level": level, "most": most}))
            self.step(("time", {"millis": LONGEST_DELAY}))
            later = [r for r in self._visible(broker) if r.born_timestamp == current.born_timestamp and r.at > current.at]
            if not later or later[-1].topic.startswith(DLQ_PREFIX):
                return
            current = later[-1]

    def _visible(self, broker: str) -> list[StoredRecord]:
        return [r for r in self.deployment.records(broker).records if is_visible(r)]

    def _lose(self, address: str, *, overlap: bool, pause: bool) -> None:
        del overlap, pause  # everything that follows from a closed connection has happened before the next request
        connection = self._lines.pop(self._context.names.address(address), None)
        if connection is not None:
            connection.close()
        self._note_routes()

    def _forget(self, broker: str) -> None:
        """After a crash, limit what each request has stored to what the log has kept."""
        end = self.deployment.node(broker).running.store.max_phy_offset
        for request in self._asked:
            if request.event.value["to"] == broker:
                before, after = request.span
                request.span = (min(before, end), min(after, end))

    # Changes of topics and routes

    def _note_routes(self) -> None:
        server = self.cluster.name_server
        queues = {topic: tuple(q.broker_name for q in entries) for topic, entries in server.topic_queue_table.items()}
        addresses = {name: dict(data.broker_addrs) for name, data in server.broker_addr_table.items()}
        self._add("state", NAME_SERVER, "routes", {"queues": queues, "addresses": addresses})

    def _note_use(self, producer: Producer, topic: str) -> None:
        self._note("used", topic, by=producer.group)

    def _note_topics(self) -> None:
        """Record the changes of topics since the last call."""
        server = self.cluster.name_server
        seen: dict[tuple[str, str, str, str], None] = {}
        for node in self.cluster.nodes.values():
            for topic in node.running.topics.table:
                seen["created", topic, node.name, ""] = None
        for topic, entries in server.topic_queue_table.items():
            for entry in entries:
                seen["routed", topic, entry.broker_name, ""] = None
        for producer in self.deployment.producers.values():
            for topic, info in producer.topic_publish_info_table.items():
                for queue in info.message_queue_list:
                    seen["known", topic, queue.broker_name, producer.group] = None
        for key in seen:
            if key not in self._topic_facts:
                self._note(*key)
        for what, topic, who, by in self._topic_facts:
            if (what, topic, who, by) not in seen and what != "created":
                self._note({"routed": "unrouted", "known": "forgotten"}[what], topic, who, by)
        self._topic_facts = seen

    def _note(self, what: str, topic: str, who: str = "", by: str = "") -> None:
        self._add("state", who or by, what, {"topic": topic, "who": who, "by": by, "at": self.cluster.clock.now()})

    # The resulting history

    def history(self) -> History:
        """Complete all waits, dispatch, read the stores, and return the history. Later releases dispatch only what is flushed."""
        if not self._periodic:
            self.cluster.scheduler.advance(PATIENCE)
        for node in self.cluster.nodes.values():
            if node.broker is not None:
                node.broker.store.flush_now()
        self.cluster.dispatch()
        for request in self._asked:
            if request.open:
                self._close(request, "info", {"error": "TimedOut: no answer came"})
        for name, node in self.cluster.nodes.items():
            value = vars(self.deployment.look(name)) | {"longest": node.settings.max_message_size, "stored": self._stored(name)}
            self._add("state", name, "store", {**value, "at": self.cluster.clock.now()})
        return history_of_stores(parse(self.events), self.deployment.profile)

    def _stored(self, broker: str) -> dict[int, tuple[int, ...]]:
        """Return the places of each request's records."""
        places = [record.at for record in self.deployment.records(broker).records]
        stored = {}
        for request in self._asked:
            if request.event.value["to"] == broker:
                before, after = request.span
                stored[request.event.seq] = tuple(places[bisect_left(places, before) : bisect_left(places, after)])
        return stored
