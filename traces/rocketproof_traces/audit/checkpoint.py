"""The checkpoint of a followed audit: a SQLite database with each store's position, counts and findings.

A round is one transaction, so positions and findings never disagree. One process at a time uses a checkpoint.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from ..common.errors import TraceError
from ..stored.growing import LogPosition
from .findings import COLUMNS, AuditFinding

FILE = "follow.sqlite"
VERSION = 1
_TABLES = f"""
CREATE TABLE IF NOT EXISTS audit (version INTEGER NOT NULL, settings TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS stores (store TEXT PRIMARY KEY, offset INTEGER NOT NULL, mark INTEGER NOT NULL, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS findings ({", ".join(COLUMNS.values())});
"""


@dataclass(frozen=True)
class Followed:
    """What was judged of a store.

    - `position`: where its log is read next.
    - `records`, `bytes`, `counts`: the records and bytes judged, and the broken rows by rule.
    - `missing`: physical offsets that were deleted before they were read.
    - `past`: what rules about successive records need of the records before.
    """

    position: LogPosition = LogPosition()
    records: int = 0
    bytes: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[tuple[int, int], ...] = ()
    past: Mapping[str, Any] = field(default_factory=dict)


class Checkpoint:
    """The checkpoint in a folder, which is made if it does not exist. `settings` identify the audit: they must not change.

    Raises TraceError if another process uses the checkpoint, if its settings differ, or if it cannot be read or written.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.path = folder / FILE
        self.stores: dict[str, Followed] = {}
        with self._errors():
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=0, isolation_level=None)
            try:
                self._open(json.loads(json.dumps(settings)))
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def _open(self, settings: Mapping[str, Any]) -> None:
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        with self._transaction():
            for statement in filter(str.strip, _TABLES.split(";")):
                self._database.execute(statement)
            row = self._database.execute("SELECT version, settings FROM audit").fetchone()
            if row is None:
                self._database.execute("INSERT INTO audit VALUES (?, ?)", (VERSION, json.dumps(settings)))
            elif row[0] != VERSION:
                raise TraceError(str(self.path), "was made by another version of rocketproof", "give a new folder to --checkpoint")
            else:
                known = json.loads(row[1])
                differing = next((name for name in {**known, **settings} if known.get(name) != settings.get(name)), None)
                if differing is not None:
                    raise TraceError(
                        str(self.path), f"belongs to an audit with another {differing}", "give the same options, or a new folder"
                    )
            for store, offset, mark, data in self._database.execute("SELECT * FROM stores"):
                more = json.loads(data)
                missing = tuple((first, end) for first, end in more.pop("missing"))
                self.stores[store] = Followed(LogPosition(offset, mark), missing=missing, **more)

    def commit(self, changed: Mapping[str, Followed], findings: Iterable[AuditFinding]) -> None:
        """Keep findings and the new states of stores, all or nothing. Raises TraceError."""
        rows = [
            (store, each.position.offset, each.position.mark, json.dumps({name: getattr(each, name) for name in _DATA}))
            for store, each in changed.items()
        ]
        with self._errors(), self._transaction():
            self._database.executemany("INSERT OR REPLACE INTO stores VALUES (?, ?, ?, ?)", rows)
            places = ", ".join("?" * len(COLUMNS))
            values = ([str(value) if isinstance(value, str) else value for value in each.data().values()] for each in findings)
            self._database.executemany(f"INSERT INTO findings VALUES ({places})", values)
        self.stores.update(changed)

    def findings(self) -> list[AuditFinding]:
        """Return the findings of all rounds, sorted. Raises TraceError."""
        with self._errors():
            rows = self._database.execute(f"SELECT {', '.join(COLUMNS.values())} FROM findings")
            return sorted(AuditFinding.of(dict(zip(COLUMNS.values(), row, strict=True))) for row in rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN EXCLUSIVE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise an error of the database as a TraceError."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise TraceError(str(self.path), "is used by another process", "stop it, or give another folder to --checkpoint") from None
            raise TraceError(str(self.path), f"cannot be used ({error})", "give a folder of your own with room in it") from None
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
            raise TraceError(str(self.path), f"is no checkpoint of an audit ({error})", "give a new folder to --checkpoint") from None
        except OSError as error:
            raise TraceError(str(self.path), f"cannot be written ({error.strerror or error})", "give a folder of your own") from None


_DATA = ("records", "bytes", "counts", "missing", "past")
