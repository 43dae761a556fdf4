"""`--report` and `--since` of the commands: refusals before a run, and equal content of all reports and the saved run."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as Xml
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_judge_history import write

from rocketproof_properties.catalogue.places import stated
from rocketproof_properties.catalogue.stored import stored_rules
from rocketproof_properties.catalogue.table import CASES, HISTORY_CLAIMS
from rocketproof_properties.commands import reporting
from rocketproof_properties.commands.audits import results as audits
from rocketproof_properties.commands.audits.command import Audited
from rocketproof_properties.commands.checks.rows import FIELDS
from rocketproof_properties.commands.explorer import pages
from rocketproof_properties.judging.reference import results as replayed
from rocketproof_properties.reports.results import SourcePlace
from rocketproof_properties.reports.since import compare
from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.run import AuditOutcome, AuditTotals

Run = Callable[..., Any]
assert pages, "import it before the specification is replaced: it needs the real specification"
ALL = ("junit:j.xml", "sarif:s.sarif", "markdown:m.md", "html:page", "run:run.json", "github")
LAMP = (
    "from rocketproof_model import Bool, Model\n\nm = Model('lamp')\non = m.var('on', Bool, init=True)\n"
    "m.always('dark', ~on, 'the lamp is dark')\nmodel = m\n\n\n@m.action()\ndef switch(a):\n    'It turns off.'\n    a.set(on, False)\n"
)
OPTIONS = [word for report in ALL for word in ("--report", report)]


@pytest.fixture
def broken(catalogue: ModuleType) -> ModuleType:
    """Install the door's catalogue with the first property expected to be violated."""
    catalogue.CASES = (replace(catalogue.CASES[0], expected="violated"), *catalogue.CASES[1:])  # type: ignore[attr-defined]
    return catalogue


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--report", "junti:x.xml"), "unknown kind 'junti'; use junit,"),
        (("--report", "junit"), "--report junit: it lacks a file; give junit:junit.xml"),
        (("--report", "html:"), "--report html:: it lacks a folder; give html:report"),
        (("--report", "github:x"), "takes no path; leave out :x"),
        (("--report", "sarif:file/s.sarif"), "file is a file and no folder; give a file in a folder of your own"),
        (("--report", "sarif:folder"), "folder is a directory; give --report sarif: a file name"),
        (("--report", "html:file"), "--report html:file: it is a file; give a folder"),
        (("--report", "html:file/below"), "--report html:file/below: it may not be written"),
        (("--report", "junit:x", "--report", "run:x"), "--report run:x: junit is written there too"),
        (("--since", "nothing.json"), "--since nothing.json: cannot be read (No such file or directory)"),
        (("--since", "file"), "--since file: is not JSON"),
        (("--since", "other.json"), "--since other.json: is no saved run"),
        (("--since", "newer.json"), "--since newer.json: it has version 99, this one reads up to 1; update rocketproof"),
        (("--since", "broken.json"), "--since broken.json: its results are not of a run"),
        (("--since", "odd.json"), "--since odd.json: is no saved run"),
        (("--since", "rows.json"), "--since rows.json: is no saved run"),
        (("--since", "audit.json"), "--since audit.json: it is a run of audit, and this is one of check; give a run of check"),
        (("--since", "deep.json"), "--since deep.json: is not JSON"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_impossible_reports_are_refused_before_the_run(
    catalogue: ModuleType, rocketproof: Run, options: tuple[str, ...], said: str
) -> None:
    Path("folder").mkdir()
    Path("file").write_text("text")
    Path("other.json").write_text('[{"a": 1}]')
    Path("deep.json").write_text("[" * 200_000)
    odd = {"id": "D-1", "sentence": 5, "outcome": "ok", "verdict": "holds"}
    head = {"schema": "rocketproof-run", "version": 1, "command": "check", "subject": "", "exit": 0}
    Path("audit.json").write_text(json.dumps({**head, "command": "audit", "results": []}))
    Path("odd.json").write_text(json.dumps({**head, "results": [odd]}))
    Path("rows.json").write_text(json.dumps([dict.fromkeys(FIELDS, 7)]))
    Path("newer.json").write_text('{"schema": "rocketproof-run", "version": 99}')
    Path("broken.json").write_text(
        '{"schema": "rocketproof-run", "version": 1, "results": [{"id": 1}], "command": "", "subject": "", "exit": 0}'
    )
    done = rocketproof("check", *options)
    assert (done.code, done.out) == (2, "") and said in done.err and done.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_folder_without_write_permission_is_refused(catalogue: ModuleType, rocketproof: Run) -> None:
    Path("locked").mkdir(mode=0o500)
    assert "may not be written" in rocketproof("check", "--report", "html:locked/page").err


def test_all_reports_of_a_check_have_equal_content(broken: ModuleType, rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = rocketproof("check", *OPTIONS, "--json", "rows.json")
    assert done.code == 1
    rows = json.loads(Path("rows.json").read_text())
    suite = Xml.parse("j.xml").getroot().find("testsuite")
    assert suite is not None and (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (str(len(rows)), "1", "0")
    (log,) = json.loads(Path("s.sarif").read_text())["runs"]
    assert [one["ruleId"] for one in log["results"]] == ["D-1"]
    run = json.loads(Path("run.json").read_text())
    assert [(one["id"], one["verdict"]) for one in run["results"]] == [(row["property"], row["verdict"]) for row in rows]
    assert Path("summary.md").read_text() == Path("m.md").read_text()
    assert Path("m.md").read_text().startswith("# rocketproof: check of the specification\n\n**1 not as expected, ")
    assert 'data-outcome="differs"' in Path("page/index.html").read_text()
    stop, *printed, error = done.out.splitlines()
    assert stop.startswith("::stop-commands::") and f"::{stop.rpartition(':')[2]}::" in printed
    assert error.startswith("::error title=D-1%3A a locked door is shut::") and "violated" not in stop


def test_the_coverage_of_actions_and_of_both_answers_of_guards(catalogue: ModuleType, rocketproof: Run) -> None:
    rocketproof("check", "--report", "run:run.json", "--property", "D-1", "--condition", "broken lock")
    (covered,) = json.loads(Path("run.json").read_text())["covered"]
    actions = {one["name"]: one for one in covered["actions"]}
    assert {name for name, one in actions.items() if not one["times"]} == {"blast"}
    guards = {guard["name"]: (guard["passed"], guard["refused"], guard["bound"]) for guard in actions["enter"]["guards"]}
    assert guards == {"shut": (True, True, False), "unlocked": (True, False, False), "times left": (True, True, True)}


def test_since_accepts_runs_and_json_without_changing_exit_codes(broken: ModuleType, rocketproof: Run) -> None:
    assert rocketproof("check", "--report", "run:run.json", "--json", "rows.json").code == 1
    for file in ("run.json", "rows.json"):
        same = rocketproof("check", "--since", file)
        assert same.code == 1 and "nothing has changed" in same.out
    broken.CASES = tuple(replace(one, expected="holds") if one.expected == "violated" else one for one in broken.CASES)  # type: ignore[attr-defined]
    done = rocketproof("check", "--since", "run.json", "--report", "markdown:m.md")
    assert done.code == 1
    told = done.out.partition("Since run.json, check of ")[2]
    assert "Newly not as expected:\n    D-1: a locked door is shut" in told and "Not as expected before, and no more:\n    D-1" in told
    assert "## Since run.json" in Path("m.md").read_text()


def test_own_model_is_annotated_at_its_propertys_line(rocketproof: Run) -> None:
    Path("mine.py").write_text(LAMP)
    done = rocketproof("check", "mine.py", "--report", "github")
    assert done.code == 1
    assert [line for line in done.out.splitlines() if line.startswith("::error file=mine.py,line=5,title=dark")]


def test_page_links_the_pages_of_unexpected_verdicts(rocketproof: Run) -> None:
    Path("mine.py").write_text(LAMP)
    assert rocketproof("check", "mine.py", "--report", "html:page").code == 1
    witness = Path("page/witnesses/mine-dark.html").read_text()
    assert '"the lamp is dark"' in witness and "document" in witness
    text = Path("page/index.html").read_text()
    assert 'href="witnesses/mine-dark.html"' in text and 'href="witnesses/mine-dark.itf.json"' in text


def test_catalogue_has_the_location_of_its_properties() -> None:
    places = stated()
    assert {case.claim for case in CASES} | {claim.id for claim in HISTORY_CLAIMS} <= places.keys()
    for id_ in ("INV-16", "LIV-03", "INV-37.stored", "REA-30", "REA-37", "INV-43"):
        place = places[id_]
        assert place.line is not None
        text = (Path(__file__).parents[2] / place.file).read_text("utf-8").splitlines()
        assert f'"{id_}"' in "".join(text[place.line - 1 : place.line + 1])


def test_judge_reports_a_history_and_many(rocketproof: Run) -> None:
    write(Path("right.ndjson"))
    write(Path("wrong.ndjson"), spoil=True)
    one = rocketproof(
        "judge", "wrong.ndjson", "--profile", "P49", "--json", "one.json", "--report", "run:one.run", "--report", "junit:j.xml"
    )
    (found,) = json.loads(Path("one.run").read_text())["results"]
    assert one.code == 1 and (found["outcome"], found["place"]) == ("differs", {"file": "wrong.ndjson", "line": None, "offset": None})
    assert "offset 40" in found["message"] and "a stored message is answered with its queue" in found["message"]
    assert rocketproof("judge", "wrong.ndjson", "--profile", "P49", "--report", "html:page").code == 1
    assert '<a href="witnesses/wrong.html">open the history</a>' in Path("page/index.html").read_text()
    assert '"run":true' in Path("page/witnesses/wrong.html").read_text()
    assert Path("page/witnesses/wrong.html").exists()
    again = rocketproof("judge", "right.ndjson", "--profile", "P49", "--since", "one.json", "--report", "run:right.run")
    assert again.code == 0 and "Not as expected before, and no more" in again.out
    (right,) = json.loads(Path("right.run").read_text())["results"]
    assert (right["outcome"], right["verdict"]) == ("ok", "explained")
    many = ("judge", "right.ndjson", "wrong.ndjson", "--profile", "P49", "--out", "out", "--cores", "1")
    done = rocketproof(*many, "--json", "many.json", "--report", "run:many.run")
    assert done.code == 1
    results = json.loads(Path("many.run").read_text())["results"]
    assert sorted((one["outcome"], Path(one["about"].partition(",")[0]).name) for one in results) == [
        ("differs", "wrong.ndjson"),
        ("ok", "right.ndjson"),
    ]
    assert reporting.read(Path("many.json")).results == reporting.read(Path("many.run")).results


def test_audit_report_has_findings_by_location_and_holding_rules() -> None:
    rules = stored_rules()[:3]
    names = dict.fromkeys(("expected", "found", "hex", "reason"), "x")
    error = AuditFinding("s", "commitlog/0", 70, rules[0].id, "orders", 1, 5, **names, severity="error")
    note = replace(error, property=rules[1].id, severity="note", offset=9)
    totals = AuditTotals("s", findings=[error, note], counts={rules[0].id: 3, rules[1].id: 1}, problems=["s/index: is torn"])
    made = audits.run(Audited(tuple(rules), AuditOutcome([totals], 1, 1, False), "P494"), 2.0)
    assert {(one.id, one.outcome) for one in made.results} == {
        (rules[0].id, "differs"), (rules[1].id, "ok"), ("audit", "error"), (rules[2].id, "ok"),
    }  # fmt: skip
    first = next(one for one in made.results if one.outcome == "differs")
    assert first.place == SourcePlace("s/commitlog/0", offset=70) and first.message == "expected x, found x"
    assert made.notes == (f"{rules[0].id}: 1 of 3 rows that break it are kept as findings",) and made.exit == 2
    saved = audits.read([error.data(), note.data()])
    placed = tuple(one for one in made.results if one.place is not None)
    assert saved is not None and not compare(saved, replace(made, results=placed), "findings.json").any


def test_a_recording_reports_each_case() -> None:
    rows = [
        {"n": 1, "cfg": "A", "case": "send", "alike": True, "differences": [], "exception": None},
        {
            "n": 2,
            "cfg": "A",
            "case": "send",
            "alike": False,
            "differences": [{"field": "code", "recorded": 0, "found": 1}],
            "exception": None,
        },
        {
            "n": 3,
            "cfg": "A",
            "case": "send",
            "alike": False,
            "differences": [{"field": "x", "recorded": 0, "found": 1}],
            "exception": "a draw",
        },
    ]
    made = replayed.run(rows, "r.jsonl", "P494")
    assert [(one.outcome, one.about, one.message) for one in made.results] == [
        ("ok", "A-1 send", ""), ("differs", "A-2 send", "code: recorded 0, found 1"), ("accepted", "A-3 send", "a draw"),
    ]  # fmt: skip
    read = replayed.read(rows)
    assert made.exit == 1 and read is not None and [one.about for one in read.results] == ["A-1 send", "A-2 send", "A-3 send"]
