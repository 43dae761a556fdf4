"""Read a run back from the result tables, to compare it with a later one (`--since`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import recurring, tables
from .choices import InputError
from .recurring import SPECIFICATION
from .results import Outcome, Result, Run, first_line

if TYPE_CHECKING:
    import pyarrow as pa


def is_tables(path: Path) -> bool:
    """Return whether a path is a folder of result tables, or a run in it."""
    return (path / "runs").is_dir() or (path.suffix == ".parquet" and path.parent.name == "runs")


def read(path: Path, option: str, command: str) -> Run:
    """Return a run of the command: FOLDER/runs/RUN.parquet, or the latest one in FOLDER. Raises InputError."""
    folder = path if path.is_dir() else path.parent.parent
    named = sorted((path / "runs").glob("*.parquet")) if path.is_dir() else [path]
    runs = [row for file in named for row in _rows(file, option, "runs") if row["command"] == command]
    if not runs:
        raise InputError(f"{option} {path}: has no run of {command}; give a folder of --tables that has one, or FOLDER/runs/RUN.parquet")
    run = max(runs, key=lambda row: (row["time"], row["runId"]))

    def of_run(name: str) -> Sequence[Mapping[str, Any]]:
        file = folder / name / f"{run['runId']}.parquet"
        return _rows(file, option, name) if file.exists() else ()

    results = [*_findings(of_run("findings"), of_run("metrics"))]
    results += _verdicts(of_run("verdicts")) if command == "judge" else _held(run, of_run("metrics"))
    return Run(
        command, folder.name, tuple(results), run["exitCode"], run["profile"], run["time"].isoformat(timespec="seconds"), run["seconds"],
        run["version"], stopped="Ctrl-C" if run["stopped"] else "", whole=command != "campaign",
    )  # fmt: skip


def _rows(file: Path, option: str, name: str) -> Sequence[Mapping[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
        _check(table.schema, name)
    except (OSError, pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{option} {file}: cannot be read ({reason}); give a folder that --tables has written") from None
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="lossy")
    return rows


def _check(schema: pa.Schema, name: str) -> None:
    missing = [column.name for column in tables.TABLES[name] if column.name not in schema.names]
    if missing:
        raise ValueError(f"the column {missing[0]} is missing")


def _findings(findings: Sequence[Mapping[str, Any]], metrics: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    sentences = {row["rule"]: row["sentence"] for row in metrics}
    for row in findings:
        outcome: Outcome = row["outcome"]
        verdict, expected = ("not explained", "explained") if row["rule"] == SPECIFICATION else ("violated", "holds")
        message = f"expected {row['expected']}, found {row['found']}" if row["expected"] else first_line(row["found"])
        sentence = sentences.get(row["rule"], row["reason"])
        yield Result(row["rule"], sentence, outcome, verdict, expected, row["profile"], about=row["place"], message=message)


def _held(run: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    """Yield a result for each rule of an audit that no store breaks, and for each problem of a store."""
    violated: dict[str, int] = {}
    for row in metrics:
        violated[row["rule"]] = violated.get(row["rule"], 0) + row["violated"]
    sentences = {row["rule"]: row["sentence"] for row in metrics}
    for rule, count in violated.items():
        if not count:
            yield recurring.unbroken(rule, sentences[rule], run["profile"], stopped=run["stopped"])
    for problem in dict.fromkeys(row["problem"] for row in metrics if row["problem"]):
        yield recurring.not_audited(run["profile"], problem)


def _verdicts(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[Result]:
    """Yield a result for each history that the specification explains, and for each reason of an unknown verdict."""
    histories: dict[str, list[Mapping[str, Any]]] = {}
    for row in verdicts:
        histories.setdefault(row["history"], []).append(row)
        if row["unknown"]:
            yield recurring.undecided(row["profile"], row["unknown"])
    for history, rows in histories.items():
        if all(row["verdict"] == "ok" for row in rows):
            yield recurring.explained(rows[0]["profile"], history, sum(row["explained"] for row in rows))
