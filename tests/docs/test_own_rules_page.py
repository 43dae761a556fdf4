"""The page about own rules lists the fields of the code, and its file of rules is checked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from many_histories import PROFILE, history, write
from session import ROOT

from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.commands import run
from rocketproof_traces.audit.fields import AUDITED_ROWS, JUDGED_ROWS, MEANINGS, RULE_ROWS
from rocketproof_traces.audit.fieldtables import described
from rocketproof_traces.audit.vocabulary import MARKS, vocabulary

PAGE = (ROOT / "traces" / "docs" / "own-rules.md").read_text("utf-8")


def test_fields_of_page_are_those_of_the_code() -> None:
    for names in (AUDITED_ROWS, JUDGED_ROWS):
        assert "\n".join(described({name: RULE_ROWS[name] for name in names})) in PAGE


@pytest.mark.parametrize("kind", MEANINGS)
def test_each_field_has_a_meaning(kind: str) -> None:
    assert set(vocabulary()[kind].row.fields) - {MARKS} == set(MEANINGS[kind])


def test_rules_of_page_are_checked(tmp_path: Path) -> None:
    (tmp_path / "my_rules.py").write_text(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0])
    fabricate(tmp_path / "store", StorePlan(20_000, topics=1, queues=1, bodies=(100, 300), file_size=20_000, queue_file_size=20_000))
    audit = ["audit", str(tmp_path / "store"), "--engine", "local", "--cores", "1", "--rules", str(tmp_path / "my_rules.py")]
    assert run([*audit, "--property", "SHOP-1", "--property", "SHOP-2", "--property", "SHOP-3", "--out", str(tmp_path / "found")]) == 0
    summary = json.loads((tmp_path / "found" / "summary.json").read_text())
    assert [(rule["property"], rule["severity"]) for rule in summary["rules"]] == [
        ("SHOP-1", "error"), ("SHOP-2.size", "warning"), ("SHOP-3", "error"),
    ]  # fmt: skip


def test_rules_of_page_about_histories_are_checked(tmp_path: Path) -> None:
    (tmp_path / "sla.py").write_text(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    file = write(tmp_path / "history.ndjson", *history(sends=4, lost=True))
    words = [
        "judge",
        str(file),
        "--profile",
        PROFILE,
        "--cores",
        "1",
        "--rules",
        str(tmp_path / "sla.py"),
        "--json",
        str(tmp_path / "found.json"),
    ]
    assert run(words) == 1
    assert json.loads((tmp_path / "found.json").read_text())["rules"] == {"SLA-1": 12, "SLA-2": 1}
