"""The suite is as good as what it notices: ten planted faults, each by an item whose sentence says what is wrong; without one, nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from planted import PLANTED, kept, masked
from seeded import SeededFault

from rocketproof_properties.suite import items, shared

pytest_plugins = ["pytester"]
assert items, "it is imported before any pytest inside this one, which would forget it and all that it imports"

PROGRAMS = 160
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def on(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the suite on a served broker with a planted fault, in an empty folder."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setattr(shared, "SHRINK", 300.0)  # until it is smallest, however slow the machine is

    def run(fault: str, *arguments: str) -> pytest.RunResult:
        with SeededFault(fault).open() as running:
            address, server = running.brokers["broker-a"], str(running.name_server)
            target = (f"--rocketproof-target={address}", f"--rocketproof-nameserver={server}", "--rocketproof-profile=P494")
            more = (f"--rocketproof-programs={PROGRAMS}", "--rocketproof-seed=1", *arguments)
            return pytester.runpytest_inprocess("-p", "rocketproof_properties.pytest_plugin", "-p", "no:cacheprovider", *target, *more)

    return run


def said(found: pytest.RunResult, item: str) -> str:
    """The text of an item's failure."""
    lines = found.outlines
    begin = next(n for n, line in enumerate(lines) if _begins(line) and f" rocketproof::{item} " in line)
    end = next(n for n in range(begin + 1, len(lines)) if lines[n].startswith(("===", "---")) or _begins(lines[n]))
    return "\n".join(lines[begin + 1 : end])


def _begins(line: str) -> bool:
    return line.startswith("_") and " rocketproof::" in line


@pytest.mark.parametrize(("fault", "item"), PLANTED.items(), ids=PLANTED)
def test_a_planted_fault_fails_an_item_whose_sentence_says_what_is_wrong(on: Run, fault: str, item: str) -> None:
    found = on(fault)
    assert found.ret == pytest.ExitCode.TESTS_FAILED
    text = masked(said(found, item))
    assert text.split() == kept(fault, text).split()  # where lines end depends on how long a place is


def test_without_a_fault_no_item_fails(on: Run) -> None:
    found = on("", "-rs")
    assert found.ret == pytest.ExitCode.OK
    outcomes = found.parseoutcomes()
    assert outcomes["passed"] > 35 and set(outcomes) == {"passed", "skipped"}
    assert found.stdout.str().count("VIOLATED") == 0  # a word of -v


def test_each_fault_has_a_snapshot() -> None:
    names = {path.name for path in Path(__file__).with_name("snapshots").glob("suite-*.txt")}
    assert names == {f"suite-{fault}.txt" for fault in PLANTED}
