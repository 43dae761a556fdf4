"""A saved run that was edited, truncated or invented is read or refused in one line. An accepted one can be compared and written."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hostile import FULL
from hypothesis import given
from hypothesis import strategies as st

from nonempty import nonempty
from rocketproof_properties.commands import reporting
from rocketproof_properties.commands.audits.results import COLUMNS
from rocketproof_properties.commands.checks.rows import FIELDS
from rocketproof_properties.reports import markdown, sarif, saved
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.since import compare

REFUSED = {"specified": "answers", "action": "a", "guard": "g", "sentence": "s", "values": {"x": 1}}
EVENT = {"part": "p", "seq": 3, "op": "send", "process": "0", "recorded": "r"}
CASE = {"n": 1, "cfg": "A", "case": "c", "alike": False, "exception": None, "differences": [{"field": "f", "recorded": 0, "found": 1}]}
FINDING = {
    "judge": "claims", "property": "INV-30", "text": "t", "programs": 1, "history": "h", "again": 1, "repeats": 3, "file": "f.py",
    "program": {"number": 1, "source": "", "needs": "", "steps": [["send", {"nums": 0}]]}, "cause": "c", "reproduced": True,
}  # fmt: skip
SAVED: list[Any] = [
    json.loads(saved.write(FULL).encode()),
    [{**dict.fromkeys(FIELDS, ""), "states": 1, "seconds": 0.5, "witness": None}],
    [dict.fromkeys(COLUMNS.values(), "") | {"offset": 1, "queueId": 0, "queueOffset": 2, "severity": "error"}],
    [CASE],
    {"profile": "P49", "cases": 1, "explained": 0, "out_of_reach": {}, "unexplained": [{"case": "c", "recorded": "r", **REFUSED}]},
    {"verdict": "illegal", "profile": "P49", "parts": 1, "explained": 1, "unknown": ["u"],
     "findings": [{**EVENT, "refused": REFUSED, "prefix": [1], "steps": ["s"]}]},
    {"profile": "P49", "histories": {"ok": 1}, "findings": [{**EVENT, **REFUSED, "history": "h", "kind": "k", "file": "f", "line": 2}],
     "unknown": [], "verdicts": [{"history": "h", "part": None, "verdict": "ok", "explained": 1}]},
    {"schema": "rocketproof-validation", "version": 2, "tool": "1", "target": {"name": "n"}, "profile": "P494", "began": "", "seconds": 1.0,
     "verdicts": [{"id": "i", "sentence": "s", "condition": "", "expected": "holds", "tried": 1, "broken": 0, "agrees": True}],
     "findings": [FINDING], "witnesses": [], "faults": [], "lost": {}, "said": [], "stopped": "", "exit": 1},
]  # fmt: skip
ODD = st.sampled_from([None, True, -1, 1.5, "", "x", [], [1], {}, {"a": 1}, [[]], "\ud800"])


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container in a document with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [found for key in keys for found in ((value, key), *places(value[key]))]


def test_each_of_them_is_read_as_it_is(tmp_path: Path) -> None:
    for number, data in nonempty(enumerate(SAVED)):
        (tmp_path / "run.json").write_text(json.dumps(data))
        assert reporting.read(tmp_path / "run.json").results, number


@given(st.data())
def test_modified_report_is_read_or_refused(tmp_path_factory: Any, data: st.DataObject) -> None:
    made = copy.deepcopy(data.draw(st.sampled_from(SAVED)))
    for _ in range(data.draw(st.integers(1, 3))):
        held, key = data.draw(st.sampled_from(places(made)))
        held[key] = copy.deepcopy(data.draw(ODD))
        if not places(made):
            break
    path = tmp_path_factory.mktemp("changed") / "run.json"
    path.write_text(json.dumps(made))
    refused, run = "", FULL
    try:
        run = reporting.read(path)
    except InputError as error:
        refused = str(error)
    assert "\n" not in refused
    changes = compare(run, FULL, "run.json")
    assert markdown.write(FULL, changes) and sarif.write(FULL, changes)
