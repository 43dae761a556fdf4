"""A search in its own process that is killed while it waits for input."""

import os
import subprocess
import sys
from pathlib import Path


def killed(program: str, folder: Path) -> None:
    """Run a program with this folder as its argument. Kill it with -9 after it has written an empty line and reads its input."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"\n", "it has ended"
        child.kill()
