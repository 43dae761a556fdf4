"""A broker in another process as a replacement for the simulated one that a target uses.

Requests go over the wire. Observed values are queried or read from the broker's files. The class has those attributes of a cluster that the
targets of small models use, so that one target class works for both. Flushes, registrations and drawn queues are left to the broker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from rocketproof_impl.broker.groups import SubscriptionGroupConfig, group_from_data
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.route import QueueData, decode_route
from rocketproof_impl.store import record
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_model import interrupts
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import is_digits, whole_number
from rocketproof_traces.stored.record import read_log

from ...brokers.comeback import come_back
from ...brokers.connection import Connection
from ...brokers.deployment import Deployment
from ...programs.parts import NAME_SERVER
from ...programs.vocabulary import plain
from .base import Deviation

BROKER: Final = "broker-a"
SECONDS: Final = 10.0
FAR: Final = 1 << 62  # beyond any log: the flushed position is not observable
MOMENT: Final = 0.2  # seconds for the broker's own tasks, such as dispatch
DELIVERED: Final = 2.5  # seconds after which a message of the first level is delivered


class _Table(Mapping[str, Any]):
    """A mapping that queries the broker at each access."""

    def __init__(self, ask: Callable[[], Mapping[str, Any]]) -> None:
        self._ask = ask

    def __getitem__(self, name: str) -> Any:
        return self._ask()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ask())

    def __len__(self) -> int:
        return len(self._ask())


class Outside:
    """One broker of a deployment, with its name server.

    `file_size`: bytes of a log file. `quick`: each delay level of the broker is one second, whatever its default.
    """

    def __init__(self, running: Deployment, profile: Profile, file_size: int, *, quick: bool) -> None:
        self._quick = quick
        self.running = running
        self.profile = profile
        self._file_size = file_size
        self._lines: dict[str, Connection] = {}
        nothing = SimpleNamespace(held=[], plan=None)
        self.network = nothing
        self.scheduler = SimpleNamespace(
            settle=_nothing,
            complete=lambda work, *_: work.close(),
            advance=lambda millis: interrupts.pause(millis / 1000),  # the broker uses the machine's clock
        )
        self.clock = SimpleNamespace(now=lambda: round(time.time() * 1000))
        self.name_server = SimpleNamespace(topic_queue_table=_Table(self._routes))
        log = SimpleNamespace(flush_all=_nothing)
        store = SimpleNamespace(
            records=self.records,
            max_offset=self.max_offset,
            get_message=self.get_message,
            dispatch=lambda most=0: most,
            flushed_where=FAR,
            commit_log=SimpleNamespace(files=log, decode=self._decode),
            topic_queue_table=_Table(self._ends),
        )
        self.view = SimpleNamespace(
            store=store,
            topics=SimpleNamespace(table=_Table(self.topics), update=self._update_topic, select=lambda name: self.topics().get(name)),
            groups=SimpleNamespace(table=_Table(self.groups), update=self._update_group),
            offsets=SimpleNamespace(query=self._offset),
            registration=SimpleNamespace(register_periodically=_later),
            receive=lambda _, command: self.call(command),
            persist_offsets=_nothing,
            operations=SimpleNamespace(write=_later),
        )
        settings = SimpleNamespace(store_path_root_dir="store", address=running.brokers[BROKER])
        disk = SimpleNamespace(read=self._file, delete=lambda _: False)
        random = SimpleNamespace(feed=_nothing)
        self._node = SimpleNamespace(running=self.view, settings=settings, disk=disk, random=random)

    def close(self) -> None:
        for line in self._lines.values():
            line.close()
        self._lines.clear()

    # Actions

    def broker(self) -> Any:
        return self.view

    def node(self) -> Any:
        return self._node

    def call(self, request: Command, *, client: str = "client") -> Command:
        """Return the broker's response to a client with a connection of its own. One-way requests get a response too."""
        request.flag &= ~ONE_WAY
        return self._line(client, BROKER).ask(request, SECONDS)

    calling = call

    def act(self, name: str, **arguments: Any) -> None:
        """Perform a step of the deployment."""
        if name == "time":
            interrupts.pause(DELIVERED if self._quick else arguments["millis"] / 1000 + 1)
        elif name != "flush" or arguments["stuck"]:
            raise Deviation(f"nobody outside can do the step {name!r}")

    def dispatch(self) -> None:
        interrupts.pause(MOMENT)

    def crash(self, *, silent: bool) -> None:
        del silent
        self.close()
        self.running.kill(BROKER)

    def start(self, node: Any) -> bool:
        del node
        come_back(self.running, BROKER)
        return True

    def _update_topic(self, config: TopicConfig) -> None:
        arguments = {"read": config.read_queue_nums, "write": config.write_queue_nums, "perm": config.perm}
        self._accepted("topic", client="administrator", topic=config.topic_name, **arguments)

    def _update_group(self, config: SubscriptionGroupConfig) -> None:
        arguments = {"queues": config.retry_queue_nums, "retries": config.retry_max_times}
        self._accepted("group", client="administrator", group=config.group_name, **arguments)

    def _accepted(self, name: str, *, client: str = "client", **arguments: Any) -> Command:
        """Return the response to a step's request, which the broker must accept."""
        answer = self.call(plain(name, **arguments), client=client)
        if answer.code != codes.SUCCESS:
            raise Deviation(f"the {client} is answered {answer.code} ({answer.remark}) to {name!r}")
        return answer

    def _line(self, key: str, to: str) -> Connection:
        if key not in self._lines:
            self._lines[key] = self.running.connect(to)
        return self._lines[key]

    # State

    def records(self) -> list[Message]:
        """Return the records in the log's files, up to the first unreadable one."""
        files = sorted((self.running.store(BROKER) / "commitlog").glob("*"))
        data = b"".join(path.read_bytes() for path in files if is_digits(path.name))
        stored = read_log(data, self._file_size, hosts_by_flag=self.profile.hosts_by_flag).records
        return [message for entry in stored if (message := self._decode(data[entry.at : entry.end])) is not None]

    def _decode(self, data: bytes) -> Message | None:
        return record.decode(data, exact=self.profile.exact_properties)

    def topics(self) -> dict[str, TopicConfig]:
        table, _ = table_from_data(json.loads(self._accepted("topics").body or b""))
        return table

    def groups(self) -> dict[str, SubscriptionGroupConfig]:
        data = loads(self._accepted("groups").body or b"")
        return {name: group_from_data(name, entry) for name, entry in data["subscriptionGroupTable"].items()}

    def max_offset(self, topic: str, queue_id: int) -> int:
        return whole_number((self._accepted("max_offset", topic=topic, queue=queue_id).ext_fields or {})["offset"])

    def get_message(self, topic: str, queue_id: int, offset: int) -> Message | None:
        return next((m for m in self.records() if (m.topic, m.queue_id, m.queue_offset) == (topic, queue_id, offset)), None)

    def _offset(self, group: str, topic: str, queue_id: int) -> int | None:
        answer = self.call(plain("progress", topic=topic, queue=queue_id, group=group))
        return whole_number((answer.ext_fields or {})["offset"]) if answer.code == codes.SUCCESS else None

    def _ends(self) -> dict[str, int]:
        """Return the next offset of each queue that has a record."""
        queues = {(message.topic, message.queue_id) for message in self.records()}
        return {f"{topic}-{queue_id}": self.max_offset(topic, queue_id) for topic, queue_id in queues}

    def _routes(self) -> dict[str, list[QueueData]]:
        """Return the queues of the broker's topics according to the name server."""
        routes = {}
        for topic in self.topics():
            answer = self._line(NAME_SERVER, NAME_SERVER).ask(plain("route", topic=topic), SECONDS)
            if answer.code == codes.SUCCESS:
                routes[topic] = decode_route(answer.body or b"").queue_datas
        return routes

    def _file(self, path: str) -> bytes | None:
        """Return the content of a file in the broker's store, None if it does not exist."""
        file = self.running.store(BROKER) / Path(path).relative_to("store")
        return file.read_bytes() if file.exists() else None


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing: the broker does this by itself."""


async def _later(*_: Any) -> None:
    """Do nothing, as a coroutine."""
