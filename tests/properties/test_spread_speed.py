"""The benchmark of the distributed search: rows and a table, with a stand-in for the session. Different counts are an error."""

import gc
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketproof_lab.bench import spread_speed
from rocketproof_model import RocketproofError

sys.path.append(str(Path(__file__).parent.parent / "traces"))
from one_process import OneProcess


@pytest.fixture(autouse=True)
def _session(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Return a stand-in that works in this process, and hides all objects from the garbage collector as a Spark worker does."""
    monkeypatch.setattr(spread_speed, "session", lambda cores: OneProcess(cores or 2))
    yield
    gc.unfreeze()


@pytest.mark.slow
def test_rows_and_table() -> None:
    told: list[str] = []
    rows = spread_speed.run_spread_bench(["tiny"], 3, tell=told.append)
    assert [tuple(row) for row in rows] == [spread_speed.TABLE.keys] * 2
    fixed, tiny = rows
    assert (fixed["scope"], fixed["states"], fixed["depth"], fixed["workers"]) == ("answers", 6860, 13, 3)
    assert (
        fixed["levels_spread"] in (13, 14) and fixed["overhead_seconds"] > 0 and set(fixed["work_seconds"]) >= {"read", "expand", "write"}
    )
    assert (tiny["states"], tiny["levels_spread"], tiny["overhead_seconds"], tiny["work_seconds"]) == (30, 0, None, {})
    assert fixed["java_cpu_seconds"] is None and len(told) == 4
    text = spread_speed.text(rows)
    assert "6,860" in text and "of a level" in text and "the first job" in text


def test_different_counts_are_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = spread_speed.search.explore

    def one_more(*given: Any, **options: Any) -> Any:
        found = real(*given, **options)
        return replace(found, deadlocks=found.deadlocks + 1)

    monkeypatch.setattr(spread_speed.search, "explore", one_more)
    with pytest.raises(RocketproofError, match="answers: the local search counts"):
        spread_speed.run_spread_bench(["tiny"])
