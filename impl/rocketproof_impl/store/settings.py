"""The settings of a store in its broker's configuration, with RocketMQ's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"]


@dataclass(slots=True)
class StoreSettings:
    """Mutable, because request 25 changes settings at run time. Times are milliseconds, sizes bytes."""

    broker_role: Role = "ASYNC_MASTER"
    store_path_root_dir: str = "store"
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
    timer_wheel_enable: bool = True  # since 5.0
    timer_max_delay_sec: int = 3 * 24 * 3600  # since 5.0
    message_index_enable: bool = True
    message_index_safe: bool = False
    max_hash_slot_num: int = 5_000_000
    max_index_num: int = 20_000_000

    @property
    def transient_store_pool(self) -> bool:
        """Whether appends use buffers first: only on a master that flushes asynchronously (FLU-06)."""
        return self.transient_store_pool_enable and self.flush_disk_type == "ASYNC_FLUSH" and self.broker_role != "SLAVE"
