"""The reports of one run agree, and a broker's text stays text in them: JUnit, SARIF, Markdown, a page, GitHub's log."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import xml.etree.ElementTree as Xml
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest
from hostile import FULL, HOSTILE, WILD, result, run
from markdown_it import MarkdownIt

from nonempty import nonempty
from rocketproof_properties.reports import github, junit, markdown, page, sarif, saved
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.results import Run
from rocketproof_properties.reports.since import compare

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "tests/data/sarif-schema-2.1.0.json").read_text("utf-8"))
BOTH = pytest.mark.parametrize("made", [FULL, WILD, run(code=0)], ids=["usual", "hostile", "empty"])


# JUnit


def test_junit_has_test_per_result_named_by_sentence() -> None:
    suite = Xml.fromstring(junit.write(FULL).encode()).find("testsuite")
    assert suite is not None and suite.get("name") == "rocketproof: check of the specification, P49"
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "7", "failures": "2", "errors": "1", "skipped": "3", "time": "1.25",
    }  # fmt: skip
    first, second, third, fourth, *_ = suite.iter("testcase")
    assert first.get("name") == "INV-01: a topic has a name (P49)" and first.get("classname") == "rocketproof.check.P49.INV-01"
    assert (first.get("file"), first.get("line"), second.get("line")) == ("topics.py", "12", None)
    failure, error, skipped = first.find("failure"), third.find("error"), fourth.find("skipped")
    assert failure is not None and failure.get("message") == "broker-a forgot it"
    assert failure.text == "broker-a forgot it\none\ntwo\nrocketproof show w.json\nstated in topics.py:12"
    assert error is not None and error.get("message") == "z3 stopped"
    assert skipped is not None and skipped.get("message") == "undecided: stopped by the time limit"
    assert suite.findtext("system-out") == "a note"


def test_junit_of_hostile_texts_is_read_back_as_they_are() -> None:
    cases = list(Xml.fromstring(junit.write(WILD).encode()).iter("testcase"))
    assert len({case.get("name") for case in cases}) == len(WILD.results) == len(cases)
    failure = next(case.find("failure") for case in cases if case.find("failure") is not None)
    assert failure is not None and "a <b>&amp;</b> ]]> --> 100% | `x` ·[31m· · @all" in str(failure.text)


# SARIF


@BOTH
def test_sarif_follows_schema(made: Run) -> None:
    for changes in (None, compare(run(code=0), made, "run.json")):
        jsonschema.validate(json.loads(sarif.write(made, changes)), SCHEMA)


def test_sarif_lists_unexpected_results_with_location_and_stable_fingerprint() -> None:
    (log,) = json.loads(sarif.write(FULL))["runs"]
    first, second, accepted = log["results"]
    assert [result["ruleId"] for result in log["results"]] == ["INV-01", "INV-02", "INV-05"]
    assert first["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "topics.py"}, "region": {"startLine": 12}}
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 1, "byteOffset": 77, "byteLength": 0}
    assert accepted["suppressions"][0]["justification"] == "accepted until 2027-01-31: ours differs"
    told = {
        rule["associatedRule"]["id"]: rule["level"]
        for rule in log["invocations"][0]["toolExecutionNotifications"]
        if "associatedRule" in rule
    }
    assert told == {"INV-03": "error", "INV-04": "warning"}
    rules = log["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in log["results"]] == ["INV-01", "INV-02", "INV-05"]
    later = replace(
        FULL, started="2027-01-01T00:00:00+00:00", results=tuple(replace(result, message="otherwise") for result in FULL.results)
    )
    prints = [[result["partialFingerprints"] for result in json.loads(sarif.write(made))["runs"][0]["results"]] for made in (FULL, later)]
    assert prints[0] == prints[1] and len({json.dumps(fingerprint) for fingerprint in prints[0]}) == 3


def test_sarif_marks_results_new_since_another_run() -> None:
    changes = compare(run(FULL.results[0]), FULL, "run.json")
    states = {result["ruleId"]: result["baselineState"] for result in json.loads(sarif.write(FULL, changes))["runs"][0]["results"]}
    assert states == {"INV-01": "unchanged", "INV-02": "new", "INV-05": "new"}


# Markdown

SUMMARY = """\
# rocketproof: check of the specification, P49

**1 an error, 2 not as expected, 1 undecided, 1 accepted, 1 not tried, 1 as expected; 1.2 s; exit code 1**

```text
rocketproof check --report 'junit:our file.xml'
```

## Not as expected

| property | claim | case | verdict | expected | why |
| --- | --- | --- | --- | --- | --- |
| INV-03 | a topic has a name | P49 | error | holds | z3 stopped |
| INV-01 | a topic has a name | P49 | violated | holds | broker-a forgot it |
| INV-02 | a topic has a name | P49, a crash | violated | holds |  |

<details><summary>INV-01: a topic has a name (P49)</summary>

```text
one
two
rocketproof show w.json
```

</details>

## Undecided

| property | claim | case | verdict | expected | why |
| --- | --- | --- | --- | --- | --- |
| INV-04 | a topic has a name | P49 | unknown | holds | stopped by the time limit |

## Coverage of the model

| of | actions that happened | guards that gave one answer only |
| --- | --- | ---: |
| P49 | 2 of 3 | 1 |

<details><summary>What is missing of P49</summary>

- crash never happened: a broker dies
- send: runs never refused

</details>
"""


def test_summary_in_markdown() -> None:
    assert markdown.write(FULL).startswith(SUMMARY)


@BOTH
def test_markdown_shows_hostile_texts_as_texts(made: Run) -> None:
    changes = compare(run(code=0), made, HOSTILE)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown.write(made, changes))
    html = {token.content.strip() for each in tokens for token in [each, *(each.children or ())] if token.type.startswith("html")}
    allowed = re.compile(r"(</?(details|summary)>|[^<>])*")
    assert all(allowed.fullmatch(text) for text in html), html
    rows = [line for line in markdown.write(made).splitlines() if line.startswith("|")]
    wide = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert wide <= {2 + len({result.outcome for result in made.results}), 4, 7}


# A page


class _Read(HTMLParser):
    """Tags with their attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.inside: dict[str, str] = {}
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in in ("script", "style"):
            self.inside[self._in] = data
        else:
            self.text.append(data)


@BOTH
def test_page_loads_nothing_and_allows_only_its_script(made: Run) -> None:
    read = _Read(page.html(made, compare(run(code=0), made, HOSTILE)))
    assert [tag for tag, _ in read.tags].count("script") == [tag for tag, _ in read.tags].count("style") == 1
    assert not [attrs for _, attrs in read.tags if "src" in attrs or any(name.startswith("on") for name in attrs)]
    assert {tag for tag, _ in read.tags}.isdisjoint({"b2", "img", "iframe", "link", "object"})
    policy = next(str(attrs["content"]) for tag, attrs in read.tags if tag == "meta" and "http-equiv" in attrs)
    assert policy.startswith("default-src 'none';")
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(read.inside[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_page_has_filterable_row_per_result() -> None:
    read = _Read(page.html(FULL))
    rows = {str(attrs["data-words"]).split()[0]: attrs["data-outcome"] for tag, attrs in read.tags if tag == "tr" and "data-words" in attrs}
    assert rows == {result.id.lower(): result.outcome for result in FULL.results}
    said = " ".join(" ".join(read.text).split())
    assert "2 findings of one cause: send.code" in said and "P49 : 2 of 3 actions happened; 1 guard gave" in said
    assert "crash a broker dies never crashes left the scope allows a crash (bound) no yes" in said


def test_page_shows_hostile_texts_verbatim() -> None:
    read = _Read(page.html(WILD))
    assert any("a <b>&amp;</b> ]]> --> 100% | `x` ·[31m· · @all" in text for text in read.text)
    assert [tag for tag, _ in read.tags].count("article") == 1


def test_page_folds_expected_results_by_theme_and_property(tmp_path: Path) -> None:
    themes = {"INV-01": "routes", "INV-02": "routes", "INV-03": "the log"}
    rows = [result(f"INV-0{n}", "ok", condition=f"case {k}") for n in (1, 2, 3) for k in range(6)]
    rows[0] = result("INV-01", "differs", condition="case 0")
    written = page.write(run(*rows), tmp_path, theme_of=lambda id_, _: themes[id_])
    folds = [(attrs.get("class"), "open" in attrs) for tag, attrs in _Read(written.read_text()).tags if tag == "details"]
    wanted = [("theme", True), ("property", True), ("property", False), ("theme", False), ("property", False)]
    assert [fold for fold in folds if fold[0] in ("theme", "property")] == wanted
    few = page.html(run(*rows[:2]))
    assert few.count('class="property" open') == 1 and 'class="theme"' not in few


def test_page_contains_witness(tmp_path: Path) -> None:
    (tmp_path / "w 1.itf.json").write_text("{}")
    made = run(
        result(witness=str(tmp_path / "w 1.itf.json")),
        result("INV-02", witness=str(tmp_path / "gone.json")),
        result("INV-03", "ok", witness="shown.itf.json", commands=("reveal it",)),
        result("INV-04", "ok", witness="w.py", commands=("see w",)),
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out/shown.itf.html").touch()
    (tmp_path / "out/witnesses").mkdir()
    (tmp_path / "out/witnesses/w 1.html").write_text("a page")
    written = page.write(made, tmp_path / "out")
    assert (tmp_path / "out/witnesses/w 1.itf.json").read_text() == "{}"
    links = [attrs["href"] for tag, attrs in _Read(written.read_text()).tags if tag == "a"]
    assert links == ["#verdicts", "witnesses/w%201.html", "witnesses/w%201.itf.json", "shown.itf.html"]
    assert "see w" in written.read_text() and "reveal it" not in written.read_text()


# GitHub


def test_annotations_are_one_line_workflow_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / "topics.py").touch()
    assert github.commands(FULL) == [
        "::error title=INV-03%3A a topic has a name::INV-03: a topic has a name (P49)%0Az3 stopped%0Aof the same cause: INV-02",
        (
            "::error file=topics.py,line=12,title=INV-01%3A a topic has a name::INV-01: a topic has a name (P49)"
            "%0Abroker-a forgot it%0Aone%0Atwo%0Arocketproof show w.json"
        ),
        "::warning title=INV-04%3A a topic has a name::INV-04: a topic has a name (P49)%0Astopped by the time limit",
    ]


def test_hostile_text_creates_no_command_or_field() -> None:
    for line in nonempty(github.commands(WILD)):
        assert re.fullmatch(r"::(error|warning) title=[^,:\r\n]*::[^\r\n]*", line)
        assert "100%25" in line and "\x1b" not in line


def test_no_more_annotations_than_github_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = github.commands(run(*(result(f"INV-{n:02}") for n in range(10))))
    assert len(lines) == 10 and lines[-1].startswith("::error title=INV-09")
    lines = github.commands(run(*(result(f"INV-{n:02}") for n in range(25))))
    assert len(lines) == 10 and lines[-1] == "::error title=rocketproof::16 more; the summary of the job lists them"


def test_job_summary_is_appended_and_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "summary.md"
    file.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    github.write(FULL)
    assert file.read_text() == "# before\n" + markdown.write(FULL)
    assert capsys.readouterr().out.count("::error") == 2
    file.write_text("")
    github.write(replace(FULL, notes=tuple(f"{n} {'é' * 900}" for n in range(1_000))))
    assert len(file.read_bytes()) < 1_048_576 and file.read_text().endswith("see the other reports.\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no/summary.md"))
    with pytest.raises(InputError, match=r"GITHUB_STEP_SUMMARY=.*cannot be written \(No such file or directory\)"):
        github.write(FULL)


def test_intermediate_output_is_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    with github.commands_off():
        sys.stdout.write("::error::a topic of this name\n")
    first, _, last = capsys.readouterr().out.splitlines()
    assert first == f"::stop-commands::{last.strip(':')}" and len(last) > 20


# A saved run


@BOTH
def test_saved_run_is_read_as_it_was(made: Run) -> None:
    data = json.loads(saved.write(made).encode())
    assert saved.read(data, "run.json") == made
    jsonschema.validate(data, json.loads((ROOT / "properties/docs/run.schema.json").read_text("utf-8")))
