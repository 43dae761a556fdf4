"""Messages with a deliver time: stored in the timer topic, and delivered when they are due (TimerMessageStore of 5.x).

A delay in milliseconds is rounded to seconds. A put stores the message in the timer topic. The store reads that topic in order, and keeps
each message in the wheel until its second is over. Two numbers in a file record the progress: how far the topic was read, and up to which
second the wheel was emptied. Rolls of more than two days, flow control and the files of the real wheel are not implemented.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from struct import Struct

from rocketproof_protocol.flags import COMMIT, NOT
from rocketproof_protocol.properties import (
    REAL_QID,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_OUT_MS,
    UNIQ_KEY,
)
from rocketproof_protocol.topics import WHEEL_TIMER_TOPIC

from ..java import JavaError, parse_long, wrap_long
from ..message import Message, properties_text
from ..ports import Clock, Disk, Region
from ..service import contained
from .consumequeue import ConsumeQueue
from .delay import delay_level, from_schedule_topic
from .log import log
from .result import PutMessageStatus, PutResult
from .settings import StoreSettings

PRECISION_MILLIS = 1000
TIMES = (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS)
"""The properties with a deliver time. The first one that a message has is used."""
_NUMBERS = Struct(">qqqq")  # emptied, flushed position of the real wheel's log, read entries of the topic, the master's read entries
_FILE_SIZE = 4096


def to_timer_topic(message: Message, settings: StoreSettings, now: int, *, trailing: bool) -> PutMessageStatus | None:
    """Turn a message with a deliver time in the future into a message of the timer topic. Return the status that rejects it, or None.

    Half messages by the client's flag are not changed. One by TRAN_MSG is an ordinary message of the half topic here, and loses its real
    topic (HAZ-54). A delay level removes the deliver time. Raises JavaError for a malformed level.
    """
    if message.transaction not in (NOT, COMMIT) or message.topic == WHEEL_TIMER_TOPIC:
        return None
    if delay_level(message) > 0:
        for name in TIMES:
            message.properties.pop(name, None)
        return None
    key = next((name for name in TIMES if name in message.properties), None)
    if key is None or TIMER_OUT_MS in message.properties:
        return None
    if not settings.timer_wheel_enable:
        return PutMessageStatus.WHEEL_TIMER_NOT_ENABLE
    try:
        value = parse_long(message.properties[key])
    except JavaError:
        return PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL
    due = value if key == TIMER_DELIVER_MS else wrap_long(now + wrap_long(value * (1000 if key == TIMER_DELAY_SEC else 1)))
    if due <= now:
        return PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL if TIMER_DEL_UNIQKEY in message.properties else None
    if wrap_long(due - now) > settings.timer_max_delay_sec * 1000:
        return PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL
    message.properties[TIMER_OUT_MS] = str(_second(due - 1))
    message.properties[REAL_TOPIC] = message.topic
    message.properties[REAL_QID] = str(message.queue_id)
    message.properties_text = properties_text(message.properties, trailing=trailing)
    message.topic, message.queue_id = WHEEL_TIMER_TOPIC, 0
    return None


class TimerMessageStore:
    """Reads the timer topic's queue, and delivers messages that are due.

    `read_to` is the number of entries read into the wheel. All seconds before `emptied` (ms) are delivered. `wheel` maps a message's second
    to positions in the log, each with the time at which it was added.
    """

    def __init__(
        self,
        path: str,
        settings: StoreSettings,
        clock: Clock,
        disk: Disk,
        queue: Callable[[str, int], ConsumeQueue | None],
        look: Callable[[int], Message | None],
        put: Callable[[Message], Awaitable[PutResult]],
        *,
        trailing: bool,
        by_topic: bool,
    ) -> None:
        self.read_to = 0
        self.emptied = 0
        self.wheel: dict[int, list[tuple[int, int]]] = {}
        self._path = path
        self._settings = settings
        self._clock = clock
        self._disk = disk
        self._queue = queue
        self._look = look
        self._put = put
        self._trailing = trailing
        self._by_topic = by_topic
        self._region: Region | None = None
        self._unreadable = -1

    async def deliver_due(self) -> int:
        """Read new entries, and deliver due messages. Return their number. A message that could not be put is tried again in the next
        call."""
        if not self._settings.timer_wheel_enable or self._settings.broker_role == "SLAVE":
            return 0
        self._read()
        now = _second(self._clock.now())
        delivered = 0
        for second in sorted(second for second in self.wheel if second < now):
            delivered += await self._empty(second)
            if second in self.wheel:
                return delivered
        self.emptied = max(self.emptied, now)
        return delivered

    def _read(self, until: int | None = None) -> None:
        """Read entries into the wheel, up to the queue's end or the entry `until`.

        A message without a deliver time blocks all later ones, and is logged: any client may send one to the topic (HAZ-58).
        """
        queue = self._queue(WHEEL_TIMER_TOPIC, 0)
        if queue is None:
            return
        self.read_to = max(self.read_to, queue.min_offset)
        while self.read_to != until and (entry := queue.entry(self.read_to)) is not None:
            message = self._look(entry.physical_offset)
            if message is not None:
                try:
                    due = parse_long(message.properties.get(TIMER_OUT_MS, "null"))
                except JavaError as problem:
                    if self._unreadable != self.read_to:
                        log.error("timer message at %d is not read, nor any behind it: %s", entry.physical_offset, problem)
                    self._unreadable = self.read_to
                    return
                self.wheel.setdefault(due, []).append((_second(self._clock.now()), entry.physical_offset))
            self.read_to += 1

    async def _empty(self, second: int) -> int:
        """Deliver the messages of a due second. A message with TIMER_DEL_UNIQKEY is not delivered and cancels another one.

        The cancelled message is found by its unique key, in some releases by topic and unique key.
        """
        waiting = [(enqueued, message) for enqueued, offset in self.wheel[second] if (message := self._look(offset)) is not None]
        cancelled = {message.properties[TIMER_DEL_UNIQKEY] for _, message in waiting if TIMER_DEL_UNIQKEY in message.properties}
        delivered = 0
        for enqueued, message in waiting:
            properties = message.properties
            if TIMER_DEL_UNIQKEY not in properties and self._key(properties) not in cancelled:
                properties |= {TIMER_ENQUEUE_MS: str(enqueued), TIMER_DEQUEUE_MS: str(self._clock.now())}
                with contained(partial("timer message at {} is not delivered".format, message.physical_offset)):
                    try:
                        returning = from_schedule_topic(message, trailing=self._trailing)
                    except JavaError as problem:
                        log.error("timer message at %d is not delivered: %s", message.physical_offset, problem)
                        return delivered
                    if (await self._put(returning)).status is not PutMessageStatus.PUT_OK:
                        return delivered
                    delivered += 1
            self.wheel[second] = self.wheel[second][1:]
        del self.wheel[second]
        return delivered

    def _key(self, properties: Mapping[str, str]) -> str:
        """Return the key by which a message can be cancelled."""
        unique = properties.get(UNIQ_KEY, "null")
        return f"{properties.get(REAL_TOPIC)}+{unique}" if self._by_topic else unique

    def persist(self) -> None:
        """Write the progress to the file. Raises OSError."""
        self._mapped().write(0, _NUMBERS.pack(self.emptied, 0, self.read_to, self.read_to))

    def load(self) -> None:
        """Read the progress, and fill the wheel with read but undelivered messages. Raises OSError."""
        self.wheel, self.read_to = {}, 0
        self.emptied, _, before, _ = _NUMBERS.unpack(self._mapped().read(0, _NUMBERS.size))
        self._read(before)
        for second in [second for second in self.wheel if second < self.emptied]:
            del self.wheel[second]

    def _mapped(self) -> Region:
        if self._region is None:
            self._region = self._disk.map(self._path, _FILE_SIZE)
        return self._region


def _second(millis: int) -> int:
    return millis // PRECISION_MILLIS * PRECISION_MILLIS
