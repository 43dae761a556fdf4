"""The examples of `rocketproof serve --json`: each unmodified client sends a message to a broker that its test starts and stops."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from otherclients import NODE, node_packages

from rocketproof_properties.brokers.javaprograms import JavaPrograms

HERE = Path(__file__).parents[2] / "properties" / "examples" / "serve"
ROCKETPROOF = (sys.executable, "-m", "rocketproof_properties.commands")
OPTIONS = ("serve", "--temporary", "--port", "0", "--nameserver-port", "0", "--topic", "orders", "--quiet", "--json")
SECONDS = 300
ENV = {"ROCKETPROOF": " ".join(ROCKETPROOF), "PYTHONPATH": os.pathsep.join(sys.path)}
pytestmark = pytest.mark.nightly
COMMANDS = ("java", "javac", "mvn", "go")


def test_java_example_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ENV["PYTHONPATH"])
    assert JavaPrograms(HERE / "java").run("OrdersTest", *ROCKETPROOF, *OPTIONS) == ["SEND_OK orders"]


def test_go_example_sends() -> None:
    done = subprocess.run(
        ["go", "test", "-count=1", "./..."], cwd=HERE / "go", env=os.environ | ENV, timeout=SECONDS, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_node_example_sends(tmp_path: Path) -> None:
    packages = node_packages("ali-ons@3.12.0", "urllib@2.44.0")
    env = os.environ | ENV | {"PACKAGES": str(packages), "HOME": str(tmp_path)}
    done = subprocess.run(
        [NODE, "--test", "--test-force-exit", "orders.test.mjs"],
        cwd=HERE / "node",
        env=env,
        timeout=SECONDS,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
