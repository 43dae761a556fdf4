"""One rule makes the exit code of each command from what its run counted."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rocketproof_properties.judging import manyhistories
from rocketproof_properties.judging import results as judging
from rocketproof_properties.reports.exitcode import DIFFERS, OK, STOPPED, USAGE, exit_code
from rocketproof_traces.bulk.results import Summary

SOURCES = [Path(__file__).parents[2] / "properties" / name for name in ("rocketproof_properties", "rocketproof_lab")]
HISTORY = {"verdict": "", "profile": "P49", "parts": 1, "explained": 1}
FINDING = {
    "part": "p", "seq": 3, "op": "send", "process": "0", "recorded": "r", "prefix": [], "steps": [],
    "refused": {"specified": "answers", "action": "a", "guard": "g", "sentence": "s", "values": {}},
}  # fmt: skip


@given(st.booleans(), st.booleans(), st.booleans())
def test_exit_code_order_is_input_error_finding_undecided(unreadable: bool, found: bool, left: bool) -> None:
    code = exit_code(findings=found, undecided=left, unreadable=unreadable)
    assert code == (USAGE if unreadable else DIFFERS if found else STOPPED if left else OK)


@given(st.integers(0, 2), st.integers(0, 2))
def test_many_histories_and_single_history_share_exit_codes(findings: int, unknown: int) -> None:
    code = DIFFERS if findings else STOPPED if unknown else OK
    many = Summary("P49", Counter(ok=1), findings=[{}] * findings, unknown=["p: a bound"] * unknown)
    assert manyhistories.code_of(many) == code
    saved = judging.read({**HISTORY, "findings": [FINDING] * findings, "unknown": ["p: a bound"] * unknown})
    assert saved is not None and saved.exit == code


def test_nothing_that_can_be_read_is_bad_input() -> None:
    assert manyhistories.code_of(Summary("P49", Counter(unreadable=2), unread=2)) == USAGE


def test_each_report_makes_its_exit_code_by_this_rule() -> None:
    made = re.compile(r"def exit_code\(self\) -> int:\n((?:        .*\n|\n)+)")
    bodies = {path: body for folder in SOURCES for path in folder.rglob("*.py") for body in made.findall(path.read_text("utf-8"))}
    assert len(bodies) > 8
    own = [path.name for path, body in bodies.items() if "return exit_code(" not in body and "child" not in path.name]
    assert own == []
