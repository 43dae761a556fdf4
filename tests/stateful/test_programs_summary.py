"""The summary that `rocketproof test` prints of hundreds of verdicts, and the division of its time."""

from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from rocketproof_model.result import BOUND, TIME, Limits, Watch
from rocketproof_properties.catalogue.source import ModelSource
from rocketproof_properties.commands.checks import matrix, programs_summary
from rocketproof_properties.commands.checks.matrix import CheckReport, Gap, Settings
from rocketproof_properties.commands.checks.plan import CheckRequest, plan
from rocketproof_properties.commands.checks.rows import VerdictRow
from rocketproof_properties.commands.checks.units import Budget, Unit, UnitResult
from rocketproof_properties.conformance.stateful import machine
from rocketproof_properties.conformance.stateful.engine import driver_of
from rocketproof_properties.reports.output import Page

SHOWN = VerdictRow("INV-09", "one", "always", "P49", "", "stateful", "tiny", "violated", "", "violated", length=8)
REACHED = replace(SHOWN, id="REA-01", kind="reachable", verdict="holds", expected="holds", length=3)
SAFE = replace(SHOWN, id="INV-10", verdict="unknown", reason=BOUND, expected="unknown", length=None)


def said(*rows: VerdictRow, **more: Any) -> str:
    out = StringIO()
    programs_summary.print_summary(CheckReport(list(rows), **more), "P49", Page(Console(file=out, width=80)))
    return out.getvalue()


def test_expected_results_are_counted() -> None:
    text = said(SHOWN, replace(SHOWN, length=2), REACHED, SAFE)
    assert "     2 known violations, each shown by a program (2 to 8 steps)" in text
    assert "     1 states that can be reached, each reached (3 to 3 steps)" in text
    assert "     1 properties that should hold, none broken" in text
    assert "INV-" not in text and "REA-" not in text


def test_unexpected_result_is_in_its_row_with_witness() -> None:
    text = said(SHOWN, replace(SAFE, verdict="violated", sentence="nothing is lost", witness="w.itf.json", length=4), REACHED)
    assert "INV-10  nothing is lost" in text and "  ! P49" in text
    assert "rocketproof show w.itf.json" in text
    assert "INV-09" not in text and "REA-01" not in text


def test_undecided_by_time_is_named_once() -> None:
    late = replace(SHOWN, verdict="unknown", reason=TIME)
    text = said(late, replace(late, condition="another"), replace(late, id="INV-30"), replace(SAFE, reason=TIME), REACHED)
    assert "?    3 not shown so far, stopped by the time limit: INV-09 (2), INV-30" in text
    assert "?    1 properties that should hold, none broken so far: stopped by the time limit" in text
    assert "Coverage is not judged" in text


def test_unused_actions_are_named_but_silent_guards_are_not() -> None:
    gaps = [Gap("P49", "crash", "runs", "the broker runs", "action"), Gap("P49", "send", "open", "the broker is open", "false")]
    text = said(SHOWN, gaps=gaps, covered={"P49": (33, 34)})
    assert "P49: 33 of 34 actions happened" in text and "crash never happened" in text
    assert "never refused" not in text


class Silent:
    def begin(self, number: int, of: int, unit: Unit) -> None: ...

    def decided(self, rows: object) -> None: ...

    def progress(self, unit: Unit, at: Any) -> None: ...


@pytest.mark.parametrize("fair", [True, False])
def test_units_that_take_all_they_get_get_equal_shares(fair: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each unit uses its full share on the test's clock."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("rocketproof_model.result.time", SimpleNamespace(monotonic=lambda: clock.now))
    shares: list[float] = []

    def decide(unit: Unit, budget: Budget, report: Any) -> UnitResult:
        assert budget.limits.seconds is not None
        shares.append(round(budget.limits.seconds, 6))
        clock.now += budget.limits.seconds + 1e-9
        return UnitResult()

    monkeypatch.setattr(matrix, "decide", decide)
    tasks = plan(CheckRequest(profiles=("P45",), properties=("INV-10", "INV-30", "INV-31"), engine="stateful")).tasks
    matrix.run(tasks, Silent(), Settings(seconds=12, fair=fair))
    count = len(matrix.units(tasks, Settings().witnesses))
    assert count > 2
    assert shares == ([12 / count] * count if fair else [12])


def test_program_ends_before_time_is_checked() -> None:
    """However late it is, a campaign performs one program, and no more than allowed."""
    source = ModelSource("tiny", "P49")
    subject = source.subject()
    made = machine.Campaign(subject.instance, driver_of(source, subject), watch=Watch(Limits(seconds=-1)))
    with pytest.raises(machine.Over):
        machine.run(made, 20, 7)
    assert made.seen.programs == 1
