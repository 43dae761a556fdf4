"""Tests with a real local Spark: one session for the whole run, and none is skipped unnoticed.

All tests of this folder have the marker `spark`. Without pyspark or Java they are skipped with that reason; with
ROCKETPROOF_REAL=`required`, as in continuous integration, they fail instead. They share one Java process: run them with `-p no:xdist` (or
`-n 0`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark.java import find_java
from rocketproof_traces.spark.session import require_pyspark, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
# These import pyspark themselves; without it the tests of other modules report that.
NEED_IT = [
    "test_connect.py",
    "test_frames.py",
    "test_tables_in_spark.py",
    "test_session.py",
    "test_source.py",
    "test_source_cluster.py",
    "test_spark_docs.py",
    "test_stream.py",
]
collect_ignore = [] if find_spec("pyspark") else NEED_IT
sys.path += [str(HERE.parent / "traces"), str(HERE.parent / "properties"), str(HERE.parent / "docs")]  # helpers that these folders share


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "ignore:PySpark does not yet fully support pandas:FutureWarning")
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")  # py4j leaves closing to the collector


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


@pytest.fixture(scope="session", autouse=True)
def _installed() -> None:
    try:
        require_pyspark()
        find_java()
    except TraceError as error:
        if os.environ.get("ROCKETPROOF_REAL") == "required":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(_installed: None) -> Iterator[SparkSession]:
    made = session(cores=2)
    yield made
    made.stop()
