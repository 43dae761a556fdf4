"""Drives a broker by the model of send-backs, with the broker's own requests, delays and pulls.

The message's state is read from the last record of the log. A delivery advances the clock by the level's real delay. The consumer looks at
the message with a pull of the queue. Registrations of topics stay on the wire until an action delivers them.
"""

from __future__ import annotations

from typing import Any

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_impl.message import Message, parse_properties
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.simulator.network import HOLD, Packet
from rocketproof_impl.store.delay import LEVELS
from rocketproof_impl.topic import TopicConfig
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol import codes
from rocketproof_protocol.flags import PREPARED, READ, WRITE
from rocketproof_protocol.numbers import whole_number
from rocketproof_protocol.properties import DELAY, ORIGIN_MESSAGE_ID, REAL_QID, REAL_TOPIC, RETRY_TOPIC
from rocketproof_protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE, TEMPLATE
from rocketproof_spec.sendbacks import Sendbacks

from ...programs.vocabulary import plain
from .base import Deviation, ModelDriver, Seen, require
from .broker import DrivenBroker, SimulatedBroker

GROUP, ORDERS = "group", "orders"
RETRY, DEAD = RETRY_PREFIX + GROUP, DLQ_PREFIX + GROUP
TOPICS = {None: "none", ORDERS: "orders", RETRY: "retry", DEAD: "dead"}
NOWHERE = 1 << 40  # beyond any log
NOTHING = {"asked": "nothing", "answer": "none", "appended": 0, "made": False, "queue": None}


class SendbacksDriver(ModelDriver):
    """One broker with one message in `orders`, which a consumer of the group has received.

    `broker`: the driven broker, by default a simulated one. On another one every flush completes.
    """

    def __init__(self, specification: Sendbacks, instance: Instance, profile: Profile, broker: DrivenBroker | None = None) -> None:
        super().__init__(instance)
        del specification
        c = self.constants
        self.broker = broker or self._simulated(profile)
        self.broker.create_topic(ORDERS)
        if c["existing"]:
            self.broker.create_topic(RETRY, c["existing"], c["existing_perm"])
        if c["group_known"]:
            self.broker.create_group(GROUP, c["group_queues"], c["group_limit"])
        self.broker.call(plain("send", topic=ORDERS, sys_flag=PREPARED if c["prepared"] else 0))
        if isinstance(self.broker, SimulatedBroker):
            self.broker.cluster.network.plan = _plan
            self.broker.deployment.act("flush", stuck=not c["flushes"])
        self.origin = self._record().msg_id
        self.taken, self.left, self.given_up = True, False, False
        self.last: dict[str, Any] = dict(NOTHING)
        self.changes = 0

    def _simulated(self, profile: Profile) -> SimulatedBroker:
        c = self.constants
        simulated = SimulatedBroker(
            profile,
            auto_create_subscription_group=c["makes_groups"],
            auto_create_topic_enable=c["template"] > 0,
            broker_permission=READ | (WRITE if c["writable"] else 0),
        )
        if c["template"]:
            simulated.broker.topics.table[TEMPLATE].write_queue_nums = c["template"]
        return simulated

    # Actions

    def _do_back_retry(self, level: int = 0, q: int | None = None) -> None:
        """The consumer sends its record back. `q`: the queue that the broker draws."""
        c = self.constants
        if q is not None:
            self.broker.draw(q)
        at = self._record().physical_offset if c["in_log"] else NOWHERE
        most = c["limit"] if c["names_limit"] else None
        request = plain(
            "back", offset=at, group=GROUP, level=level, most=most, version=c["version"], unit=c["unit_mode"], named=c["names_topic"]
        )
        self._ask("back", request, given_up=level < 0)

    _do_back_bury = _do_back_retry
    _do_back_no_group = _do_back_no_broker = _do_back_no_queues = _do_back_no_topic = _do_back_no_record = _do_back_no_limit = (
        _do_back_no_origin
    ) = _do_back_retry

    def _do_send_retry(self, q: int = 0) -> None:
        """The consumer sends its message to the retry topic, as the Java client does. A lock of its group is renewed before."""
        c, record = self.constants, self._record()
        if c["locked"]:
            self.broker.call(plain("lock", group=GROUP))
        properties = {
            RETRY_TOPIC: self._properties(record).get(RETRY_TOPIC, record.topic),
            ORIGIN_MESSAGE_ID: self.origin,
            DELAY: str(3 + record.reconsume_times),
        }
        most = c["limit"] if c["names_limit"] else None
        more = {"times": record.reconsume_times + 1, "most": most, "version": c["version"], "unit": c["unit_mode"]}
        self._ask("send", plain("send", topic=RETRY, queue=q, properties=properties, **more))

    _do_send_bury = _do_send_no_group = _do_send_no_limit = _do_send_retry

    def _ask(self, kind: str, request: Command, *, given_up: bool = False) -> None:
        records, table = self.broker.records(), self.broker.topics()
        answer = self.broker.call(request)
        code, appended = codes.ANSWERS.get(answer.code, str(answer.code)), len(self.broker.records()) - len(records)
        queue = (answer.ext_fields or {}).get("queueId")
        self.last = {
            "asked": kind,
            "answer": code,
            "appended": appended,
            "made": self.broker.topics() != table,
            "queue": None if queue is None else whole_number(queue),
        }
        self.taken = not appended and code != "SUCCESS"
        self.left = not appended and code == "SUCCESS"
        self.given_up = given_up and appended > 0

    def _do_change_group(self, queues: int) -> None:
        self.broker.create_group(GROUP, queues, self.broker.groups().get(GROUP, SubscriptionGroupConfig(GROUP)).retry_max_times)
        self.changes += 1

    def _do_register(self) -> None:
        self.broker.deliver_registrations()

    def _do_deliver(self) -> None:
        """Let the message's time pass. Later releases dispatch only flushed messages."""
        self.broker.run(lambda broker: broker.store.commit_log.files.flush_all())
        level = whole_number(self._properties(self._record())[DELAY])
        self.broker.deliver_delayed(LEVELS[level - 1])

    def _do_look(self) -> None:
        """Pull the message's queue according to the name server's route. Later releases dispatch only flushed messages."""
        self.broker.run(lambda broker: broker.store.commit_log.files.flush_all())
        self.broker.dispatch()
        record = self._record()
        answer = self.broker.call(plain("pull", topic=record.topic, queue=record.queue_id, offset=record.queue_offset, group=GROUP))
        routed = sum(entry.read_queue_nums for entry in self.broker.route(RETRY))
        if answer.code != codes.SUCCESS or record.queue_id >= routed:
            raise Deviation(f"a pull is answered {answer.code} ({answer.remark}): the specification lets the consumer have the message")
        self.taken, self.last = True, dict(NOTHING)

    # State

    def _record(self) -> Message:
        return self.broker.records()[-1]

    def _properties(self, record: Message) -> dict[str, str]:
        return parse_properties(record.properties_text, exact=self.broker.profile.exact_properties)

    def seen(self) -> Seen:
        record = self._record()
        properties = self._properties(record)
        delayed = record.topic == SCHEDULE
        origin = properties.get(ORIGIN_MESSAGE_ID)
        require(origin in (None, self.origin), f"the record says that {origin} was its first one: that was {self.origin}")
        groups, topics = self.broker.groups(), self.broker.topics()
        group = groups.get(GROUP, SubscriptionGroupConfig(GROUP))
        retry = topics.get(RETRY, TopicConfig(RETRY, 0, 0, 0))
        dead = topics.get(DEAD, TopicConfig(DEAD, 1, 1))
        if retry.read_queue_nums != retry.write_queue_nums or (dead.read_queue_nums, dead.write_queue_nums) != (1, 1):
            raise Deviation(f"the topics are {retry} and {dead}: the specification gives them equal counts, and dead letters one queue")
        return {
            "message.place": "taken" if self.taken else "given up" if self.left else "delayed" if delayed else "stored",
            "message.topic": TOPICS.get(properties[REAL_TOPIC] if delayed else record.topic),
            "message.queue": whole_number(properties[REAL_QID]) if delayed else record.queue_id,
            "message.times": record.reconsume_times,
            "message.delay": whole_number(properties.get(DELAY, 0)),
            "message.first": TOPICS.get(properties.get(RETRY_TOPIC)),
            "message.origin": origin is not None,
            "message.prepared": record.transaction == PREPARED,
            "message.given_up": self.given_up,
            **{f"last.{name}": value for name, value in self.last.items()},
            "group.known": GROUP in groups,
            "group.queues": group.retry_queue_nums,
            "group.limit": group.retry_max_times,
            "retry.queues": retry.read_queue_nums,
            "retry.perm": retry.perm,
            "retry.flag": retry.topic_sys_flag,
            "dead": topics[DEAD].perm if DEAD in topics else None,
            "routed": bool(self.broker.route(RETRY)),
            "changes": self.changes,
        }


def _plan(packet: Packet) -> list[int] | str:
    return HOLD if not packet.answer and packet.command.code == codes.REGISTER_BROKER else [0]
