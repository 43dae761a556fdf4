"""Generated mutants of the specification: what detects them, which are equivalent, and interrupted runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nonempty import nonempty
from rocketproof_lab.mutation import arguments
from rocketproof_lab.mutation.results import UNDECIDED, MutationReport, read_known
from rocketproof_lab.mutation.runner import CTRL_C, TIME, MutationRun, RunLimits
from rocketproof_lab.mutation.specification import by_models
from rocketproof_lab.mutation.specification.by_models import FORMAT, MutantEvidence, MutantTask, TrialByModels
from rocketproof_lab.mutation.specification.claims import Notice
from rocketproof_lab.mutation.specification.mutants import SpecificationMutant, chosen, generated
from rocketproof_properties.commands import run as command
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.reports.choices import InputError

SOME = {
    "locks/give_up: job.step without ~job[r].second": ("noticed", "INV-25.twice"),
    "locks/second: guard 'nobody has to give up' dropped": ("noticed", "INV-25"),
    "locks/arrive: job.step without (job[request 0].step != holds)": ("noticed", "implementation"),
    "locks/release: held set to one less": ("noticed", "types"),
    "locks/give_up: job.second without ~job[r].second": ("equal", ""),
    "locks/give_up: guard 'waits' dropped": ("unreachable", ""),
    "patience/lock_times_out: guard 'at it' negated": ("noticed", "LIV-07.fair"),
    "patience/second: cost with ((cost + 1) < 16) taken for <=": ("equal", ""),
    "news/begin: guard 'not begun' dropped": ("noticed", "implementation"),
}


def run(mutants: Sequence[SpecificationMutant], **more: Any) -> MutationReport:
    return MutationRun(TrialByModels(), workers=1, **more).report(mutants)


@pytest.fixture(scope="module")
def some() -> MutationReport:
    return run(chosen(list(SOME), None, 0))


def test_report_states_what_detects_mutant_or_why_nothing_does(some: MutationReport) -> None:
    assert {row.id: (row.verdict, row.by) for row in some.rows} == SOME
    assert some.exit_code == 0
    by_id = {row.id: row for row in some.rows}
    refused = by_id["news/begin: guard 'not begun' dropped"]
    assert refused.how.startswith("begin(offset=0): allowed, and the implementation cannot do it: the clocks run already")
    other = by_id["locks/arrive: job.step without (job[request 0].step != holds)"]
    assert "in the implementation job[request 1].step is waits, not holds" in other.how
    assert all(row.more["compared"] > 0 for row in some.rows)


def test_survivor_is_reported_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without claims, and with an implementation that detects nothing, a deviating mutant survives."""
    from rocketproof_lab.mutation.specification.explored import ExploredInstance

    monkeypatch.setattr(ExploredInstance, "by_claims", lambda *_: None)
    monkeypatch.setattr(ExploredInstance, "by_implementation", lambda *_: None)
    assert command(["mutate", "--specification", "locks/give_up: job.step not set", "--workers", "1"]) == 1
    out = capsys.readouterr().out
    assert "Survived:\n  locks/give_up: job.step not set" in out
    assert "1 mutant, 0.0 % of the decided ones did not survive" in out


def test_deviating_unmutated_implementation_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    from rocketproof_lab.mutation.specification import explored

    request.addfinalizer(explored.small.cache_clear)  # an explored instance keeps its deviations, and later tests would have them

    class Found(ConformanceError):
        def __init__(self) -> None:
            self.text, self.steps = "begin() should lead elsewhere", ["begin()"]

    def deviates(*_: Any) -> None:
        raise Found

    monkeypatch.setattr(explored, "attempt", deviates)
    monkeypatch.setattr(explored.ExploredInstance, "by_claims", lambda *_: None)
    assert command(["mutate", "--specification", "patience/begin: doing with known the other way round", "--workers", "1"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "The implementation deviates from the specification itself: patience P40" in out
    assert "begin(): begin() should lead elsewhere" in out


def stops_after(times: int) -> Callable[[str, int, int], None]:
    heard: list[str] = []

    def progress(what: str, done: int, total: int) -> None:
        heard.append(what)
        if len(heard) > times:
            raise KeyboardInterrupt

    return progress


@pytest.fixture(scope="module")
def sample() -> tuple[SpecificationMutant, ...]:
    return chosen(["locks"], 24, 1)


@pytest.fixture(scope="module")
def every(sample: tuple[SpecificationMutant, ...]) -> MutationReport:
    return run(sample)


def test_interrupted_run_keeps_results_and_resumes(
    sample: tuple[SpecificationMutant, ...], every: MutationReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = run(sample, progress=stops_after(1))
    assert stopped.stopped == CTRL_C and stopped.exit_code == 3
    counts = stopped.counts
    assert 0 < counts[UNDECIDED] < len(stopped.rows) == len(every.rows) == 24
    assert stopped.deviations is not None
    stopped.deviations.append("locks: the implementation does otherwise")
    file = tmp_path / "mutants.json"
    file.write_text(json.dumps(stopped.record()))
    known = read_known(file, FORMAT)
    assert len(known.rows) == len(stopped.rows) - counts[UNDECIDED]
    original, asked = by_models.in_small, []
    monkeypatch.setattr(by_models, "in_small", lambda task: asked.extend(task.mutants) or original(task))
    again = run(sample, known=known)
    assert again.rows == every.rows
    assert {each.id for each in asked} == {row.id for row in every.rows} - {row.id for row in known.rows}
    assert again.deviations == stopped.deviations and again.exit_code == 1


def test_findings_of_large_instances_count_in_order(sample: tuple[SpecificationMutant, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of responses does not matter: a later instance's result is ignored once an earlier one detected the mutant."""
    one, two, both = sample[:3]
    finds = {7: [one, both], 3: [two, both]}
    work = TrialByModels()
    work.mutants, work._limits = [one, two, both], RunLimits(2, float("inf"), lambda *_: None, lambda _: None)
    work.seen = {each.id: MutantEvidence() for each in work.mutants}

    def answer(task: MutantTask) -> dict[str, MutantEvidence]:
        return {each.id: MutantEvidence(Notice("implementation", str(task.number), ""), compared=5) for each in finds[task.number]}

    monkeypatch.setattr(work, "_spread", lambda do, tasks, _: reversed([(task, do(task)) for task in tasks]))
    work._in_order("", answer, {number: MutantTask((), number=number) for number in finds}, lambda *_: True)
    notices = {id_: seen.notice for id_, seen in work.seen.items()}
    assert {id_: notice and notice.where for id_, notice in notices.items()} == {one.id: "7", two.id: "3", both.id: "7"}
    assert work.seen[both.id].compared == 5


def test_limit_of_time_leaves_mutants_undecided(sample: tuple[SpecificationMutant, ...]) -> None:
    report = run(sample, seconds=1e-9)
    assert report.stopped == TIME and report.exit_code == 3
    assert 0 < report.counts[UNDECIDED] < len(report.rows)


def test_sample_is_drawn_by_its_seed() -> None:
    one, two, other = (chosen(["persistence"], 20, seed) for seed in (1, 1, 2))
    assert one == two != other
    assert len(one) == len(other) == 20
    assert {each.part for each in one} == {"persistence"}


def test_part_action_or_both_select_mutants() -> None:
    parts = {each.part for each in chosen(["start"], None, 0)}
    assert parts >= {"sending", "persistence", "recovery"}
    assert {each.part for each in chosen(["recovery/start"], None, 0)} == {"recovery"}


def test_each_guard_and_assigned_variable_has_mutant() -> None:
    from rocketproof_lab.mutation.specification.instances import PARTS, mutated_model, scopes
    from rocketproof_spec import part

    for name in nonempty(PARTS):
        for scope in nonempty(scopes(name)):
            made = mutated_model(scope).mutants.values()
            guards = {(mutant.action, mutant.guard) for mutant in made if mutant.guard}
            sets = {(mutant.action, mutant.sets) for mutant in made if mutant.sets}
            for action in nonempty(part(scope).model.actions):
                wanted = {(action.name, guard.name) for guard in action.guards if not guard.bound and guard.condition.op != "const"}
                assert wanted <= guards
                assert {(action.name, u.target.args[0].name) for u in action.updates if u.target.args[0].type.size > 1} <= sets


def test_each_argument_is_about_some_mutant() -> None:
    ids = [each.id for each in generated()]
    patterns = [pattern for some in arguments.SPECIFICATION.values() for pattern in some]
    unused = [pattern for pattern in patterns if not any(re.fullmatch(pattern, id_) for id_ in ids)]
    assert not unused, "remove them, or name the mutants that are meant"


BAD_FILES = {
    "no file": (None, "cannot be read (No such file or directory); give the file that --json wrote"),
    "no json": ("{", "is no result of mutate --specification"),
    "another schema": ('{"schema": "x", "version": 1}', "is no result of mutate --specification"),
    "another specification": ({"specification": "0"}, "is about another specification or catalogue"),
    "odd rows": ({"mutants": [{"id": 1}]}, "is no result of mutate --specification"),
}


@pytest.mark.parametrize(("text", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_unusable_resume_file_is_refused(text: str | dict[str, Any] | None, words: str, tmp_path: Path) -> None:
    """Each dictionary describes a change of a valid file, which takes seconds to make and is thus not made at collection."""
    file = tmp_path / "mutants.json"
    if text is not None:
        file.write_text(text if isinstance(text, str) else json.dumps({**dict(MutationReport(FORMAT, deviations=[]).record()), **text}))
    with pytest.raises(InputError, match=re.escape(words)):
        read_known(file, FORMAT)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["--specification", "aquire_lock"], "'aquire_lock' is no part, action or mutant of the specification; the nearest of"),
        (["--specification", "--tests", "tests"], "--tests with --specification"),
        (["--sample", "3"], "--sample is for mutants of the specification: add --specification or leave it out"),
        (["--resume", "x.json"], "--resume is for mutants of the specification"),
        (["--all"], "--all is for mutants of the specification"),
        (["--generated", "3", "releases", "--tests", "tests"], "--tests with releases: tests ask for the profile as it is"),
        (["--generated", "3", "nowhere"], "'nowhere' is no change; give a part (broker, store, name server, producer), a module"),
    ],
)
def test_bad_usage_is_one_line(tokens: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["mutate", *tokens]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert words in err and len(err.splitlines()) == 1


def test_command_writes_each_mutant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.json"
    asked = ["patience/second: cost with ((cost + 1) < 16) taken for <=", "locks/give_up: job.step not set"]
    assert command(["mutate", "--specification", *asked, "--json", str(file), "--workers", "1", "--all"]) == 0
    data = json.loads(file.read_text())
    assert data.keys() == {"schema", "version", "specification", "stopped", "seconds", "counts", "deviations", "mutants"}
    assert (data["schema"], data["version"], data["stopped"]) == ("rocketproof-specification-mutants", 1, None)
    assert {row["id"] for row in data["mutants"]} == set(asked)
    assert all(row.keys() == FORMAT.columns.keys() for row in data["mutants"])
    out = capsys.readouterr().out
    assert "equal" in out and asked[0] in out
    assert "2 mutants, 100.0 % of the decided ones did not survive" in out
