"""The folder of verdicts: `verdicts/batch-N/` with rows of VERDICTS, and their summary. For each history the newest batch counts.

A batch is valid once it has `_SUCCESS`, which is written last. A batch without it is written again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from rocketproof_protocol.numbers import java_long

from ..common.errors import TraceError
from ..common.outcomes import NOTHING_JUDGED, JudgingOutcome, all_of
from .cache import place, written
from .tables import FINDINGS, JSON_COLUMNS, VERDICTS

DONE = "_SUCCESS"
_NAME = "batch-"
_UNREADABLE = "unreadable"
"""The verdict on a partition or a history that could not be read to its end."""


@dataclass
class Summary:
    """The summary of a folder's verdicts. `histories` and `parts` count histories and partitions by verdict; `unread` counts histories
    of which nothing could be judged; `rules` counts rows that break a rule of the user."""

    profile: str
    histories: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    events: int = 0
    explained: int = 0
    expanded: int = 0
    out_of_reach: Counter[str] = field(default_factory=Counter)
    unknown: list[str] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The verdict on all histories. It is unreadable if none could be read; otherwise an unreadable history counts as refused. It is
        undecided if no answer could be judged."""
        if self.unread == self.histories.total():
            return _UNREADABLE
        if NOTHING_JUDGED in self.unknown:
            return JudgingOutcome.UNDECIDED.value
        return all_of(JudgingOutcome.REFUSED if verdict == _UNREADABLE else JudgingOutcome(verdict) for verdict in self.histories).value

    def data(self) -> dict[str, Any]:
        """Return the summary as JSON values; findings have the keys of FINDINGS."""
        return {
            **{key: value for key, value in vars(self).items() if key not in ("rows", "unread")},
            "verdict": self.verdict,
            "out_of_reach": dict(self.out_of_reach.most_common()),
            "rules": dict(sorted(self.rules.items())),
            "verdicts": self.rows,
        }


class FolderResults:
    """The batches of a folder."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self.files, self.path = place(self.root)

    def _batches(self) -> list[tuple[int, str]]:
        """Return the complete batches: number and path, oldest first."""
        infos = self.files.get_file_info(fs.FileSelector(f"{self.path}/verdicts", allow_not_found=True))
        names = [(info.base_name.removeprefix(_NAME), info.path) for info in infos if info.base_name.startswith(_NAME)]
        whole = [
            (number, path)
            for name, path in names
            if (number := java_long(name)) is not None and self.files.get_file_info(f"{path}/{DONE}").is_file
        ]
        return sorted(whole)

    def next(self) -> str:
        """Return the name of the next batch in the folder, and delete the remains of an interrupted one."""
        batches = self._batches()
        name = f"verdicts/{_NAME}{(batches[-1][0] if batches else 0) + 1:06d}"
        path = f"{self.path}/{name}"
        if self.files.get_file_info(path).type != fs.FileType.NotFound:
            self.files.delete_dir(path)
        return name

    def add(self, tables: Iterator[pa.Table]) -> None:
        """Write a batch."""
        path = f"{self.path}/{self.next()}"
        try:
            self.files.create_dir(path, recursive=True)
            with pq.ParquetWriter(f"{path}/part-0.parquet", VERDICTS, filesystem=self.files) as writer:
                for table in tables:
                    writer.write_table(table)
            with self.files.open_output_stream(f"{path}/{DONE}"):
                pass
        except OSError as error:
            raise TraceError(path, f"cannot be written ({error})", "give a folder of your own with room in it") from None

    def _rows(self, columns: list[str]) -> Iterator[tuple[int, pa.Table]]:
        import pyarrow.dataset as ds  # here, because it imports pandas where that is installed

        for number, path in self._batches():
            files = fs.FileSelector(path)
            names = [info.path for info in self.files.get_file_info(files) if info.path.endswith(".parquet")]
            dataset = ds.dataset(names, schema=VERDICTS, format="parquet", filesystem=self.files)
            for batch in dataset.to_batches(columns=columns):
                yield number, pa.Table.from_batches([batch])

    def stamps(self) -> dict[str, tuple[int, str]]:
        """Return for each history the newest batch, and the stamp of what was judged in it."""
        newest: dict[str, tuple[int, str]] = {}
        for number, table in self._rows(["history", "part", "stamp"]):
            columns = (table[name].to_pylist() for name in ("history", "part", "stamp"))
            newest.update({history: (number, stamp) for history, part, stamp in zip(*columns, strict=True) if part is None})
        return newest

    def verdicts(self) -> Iterator[dict[str, Any]]:
        """Yield the newest verdicts on each history, as rows of VERDICTS."""
        newest = {history: number for history, (number, _) in self.stamps().items()}
        for number, table in self._rows(VERDICTS.names):
            yield from (row for row in table.to_pylist() if newest.get(row["history"]) == number)

    def summary(self, profile: str) -> Summary:
        """Return the summary of all histories, and write the findings to `findings.parquet` next to the verdicts."""
        summary = Summary(profile)
        verdicts: dict[str, str] = {}
        for row in self.verdicts():
            _count(summary, row, verdicts)
        summary.histories.update(verdicts.values())
        if not summary.explained and not summary.findings and not summary.unknown:
            summary.unknown.append(NOTHING_JUDGED)
        summary.findings.sort(key=lambda f: (f["history"], f["seq"] is None, f["seq"] or 0, f["part"] or ""))
        summary.rows.sort(key=lambda r: (r["history"], r["part"] or ""))
        self._write(summary)
        return summary

    def _write(self, summary: Summary) -> None:
        rows = [{**f, **{name: json.dumps(f[name]) for name in JSON_COLUMNS if f[name] is not None}} for f in summary.findings]
        path = f"{self.path}/findings.parquet"
        self.files.create_dir(self.path, recursive=True)
        with written(self.files, path) as part:
            pq.write_table(pa.Table.from_pylist(rows, FINDINGS), part, filesystem=self.files)


def combined(verdicts: Iterable[str]) -> str:
    """Return the verdict on a history from those on its parts and on the whole."""
    words = set(verdicts)
    return _UNREADABLE if _UNREADABLE in words else all_of(map(JudgingOutcome, words)).value


def _count(summary: Summary, row: dict[str, Any], verdicts: dict[str, str]) -> None:
    history, verdict = row["history"], row["verdict"]
    both = {verdict, verdicts.get(history, verdict)}
    verdicts[history] = combined(both)
    if row["part"] is not None:
        summary.parts[verdict] += 1
    elif not row["events"] and verdict == "unreadable":
        summary.unread += 1
    summary.events += row["events"]
    summary.explained += row["explained"]
    summary.expanded += row["expanded"]
    summary.out_of_reach.update(json.loads(row["outOfReach"]))
    summary.rules.update(json.loads(row["rules"] or "{}"))
    if row["unknown"]:
        summary.unknown.append(row["unknown"])
    for finding in row["findings"]:
        read = {name: None if finding[name] is None else json.loads(finding[name]) for name in JSON_COLUMNS}
        summary.findings.append({"history": history, **finding, **read})
    kept = ("history", "part", "verdict", "events", "explained", "expanded")
    summary.rows.append({name: row[name] for name in kept} | {"out_of_reach": json.loads(row["outOfReach"])})


__all__ = ["DONE", "FolderResults", "Summary", "combined"]
