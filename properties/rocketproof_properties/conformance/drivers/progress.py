"""Drives a broker and a consumer by the model of a consumer's progress: requests on the wire, and the file of offsets.

The action chooses which unflushed data the device has kept; the others are wiped here. Then the broker's own recovery reads the files. The
log also has the broker's own messages about consumers beyond the end of a queue; only messages of the topic are counted.
"""

from __future__ import annotations

from dataclasses import replace

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.message import Message
from rocketproof_impl.remoting.command import Command
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec.progress import ConsumerProgress

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require
from .broker import LOG, DrivenBroker, SimulatedBroker, lose
from .doubles import ManualFlush

TOPIC, GROUP = "topic", "rocketproof-reader"
MARKED, OTHER = "marked", "other"


class ProgressDriver(ModelDriver):
    """A broker with one queue, and a consumer that follows the responses. `broker`: the driven broker, by default a simulated one."""

    def __init__(self, specification: ConsumerProgress, instance: Instance, profile: Profile, broker: DrivenBroker | None = None) -> None:
        super().__init__(instance)
        self.simulated: SimulatedBroker | None = None
        if broker is None:
            chosen = replace(profile, **{name: self.constants[name] for name in specification.switches})
            broker = self.simulated = SimulatedBroker(chosen, flush_disk_type="SYNC_FLUSH" if self.constants["sync"] else "ASYNC_FLUSH")
        self.broker = broker
        self.broker.create_topic(TOPIC)
        self.broker.create_group(GROUP)  # later releases keep no offsets of unknown groups
        self.running = self.got = self.moved = False
        self.place = self.delivered = self.faults = 0
        self._hold_flushes()

    def _hold_flushes(self) -> None:
        """Let no flush complete, except of messages that the broker stores for itself."""
        self.flush = ManualFlush()
        self.broker.run(self._replace_flush)

    def _replace_flush(self, broker: Broker) -> None:
        broker.store.flush = self.flush

    # The broker

    def _do_append(self, marks: bool) -> None:
        self.broker.post(plain("send", topic=TOPIC, body=MARKED if marks else OTHER))

    def _do_flush(self) -> None:
        self.broker.run(lambda broker: broker.store.commit_log.files.flush_all())

    def _do_dispatch(self) -> None:
        self.broker.run(self._dispatch_message)

    def _dispatch_message(self, broker: Broker) -> None:
        before = broker.store.max_offset(TOPIC, 0)
        while broker.store.max_offset(TOPIC, 0) == before:
            require(broker.store.dispatch(1) == 1, "the dispatcher is at its end: the specification has a record for it")

    def _do_persist(self) -> None:
        self.broker.run(lambda broker: broker.persist_offsets())

    def _do_reset(self, offset: int) -> None:
        self._commit(offset, "administrator")
        self.moved = True

    # The consumer

    def _ask(self, step: str, client: str = "consumer", *, unless: int = codes.SUCCESS, **more: int) -> Command:
        answer = self.broker.call(plain(step, topic=TOPIC, group=GROUP, **more), client=client)
        require(answer.code in (codes.SUCCESS, unless), f"{step} is answered {answer.code}: the specification has it done")
        return answer

    def _commit(self, offset: int, client: str = "consumer") -> None:
        self._ask("commit", client, offset=offset)

    def _pull(self, expected: int) -> tuple[int, bytes]:
        """Return the next position and the data. A response with another code is a deviation."""
        self.flush.at_once = True
        answer = self.broker.call(plain("pull", topic=TOPIC, offset=self.place, most=1), client="consumer")
        self.flush.at_once = False
        require(answer.code == expected, f"the pull at {self.place} is answered {answer.code}: the specification says {expected}")
        return whole_number((answer.ext_fields or {})["nextBeginOffset"]), answer.body or b""

    def _do_begin(self) -> None:
        """Start at the broker's offset; at 0 if later releases do not know the queue yet."""
        self.place = whole_number((self._ask("progress", unless=codes.QUERY_NOT_FOUND).ext_fields or {}).get("offset", 0))
        self.running, self.moved = True, False

    def _do_pull(self) -> None:
        self.place, data = self._pull(codes.SUCCESS)
        message = self.broker.decode(data)
        if message is None:
            raise Deviation("the pull finds something that is no message")
        self.delivered = max(self.delivered, message.queue_offset + 1)
        self.got = self.got or message.body == MARKED.encode()

    def _do_go_back(self) -> None:
        self.place, _ = self._pull(codes.PULL_OFFSET_MOVED)
        self._commit(self.place)

    def _must_run(self) -> None:
        require(self.running, "no consumer runs: the specification has one")

    def _do_commit(self) -> None:
        self._must_run()
        self._commit(self.place)

    def _do_stop(self) -> None:
        self._must_run()
        self.running, self.place = False, 0
        self.faults += 1

    # Faults

    def _do_crash(self) -> None:
        self.faults += 1
        self.moved = False
        self.broker.crash()
        self.broker.start()
        self._hold_flushes()

    def _do_power_loss(self, kept: int) -> None:
        ends = [0, *(message.physical_offset + message.store_size for message in self._records())]
        if self.simulated is None:
            raise Deviation("the broker's device is not simulated: it cannot lose data")
        lose(self.simulated.node, LOG, ends[kept])
        self._do_crash()
        self.got = self.got and self._marked() > 0

    # State

    def _records(self) -> list[Message]:
        return [message for message in self.broker.records() if message.topic == TOPIC]

    def _marked(self) -> int:
        return next((number for number, message in enumerate(self._records(), 1) if message.body == MARKED.encode()), 0)

    def _saved(self) -> int:
        """Return the group's offset in the broker's file. Raises Deviation if it cannot be read."""
        content = self.broker.file("config/consumerOffset.json")
        try:
            table = loads(content.decode())["offsetTable"] if content else {}
        except ValueError:
            raise Deviation("the offsets' file cannot be read") from None
        return whole_number(table.get(f"{TOPIC}@{GROUP}", {}).get("0", 0))

    def seen(self) -> Seen:
        records, flushed = self._records(), self.broker.flushed_to()
        return {
            "written": len(records),
            "flushed": sum(1 for record in records if record.physical_offset + record.store_size <= flushed),
            "entries": self.broker.max_offset(TOPIC),
            "committed": self.broker.offset(GROUP, TOPIC) or 0,
            "saved": self._saved(),
            "running": self.running,
            "place": self.place,
            "delivered": self.delivered,
            "marked": self._marked(),
            "got": self.got,
            "moved": self.moved,
            "faults": self.faults,
        }
