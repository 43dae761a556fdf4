"""Drives a simulated cluster by the model of placement: messages that wait for a delay level or a time, and offsets of groups.

A thread stops when the target queue of its message differs from the requested one. It carries the message, from which the placement is
read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rocketproof_impl.broker.checking import APPEND
from rocketproof_impl.broker.registration import WANTED
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.message import Message
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.store.commitlog import APPENDS
from rocketproof_impl.store.service import PLACED
from rocketproof_model import Action
from rocketproof_profiles import Profile
from rocketproof_protocol.flags import TRANSACTION_BITS
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, REAL_TOPIC, TIMER_DELAY_SEC, TIMER_OUT_MS
from rocketproof_protocol.topics import SCHEDULE
from rocketproof_spec.committing import NO_OFFSET

from ...programs.actions import KINDS
from ...programs.sizes import overhead, stored_length
from ...programs.vocabulary import plain
from .base import Seen, decoded
from .requests import GROUP
from .scopecluster import OutstandingSend
from .sending import SendingDriver

_KIND_OF = {flag: kind for kind, flag in KINDS.items()}
_FLAGS = ("back", "half", "timed", "named", "locked", "found", "fitting", "elsewhere")
_WITHOUT = {"step": "put", "flaw": "none", "lane": -1, **dict.fromkeys(_FLAGS, False)}
"""The placement variables without a request, as far as they are not 0."""


class PlacementDriver(SendingDriver):
    """The same cluster. Offsets of groups in the scope's own topic are one variable. In scopes without them, messages wait."""

    passed = (APPENDS.name, WANTED.name)

    # Possible steps

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """Return whether the implementation can take the step. In addition to the base class:

        - Clients do not send to system topics to which the release admits clients.
        - Offsets are deleted alone only in releases that delete them with their group, which is then created again unchanged.
        """
        values, names = decoded(action, args), self.names
        if action.name == "request" and self.scope.topics[values["t"]] == "forbidden" and self.profile.check_names:
            return names[values["t"]] in self.profile.forbidden
        if action.name == "forget_offset":
            return bool(self.profile.clean_offsets)
        return super().can(action, args)

    def _finds(self, action: str, job: OutstandingSend) -> bool:
        """Like the base class. A thread that has placed its message has looked up the topic before the group."""
        if not self._stands_placed(job):
            return super()._finds(action, job)
        if action == "miss_topic":
            return not job.looked_up
        return job.looked_up and all((b, t) != (job.broker, job.topic) for b, t, _ in self._outliving())

    @staticmethod
    def _stands_placed(job: OutstandingSend) -> bool:
        return job.handler is not None and job.handler.at is not None and job.handler.at.name == PLACED.name

    # Requests and placement

    def _do_request(self, p: int, b: int, t: int, *, level: int = 0, timed: bool = False, half: bool = False, **header: Any) -> None:
        super()._do_request(p, b, t, level=level, timed=timed, half=half, **header)
        way = self.parts.jobs[p].way
        if self.scope.waits:
            own = dict(zip(("delayed", "halves", "wheel"), self.scope.named("forbidden"), strict=True))
            way |= {"level": level, "timed": timed, "half": half, **own}
        elif self.scope.topics[t] == "retry":
            way["step"] = "retry"

    def body_bytes(self, t: int, size: int, kind: str, properties: Mapping[str, str]) -> int:
        body = super().body_bytes(t, size, kind, properties)
        return body - grown(self.profile, self.names[t], KINDS[kind], body, properties) if self.scope.waits else body

    def _record_step(self, p: int, job: OutstandingSend, place: str, before: tuple[Any, ...]) -> None:
        if place == APPEND.name:
            job.looked_up = self.names[job.topic] in before[0]
        super()._record_step(p, job, place, before)
        stands = job.handler.at if job.handler is not None else None
        if stands is not None and isinstance(stands.carries, Message):
            self._record_placement(job, stands.carries)

    def _record_placement(self, job: OutstandingSend, message: Message) -> None:
        """Record where the thread's message will be stored, and what it still waits for."""
        job.way["step"] = "put"
        if REAL_TOPIC not in message.properties:
            return
        job.kind = _KIND_OF[message.sys_flag & TRANSACTION_BITS]
        waits = TIMER_DELAY_SEC in message.properties and TIMER_OUT_MS not in message.properties
        level = 0 if message.topic == SCHEDULE else whole_number(message.properties.get(DELAY, 0))
        place = self.names.index(message.topic)
        job.way |= {"half": False, "level": level, "timed": waits, "place": place, "lane": message.queue_id}

    # Groups

    def _do_forget_offset(self, b: int, k: int) -> None:
        del k
        group = self.parts.broker(b).groups.table.get(GROUP)
        self._delete_group(b, offsets=True)
        if group is not None:
            self._create_group(b, group.retry_max_times, group.retry_queue_nums)

    # State

    def seen(self) -> Seen:
        values = super().seen()
        scope, variables = self.scope, self.instance.model.variables
        ways = [variable.name for variable in variables if variable.name.startswith("way.")]
        for p in range(scope.producers):
            job = self.parts.jobs.get(p)
            way = job.way if job else {}
            values |= {(name, p): way.get(name[4:], _WITHOUT.get(name[4:], 0)) for name in ways}
        for b in range(scope.brokers):
            for t, kind in enumerate(scope.topics):
                self._groups(b, t, kind, values)
            for k in range(scope.progress):
                offset = self.parts.broker(b).offsets.query(GROUP, self.names[scope.subject], 0)
                values["told", b, k] = NO_OFFSET if offset is None else offset
        return values

    def _groups(self, b: int, t: int, kind: str, values: Seen) -> None:
        """Record the group of a retry topic. A missing group is created with the defaults."""
        broker = self.parts.broker(b)
        group = broker.groups.table.get(GROUP) if kind == "retry" else None
        created = broker.settings.auto_create_subscription_group or kind != "retry"
        values["group.known", b, t] = group is not None or created
        values["group.limit", b, t] = group.retry_max_times if group else RETRY_MAX_TIMES
        values["group.queues", b, t] = group.retry_queue_nums if group else 1
        values["group.listed", b, t] = group is not None


def grown(profile: Profile, topic: str, sys_flag: int, size: int, properties: Mapping[str, str]) -> int:
    """Return the bytes by which such a message's record is larger than without placement, as measured on a separate broker; 0 if it is
    rejected."""
    cluster = Cluster(0, profile=profile)
    store = cluster.add(BrokerSettings(broker_name="broker-a", name_servers=(NAME_SERVER,))).running.store
    cluster.call(plain("send", topic=topic, size=size, body="", sys_flag=sys_flag, properties=properties))
    end = store.max_phy_offset
    return end - size - overhead(topic, stored_length(properties, profile)) if end else 0
