"""A standalone cluster on this machine. The Python of its two workers has no rocketproof and no variable of the driver."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pyspark

from rocketproof_traces.spark.gateway import spark_variables
from rocketproof_traces.spark.java import find_java

HOME = Path(pyspark.__file__).parent
WAIT = 1800  # seconds; a limit for what hangs, also on a loaded machine
BARE = ("pyspark", "py4j", "pyarrow", "numpy")
"""What is installed in the Python of a worker."""


def bare_python(folder: Path, distributions: tuple[str, ...] = BARE) -> Path:
    """Create a virtual environment that has only these distributions, as links, and return its interpreter."""
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in distributions:
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}:
            (site / top).symlink_to(str(distribution.locate_file(top)))
    return folder / "bin" / "python"


def without_import_path(**variables: str) -> dict[str, str]:
    """Return this process's variables without its import path, and further ones."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **variables}


def process(log: Path, *command: str, **variables: str) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    """Run a process in the folder of its log, without this process's import path."""
    return bare_process(log, without_import_path(**variables), *command)


def kill(started: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def command(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of rocketproof in a folder."""
    words = [sys.executable, "-m", "rocketproof_properties.commands", *arguments]
    environment = without_import_path(PYTHONWARNINGS="ignore", **variables)
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=WAIT)


def daemon(name: str, *arguments: str) -> list[str]:
    java = [str(find_java().executable), "-Xmx256m", "-cp", f"{HOME}/jars/*"]
    return [*java, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *arguments]


def wait_for(log: Path, text: str, times: int = 1) -> None:
    deadline = time.monotonic() + WAIT
    while log.read_text(errors="replace").count(text) < times:
        assert time.monotonic() < deadline, f"{log.name} never says {text}:\n{log.read_text(errors='replace')[-2000:]}"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@contextlib.contextmanager
def cluster(folder: Path, memory: str = "1g") -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Return a master's URL, and one of its two workers with one core each. They inherit no variable of this process but the folders for
    temporary files and for the home."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    environment = {**spark_variables(find_java(), HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    with contextlib.ExitStack() as running:
        master = daemon("master.Master", "--port", str(port), "--webui-port", "0")
        running.enter_context(bare_process(folder / "master.log", environment, *master))
        wait_for(folder / "master.log", "I have been elected leader")
        for name in ("one", "two"):
            words = daemon("worker.Worker", "--webui-port", "0", "-c", "1", "-m", memory, "-d", str(folder / name), url)
            worker = running.enter_context(bare_process(folder / f"{name}.log", environment, *words))
            wait_for(folder / f"{name}.log", "Successfully registered with master")
        yield url, worker


@contextlib.contextmanager
def bare_process(log: Path, environment: Mapping[str, str], *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in the folder of its log, with exactly these variables."""
    with log.open("wb") as output:
        streams = {"stdout": output, "stderr": subprocess.STDOUT}
        started = subprocess.Popen(command, env=dict(environment), cwd=log.parent, start_new_session=True, **streams)
    try:
        yield started
    finally:
        kill(started)
