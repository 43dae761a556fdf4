"""A program that is made smaller is not taken for what an earlier one has left in the log."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rocketproof_properties.brokers.runs.runner import Runner
from rocketproof_properties.judging.verdicts import ProgramFinding
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import ENDED
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_properties.validation import shrink as shrinking

POISON: Step = ("back", {"group": "g"})
SEND: Step = ("send", {})
CRASH: Step = ("crash", {})
VERDICT = ProgramFinding("claims", "INV-06.records", "lost")


class Broker:
    """A broker that loses everything after a send-back when its process ends; a start truncates the log there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.poisoned, self.renewed, self.lost = folder, False, 0, False

    def renew(self) -> None:
        self.poisoned, self.renewed = False, self.renewed + 1

    def perform(self, program: Program, folder: Path) -> Path:
        self.lost = False
        for step in program.steps:
            if step == CRASH:
                self.lost, self.poisoned = self.lost or self.poisoned, False
            self.poisoned = self.poisoned or step == POISON
        path = self.folder / f"{len(list(self.folder.iterdir()))}.ndjson"
        path.touch()
        return path


@pytest.mark.parametrize("renewing", [True, False])
def test_leftovers_of_earlier_program_are_no_finding(renewing: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broker = Broker(tmp_path)

    def judged(*_: Any) -> Any:
        return SimpleNamespace(alike=lambda verdict: [verdict] if broker.lost else [])

    monkeypatch.setattr(shrinking, "judge_file", judged)
    program = Program(1, "", (POISON, SEND, SEND, CRASH), ENDED)
    found = shrinking.shrink(
        cast(Runner, broker), tmp_path, program, VERDICT, tmp_path / "first", "P494", 20, broker.renew if renewing else None
    )
    assert (found.again, found.repeats) == (3, 3)
    assert (POISON in found.program.steps) is renewing, "a smaller program owes its finding to the one before it"
    assert CRASH in found.program.steps
    if renewing:
        assert 0 < broker.renewed < found.tries, "a broker that has just started again is as good as a new one"
