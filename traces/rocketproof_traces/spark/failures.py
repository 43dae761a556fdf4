"""Errors of Spark: the exceptions of a job that fails, the cause in their texts, and errors that this project reports through Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ..common.errors import TraceError

_HIDES_TRACEBACK = "SPARK_HIDE_TRACEBACK"


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of a job that fails: those of Spark, and those of Java that Spark does not convert."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def reason(error: Exception) -> str:
    """Return the cause in an error of Spark: the last line that names an error of Python or Java, else the first line."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip(": ")]  # py4j puts ": " before Java's exception
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return errors[-1] if errors else (lines or [type(error).__name__])[0]


@contextmanager
def one_line() -> Iterator[None]:
    """Report a TraceError of the block without a traceback: it is about the query, not about this code.

    Spark's worker process reads this variable when it sends an error to the driver.
    """
    os.environ.pop(_HIDES_TRACEBACK, None)
    try:
        yield
    except TraceError:
        os.environ[_HIDES_TRACEBACK] = "1"
        raise
