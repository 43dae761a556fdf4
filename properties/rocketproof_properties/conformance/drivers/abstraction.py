"""The abstraction function of the model of sending: reads a state of the model from a simulated cluster.

The values are read from tables, files, packets and threads, and from the records of `scopecluster.py`. The expected state is not used.
"""

from __future__ import annotations

import json
from typing import Any

from rocketproof_impl.simulator.network import Packet
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_protocol.flags import READ, WRITE
from rocketproof_spec.vocabulary import CREATING

from .base import Deviation, Seen, require
from .scopecluster import CAP, UNIT, ScopeCluster

_NUMBERS = ("broker", "topic", "default", "numbers", "queue", "kind", "size", "appended", "offset", "tries")
_FLAGS = ("fallback", "created", "touched", "checks")
"""Columns of `job` with the names of attributes of OutstandingSend."""


def seen(cluster: ScopeCluster) -> Seen:
    """Return the values of the specification's variables that the cluster shows, by name and indices."""
    values: Seen = {"crashes": cluster.count.crashes, "losses": cluster.count.losses, "updates": cluster.count.updates}
    scope = cluster.scope
    for b in range(scope.brokers):
        _observe_broker(cluster, b, values)
        if scope.store:
            _observe_store(cluster, b, values)
    if scope.configures:
        settings = cluster.node(0).settings
        values["auto_create_now"] = settings.auto_create_topic_enable
        values["broker_readable_now"] = bool(settings.broker_permission & READ)
        values["broker_writable_now"] = bool(settings.broker_permission & WRITE)
    for p in range(scope.producers):
        _observe_client(cluster, p, values)
    return values


def _observe_broker(cluster: ScopeCluster, b: int, values: Seen) -> None:
    node = cluster.node(b)
    running = node.broker
    table = running.topics.table if running else {}
    filed, file_version = cluster.file(b)
    packet = cluster.packet(b)
    carried, registration_version = _carried(cluster, packet)
    server = cluster.simulated.name_server
    live = server.live_info(node.settings.broker_cluster_name, node.settings.address)
    _put(values, "up", (b,), running is not None)
    _put(values, "version", (b,), running.topics.data_version.counter if running else 0)
    _put(values, "file_version", (b,), file_version)
    _put(values, "lock", (b,), _holder(cluster, b))
    _put(values, "registration_version", (b,), registration_version)
    _put(values, "registration_in_flight", (b,), packet is not None)
    _put(values, "live", (b,), live is not None)
    _put(values, "live_version", (b,), live.data_version.counter if live else 0)
    lowest = cluster.scope.counts.lo
    for t, name in enumerate(cluster.names):
        _config(values, "config", (b, t), table.get(name), lowest)
        _config(values, "file", (b, t), filed.get(name), lowest)
        _config(values, "registration", (b, t), carried.get(name), lowest)
        entries = [q for q in server.topic_queue_table.get(name, ()) if q.broker_name == node.name]
        _put(values, "route.entries", (b, t), min(CAP, len(entries)))
        _put(values, "route.read", (b, t), entries[0].read_queue_nums if entries else lowest)
        _put(values, "route.write", (b, t), entries[0].write_queue_nums if entries else lowest)
        _put(values, "route.perm", (b, t), entries[0].perm if entries else 0)
        _put(values, "creations", (b, t), cluster.count.creations.get((b, t), 0))
        _put(values, "announcements", (b, t), cluster.count.announcements.get((b, t), 0))


def _carried(cluster: ScopeCluster, packet: Packet | None) -> tuple[dict[str, TopicConfig], int]:
    if packet is None:
        return {}, 0
    table, version = table_from_data(json.loads(packet.command.body or b"{}")["topicConfigSerializeWrapper"])
    return table, version.counter if version else 0


def _holder(cluster: ScopeCluster, b: int) -> int | None:
    """Return the client whose request holds the broker lock."""
    broker = cluster.node(b).broker
    if broker is None or not broker.topics.lock.held:
        return None
    for p, job in cluster.jobs.items():
        if job.broker == b and job.phase in CREATING:
            return p
    raise Deviation(f"the lock of {cluster.node(b).name} is held, and by no request inside topic creation: it was not released")


def _observe_store(cluster: ScopeCluster, b: int, values: Seen) -> None:
    node = cluster.node(b)
    constants, log = cluster.constants, cluster.log(b)
    size = node.settings.mapped_file_size_commit_log
    store = node.broker.store if node.broker else None
    for t, name in enumerate(cluster.names):
        for q in range(cluster.scope.queues):
            deleted = cluster.count.deleted.get((b, t, q))
            hidden = deleted is not None and deleted.there
            _put(values, "offset", (b, t, q), store.topic_queue_table.get(f"{name}-{q}", 0) if store and not hidden else 0)
            _put(values, "records", (b, t, q), 0 if hidden else log.records.get((name, q), 0) - (deleted.forgotten if deleted else 0))
            _put(values, "entries", (b, t, q), store.max_offset(name, q) if store and not hidden else 0)
            if cluster.scope.deletes:
                _put(values, "outlived", (b, t, q), deleted.outlived if deleted else 0)
    full: int = constants["file_size"]

    def units(position: int) -> tuple[int, int]:
        segment, inside = divmod(position, size)
        if inside == 0 and segment:
            segment, inside = segment - 1, size
        return segment, full if inside == size else _whole(inside)

    segment, filled = units(log.end)
    flushed_segment, part = units(store.flushed_where if store else 0)
    _put(values, "segment", (b,), segment)
    _put(values, "filled", (b,), filled)
    _put(values, "flushed", (b,), flushed_segment * full + part)


def _observe_client(cluster: ScopeCluster, p: int, values: Seen) -> None:
    scope = cluster.scope
    job = cluster.jobs.get(p)
    lowest = scope.counts.lo
    at_hand = job.at_hand if job else None
    _put(values, "job.phase", (p,), job.phase if job else "idle")
    _put(values, "job.answer", (p,), job.result if job else "none")
    _put(values, "job.read", (p,), at_hand.read_queue_nums if at_hand else lowest)
    _put(values, "job.write", (p,), at_hand.write_queue_nums if at_hand else lowest)
    _put(values, "job.perm", (p,), at_hand.perm if at_hand else 0)
    idle = {"broker": None, "numbers": scope.numbers.lo, "queue": scope.queue_ids.lo, "kind": "not", "size": scope.sizes.lo}
    for name in _NUMBERS:
        _put(values, f"job.{name}", (p,), getattr(job, name) if job else idle.get(name, 0))
    for name in _FLAGS:
        _put(values, f"job.{name}", (p,), job is not None and getattr(job, name))
    info = cluster.producers[p].topic_publish_info_table.get(cluster.names[scope.subject]) if cluster.producers else None
    _put(values, "known_route", (p,), info is not None and info.have_topic_router_info)
    for b in range(scope.brokers):
        name = cluster.node(b).name
        listed = sorted(q.queue_id for q in info.message_queue_list if q.broker_name == name) if info else []
        require(listed == list(range(len(listed))), f"producer {p} lists the queues {listed} of {name}: they should be 0, 1, 2 and so on")
        _put(values, "queues", (p, b), len(listed))
    turning = cluster.constants["round_robin"]
    started = not turning or p in cluster.count.started
    turns = cluster.instance.model.variable("position").type.size
    _put(values, "position", (p,), cluster.producers[p].round_robin.counter.value % turns if turning and started else 0)
    _put(values, "sent", (p,), cluster.count.sent.get(p, 0) if cluster.constants["sends"] else 0)
    _put(values, "started", (p,), started)
    _put(values, "refreshed", (p,), p in cluster.count.refreshed)


def _put(values: Seen, name: str, at: tuple[int, ...], value: Any) -> None:
    values[(name, *at)] = value


def _config(values: Seen, name: str, at: tuple[int, ...], config: TopicConfig | None, lowest: int) -> None:
    _put(values, f"{name}.known", at, config is not None)
    _put(values, f"{name}.read", at, config.read_queue_nums if config else lowest)
    _put(values, f"{name}.write", at, config.write_queue_nums if config else lowest)
    _put(values, f"{name}.perm", at, config.perm if config else 0)
    _put(values, f"{name}.order", at, config is not None and config.order)


def _whole(size: int) -> int:
    units, rest = divmod(size, UNIT)
    require(not rest, f"the log ends {rest} bytes inside a unit: records take {UNIT} bytes a unit of size")
    return units
