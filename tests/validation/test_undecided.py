"""An undecided result neither passes nor fails: the exit code, the text, each report and the suite, for generated combinations."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as Xml
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rocketproof_properties.commands import reporting
from rocketproof_properties.commands import run as command
from rocketproof_properties.judging.undecided import Undecided
from rocketproof_properties.judging.verdicts import JudgedProgram, ProgramFinding
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.programs.program import Program
from rocketproof_properties.reports import badge, failures, github, junit, markdown, page, sarif, saved
from rocketproof_properties.reports.exitcode import DIFFERS, OK, STOPPED
from rocketproof_properties.reports.results import Run
from rocketproof_properties.reports.since import compare
from rocketproof_properties.validation import memory, ownprograms, report, results, show
from rocketproof_properties.validation.confirm import restore
from rocketproof_properties.validation.entries import entries
from rocketproof_properties.validation.report import ValidationReport
from rocketproof_properties.validation.suite.outcomes import outcomes
from rocketproof_traces.history import Header, Writer

PROFILE = "P494"
SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "properties/docs/schemas/validation.schema.json").read_text("utf-8")))
Came = Literal["holds", "violated", "undecided"]
CAME = st.sampled_from(("holds", "violated", "undecided"))
GIVEN_UP = "A at broker-a: after 1 answers, 100,000 expanded states are reached"
ITEMS = tuple(entry for entry in entries(PROFILE, frozenset(Capability)) if entry.kind == "specification")
CHEAP = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of one send, used for each program."""
    path = tmp_path_factory.mktemp("undecided") / "histories" / "00001.ndjson"
    path.parent.mkdir()
    writer = Writer(path, Header({"program": Program(1, "", (("send", {}),)).data(), "prefix": "r-1-", "broker": "broker-a"}, ""))
    asked = {"to": "broker-a", "code": 310, "fields": {"topic": "r-1-A", "queueId": "0"}, "version": 399, "oneWay": False}
    writer.add("invoke", "client 0", "send", {**asked, "bodySize": 0, "body": None, "at": 0}, 0)
    writer.add("ok", "client 0", "send", {"code": 0, "remark": None, "fields": {}, "bodySize": 0, "body": None, "at": 0}, 1)
    writer.close()
    return path


def judged(path: Path, number: int, came: str) -> JudgedProgram:
    """The specification's verdict on a program, or on a topic shared by programs (number 0)."""
    made = JudgedProgram(number, path.with_name(f"{number:05}.ndjson"), "a source", frozenset(), by=("specification",), requests=1)
    made.actions, made.asked = frozenset({"append", "update_topic", "topic_config"}), frozenset({"send"})
    if came == "violated":
        made.deviations.append(ProgramFinding("specification", "specification.send", "recorded code 0; the specification answers 1", seq=0))
    if came == "undecided":
        made.unknown = (GIVEN_UP,)
    return made


def validated(history: Path, programs: Sequence[str], shared: Sequence[str]) -> ValidationReport:
    """The report of a validation with these verdicts."""
    own = [judged(history, number, came) for number, came in enumerate(programs, 1)]
    common = [judged(history, 0, came) for came in shared]
    made = ValidationReport({"name": "a broker", "version": "", "offers": [], "note": ""}, PROFILE, 1, len(own), judged=own, shared=common)
    made.findings = report.gather(
        (*own, *common), {outcome.path: Program(outcome.program, "", (("send", {}),)) for outcome in (*own, *common)}
    )
    for finding in made.findings:
        finding.history = "histories/00001.ndjson"
    return made


def printed(made: ValidationReport, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    show.render(made, Path("v"))
    return " ".join(capsys.readouterr().out.split())


@CHEAP
@given(programs=st.lists(CAME, min_size=1, max_size=4), shared=st.lists(CAME, max_size=2))
def test_all_outputs_agree_on_undecided_results(
    programs: list[Came], shared: list[Came], history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, came = validated(history, programs, shared), [*programs, *shared]
    code = DIFFERS if "violated" in came else STOPPED if "undecided" in came else OK
    data = json.loads(json.dumps(made.data()))
    assert (made.exit_code, data["exit"]) == (code, code)
    SCHEMA.validate(data)

    open_ = [number for number, verdict in enumerate(programs, 1) if verdict == "undecided"] + [0] * shared.count("undecided")
    assert [row["program"] for row in data["undecided"]] == open_
    row = next(row for row in data["verdicts"] if row["id"] == "specification")
    assert (row["tried"], row["undecided"]) == (len(came) - len(open_), len(open_))
    assert row["agrees"] is (False if "violated" in came else None if open_ else True)

    text = printed(made, capsys)
    named = [f"program {number} by the specification (histories/{number:05}.ndjson)" if number else "a shared topic" for number in open_]
    assert all(name in text for name in named) and ("validate --again v --states 1000000" in text) is bool(open_)
    assert (f"{len(open_)} not decided" in text) is bool(open_)

    for run in (results.run(data), saved.read(json.loads(saved.write(results.run(data))), "a run")):
        assert run.exit == code and bool(run.of("differs")) is ("violated" in came)
        agree(run, open_)
    assert compare(results.run(data), results.run(data), "").other == []


def agree(run: Run, open_: Sequence[int]) -> None:
    """Check that each form of a run names each undecided program with its reason."""
    names = [f"histories/{number:05}.ndjson" for number in open_]
    skipped = [element.get("message", "") for element in Xml.fromstring(junit.write(run).encode()).iter("skipped")]
    assert sum(message.startswith("undecided: ") and GIVEN_UP in message for message in skipped) == len(open_)
    (log,) = json.loads(sarif.write(run))["runs"]
    noted = [
        notification["message"]["text"]
        for notification in log["invocations"][0]["toolExecutionNotifications"]
        if notification["level"] == "warning"
    ]
    warnings = [line for line in github.commands(run) if line.startswith("::warning")]
    for text in (" ".join(noted), " ".join(warnings), page.html(run), markdown.write(run)):
        assert all(name in text for name in names)
    assert bool(noted) is bool(warnings) is bool(open_) and ("undecided" in markdown.write(run)) is bool(open_)
    assert json.loads(badge.endpoint(run))["color"] == {OK: "brightgreen", DIFFERS: "orange", STOPPED: "lightgrey"}[run.exit]


@CHEAP
@given(programs=st.lists(CAME, min_size=1, max_size=4), shared=st.lists(CAME, max_size=2))
def test_suite_item_passes_only_without_undecided_program(programs: list[Came], shared: list[Came], history: Path) -> None:
    found = outcomes(validated(history, programs, shared), ITEMS, history.parents[1])
    came = {*programs, *shared}
    assert found["specification.send"].status == ("failed" if "violated" in came else "undecided" if "undecided" in came else "passed")
    for id_ in ("specification.update_topic", "specification.topics"):
        assert found[id_].status == ("undecided" if "undecided" in came else "passed")
        assert ("100,000 expanded states are reached" in found[id_].words) is ("undecided" in came)


def test_rule_contradicted_only_by_undecided_program_is_undecided(history: Path) -> None:
    rule = next(entry for entry in entries(PROFILE, frozenset(Capability)) if entry.id == "CHK-10")
    assert outcomes(validated(history, ["undecided"], []), [rule], history.parents[1])["CHK-10"].status == "undecided"
    made = validated(history, ["undecided", "holds"], [])
    made.judged[1].rules_held = frozenset({"CHK-10"})
    assert outcomes(made, [rule], history.parents[1])["CHK-10"].status == "passed"


@pytest.mark.parametrize(("came", "code"), [("holds", OK), ("undecided", STOPPED), ("violated", DIFFERS)])
def test_exit_3_or_1_still_gives_result(came: str, code: int, history: Path) -> None:
    """The reports contain whatever decides the exit code, so that every red or grey build has a reason."""
    made = validated(history, [came], [])
    made.over = ["accepted deviation x is over"] if came == "violated" else []
    run = results.run(made.data())
    assert (bool(run.of("differs")), bool(run.of("undecided"))) == (code == DIFFERS, code == STOPPED)
    assert ("accept" in [result.id for result in run.of("differs")]) is bool(made.over)
    assert {result.verdict for result in results.run(ValidationReport(made.target, PROFILE, 1, 1).data()).results} == {"none was judged"}


@pytest.mark.parametrize(("came", "kept"), [("holds", 0), ("undecided", 1), ("violated", 1)])
def test_remembered_program_is_forgotten_only_where_it_passed(came: str, kept: int, history: Path, tmp_path: Path) -> None:
    made, remembered = validated(history, [came], []), [Program(1, "", (("send", {}),))]
    assert memory.keep(made, remembered, tmp_path / "kept.json") == ""
    assert len(failures.read(tmp_path / "kept.json")) == kept


def test_user_test_on_target_does_not_pass_undecided(monkeypatch: pytest.MonkeyPatch, history: Path) -> None:
    monkeypatch.setattr(ownprograms, "judge_file", lambda path, profile: judged(path, 1, "undecided"))
    suite = SimpleNamespace(profile=PROFILE)
    with pytest.raises(Undecided, match=r"not decided: A at broker-a(.|\n)*--limit 1000000"):
        ownprograms.Suite._judged(cast(Any, suite), history, ())


# Kept runs


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bounded") / "report"
    options = ("--programs", "8", "--shrink", "0", "--states", "3", "--no-witnesses", "--no-remember")
    assert command(["validate", "--target", "inprocess", *options, "--report", str(folder)]) == STOPPED
    return folder


def test_larger_bound_decides_kept_run(done: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(done.parent)
    asked = ("validate", "--again", str(done), "--report", "run:run.json")
    for states, code, open_ in ((3, STOPPED, True), (100_000, OK, False), (None, OK, False)):
        assert command([*asked, *(() if states is None else ("--states", str(states)))]) == code
        assert ("Not decided" in capsys.readouterr().out) is open_
        kept = json.loads((done / "report.json").read_text())
        assert (bool(kept["undecided"]), kept["exit"]) == (open_, code)
        assert bool(reporting.read(Path("run.json")).of("undecided")) is open_


def test_resumed_run_keeps_or_replaces_its_bound(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(done, tmp_path / "report")
    for more, code in (((), STOPPED), (("--states", "100000"), OK)):
        assert command(["validate", "--resume", str(folder), *more]) == code
        assert json.loads((folder / "report.json").read_text())["exit"] == code


def test_newly_undecided_result_is_change(history: Path) -> None:
    before, now = (results.run(validated(history, [came], []).data()) for came in ("holds", "undecided"))
    changed = dict(compare(before, now, "run.json").sections())
    assert any(line.endswith("holds, now not decided") for line in changed["Other verdicts that changed"])
    assert "Newly not as expected" not in changed


# Unconfirmed verdicts


@given(st.lists(st.tuples(st.sampled_from(("INV-01", "INV-02")), st.sampled_from("ab")), max_size=6), st.data())
def test_judging_again_confirms_only_program_that_was_run_again(rows: list[tuple[str, str]], data: st.DataObject) -> None:
    """Before, one confirmed verdict made findings of all unconfirmed ones of its property."""
    made = []
    for number, (property_, at) in enumerate(rows, 1):
        judged_program = JudgedProgram(number, Path(f"histories/{number:05}.ndjson"), "", frozenset())
        judged_program.unconfirmed.append(ProgramFinding("claims", property_, "lost", at=at))
        made.append(judged_program)
    chosen = data.draw(st.sets(st.sampled_from(range(len(rows))))) if rows else set()
    smaller = data.draw(st.booleans())  # whose history differs from that of the program
    old = {
        "findings": [
            {"judge": "claims", "property": rows[place][0], "at": "elsewhere" if smaller else rows[place][1],
             "history": "smallest/00099.ndjson" if smaller else f"histories/{place + 1:05}.ndjson", "program": {"number": place + 1}}
            for place in chosen
        ]
    }  # fmt: skip
    restore(made, old)
    assert {place for place, one in enumerate(made) if one.deviations} == chosen
    assert all(len(one.deviations) + len(one.unconfirmed) == 1 for one in made)


@pytest.mark.parametrize("repeated", [True, False])
def test_unconfirmed_verdict_is_undecided_until_rerun(repeated: bool, history: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = validated(history, ["holds", "holds"], [])
    made.judged[1].unconfirmed.append(ProgramFinding("claims", "INV-01", "no answer", at="client 0, request 1 (send)"))
    made.repeated = {("claims", "INV-01")} if repeated else set()
    data = made.data()
    assert (data["exit"], [row["repeated"] for row in data["unconfirmed"]]) == (OK if repeated else STOPPED, [repeated])
    assert (data["findings"], bool(data["undecided"])) == ([], not repeated)
    assert bool(re.search(r"program 2 by the claims .*INV-01 .* was not repeated", printed(made, capsys))) is not repeated
