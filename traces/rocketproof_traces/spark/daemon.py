"""The process that Spark's workers on this machine are forked from, with what they need in it: else each of them would load it."""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

LOADED = ("pandas", "pyarrow", "pyspark.worker", "rocketproof_traces.audit.segment", "rocketproof_traces.bulk.work")


def main() -> None:
    """Load it, and do as Spark's own does from then on."""
    for name in LOADED:
        import_module(name)
    gc.freeze()  # a worker collects garbage after each task, and what is loaded is none
    manager()


if __name__ == "__main__":
    main()
