"""Errors of Spark: the exceptions of a job that fails, and the cause in their texts."""

from __future__ import annotations

import re


def spark_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of a job that fails: those of Spark, and those of Java that Spark does not convert."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def reason(error: Exception) -> str:
    """Return the cause in an error of Spark: the last line that names an error of Python or Java, else the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return errors[-1] if errors else (lines or [type(error).__name__])[0]
