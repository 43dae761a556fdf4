"""The name server: its tables, and the requests that read and change them (NS-01)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.codes import (
    ADD_WRITE_PERM_OF_BROKER,
    DELETE_TOPIC_IN_NAMESRV,
    GET_BROKER_CLUSTER_INFO,
    GET_KVLIST_BY_NAMESPACE,
    GET_ROUTEINFO_BY_TOPIC,
    PUT_KV_CONFIG,
    QUERY_DATA_VERSION,
    QUERY_NOT_FOUND,
    REGISTER_BROKER,
    REGISTER_TOPIC,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
    UNREGISTER_BROKER,
    WIPE_WRITE_PERM_OF_BROKER,
)
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.fields import ORDER_TOPIC_CONFIG
from rocketproof_protocol.numbers import java_int, java_long

from .java import JavaError, boolean_text, null_pointer, parse_boolean
from .nameserversettings import NameServerSettings
from .ports import Clock
from .registered import decompressed
from .remoting.command import Command, response_to
from .remoting.dispatch import not_supported, system_error, write
from .remoting.faq import suggestion
from .remoting.headers import command_error
from .remoting.ports import Channel
from .route import (
    FLAG,
    MISSPELT,
    broker_to_data,
    decode_queues,
    encode_json,
    encode_route,
)
from .routeinfo import DEFAULTS, RouteInfoManager
from .store.record import body_crc
from .topic import DataVersion, table_from_data, version_from_data, version_to_data


class NameServer(RouteInfoManager):
    """The tables, and the handlers of requests for them."""

    def __init__(self, clock: Clock, *, settings: NameServerSettings = DEFAULTS, profile: Profile = PROFILES["P49"]) -> None:
        super().__init__(clock, settings=settings, profile=profile)
        served = {
            REGISTER_TOPIC: profile.takes_topics,
            ADD_WRITE_PERM_OF_BROKER: profile.gives_write_permission,
            QUERY_DATA_VERSION: profile.compares_versions,
        }
        self._unserved = frozenset(code for code, is_served in served.items() if not is_served)

    def receive(self, channel: Channel, command: Command) -> None:
        """Answer a request unless it is one-way.

        An unknown code gets REQUEST_CODE_NOT_SUPPORTED in profiles whose name servers answer it; others send no response. Codes that only
        real name servers serve always get it, because their callers expect a response.
        """
        response = response_to(command)
        handler = _HANDLERS.get(command.code)
        if command.code in self._unserved:
            handler = None
        if handler is None:
            if not self.profile.name_server_refuses and command.code not in _SERVED_ELSEWHERE:
                return
            response = not_supported(command)
        else:
            response.code, response.remark = SUCCESS, None
            try:
                handler(self, channel, command, response)
            except Exception as error:  # noqa: BLE001 - every throwable becomes a response (REM-08)
                response = system_error(command, error)
        if not command.is_one_way:
            write(channel, response)


def _cluster(server: NameServer, request: Command) -> str:
    """Return the cluster in the request's header, "" in profiles that ignore it. Raises JavaError if it is needed and absent."""
    return _used(server, request, "clusterName") if server.profile.lives_in_cluster else ""


def _field(server: NameServer, request: Command, name: str) -> str | None:
    """Return a required field of the request's header. An absent one is None, or in earlier profiles raises JavaError (REM-04)."""
    value = (request.ext_fields or {}).get(name)
    if value is None and not server.profile.null_topic:
        raise command_error(f"the custom field <{name}> is null")
    return value


def _used(server: NameServer, request: Command, name: str) -> str:
    """Return a required field that null makes useless. Raises JavaError if it is absent."""
    value = _field(server, request, name)
    if value is None:
        raise null_pointer()
    return value


def _number(server: NameServer, request: Command, name: str) -> int:
    """Return a required number of the request's header. Raises JavaError if it is absent or malformed: a malformed one is null."""
    number = java_long(_used(server, request, name))
    if number is None:
        raise null_pointer()
    return number


def _registered(server: NameServer, request: Command) -> Any:
    """Return a registration's body as JSON values. Raises JavaError for a compressed body that cannot be read."""
    if not request.body:
        return {}
    if not parse_boolean((request.ext_fields or {}).get("compressed")):
        return loads(request.body)
    if not server.profile.compares_versions:
        raise JavaError("com.alibaba.fastjson.JSONException", "syntax error, expect {, actual error, pos 0")
    try:
        return decompressed(request.body, mappings=server.profile.wants_mappings)
    except ValueError:
        raise command_error("Failed to decode RegisterBrokerBody") from None


def _is_intact(request: Command) -> bool:
    """Return whether the body of a registration has the checksum in its header. 0 is none, and so is a malformed number."""
    stated = java_int((request.ext_fields or {}).get("bodyCrc32", "0"))
    return stated in (None, 0, body_crc(request.body))


def _register(server: NameServer, channel: Channel, request: Command, response: Command) -> None:
    """Handle request 103. The response has the master's addresses, and the order topics as its body (NS-02, NS-12).

    A setting of later name servers leaves out the order topics.
    """
    if server.profile.compares_versions and not _is_intact(request):
        response.code, response.remark = SYSTEM_ERROR, "crc32 not match"
        return
    body = _registered(server, request)
    table, version = table_from_data(body.get("topicConfigSerializeWrapper") or {})
    result = server.register_broker(
        _used(server, request, "clusterName"),
        _used(server, request, "brokerAddr"),
        _used(server, request, "brokerName"),
        _number(server, request, "brokerId"),
        _field(server, request, "haServerAddr"),
        table,
        version or DataVersion(0),
        filter_servers=body.get("filterServerList", []),
        channel=channel,
        acting_master=None if (acting := (request.ext_fields or {}).get("enableActingMaster")) is None else parse_boolean(acting),
    )
    if result is None:
        response.code, response.remark = SYSTEM_ERROR, "register broker failed"
        return
    addresses = {"haServerAddr": result.ha_server_addr, "masterAddr": result.master_addr}
    response.ext_fields = {name: address for name, address in addresses.items() if address is not None}
    if server.settings.return_order_topic_config_to_broker or not server.profile.may_keep_order_topics:
        response.body = _kv_table(server, ORDER_TOPIC_CONFIG)


def _register_topic(server: NameServer, _: Channel, request: Command, __: Command) -> None:
    """Handle request 217: a route without broker addresses. A request without a topic has no effect."""
    topic = (request.ext_fields or {}).get("topic")
    data = loads(request.body) if request.body else None
    if topic is not None and data is not None:
        server.register_topic(topic, decode_queues(data))


def _unregister(server: NameServer, _: Channel, request: Command, __: Command) -> None:
    """Handle request 104."""
    name, address, cluster = (_used(server, request, field) for field in ("brokerName", "brokerAddr", "clusterName"))
    server.unregister_broker(cluster, address, name, _number(server, request, "brokerId"))


def _get_route(server: NameServer, _: Channel, request: Command, response: Command) -> None:
    """Handle request 105 (NS-06). Later name servers look up the topic "null" if the request has none."""
    requested = (request.ext_fields or {}).get("topic")
    topic = "null" if requested is None and server.profile.null_topic else _used(server, request, "topic")
    route = None if requested is None else server.route(topic)
    if route is None:
        response.code = TOPIC_NOT_EXIST
        response.remark = f"No topic route info in name server for the topic: {topic}{suggestion(server.profile.name_server_faq)}"
    else:
        response.body = encode_route(route, MISSPELT if server.profile.misspells_flag else FLAG)


def _query_version(server: NameServer, _: Channel, request: Command, response: Command) -> None:
    """Handle request 322 (NS-09)."""
    address, version = _field(server, request, "brokerAddr"), version_from_data(loads(request.body or b""))
    if address is None and server.profile.lives_in_cluster:
        raise null_pointer()
    changed, stored = (True, None) if address is None else server.query_version(_cluster(server, request), address, version)
    response.ext_fields = {"changed": boolean_text(changed)}
    if stored is not None:
        response.body = encode_json(version_to_data(stored))


def _get_cluster_info(server: NameServer, _: Channel, __: Command, response: Command) -> None:
    """Handle request 106."""
    brokers = {name: broker_to_data(broker) for name, broker in server.broker_addr_table.items()}
    clusters = {name: sorted(brokers) for name, brokers in server.cluster_addr_table.items()}
    response.body = encode_json({"brokerAddrTable": brokers, "clusterAddrTable": clusters})


def _delete_topic(server: NameServer, _: Channel, request: Command, __: Command) -> None:
    """Handle request 216. Earlier name servers ignore the cluster."""
    topic, cluster = _field(server, request, "topic"), (request.ext_fields or {}).get("clusterName")
    if topic is not None:
        server.delete_topic(topic, cluster if server.profile.forgets_by_cluster else None)


def _put_kv(server: NameServer, _: Channel, request: Command, response: Command) -> None:
    """Handle request 100."""
    namespace, key = _field(server, request, "namespace"), _field(server, request, "key")
    if namespace is None or key is None:
        response.code, response.remark = SYSTEM_ERROR, "namespace or key is null"
        return
    server.kv_config.put(namespace, key, _used(server, request, "value"))


def _get_kv_list(server: NameServer, _: Channel, request: Command, response: Command) -> None:
    namespace = _field(server, request, "namespace")
    response.body = None if namespace is None else _kv_table(server, namespace)
    if response.body is None:
        response.code, response.remark = QUERY_NOT_FOUND, f"No config item, Namespace: {'null' if namespace is None else namespace}"


def _kv_table(server: NameServer, namespace: str) -> bytes | None:
    return encode_json({"table": server.kv_config.table(namespace)}) if server.kv_config.has(namespace) else None


def _wipe_write_perm(server: NameServer, _: Channel, request: Command, response: Command) -> None:
    name = _field(server, request, "brokerName")
    response.ext_fields = {"wipeTopicCount": str(0 if name is None else server.wipe_write_perm(name))}


def _add_write_perm(server: NameServer, _: Channel, request: Command, response: Command) -> None:
    name = _field(server, request, "brokerName")
    response.ext_fields = {"addTopicCount": str(0 if name is None else server.add_write_perm(name))}


_HANDLERS: dict[int, Callable[[NameServer, Channel, Command, Command], None]] = {
    REGISTER_BROKER: _register,
    REGISTER_TOPIC: _register_topic,
    UNREGISTER_BROKER: _unregister,
    GET_ROUTEINFO_BY_TOPIC: _get_route,
    GET_BROKER_CLUSTER_INFO: _get_cluster_info,
    DELETE_TOPIC_IN_NAMESRV: _delete_topic,
    QUERY_DATA_VERSION: _query_version,
    PUT_KV_CONFIG: _put_kv,
    GET_KVLIST_BY_NAMESPACE: _get_kv_list,
    WIPE_WRITE_PERM_OF_BROKER: _wipe_write_perm,
    ADD_WRITE_PERM_OF_BROKER: _add_write_perm,
}

_SERVED_ELSEWHERE = frozenset({101, 102, 206, 224, 304, 311, 312, 313, 318, 319})
"""Administrators' requests that real name servers serve: single configuration values, lists of topics, settings of the name server."""
