"""Reading back does not wait for records that no queue will have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from performing import performed

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import readback
from rocketproof_properties.brokers.runs.waiting import until
from rocketproof_properties.programs.program import Step

DELETED: tuple[Step, ...] = (("send", {}), ("send", {"queue": 1}), ("delete", {}), ("topic", {}), ("send", {"queue": 1}))
SILENT: tuple[Step, ...] = (
    ("group", {"queues": 0}),
    ("send", {}),
    ("back", {"level": 1}),
    ("group", {"queues": 1}),
    ("back", {"level": 1}),
)


@pytest.mark.parametrize("steps", [DELETED, SILENT], ids=["a deleted topic", "a group without retry queues"])
def test_every_awaited_record_arrives(steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: list[bool] = []

    def noted(query: Callable[[], Any], enough: Callable[[Any], bool], *rest: float) -> Any:
        result = until(query, enough, *rest)
        arrived.append(enough(result))
        return result

    monkeypatch.setattr(readback, "until", noted)
    with InProcess("P494").open() as running:
        performed(running, tmp_path, *steps)
    assert arrived and all(arrived)
