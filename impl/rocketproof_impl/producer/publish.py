"""A producer's view of a route: the queues that it may send to (CLI-20), and whether a new route differs."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..bounds import queue_ids
from ..java import parse_int
from ..route import MASTER_ID, QueueData, TopicRouteData
from ..topic import is_writeable


@dataclass(slots=True)
class MessageQueue:
    """A queue of a topic. Mutable: latency-fault mode changes cached queues (HAZ-27)."""

    topic: str
    broker_name: str
    queue_id: int


@dataclass(slots=True)
class PublishInfo:
    """TopicPublishInfo, empty at first. `have_topic_router_info` is set once it was created from a route, possibly without queues."""

    message_queue_list: list[MessageQueue] = field(default_factory=list)
    have_topic_router_info: bool = False
    order_topic: bool = False
    route: TopicRouteData | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a queue to send to (CLI-13)."""
        return bool(self.message_queue_list)

    def write_queue_nums(self, broker_name: str) -> int:
        """Return the broker's number of write queues in the route, -1 if it is not in the route."""
        entries = self.route.queue_datas if self.route is not None else []
        return next((entry.write_queue_nums for entry in entries if entry.broker_name == broker_name), -1)


def publish_info(topic: str, route: TopicRouteData) -> PublishInfo:
    """Return the queues of a route (CLI-20). Raises JavaError for more than MAX_QUEUES queues of a broker.

    With an order configuration these are the queues that it lists, writable or not. Otherwise they are the writable queues of brokers with
    a master, sorted by broker name.
    """
    if route.order_topic_conf:
        return PublishInfo(_ordered(topic, route.order_topic_conf), have_topic_router_info=True, order_topic=True, route=route)
    queues = [
        MessageQueue(topic, entry.broker_name, queue_id)
        for entry in sorted(route.queue_datas, key=_broker_name)
        if is_writeable(entry.perm) and _has_master(route, entry.broker_name)
        for queue_id in queue_ids(entry.write_queue_nums)
    ]
    return PublishInfo(queues, have_topic_router_info=True, route=route)


def _ordered(topic: str, conf: str) -> list[MessageQueue]:
    """Return the queues of text like "broker-a:4;broker-b:4", ignoring trailing semicolons. Raises JavaError for a malformed count."""
    shares = (share.partition(":") for share in conf.rstrip(";").split(";"))
    return [MessageQueue(topic, broker_name, queue_id) for broker_name, _, nums in shares for queue_id in queue_ids(parse_int(nums))]


def _has_master(route: TopicRouteData, broker_name: str) -> bool:
    broker = next((broker for broker in route.broker_datas if broker.broker_name == broker_name), None)
    return broker is not None and MASTER_ID in broker.broker_addrs


def _broker_name(entry: QueueData) -> str:
    return entry.broker_name


def route_changed(old: TopicRouteData | None, new: TopicRouteData) -> bool:
    """Return whether the route differs from the cached one, ignoring the order of brokers (CLI-19)."""
    return old is None or old.sorted() != new.sorted()
