"""A search in a process of its own that is killed where it stops to wait."""

import os
import subprocess
import sys
from pathlib import Path


def killed(program: str, folder: Path) -> None:
    """Run a program that is given the folder, writes an empty line and reads its input; kill -9 it then."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"\n", "it has ended"
        child.kill()
