"""Progress without a terminal: few plain lines on stderr, and none from a quick command."""

from __future__ import annotations

import pytest

from rocketproof_properties.commands.checks.rows import VerdictRow
from rocketproof_properties.commands.checks.show import RunLine
from rocketproof_properties.reports import output


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_line_every_few_seconds(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with output.phases() as report:
        for done in range(200):
            clock[0] = 100.0 + done / 10
            report("program", done, 200)
    assert capsys.readouterr().err.splitlines() == ["program 50 of 200", "program 100 of 200", "program 150 of 200"]


def test_new_phase_is_printed_at_once(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with output.phases() as report:
        clock[0] = 106.0
        for programs in range(1000, 1010):
            report(f"{programs:,} programs, shards", 1, 3)
        report("making findings small", 3, 3)
    assert capsys.readouterr().err.splitlines() == ["1,000 programs, shards 1 of 3", "making findings small 3 of 3"]


def test_quick_command_prints_no_progress(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with output.counting("judging answer") as report:
        clock[0] += 0.5
        report(1, 2)
    with output.phrases() as say:
        say("reading 1 of 1 files")
    assert capsys.readouterr().err == ""


def test_bytes_are_rounded_up(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with output.bytes_done("auditing") as report:
        report(0, 1000)
        clock[0] += 60
        report(500, 1000)
    assert capsys.readouterr().err == "auditing: 1 of 1 MiB\n"


def test_first_and_unexpected_verdicts_are_printed_at_once(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    def row(id_: str, verdict: str) -> VerdictRow:
        return VerdictRow(id_, "a sentence", "always", "P49", "", "explicit", "tiny", verdict, "", "holds")

    with RunLine() as line:
        line.decided([row("INV-01", "holds")])
        line.decided([row("INV-02", "holds"), row("INV-03", "holds")])
        line.decided([row("INV-04", "violated")])
    assert capsys.readouterr().err.splitlines() == [
        "1 verdict, none unexpected; INV-01 holds, 0 s",
        "4 verdicts, 1 unexpected; INV-04 P49 tiny: violated, expected holds, 0 s",
    ]
