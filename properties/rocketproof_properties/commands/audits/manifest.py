"""Read a manifest: a table with one row per store, which can name its profile, its broker.conf and labels."""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocketproof_profiles import PROFILES
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark.cluster import SparkCluster
from rocketproof_traces.stored.paths import is_remote, read_whole

from ...reports.choices import InputError, known
from .command import StoreEntry
from .folders import folders_of

COLUMNS = ("path", "profile", "brokerConf", "labels")
TABLE = "table:"
"""The beginning of a manifest that is a table of the Spark session, such as `table:ops.stores`."""
_FORM = f"give a CSV, JSON or Parquet file with the columns {', '.join(COLUMNS)}, or table:NAME"


@dataclass(frozen=True)
class ManifestRow:
    """A store of a manifest. Without a profile or a file of the broker, the options of the command apply."""

    path: str
    profile: str | None = None
    broker_conf: Path | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


def read_manifest(manifest: str, table: Callable[[str], list[dict[str, Any]]]) -> list[ManifestRow]:
    """Return the stores of a manifest. `table` returns the rows of a table by its name.

    Local paths are relative to the folder of the file. Raises InputError with the place of a wrong row.
    """
    if manifest.startswith(TABLE):
        rows, folder = table(manifest.removeprefix(TABLE)), Path()
    else:
        rows, folder = _rows(manifest), Path() if is_remote(manifest) else Path(manifest).parent
    if not rows:
        raise InputError(f"--manifest {manifest}: has no row; {_FORM}")
    return [_row(f"--manifest {manifest}: row {number}", row, folder) for number, row in enumerate(rows, 1)]


def of_manifest(
    manifest: str | None,
    cluster: SparkCluster,
    engine: str,
    profile: str,
    broker_conf: Path | None,
    plan_of: Callable[[str, Path | None], AuditPlan],
    *,
    strict: bool,
    alone: bool,
) -> dict[str, StoreEntry]:
    """Return the entry of each store in a manifest by its folder. Without a manifest there are none.

    `alone`: no stores are named elsewhere. Raises InputError, and TraceError as `folders_of` does.
    """

    def table(name: str) -> list[dict[str, Any]]:
        if engine != "spark":
            raise InputError(f"--manifest {manifest} with --engine {engine}: only Spark has tables; give a file, or --engine spark")
        from rocketproof_traces.spark.failures import reason, spark_errors

        session = cluster.session()
        try:
            return [row.asDict(recursive=True) for row in session.table(name).collect()]
        except spark_errors() as error:
            raise InputError(f"--manifest {manifest}: is not readable ({reason(error)[:200]}); {_FORM}") from None

    entries: dict[str, StoreEntry] = {}
    plans: dict[tuple[str, Path | None], AuditPlan] = {}
    rows = read_manifest(manifest, table) if manifest is not None else []
    for row in rows:
        chosen = row.profile or profile, row.broker_conf or broker_conf
        if chosen not in plans:
            plans[chosen] = plan_of(*chosen)
        entry = StoreEntry(chosen[0], plans[chosen], row.labels)
        entries |= dict.fromkeys(folders_of([row.path], strict=strict, alone=alone and len(rows) == 1), entry)
    return entries


def _rows(path: str) -> list[dict[str, Any]]:
    try:
        data = read_whole(path)
        if path.endswith((".parquet", ".pq")):
            import pyarrow.parquet as pq

            return [dict(row) for row in pq.read_table(io.BytesIO(data)).to_pylist()]
        text = data.decode("utf-8-sig")
        if path.endswith(".csv"):
            return list(csv.DictReader(io.StringIO(text), restkey="more"))
        if text.lstrip().startswith("["):
            return [dict(row) for row in json.loads(text)]
        return [dict(json.loads(line)) for line in text.splitlines() if line.strip()]
    except TraceError as error:
        raise InputError(f"--manifest {path}: {error.problem}; {_FORM}") from None
    except (ValueError, TypeError, csv.Error) as error:
        raise InputError(f"--manifest {path}: is not readable ({' '.join(str(error).split())[:200]}); {_FORM}") from None


def _row(place: str, row: Mapping[str, Any], folder: Path) -> ManifestRow:
    given = {name: value for name, value in row.items() if value not in (None, "")}
    for name in given:
        if name not in COLUMNS:
            near = difflib.get_close_matches(str(name), COLUMNS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"{place}: the column {name} is unknown; the columns are {', '.join(COLUMNS)}{hint}")
    path = given.get("path")
    if not isinstance(path, str):
        raise InputError(f"{place}: has no path; give the folder of a store")
    profile, conf = given.get("profile"), given.get("brokerConf")
    return ManifestRow(
        path if is_remote(path) else str(folder / path),
        None if profile is None else _profile(place, str(profile)),
        None if conf is None else folder / str(conf),
        _labels(place, given.get("labels", {})),
    )


def _profile(place: str, name: str) -> str:
    try:
        return known("profile", name, PROFILES)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _labels(place: str, value: Any) -> dict[str, str]:
    """Return labels of a mapping, of JSON, or of a text such as `zone=a;team=payments`."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            raise InputError(f"{place}: labels {value} is not JSON; give KEY=VALUE;KEY=VALUE or an object of JSON") from None
    if isinstance(value, str):
        value = [part.partition("=")[::2] for part in value.split(";") if part.strip()]
    pairs = value.items() if isinstance(value, Mapping) else value
    return {str(name).strip(): str(text).strip() for name, text in pairs if text is not None}
