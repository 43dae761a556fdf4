"""Faults planted into the engines: the comparison of generated models detects each within few models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import many_models
import numpy as np
import pytest
from fair_models import fair_models
from generated_models import Case, models
from hypothesis.strategies import SearchStrategy
from symmetric_models import symmetric_models

from rocketproof_model import RocketproofError, liveness
from rocketproof_model.explicit import canonical, external, kernel, pool, workers
from rocketproof_model.explicit.edges import STRONG, UNFAIR, WEAK
from rocketproof_model.explicit.progress import SearchProgress

pytestmark = pytest.mark.slow  # .ci/run runs it, not only .ci/nightly

MOST = 60  # models generated until a fault is detected

Plant = Callable[[pytest.MonkeyPatch], None]


def forgotten_slot(patch: pytest.MonkeyPatch) -> None:
    """Exchanging two elements forgets one field."""
    real = canonical._Columns.moves
    patch.setattr(canonical._Columns, "moves", lambda self, i, j: real(self, i, j)[1:])


def forgotten_name(patch: pytest.MonkeyPatch) -> None:
    """Exchanging two elements renames them in all fields but the last."""
    real = canonical._Columns.__init__

    def init(self: Any, *words: Any) -> None:
        real(self, *words)
        del self.names[-1:]

    patch.setattr(canonical._Columns, "__init__", init)


def lost_bit(patch: pytest.MonkeyPatch) -> None:
    """Store only one bit of a bag or number that needs two."""
    real = kernel.layout

    def narrow(*words: Any, **more: Any) -> Any:
        made = real(*words, **more)
        made.slot_mask[made.slot_mask == 3] = 1
        return made

    patch.setattr(kernel, "layout", narrow)


def no_weak_fairness(patch: pytest.MonkeyPatch) -> None:
    """Ignore weak fairness."""
    patch.setitem(liveness._LEVEL, "weak", UNFAIR)


def strong_as_weak(patch: pytest.MonkeyPatch) -> None:
    """Treat strong fairness as weak."""
    patch.setitem(liveness._LEVEL, "strong", WEAK)


def weak_as_strong(patch: pytest.MonkeyPatch) -> None:
    """Treat weak fairness as strong."""
    patch.setitem(liveness._LEVEL, "weak", STRONG)


def lost_states(patch: pytest.MonkeyPatch) -> None:
    """Never expand one in 64 of the new states."""
    real = workers.Worker.flush

    def flush(self: Any) -> None:
        real(self)
        self.parts = [kept for part in self.parts if len(kept := _without(part, self.words))]

    patch.setattr(workers.Worker, "flush", flush)


def _without(part: Any, words: int) -> Any:
    rows = part.reshape(-1, words)
    hashed = rows.astype(np.uint64).sum(axis=1) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(58)
    return np.ascontiguousarray(rows[hashed != 0]).ravel()


def skipped_states(patch: pytest.MonkeyPatch) -> None:
    """Resume a search with half of the level to expand."""
    real = SearchProgress.restore

    def restore(self: SearchProgress, *words: Any) -> Any:
        found = real(self, *words)
        return [part[: len(part) // self.account.words // 2 * self.account.words] for part in found]

    patch.setattr(SearchProgress, "restore", restore)


def unsettled(patch: pytest.MonkeyPatch) -> None:
    """Skip the last range of candidates on disk."""
    real = external.ExternalSearch._ranges
    patch.setattr(external.ExternalSearch, "_ranges", lambda self: list(real(self))[:-1])


def lost_recall(patch: pytest.MonkeyPatch) -> None:
    """Forget the counts of an interrupted search on resuming it."""
    patch.setattr(workers.WorkerResult, "recall", lambda self, numbers: None)


FAULTS: dict[Plant, SearchStrategy[Case]] = {
    forgotten_slot: symmetric_models(),
    forgotten_name: symmetric_models(),
    lost_bit: models(),
    no_weak_fairness: models(),
    strong_as_weak: fair_models(),
    weak_as_strong: fair_models(),
    lost_states: models(),
    skipped_states: models(),
    unsettled: models(),
    lost_recall: models(),
}


RARE: dict[Plant, int] = {forgotten_name: 200}
"""Number of models for faults that few models show: here symmetric models with an element's name in another's columns."""


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_detected(plant: Plant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pool, "_ALONE", 0)
    plant(monkeypatch)
    with pytest.raises((AssertionError, RocketproofError)):
        many_models.compared(1, RARE.get(plant, MOST), FAULTS[plant], tmp_path)
