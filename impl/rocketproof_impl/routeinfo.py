"""The tables of a name server: which broker has which topics according to its registrations, and topic routes (RouteInfoManager).

The last registration that differs from the previous one wins, in whatever order they arrive (HAZ-37). A topic is removed only together with
its broker (HAZ-36), unless a later name server has a setting for that. The described lock over all tables has no counterpart,
because no function here waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias

from rocketproof_profiles import PROFILES, Profile
from rocketproof_protocol.fields import ORDER_TOPIC_CONFIG
from rocketproof_protocol.flags import READ, WRITE

from .bounds import MAX_BROKERS, MAX_TOPICS, limited, room_for
from .kvconfig import KvConfig
from .nameserversettings import NameServerSettings
from .periodic import Periodic
from .ports import Clock
from .remoting.ports import Channel
from .route import MASTER_ID, BrokerData, QueueData, TopicRouteData
from .topic import DataVersion, TopicConfig

EXPIRED_MILLIS = 120_000
DEFAULTS = NameServerSettings()

Registrant: TypeAlias = str | tuple[str, str]
"""The key of a registration: the broker's address; in later profiles its cluster and address."""


@dataclass(slots=True)
class BrokerLiveInfo:
    """The content of an address's last registration, and its time in milliseconds."""

    last_update_timestamp: int
    data_version: DataVersion
    channel: Channel | None
    ha_server_addr: str | None


@dataclass(frozen=True, slots=True)
class RegisterBrokerResult:
    """The addresses of a slave's master. Both are None in a master's registration, or if there is no master."""

    master_addr: str | None = None
    ha_server_addr: str | None = None


class RouteInfoManager:
    """The tables (NS-01).

    - `topic_queue_table`: topic to its queue data, with one entry per broker name.
    - `broker_addr_table`: broker name to its cluster and its addresses by id.
    - `cluster_addr_table`: cluster to its broker names.
    - `broker_live_table`: registrant to its last registration.
    - `filter_server_table`: registrant to its filter servers.
    - `kv_config`: values set by administrators.
    """

    PERIODIC = (Periodic("scan", 5000, 10_000),)

    def __init__(self, clock: Clock, *, settings: NameServerSettings = DEFAULTS, profile: Profile = PROFILES["P49"]) -> None:
        self._clock = clock
        self.profile = profile
        self.settings = settings
        self.topic_queue_table: dict[str, list[QueueData]] = {}
        self.broker_addr_table: dict[str, BrokerData] = {}
        self.cluster_addr_table: dict[str, set[str]] = {}
        self.broker_live_table: dict[Registrant, BrokerLiveInfo] = {}
        self.filter_server_table: dict[Registrant, list[str]] = {}
        self.kv_config = KvConfig()

    # Registration

    def register_broker(
        self,
        cluster_name: str,
        broker_addr: str,
        broker_name: str,
        broker_id: int,
        ha_server_addr: str | None,
        table: dict[str, TopicConfig],
        version: DataVersion,
        *,
        filter_servers: list[str] | None = None,
        channel: Channel | None = None,
        acting_master: bool | None = None,
    ) -> RegisterBrokerResult | None:
        """Store a broker's registration (NS-02): its names and address, its topics, and the time.

        `acting_master`: what the registration states about slaves that act as master, None if nothing. Routes of later profiles show it.

        Topics are read only from a master (NS-05), in later profiles also from the slave with the smallest id if it states `acting_master`.
        They are read only if the version differs (NS-03) or the id had no address. Later profiles also read topics that they do not have
        for this broker. They treat a registration of a single topic as an update of a known broker. For an unknown broker or id they
        reject it and return None; an entry of the same address under another id is removed nevertheless. With a setting of later name
        servers, the broker's topics that the registration lacks are removed, whatever its version.

        Raises JavaError, without a change, for more than MAX_BROKERS names, registrants or ids of a name, and for more than MAX_TOPICS
        entries.
        """
        self._check_room(cluster_name, broker_addr, broker_name, broker_id)
        self._check_topics((broker_name, config.topic_name) for config in table.values())
        who = self._registrant(cluster_name, broker_addr)
        self.cluster_addr_table.setdefault(cluster_name, set()).add(broker_name)
        broker = self._without_other_ids(cluster_name, broker_name, broker_id, broker_addr)
        broker.enable_acting_master = bool(acting_master) if self.profile.acting_master else None
        register_first = broker_id not in broker.broker_addrs
        if self.profile.refuses_single_topic and register_first and len(table) == 1:
            return None
        broker.broker_addrs[broker_id] = broker_addr
        if self._reads_topics(broker, broker_id, acting_master):
            changed = register_first or self.is_topic_config_changed(who, version)
            if self.profile.drops_topics and self.settings.delete_topic_with_broker_registration:
                self._drop_topics(broker_name, kept=table.keys())
            cleared = WRITE if broker_id != MASTER_ID and (acting_master or self.profile.slaves_lose_write) else 0
            for config in table.values():
                if changed or (self.profile.takes_unknown_topics and not self._knows(broker_name, config.topic_name)):
                    nums = config.read_queue_nums, config.write_queue_nums
                    self._update_queue_data(config.topic_name, QueueData(broker_name, *nums, config.perm & ~cleared, config.topic_sys_flag))
        self.broker_live_table[who] = BrokerLiveInfo(self._clock.now(), version.copy(), channel, ha_server_addr)
        if filter_servers:
            self.filter_server_table[who] = filter_servers
        elif filter_servers is not None:
            self.filter_server_table.pop(who, None)
        return RegisterBrokerResult() if broker_id == MASTER_ID else self._master_of(cluster_name, broker_name)

    def _reads_topics(self, broker: BrokerData, broker_id: int, acting_master: bool | None) -> bool:
        """Whether a registration may change topics: a master's, in later profiles also that of the smallest id if it states
        `acting_master` (NS-05)."""
        if broker_id == MASTER_ID:
            return True
        return self.profile.acting_master and acting_master is not None and broker_id == min(broker.broker_addrs)

    def _check_room(self, cluster_name: str, broker_addr: str, broker_name: str, broker_id: int) -> None:
        """Raise JavaError if this registration would exceed a bound on brokers."""
        broker = self.broker_addr_table.get(broker_name)
        room_for(broker_name, self.broker_addr_table, MAX_BROKERS)
        room_for(broker_id, () if broker is None else broker.broker_addrs, MAX_BROKERS)
        room_for(self._registrant(cluster_name, broker_addr), self.broker_live_table, MAX_BROKERS)
        if broker_name not in self.cluster_addr_table.get(cluster_name, ()):
            limited(sum(map(len, self.cluster_addr_table.values())) + 1, MAX_BROKERS)

    def _check_topics(self, entries: Iterable[tuple[str, str]]) -> None:
        """Raise JavaError if adding these pairs of broker name and topic would exceed MAX_TOPICS entries."""
        more = sum(not self._knows(broker_name, topic) for broker_name, topic in entries)
        if more:
            limited(sum(map(len, self.topic_queue_table.values())) + more, MAX_TOPICS)

    def _without_other_ids(self, cluster_name: str, broker_name: str, broker_id: int, broker_addr: str) -> BrokerData:
        """Return the broker of this name, created if missing. Most profiles remove the address from its other ids first (NS-02)."""
        broker = self.broker_addr_table.setdefault(broker_name, BrokerData(cluster_name, broker_name))
        if self.profile.moves_addresses:
            for other in [other for other, address in broker.broker_addrs.items() if address == broker_addr and other != broker_id]:
                del broker.broker_addrs[other]
        return broker

    def _knows(self, broker_name: str, topic: str) -> bool:
        return any(entry.broker_name == broker_name for entry in self.topic_queue_table.get(topic, ()))

    def _registrant(self, cluster_name: str, broker_addr: str) -> Registrant:
        return (cluster_name, broker_addr) if self.profile.lives_in_cluster else broker_addr

    def live_info(self, cluster_name: str, broker_addr: str) -> BrokerLiveInfo | None:
        """Return the last registration of an address; in later profiles, of an address in this cluster."""
        return self.broker_live_table.get(self._registrant(cluster_name, broker_addr))

    def is_topic_config_changed(self, who: Registrant, version: DataVersion) -> bool:
        """Return whether the version differs from the stored one. An older version differs too (NS-03, HAZ-37)."""
        live = self.broker_live_table.get(who)
        return live is None or live.data_version != version

    def _update_queue_data(self, topic: str, new: QueueData) -> None:
        """Set a broker's entry for a topic to that of its registration (NS-04).

        An equal entry keeps its position; a changed one moves to the end.
        """
        entries = self.topic_queue_table.setdefault(topic, [])
        if new in entries:
            return
        entries[:] = [entry for entry in entries if entry.broker_name != new.broker_name]
        entries.append(new)

    def register_topic(self, topic: str, queue_datas: list[QueueData]) -> None:
        """Set a topic's entries of several brokers, without a version (TCM-34).

        Entries after the first one with an unknown broker are ignored. If the topic has no entry yet and any broker is unknown, nothing is
        set.
        """
        known = list(takewhile(lambda entry: entry.broker_name in self.broker_addr_table, queue_datas))
        if topic not in self.topic_queue_table and len(known) < len(queue_datas):
            return
        self._check_topics((entry.broker_name, topic) for entry in known)
        for entry in known:
            self._update_queue_data(topic, entry)

    def _master_of(self, cluster_name: str, broker_name: str) -> RegisterBrokerResult:
        """Return the master's addresses for a slave that registers in this cluster."""
        master_addr = self.broker_addr_table[broker_name].broker_addrs.get(MASTER_ID)
        live = self.live_info(cluster_name, master_addr) if master_addr is not None else None
        return RegisterBrokerResult() if live is None else RegisterBrokerResult(master_addr, live.ha_server_addr)

    def query_version(self, cluster_name: str, broker_addr: str, version: DataVersion) -> tuple[bool, DataVersion | None]:
        """Return whether the broker must register, and the stored version. If it need not, its registration time is renewed (NS-09)."""
        who = self._registrant(cluster_name, broker_addr)
        changed = self.is_topic_config_changed(who, version)
        live = self.broker_live_table.get(who)
        if live is not None and not changed:
            live.last_update_timestamp = self._clock.now()
        return changed, None if live is None else live.data_version

    # Removal

    def unregister_broker(self, cluster_name: str, broker_addr: str, broker_name: str, broker_id: int) -> None:
        """Remove a broker that shuts down (104), and clean up according to NS-08.

        The entry of its id is removed, whatever its address. Later profiles remove its address instead, whatever its id. A name without
        addresses leaves only the cluster of this request, so that another cluster may still list it.
        """
        self._forget(self._registrant(cluster_name, broker_addr))
        broker = self.broker_addr_table.get(broker_name)
        if broker is None:
            return
        if self.profile.leaves_by_address:
            broker.broker_addrs = {other: address for other, address in broker.broker_addrs.items() if address != broker_addr}
        else:
            broker.broker_addrs.pop(broker_id, None)
        self._clean(broker, cluster_name)

    def scan(self) -> list[Channel]:
        """Remove registrations older than 120 s (not those of exactly 120 s, NS-07). Return their connections, which the caller closes.

        A driver calls it every 10 s, first after 5 s.
        """
        now = self._clock.now()
        silent = {who: live for who, live in self.broker_live_table.items() if live.last_update_timestamp + EXPIRED_MILLIS < now}
        for who in silent:
            self.remove(who)
        return [live.channel for live in silent.values() if live.channel is not None]

    def channel_closed(self, channel: Channel) -> None:
        """Remove the broker that registered last over a lost connection, if any (NS-08)."""
        for who in [who for who, live in self.broker_live_table.items() if live.channel is channel]:
            self.remove(who)

    def remove(self, who: Registrant) -> None:
        """Remove a registrant, and what it leaves without an address (NS-08).

        Later profiles do nothing if no broker of that cluster has the address.
        """
        cluster, broker_addr = (None, who) if isinstance(who, str) else who
        if cluster is None:
            self._forget(who)
        for broker in self.broker_addr_table.values():
            ids = [broker_id for broker_id, address in broker.broker_addrs.items() if address == broker_addr]
            if ids and cluster in {None, broker.cluster}:
                self._forget(who)
                del broker.broker_addrs[ids[0]]
                self._clean(broker, self._first_cluster(broker.broker_name) if cluster is None else cluster)
                return

    def _forget(self, who: Registrant) -> None:
        self.broker_live_table.pop(who, None)
        self.filter_server_table.pop(who, None)

    def _first_cluster(self, broker_name: str) -> str:
        """Return the first cluster that lists a broker name, "" if there is none."""
        return next((cluster for cluster, names in self.cluster_addr_table.items() if broker_name in names), "")

    def _clean(self, broker: BrokerData, cluster_name: str) -> None:
        """Remove a broker name without addresses from one cluster and all topics, and remove topics without brokers (NS-08).

        A broker name that still has an address, for example a slave's, keeps its queue data (HAZ-43). They lose the permission to write if
        only slaves are left and one of them acts as master.
        """
        if broker.broker_addrs:
            if broker.enable_acting_master and min(broker.broker_addrs) > MASTER_ID:
                self.wipe_write_perm(broker.broker_name)
            return
        del self.broker_addr_table[broker.broker_name]
        names = self.cluster_addr_table.get(cluster_name, set())
        names.discard(broker.broker_name)
        if not names:
            self.cluster_addr_table.pop(cluster_name, None)
        self._drop_topics(broker.broker_name)

    def _drop_topics(self, broker_name: str, kept: Collection[str] = ()) -> None:
        """Remove a broker name's queue data from all topics except `kept`, and remove topics without queue data."""
        for topic, entries in list(self.topic_queue_table.items()):
            if topic not in kept:
                entries[:] = [entry for entry in entries if entry.broker_name != broker_name]
                if not entries:
                    del self.topic_queue_table[topic]

    # Queries and administration

    def route(self, topic: str) -> TopicRouteData | None:
        """Return a copy of the route. Return None unless the topic has queue data and a known broker (NS-06)."""
        entries = self.topic_queue_table.get(topic)
        if entries is None:
            return None
        names = dict.fromkeys(entry.broker_name for entry in entries)
        brokers = [self.broker_addr_table[name].copy() for name in names if name in self.broker_addr_table]
        if not brokers:
            return None
        order = self.kv_config.table(ORDER_TOPIC_CONFIG).get(topic) if self.settings.order_message_enable else None
        addresses = [(broker.cluster, address) for broker in brokers for address in broker.broker_addrs.values()]
        registered = ((address, self.filter_server_table.get(self._registrant(cluster, address))) for cluster, address in addresses)
        filters = {address: list(servers) for address, servers in registered if servers is not None}
        return TopicRouteData([entry.copy() for entry in entries], brokers, order, filters)

    def wipe_write_perm(self, broker_name: str) -> int:
        """Clear WRITE in every queue data of a broker (PERM-02). Return how many there are."""
        return self._change_perm(broker_name, lambda perm: perm & ~WRITE)

    def add_write_perm(self, broker_name: str) -> int:
        """Set every permission of a broker to READ and WRITE only (PERM-02). Return how many there are."""
        return self._change_perm(broker_name, lambda _: READ | WRITE)

    def _change_perm(self, broker_name: str, change: Callable[[int], int]) -> int:
        entries = [entry for queues in self.topic_queue_table.values() for entry in queues if entry.broker_name == broker_name]
        for entry in entries:
            entry.perm = change(entry.perm)
        return len(entries)

    def delete_topic(self, topic: str, cluster_name: str | None) -> None:
        """Remove a topic, or only the entries of one cluster's brokers. A broker's next registration with another version restores its
        entry."""
        if not cluster_name:
            self.topic_queue_table.pop(topic, None)
            return
        names, entries = self.cluster_addr_table.get(cluster_name, set()), self.topic_queue_table.get(topic)
        if names and entries is not None:
            entries[:] = [entry for entry in entries if entry.broker_name not in names]
            if not entries:
                del self.topic_queue_table[topic]
