"""The actions of the model of sending as requests, once for simulated clusters and for brokers over the wire.

`SendingActions` turns an action of a client, a producer or an administrator into a request. Its abstract methods are what a simulated
cluster (`sending.py`) and a connection to running brokers (`witnesses/wire.py`) implement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from rocketproof_impl.message import Message
from rocketproof_impl.pretty import pretty
from rocketproof_impl.producer.producer import Producer
from rocketproof_impl.producer.publish import MessageQueue, PublishInfo
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.tasks import Work
from rocketproof_impl.topic import DataVersion, TopicConfig, table_to_data
from rocketproof_model import Instance
from rocketproof_profiles import Profile
from rocketproof_protocol.properties import DELAY, TIMER_DELAY_SEC, TRAN_MSG
from rocketproof_protocol.topics import HALF_TOPIC, RETRY_PREFIX, SCHEDULE, TEMPLATE, WHEEL_TIMER_TOPIC
from rocketproof_spec import Scope

from ...programs.actions import STEPS, TOPICS
from ...programs.vocabulary import plain
from .base import ActionPerformer, Deviation

GROUP: Final = "consumers"
"""The group of a scope's retry topic."""
NEVER_DUE: Final = "60"  # seconds of a delivery time: no program lets so much time pass
BODY: Final = 10
"""Bytes of a body in scopes without a log."""


class SendingActions(ActionPerformer, ABC):
    """Performs the actions of clients, producers and administrators. `names`: the scope's topics. `group`: the group of its retry topic."""

    def __init__(self, instance: Instance, scope: Scope, profile: Profile, prefix: str = "") -> None:
        super().__init__(instance)
        self.scope = scope
        self.profile = profile
        self.group = f"{prefix}{GROUP}"
        self.names = topic_names(scope, prefix, self.group)

    # What performs the requests

    @abstractmethod
    def body_bytes(self, t: int, size: int, kind: str, properties: Mapping[str, str]) -> int:
        """Return the bytes of a body with which the record takes `size` units of the log."""

    @abstractmethod
    def client_sends(self, p: int, b: int, request: Command, **values: Any) -> None:
        """Let client p send a request to broker b without waiting for the response. `values`: the action's other arguments."""

    @abstractmethod
    def producer_sends(self, p: int, b: int, q: int, message: Message) -> None:
        """Let producer p send a message to queue q of broker b without waiting for the response."""

    @abstractmethod
    def administrate(self, b: int | None, request: Command, does: str, *, waits: bool = True) -> None:
        """Send an administrator's request to broker b, or to the name server if b is None. Raises Deviation if it is rejected.

        `does`: what the request does. With `waits` the response must arrive now, otherwise it needs a further action.
        """

    @abstractmethod
    def producer(self, p: int) -> Producer: ...

    @abstractmethod
    def complete(self, work: Work[Any]) -> None:
        """Run a function of a producer to its end."""

    # Actions

    def _do_request(
        self,
        p: int,
        b: int,
        t: int,
        *,
        kind: str = "not",
        size: int | None = None,
        level: int = 0,
        timed: bool = False,
        half: bool = False,
        **header: Any,
    ) -> None:
        """Send a message with any header. A delay level, a delivery time and a half message are properties."""
        properties = {DELAY: str(level)} if level else {}
        properties |= ({TIMER_DELAY_SEC: NEVER_DUE} if timed else {}) | ({TRAN_MSG: "true"} if half else {})
        if size is None:
            size = self.scope.sizes.lo
        body = self.body_bytes(t, size, kind, properties) if self.scope.store else BODY
        name, arguments = STEPS["request"](self.names, body, t=t, kind=kind, **header)
        request = plain(name, **arguments, properties=properties)
        self.client_sends(p, b, request, topic=t, default=header.pop("d"), kind=kind, size=size, **header)

    def _do_send(self, p: int, b: int, q: int) -> None:
        self.producer_sends(p, b, q, Message(self.names[self.scope.subject], body=b"hello"))

    def _do_find_route(self, p: int) -> None:
        self.complete(self.producer(p).try_to_find_topic_publish_info(self.names[self.scope.subject]))

    _do_find_template = _do_find_route

    def _do_refresh(self, p: int) -> None:
        self.complete(self.producer(p).refresh_all())

    def _request(self, action: str, **values: Any) -> Command:
        name, arguments = STEPS[action](self.names, 0, **values)
        return plain(name, **arguments)

    def _do_update_topic(self, b: int, t: int, **counts: int) -> None:
        self.administrate(b, self._request("update_topic", t=t, **counts), f"changes {self.names[t]}")

    def _do_delete_topic(self, b: int, t: int) -> None:
        self.administrate(b, self._request("delete_topic", t=t), f"deletes {self.names[t]}")

    def _do_switch_creation(self, b: int, on: bool) -> None:
        self.administrate(b, self._request("switch_creation", on=on), f"switches auto-creation {'on' if on else 'off'}")

    def _do_permit(self, b: int, **permission: bool) -> None:
        """Change the broker's permission. The broker answers when its registration has arrived."""
        self.administrate(b, self._request("permit", **permission), "changes brokerPermission", waits=False)

    def _do_register_topic(self, b: int, t: int, read: int, write: int, perm: int, strangers: str) -> None:
        mine, stranger = {self.broker_name(b): (read, write, perm)}, {"stranger": (read, write, perm)}
        brokers = {"none": mine, "before": stranger | mine, "behind": mine | stranger}[strangers]
        self.administrate(None, plain("register_topic", topic=self.names[t], brokers=brokers), f"registers {self.names[t]}")

    def _do_forget_topic(self, b: int, t: int) -> None:
        """Delete the topic of all brokers; there is only one."""
        del b
        self.administrate(None, plain("forget_topic", topic=self.names[t]), f"forgets {self.names[t]}")

    def _do_update_group(self, b: int, t: int, *, known: bool, limit: int, queues: int, listed: bool) -> None:
        del t
        line = f"autoCreateSubscriptionGroup={str(known or listed).lower()}"
        self.administrate(b, plain("configure", line=line), "changes autoCreateSubscriptionGroup")
        if listed:
            self._create_group(b, limit, queues)
        else:
            self._delete_group(b, offsets=False)

    def _create_group(self, b: int, limit: int, queues: int) -> None:
        self.administrate(b, plain("group", group=self.group, retries=limit, queues=queues), f"changes group {self.group}")

    def _delete_group(self, b: int, *, offsets: bool) -> None:
        self.administrate(b, plain("delete_group", self.profile, group=self.group, offsets=offsets), f"deletes group {self.group}")

    def _do_commit_offset(self, b: int, g: int, t: int, *, named: bool, whole: bool, k: int, at: int) -> None:
        del g, named, whole, k  # the request states all of them
        request = plain("commit", group=self.group, topic=self.names[t], offset=at)
        self.administrate(b, request, f"commits offset {at} of {self.names[t]}")

    def broker_name(self, b: int) -> str:
        return broker_name(b)

    def producer_settings(self) -> ProducerSettings:
        return ProducerSettings(
            default_topic_queue_nums=self.constants["client_queues"],
            retry_times_when_send_failed=self.constants["retries"],
        )


def chosen_queue(info: PublishInfo, broker: str, queue_id: int) -> MessageQueue:
    """Return a queue of a producer's list. Raises Deviation if the list does not contain it."""
    for queue in info.message_queue_list:
        if (queue.broker_name, queue.queue_id) == (broker, queue_id):
            return queue
    raise Deviation(f"queue {queue_id} of {broker} is not in the producer's list")


# The initial state


def template(constants: Mapping[str, Any]) -> TopicConfig:
    """Return TBW102 as in the instance."""
    return TopicConfig(TEMPLATE, constants["template_read"], constants["template_write"], constants["template_perm"])


def earlier_table(constants: Mapping[str, Any], scope: Scope, subject: str, millis: int) -> bytes | None:
    """Return the topic table in a broker's files from an earlier run, None without one. `subject`: the name of the scope's own topic."""
    kept = [template(constants)] if constants["template_in_file"] and "template" in scope.topics else []
    if constants["existing"]:
        read, write, perm = (constants[f"existing_{name}"] for name in ("read", "write", "perm"))
        kept.append(TopicConfig(subject, read, write, perm, order=constants["order_topic"]))
    return pretty(table_to_data({config.topic_name: config for config in kept}, DataVersion(millis))).encode() if kept else None


def topic_names(scope: Scope, prefix: str = "", group: str = GROUP) -> list[str]:
    """Return the names of the scope's topics. Those of delayed messages, half messages and timers are its forbidden ones, in this order."""
    known = {**TOPICS, "retry": f"{RETRY_PREFIX}{group}"}
    forbidden = iter((SCHEDULE, HALF_TOPIC, WHEEL_TIMER_TOPIC))
    kinds = enumerate(scope.topics)
    return [next(forbidden) if kind == "forbidden" else known.get(kind, f"{prefix or 'topic-'}{t}") for t, kind in kinds]


def broker_name(b: int) -> str:
    """Return the name of a broker in a simulated cluster."""
    return f"broker-{chr(ord('a') + b)}"
