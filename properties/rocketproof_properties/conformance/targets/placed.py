"""The simulated cluster in scopes whose requests are placed: messages that wait for a level or a time, and what groups tell of queues.

A thread stands still where its message is to lie elsewhere than it asked to, and carries it: the way of its record is read from there.
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
from rocketproof_protocol import codes
from rocketproof_protocol.flags import TRANSACTION_BITS
from rocketproof_protocol.groups import RETRY_MAX_TIMES
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, REAL_TOPIC, TIMER_DELAY_SEC, TIMER_OUT_MS, TRAN_MSG
from rocketproof_protocol.topics import SCHEDULE
from rocketproof_spec.committing import NO_OFFSET

from ...programs.actions import KINDS
from ...programs.sizes import overhead, stored_length
from ...programs.vocabulary import plain
from .abstraction import OutstandingSend
from .base import Deviation, Seen, decoded
from .cluster import SimulatedTarget
from .start import GROUP

LATER = "60"  # seconds: nothing comes due, as no time passes
_KIND_OF = {flag: kind for kind, flag in KINDS.items()}
_FLAGS = ("back", "half", "timed", "named", "found", "fitting", "elsewhere")
_WITHOUT = {"step": "put", "flaw": "none", "lane": -1, **dict.fromkeys(_FLAGS, False)}
"""What a way is like without a request, where that is not 0."""


class PlacedTarget(SimulatedTarget):
    """The same cluster; what its groups have told of the scope's own topic is one place, and without such groups messages wait."""

    passed = (APPENDS.name, WANTED.name)

    # What it may do

    def can(self, action: Action, args: Sequence[int]) -> bool:
        """What is narrower, too: topics of the broker's own that its release lets clients send to are left alone, and offsets go alone only
        where they go with their group, which can come back with nothing else changed."""
        values, names = decoded(action, args), self.parts.names
        if action.name == "request" and self.s.scope.topics[values["t"]] == "forbidden" and self.cluster.profile.check_names:
            return names[values["t"]] in self.cluster.profile.forbidden
        if action.name == "forget_offset":
            return bool(self.cluster.profile.clean_offsets)
        if action.name == "update_group" and not values["listed"] and values["known"]:
            return not self.cluster.profile.remakes_groups
        return super().can(action, args)

    def _finds(self, action: str, job: OutstandingSend) -> bool:
        """A thread that knows where its message is to lie has looked its topic up before it looked for the group."""
        if not self._stands_placed(job):
            return super()._finds(action, job)
        if action == "miss_topic":
            return not job.looked_up
        return job.looked_up and all((b, t) != (job.broker, job.topic) for b, t, _ in self._outliving())

    @staticmethod
    def _stands_placed(job: OutstandingSend) -> bool:
        return job.handler is not None and job.handler.at is not None and job.handler.at.name == PLACED.name

    # Requests, and the way of their records

    def _do_request(  # type: ignore[override]  # what is asked for is the action's, and becomes properties
        self, p: int, t: int, *, level: int = 0, timed: bool = False, half: bool = False, **header: Any
    ) -> None:
        asked = {DELAY: str(level)} if level else {}
        asked |= ({TIMER_DELAY_SEC: LATER} if timed else {}) | ({TRAN_MSG: "true"} if half else {})
        super()._do_request(p, t=t, **header, properties=asked)
        way = self.parts.jobs[p].way
        if self.s.scope.waits:
            own = dict(zip(("delayed", "halves", "wheel"), self.s.scope.named("forbidden"), strict=True))
            way |= {"level": level, "timed": timed, "half": half, **own}
        elif self.s.scope.topics[t] == "retry":
            way["step"] = "retry"

    def _body(self, t: int, size: int, kind: str, properties: Mapping[str, str]) -> int:
        one = super()._body(t, size, kind, properties)
        if not self.s.scope.waits:
            return one
        return one - grown(self.cluster.profile, self.parts.names[t], KINDS[kind], one, properties)

    def _watch(self, p: int, job: OutstandingSend, place: str, before: tuple[Any, ...]) -> None:
        if place == APPEND.name:
            job.looked_up = self.parts.names[job.topic] in before[0]
        super()._watch(p, job, place, before)
        stands = job.handler.at if job.handler is not None else None
        if stands is not None and isinstance(stands.carries, Message):
            self._lies(job, stands.carries)

    def _lies(self, job: OutstandingSend, message: Message) -> None:
        """Where the message is to lie that the thread has, and what it waits for still."""
        job.way["step"] = "put"
        if REAL_TOPIC not in message.properties:
            return
        job.kind = _KIND_OF[message.sys_flag & TRANSACTION_BITS]
        waits = TIMER_DELAY_SEC in message.properties and TIMER_OUT_MS not in message.properties
        level = 0 if message.topic == SCHEDULE else whole_number(message.properties.get(DELAY, 0))
        place = self.parts.names.index(message.topic)
        job.way |= {"half": False, "level": level, "timed": waits, "place": place, "lane": message.queue_id}

    # Groups

    def _do_update_group(self, b: int, t: int, *, known: bool, limit: int, queues: int, listed: bool) -> None:
        del t
        self._granted(b, "configure", line=f"autoCreateSubscriptionGroup={str(known or listed).lower()}")
        if listed:
            self._granted(b, "group", group=GROUP, retries=limit, queues=queues)
        else:
            self._granted(b, "delete_group", group=GROUP, offsets=False)

    def _do_commit_offset(self, b: int, g: int, t: int, *, named: bool, whole: bool, k: int, at: int) -> None:
        del g, named, whole, k  # the place's, and the request names all
        self._granted(b, "commit", group=GROUP, topic=self.parts.names[t], offset=at)

    def _do_forget_offset(self, b: int, k: int) -> None:
        del k
        group = self.parts.broker(b).groups.table.get(GROUP)
        self._granted(b, "delete_group", group=GROUP, offsets=True)
        if group is not None:
            self._granted(b, "group", group=GROUP, retries=group.retry_max_times, queues=group.retry_queue_nums)

    def _granted(self, b: int, step: str, **given: Any) -> None:
        answer = self.cluster.call(plain(step, self.cluster.profile, **given), self.parts.node(b).name, client="administrator")
        if answer.code != codes.SUCCESS:
            raise Deviation(f"{step} is answered {answer.code} ({answer.remark}): the specification allows it")

    # What is seen

    def seen(self) -> Seen:
        found = super().seen()
        scope, variables = self.s.scope, self.instance.model.variables
        ways = [variable.name for variable in variables if variable.name.startswith("way.")]
        for p in range(scope.producers):
            job = self.parts.jobs.get(p)
            way = job.way if job else {}
            found |= {(name, p): way.get(name[4:], _WITHOUT.get(name[4:], 0)) for name in ways}
        for b in range(scope.brokers):
            for t, kind in enumerate(scope.topics):
                self._groups(b, t, kind, found)
            for k in range(scope.progress):
                told = self.parts.broker(b).offsets.query(GROUP, self.parts.names[scope.subject], 0)
                found["told", b, k] = NO_OFFSET if told is None else told
        return found

    def _groups(self, b: int, t: int, kind: str, found: Seen) -> None:
        """The group of a topic, which is one of a retry topic only; one that is not there is made with the defaults."""
        broker = self.parts.broker(b)
        group = broker.groups.table.get(GROUP) if kind == "retry" else None
        made = broker.settings.auto_create_subscription_group or kind != "retry"
        found["group.known", b, t] = group is not None or made
        found["group.limit", b, t] = group.retry_max_times if group else RETRY_MAX_TIMES
        found["group.queues", b, t] = group.retry_queue_nums if group else 1
        found["group.listed", b, t] = group is not None


def grown(profile: Profile, topic: str, sys_flag: int, size: int, properties: Mapping[str, str]) -> int:
    """Bytes by which the record of such a message is larger than it would be where it asked to lie, as a broker of its own shows; 0 if
    that takes none."""
    cluster = Cluster(0, profile=profile)
    store = cluster.add(BrokerSettings(broker_name="broker-a", name_servers=(NAME_SERVER,))).running.store
    cluster.call(plain("send", topic=topic, size=size, body="", sys_flag=sys_flag, properties=properties))
    end = store.max_phy_offset
    return end - size - overhead(topic, stored_length(properties, profile)) if end else 0
