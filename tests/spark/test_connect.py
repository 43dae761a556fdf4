"""Commands on a local Spark Connect server, in separate processes: this process has a classic session."""

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from many_histories import history, write
from standalone import HOME, bare_process, bare_python, command, free_port, wait_for
from written_store import Sent, write_store

from rocketproof_traces.spark import gateway
from rocketproof_traces.spark.java import find_java

LACKS_IT = importlib.util.find_spec("grpc_status") is None and os.environ.get("ROCKETPROOF_REAL") != "required"
pytestmark = pytest.mark.skipif(LACKS_IT, reason="needs pyspark[connect]")


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log, port, java = tmp_path_factory.mktemp("connect") / "server.log", free_port(), find_java()
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
    python = str(bare_python(log.parent / "python"))
    variables = {**gateway.spark_variables(java, HOME), "PYSPARK_PYTHON": python, "PATH": "/usr/bin:/bin", "HOME": str(log.parent)}
    words = gateway.command(java, HOME, conf, variables)[:-1]  # but for the word that starts a gateway
    server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    with bare_process(log, variables, *words, *server):
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


@pytest.mark.parametrize(
    ("address", "said"),
    [("local[2]", "is no address of a Spark Connect server"), ("sc://127.0.0.1:1", "no way to 127.0.0.1:1: Connection refused")],
)
def test_missing_server_is_one_line(address: str, said: str, tmp_path: Path) -> None:
    write_store(tmp_path / "store", [Sent("T")], 1 << 12)
    done = command(tmp_path, "audit", "store", "--remote", address)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr and address in done.stderr
