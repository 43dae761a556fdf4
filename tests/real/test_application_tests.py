"""One test file of an application, with the fixture `rocketmq`, passes on reference brokers, served ones, and a release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = ("java", "mvn")
pytestmark = pytest.mark.nightly
THEIRS = """
import pytest


@pytest.mark.rocketmq(topics=["orders"], brokers=2)
def test_orders(rocketmq):
    for number in range(8):
        rocketmq.send("orders", f"order {number}")
    rocketmq.lose_response()
    rocketmq.send("orders", "twice")
    rocketmq.judge()
    sends = [exchange for exchange in rocketmq.history() if exchange.op == "send"]
    assert len(sends) == 10 and all(exchange.code == 0 for exchange in sends)


@pytest.mark.rocketmq(settings={"autoCreateTopicEnable": False})
def test_no_route(rocketmq):
    with pytest.raises(Exception, match="No route info of this topic"):
        rocketmq.send("orders", "order")
    rocketmq.create_topic("orders")
    rocketmq.send("orders", "order")
    rocketmq.judge()


@pytest.mark.rocketmq(topics=["orders"])
def test_kill(rocketmq):
    rocketmq.send("orders", "order")
    rocketmq.kill("broker-a")
    rocketmq.start("broker-a")
    rocketmq.judge()


@pytest.mark.rocketmq(topics=["orders"])
def test_outage(rocketmq):
    if not rocketmq.can_lose_power:
        pytest.skip("needs reference brokers in this process")
    rocketmq.send("orders", "order")
    rocketmq.lose_power("broker-a")
    rocketmq.start("broker-a")
    assert len(rocketmq.lost()) == 1
"""


@pytest.mark.parametrize(("target", "passed"), [("inprocess", 4), ("served", 3), ("4.9.4", 3)])
def test_same_file_passes_on_each_target(tmp_path: Path, target: str, passed: int) -> None:
    (tmp_path / "test_orders.py").write_text(THEIRS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rocketmq-target={target}", "test_orders.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{passed} passed" in done.stdout
