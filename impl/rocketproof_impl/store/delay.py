"""Delayed messages: stored in the schedule topic, and delivered when they are due (CL-02, REC-05)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial

from rocketproof_profiles import Profile
from rocketproof_protocol.flags import COMMIT, NOT
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, REAL_QID, REAL_TOPIC, WAIT
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE

from .. import persistence
from ..java import JavaError, null_pointer, parse_int, wrap_long
from ..message import Message, properties_text
from ..ports import Clock, Disk
from ..service import contained
from ..tasks import Pause
from .consumequeue import ConsumeQueue
from .log import log
from .result import PutMessageStatus, PutResult

_SECOND, _MINUTE, _HOUR = 1000, 60_000, 3_600_000
LEVELS = (
    *(seconds * _SECOND for seconds in (1, 5, 10, 30)),
    *(minutes * _MINUTE for minutes in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)),
    *(hours * _HOUR for hours in (1, 2)),
)
"""Milliseconds of the delay levels 1 to 18 (REC-05)."""
MAX_LEVEL = len(LEVELS)
DELIVERS = Pause("delivers")


def delay_level(message: Message) -> int:
    """Return the DELAY property, 0 if absent. Raises JavaError for a malformed number (CL-02)."""
    text = message.properties.get(DELAY)
    return 0 if text is None else parse_int(text)


def deliver_time(level: int, store_timestamp: int) -> int:
    """Return when a message of the schedule topic is due, in milliseconds. A level above the last one counts as the last (REC-04)."""
    return wrap_long(store_timestamp + LEVELS[min(level, MAX_LEVEL) - 1])


def to_schedule_topic(message: Message, *, trailing: bool) -> None:
    """Turn a message with a delay level into a message of the schedule topic (CL-02, INV-45).

    Its topic and queue become properties, and the properties are serialised again: a property that is only in the map, such as WAIT, gets
    into the stored text. A half message is treated like any other, so with a level it loses its real topic (HAZ-39). `trailing`: see
    `properties_text`.
    """
    if message.transaction not in (NOT, COMMIT):
        return
    level = delay_level(message)
    if level <= 0:
        return
    if level > MAX_LEVEL:
        level = MAX_LEVEL
        message.properties[DELAY] = str(level)
    message.properties[REAL_TOPIC] = message.topic
    message.properties[REAL_QID] = str(message.queue_id)
    message.properties_text = properties_text(message.properties, trailing=trailing)
    message.topic = SCHEDULE
    message.queue_id = level - 1


def from_schedule_topic(delayed: Message, *, trailing: bool) -> Message:
    """Return the message to deliver: a new one for the original topic and queue (REC-05).

    The text is created before WAIT is set and DELAY is removed, so the stored text contains DELAY, REAL_TOPIC and REAL_QID. The prepared
    transaction offset is not copied. Raises JavaError without an original topic or queue, as in a message that was sent directly to the
    schedule topic (HAZ-42).
    """
    properties = dict(delayed.properties)
    if REAL_TOPIC not in properties:
        raise null_pointer()
    message = Message(
        topic=properties[REAL_TOPIC],
        queue_id=parse_int(properties.get(REAL_QID, "")),
        body=delayed.body,
        flag=delayed.flag,
        properties=properties,
        properties_text=properties_text(properties, trailing=trailing),
        sys_flag=delayed.sys_flag,
        born_timestamp=delayed.born_timestamp,
        born_host=delayed.born_host,
        store_host=delayed.store_host,
        reconsume_times=delayed.reconsume_times,
    )
    properties[WAIT] = "false"
    properties.pop(DELAY, None)
    return message


class ScheduleMessageService:
    """Reads the schedule topic's queues, one per level, and delivers messages that are due.

    `offsets` is the table in the file: level to the index of the next entry. `reached` are the current positions of the scans. They are
    ahead of `offsets` in a release that records a scan's deliveries at its end.
    """

    def __init__(
        self,
        path: str,
        profile: Profile,
        clock: Clock,
        disk: Disk,
        queue: Callable[[str, int], ConsumeQueue | None],
        look: Callable[[int], Message | None],
        put: Callable[[Message], Awaitable[PutResult]],
    ) -> None:
        self.offsets: dict[int, int] = {}
        self.reached: dict[int, int] = {}
        self._path = path
        self._profile = profile
        self._in_place = profile.overwrites_in_place
        self._trailing = profile.ends_properties
        self._clock = clock
        self._disk = disk
        self._queue = queue
        self._look = look
        self._put = put

    async def deliver_due(self) -> int:
        """Deliver all due messages, level by level. Return their number. A message that could not be put is tried again in the next scan.

        A failing level does not stop the others. A message that raises an exception unknown to the release is logged and skipped.
        """
        delivered = 0
        for level in range(1, MAX_LEVEL + 1):
            try:
                delivered += await self._deliver_level(level)
            except (OSError, JavaError) as problem:
                log.error("delivery of delay level %d stops at entry %d: %s", level, self.next_of(level), problem)
        return delivered

    async def _deliver_level(self, level: int) -> int:
        queue = self._queue(SCHEDULE, level - 1)
        if queue is None:
            return 0
        delivered = 0
        began = offset = self.next_of(level)
        while (entry := queue.entry(offset)) is not None and self._deliver_time(entry.tags_code, level) <= self._clock.now():
            await DELIVERS
            with contained(partial("delayed message at {} is not delivered".format, entry.physical_offset)):
                message = self.returning(entry.physical_offset)
                if message is not None:
                    if (await self._put(message)).status is not PutMessageStatus.PUT_OK:
                        break
                    delivered += 1
            offset += 1
            self.reached[level] = offset
            if self._profile.records_each_delivery:
                self.offsets[level] = offset
        if offset != began:
            self.offsets[level] = offset
        return delivered

    def next_of(self, level: int) -> int:
        """Return the index of the level's next entry."""
        return self.reached.get(level, self.offsets.get(level, 0))

    def pass_by(self, level: int, offset: int) -> None:
        """Mark the level's entries before an index as delivered."""
        self.reached[level] = self.offsets[level] = offset

    def returning(self, physical_offset: int) -> Message | None:
        """Return the message to deliver. Return None, and log it, if the record is not a message, lacks its original topic, or is a half
        message (HAZ-39)."""
        delayed = self._look(physical_offset)
        try:
            message = None if delayed is None else from_schedule_topic(delayed, trailing=self._trailing)
        except JavaError as problem:
            log.error("delayed message at %d is not delivered: %s", physical_offset, problem)
            return None
        if message is not None and message.topic == HALF_TOPIC and self._profile.discards_delayed_halves:
            log.error("delayed message at %d is a half message, and discarded", physical_offset)
            return None
        return message

    def _deliver_time(self, tags_code: int, level: int) -> int:
        """Return the entry's deliver time. A time further ahead than the level's delay was not set by this broker and counts as now
        (HAZ-42)."""
        now = self._clock.now()
        return now if tags_code > now + LEVELS[level - 1] else tags_code

    def text(self) -> str:
        """Return the offsets as delayOffset.json and the response to request 45 contain them: levels are unquoted keys."""
        lines = ",".join(f"{level}:{offset}" for level, offset in sorted(self.offsets.items()))
        return f'{{\n\t"offsetTable":{{{lines}\n\t}}\n}}'

    def take(self, text: str) -> None:
        """Replace the offsets by the master's, and persist. Raises ValueError for malformed text."""
        self._decode(text)
        self.reached.clear()
        self.persist()

    def persist(self) -> None:
        """Write delayOffset.json."""
        persistence.persist(self._disk, self.text(), self._path, in_place=self._in_place)

    def load(self) -> bool:
        """Read the offsets. Releases with `corrects_delay_offsets` limit each to its queue's range. Return False if the file and its
        backup are broken."""
        if not persistence.load(self._disk, self._path, self._decode):
            return False
        self.reached.clear()
        for level, offset in self.offsets.items():
            queue = self._queue(SCHEDULE, level - 1)
            if queue is not None and self._profile.corrects_delay_offsets:
                self.offsets[level] = min(max(offset, queue.min_offset), queue.max_offset)
        return True

    def _decode(self, text: str) -> None:
        table = re.search(r'"offsetTable"\s*:\s*\{([^{}]*)\}', text)
        if table is None:
            raise ValueError(f"no offsetTable in {self._path}")
        pairs = re.findall(r'(?<![0-9])"?([0-9]++)"?\s*:\s*([0-9]+)', table[1])
        self.offsets = {whole_number(level): whole_number(offset) for level, offset in pairs}
