"""A name server and brokers on real sockets and real files, and a producer that is their client."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serving import PATIENCE, Parts, Raw, parts, send_command

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.executor import POOLS, sized_pools
from rocketproof_impl.message import Message
from rocketproof_impl.remoting import frame
from rocketproof_impl.remoting.command import JSON, ONE_WAY, ROCKETMQ, Command
from rocketproof_impl.system.client import Client
from rocketproof_impl.system.disk import StoreInUse
from rocketproof_impl.system.listening import listening_socket
from rocketproof_impl.system.node import BrokerNode, NameServerNode, NotLoaded, close_all
from rocketproof_impl.system.threads import Threads
from rocketproof_protocol.codes import GET_MAX_OFFSET, GET_ROUTEINFO_BY_TOPIC, SUCCESS, SYSTEM_BUSY, UPDATE_BROKER_CONFIG

behaviour = pytest.mark.behaviour


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Parts]:
    with parts(tmp_path) as made:
        yield made


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def until(client: Client, found: Callable[[], bool]) -> None:
    async def waiting() -> None:
        async with asyncio.timeout(PATIENCE):
            while not await asyncio.to_thread(found):
                await asyncio.sleep(0.005)

    asyncio.run(waiting())


def brokers_of(client: Client, cluster: Parts, topic: str = "TBW102") -> list[str]:
    answer = client.call(cluster.name_server.address, Command(GET_ROUTEINFO_BY_TOPIC, {"topic": topic}), 20_000)
    return sorted(broker["brokerName"] for broker in json.loads(answer.body)["brokerDatas"]) if answer.body else []


def test_producer_sends_to_two_brokers_over_sockets(cluster: Parts, client: Client) -> None:
    for name in ("broker-a", "broker-b"):
        cluster.broker(name)
    assert brokers_of(client, cluster) == ["broker-a", "broker-b"]
    producer = client.producer("group", name_servers=(cluster.name_server.address,), seed=1)
    results = [client.background.run(producer.send(Message("orders", body=b"m%d" % number))) for number in range(40)]
    used = {result.queue.broker_name for result in results}
    assert brokers_of(client, cluster, "orders") == sorted(used)
    for result in results:
        node = cluster.brokers[result.queue.broker_name]
        queue = {"topic": "orders", "queueId": str(result.queue.queue_id)}
        until(
            client,
            lambda node=node, queue=queue, least=result.queue_offset: _max_offset(client, node, queue) > least,  # type: ignore[misc]
        )
    assert client.background.run(producer.send_oneway(Message("orders", body=b"last"))) is None


def _max_offset(client: Client, node: BrokerNode, queue: dict[str, str]) -> int:
    answer = client.call(node.settings.address, Command(GET_MAX_OFFSET, queue), 20_000)
    return int((answer.ext_fields or {})["offset"])


def test_clients_up_to_4_4_send_two_ports_below(cluster: Parts, client: Client) -> None:
    """By default such clients use their VIP channel for sends. Pulls, routes and administration use the normal port."""
    node = cluster.broker()
    stored = client.call(f"127.0.0.1:{node.settings.listen_port - 2}", send_command(body=b"in a hurry"), 20_000)
    assert (stored.code, (stored.ext_fields or {})["queueOffset"]) == (SUCCESS, "0")
    following = client.call(node.settings.address, send_command(), 20_000)
    assert (following.ext_fields or {})["queueOffset"] == "1"


@pytest.mark.parametrize("serialisation", [JSON, ROCKETMQ])
def test_broker_answers_in_form_of_request(cluster: Parts, client: Client, serialisation: int) -> None:
    address = cluster.broker().settings.address
    for request in (send_command(), send_command("no topic"), Command(4711), Command(GET_MAX_OFFSET)):
        request.serialisation = serialisation
        assert client.call(address, request, 20_000).serialisation == serialisation
    route = Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}, serialisation=serialisation)
    assert client.call(cluster.name_server.address, route, 20_000).serialisation == serialisation


def test_answered_message_exists_after_restart(cluster: Parts, client: Client) -> None:
    node = cluster.broker()
    stored = client.call(node.settings.address, send_command(body=b"kept"), 20_000)
    assert stored.code == SUCCESS
    cluster.stop("broker-a")
    again = cluster.broker()
    assert [record.body for record in again.broker.store.records()] == [b"kept"]
    assert "T" in again.broker.topics.table
    following = client.call(again.settings.address, send_command(), 20_000)
    assert (following.ext_fields or {})["queueOffset"] == "1"


@behaviour("NS-08")
def test_broker_that_stops_leaves_routes_at_once(cluster: Parts, client: Client) -> None:
    cluster.broker("broker-a")
    cluster.broker("broker-b")
    cluster.stop("broker-a")
    assert brokers_of(client, cluster) == ["broker-b"]


@behaviour("NS-08")
def test_broker_with_lost_connection_leaves_routes(cluster: Parts, client: Client) -> None:
    node = cluster.broker("broker-a")
    assert brokers_of(client, cluster) == ["broker-a"]
    cluster.background.complete(_end(node))
    cluster.brokers.clear()
    until(client, lambda: brokers_of(client, cluster) == [])


async def _end(node: BrokerNode) -> None:
    """End the node without a message."""
    node.kill()


@behaviour("NS-07")
def test_broker_that_is_silent_for_too_long_is_disconnected(cluster: Parts, client: Client) -> None:
    node = cluster.broker("broker-a")
    server = cluster.name_server.server
    for live in server.broker_live_table.values():
        live.last_update_timestamp -= 120_001

    async def scan() -> None:
        close_all(server.scan())

    cluster.background.complete(scan())
    assert brokers_of(client, cluster) == []
    until(client, lambda: cluster.name_server.address not in node.network._links)


@behaviour("REM-06", "REM-11")
def test_busy_broker_rejects_on_wire_even_one_way(cluster: Parts) -> None:
    node = cluster.broker()
    node.broker.store.commit_log.begin_time_in_lock = node.threads.clock.now() - 5000
    request = send_command()
    request.flag, request.opaque = ONE_WAY, 12
    with Raw(node.settings.listen_port) as raw:
        answer = raw.ask(request)
    assert (answer.code, answer.opaque) == (SYSTEM_BUSY, 12)
    assert str(answer.remark).startswith("[REJECTREQUEST]")


@behaviour("REM-10")
def test_fast_failure_is_driven_by_clock(cluster: Parts, client: Client) -> None:
    """No thread releases the put lock; four threads wait for it, and the other requests wait in the queue."""
    node = cluster.broker(send_message_thread_pool_nums=2)
    client.call(node.settings.address, send_command(), 20_000)
    node.broker.store.commit_log.lock.held = True
    begun = [client.begin(node.settings.address, send_command(), 20_000) for _ in range(4)]
    refused = [response.result(PATIENCE) for response in begun[2:]]
    assert [answer.code for answer in refused] == [SYSTEM_BUSY, SYSTEM_BUSY]
    assert all(str(answer.remark).startswith("[TIMEOUT_CLEAN_QUEUE]") for answer in refused)
    cluster.background.threads.loop.call_soon_threadsafe(node.broker.store.commit_log.lock.release)
    assert [response.result(PATIENCE).code for response in begun[:2]] == [SUCCESS, SUCCESS]


@behaviour("REM-07")
def test_full_queue_is_overload_on_wire(cluster: Parts, client: Client) -> None:
    node = cluster.broker(send_message_thread_pool_nums=1, send_thread_pool_queue_capacity=1, broker_fast_failure_enable=False)
    client.call(node.settings.address, send_command(), 20_000)
    node.broker.store.commit_log.lock.held = True
    begun = [client.begin(node.settings.address, send_command(), 20_000) for _ in range(3)]
    assert str(begun[2].result(PATIENCE).remark).startswith("[OVERLOAD]")
    cluster.background.threads.loop.call_soon_threadsafe(node.broker.store.commit_log.lock.release)
    assert [response.result(PATIENCE).code for response in begun[:2]] == [SUCCESS, SUCCESS]


def test_pools_have_sizes_of_settings() -> None:
    async def sizes() -> dict[str, tuple[int | None, int | None]]:
        settings = BrokerSettings(send_message_thread_pool_nums=3, send_thread_pool_queue_capacity=5)
        return {name: (pool.threads, pool.capacity) for name, pool in sized_pools(Threads(), settings).items()}

    result = asyncio.run(sizes())
    assert result["send"] == (3, 5)
    assert result["admin"] == (16, None)
    assert result.keys() == POOLS.keys()


def test_delayed_messages_are_delivered_and_registration_continues(cluster: Parts, client: Client) -> None:
    node = cluster.broker()
    producer = client.producer("group", name_servers=(cluster.name_server.address,))
    message = Message("late", body=b"x", properties={"DELAY": "1"})
    client.background.run(producer.send(message))
    assert [record.topic for record in node.broker.store.records()] == ["SCHEDULE_TOPIC_XXXX"]
    until(client, lambda: [record.topic for record in node.broker.store.records()] == ["SCHEDULE_TOPIC_XXXX", "late"])


def test_two_brokers_cannot_share_store_or_ports(cluster: Parts) -> None:
    node = cluster.broker()
    with pytest.raises(StoreInUse):
        cluster.broker("broker-b", store_path_root_dir=node.settings.store_path_root_dir)
    taken = node.settings.listen_port
    for port in (taken, taken - 1 if taken > 1024 else taken):
        with pytest.raises(OSError, match="in use"):
            cluster.broker("broker-b", listen_port=port)
    cluster.broker("broker-b")  # a failed start leaves nothing


def test_broken_table_lets_no_broker_start(cluster: Parts, tmp_path: Path) -> None:
    config = tmp_path / "broker-a" / "config"
    config.mkdir(parents=True)
    for name in ("topics.json", "topics.json.bak"):
        (config / name).write_text("{")
    with pytest.raises(NotLoaded, match="broker-a"):
        cluster.broker("broker-a")


def test_name_server_port_in_use(cluster: Parts) -> None:
    with listening_socket("127.0.0.1", 0) as taken, pytest.raises(OSError, match="in use"):
        cluster.background.complete(NameServerNode(port=taken.getsockname()[1]).start())


def test_setting_can_be_changed_over_wire(cluster: Parts, client: Client) -> None:
    node = cluster.broker()
    answer = client.call(node.settings.address, Command(UPDATE_BROKER_CONFIG, body=b"brokerPermission=4"), 20_000)
    assert (answer.code, node.settings.broker_permission) == (SUCCESS, 4)


def test_many_connections_at_once_are_all_served(cluster: Parts) -> None:
    node = cluster.broker()
    lines = [Raw(node.settings.listen_port) for _ in range(50)]
    for number, raw in enumerate(lines):
        request = send_command(body=b"%d" % number)
        request.opaque = number
        raw.send(frame.encode(request))
    for number, raw in enumerate(lines):
        answer = raw.command()
        assert answer is not None and (answer.code, answer.opaque) == (SUCCESS, number)
        raw.socket.close()
    assert {record.body for record in node.broker.store.records()} == {b"%d" % number for number in range(50)}


def test_dribbling_connection_delays_no_other(cluster: Parts, client: Client) -> None:
    node = cluster.broker()
    data = frame.encode(send_command(body=b"slow"))
    with Raw(node.settings.listen_port) as raw:
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(data)):
            raw.send(data[at : at + 1])
            if at % 50 == 0:
                assert client.call(node.settings.address, send_command(), 20_000).code == SUCCESS
        answer = raw.command()
    assert answer is not None and answer.code == SUCCESS


@pytest.mark.parametrize("failing", ["registration", "links of slaves", "server", "store"])
def test_broker_runs_every_step_of_its_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    with parts(tmp_path) as made:
        node = made.broker()
        stop = node._links.stop if failing == "links of slaves" else node._tcp.stop if failing == "server" else lambda: None

        def fails(_: object) -> None:
            stop()  # leave no socket open
            raise OSError("No space left on device")

        monkeypatch.setattr(
            {
                "registration": "rocketproof_impl.broker.registration.Registration.unregister_all",
                "links of slaves": "rocketproof_impl.system.links.LinkServer.stop",
                "server": "rocketproof_impl.system.server.TcpServer.stop",
                "store": "rocketproof_impl.store.service.MessageStore.stop",
            }[failing],
            fails,
        )
        with pytest.raises(OSError, match="No space left on device"):
            made.stop("broker-a")
        monkeypatch.undo()
        assert node.broker.store.shutdown is (failing != "store")
        assert all(service.ended.done for service in node.broker.services())
        made.broker()  # nothing holds the files of the store any more
