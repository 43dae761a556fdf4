"""The process from which Spark forks its workers on this machine. It preloads their modules, so that not every worker loads them."""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

LOADED = ("pandas", "pyarrow", "pyspark.worker", "rocketproof_traces.audit.segment", "rocketproof_traces.bulk.work")


def main() -> None:
    """Load the modules, then continue as Spark's own daemon."""
    for name in LOADED:
        import_module(name)
    gc.freeze()  # a worker collects garbage after each task; loaded modules are not garbage
    manager()


if __name__ == "__main__":
    main()
