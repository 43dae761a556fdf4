"""Findings of one cause as one: near each other in a file, in several files, many rules at one place."""

from __future__ import annotations

from dataclasses import replace

from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.folds import folded

ONE = AuditFinding("s", "s/commitlog/0", 100, "INV-41.stored", "t", 0, 0, "1", "2", "", "error", "why")
ENTRY = replace(ONE, file="s/consumequeue/t/0/0", property="INV-44.record")


def test_findings_near_each_other_are_merged() -> None:
    near = [replace(ONE, offset=100 + 1000 * n) for n in range(5)]
    far = replace(ONE, offset=10_000_000)
    first, last = folded([far, *near])
    assert (first.offset, last) == (100, far)
    assert first.reason == "why; and 4 more up to 4,100, perhaps of one cause"


def test_two_stay_as_they_are() -> None:
    two = [ONE, replace(ONE, offset=200)]
    assert folded(two) == two


def test_findings_of_several_queues_are_merged() -> None:
    found = folded([replace(ENTRY, file=f"s/consumequeue/t/{n}/0", queue_id=n) for n in range(3)])
    assert [each.reason for each in found] == ["why; and 2 more in 3 files, perhaps of one cause"]


def test_merged_finding_lists_rules_of_its_form_first() -> None:
    rules = ("APP-05.stored", "CL-01.born", "INV-40.stored", "INV-43.born", "STO-01.topic", "TRX-06.other")
    found = folded([replace(ONE, property=rule) for rule in rules])
    assert [each.property for each in found] == ["APP-05.stored", "CL-01.born", "INV-40.stored", "INV-43.born"]
    assert found[2].reason == "why; it breaks STO-01.topic, TRX-06.other too"
