"""The fixture `rocketmq`: a cluster for an application's tests with faults, a history and its judgement, which leaves nothing behind."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rocketproof import Undecided
from rocketproof_impl.producer.errors import BrokerError, ClientError
from rocketproof_properties.brokers.connection import call
from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.brokers.forms import host_and_port
from rocketproof_properties.brokers.recordingproxy import OPERATIONS
from rocketproof_properties.brokers.routed import NoRoute, brokers_of, require_route
from rocketproof_properties.commands import run
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.vocabulary import STEPS, is_request, plain, request_of
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.validation.appcluster import ClusterSetup, RocketMQ, setup_of
from rocketproof_protocol.codes import SUCCESS, UPDATE_BROKER_CONFIG
from rocketproof_traces.history.exchanges import CONFIGURE

pytest_plugins = ["pytester"]
PLUGIN = "rocketproof_properties.pytest_plugin"


@contextmanager
def cluster(folder: Path, **setup: object) -> Iterator[RocketMQ]:
    folder.mkdir(exist_ok=True)
    with RocketMQ(setup_of("", None, [setup]), folder) as running:
        yield running


def sends(running: RocketMQ) -> list[tuple[str, object]]:
    return [(exchange.closed, exchange.code) for exchange in running.history() if exchange.op == "send"]


def test_route_exists_with_each_broker_when_it_is_ready(tmp_path: Path) -> None:
    with cluster(tmp_path, topics=["orders", "bills"], brokers=3) as running:
        for topic in ("orders", "bills"):
            assert brokers_of(running.namesrv_addr, topic) == {"broker-a", "broker-b", "broker-c"}
        body = call(running.namesrv_addr, plain("route", topic="orders")).body or b""
        assert all(f'"{running.address(broker)}"'.encode() in body for broker in running.brokers), "clients go through the proxies"


def test_history_has_each_request_and_is_judged(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders", brokers=2) as running:
        for number in range(6):
            running.send("orders", f"order {number}")
        judgement = running.judge()
        assert sends(running) == [("ok", SUCCESS)] * 6
        assert judgement.verdict.explained >= 6 and judgement.lost == ()
        assert {exchange.broker for exchange in running.history() if exchange.op == "send"} == {"broker-a", "broker-b"}
    assert run(["judge", str(running.history_file), "--profile", "P494"]) == 0


def test_wrong_response_is_found(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders", queues=1) as running:
        running.send("orders", "order 1")
        running.send("orders", "order 2")
        text = running.history_file.read_text("utf-8")
        changed = text.replace('"queueOffset": "1"', '"queueOffset": "7"').replace('"queueOffset":"1"', '"queueOffset":"7"')
        assert changed != text
        running.history_file.write_text(changed, "utf-8")
        with pytest.raises(AssertionError, match="recorded"):
            running.judge(lost=False)


def test_concurrent_clients_are_processes(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders") as running:
        running.delay(0.2, times=2)
        threads = [threading.Thread(target=running.send, args=("orders", "order")) for _ in range(2)]
        running.send("orders", "the first makes the producer")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        running.judge()
        assert len(sends(running)) == 3


# Faults


def test_lost_response_makes_duplicate(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders") as running:
        running.lose_response()
        running.send("orders", "order")
        assert sends(running) == [("ok", SUCCESS)] * 2, "the broker has both"
        running.judge()


def test_lost_request_is_retried_and_not_stored(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders") as running:
        running.lose_request()
        running.send("orders", "order")
        assert sends(running) == [("fail", None), ("ok", SUCCESS)]
        running.judge()


def test_rejection_has_its_code(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders") as running:
        running.reject(code=13, remark="too large")
        with pytest.raises(BrokerError, match="too large"):
            running.send("orders", "order")
        running.judge()


def test_disconnected_broker_gets_nothing(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders", brokers=2) as running:
        running.send("orders", "order")
        running.disconnect("broker-a")
        for _ in range(4):
            assert running.send("orders", "order").queue.broker_name == "broker-b"
        running.reconnect("broker-a")
        running.judge()


def test_fault_of_unknown_operation_is_refused(tmp_path: Path) -> None:
    with cluster(tmp_path) as running:
        with pytest.raises(InputError, match="send"):
            running.lose_request("sent")
        with pytest.raises(InputError, match="broker-a"):
            running.lose_request(broker="broker-b")
        with pytest.raises(InputError, match="broker-a"):
            running.disconnect("broker-b")


# Outages


@pytest.mark.parametrize(("flush", "lost"), [("ASYNC_FLUSH", 3), ("SYNC_FLUSH", 0)])
def test_power_loss_takes_what_was_not_flushed(tmp_path: Path, flush: str, lost: int) -> None:
    with cluster(tmp_path, topics="orders", settings={"flushDiskType": flush, "flushIntervalCommitLog": 60_000}) as running:
        for number in range(3):
            running.send("orders", f"order {number}")
        assert running.lost() == ()
        running.lose_power("broker-a")
        with pytest.raises(Undecided, match="start it"):
            running.lost()
        running.start("broker-a")
        assert len(running.lost()) == lost
        if lost:
            with pytest.raises(AssertionError, match="acknowledged and lost: orders queue"):
                running.judge()
        else:
            running.judge()


def test_message_that_replaces_a_lost_one_is_another(tmp_path: Path) -> None:
    with cluster(tmp_path, topics="orders", settings={"flushIntervalCommitLog": 60_000}) as running:
        running.send("orders", "order 1")
        running.lose_power("broker-a")
        running.start("broker-a")
        running.send("orders", "order 2")
        assert [message.seq for message in running.lost()] == [next(e.seq for e in running.history() if e.op == "send")]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_ended_process_loses_nothing(tmp_path: Path, end: str) -> None:
    with cluster(tmp_path, topics="orders") as running:
        running.send("orders", "order")
        getattr(running, end)("broker-a")
        running.start("broker-a")
        running.judge()


# Routes


def test_topic_without_route_fails_until_it_is_created(tmp_path: Path) -> None:
    with cluster(tmp_path, brokers=2, settings={"autoCreateTopicEnable": False}) as running:
        with pytest.raises(ClientError, match="No route info of this topic"):
            running.send("orders", "order")
        with pytest.raises(NoRoute, match="there is no route"):
            running.wait_for_route("orders", seconds=0)
        running.create_topic("orders", "broker-a")
        with pytest.raises(NoRoute, match="lacks broker-b"):
            require_route(running.namesrv_addr, "orders", running.brokers)
        running.send("orders", "order")
        running.judge()


def test_rejected_topic_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    before = threading.active_count()
    with pytest.raises(TargetError, match="broker-a rejects the topic"), cluster(tmp_path, topics=["no topic!"]):
        pass
    assert threading.active_count() == before


# Starts


def listens(address: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(host_and_port(address)) == 0


def test_starts_are_quick_and_leave_nothing(tmp_path: Path) -> None:
    with cluster(tmp_path / "first"):
        pass
    before, slowest = threading.active_count(), 0.0
    for number in range(8):
        began = time.monotonic()
        with cluster(tmp_path / str(number), topics="orders", brokers=2) as running:
            slowest = max(slowest, time.monotonic() - began)
            addresses = [running.namesrv_addr, *map(running.address, running.brokers), *running._deployment.brokers.values()]
        assert not any(map(listens, addresses))
        assert threading.active_count() == before
    assert slowest < 2
    assert not list(Path(f"/proc/{os.getpid()}/fd").glob("*/history.ndjson"))


def test_operations_are_those_of_programs() -> None:
    context = Context(ProgramNames("", 0), "broker-a")
    built = (request_of((name, {}), context) for name in STEPS if is_request(name) and STEPS[name].build is not None)
    named = {one.code: one.op for one in built if one is not None and one.op != "other"}
    assert {code: OPERATIONS.get(code) for code in named} == named
    assert OPERATIONS[UPDATE_BROKER_CONFIG] == CONFIGURE


# The plugin


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in [name for name in os.environ if name.startswith(("ROCKETPROOF_", "ROCKETMQ_")) or name == "PYTEST_ADDOPTS"]:
        monkeypatch.delenv(name)

    def call(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", "--strict-markers", "-W", "error", *arguments)

    return call


def test_marker_sets_up_the_cluster(pytester: pytest.Pytester, inner: Callable[..., pytest.RunResult]) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.rocketmq(topics=["a"], brokers=2)
        class TestOrders:
            def test_class(self, rocketmq):
                assert rocketmq.brokers == ("broker-a", "broker-b")

            @pytest.mark.rocketmq(brokers=1, profile="P533")
            def test_closest_wins(self, rocketmq):
                assert (rocketmq.brokers, rocketmq.profile) == (("broker-a",), "P533")
                rocketmq.wait_for_route("a", seconds=0)

        @pytest.mark.rocketmq(brooker=1)
        def test_wrong(rocketmq): pass

        def test_defaults(rocketmq):
            assert rocketmq.profile == "P510"
        """
    )
    result = inner("--rocketmq-profile=P510")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*rocketmq: *brooker*"])


def test_wrong_options_are_one_line(inner: Callable[..., pytest.RunResult]) -> None:
    for wrong in ("--rocketmq-target=9.9", "--rocketmq-profile=P4"):
        result = inner(wrong)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert wrong.partition("=")[0] in result.stderr.str()


def test_profile_of_marker_counts_for_reference_brokers_only() -> None:
    assert setup_of("", "P510", [{"profile": "P533"}]) == ClusterSetup("", "P533")
    assert setup_of("4.9.4", None, [{"profile": "P533"}]) == ClusterSetup("4.9.4", None)
    assert setup_of("", None, [{"topics": "a"}, {"brokers": 2}]) == ClusterSetup(topics=("a",), brokers=2)
