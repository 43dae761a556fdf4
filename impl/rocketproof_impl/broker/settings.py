"""A broker's configuration: the switches of the described rules, by RocketMQ's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rocketproof_protocol.flags import READ, WRITE

Role = Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"]


@dataclass(slots=True)
class BrokerSettings:
    """Mutable, as request 25 changes it at run time. Times are milliseconds, sizes bytes; numbers of threads are those of a machine
    with four cores."""

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
    transaction_time_out: int = 6000
    transaction_check_max: int = 15
    transaction_check_interval: int = 60_000
    file_reserved_time: int = 72  # hours
    start_accept_send_request_timestamp: int = 0
    commercial_base_count: int = 1
    flush_disk_type: Literal["ASYNC_FLUSH", "SYNC_FLUSH"] = "ASYNC_FLUSH"
    sync_flush_timeout: int = 5000
    slave_timeout: int = 3000
    in_sync_replicas: int = 1  # since 5.0
    flush_interval_commit_log: int = 500
    flush_commit_log_timed: bool = True  # since 4.9.1; before, each put wakes the flush
    flush_commit_log_least_pages: int = 4
    flush_commit_log_thorough_interval: int = 10_000
    transient_store_pool_enable: bool = False
    transient_store_pool_size: int = 5
    commit_interval_commit_log: int = 200
    commit_commit_log_least_pages: int = 4
    commit_commit_log_thorough_interval: int = 200
    flush_interval_consume_queue: int = 1000
    flush_consume_queue_least_pages: int = 2
    flush_consume_queue_thorough_interval: int = 60_000
    ha_send_heartbeat_interval: int = 5000
    ha_housekeeping_interval: int = 20_000
    ha_transfer_batch_size: int = 32 * 1024
    ha_slave_fall_behind_max: int = 256 * 1024 * 1024
    max_message_size: int = 4 * 1024 * 1024
    os_page_cache_busy_time_out_mills: int = 1000
    mapped_file_size_commit_log: int = 1024 * 1024 * 1024
    mapped_file_size_consume_queue: int = 300_000 * 20
    message_index_enable: bool = True
    message_index_safe: bool = False
    max_hash_slot_num: int = 5_000_000
    max_index_num: int = 20_000_000
    send_message_thread_pool_nums: int = 4
    pull_message_thread_pool_nums: int = 24
    query_message_thread_pool_nums: int = 12
    admin_broker_thread_pool_nums: int = 16
    client_manage_thread_pool_nums: int = 32
    consumer_manage_thread_pool_nums: int = 32
    heartbeat_thread_pool_nums: int = 4
    end_transaction_thread_pool_nums: int = 16
    send_thread_pool_queue_capacity: int = 10_000
    pull_thread_pool_queue_capacity: int = 100_000
    query_thread_pool_queue_capacity: int = 20_000
    client_manager_thread_pool_queue_capacity: int = 1_000_000
    heartbeat_thread_pool_queue_capacity: int = 50_000
    end_transaction_pool_queue_capacity: int = 100_000
    broker_fast_failure_enable: bool = True
    wait_time_mills_in_send_queue: int = 200
    wait_time_mills_in_pull_queue: int = 5000
    wait_time_mills_in_heartbeat_queue: int = 31_000
    wait_time_mills_in_transaction_queue: int = 3000

    @property
    def address(self) -> str:
        """Where the broker listens."""
        return f"{self.broker_ip1}:{self.listen_port}"

    @property
    def ha_address(self) -> str:
        """Where a master listens for its slaves."""
        return f"{self.broker_ip1}:{self.listen_port + 1}"

    @property
    def transient_store_pool(self) -> bool:
        """Whether appends go to buffers first: only a master that flushes asynchronously does that (FLU-06)."""
        return self.transient_store_pool_enable and self.flush_disk_type == "ASYNC_FLUSH" and self.broker_role != "SLAVE"

    @property
    def writable(self) -> bool:
        return bool(self.broker_permission & WRITE)

    @property
    def readable(self) -> bool:
        return bool(self.broker_permission & READ)
