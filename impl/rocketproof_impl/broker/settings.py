"""A broker's configuration: the switches of the described rules, by RocketMQ's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..topic import READ, WRITE

Role = Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"]


@dataclass(slots=True)
class BrokerSettings:
    """Mutable, as request 25 changes it at run time. Times are milliseconds, sizes bytes."""

    broker_name: str = "broker-a"
    broker_cluster_name: str = "DefaultCluster"
    broker_id: int = 0
    broker_ip1: str = "127.0.0.1"
    listen_port: int = 10911
    broker_role: Role = "ASYNC_MASTER"
    broker_permission: int = READ | WRITE
    name_servers: tuple[str, ...] = ("127.0.0.1:9876",)
    store_path_root_dir: str = "store"
    region_id: str = "DefaultRegion"
    trace_on: bool = True
    auto_create_topic_enable: bool = True
    auto_create_subscription_group: bool = True
    default_topic_queue_nums: int = 8
    cluster_topic_enable: bool = True
    broker_topic_enable: bool = True
    trace_topic_enable: bool = False
    reject_transaction_message: bool = False
    start_accept_send_request_timestamp: int = 0
    commercial_base_count: int = 1
    flush_disk_type: Literal["ASYNC_FLUSH", "SYNC_FLUSH"] = "ASYNC_FLUSH"
    sync_flush_timeout: int = 5000
    slave_timeout: int = 3000
    ha_slave_fall_behind_max: int = 256 * 1024 * 1024
    max_message_size: int = 4 * 1024 * 1024
    mapped_file_size_commit_log: int = 1024 * 1024 * 1024
    mapped_file_size_consume_queue: int = 300_000 * 20

    @property
    def address(self) -> str:
        """Where the broker listens."""
        return f"{self.broker_ip1}:{self.listen_port}"

    @property
    def writable(self) -> bool:
        return bool(self.broker_permission & WRITE)

    @property
    def readable(self) -> bool:
        return bool(self.broker_permission & READ)
