"""A finding of generated programs leaves something to explore next to its test: the specification's path, or a history."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_model.result import Limits
from rocketproof_properties.catalogue import conditions as about
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.commands.campaign.totals import CampaignFinding
from rocketproof_properties.commands.checks import matrix, memory, programs, witnessfiles
from rocketproof_properties.commands.checks.rows import undecided
from rocketproof_properties.commands.explorer.openings import Openings, of_path
from rocketproof_properties.conformance.stateful import engine, history, report

HALF = history.BrokenClaim(history.CLAIMS["INV-44"], "the queue is another one", (("send", {"properties": {"TRAN_MSG": "true"}}),))


def quiet(_: str) -> None:
    """Report no progress."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test of a finding: an implementation that never stores the new topic deviates from the specification."""
    monkeypatch.setattr(TopicConfigManager, "_put", lambda *_, **__: None, raising=True)
    source = ModelSource("tiny", "P49")
    found = engine.campaign(source, source.subject(), [], lambda _: "holds", programs=50, seed=1, limits=Limits())
    (finding,) = found.findings
    return report.save(source, finding, tmp_path / "findings")


def test_finding_leaves_course_of_specification(kept: Path) -> None:
    course = report.course_of(kept)
    source, witness = witnessfiles.load_with_source(str(course))
    assert (source.scope, source.profile) == ("tiny", "P49")
    assert (len(witness.states) == len(witness.moves) + 1 and "was expected" in witness.note) or "cannot be done" in witness.note
    shown = of_path(str(course), None, quiet).document()
    assert shown["property"]["sentence"] == "each step is one that the specification allows"
    assert str(course) in Openings(folder=kept.parent).files()


def test_breach_of_messages_leaves_its_history(tmp_path: Path) -> None:
    path = history.save(str(tmp_path / "INV-44.py"), "P49", about.HALF_ONES, HALF, "violated")
    assert path is not None
    beside = tmp_path / "INV-44.ndjson"
    assert of_path(str(beside), "P49", quiet).document()["verdict"]["verdict"] == "ok"
    task = next(task for task in programs.tasks("P49") if task.claim == "INV-44")
    assert replace(undecided(task, ""), witness=path).record()["trace"] == str(beside)
    assert history.save(path, "P49", about.HALF_ONES, None, "violated") is None
    assert not beside.exists()


def test_row_without_witness_has_no_trace() -> None:
    task = next(task for task in programs.tasks("P49") if task.claim == "INV-44")
    assert undecided(task, "").record()["trace"] is None


def test_campaign_finding_states_what_to_explore() -> None:
    assert "trace" in CampaignFinding.__dataclass_fields__


def test_next_test_tries_failed_program_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first: list[frozenset[tuple[str, ...]]] = []
    chosen = programs.tasks("P49")
    (broken, *_) = [unit for unit in matrix.units(chosen, tmp_path) if not unit.source.is_messages]
    departed = set(broken.tasks)

    def ran(tasks: Any, listener: Any, settings: matrix.Settings) -> matrix.CheckReport:
        first.append(settings.first)
        return matrix.CheckReport([replace(undecided(task, ""), verdict=task.expected) for task in tasks], broken=set(departed))

    monkeypatch.setattr(matrix, "run", ran)
    monkeypatch.setattr(programs, "_reach", lambda actions, tasks: (set(), []))
    for _ in range(2):
        programs.run(profile="P49", programs=1, seed=1, workers=1)
    assert first == [frozenset(), frozenset(memory.key(task) for task in broken.tasks)]
    assert matrix.units(chosen, tmp_path, first[1])[0].tasks == broken.tasks
    assert json.loads(Path(".rocketproof/failures/test.json").read_text())["schema"] == "rocketproof-failures"
    departed.clear()
    programs.run(profile="P49", programs=1, seed=1, workers=1)
    assert not Path(".rocketproof/failures/test.json").exists()
