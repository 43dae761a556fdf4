"""Result tables in formats that only Spark writes: appended by run, as a folder and as tables of the session's catalog."""

from __future__ import annotations

from pathlib import Path

import pytest
from damaged_stores import made
from pyspark.sql import SparkSession

from rocketproof_properties.commands import run
from rocketproof_properties.reports import tables


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    root, _ = made(tmp_path_factory.mktemp("tables") / "store")
    return str(root)


def test_folder_in_another_format(spark: SparkSession, store: str, tmp_path: Path) -> None:
    words = ["audit", store, "--property", "INV-37", "--engine", "spark", "--tables", str(tmp_path), "--format", "orc"]
    assert run(words) == run(words) == 0
    runs, metrics = (spark.read.orc(str(tmp_path / name)) for name in ("runs", "metrics"))
    assert runs.count() == 2 and metrics.select("runId").distinct().count() == 2
    assert runs.columns == [column.name for column in tables.TABLES["runs"]]
    assert {row["store"] for row in metrics.collect()} == {store}


def test_tables_of_the_catalog(spark: SparkSession, store: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE DATABASE results LOCATION '{tmp_path}'")
    words = ["audit", store, "--property", "INV-37", "--engine", "spark", "--tables", "table:results"]
    assert run(words) == run(words) == 0
    joined = spark.sql("SELECT r.exitCode, m.rule, m.violated FROM results.runs r JOIN results.metrics m USING (runId)").collect()
    assert len(joined) == 2 * len({row["rule"] for row in joined}) and {row["exitCode"] for row in joined} == {0}
    spark.sql("DROP DATABASE results CASCADE")


def test_unknown_format_is_one_line_before_the_run(
    spark: SparkSession, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", store, "--engine", "spark", "--tables", str(tmp_path / "t"), "--format", "delta"]) == 2
    said = capsys.readouterr().err
    assert f"--tables {tmp_path}/t --format delta: cannot be written (" in said and "--conf spark.jars.packages" in said
    assert said.count("\n") == 1
