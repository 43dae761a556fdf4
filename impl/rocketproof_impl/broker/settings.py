"""A broker's configuration: the settings used by the described rules, with RocketMQ's names and defaults."""

from __future__ import annotations

from dataclasses import dataclass

from rocketproof_protocol.flags import READ, WRITE

from ..store.settings import StoreSettings


@dataclass(slots=True)
class BrokerSettings(StoreSettings):
    """Mutable, because request 25 changes settings at run time.

    Times are milliseconds, sizes bytes. Numbers of threads are the defaults on a machine with four cores.
    """

    broker_name: str = "broker-a"
    broker_cluster_name: str = "DefaultCluster"
    broker_id: int = 0
    broker_ip1: str = "127.0.0.1"
    listen_port: int = 10911
    broker_permission: int = READ | WRITE
    name_servers: tuple[str, ...] = ("127.0.0.1:9876",)
    region_id: str = "DefaultRegion"
    trace_on: bool = True
    auto_create_topic_enable: bool = True
    auto_create_subscription_group: bool = True
    default_topic_queue_nums: int = 8
    slave_read_enable: bool = False
    enable_single_topic_register: bool = False  # since 5.2
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
        """The address at which the broker listens."""
        return f"{self.broker_ip1}:{self.listen_port}"

    @property
    def ha_address(self) -> str:
        """The address at which a master listens for its slaves."""
        return f"{self.broker_ip1}:{self.listen_port + 1}"

    @property
    def writable(self) -> bool:
        return bool(self.broker_permission & WRITE)

    @property
    def readable(self) -> bool:
        return bool(self.broker_permission & READ)
