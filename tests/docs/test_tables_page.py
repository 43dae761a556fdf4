"""The page of the result tables lists the columns of the code, and its queries run on tables of two audits."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from session import ROOT

from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.commands import run
from rocketproof_properties.reports import tables

PAGE = (ROOT / "properties" / "docs" / "tables.md").read_text("utf-8")


def test_columns_of_page_are_those_of_the_code() -> None:
    assert PAGE.endswith("\n".join(tables.described()).rstrip() + "\n")


def columns(schema: pa.Schema) -> list[tuple[str, str, bool]]:
    """Return names, types and nullability. The writer chooses the names inside a map's type."""
    return [(field.name, "map" if pa.types.is_map(field.type) else str(field.type), field.nullable) for field in schema]


def rows(query: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in duckdb.sql(query).to_arrow_table().to_pylist()]


def test_queries_run_on_tables_of_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the second run has a finding."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        fabricate(tmp_path / name, StorePlan(20_000, topics=2, queues=1, bodies=(100, 300), file_size=20_000, queue_file_size=20_000))
    audit = ["audit", "a", "b", "--engine", "local", "--cores", "1", "--tables", "results"]
    assert run(audit) == 0
    with min((tmp_path / "b" / "commitlog").iterdir()).open("r+b") as file:
        file.seek(72)
        file.write(b"\xff" * 4)
    assert run(audit) == 1
    for name in ("runs", "findings", "metrics"):
        written = [pq.read_schema(file) for file in (tmp_path / "results" / name).iterdir()]
        assert [columns(schema) for schema in written] == [columns(tables.schema(name))] * 2
        assert all(schema.metadata[b"rocketproof.schema"] == f"{name} {tables.VERSION}".encode() for schema in written)
    trend, worst, first = (rows(query) for query in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
    assert [row[1:] for row in trend] == [(0, 0), (1, 1)]
    assert worst == [(str(tmp_path / "b"), 1, 1)]
    assert [row[:2] for row in first] == [(str(tmp_path / "b"), "APP-08.reconsumeTimes")] and first[0][2] == trend[1][0]
    found = rows("SELECT rule, count(*) FROM read_parquet('results/findings/*.parquet') GROUP BY rule")
    assert found == [("APP-08.reconsumeTimes", 1)]
