"""Asking producers for the outcome of their transactions (TransactionalMessageCheckService).

A half message whose producer says nothing is put once more, at the end of the half queue, and its producer is asked (request 39). So
every half message that was read is done with, and one offset tells how far the half queue is. Half messages whose outcome is known are
found in the operation queue. Who was asked often enough is asked no more: the message goes to a topic of its own.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from rocketproof_protocol.codes import CHECK_TRANSACTION_STATE
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_protocol.groups import CHECK_GROUP
from rocketproof_protocol.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    CHECK_TIMES,
    PGROUP,
    PREPARED_QUEUE_OFFSET,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    UNIQ_KEY,
    WAIT,
)
from rocketproof_protocol.topics import HALF_TOPIC, OP_HALF_TOPIC

from ..bounds import queue_ids
from ..java import JavaError, null_pointer, parse_int, parse_long
from ..message import Message, properties_text
from ..remoting.command import ONE_WAY, Command
from ..remoting.dispatch import write
from ..service import Service, sleep
from ..store import record
from ..store.reading import GetMessageResult, GetMessageStatus
from ..store.result import PutMessageStatus
from .log import log
from .operations import SEPARATOR
from .parts import BrokerParts
from .transaction import REMOVE_TAG

MAX_TIME_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
LONGEST_ROUND = 60_000
PAUSE = 100  # where the described system asks again without any
OPERATIONS_AT_ONCE = 32
_HOUR = 3_600_000
_NOTHING_NEW = (GetMessageStatus.NO_MESSAGE_IN_QUEUE, GetMessageStatus.OFFSET_OVERFLOW_ONE)


class TransactionalMessageCheckService(Service):
    """One round every transactionCheckInterval milliseconds, the first after that time."""

    __slots__ = ("_broker", "_interval")

    def __init__(self, broker: BrokerParts) -> None:
        super().__init__("TransactionalMessageCheckService")
        self._broker = broker
        self._interval = broker.settings.transaction_check_interval

    async def round(self) -> None:
        await self.wait_for_running(self._interval)
        if not self.stopped:
            await self.check()

    async def check(self) -> None:
        """One round over all half queues. What goes wrong ends the round, and is logged."""
        try:
            topic = await self._broker.topics.create_topic_in_send_message_back(HALF_TOPIC, 1, READ | WRITE, 0)
            for queue_id in queue_ids(0 if topic is None else topic.read_queue_nums):
                await HalfQueueRound(self._broker, queue_id).run()
        except Exception as error:  # noqa: BLE001 - the next round may be better
            log.error("check of half messages failed: %r", error)


@dataclass(slots=True)
class _Operations:
    """Operation records that were read: `outcome` is from half offset to the record's own, `open` are the half offsets of each record that
    are still ahead, `done` are offsets of records that nobody needs any more, `last_born` is from the last ones read, None if there
    were none."""

    next_offset: int
    outcome: dict[int, int] = field(default_factory=dict)
    open: dict[int, set[int]] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    last_born: int | None = None

    def note(self, record: int, halves: set[int]) -> None:
        """A record names these half messages."""
        self.open[record] = halves
        self.outcome |= dict.fromkeys(halves, record)
        self._close(record)

    def take(self, half: int) -> bool:
        """Whether the outcome of a half message is known, which is then done with."""
        record = self.outcome.pop(half, None)
        if record is None:
            return False
        self.open[record].discard(half)
        self._close(record)
        return True

    def _close(self, record: int) -> None:
        if not self.open[record]:
            del self.open[record]
            self.done.add(record)


class HalfQueueRound:
    """One round over one half queue, and the operation queue of the same number."""

    __slots__ = ("_broker", "_half", "_operations", "_queue_id", "_start")

    def __init__(self, broker: BrokerParts, queue_id: int) -> None:
        self._broker = broker
        self._queue_id = queue_id
        self._start = broker.clock.now()
        self._half = self._committed(HALF_TOPIC)
        self._operations = _Operations(self._committed(OP_HALF_TOPIC))

    async def run(self) -> None:
        """Go through the half messages until one is too young, and remember how far both queues are."""
        first_operation = self._operations.next_offset
        self._read_operations()
        end = await self._go_through()
        if end != self._half:
            self._commit(HALF_TOPIC, end)
        done = behind(self._operations.done, first_operation)
        if done != first_operation:
            self._commit(OP_HALF_TOPIC, done)

    async def _go_through(self) -> int:
        """The offset of the first half message that is still to be looked at."""
        offset, missed = self._half, False
        operations = self._operations
        while self._broker.clock.now() - self._start <= LONGEST_ROUND:
            if operations.take(offset):
                offset += 1
                continue
            found = self._pull(HALF_TOPIC, offset, 1)
            message = self._broker.store.commit_log.decode(found.records[0]) if found.records else None
            if message is None:
                if missed or found.status in _NOTHING_NEW:
                    break
                missed, offset = True, found.next_begin_offset
                continue
            goes_on = await self._look_at(message)
            if goes_on is None:
                break
            offset += goes_on
        return offset

    async def _look_at(self, message: Message) -> int | None:
        """1 if the message is done with, 0 if it has to be looked at again, None if it and those behind it are too young."""
        settings = self._broker.settings
        if self._asked_often_enough(message) or self._is_too_old(message):
            await self._discard(message)
            return 1
        if message.store_timestamp >= self._start:
            return None
        age = self._broker.clock.now() - message.born_timestamp
        immune, text = settings.transaction_time_out, message.properties.get(CHECK_IMMUNITY_TIME_IN_SECONDS)
        if text is not None:
            seconds = number(text)
            immune = settings.transaction_time_out if seconds == -1 else seconds * 1000
            if age < immune and await self._put_off(message):
                return 1
        elif 0 <= age < immune:
            return None
        if self._is_to_be_asked(age, immune):
            if await self._put_back(message):
                self._ask(message)
                return 1
            await sleep(PAUSE)
            return 0
        self._read_operations()
        if self._operations.last_born is None and not self._is_to_be_asked(age, immune):
            await sleep(PAUSE)
        return 0

    def _is_to_be_asked(self, age: int, immune: int) -> bool:
        """Whether it is old enough and its outcome would be known by now, as far as the operation queue was read. A message of the
        future is asked for at once."""
        last_born = self._operations.last_born
        if last_born is None:
            return age > immune or age <= -1
        return last_born - self._start > self._broker.settings.transaction_time_out or age <= -1

    # Half messages

    def _asked_often_enough(self, message: Message) -> bool:
        """Count one more check, in the message's own properties; True if there were enough."""
        text = message.properties.get(CHECK_TIMES)
        times = 1
        if text is not None:
            times = whole(text)
            if times >= self._broker.settings.transaction_check_max:
                return True
            times += 1
        message.properties[CHECK_TIMES] = str(times)
        return False

    def _is_too_old(self, message: Message) -> bool:
        """Whether files of its time may be deleted already."""
        return self._broker.clock.now() - message.born_timestamp > self._broker.settings.file_reserved_time * _HOUR

    async def _put_back(self, message: Message) -> bool:
        """Put the message at the end of its queue, and make it that one; whether this worked. Its flag is lost on the way."""
        renewed = self._renewed(message)
        message.properties = renewed.properties
        result = await self._broker.store.put_message(renewed)
        if result.status is not PutMessageStatus.PUT_OK or result.append is None:
            log.error("put back to half queue failed: queue %d, offset %d", message.queue_id, message.queue_offset)
            return False
        message.queue_offset = result.append.queue_offset
        message.physical_offset = result.append.wrote_offset
        message.msg_id = result.append.msg_id
        return True

    async def _put_off(self, message: Message) -> bool:
        """A message that must not be asked for yet: done with if its first copy's outcome is known, put back otherwise."""
        first = message.properties.get(PREPARED_QUEUE_OFFSET)
        if first is not None:
            offset = number(first)
            if offset == -1:
                return False
            if self._operations.take(offset):
                return True
        renewed = self._renewed(message)
        renewed.properties[PREPARED_QUEUE_OFFSET] = str(message.queue_offset) if first is None else first
        renewed.properties_text = self._text(renewed.properties)
        return (await self._broker.store.put_message(renewed)).status is PutMessageStatus.PUT_OK

    def _renewed(self, message: Message) -> Message:
        """A copy for the half queue, which nobody waits for."""
        return Message(
            message.topic,
            message.queue_id,
            message.body,
            properties=message.properties | {WAIT: "false"},
            properties_text=self._text(message.properties),
            sys_flag=message.sys_flag,
            born_timestamp=message.born_timestamp,
            born_host=message.born_host,
            store_host=message.store_host,
        )

    async def _discard(self, message: Message) -> None:
        """Put the message where nobody asks for it any more; if that fails it is gone."""
        topic = await self._broker.topics.create_topic_in_send_message_back(MAX_TIME_TOPIC, 1, READ | WRITE, 0)
        if topic is None:
            log.error("half message %s is lost: there is no %s", message.msg_id, MAX_TIME_TOPIC)
            return
        given_up = self._renewed(message)
        given_up.topic, given_up.queue_id = topic.topic_name, 0
        given_up.flag, given_up.reconsume_times = message.flag, message.reconsume_times
        await self._broker.store.put_message(given_up)

    def _ask(self, message: Message) -> None:
        """Ask a producer of the group over its own connection, one way; it will send request 37, or nothing."""
        channel = self._broker.producers.available_channel(message.properties.get(PGROUP, ""))
        try:
            request = self._question(message)
        except JavaError as error:
            log.error("send check message error: %s", error)
            return
        if channel is not None:
            write(channel, request)

    def _question(self, message: Message) -> Command:
        """The message as its producer knows it, and where its half message is now. Raises JavaError if that cannot be said."""
        topic, queue_id = message.properties.get(REAL_TOPIC), parse_int(message.properties.get(REAL_QID, "null"))
        if topic is None or message.body is None:
            raise null_pointer()
        known = message.copy()
        known.topic, known.queue_id = topic, queue_id
        known.properties_text = self._text(known.properties)
        fields = {
            "tranStateTableOffset": str(message.queue_offset),
            "commitLogOffset": str(message.physical_offset),
            "offsetMsgId": message.msg_id,
        }
        unique = message.properties.get(UNIQ_KEY)
        if unique is not None:
            fields |= {"msgId": unique, "transactionId": unique}
        parts = record.parts_of(known, hosts_by_flag=self._broker.profile.hosts_by_flag)
        return Command(CHECK_TRANSACTION_STATE, fields, record.encode(known, parts), flag=ONE_WAY)

    # Operation records

    def _read_operations(self) -> None:
        """Read on in the operation queue; where it cannot be read, it goes on from where it can."""
        operations = self._operations
        found = self._pull(OP_HALF_TOPIC, operations.next_offset, OPERATIONS_AT_ONCE)
        if found.status is not GetMessageStatus.FOUND and found.status not in _NOTHING_NEW:
            self._commit(OP_HALF_TOPIC, found.next_begin_offset)
        operations.next_offset, operations.last_born = found.next_begin_offset, None
        for data in found.records:
            message = self._broker.store.commit_log.decode(data)
            if message is not None:
                self._note(message)

    def _note(self, operation: Message) -> None:
        """An operation record names half messages by their offsets; those that are behind the round's start are done with."""
        self._operations.last_born = operation.born_timestamp
        if operation.properties.get(TAGS) != REMOVE_TAG:
            log.error("found an illegal tag in an operation record: %r", operation)
            return
        halves = (number(part) for part in (operation.body or b"").decode("utf-8", "replace").split(SEPARATOR) if part)
        self._operations.note(operation.queue_offset, {half for half in halves if half >= self._half})

    # Queues

    def _pull(self, topic: str, offset: int, most: int) -> GetMessageResult:
        found = self._broker.store.pull(topic, self._queue_id, offset, most, lambda _: True)
        if found is None:
            raise RuntimeError("the store is shut down")
        return found

    def _committed(self, topic: str) -> int:
        """How far an earlier round came; the start of the queue if there was none."""
        offset = self._broker.offsets.query(CHECK_GROUP, topic, self._queue_id)
        return self._broker.store.min_offset(topic, self._queue_id) if offset is None else offset

    def _commit(self, topic: str, offset: int) -> None:
        self._broker.offsets.commit(CHECK_GROUP, topic, self._queue_id, offset)

    def _text(self, properties: dict[str, str]) -> str:
        return properties_text(properties, trailing=self._broker.profile.ends_properties)


def behind(done: Container[int], offset: int) -> int:
    """The first offset that is not among those that are done, from an offset on."""
    while offset in done:
        offset += 1
    return offset


def number(text: str) -> int:
    """A long, -1 for what is none."""
    try:
        return parse_long(text)
    except JavaError:
        return -1


def whole(text: str) -> int:
    """An int, -1 for what is none."""
    try:
        return parse_int(text)
    except JavaError:
        return -1
