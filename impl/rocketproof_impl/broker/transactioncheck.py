"""Checks of unfinished transactions at their producers (TransactionalMessageCheckService).

A half message without an outcome is put again at the end of the half queue, and its producer is asked (request 39). So every half message
that was read is finished, and one offset records the progress in the half queue. The operation queue contains the half messages with a
known outcome. After the maximum number of checks, a message is moved to a topic of its own.
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
PAUSE = 100  # the described system tries again without a pause
OPERATIONS_AT_ONCE = 32
_HOUR = 3_600_000
_NOTHING_NEW = (GetMessageStatus.NO_MESSAGE_IN_QUEUE, GetMessageStatus.OFFSET_OVERFLOW_ONE)


class TransactionalMessageCheckService(Service):
    """Runs a round every transactionCheckInterval milliseconds, the first after that time."""

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
        """Run one round over all half queues. An exception ends the round and is logged."""
        try:
            topic = await self._broker.topics.create_topic_in_send_message_back(HALF_TOPIC, 1, READ | WRITE, 0)
            for queue_id in queue_ids(0 if topic is None else topic.read_queue_nums):
                await HalfQueueRound(self._broker, queue_id).run()
        except Exception as error:  # noqa: BLE001 - the next round may succeed
            log.error("check of half messages failed: %r", error)


@dataclass(slots=True)
class _Operations:
    """The operation records read so far.

    - `outcome` maps a half message's offset to its record's offset.
    - `open` maps a record's offset to its half messages that the round has not reached.
    - `done` contains the offsets of records with no such half messages.
    - `last_born` is the birth time of the last record read, None if the last read returned none.
    """

    next_offset: int
    outcome: dict[int, int] = field(default_factory=dict)
    open: dict[int, set[int]] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    last_born: int | None = None

    def note(self, record: int, halves: set[int]) -> None:
        """Add a record with the offsets of its half messages."""
        self.open[record] = halves
        self.outcome |= dict.fromkeys(halves, record)
        self._close(record)

    def take(self, half: int) -> bool:
        """Return whether the outcome of a half message is known, and mark it as finished."""
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
    """One round over a half queue and the operation queue of the same number."""

    __slots__ = ("_broker", "_half", "_operations", "_queue_id", "_start")

    def __init__(self, broker: BrokerParts, queue_id: int) -> None:
        self._broker = broker
        self._queue_id = queue_id
        self._start = broker.clock.now()
        self._half = self._committed(HALF_TOPIC)
        self._operations = _Operations(self._committed(OP_HALF_TOPIC))

    async def run(self) -> None:
        """Check half messages until one is too young, and commit the progress in both queues."""
        first_operation = self._operations.next_offset
        self._read_operations()
        end = await self._check_messages()
        if end != self._half:
            self._commit(HALF_TOPIC, end)
        done = first_open(self._operations.done, first_operation)
        if done != first_operation:
            self._commit(OP_HALF_TOPIC, done)

    async def _check_messages(self) -> int:
        """Return the offset of the first half message that is not finished."""
        offset, missed = self._half, False
        operations = self._operations
        while self._broker.clock.now() - self._start <= LONGEST_ROUND:
            if operations.take(offset):
                offset += 1
                continue
            result = self._pull(HALF_TOPIC, offset, 1)
            message = self._broker.store.commit_log.decode(result.records[0]) if result.records else None
            if message is None:
                if missed or result.status in _NOTHING_NEW:
                    break
                missed, offset = True, result.next_begin_offset
                continue
            advance = await self._check_message(message)
            if advance is None:
                break
            offset += advance
        return offset

    async def _check_message(self, message: Message) -> int | None:
        """Return 1 if the message is finished, 0 if it must be checked again, None if it and all later ones are too young."""
        settings = self._broker.settings
        if self._asked_often_enough(message) or self._is_too_old(message):
            await self._discard(message)
            return 1
        if message.store_timestamp >= self._start:
            return None
        age = self._broker.clock.now() - message.born_timestamp
        immune, text = settings.transaction_time_out, message.properties.get(CHECK_IMMUNITY_TIME_IN_SECONDS)
        if text is not None:
            seconds = long_or_minus_one(text)
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
        """Return whether the message is old enough, and its outcome would be in the operation queue as far as it was read.

        A message from the future is asked for immediately.
        """
        last_born = self._operations.last_born
        if last_born is None:
            return age > immune or age <= -1
        return last_born - self._start > self._broker.settings.transaction_time_out or age <= -1

    # Half messages

    def _asked_often_enough(self, message: Message) -> bool:
        """Count one more check in the message's properties. Return True if the maximum was already reached."""
        text = message.properties.get(CHECK_TIMES)
        times = 1
        if text is not None:
            times = int_or_minus_one(text)
            if times >= self._broker.settings.transaction_check_max:
                return True
            times += 1
        message.properties[CHECK_TIMES] = str(times)
        return False

    def _is_too_old(self, message: Message) -> bool:
        """Return whether the log files of its time may be deleted already."""
        return self._broker.clock.now() - message.born_timestamp > self._broker.settings.file_reserved_time * _HOUR

    async def _put_back(self, message: Message) -> bool:
        """Put the message at the end of its queue, and give `message` the new position. Return whether this worked. Its flag is lost."""
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
        """Handle a message that must not be checked yet: finished if its first copy's outcome is known, put back otherwise."""
        first = message.properties.get(PREPARED_QUEUE_OFFSET)
        if first is not None:
            offset = long_or_minus_one(first)
            if offset == -1:
                return False
            if self._operations.take(offset):
                return True
        renewed = self._renewed(message)
        renewed.properties[PREPARED_QUEUE_OFFSET] = str(message.queue_offset) if first is None else first
        renewed.properties_text = self._text(renewed.properties)
        return (await self._broker.store.put_message(renewed)).status is PutMessageStatus.PUT_OK

    def _renewed(self, message: Message) -> Message:
        """Return a copy for the half queue whose put does not wait."""
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
        """Move the message to the topic of discarded messages. If that fails, it is lost."""
        topic = await self._broker.topics.create_topic_in_send_message_back(MAX_TIME_TOPIC, 1, READ | WRITE, 0)
        if topic is None:
            log.error("half message %s is lost: there is no %s", message.msg_id, MAX_TIME_TOPIC)
            return
        given_up = self._renewed(message)
        given_up.topic, given_up.queue_id = topic.topic_name, 0
        given_up.flag, given_up.reconsume_times = message.flag, message.reconsume_times
        await self._broker.store.put_message(given_up)

    def _ask(self, message: Message) -> None:
        """Ask a producer of the group over its own connection, one-way. It may respond with request 37."""
        channel = self._broker.producers.available_channel(message.properties.get(PGROUP, ""))
        try:
            request = self._question(message)
        except JavaError as error:
            log.error("send check message error: %s", error)
            return
        if channel is not None:
            write(channel, request)

    def _question(self, message: Message) -> Command:
        """Return the request with the message as its producer knows it, and its half message's position. Raises JavaError if a property
        is missing."""
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
        """Read the next operation records. If that fails, continue at the next readable offset."""
        operations = self._operations
        result = self._pull(OP_HALF_TOPIC, operations.next_offset, OPERATIONS_AT_ONCE)
        if result.status is not GetMessageStatus.FOUND and result.status not in _NOTHING_NEW:
            self._commit(OP_HALF_TOPIC, result.next_begin_offset)
        operations.next_offset, operations.last_born = result.next_begin_offset, None
        for data in result.records:
            message = self._broker.store.commit_log.decode(data)
            if message is not None:
                self._note(message)

    def _note(self, operation: Message) -> None:
        """Add an operation record, whose body lists half messages by offset. Offsets before the start of the round are finished already."""
        self._operations.last_born = operation.born_timestamp
        if operation.properties.get(TAGS) != REMOVE_TAG:
            log.error("found an illegal tag in an operation record: %r", operation)
            return
        halves = (long_or_minus_one(part) for part in (operation.body or b"").decode("utf-8", "replace").split(SEPARATOR) if part)
        self._operations.note(operation.queue_offset, {half for half in halves if half >= self._half})

    # Queues

    def _pull(self, topic: str, offset: int, most: int) -> GetMessageResult:
        result = self._broker.store.pull(topic, self._queue_id, offset, most, lambda _: True)
        if result is None:
            raise RuntimeError("the store is shut down")
        return result

    def _committed(self, topic: str) -> int:
        """Return the committed offset of earlier rounds; the start of the queue if there is none."""
        offset = self._broker.offsets.query(CHECK_GROUP, topic, self._queue_id)
        return self._broker.store.min_offset(topic, self._queue_id) if offset is None else offset

    def _commit(self, topic: str, offset: int) -> None:
        self._broker.offsets.commit(CHECK_GROUP, topic, self._queue_id, offset)

    def _text(self, properties: dict[str, str]) -> str:
        return properties_text(properties, trailing=self._broker.profile.ends_properties)


def first_open(done: Container[int], offset: int) -> int:
    """Return the first offset from `offset` on that is not in `done`."""
    while offset in done:
        offset += 1
    return offset


def long_or_minus_one(text: str) -> int:
    """Parse a long. Return -1 for a malformed one."""
    try:
        return parse_long(text)
    except JavaError:
        return -1


def int_or_minus_one(text: str) -> int:
    """Parse an int. Return -1 for a malformed one."""
    try:
        return parse_int(text)
    except JavaError:
        return -1
