"""Whether the packages of the Spark engine are installed."""

from __future__ import annotations

from importlib.util import find_spec

PACKAGES = ("pyspark", "pyarrow", "pandas")
"""pyspark exchanges data as Arrow tables, which also requires pandas."""


def missing() -> str:
    """Return the first package that is not installed, "" if all are."""
    return next((name for name in PACKAGES if find_spec(name) is None), "")
