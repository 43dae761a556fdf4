"""What a broker's files say when the programs on it are done: the whole log by the claims about logs, all files by the audit's rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..judging import storefiles
from ..judging.judging import JudgedProgram
from ..judging.wholelog import LOGS, judge_log, record


@dataclass(frozen=True)
class BrokerStore:
    """One broker's store: where it lies, under which settings it ran, and what its programs did. `origin` is that of histories."""

    folder: Path
    broker: str
    needs: str
    did: Collection[str]
    origin: Mapping[str, Any]


def judge_store(store: BrokerStore, report: Path, known: int, profile: str, *, audits: bool) -> Iterator[JudgedProgram]:
    """Write down below the report's folder what lies in a store, behind what is `known` already, and judge it."""
    path = report / LOGS / f"{known + 1}.ndjson"
    if record(store.folder, path, store.broker, store.needs, store.origin, store.did):
        known += 1
        yield judge_log(path, profile)
    path = report / LOGS / f"{known + 1}.ndjson"
    if audits and storefiles.record(store.folder, path, store.broker, store.needs, store.origin, profile):
        yield judge_log(path, profile)
