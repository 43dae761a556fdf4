"""Where a topic's queues are: what a name server answers and a client caches, and its JSON both ways (NS-06)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rocketproof_protocol.fastjson import dumps, loads
from rocketproof_protocol.numbers import whole_number

MASTER_ID = 0
FLAG, MISSPELT = "topicSysFlag", "topicSynFlag"  # a topic's flag, and what older name servers call it


@dataclass(slots=True)
class QueueData:
    """One broker's share of a topic. Mutable: CLI-16 and PERM-02 change entries in place."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0

    def copy(self) -> QueueData:
        return replace(self)


@dataclass(slots=True)
class BrokerData:
    """The processes that share one broker name: address by broker id, 0 is the master. `enable_acting_master` is None where
    name servers know nothing of it."""

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    enable_acting_master: bool | None = None

    def copy(self) -> BrokerData:
        return replace(self, broker_addrs=dict(self.broker_addrs))


@dataclass(slots=True)
class TopicRouteData:
    """The route of one topic.

    `order_topic_conf` is such as "broker-a:4;broker-b:4", None for an unordered topic; `filter_server_table` has the filter
    servers of a broker's address.
    """

    queue_datas: list[QueueData]
    broker_datas: list[BrokerData]
    order_topic_conf: str | None = None
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)

    def copy(self) -> TopicRouteData:
        """A route of its own, down to the entries."""
        return TopicRouteData(
            [entry.copy() for entry in self.queue_datas],
            [entry.copy() for entry in self.broker_datas],
            self.order_topic_conf,
            {address: list(servers) for address, servers in self.filter_server_table.items()},
        )

    def sorted(self) -> TopicRouteData:
        """The same route with queue data and brokers in the order of their names; the entries are shared."""
        return TopicRouteData(
            sorted(self.queue_datas, key=_broker_name),
            sorted(self.broker_datas, key=_broker_name),
            self.order_topic_conf,
            self.filter_server_table,
        )


def _broker_name(entry: QueueData | BrokerData) -> str:
    return entry.broker_name


def encode_route(route: TopicRouteData, flag: str = FLAG) -> bytes:
    """The body of an answer to request 105: names in alphabetical order, and no order topic's line where there is none. `flag` is what
    the topic's flag is called."""
    data: dict[str, Any] = {
        "brokerDatas": [broker_to_data(broker) for broker in route.broker_datas],
        "filterServerTable": route.filter_server_table,
        "queueDatas": [queue_to_data(queue, flag) for queue in route.queue_datas],
    }
    if route.order_topic_conf is not None:
        data["orderTopicConf"] = route.order_topic_conf
    return encode_json(data)


def queue_to_data(queue: QueueData, flag: str = FLAG) -> dict[str, Any]:
    """One broker's queues of a topic as routes and registrations of a topic carry them."""
    return {
        "brokerName": queue.broker_name,
        "perm": queue.perm,
        "readQueueNums": queue.read_queue_nums,
        flag: queue.topic_sys_flag,
        "writeQueueNums": queue.write_queue_nums,
    }


def decode_queues(data: Any) -> list[QueueData]:
    """The inverse, whatever the flag is called, of all that a route has; none where it has no such list. Raises KeyError or TypeError for
    anything else."""
    found = []
    for entry in data.get("queueDatas") or []:
        flag = entry.get(FLAG, entry.get(MISSPELT, 0))
        found.append(QueueData(entry["brokerName"], entry["readQueueNums"], entry["writeQueueNums"], entry["perm"], flag))
    return found


def broker_to_data(broker: BrokerData) -> dict[str, Any]:
    """One broker name as routes and cluster information carry it."""
    acting = {} if broker.enable_acting_master is None else {"enableActingMaster": broker.enable_acting_master}
    return {
        "brokerAddrs": {str(broker_id): address for broker_id, address in sorted(broker.broker_addrs.items())},
        "brokerName": broker.broker_name,
        "cluster": broker.cluster,
        **acting,
    }


def decode_route(body: bytes) -> TopicRouteData:
    """The inverse. Raises ValueError, KeyError or TypeError for anything else."""
    data = loads(body)
    return TopicRouteData(
        decode_queues(data),
        [
            BrokerData(
                entry.get("cluster", ""),
                entry["brokerName"],
                {whole_number(broker_id): address for broker_id, address in entry["brokerAddrs"].items()},
                entry.get("enableActingMaster"),
            )
            for entry in data["brokerDatas"]
        ],
        data.get("orderTopicConf"),
        data.get("filterServerTable") or {},
    )


def encode_json(data: Any) -> bytes:
    """JSON as it travels: sorted names, no blanks."""
    return dumps(data).encode()
