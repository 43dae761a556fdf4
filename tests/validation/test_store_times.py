"""The store time of a record lies between its request and the response, on one clock for all records of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from performing import judged, performed

from proportion import few
from rocketproof_impl.store.commitlog import CommitLog
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.vocabulary import Step

PAUSE: Step = ("time", {"millis": 400})
HALF = {"TRAN_MSG": "true", "PGROUP": "producers"}
BATCH = [("a", {}), ("b", {})]
PROGRAM: tuple[Step, ...] = (
    ("send", {"queue": 0}), PAUSE, ("send", {"queue": 0, "items": BATCH}), PAUSE, ("send", {"properties": HALF}), PAUSE,
    ("end", {"commit": True}), ("send", {"queue": 1}),
)  # fmt: skip


def of_message(change: Callable[[Any], int]) -> Callable[..., Any]:
    """Append a record with another store time."""
    append = CommitLog._append_message

    def changed(self: CommitLog, mapped: Any, message: Any, parts: Any) -> Any:
        message.store_timestamp = change(message)
        return append(self, mapped, message, parts)

    return changed


def of_batch() -> Callable[..., Any]:
    """Append a batch with the time of its birth."""
    append = CommitLog._append_batch

    def changed(self: CommitLog, mapped: Any, batch: Any, entries: Any) -> Any:
        batch.store_timestamp = batch.born_timestamp
        return append(self, mapped, batch, entries)

    return changed


WRONG: dict[str, tuple[str, Callable[..., Any]]] = {
    "a time in seconds": ("_append_message", of_message(lambda message: message.store_timestamp // 1000)),
    "a time of a committed message": (
        "_append_message",
        of_message(lambda message: message.store_timestamp - 300 * (message.prepared_transaction_offset > 0)),
    ),
    "a time of a batch": ("_append_batch", of_batch()),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Deployment]:
    with InProcess("P494").open() as made:
        yield made


@pytest.mark.slow
@pytest.mark.behaviour("CL-01", "CL-06")
def test_correct_store_times_have_no_findings(running: Deployment, tmp_path: Path) -> None:
    found = judged(running, tmp_path, *PROGRAM)
    assert "reference" in found.by and not found.findings and not found.unconfirmed


@pytest.mark.parametrize("name", few(WRONG, 1))
def test_wrong_store_times_are_found(name: str, running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attribute, otherwise = WRONG[name]
    with monkeypatch.context() as changed:
        changed.setattr(CommitLog, attribute, otherwise)
        path = performed(running, tmp_path, *PROGRAM)
    assert "record.storeTimestamp" in {finding.property for finding in judge_file(path, "P494").findings}
