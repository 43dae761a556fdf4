"""Changes since another run: new failures, fixed ones, other verdicts, properties and coverage."""

from __future__ import annotations

from dataclasses import replace

from hostile import FULL, result, run

from rocketproof_properties.reports import markdown, recurring
from rocketproof_properties.reports.results import ActionCovered, Covered, Run
from rocketproof_properties.reports.since import compare


def sections(before: Run, now: Run) -> dict[str, list[str]]:
    return dict(compare(before, now, "run.json").sections())


def test_run_has_not_changed_since_itself() -> None:
    changes = compare(FULL, replace(FULL, started="", seconds=9), "run.json")
    assert not changes.any and changes.sections() == []
    assert "## Since run.json, check of 2026-01-02T03:04:05+00:00\n\nNothing has changed." in markdown.write(FULL, changes)


def test_each_kind_of_change_is_reported() -> None:
    ok = {"verdict": "holds", "outcome": "ok"}
    before = run(result("A"), result("B", **ok), result("C", "undecided", verdict="unknown"), result("D"), result("E"))
    now = run(result("A"), result("B", message="broken"), result("C", **ok), result("D", **ok), result("F"))
    assert sections(before, now) == {
        "Newly not as expected": [
            "B: a topic has a name (P49): violated, expected holds; broken",
            "F: a topic has a name (P49): violated, expected holds",
        ],
        "Not as expected before, and no more": [
            "D: a topic has a name (P49): violated, expected holds",
            "E: a topic has a name (P49): violated, expected holds",
        ],
        "Other verdicts that changed": ["C: a topic has a name (P49): unknown, now holds"],
        "Properties that are new": ["F"],
        "Properties that are not there any more": ["E"],
    }


def test_reworded_claim_keeps_its_identity() -> None:
    assert sections(run(result("A")), run(result("A", sentence="every topic has a name"))) == {}
    two = run(result("A"), result("A", sentence="another claim"))
    assert len(compare(two, run(result("A", sentence="a"), result("A", sentence="b")), "").worse) == 2


def test_problem_of_a_store_is_no_property() -> None:
    with_problem = run(result("A"), recurring.not_audited("P49", "/data/b: does not exist"))
    assert list(sections(with_problem, run(result("A")))) == ["Not as expected before, and no more"]
    assert list(sections(run(result("A")), with_problem)) == ["Newly not as expected"]


def test_worse_of_two_equal_results_counts() -> None:
    before = run(result("A", outcome="ok", verdict="holds"), result("A"))
    assert sections(before, run(result("A"))) == {}


def test_coverage_that_was_lost_and_gained() -> None:
    send, crash = ActionCovered("send", 3), ActionCovered("crash", 1)
    before, now = (run(covered=(Covered("P49", actions), Covered(other, ()))) for actions, other in (
        ((send, replace(crash, times=0)), "P40"), ((replace(send, times=0), crash), "P45"),
    ))  # fmt: skip
    assert sections(before, now) == {
        "Not covered any more": ["P49: send"],
        "Newly covered": ["P49: crash"],
    }
