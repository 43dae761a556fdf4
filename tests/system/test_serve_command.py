"""`rocketproof serve` as users start it: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from serving import PATIENCE, send_command

from proportion import few
from rocketproof_impl.remoting.command import ONE_WAY, Command
from rocketproof_impl.remoting.headers import CreateTopicRequestHeader, encode, layout
from rocketproof_impl.store.record import decode, host_bytes
from rocketproof_impl.system.client import Client
from rocketproof_impl.system.listening import listening_socket
from rocketproof_profiles import PROFILES
from rocketproof_properties.commands import run
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import (
    GET_MAX_OFFSET,
    GET_ROUTEINFO_BY_TOPIC,
    NO_PERMISSION,
    SUCCESS,
    TOPIC_NOT_EXIST,
    UPDATE_AND_CREATE_TOPIC,
)

MAIN = "from rocketproof_impl.store import threads; threads.LAST_PUTS = 0; from rocketproof_properties.commands import main; main()"
SMALL = ("--set", "mappedFileSizeCommitLog=1048576", "--set", "mappedFileSizeConsumeQueue=20000")
QUEUES = 200
FEW_FILES = "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (128, r.getrlimit(r.RLIMIT_NOFILE)[1]))"
FREE = ("--port", "0", "--nameserver-port", "0")


class Served:
    def __init__(self, process: subprocess.Popen[str], file: Path) -> None:
        self.process = process
        self._file = file

    def wait(self) -> Served:
        end = time.monotonic() + 60
        while not self._file.exists():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, "it is not ready"
            time.sleep(0.05)
        self.data = json.loads(self._file.read_text())
        return self

    @property
    def name_server(self) -> str:
        return str(self.data["name_server"])

    def broker(self, name: str = "broker-a") -> str:
        return str(self.data["brokers"][name]["address"])

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@contextmanager
def serve(folder: Path, *options: str, program: str = MAIN) -> Iterator[Served]:
    file = folder / "ready.json"
    file.unlink(missing_ok=True)
    command = [sys.executable, "-c", program, "serve", *FREE, *SMALL, "--store", str(folder / "store"), "--json", str(file), *options]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        yield Served(process, file).wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate(timeout=60)


@pytest.mark.parametrize("number", few([signal.SIGINT, signal.SIGTERM], 1))
def test_serve_lists_requests_and_stops_on_request(tmp_path: Path, number: int) -> None:
    with serve(tmp_path, "--brokers", "2", "--profile", "p494") as served, Client() as client:
        for name in ("broker-a", "broker-b"):
            assert client.call(served.broker(name), send_command("orders", queue_id=2), 20_000).code == SUCCESS
        assert client.call(served.broker(), send_command("a b"), 20_000).code == 1
        client.post(served.broker(), send_command("orders"))
        assert client.call(served.broker(), Command(4711), 20_000).code == 3
        assert client.call(served.name_server, Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "none"}), 20_000).code == TOPIC_NOT_EXIST
        code, out, err = served.end(number)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    ready = (
        f"ready: name server {served.name_server}, broker-a {served.broker()}, broker-b {served.broker('broker-b')} (P494); Ctrl-C stops"
    )
    assert lines[0] == ready
    assert lines[-1] == "stopped"
    told = [line.partition(" ")[2] for line in lines[1:-1]]
    first = next(line for line in told if line.startswith("broker-a SEND_MESSAGE_V2 orders q2 "))
    assert first.endswith(" → SUCCESS q2 @0")
    for rules in ("CHK-01,", ",10,", "TCM-", ",15,"):
        assert rules in first
    refused = next(line for line in told if "a b q0" in line)
    assert "→ SYSTEM_ERROR The specified topic contains illegal characters" in refused
    assert "TCM-10" not in refused
    assert any(line.startswith("broker-a SEND_MESSAGE_V2 orders q0 ") and line.endswith("→ nobody waits for an answer") for line in told)
    assert "broker-a 4711 → REQUEST_CODE_NOT_SUPPORTED  request type 4711 not supported" in told
    assert any(line.startswith("name server GET_ROUTEINFO_BY_TOPIC none NS-06 → TOPIC_NOT_EXIST") for line in told)
    stores = [tmp_path / "store" / name / "config" / "topics.json" for name in ("broker-a", "broker-b")]
    assert all("orders" in file.read_text() for file in stores)


def test_quiet_prints_first_and_last_line_and_store_outlives_server(tmp_path: Path) -> None:
    options = ("--quiet", "--set", "brokerRole=ASYNC_MASTER", "--cluster", "Blue")
    with serve(tmp_path, *options) as served, Client() as client:
        client.call(served.broker(), send_command(), 20_000)
        code, out, _ = served.end()
    assert (code, len(out.splitlines())) == (0, 2)
    with serve(tmp_path, *options) as served, Client() as client:
        answer = client.call(served.broker(), send_command(), 20_000)
        assert (answer.ext_fields or {})["queueOffset"] == "1"
        assert b'"Blue"' in (client.call(served.name_server, Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), 20_000).body or b"")


def test_answered_sends_survive_kill(tmp_path: Path) -> None:
    with serve(tmp_path, "--quiet") as served, Client() as client:
        client.call(served.broker(), send_command(), 20_000)
        served.process.kill()
        served.process.communicate(timeout=60)
    with serve(tmp_path, "--quiet") as served, Client() as client:
        answer = client.call(served.broker(), send_command(), 20_000)
        assert (answer.code, (answer.ext_fields or {})["queueOffset"]) == (SUCCESS, "1")


@pytest.mark.slow
def test_brokers_can_register_elsewhere_and_settings_hold(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with serve(first, "--brokers", "0", "--quiet") as names, Client() as client:
        with serve(second, "--no-nameserver", "--nameserver", names.name_server, "--set", "rejectTransactionMessage=true") as served:
            assert served.data["name_server"] is None
            request = send_command()
            request.ext_fields = {**(request.ext_fields or {}), "i": "TRAN_MSG\x01true"}
            assert client.call(served.broker(), request, 20_000).code == NO_PERMISSION
            route = client.call(names.name_server, Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}), 20_000)
            assert json.loads(route.body or b"")["brokerDatas"][0]["brokerAddrs"]["0"] == served.broker()
            served.end()
        route = client.call(names.name_server, Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"}), 20_000)
        assert route.code == TOPIC_NOT_EXIST  # it has left with its last word


@pytest.mark.slow
def test_more_queues_than_files_that_process_usually_has(tmp_path: Path) -> None:
    with serve(tmp_path, program=f"{FEW_FILES}; {MAIN}") as served, Client() as client:
        header = CreateTopicRequestHeader("Wide", "TBW102", QUEUES, QUEUES, 6, "SINGLE_TAG")
        made = client.call(served.broker(), Command(UPDATE_AND_CREATE_TOPIC, encode(header, layout(type(header)))), 20_000)
        assert made.code == SUCCESS
        for queue in range(QUEUES):
            assert client.call(served.broker(), send_command("Wide", queue_id=queue), 20_000).code == SUCCESS
        until = time.monotonic() + PATIENCE
        while offsets(client, served) != {"1"}:
            assert time.monotonic() < until, "messages do not come to their queues"
            time.sleep(0.05)


def offsets(client: Client, served: Served) -> set[str]:
    """Return the maximal offsets of the wide topic's first and last queue."""
    asked = (Command(GET_MAX_OFFSET, {"topic": "Wide", "queueId": str(queue)}) for queue in (0, QUEUES - 1))
    return {str((client.call(served.broker(), each, 20_000).ext_fields or {})["offset"]) for each in asked}


def test_server_ends_if_output_is_not_read(tmp_path: Path) -> None:
    with serve(tmp_path) as served, Client() as client:
        assert served.process.stdout is not None
        served.process.stdout.close()
        request = send_command()
        request.flag = ONE_WAY
        client.post(served.broker(), request)
        assert served.process.wait(PATIENCE * 3) == 0
        assert served.process.stderr is not None
        served.process.stderr.close()


WRONG = {
    "an unknown setting": (["--set", "brokerPermision=4"], "brokerPermission"),
    "no setting": (["--set", "brokerPermission"], "name=value"),
    "a value that does not fit": (["--set", "brokerPermission=rw"], "brokerPermission=6"),
    "a word that is none of its words": (["--set", "brokerRole=MASTER"], "brokerRole=ASYNC_MASTER"),
    "one name for two brokers": (["--brokers", "2", "--set", "brokerName=b"], "--set brokerName"),
    "an unknown profile": (["--profile", "P4"], "P49"),
    "too many brokers": (["--brokers", "27"], "up to 26"),
    "fewer than none": (["--brokers=-1"], "up to 26"),
    "everybody is let in": (["--listen", "0.0.0.0"], "--beyond-this-machine"),
    "a host by name": (["--listen", "localhost"], "127.0.0.1"),
    "an address of another machine": (["--listen", "203.0.113.7", "--beyond-this-machine"], "203.0.113.7"),
    "a port that is none": (["--port", "70000"], "65535"),
    "the last port has no next one": (["--port", "65535"], "65535"),
    "a name server's port that is none": (["--nameserver-port", "70000"], "--nameserver-port"),
    "no connections": (["--connections", "0"], "--connections"),
    "a result file below a file": (["--json", "/dev/null/all.json"], "--json"),
    "a host that nobody knows": (["--set", "brokerIP1=no.such.host.invalid"], "brokerIP1=no.such.host.invalid"),
    "a host with a label that is too long": (["--set", f"brokerIP1={'x' * 70}.y"], "127.0.0.1"),
    "a blank host": (["--set", "brokerIP1="], "127.0.0.1"),
    "a blank name": (["--set", "brokerName= "], "brokerName=broker-a"),
    "a blank folder": (["--set", "storePathRootDir="], "storePathRootDir"),
    "a blank cluster": (["--cluster", ""], "--cluster"),
    "a number with two signs": (["--set", "brokerPermission=--5"], "brokerPermission=6"),
    "a number in Python's syntax": (["--set", "brokerPermission=1_0"], "brokerPermission=6"),
    "a number of more than 64 bits": (["--set", "brokerId=99999999999999999999"], "brokerId=0"),
    "a size of more than 31 bits": (["--set", "maxMessageSize=2147483648"], "maxMessageSize=4194304"),
    "a file of nothing": (["--set", "mappedFileSizeCommitLog=0"], "the smallest is 1"),
    "a file of less than an entry": (["--set", "mappedFileSizeConsumeQueue=7"], "the smallest is 20"),
    "no threads": (["--set", "sendMessageThreadPoolNums=0"], "the smallest is 1"),
    "a name server without a port": (["--nameserver", "nohost"], "host:port"),
    "a name server's port that is too large": (["--nameserver", "127.0.0.1:70000"], "host:port"),
    "an unknown setting of the name server": (["--set-nameserver", "order=true"], "orderMessageEnable"),
    "a setting of the name server of another type": (["--set-nameserver", "orderMessageEnable=1"], "orderMessageEnable=true"),
    "settings without a name server": (["--no-nameserver", "--set-nameserver", "orderMessageEnable=true"], "leave out one of them"),
    "nothing unread": (["--unread", "0"], "--unread"),
    "nothing to serve": (["--brokers", "0", "--no-nameserver"], "--brokers"),
}


@pytest.fixture(autouse=True)
def _nothing_serves_for_ever() -> Iterator[None]:
    """End a server that should have been refused, so that its test fails instead of hanging."""
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    signal.alarm(100)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("options", "hint"), WRONG.values(), ids=WRONG.keys())
def test_invalid_serve_input_is_one_line(options: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    free = [option for pair in (FREE[:2], FREE[2:]) if pair[0] not in options for option in pair]
    assert run(["serve", *free, "--store", str(tmp_path / "s"), *options]) == 2
    _one_line(capsys, hint)


def _one_line(capsys: pytest.CaptureFixture[str], hint: str) -> None:
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("rocketproof: ")
    assert hint in line


@pytest.mark.parametrize("host", few(["localhost", "127.0.0.1"], 1))
def test_host_of_broker_may_be_name(host: str, tmp_path: Path) -> None:
    """As in a release, the broker registers the name, and its records have the address."""
    with serve(tmp_path, "--quiet", "--set", f"brokerIP1={host}") as served, Client() as client:
        assert served.broker().startswith(f"{host}:")
        answer = client.call(served.broker(), send_command(), 20_000)
        assert answer.code == SUCCESS
        assert (answer.ext_fields or {})["msgId"].startswith("7F000001")


def _records_hold_ipv6() -> bool:
    try:
        return len(host_bytes(("::1", 1))) > 8
    except ValueError:
        return False


@pytest.mark.skipif(not _records_hold_ipv6(), reason="records hold IPv4 addresses only")
@pytest.mark.parametrize("profile", few(["P533", "P40", "P494"], 1))
def test_ipv6_address_is_registered_and_stored(profile: str, tmp_path: Path) -> None:
    try:
        listening_socket("::1", 0).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with serve(tmp_path, "--listen", "::1", "--quiet", "--profile", profile) as served, Client() as client:
        assert served.name_server.startswith("[::1]:")
        assert served.broker().startswith("[::1]:")
        assert client.call(served.broker(), send_command(), 20_000).code == SUCCESS
        route = client.call(served.name_server, Command(GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), 20_000)
        assert f'"0":"{served.broker()}"'.encode() in (route.body or b"").replace(b"0:", b'"0":')
        end = time.monotonic() + 20
        while (pulled := client.call(served.broker(), plain("pull", topic="T"), 20_000)).code != SUCCESS:
            assert time.monotonic() < end, pulled  # the message is not dispatched yet
        message = decode(pulled.body or b"", exact=True, hosts_by_flag=PROFILES[profile].hosts_by_flag)
        assert message is not None
        assert (message.body, message.store_host[1]) == (b"hello", int(served.broker().rpartition(":")[2]))


@pytest.mark.parametrize("option", ["--port", "--nameserver-port"])
def test_port_in_use(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listening_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        other = FREE[2:] if option == "--port" else FREE[:2]
        assert run(["serve", option, port, *other, "--store", str(tmp_path)]) == 2
    _one_line(capsys, "ddress already in use")


def test_store_that_may_not_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert run(["serve", *FREE, "--store", str(file / "store")]) == 2
    _one_line(capsys, "Not a directory")


def test_store_in_use_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(tmp_path):
        assert run(["serve", *FREE, "--store", str(tmp_path / "store")]) == 2
    _one_line(capsys, "another broker works on this store")


def test_store_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config"
    config.mkdir()
    for name in ("topics.json", "topics.json.bak"):
        (config / name).write_text("{")
    assert run(["serve", *FREE, "--store", str(tmp_path)]) == 2
    _one_line(capsys, "cannot be read")
