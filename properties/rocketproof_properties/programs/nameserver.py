"""The builder of requests to a name server: what each step becomes on the wire, with the names of its program.

A builder's keywords are the step's arguments with their defaults, as in `requests.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rocketproof_impl.registered import compressed
from rocketproof_impl.route import QueueData, queue_to_data
from rocketproof_impl.store.record import body_crc
from rocketproof_protocol import codes
from rocketproof_protocol.fields import ORDER_TOPIC_CONFIG

from .call import BORN, Context, RecordedCall
from .parts import NAME_SERVER


def forget_topic(context: Context, to: str, *, topic: str = "A", cluster: str | None = None) -> RecordedCall:
    """The name server deletes the topic's queues of all brokers, or of the brokers of one cluster."""
    del to
    scope = {} if cluster is None else {"clusterName": context.names.group(cluster)}
    return RecordedCall("forget_topic", NAME_SERVER, codes.DELETE_TOPIC_IN_NAMESRV, {"topic": context.names.topic(topic), **scope})


def register_topic(
    context: Context, to: str, *, topic: str = "A", brokers: Mapping[str, tuple[int, int, int]] | None = None
) -> RecordedCall:
    """Register a topic's queues on some brokers with the name server: read queues, write queues, permission."""
    del to
    queues = [QueueData(context.names.group(name), read, write, perm, 0) for name, (read, write, perm) in (brokers or {}).items()]
    data = json.dumps({"queueDatas": [queue_to_data(row) for row in queues]}).encode()
    return RecordedCall("register_topic", NAME_SERVER, codes.REGISTER_TOPIC, {"topic": context.names.topic(topic)}, data)


def cluster(context: Context, to: str) -> RecordedCall:
    del context, to
    return RecordedCall("cluster", NAME_SERVER, codes.GET_BROKER_CLUSTER_INFO, {})


def route(context: Context, to: str, *, topic: str = "A", again: bool = True) -> RecordedCall:
    """`again`: the client asks again if there is no route, because a registration may be on its way."""
    del to
    return RecordedCall("route", NAME_SERVER, codes.GET_ROUTEINFO_BY_TOPIC, {"topic": context.names.topic(topic)}, again=again)


def register(
    context: Context,
    to: str,
    *,
    name: str = "broker-x",
    broker_id: int = 0,
    address: str = "10.0.0.1:1",
    topics: Mapping[str, tuple[int, int, int]] | None = None,
    version: int = 1,
    packed: bool = False,
    cluster: str = "cluster",
    sys_flag: int = 0,
    lacking: str = "",
    filters: Sequence[str] = (),
    checked: bool = False,
    empty: bool = False,
    anew: bool = False,
) -> RecordedCall:
    """A broker that does not exist registers on a connection of its own.

    - `packed`: in the compressed form of releases before 5.0.
    - `filters`: the addresses of its filter servers.
    - `checked`: with the checksum of the body. `empty`: without a body.
    - `sys_flag`: of all topics. `lacking`: a field that their entries do not have; packed ones have all.
    - `anew`: over a new connection, before it closes the earlier one.
    """
    del to
    own = context.names.address(address)
    table = {
        context.names.topic(topic): {
            "topicName": context.names.topic(topic),
            "readQueueNums": read,
            "writeQueueNums": write,
            "perm": perm,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": sys_flag,
            "order": False,
        }
        for topic, (read, write, perm) in (topics or {}).items()
    }
    if not packed:
        table = {topic: {field: value for field, value in config.items() if field != lacking} for topic, config in table.items()}
    body = {
        "topicConfigSerializeWrapper": {"topicConfigTable": table, "dataVersion": {"timestamp": BORN, "counter": version}},
        "filterServerList": [*filters],
    }
    data = b"" if empty else compressed(body) if packed else json.dumps(body).encode()
    form = {"haServerAddr": own, "compressed": "true" if packed else "false", "bodyCrc32": str(body_crc(data) if checked else 0)}
    fields = _of_broker(context, name, broker_id, own, cluster) | form
    return RecordedCall("other", NAME_SERVER, codes.REGISTER_BROKER, fields, data, line=own, anew=anew)


def unregister(context: Context, to: str, *, name: str = "broker-x", broker_id: int = 0, address: str = "10.0.0.1:1") -> RecordedCall:
    del to
    own = context.names.address(address)
    return RecordedCall("other", NAME_SERVER, codes.UNREGISTER_BROKER, _of_broker(context, name, broker_id, own), line=own)


def has_to_register(
    context: Context, to: str, *, name: str = "broker-x", broker_id: int = 0, address: str = "10.0.0.1:1", version: int = 1
) -> RecordedCall:
    """A broker that does not exist asks whether the name server has a different version of its topics."""
    del to
    own = context.names.address(address)
    data = json.dumps({"timestamp": BORN, "counter": version}).encode()
    return RecordedCall("other", NAME_SERVER, codes.QUERY_DATA_VERSION, _of_broker(context, name, broker_id, own), data, line=own)


def permit_writes(context: Context, to: str, *, name: str = "broker-x", permitted: bool = False) -> RecordedCall:
    """An administrator removes the write permission from all queues of a broker that does not exist, or restores it."""
    del to
    code = codes.ADD_WRITE_PERM_OF_BROKER if permitted else codes.WIPE_WRITE_PERM_OF_BROKER
    return RecordedCall("other", NAME_SERVER, code, {"brokerName": context.names.group(name)})


def put_value(context: Context, to: str, *, space: str = "space", key: str = "k", value: str = "v") -> RecordedCall:
    """An administrator stores a value in the name server. In the namespace of order topics, the key is a topic."""
    del to
    key = context.names.topic(key) if space == ORDER_TOPIC_CONFIG else key
    fields = {"namespace": _namespace(context, space), "key": key, "value": value}
    return RecordedCall("other", NAME_SERVER, codes.PUT_KV_CONFIG, fields)


def values(context: Context, to: str, *, space: str = "space") -> RecordedCall:
    del to
    return RecordedCall("other", NAME_SERVER, codes.GET_KVLIST_BY_NAMESPACE, {"namespace": _namespace(context, space)})


def _namespace(context: Context, space: str) -> str:
    """Return the namespace's name: all programs share that of order topics."""
    return space if space == ORDER_TOPIC_CONFIG else context.names.group(space)


def _of_broker(context: Context, name: str, broker_id: int, address: str, cluster: str = "cluster") -> dict[str, str]:
    return {
        "brokerName": context.names.group(name),
        "brokerAddr": address,
        "clusterName": context.names.group(cluster),
        "brokerId": str(broker_id),
    }
