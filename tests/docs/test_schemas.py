"""Each JSON output matches its schema, and the page of schemas lists them all."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from session import ROOT

from counter import COUNTER
from rocketproof_lab import requirements
from rocketproof_lab.mutation import by_tests
from rocketproof_lab.mutation.results import MutantOutcome, MutationReport
from rocketproof_lab.mutation.specification import by_models
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.catalogue.rules import rules
from rocketproof_properties.commands import run
from rocketproof_properties.validation.handwritten import releases
from rocketproof_properties.validation.handwritten.trial import perform
from unpacking import unpack

FOLDER = ROOT / "properties" / "docs" / "schemas"
PAGE = ROOT / "properties" / "docs" / "schemas.md"
DATA = ROOT / "tests" / "data"


def errors(name: str, data: Any) -> list[str]:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    found = Draft202012Validator(schema).iter_errors(data)
    return [f"{'/'.join(map(str, one.path))}: {one.message}" for one in found]


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return the --json output of a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def of(*tokens: str) -> Any:
        assert run([*tokens, "--json", "out.json"]) in (0, 1)
        return json.loads(Path("out.json").read_text("utf-8"))

    return of


def test_every_schema_is_valid_and_on_the_page() -> None:
    listed = set(re.findall(r"\(schemas/([\w-]+)\.schema\.json\)", PAGE.read_text("utf-8")))
    assert listed == {file.name.removesuffix(".schema.json") for file in FOLDER.iterdir()}
    for file in FOLDER.iterdir():
        schema = json.loads(file.read_text("utf-8"))
        Draft202012Validator.check_schema(schema)
        assert re.search(r", version \d+$", schema["title"]) and schema["description"]


def test_verdicts_witnesses_and_their_derivatives(output: Callable[..., Any]) -> None:
    Path("few.py").write_text(COUNTER)
    rows = output("check", "few.py")
    assert rows[0]["verdict"] == "violated" and errors("verdicts", rows) == []
    witness = rows[0]["witness"]
    assert errors("witness", json.loads(Path(witness).read_text("utf-8"))) == []
    comparison = output("diff", witness, witness)
    assert comparison["equal"] and errors("comparison", comparison) == []


def test_value_of_the_wrong_type_is_detected(output: Callable[..., Any]) -> None:
    hazards = output("hazard", "HAZ-03")
    assert errors("hazards", hazards) == []
    assert errors("hazards", [{**hazards[0], "shown": "yes"}]) and errors("hazards", [{**hazards[0], "more": 1}])


def test_places_and_rules(output: Callable[..., Any]) -> None:
    assert errors("references", output("requirements", "HAZ-01")) == []
    rule = next(iter(rules().values()))
    assert errors("requirements", [requirements.Requirement(rule, ("a.py:1",)).record()]) == []


def test_programs_and_releases(output: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("program.py").write_text('STEPS = [("send", {}), ("pull", {}), ("end", {}), ("max_offset", {"queue": -1})]')
    data = output("run", "program.py", "--times", "2", "--field", "2.maxOffset=1")
    assert errors("program-run", data) == [] and data["outcomes"][0]["times"] == 2
    monkeypatch.setattr(releases, "_perform", lambda program, _, folder, times: perform(program, InProcess("P494"), folder, times=times))
    data = output("bisect", "program.py", "--from", "4.9.3", "--to", "4.9.4", "--field", "2.maxOffset=1")
    assert errors("bisect", data) == [] and data["first"] == "4.9.3"


def test_recordings(output: Callable[..., Any], tmp_path: Path) -> None:
    cases = (DATA / "rocketmq-4.9.4.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "few.jsonl").write_text("".join(cases[:6]))
    judged = output("judge", "few.jsonl", "--profile", "P494")
    assert judged["cases"] and errors("judgement", judged) == []
    replayed = output("test", "--recording", "few.jsonl", "--profile", "P494")
    assert replayed and errors("replayed-recording", replayed) == []


def test_validations_and_histories(output: Callable[..., Any]) -> None:
    report = output("validate", "--target", "inprocess", "--programs", "2", "--no-witnesses", "--report", "v")
    assert report["verdicts"] and errors("validation", report) == []
    history = next(file for file in sorted(Path("v/histories").rglob("*")) if file.is_file())
    verdict = output("judge", str(history), "--profile", "P494")
    assert verdict["events"] and errors("history-verdict", verdict) == []


def test_a_self_test(output: Callable[..., Any]) -> None:
    tested = output("validate", "--target", "inprocess", "--self-test")
    assert tested["checked"] and errors("self-test", tested) == []


def test_levels(output: Callable[..., Any]) -> None:
    found = output("level", "--target", "inprocess", "--up-to", "2")
    assert found["level"] == 2 and errors("levels", found) == []


def test_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_models, "fingerprint", lambda: "0" * 16)  # the real one takes all mutants of all models
    more = {"sentence": "the queue id may be equal to the bound", "equivalent": ""}
    row = MutantOutcome("M-01", "killed", "tests/impl/test_x.py::test_y", seconds=1.5, more=more)
    untried = MutantOutcome("M-02", "undecided", how="not decided: stopped by the time limit", more=more)
    written = MutationReport(by_tests.FORMAT, [row, untried]).record()
    assert errors("mutants", written) == []
    assert isinstance(written, list) and [(each["seconds"], each["killed_by"] is None) for each in written] == [(1.5, False), (0.0, True)]
    of_model = {"part": "locks", "action": "x", "compared": 3}
    row = MutantOutcome("locks/x: y", "noticed", "INV-25", "locks P40", "violated", more=of_model)
    found = MutationReport(by_models.FORMAT, [row], seconds=1.0, deviations=[])
    assert errors("specification-mutants", found.record()) == []


@pytest.mark.slow
def test_audits_and_campaigns(output: Callable[..., Any], tmp_path: Path) -> None:
    unpack(DATA / "store-4.9.4.tar.gz", tmp_path / "store")
    store = next((tmp_path / "store").iterdir())
    found = output("audit", str(store), "--engine", "local", "--cores", "1", "--out", "audited", "--limit", "5")
    assert found and errors("audit-findings", found) == []
    assert errors("audit-summary", json.loads(Path("audited/summary.json").read_text("utf-8"))) == []
    assert errors("campaign-findings", output("campaign", "--programs", "10", "--engine", "local", "--workers", "1")) == []
