"""Commands on a local Spark Connect server, in separate processes: this process has a classic session."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from many_histories import history, write
from pyspark import cloudpickle
from standalone import HOME, WAIT, bare_process, bare_python, command, free_port, process, wait_for, without_import_path
from written_store import Sent, write_store

from rocketproof_traces.spark import gateway
from rocketproof_traces.spark.java import find_java
from rocketproof_traces.spark.source import CommitLogSource, sent_by_value

LACKS_IT = importlib.util.find_spec("grpc_status") is None and os.environ.get("ROCKETPROOF_REAL") != "required"
pytestmark = pytest.mark.skipif(LACKS_IT, reason="needs pyspark[connect]")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server whose Python has no rocketproof."""
    folder = tmp_path_factory.mktemp("connect")
    with server(folder, bare_python(folder / "python")) as url:
        yield url


@contextmanager
def server(folder: Path, python: Path) -> Iterator[str]:
    log, port, java = folder / "server.log", free_port(), find_java()
    conf = {
        "spark.master": "local[2,2]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    variables = {**gateway.spark_variables(java, HOME), "PYSPARK_PYTHON": str(python), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    words = gateway.command(java, HOME, conf, variables)[:-1]  # but for the word that starts a gateway
    started = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with bare_process(log, variables, *words, *started):
        wait_for(log, "Spark Connect server started")
        yield f"sc://127.0.0.1:{port}"


def test_audit_and_judge_find_same_as_this_process(remote: str, tmp_path: Path) -> None:
    """Relative paths refer to the client's folder, which is not the server's."""
    write_store(tmp_path / "store", [Sent(f"T{n % 3}", n % 9) for n in range(40)], 1 << 12)
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs" / "wrong.ndjson", *history(sends=3, wrong="T1"))
    for given in (["audit", "store"], ["judge", "runs", "--profile", "P49", "--out", "out"]):
        found = []
        for engine in (["spark", "--remote", remote], ["local"]):
            done = command(tmp_path, *given, "--engine", *engine, "--json", "found.json")
            assert done.returncode == 1, done.stderr
            found.append(json.loads((tmp_path / "found.json").read_text()))
            subprocess.run(["rm", "-rf", "out"], cwd=tmp_path, check=True)
        assert found[0] == found[1] and found[0]


def test_search_counts_same_as_this_process(remote: str, tmp_path: Path) -> None:
    rows = []
    for engine in (["spark", "--remote", remote], ["explicit"]):
        given = ["check", "--scope", "answers", "--property", "INV-01", "--json", "rows.json", "--witnesses", "w"]
        done = command(tmp_path, *given, "--engine", *engine)
        assert done.returncode == 0, done.stdout + done.stderr
        rows.append([(row["verdict"], row["states"], row["transitions"]) for row in json.loads((tmp_path / "rows.json").read_text())])
    assert rows[0] == rows[1] and rows[0]


def test_followed_histories_are_judged_once(remote: str, tmp_path: Path) -> None:
    """Ctrl-C ends the command. The same command goes on, and judges only what is new."""
    (tmp_path / "runs").mkdir()
    write(tmp_path / "runs" / "right.ndjson", *history(sends=3))
    words = ["judge", "runs", "--profile", "P49", "--out", "out", "--follow", "--engine", "spark", "--remote", remote]
    command_line = [sys.executable, "-m", "rocketproof_properties.commands", *words, "--json", "found.json"]

    def judged() -> list[Path]:
        """Return the batches that are complete."""
        return sorted(path.parent for path in (tmp_path / "out" / "verdicts").glob("*/_SUCCESS"))

    def follow(batches: int) -> None:
        log = tmp_path / f"{batches}.log"
        with process(log, *command_line, PYTHONUNBUFFERED="1", PYTHONWARNINGS="ignore") as started:
            wait_for(log, "history (" if batches == 1 else "histories (")
            started.send_signal(signal.SIGINT)
            assert started.wait(WAIT) == batches - 1, log.read_text()

    follow(1)
    write(tmp_path / "runs" / "wrong.ndjson", *history(sends=3, wrong="T1"))
    follow(2)
    found = json.loads((tmp_path / "found.json").read_text())
    assert len(judged()) == 2 and len(found["findings"]) == 1


STREAM = """
import sys
from rocketproof_traces.spark.session import session

log = session(remote=sys.argv[1]).readStream.format("rocketmq-commitlog").load(sys.argv[2])
rows = log.select("physicalOffset", "size", "error").writeStream.format("json")
placed = rows.option("checkpointLocation", sys.argv[3] + "/checkpoint").option("path", sys.argv[3] + "/out")
query = placed.trigger(availableNow=True).start()
query.awaitTermination()
"""


def stream(remote: str, store: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-c", STREAM, remote, str(store), str(folder)]
    return subprocess.run(given, env=without_import_path(), capture_output=True, text=True, check=False, timeout=WAIT)


def test_stream_reads_each_record_once(tmp_path: Path) -> None:
    """The store grows by files between two runs of the query. The server's Python has rocketproof."""
    whole = tmp_path / "whole"
    stored = write_store(whole, [Sent("orders", n % 2, bytes(n)) for n in range(60)], 1 << 11)
    names = sorted(path.name for path in (whole / "commitlog").iterdir())
    log = tmp_path / "store" / "commitlog"
    log.mkdir(parents=True)
    with server(tmp_path, Path(sys.executable)) as url:
        for added in (names[:2], names[2:]):
            for name in added:
                shutil.copy(whole / "commitlog" / name, log / name)
            done = stream(url, tmp_path / "store", tmp_path)
            assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for file in (tmp_path / "out").glob("*.json") for line in file.read_text().splitlines()]
    assert sorted((row["physicalOffset"], row["size"]) for row in rows) == [(each.offset, each.size) for each in stored]
    assert not any("error" in row for row in rows)


def test_stream_needs_rocketproof_on_server(remote: str, tmp_path: Path) -> None:
    """Spark plans a stream without the archives that the client sent. If that changes, the page is wrong."""
    write_store(tmp_path / "store", [Sent("orders")], 1 << 12)
    done = stream(remote, tmp_path / "store", tmp_path)
    assert done.returncode == 1
    assert "cannot import rocketproof" in done.stderr and "install it there" in done.stderr
    assert "create_data_source.py" not in done.stderr  # the server's traceback


def test_sent_source_names_what_python_lacks(tmp_path: Path) -> None:
    """A Python without rocketproof reads the class that a client sends, and reports in one line what is missing."""
    sent = tmp_path / "sent"
    sent.write_bytes(cloudpickle.dumps(sent_by_value(CommitLogSource)))
    load = f"import pickle; pickle.load(open({str(sent)!r}, 'rb'))(dict()).schema()"
    python = bare_python(tmp_path / "python")
    given = [str(python), "-c", load]
    done = subprocess.run(given, cwd=tmp_path, env=without_import_path(), capture_output=True, text=True, check=False, timeout=WAIT)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("RuntimeError")]
    assert "rocketmq-commitlog: the Spark Connect server's Python" in line and "install it there" in line


@pytest.mark.parametrize(
    ("address", "said"),
    [("local[2]", "is no address of a Spark Connect server"), ("sc://127.0.0.1:1", "no way to 127.0.0.1:1: Connection refused")],
)
def test_missing_server_is_one_line(address: str, said: str, tmp_path: Path) -> None:
    write_store(tmp_path / "store", [Sent("T")], 1 << 12)
    done = command(tmp_path, "audit", "store", "--remote", address)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr and address in done.stderr
