"""Targets with separate processes, and nodes in this process: each capability works, and nothing remains afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from target_doubles import described

from nonempty import nonempty
from proportion import few
from rocketproof_properties.brokers import probe
from rocketproof_properties.brokers.command import CommandTarget
from rocketproof_properties.brokers.deployment import Deployment, NotOffered, Setup, TargetError, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.ports import AROUND_BROKER, free_port, is_free
from rocketproof_properties.brokers.processes import Processes
from rocketproof_properties.brokers.selftest import self_test
from rocketproof_properties.brokers.served import Served
from rocketproof_properties.programs.parts import NAME_SERVER, Capability
from rocketproof_properties.reports.choices import InputError

ALL = {
    "answers",
    "configure",
    "stores a message",
    "store",
    "stop",
    "restart",
    "kill",
    "restart after kill",
    "leaves nothing behind",
    "start",
}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put temporary folders of targets into the test's folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()


def left_behind(running: Deployment) -> list[str]:
    """Return listening addresses, running processes and existing folders after the end."""
    addresses = [*running.brokers.values(), *([running.name_server] if running.name_server else [])]
    left = [address for address in addresses if not is_free(int(address.rpartition(":")[2]))]
    left += [str(path) for path in Path(tempfile.gettempdir()).glob("rocketproof-*")]
    if isinstance(running, Processes):
        left += [str(child.pid) for child in running._children.values() if child.alive or group_lives(child.pid)]
    return left


def group_lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


TARGETS: dict[str, Callable[[Path], ValidationTarget]] = {
    "inprocess": lambda _: InProcess(),
    "served": lambda _: Served(),
    "command": lambda folder: CommandTarget(described(folder)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_adapter_passes_its_self_test(tmp_path: Path, name: str) -> None:
    target = TARGETS[name](tmp_path)
    found = list(self_test(target))
    assert not [(check.what, check.problem) for check in found if not check.works]
    without = {"kill", "restart after kill"} if Capability.KILL not in target.offers else set()
    assert {check.what for check in found} == ALL - without


@pytest.mark.parametrize("name", few(TARGETS, 1))
def test_nothing_remains_after_failure(tmp_path: Path, name: str) -> None:
    """Neither does anything remain after a success, as the self-test checks."""
    with suppress(ZeroDivisionError), TARGETS[name](tmp_path).open(Setup(brokers=2)) as running:
        assert probe.cluster(str(running.name_server)) == dict(running.brokers)
        assert len(left_behind(running)) >= 4
        raise ZeroDivisionError
    assert left_behind(running) == []
    running.close()


@pytest.mark.parametrize("name", TARGETS)
def test_target_that_does_not_start_leaves_nothing(tmp_path: Path, name: str) -> None:
    """A directory is replaced by a file."""
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(TargetError, match="broker-a"):
        TARGETS[name](tmp_path).open(Setup(stores={"broker-a": blocked}))
    assert not list(Path(tempfile.gettempdir()).glob("rocketproof-*"))


def test_given_store_is_kept(tmp_path: Path) -> None:
    store = tmp_path / "mine"
    with InProcess().open(Setup(stores={"broker-a": store})) as running:
        assert running.store("broker-a") == store
    assert (store / "config" / "topics.json").is_file() or (store / "checkpoint").is_file()


def test_settings_apply_to_all_or_one(tmp_path: Path) -> None:
    setup = Setup(brokers=2, settings={"regionId": "R", "brokerPermission": "6"}, own={"broker-b": {"brokerPermission": "4"}})
    assert setup.settings_of("broker-a") == {"regionId": "R", "brokerPermission": "6"}
    assert setup.settings_of("broker-b") == {"regionId": "R", "brokerPermission": "4"}
    with CommandTarget(described(tmp_path)).open(setup) as running:
        text = (running.home("broker-b") / "settings.properties").read_text("utf-8")
        assert "brokerName=broker-b\n" in text and "brokerPermission=4\n" in text and "regionId=R\n" in text


def test_killed_broker_is_gone_at_once_and_returns_at_address() -> None:
    with Served().open() as running:
        pid, address = running.pid("broker-a"), running.brokers["broker-a"]
        running.kill("broker-a")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert (running.store("broker-a") / "abort").is_file(), "it had no time to say that all is well"
        running.restart("broker-a")
        probe.broker(address)
        running.stop("broker-a")
        assert not (running.store("broker-a") / "abort").exists()


def test_unsupported_operation_is_refused_and_reported(tmp_path: Path) -> None:
    target = CommandTarget(described(tmp_path, more='without = ["kill", "store"]'))
    assert set(target.lost) == {Capability.KILL, Capability.STORE, Capability.START_NAME_SERVER}
    with target.open() as running:
        with pytest.raises(NotOffered, match="ours does not offer 'kill': programs and witnesses with a crash are left out"):
            running.kill("broker-a")
        with pytest.raises(NotOffered):
            running.store("broker-a")
    with InProcess().open() as nodes, pytest.raises(NotOffered):
        nodes.kill("broker-a")


# Adapters that only seem to work


def problems(target: ValidationTarget) -> dict[str, str]:
    return {check.what: check.problem for check in self_test(target) if not check.works}


LESS = 'without = ["kill", "start", "configure"]\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"store": "{store}[fresh]", "more": LESS},
            {"restart": "does not know the message any more", "store": "has no file of a commit log"},
        ),
        ({"settings": "{settings}[deaf]", "more": 'without = ["kill", "stop", "restart"]'}, {"start": "in place of 17"}),
        ({"broker": 'stop = ["true"]', "more": f"{LESS}limits = {{ stop = 1 }}"}, {"stop": "did not stop within 1 s"}),
        ({"broker": 'stop = ["false"]', "more": LESS}, {"stop": "failed with code 1"}),
    ],
)
def test_adapter_that_only_seems_to_work_is_found(tmp_path: Path, change: dict[str, str], said: dict[str, str]) -> None:
    problems = {check.what: check.problem for check in self_test(CommandTarget(described(tmp_path, **change)))}
    for what, text in nonempty(said.items()):
        assert text in problems[what] and "\n" not in problems[what]


@pytest.mark.parametrize(
    ("broker", "message"),
    [
        ('start = ["sh", "-c", "echo no licence found; exit 3", "{port}"]', "ended while it started, with code 3: no licence found"),
        (
            'start = ["sleep", "600"]\nready = "up and running"\n[limits]\nready = 0.5',
            r"ours: broker-a was not ready within 0\.5 s: it has not printed 'up and running'",
        ),
        ('start = ["no-such-program", "{port}"]', "there is no no-such-program in PATH; install it or give its path"),
    ],
    ids=["ends with output", "never ready", "missing program"],
)
def test_broker_that_fails_to_start_is_reported(broker: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(f"[broker]\n{broker}\n", "utf-8")
    with pytest.raises(TargetError, match=message):
        next(self_test(CommandTarget(path)))
    assert not list(Path(tempfile.gettempdir()).glob("rocketproof-*"))


# The end of the program itself

PROGRAM = """
import sys, time
from pathlib import Path
from rocketproof_properties.brokers.served import Served
import signal
signal.signal(signal.SIGTERM, signal.default_int_handler)
running = Served().open()
print(running.brokers["broker-a"].rpartition(":")[2], flush=True)
if sys.argv[1] == "with":
    with running:
        time.sleep(60)
elif sys.argv[1] == "wait":
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("how", "number"),
    few([("wait", signal.SIGKILL), ("with", signal.SIGINT), ("with", signal.SIGTERM), ("wait", signal.SIGINT), ("ends", None)], 2),
)
def test_no_process_outlives_program(how: str, number: signal.Signals | None) -> None:
    """The program ends by Ctrl-C, by SIGTERM, by kill -9, or without a message."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": tempfile.gettempdir()}
    command = [sys.executable, "-c", PROGRAM, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True) as program:
        assert program.stdout is not None and program.stderr is not None
        port = int(program.stdout.readline())
        if number is not None:
            assert not is_free(port)
            program.send_signal(number)
        program.wait(30)
        if number is None:  # the other operations are interrupted and report it
            assert program.stderr.read() == ""
    end = time.monotonic() + 10
    while (left := [not is_free(port), *Path(tempfile.gettempdir()).iterdir()]) != [False] and time.monotonic() < end:
        time.sleep(0.05)
    assert left == [False]


def test_free_port_has_free_neighbours() -> None:
    port = free_port(AROUND_BROKER)
    assert all(is_free(port + distance) for distance in AROUND_BROKER)


def test_parts_have_names(tmp_path: Path) -> None:
    with CommandTarget(described(tmp_path)).open() as running:
        assert running.parts == (NAME_SERVER, "broker-a")
        with pytest.raises(InputError, match="unknown part 'broker-z'"):
            running.stop("broker-z")
