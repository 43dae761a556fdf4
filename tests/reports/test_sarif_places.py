"""Each SARIF result has a location in the user's repository, and code scanning accepts the file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import FULL, HOSTILE, WILD, result, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sarif_rules import breaches
from test_report_bad_runs import SAVED

from nonempty import nonempty
from proportion import in_proportion
from rocketproof_properties.commands import reporting
from rocketproof_properties.reports import github, sarif
from rocketproof_properties.reports.results import Run, SourcePlace

WORKFLOW = "owner/name/.github/workflows/broker.yml@refs/heads/main"
FILES = st.sampled_from(
    ("topics.py", "a b/ü.py", "../up.py", "/etc/passwd", "s3://bucket/store/000", "x:y.py", ".", "", "\0", HOSTILE,
     ".venv/lib/python3.13/site-packages/rocketproof_properties/catalogue/log.py")
)  # fmt: skip
PLACES = st.none() | st.builds(SourcePlace, FILES, st.none() | st.integers(-1, 9), st.none() | st.integers(0, 99))
RESULTS = st.builds(
    lambda id_, outcome, place, witness: result(id_, outcome, place=place, witness=witness),
    st.sampled_from(("INV-01", "INV-02", f"X{HOSTILE}", "Y" * 300)),
    st.sampled_from(("differs", "accepted", "undecided", "error", "ok")),
    PLACES,
    FILES,
)


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout with a workflow, a target's description and a program of a report."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "GITHUB_WORKFLOW_REF"):
        monkeypatch.delenv(name, raising=False)
    for file in (".github/workflows/broker.yml", "broker.toml", "v/programs/finding-1.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()


def uris(made: Run) -> list[str]:
    (log,) = json.loads(sarif.write(made))["runs"]
    return [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in log["results"]]


@settings(max_examples=in_proportion(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(found=st.lists(RESULTS, max_size=6), source=FILES)
def test_any_run_becomes_file_accepted_by_code_scanning(found: list[object], source: str) -> None:
    made = run(*found, source=source)  # type: ignore[arg-type]
    assert list(breaches(sarif.write(made))) == []
    assert len(uris(made)) == sum(result.outcome in sarif.SCANNED for result in made.results)


@pytest.mark.parametrize("made", [FULL, WILD, run(code=0)], ids=["usual", "hostile", "empty"])
def test_runs_of_other_tests_are_taken(made: Run) -> None:
    assert list(breaches(sarif.write(made))) == []


@pytest.mark.slow
def test_each_saved_result_converts_to_accepted_file(tmp_path: Path) -> None:
    """`check`, `audit`, `test --recording`, `judge` of a recording, of a history and of many, `validate`: all have results here."""
    for number, data in nonempty(enumerate(SAVED)):
        (tmp_path / "run.json").write_text(json.dumps(data))
        made = reporting.read(tmp_path / "run.json")
        made = replace(made, results=tuple(replace(result, outcome="differs") for result in made.results)).placed(reporting._Places())
        assert uris(made) and list(breaches(sarif.write(made))) == [], number


def test_location_prefers_own_then_workflow_then_given_file_then_program(monkeypatch: pytest.MonkeyPatch) -> None:
    program = str(Path("v/programs/finding-1.py").absolute())
    made = run(
        result(place=SourcePlace("topics.py", 3)), result("INV-02", place=SourcePlace("/elsewhere", 3)), result("INV-03", witness=program)
    )
    assert uris(made) == ["topics.py", "rocketproof-check", "v/programs/finding-1.py"]
    made = replace(made, source=str(Path("broker.toml").absolute()))
    assert uris(made) == ["topics.py", "broker.toml", "broker.toml"]
    monkeypatch.setenv("GITHUB_WORKFLOW_REF", WORKFLOW)
    assert uris(made) == ["topics.py", *[".github/workflows/broker.yml"] * 2]
    monkeypatch.setenv("GITHUB_WORKSPACE", str(Path("v").absolute()))
    assert uris(made) == ["rocketproof-check", "rocketproof-check", "programs/finding-1.py"]


def test_location_stated_elsewhere_is_in_message() -> None:
    (log,) = json.loads(sarif.write(run(result(place=SourcePlace("s3://bucket/000", offset=77)))))["runs"]
    assert "s3://bucket/000:77" in log["results"][0]["message"]["text"]


def test_line_in_installed_package_is_not_annotated(tmp_path: Path) -> None:
    file = tmp_path / ".venv/lib/site-packages/x.py"
    file.parent.mkdir(parents=True)
    file.touch()
    (line,) = github.commands(run(result(place=SourcePlace(str(file), 3))))
    assert "file=" not in line


def test_no_more_results_and_bytes_than_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    many = run(*(result(f"INV-{number}", "accepted" if number % 2 else "differs", details="é" * 900) for number in range(200)))
    monkeypatch.setattr(sarif, "MOST_RESULTS", 120)
    assert len(uris(many)) == 120
    monkeypatch.setattr(sarif, "MOST_BYTES", 250_000)
    text = sarif.write(many)
    (log,) = json.loads(text)["runs"]
    kept = log["results"]
    assert len(text.encode()) <= 250_000 and 10 < len(kept) < 120 and list(breaches(text)) == []
    assert {result["level"] for result in kept[:10]} == {"error"}, "what is not as expected comes before what is accepted"
    noted = log["invocations"][0]["toolExecutionNotifications"]
    assert f"{200 - len(kept)} of 200 results are left out" in noted[-1]["message"]["text"]


@pytest.mark.slow
def test_run_of_largest_size_is_taken() -> None:
    results = [result(f"INV-{number}", details="x" * 9_000, about=str(number), place=SourcePlace("a.py", 1)) for number in range(26_000)]
    results += [result("INV-0", "undecided", message="m" * 9_000, about=f"u{number}") for number in range(2_000)]
    text = sarif.write(run(*results))
    assert 5_000_000 < len(text) and list(breaches(text)) == []
