"""Topic routes: which brokers have a topic's queues, as a name server answers and a client caches, with their JSON (NS-06)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rocketproof_protocol.fastjson import dumps, loads
from rocketproof_protocol.numbers import whole_number

MASTER_ID = 0
FLAG, MISSPELT = "topicSysFlag", "topicSynFlag"  # the JSON key of a topic's flag, and its spelling in older name servers


@dataclass(slots=True)
class QueueData:
    """A topic's queues on one broker. Mutable: CLI-16 and PERM-02 change entries in place."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int = 0

    def copy(self) -> QueueData:
        return replace(self)


@dataclass(slots=True)
class BrokerData:
    """The processes that share a broker name: address by broker id, 0 is the master.

    `enable_acting_master` is None in releases whose name servers do not have it.
    """

    cluster: str
    broker_name: str
    broker_addrs: dict[int, str] = field(default_factory=dict)
    enable_acting_master: bool | None = None

    def copy(self) -> BrokerData:
        return replace(self, broker_addrs=dict(self.broker_addrs))


@dataclass(slots=True)
class TopicRouteData:
    """The route of a topic.

    `order_topic_conf` is text like "broker-a:4;broker-b:4", None for an unordered topic. `filter_server_table` maps a broker's address to
    its filter servers.
    """

    queue_datas: list[QueueData]
    broker_datas: list[BrokerData]
    order_topic_conf: str | None = None
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)

    def copy(self) -> TopicRouteData:
        """Return a deep copy."""
        return TopicRouteData(
            [entry.copy() for entry in self.queue_datas],
            [entry.copy() for entry in self.broker_datas],
            self.order_topic_conf,
            {address: list(servers) for address, servers in self.filter_server_table.items()},
        )

    def sorted(self) -> TopicRouteData:
        """Return the route with queue data and brokers sorted by broker name. The entries are shared."""
        return TopicRouteData(
            sorted(self.queue_datas, key=_broker_name),
            sorted(self.broker_datas, key=_broker_name),
            self.order_topic_conf,
            self.filter_server_table,
        )


def _broker_name(entry: QueueData | BrokerData) -> str:
    return entry.broker_name


def encode_route(route: TopicRouteData, flag: str = FLAG) -> bytes:
    """Return the body of a response to request 105.

    Names are in alphabetical order; `orderTopicConf` is omitted for an unordered topic. `flag` is the JSON key of the topic's flag.
    """
    data: dict[str, Any] = {
        "brokerDatas": [broker_to_data(broker) for broker in route.broker_datas],
        "filterServerTable": route.filter_server_table,
        "queueDatas": [queue_to_data(queue, flag) for queue in route.queue_datas],
    }
    if route.order_topic_conf is not None:
        data["orderTopicConf"] = route.order_topic_conf
    return encode_json(data)


def queue_to_data(queue: QueueData, flag: str = FLAG) -> dict[str, Any]:
    """Return one broker's queues of a topic as routes and topic registrations contain them."""
    return {
        "brokerName": queue.broker_name,
        "perm": queue.perm,
        "readQueueNums": queue.read_queue_nums,
        flag: queue.topic_sys_flag,
        "writeQueueNums": queue.write_queue_nums,
    }


def decode_queues(data: Any) -> list[QueueData]:
    """Return all queue data of a decoded route, with either spelling of the flag; an empty list if the route has none.

    Raises KeyError or TypeError for other shapes.
    """
    queues = []
    for entry in data.get("queueDatas") or []:
        flag = entry.get(FLAG, entry.get(MISSPELT, 0))
        queues.append(QueueData(entry["brokerName"], entry["readQueueNums"], entry["writeQueueNums"], entry["perm"], flag))
    return queues


def broker_to_data(broker: BrokerData) -> dict[str, Any]:
    """Return a broker name's entry as routes and cluster information contain it."""
    acting = {} if broker.enable_acting_master is None else {"enableActingMaster": broker.enable_acting_master}
    return {
        "brokerAddrs": {str(broker_id): address for broker_id, address in sorted(broker.broker_addrs.items())},
        "brokerName": broker.broker_name,
        "cluster": broker.cluster,
        **acting,
    }


def decode_route(body: bytes) -> TopicRouteData:
    """Decode the body of a response to request 105. Raises ValueError, KeyError or TypeError for other shapes."""
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
    """Return JSON as it is sent: sorted names, no blanks."""
    return dumps(data).encode()
