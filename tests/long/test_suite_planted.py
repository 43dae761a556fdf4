"""The suite detects ten planted faults, each by an item whose text describes the problem; without a fault no item fails.

The program that shows a fault changes with the generators; the requirements here do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import pytest
from seeded import SeededFault

from rocketproof_properties.validation.suite import items, shared

pytest_plugins = ["pytester"]
assert items, "import it before any nested pytest, which would unload it and its imports"

PROGRAMS = 160
PLANTED: Final = {
    "M-01": ("CHK-10", r"the guard that refuses: 'legal queue id' of accept_queue"),
    "M-15a": ("CHK-02", r"illegal characters?"),
    "M-18": ("CHK-03", r"field: code expected: 16 NO_PERMISSION, .* found: 1 SYSTEM_ERROR"),
    "M-24": ("TCM-15", r"field: perm expected: 6 found: 7"),
    "M-29": ("specification.topics", r"expected: the specification has topic \(read 0,.* found: topic \(read [1-9]"),
    "M-67": ("INV-03", r"field: answers expected: 0 found: 1 .* wants none, and gets 0 SUCCESS"),
    "M-76a": ("SEND-25", r"field: property WAIT expected: none found: true"),
    "M-85a": ("INV-41", r"INV-41\.stored\).* expected: \d+ found: -\d+"),
    "M-87": ("INV-43", r"INV-43\.host\) field: sameHost expected: true found: false"),
    "M-105": ("INV-48", r"INV-48\.chain\).* expected: above 0 found: 0"),
}
"""By fault, the item that must detect it, and the required text."""
FRAME: Final = (
    r"expected under P494: holds; shown by \d+ of \d+ programs",
    r"what differs: \S",
    r"the smallest program that shows it, [12] requests?:",
    r"history: \S+ page: \S+ program: \S+ run it alone: python \S+ BROKER$",
)
"""Required parts of each text, in this order."""
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def on(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the suite on a served broker with a planted fault, in an empty folder."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setattr(shared, "SHRINK", 300.0)  # shrink completely, however slow the machine is

    def run(fault: str, *arguments: str) -> pytest.RunResult:
        with SeededFault(fault).open() as running:
            address, server = running.brokers["broker-a"], str(running.name_server)
            target = (f"--rocketproof-target={address}", f"--rocketproof-nameserver={server}", "--rocketproof-profile=P494")
            more = (f"--rocketproof-programs={PROGRAMS}", "--rocketproof-seed=1", *arguments)
            return pytester.runpytest_inprocess("-p", "rocketproof_properties.pytest_plugin", "-p", "no:cacheprovider", *target, *more)

    return run


def said(found: pytest.RunResult, item: str) -> str:
    """Return the text of an item's failure on one line, because line breaks depend on the length of a location."""
    lines = found.outlines
    begin = next(n for n, line in enumerate(lines) if _begins(line) and f" rocketproof::{item} " in line)
    end = next(n for n in range(begin + 1, len(lines)) if lines[n].startswith(("===", "---")) or _begins(lines[n]))
    return " ".join(" ".join(lines[begin + 1 : end]).split())


def _begins(line: str) -> bool:
    return line.startswith("_") and " rocketproof::" in line


@pytest.mark.parametrize(("fault", "item", "wrong"), [(fault, *text) for fault, text in PLANTED.items()], ids=PLANTED)
def test_planted_fault_fails_an_item_that_describes_it(on: Run, fault: str, item: str, wrong: str) -> None:
    found = on(fault)
    assert found.ret == pytest.ExitCode.TESTS_FAILED
    text = said(found, item)
    assert text.startswith(f"{item} ")
    assert re.search(wrong, text), text
    assert re.search(".*".join(FRAME), text), text


def test_without_a_fault_no_item_fails(on: Run) -> None:
    found = on("", "-rs")
    assert found.ret == pytest.ExitCode.OK
    outcomes = found.parseoutcomes()
    assert outcomes["passed"] > 35 and set(outcomes) == {"passed", "skipped"}
    assert found.stdout.str().count("VIOLATED") == 0  # printed by -v
