"""The benchmark of the served implementation: turns, rows and their text; the brokers and the client are doubles here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rocketproof_lab.bench import throughput
from rocketproof_lab.bench.usage import own_seconds
from rocketproof_properties import commands as cli
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import TargetError, ValidationTarget
from rocketproof_properties.brokers.javaprograms import QUICK, JavaPrograms

RATES = {("apache:4.9.4", 1): [100.0, 200.0, 400.0], ("rocketproof:P494", 1): [50.0, 50.0, 300.0]}


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int, int]]:
    """The measurements; each turn returns the next rate of its target."""
    asked: list[tuple[str, int, int, int]] = []
    left = {key: list(rates) for key, rates in RATES.items()}

    def turn(_: JavaPrograms, target: ValidationTarget, threads: int, warm: int, seconds: int) -> throughput.Figures:
        asked.append((target.name, threads, warm, seconds))
        if not left[target.name, threads]:
            raise KeyboardInterrupt
        real = isinstance(target, Apache)
        assert not real or QUICK not in target.flags, "the JVM of what is measured compiles all that it can"
        return throughput.Figures(left[target.name, threads].pop(0), None if real else 5.0, 0 if real else 2)

    monkeypatch.setattr(throughput, "turn", turn)
    return asked


def test_targets_take_turns_and_rows_have_medians(turns: list[tuple[str, int, int, int]]) -> None:
    rows = throughput.measure(seconds=7, threads=(1,), warm=2)
    assert turns == [("apache:4.9.4", 1, 2, 7), ("rocketproof:P494", 1, 2, 7)] * 3
    real, ours = ([row[key] for key in throughput.TABLE.keys] for row in rows)
    assert real == ["apache:4.9.4", 1, 3, 200.0, 100.0, 400.0, None, 1.0, 0]
    assert ours == ["rocketproof:P494", 1, 3, 50.0, 50.0, 300.0, 5.0, 0.5, 6]


def test_ctrl_c_keeps_measured_results(turns: list[tuple[str, int, int, int]]) -> None:
    rows: list[dict[str, Any]] = []
    with pytest.raises(KeyboardInterrupt):
        throughput.measure(seconds=1, rounds=4, threads=(1,), into=rows)
    assert [row["rounds"] for row in rows] == [3, 3]


def test_rows_as_text(turns: list[tuple[str, int, int, int]]) -> None:
    _, head, real, ours = throughput.TABLE.text(throughput.measure(seconds=1, threads=(1,))).splitlines()
    assert head.split("  ")[0] == "target" and head.endswith("failed")
    assert real.split() == ["apache:4.9.4", "1", "3", "200", "100", "400", "1.00", "0"]
    assert ours.split() == ["rocketproof:P494", "1", "3", "50", "50", "300", "5", "0.50", "6"]


def test_cpu_time_of_process() -> None:
    before = own_seconds(os.getpid())
    if before is None:
        pytest.skip("no /proc")
    sum(range(5_000_000))
    after = own_seconds(os.getpid())
    assert after is not None and after > before
    assert own_seconds(2**31 - 1) is None


def test_program_without_figures_is_error() -> None:
    with pytest.raises(TargetError, match="no figures: it said nothing"):
        throughput._line("", lambda: "")


@pytest.mark.parametrize("option", ["--seconds", "--rounds"])
def test_bad_usage(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", "serve", option, "0"]) == 2
    assert option in capsys.readouterr().err


def test_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert cli.run(["bench", "serve"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("rocketproof: there is no java")
