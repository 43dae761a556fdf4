"""A simulated broker as a target of the specification of recovery: its log and one consume queue on a disk that may lose its power.

What the device has kept is the choice of the action: whatever was not forced may be there or not, so it is wiped here as the
action says. Then the broker's own recovery reads the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.remoting import codes
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.simulator.content import MappedContent
from rocketproof_impl.store import record
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Action, Instance
from rocketproof_model.interpreter import State
from rocketproof_model.specification.recovery import Recovery
from rocketproof_profiles import TEMPLATE, Profile

from .abstraction import Deviation, encoded

TOPIC = "topic"
ENTRY = 20
FIRST = "0" * 20


class RecoveryTarget:
    """A broker with one queue. Who waits for an answer is not asked here: `acknowledged` counts the answers that the action gives."""

    def __init__(self, specification: Recovery, instance: Instance, profile: Profile) -> None:
        self.instance = instance
        self.cluster = Cluster(0, profile=profile)
        settings = BrokerSettings(broker_name="broker-a", name_servers=(NAME_SERVER,), mapped_file_size_commit_log=1 << 16)
        self.node = self.cluster.add(settings)
        self.node.running.topics.update(TopicConfig(TOPIC, 1, 1))
        self.log_file = f"{settings.store_path_root_dir}/commitlog/{FIRST}"
        self.queue_file = f"{settings.store_path_root_dir}/consumequeue/{TOPIC}/0/{FIRST}"
        self.flushed = self.forced = 0
        self.count = {"acknowledged": 0, "crashes": 0, "powers": 0}
        self.odd = False

    # Actions

    def can(self, action: Action, args: Sequence[int]) -> bool:
        return True

    def perform(self, action: Action, args: Sequence[int]) -> None:
        """Do the action. Raises Deviation where the broker cannot."""
        values = {name: type_.decode(code) for (name, type_), code in zip(action.parameters.items(), args, strict=True)}
        getattr(self, f"_do_{action.name}")(**values)

    def _do_append(self) -> None:
        header = {
            "producerGroup": "group",
            "topic": TOPIC,
            "defaultTopic": TEMPLATE,
            "defaultTopicQueueNums": "4",
            "queueId": "0",
            "sysFlag": "0",
            "bornTimestamp": "1700000000000",
            "flag": "0",
            "properties": "",
            "reconsumeTimes": "0",
        }
        place = len(self._ends())
        answer = self.cluster.call(Command(codes.SEND_MESSAGE, header, b"hello"))
        if answer.code != codes.SUCCESS:
            raise Deviation(f"a send is answered {answer.code} ({answer.remark}): the specification appends it")
        self.odd = self.odd or int((answer.ext_fields or {})["queueOffset"]) != place

    def _do_acknowledge(self) -> None:
        self.count["acknowledged"] += 1

    def _do_flush(self) -> None:
        self.node.running.store.commit_log.files.flush_all()

    def _do_dispatch(self) -> None:
        if self.node.running.store.dispatch(1) != 1:
            raise Deviation("the dispatcher is at the end of the log: the specification has a record for it")

    def _do_flush_queue(self) -> None:
        self.node.running.store.queues.flush_all()
        self.forced = self._entries()

    def _do_crash(self) -> None:
        self.cluster.crash(silent=True)
        self.count["crashes"] += 1

    def _do_power_loss(self, records: int, entries: int, torn: bool) -> None:
        ends = [0, *self._ends()]
        self.cluster.crash(silent=True)
        self.count["powers"] += 1
        kept = ends[records] + ((ends[records + 1] - ends[records]) // 2 if torn else 0)
        self._wipe(self.log_file, kept)
        self._wipe(self.queue_file, entries * ENTRY)

    def _wipe(self, path: str, start: int) -> None:
        content = self.node.disk.files.get(path)
        if isinstance(content, MappedContent) and len(content) > start:
            content.write(start, bytes(len(content) - start))

    def _do_start(self) -> None:
        self.forced = min(self.forced, self._entries(), len(self._ends()))
        if not self.cluster.start(self.node):
            raise Deviation("the broker refuses to start: the specification starts it")

    # What is seen

    def _ends(self) -> list[int]:
        """Where each whole record of the log ends; of a running broker, as far as it takes its log to go."""
        content = self.node.disk.files.get(self.log_file)
        limit = self.node.broker.store.max_phy_offset if self.node.broker else None
        found: list[int] = []
        while isinstance(content, MappedContent):
            position = found[-1] if found else 0
            size, _ = record.size_and_magic(content.read(position, record.BLANK_SIZE))
            if size <= 0 or position == limit or not record.is_whole(content.read(position, size)):
                break
            found.append(position + size)
        return found

    def _torn(self) -> bool:
        """Whether a part of a record follows the last whole one."""
        content = self.node.disk.files.get(self.log_file)
        ends = self._ends()
        return isinstance(content, MappedContent) and any(content.read(ends[-1] if ends else 0, record.BLANK_SIZE))

    def _entries(self) -> int:
        """The entries of the consume queue; of a running broker, as many as it says."""
        if self.node.broker:
            return self.node.broker.store.max_offset(TOPIC, 0)
        content = self.node.disk.files.get(self.queue_file)
        found = 0
        while isinstance(content, MappedContent) and any(content.read(found * ENTRY + 8, 4)):
            found += 1
        return found

    def observe(self) -> State:
        """The state of the specification that the broker and its files are in."""
        store = self.node.broker.store if self.node.broker else None
        ends = self._ends()
        if store is not None:
            self.flushed = sum(1 for end in ends if end <= store.flushed_where)
        found: dict[str, Any] = {
            "up": store is not None,
            "written": len(ends),
            "flushed": self.flushed,
            "torn": store is None and self._torn(),
            "entries": self._entries(),
            "forced": self.forced,
            "offset": store.topic_queue_table.get(f"{TOPIC}-0", 0) if store else 0,
            "odd": self.odd,
            **self.count,
        }
        return tuple(encoded(variable, (), found[variable.name]) for variable in self.instance.model.variables)
