"""A simulated broker and a consumer as a target of the specification of offsets by time: messages, batches and SEARCH_OFFSET_BY_TIMESTAMP
(29).

A moment of the specification begins with a tick, a second after the previous one. A broker in another process stores a message somewhat
later than its moment begins. The query then uses the store time of the moment's first message.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Any

from rocketproof_impl.message import Message
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import whole_number
from rocketproof_spec.times import Times

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen
from .delays import TOPIC, stand

MOMENT = 1000
"""The length of a moment in ms."""


class TimesDriver(ModelDriver):
    """A broker with one queue, and the last response to a consumer. `on`: a broker that runs elsewhere (`outside.Outside`)."""

    def __init__(self, specification: Times, instance: Instance, profile: Profile, on: tuple[Any, Any] | None = None) -> None:
        super().__init__(instance)
        self.most = specification.most
        self.cluster: Any
        self.node: Any
        self.cluster, self.node = on or stand(replace(profile, bounds_by_time=self.constants["bounds_by_time"]))
        self.node.running.topics.update(TopicConfig(TOPIC, 1, 1))
        self.begun = [self.cluster.clock.now()]
        """The start of each moment in ms."""
        self.last: Seen = {"asked": "nothing", "time": 0, "told": 0}

    def _do_append(self, messages: int) -> None:
        items = [[f"message {n}", {}] for n in range(messages)]
        answer = self.cluster.call(plain("send", topic=TOPIC, items=items if messages > 1 else None))
        if answer.code != codes.SUCCESS:
            raise Deviation(f"{messages} messages are answered {answer.code}: the specification has them stored")
        self.cluster.dispatch()

    def _do_tick(self) -> None:
        self.cluster.scheduler.advance(MOMENT)
        self.begun.append(self.cluster.clock.now())

    def _do_look_up(self, time: int, above: bool) -> None:
        timestamp = next((message.store_timestamp for message in self._records() if self._moment(message) == time), self._begins(time))
        answer = self.cluster.call(plain("search", topic=TOPIC, time=timestamp, upper=above))
        if answer.code != codes.SUCCESS:
            raise Deviation(f"the offset of a time is answered {answer.code}: the specification has one told")
        self.last = {"asked": "upper" if above else "lower", "time": time, "told": whole_number((answer.ext_fields or {})["offset"])}

    def _begins(self, moment: int) -> int:
        """Return the start of a moment in ms, past or future."""
        now = len(self.begun) - 1
        begun: int = self.begun[min(moment, now)]
        return begun + max(moment - now, 0) * MOMENT

    def _moment(self, message: Message) -> int:
        return bisect_right(self.begun, message.store_timestamp) - 1

    def _records(self) -> list[Message]:
        return [message for message in self.node.running.store.records() if message.topic == TOPIC]

    def seen(self) -> Seen:
        moments = dict(enumerate(map(self._moment, self._records())))
        stored = {("stored", offset): moments.get(offset, 0) for offset in range(self.most)}
        return {"now": len(self.begun) - 1, "records": self.node.running.store.max_offset(TOPIC, 0), **stored, **self.last}
