"""Programs of plain messages on a simulated cluster: steps as data, and the history that they leave.

A step is a name and its arguments, such as `("send", {"topic": "A", "body": "x"})`; what is left out has its default. Records
are named by their number among those that fit, so that a program means something whatever came before, and any part of it
is a program too.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.broker.hooks import ConsumeMessageContext, SendMessageContext
from rocketproof_impl.java import JavaError
from rocketproof_impl.message import Message, properties_text
from rocketproof_impl.producer.errors import ClientError
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.errors import RemotingError
from rocketproof_impl.remoting.headers import SendMessageRequestHeader, encode_v1, encode_v2
from rocketproof_impl.simulator.cluster import Cluster, Node
from rocketproof_impl.simulator.disk import SimulatedDisk
from rocketproof_impl.simulator.faults import DiskFaults, heal, inject
from rocketproof_impl.simulator.journal import Metadata, PowerLoss
from rocketproof_impl.simulator.network import Letter
from rocketproof_impl.store.consumequeue import ENTRY_SIZE
from rocketproof_impl.store.flush import FlushOnDemand
from rocketproof_impl.store.service import DISK_FULL
from rocketproof_impl.tasks import Future
from rocketproof_impl.topic import DataVersion, TopicConfig
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE, TEMPLATE
from rocketproof_traces.stored.layout import FIXED_SIZE
from rocketproof_traces.stored.record import Log, Record, read_log

from ..histories.history import Answer, Entry, Event, Exchange, History, Request, Routes
from ..steps.requests import BORN, batch_item
from ..steps.sizes import stored_length
from ..steps.vocabulary import Step

SECOND = 1000
LONGEST_DELAY = 2 * 3600 * SECOND
PATIENCE = 20 * SECOND  # longer than any put waits


@dataclass
class Setting:
    """Where programs run: settings of the brokers, how many there are, whether periodic tasks run, whether hooks count."""

    brokers: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    periodic: bool = False
    twin: bool = False


def history_of(profile: Profile, setting: Setting, steps: Sequence[Step]) -> History:
    """The history of a program; with a twin also what is stored without hooks."""
    made = Stage(profile, setting)
    for name, args in steps:
        made.step(name, args)
    history = made.history()
    if setting.twin:
        other = Stage(profile, setting, hookless=True)
        for name, args in steps:
            other.step(name, args)
        bare = other.history()
        history.twin = {n: tuple(r.properties_text for r in bare.stored(e)) for n, e in enumerate(bare.exchanges)}
    return history


class _Line:
    """A connection for one request: what is written on it is its answers."""

    def __init__(self, exchange: Exchange) -> None:
        self.remote = ("127.0.0.1", 50_000)
        self._exchange = exchange

    def write(self, command: Command) -> None:
        fields = dict(command.ext_fields or {})
        self._exchange.answers.append(Answer(command.code, command.opaque, command.remark, fields))


class _Stuck:
    """A flush that never ends."""

    def request(self, next_offset: int) -> Future[bool]:
        del next_offset
        return Future()

    def wakeup(self) -> None:
        pass


class _Replica:
    """One slave: near enough, and as fast as it is told to be."""

    connections = 1

    def __init__(self, quick: bool) -> None:
        self.push2_slave_max_offset = 2**40 if quick else 0
        self._quick = quick

    def request(self, next_offset: int) -> Future[bool]:
        answer: Future[bool] = Future()
        if self._quick and next_offset >= 0:
            answer.complete(True)
        return answer


class _Hook:
    """A hook that looks and does nothing."""

    def send_message_before(self, context: SendMessageContext) -> None:
        pass

    def send_message_after(self, context: SendMessageContext) -> None:
        pass

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        pass


class Stage:
    """A cluster on which a program runs, and what was seen so far. `hookless`: steps that register hooks do nothing."""

    def __init__(self, profile: Profile, setting: Setting, *, hookless: bool = False) -> None:
        self.profile = profile
        self.cluster = Cluster(setting.brokers, profile=profile, **setting.settings)
        self.exchanges: list[Exchange] = []
        self._spans: list[tuple[int, int]] = []
        self._hookless = hookless
        self._periodic = setting.periodic
        self._routes: list[Routes] = []
        self._events: list[Event] = []
        self._true: dict[tuple[str, str, str, str], bool] = {}
        self._producers: dict[int, Producer] = {}
        self._failed: set[tuple[int, int]] = set()
        self._steps: dict[str, Callable[..., None]] = {
            name.removeprefix("_do_"): getattr(self, name) for name in dir(self) if name.startswith("_do_")
        }
        if setting.periodic:
            for node in self.cluster.nodes.values():
                self._repeat(node.running.registration)
            self._look()

    def step(self, name: str, args: Mapping[str, Any]) -> None:
        """Do one step of a program. Raises KeyError for a name that is none."""
        self._steps[name](**args)
        if self._periodic:
            self._look()

    # Requests

    def _ask(self, broker: int, code: int, fields: dict[str, str], body: bytes | None, asked: Request) -> Exchange:
        """Send a request, and let everything happen that needs no time."""
        node = self._node(broker)
        store = node.running.store
        exchange = Exchange(node.name, asked, self.cluster.clock.now())
        config = node.running.groups.table.get(asked.group)
        exchange.retries = RETRY_MAX_TIMES if config is None else config.retry_max_times
        before = store.max_phy_offset
        command = Command(code, fields, body, asked.opaque, ONE_WAY if asked.one_way else 0, asked.version)
        node.running.receive(_Line(exchange), command)
        self.cluster.scheduler.settle()
        topic = node.running.topics.table.get(asked.topic)
        exchange.queues = None if topic is None else max(topic.read_queue_nums, topic.write_queue_nums)
        self.exchanges.append(exchange)
        self._spans.append((before, store.max_phy_offset))
        return exchange

    def _do_send(
        self,
        *,
        topic: str = "A",
        queue: int = 0,
        properties: Mapping[str, str] | None = None,
        body: str | None = "a",
        size: int = 0,
        leave: int | None = None,
        items: Sequence[tuple[str, Mapping[str, str]]] | None = None,
        default: str = TEMPLATE,
        nums: int = 4,
        sys_flag: int = 0,
        flag: int = 0,
        times: int = 0,
        most: int | None = 16,
        version: int = 399,
        unit: bool = False,
        code: int = 310,
        packed: bool = False,
        one_way: bool = False,
        broker: int = 0,
    ) -> None:
        """A message or, with `items`, a batch. `size` fills the body up; `leave` makes the record leave so many bytes in its file;
        `packed` compresses the body, which the sender's flag says and the broker need not know."""
        opaque = len(self.exchanges) + 1
        given = dict(properties or {})
        content = None if body is None else body.encode().ljust(size, b"x")
        if packed and content is not None:
            content = zlib.compress(content)
        if leave is not None:
            content = b"x" * self._room(broker, topic, given, leave)
        text = properties_text(given, trailing=False)
        header = SendMessageRequestHeader(
            "producers", topic, default, nums, queue, sys_flag, BORN + opaque, flag, text, times, unit, most, items is not None
        )
        bodies: tuple[bytes | None, ...] = (content,)
        if items is not None:
            bodies = tuple(item.encode() for item, _ in items)
            content = b"".join(batch_item(item.encode(), properties_text(dict(more), trailing=False)) for item, more in items)
            code = codes.SEND_BATCH_MESSAGE
        fields = encode_v1(header) if code == codes.SEND_MESSAGE else encode_v2(header)
        kind = "send" if items is None else "batch"
        group = topic.removeprefix("%RETRY%") if topic.startswith("%RETRY%") else ""
        asked = Request(kind, opaque, one_way, topic, group, queue, sys_flag, given, bodies, times, most, version)
        self._ask(broker, code, fields, content, asked)

    def _room(self, broker: int, topic: str, properties: dict[str, str], leave: int) -> int:
        """The body's size with which a record leaves so many bytes of its file; 1 if it cannot."""
        settings = self._node(broker).settings
        region, traced = settings.region_id, settings.trace_on
        stored = stored_length(properties, self.profile, cluster=settings.broker_cluster_name, region=region, traced=traced)
        fixed = FIXED_SIZE + len(topic) + stored
        free = settings.mapped_file_size_commit_log - self._node(broker).running.store.max_phy_offset % settings.mapped_file_size_commit_log
        return max(1, min(free - leave, settings.max_message_size) - fixed)

    def _do_back(
        self,
        *,
        record: int = 0,
        group: str = "g",
        level: int = 0,
        most: int | None = 16,
        version: int = 399,
        unit: bool = False,
        one_way: bool = False,
        offset: int | None = None,
        broker: int = 0,
    ) -> None:
        """A consumer gives a record back; nothing happens if there is none. `offset` asks for a place that need not be one."""
        found = [r for r in self._log(broker).records if _visible(r)]
        if found or offset is not None:
            self._back(broker, found[record % len(found)].at if offset is None else offset, group, level, most, version, unit, one_way)

    def _back(
        self,
        broker: int,
        offset: int,
        group: str,
        level: int,
        most: int | None,
        version: int = 399,
        unit: bool = False,
        one_way: bool = False,
    ) -> Exchange:
        fields = {"offset": str(offset), "group": group, "delayLevel": str(level), "unitMode": "true" if unit else "false"}
        fields["originTopic"] = next((r.topic for r in self._log(broker).records if r.at == offset), "A")
        if most is not None:
            fields["maxReconsumeTimes"] = str(most)
        opaque = len(self.exchanges) + 1
        asked = Request(
            "send_back", opaque, one_way, group=group, max_reconsume_times=most, version=version, delay_level=level, offset=offset
        )
        return self._ask(broker, codes.CONSUMER_SEND_MSG_BACK, fields, None, asked)

    def _do_fail(
        self, *, record: int = 0, group: str = "g", rounds: int = 20, level: int = 0, most: int | None = 16, broker: int = 0
    ) -> None:
        """A message comes, its consumption fails, and again: so many times, or until no more of it comes. Each fails once in a program."""
        found = [r for r in self._log(broker).records if _visible(r) and (broker, r.born_timestamp) not in self._failed]
        if not found:
            return
        current = found[record % len(found)]
        self._failed.add((broker, current.born_timestamp))
        for _ in range(rounds):
            self._back(broker, current.at, group, level, most)
            self._do_time(millis=LONGEST_DELAY)
            again = [
                r for r in self._log(broker).records if _visible(r) and r.born_timestamp == current.born_timestamp and r.at > current.at
            ]
            if not again or again[-1].topic.startswith("%DLQ%"):
                return
            current = again[-1]

    def _do_end(self, *, record: int = 0, commit: bool = True, broker: int = 0) -> None:
        """The end of a transaction, one-way as clients send it; nothing happens where there is no half message."""
        found = [r for r in self._log(broker).records if r.topic == HALF_TOPIC]
        if not found or not self.profile.half_messages:
            return
        half = found[record % len(found)]
        fields = {
            "producerGroup": "producers",
            "tranStateTableOffset": str(half.queue_offset),
            "commitLogOffset": str(half.at),
            "commitOrRollback": "8" if commit else "12",
            "msgId": "",
        }
        asked = Request("end_transaction", len(self.exchanges) + 1, one_way=True)
        self._ask(broker, codes.END_TRANSACTION, fields, None, asked)

    def _do_unknown(self, *, code: int = 9999, one_way: bool = True, broker: int = 0) -> None:
        """A request that nobody serves."""
        self._ask(broker, code, {}, None, Request("other", len(self.exchanges) + 1, one_way))

    def _do_topic(self, *, topic: str = "A", read: int = 4, write: int = 4, perm: int = 6, broker: int = 0) -> None:
        """An administrator makes or changes a topic."""
        fields = {
            "topic": topic,
            "defaultTopic": TEMPLATE,
            "readQueueNums": str(read),
            "writeQueueNums": str(write),
            "perm": str(perm),
            "topicFilterType": "SINGLE_TAG",
        }
        self._ask(broker, codes.UPDATE_AND_CREATE_TOPIC, fields, None, Request("other", len(self.exchanges) + 1))

    def _do_group(self, *, group: str = "g", queues: int = 1, retries: int = 16, broker: int = 0) -> None:
        """An administrator makes or changes a consumer group."""
        data = {"groupName": group, "retryQueueNums": queues, "retryMaxTimes": retries}
        asked = Request("other", len(self.exchanges) + 1)
        self._ask(broker, codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(data).encode(), asked)

    def _do_configure(self, *, line: str = "brokerPermission=6", broker: int = 0) -> None:
        """An administrator changes a setting at run time."""
        self._ask(broker, codes.UPDATE_BROKER_CONFIG, {}, line.encode(), Request("other", len(self.exchanges) + 1))

    # Time and faults

    def _do_time(self, *, millis: int = SECOND) -> None:
        """Time passes; what is due then is delivered."""
        scheduler = self.cluster.scheduler
        if self._periodic:
            for _ in range(millis // SECOND):
                scheduler.advance(SECOND)
                self._look()
            return
        scheduler.advance(millis)
        for node in self.cluster.nodes.values():
            store = node.running.store
            store.dispatch()
            if not store.shutdown:
                scheduler.complete(store.deliver_delayed(), "deliver delayed")
                store.dispatch()

    def _do_hooks(self, *, send: bool = True, consume: bool = False, broker: int = 0) -> None:
        hooks = self._node(broker).running.hooks
        if not self._hookless:
            hooks.send = [_Hook()] if send else []
            hooks.consume = [_Hook()] if consume else []

    def _do_flush(self, *, stuck: bool = True, broker: int = 0) -> None:
        """The broker flushes synchronously from here on, or would like to."""
        node = self._node(broker)
        store = node.running.store
        node.settings.flush_disk_type = "SYNC_FLUSH"

        def flush() -> int:
            store.flush_now()
            return store.flushed_where

        store.flush = _Stuck() if stuck else FlushOnDemand(flush)

    def _do_replica(self, *, state: str = "none", broker: int = 0) -> None:
        """The broker waits for a slave from here on: one that is not there, slow or quick."""
        node = self._node(broker)
        node.settings.broker_role = "SYNC_MASTER"
        store = node.running.store
        store.replicas = store.ha if state == "none" else _Replica(state == "quick")

    def _do_store(self, *, state: str = "good", broker: int = 0) -> None:
        """The store is full, busy, or good again."""
        store = self._node(broker).running.store
        store.flags.bits = DISK_FULL if state == "full" else 0
        store.commit_log.begin_time_in_lock = self.cluster.clock.now() - 2 * SECOND if state == "busy" else 0

    def _do_disk(self, *, full: bool = True, broker: int = 0) -> None:
        """No further file of the log can be made, or again."""
        disk = self._node(broker).disk

        def refuse(_: str, path: str) -> None:
            if "/commitlog/" in path and path not in disk.regions:
                raise OSError("no space left on device")

        disk.failing = refuse if full else None

    def _do_crash(self, *, power: bool = False, metadata: Metadata = "ordered", seed: int = 0, broker: int = 0) -> None:
        """The broker's process ends, or with `power` its machine, and it starts again; its disk is well then.

        What a start takes offence at is deleted by an administrator.
        """
        node = self._node(broker)
        name = next(name for name, each in self.cluster.nodes.items() if each is node)
        DiskFaults().inject(node, seed)
        if power:
            self.cluster.power_loss(name, PowerLoss(seed, metadata))
        else:
            self.cluster.crash(name, silent=True)
        while not self.cluster.restart(name):
            _mend(node.disk)
        end = node.running.store.max_phy_offset
        here = [exchange.broker == node.name for exchange in self.exchanges]
        self._spans = [(min(a, end), min(b, end)) if own else (a, b) for (a, b), own in zip(self._spans, here, strict=True)]

    def _do_faults(self, *, name: str | None = None, seed: int = 0) -> None:
        """Faults of this name happen from here on; none without a name."""
        if name is None:
            heal(self.cluster)
        else:
            inject(self.cluster, name, seed)

    def _do_clock(self, *, millis: int = -SECOND) -> None:
        """Somebody sets the clock."""
        self.cluster.clock.jump(millis)

    def _do_executor(self, *, full: bool = True, broker: int = 0) -> None:
        """The threads for sends: one, and no place to wait for it; or as many as are asked for."""
        executor = self._node(broker).executors["send"]
        executor.threads, executor.capacity = (1, 0) if full else (None, None)

    # Name server and producers

    def _do_register(
        self,
        *,
        name: str = "broker-x",
        broker_id: int = 0,
        address: str = "10.0.0.1:1",
        topics: Mapping[str, tuple[int, int, int]] | None = None,
        version: int = 1,
    ) -> None:
        """Some broker registers."""
        table = {topic: TopicConfig(topic, *numbers) for topic, numbers in (topics or {}).items()}
        self.cluster.name_server.register_broker("DefaultCluster", address, name, broker_id, "", table, DataVersion(0, version))
        self._note_routes()

    def _do_unregister(self, *, name: str = "broker-x", broker_id: int = 0, address: str = "10.0.0.1:1") -> None:
        self.cluster.name_server.unregister_broker(address, name, broker_id)
        self._note_routes()

    def _do_lose(self, *, address: str = "10.0.0.1:1") -> None:
        """The connection from an address is closed."""
        self.cluster.name_server.remove_address(address)
        self._note_routes()

    def _do_lossy(self, *, lossy: bool = True) -> None:
        """One-way registrations are lost, or arrive again."""

        def plan(letter: Letter) -> Sequence[int]:
            lost = letter.command.code == codes.REGISTER_BROKER and letter.command.is_one_way
            return [] if lost else [0]

        self.cluster.network.plan = plan if lossy else None

    def _do_produce(self, *, topic: str = "A", producer: int = 0) -> None:
        """A producer sends a message, whatever comes of it."""
        made = self._producers.get(producer)
        if made is None:
            made = self._producers[producer] = self.cluster.producer(f"producers-{producer}")
            self._repeat(made.client)
        try:
            self.cluster.scheduler.complete(made.send(Message(topic, body=b"a")), "send")
        except (ClientError, RemotingError, JavaError):
            return
        self._events.append(Event(self.cluster.clock.now(), "used", topic, by=made.group))

    def _repeat(self, thing: Any) -> None:
        """Call an object's periodic functions at their times."""
        tasks = thing.periodic() if hasattr(thing, "periodic") else thing.PERIODIC
        for task in tasks:
            work = getattr(thing, task.name)
            self.cluster.scheduler.every(task.first, task.period, lambda work=work, name=task.name: self._spawn(work, name))  # type: ignore[misc]

    def _spawn(self, work: Callable[[], Any], name: str) -> None:
        self.cluster.scheduler.spawn(work(), name)

    def _look(self) -> None:
        """Note what became of topics since the last look."""
        server = self.cluster.name_server
        seen: dict[tuple[str, str, str, str], bool] = {}
        for node in self.cluster.nodes.values():
            for topic in node.running.topics.table:
                seen["created", topic, node.name, ""] = True
        for topic, entries in server.topic_queue_table.items():
            for entry in entries:
                seen["routed", topic, entry.broker_name, ""] = True
        for producer in self._producers.values():
            for topic, info in producer.topic_publish_info_table.items():
                for queue in info.message_queue_list:
                    seen["known", topic, queue.broker_name, producer.group] = True
        now = self.cluster.clock.now()
        for key in {**self._true, **seen}:
            what, topic, who, by = key
            if key in seen and key not in self._true:
                self._events.append(Event(now, what, topic, who, by))
            elif key not in seen and what != "created":
                self._events.append(Event(now, {"routed": "unrouted", "known": "forgotten"}[what], topic, who, by))
        self._true = seen

    def _note_routes(self) -> None:
        server = self.cluster.name_server
        queues = {topic: tuple(q.broker_name for q in entries) for topic, entries in server.topic_queue_table.items()}
        self._routes.append(Routes(queues, {name: dict(data.broker_addrs) for name, data in server.broker_addr_table.items()}))

    # What is there afterwards

    def history(self) -> History:
        """End every wait, dispatch, and read everything."""
        if not self._periodic:
            self.cluster.scheduler.advance(PATIENCE)
        self.cluster.dispatch()
        history = History(self.exchanges, routes=self._routes, events=self._events, end=self.cluster.clock.now())
        for number, node in enumerate(self.cluster.nodes.values()):
            broker = node.running
            log = history.logs[node.name] = self._log(number)
            history.max_message_size = node.settings.max_message_size
            history.entries[node.name] = _entries(broker)
            history.next_offsets[node.name] = dict(broker.store.topic_queue_table)
            history.counts[node.name] = dict(broker.statistics.topic_put_nums)
            places = [record.at for record in log.records]
            for exchange, (start, end) in zip(self.exchanges, self._spans, strict=True):
                if exchange.broker == node.name:
                    exchange.stored = tuple(places[bisect_left(places, start) : bisect_left(places, end)])
        return history

    def _log(self, broker: int) -> Log:
        node = self._node(broker)
        store = node.running.store
        size = node.settings.mapped_file_size_commit_log
        data = b"".join(mapped.region.read(0, size) for mapped in store.commit_log.files.files)
        return read_log(data, size, store.max_phy_offset)

    def _node(self, broker: int) -> Node:
        nodes = list(self.cluster.nodes.values())
        return nodes[broker % len(nodes)]


def _mend(disk: SimulatedDisk) -> None:
    """Delete the files that have lost their length; if it is not these, the configuration."""
    for folder in ("/commitlog/", "/consumequeue/"):
        damaged = [path for path in disk.files if folder in path and disk.size(path) == 0]
        for path in damaged:
            disk.delete(path)
        if damaged:
            return
    for path in [path for path in disk.files if "/config/" in path]:
        disk.delete(path)


def _entries(broker: Broker) -> dict[tuple[str, int], list[Entry | None]]:
    found: dict[tuple[str, int], list[Entry | None]] = {}
    for key, queue in broker.store.queues.queues.items():
        entries = [queue.entry(index) for index in range(queue.files.max_offset // ENTRY_SIZE)]
        found[key] = [None if entry is None else Entry(entry.physical_offset, entry.size) for entry in entries]
    return found


def _visible(record: Record) -> bool:
    """Whether a consumer can have it."""
    return record.counted and record.topic not in (SCHEDULE, HALF_TOPIC, OP_HALF_TOPIC)
