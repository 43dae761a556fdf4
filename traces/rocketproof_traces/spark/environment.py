"""The environment of Spark's processes: the interpreter, the import folders, and the cores of this machine.

A worker of a local session imports the same modules as this process. The entries of `sys.path` that the interpreter does not add itself (a
source tree, the folder of a test) are added to its PYTHONPATH. Workers of a cluster get the code by `delivery`.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def variables(**values: str) -> Iterator[None]:
    """Set environment variables inside the block and restore them afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def worker_variables() -> dict[str, str]:
    """Return the variables of the workers of a local session."""
    return {**cluster_variables(sys.executable), "PYTHONPATH": os.pathsep.join(import_places())}


def cluster_variables(python: str) -> dict[str, str]:
    """Return the variables of a driver whose workers run the interpreter `python`."""
    return {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}


def import_places() -> list[str]:
    """Return the folders and archives of `sys.path` that only this process knows, as absolute paths in their order."""
    paths = sysconfig.get_paths()
    own = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {*site.getsitepackages(), site.getusersitepackages()}
    own |= {os.path.join(path, "lib-dynload") for path in own}
    places = (os.path.abspath(entry) for entry in sys.path)  # the empty entry is the current folder
    return list(dict.fromkeys(place for place in places if place not in own and os.path.exists(place)))
