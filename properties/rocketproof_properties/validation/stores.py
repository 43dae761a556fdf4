"""Judge a broker's files when its programs are done: the whole log by the claims about logs, all files by the rules of the audit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..judging import storefiles
from ..judging.verdicts import JudgedProgram
from ..judging.wholelog import LOGS, judge_log, record


@dataclass(frozen=True)
class BrokerStore:
    """One broker's store: its folder, the broker's settings, and what its programs did.

    `origin` is the origin in the histories' headers.
    """

    folder: Path
    broker: str
    needs: str
    did: Collection[str]
    origin: Mapping[str, Any]


def judge_store(store: BrokerStore, report: Path, known: int, profile: str, *, audits: bool) -> Iterator[JudgedProgram]:
    """Record a store in the report's folder, after the `known` existing recordings, and judge it."""
    path = report / LOGS / f"{known + 1}.ndjson"
    if record(store.folder, path, store.broker, store.needs, store.origin, store.did):
        known += 1
        yield judge_log(path, profile)
    path = report / LOGS / f"{known + 1}.ndjson"
    if audits and storefiles.record(store.folder, path, store.broker, store.needs, store.origin, profile):
        yield judge_log(path, profile)
