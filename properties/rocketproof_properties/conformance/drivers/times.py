"""Drives a broker by the model of offsets by time: messages, batches and SEARCH_OFFSET_BY_TIMESTAMP (29).

A moment of the specification begins with a tick, a second after the previous one. A broker in another process stores a message somewhat
later than its moment begins. The query then uses the store time of the moment's first message.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

from rocketproof_impl.message import Message
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec.times import Times

from .base import ModelDriver, Seen
from .broker import DrivenBroker, SimulatedBroker

TOPIC = "topic"
MOMENT = 1000
"""The length of a moment in ms."""


class TimesDriver(ModelDriver):
    """A broker with one queue, and the last response to a consumer. `broker`: the driven broker, by default a simulated one."""

    def __init__(self, specification: Times, instance: Instance, profile: Profile, broker: DrivenBroker | None = None) -> None:
        super().__init__(instance)
        self.most = specification.most
        self.broker = broker or SimulatedBroker(replace(profile, bounds_by_time=self.constants["bounds_by_time"]))
        self.broker.create_topic(TOPIC)
        self.begun = [self.broker.now()]
        """The start of each moment in ms."""
        self.last: Seen = {"asked": "nothing", "time": 0, "told": 0}

    def _do_append(self, messages: int) -> None:
        items = [[f"message {n}", {}] for n in range(messages)]
        self.broker.accepted("send", topic=TOPIC, items=items if messages > 1 else None)
        self.broker.dispatch()

    def _do_tick(self) -> None:
        self.broker.advance(MOMENT)
        self.begun.append(self.broker.now())

    def _do_look_up(self, time: int, above: bool) -> None:
        timestamp = next((message.store_timestamp for message in self._records() if self._moment(message) == time), self._begins(time))
        answer = self.broker.accepted("search", topic=TOPIC, time=timestamp, upper=above)
        self.last = {"asked": "upper" if above else "lower", "time": time, "told": whole_number((answer.ext_fields or {})["offset"])}

    def _begins(self, moment: int) -> int:
        now = len(self.begun) - 1
        return self.begun[min(moment, now)] + max(moment - now, 0) * MOMENT

    def _moment(self, message: Message) -> int:
        return bisect_right(self.begun, message.store_timestamp) - 1

    def _records(self) -> list[Message]:
        return [message for message in self.broker.records() if message.topic == TOPIC]

    def seen(self) -> Seen:
        moments = dict(enumerate(map(self._moment, self._records())))
        stored = {("stored", offset): moments.get(offset, 0) for offset in range(self.most)}
        return {"now": len(self.begun) - 1, "records": self.broker.max_offset(TOPIC), **stored, **self.last}
