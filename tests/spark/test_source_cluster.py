"""The data source on a local standalone cluster of two workers, one of which is killed during a query."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
from written_store import Sent, write_store

from rocketproof_traces.spark.environment import import_places
from rocketproof_traces.spark.gateway import spark_variables
from rocketproof_traces.spark.java import find_java

HERE = Path(__file__).parent
HOME = Path(pyspark.__file__).parent
WAIT = 900  # a limit for what hangs


@contextlib.contextmanager
def process(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        **spark_variables(find_java(), HOME),
        "PYTHONPATH": os.pathsep.join(import_places()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with log.open("wb") as output:
        streams = {"stdout": output, "stderr": subprocess.STDOUT}
        started = subprocess.Popen(command, env=environment, cwd=log.parent, start_new_session=True, **streams)
    try:
        yield started
    finally:
        kill(started)


def kill(started: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def daemon(name: str, *arguments: str) -> list[str]:
    return [
        str(find_java().executable),
        "-Xmx256m",
        "-cp",
        f"{HOME}/jars/*",
        f"org.apache.spark.deploy.{name}",
        "--host",
        "127.0.0.1",
        *arguments,
    ]


def wait_for(log: Path, text: str, times: int = 1) -> None:
    deadline = time.monotonic() + WAIT
    while log.read_text(errors="replace").count(text) < times:
        assert time.monotonic() < deadline, f"{log.name} never says {text}:\n{log.read_text(errors='replace')[-2000:]}"
        time.sleep(0.1)


def begun(marks: Path) -> list[str]:
    """Return the executor of each started task."""
    return [mark.name.split("-")[0] for mark in marks.iterdir()]


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Return a master's URL, and one of its two workers."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as running:
        running.enter_context(process(folder / "master.log", *daemon("master.Master", "--port", str(port), "--webui-port", "0")))
        wait_for(folder / "master.log", "I have been elected leader")
        for name in ("one", "two"):
            command = daemon("worker.Worker", "--webui-port", "0", "-c", "1", "-m", "768m", "-d", str(folder / name), url)
            worker = running.enter_context(process(folder / f"{name}.log", *command))
            wait_for(folder / f"{name}.log", "Successfully registered with master")
        yield url, worker


def test_killed_worker_loses_no_row_and_other_still_searches(tmp_path: Path) -> None:
    stored = write_store(tmp_path / "store", [Sent(f"topic{n % 5}", n % 4, bytes(n % 200)) for n in range(800)], 1 << 15)
    marks = tmp_path / "marks"
    marks.mkdir()
    with cluster(tmp_path) as (url, worker):
        script = str(HERE / "cluster_query.py")
        with process(tmp_path / "query.log", sys.executable, script, url, str(tmp_path / "store"), str(marks)) as query:
            deadline = time.monotonic() + WAIT
            while (len(begun(marks)) < 6 or len(set(begun(marks))) < 2) and query.poll() is None:
                assert time.monotonic() < deadline, (tmp_path / "query.log").read_text()[-2000:]
                time.sleep(0.05)
            assert query.poll() is None, (tmp_path / "query.log").read_text()[-2000:]
            kill(worker)
            query.wait(WAIT)
        said = (tmp_path / "query.log").read_text()
        assert query.returncode == 0, said[-3000:]
        # Behind the answer Java may complain of the worker that is lost.
        answer = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
        assert (answer["count"], answer["sum"]) == (len(stored), sum(each.offset for each in stored))

        rows = []
        for engine in (["spark", "--master", url], ["explicit"]):
            words = ["-m", "rocketproof_properties.commands", "check", "--scope", "answers", "--property", "INV-01", "--json", "rows.json"]
            with process(tmp_path / "check.log", sys.executable, *words, "--engine", *engine) as check:
                assert check.wait(WAIT) == 0, (tmp_path / "check.log").read_text()[-3000:]
            rows.append([(row["verdict"], row["states"], row["transitions"]) for row in json.loads((tmp_path / "rows.json").read_text())])
        assert rows[0] == rows[1] and rows[0]
