"""`rocketproof check` from the tokens to the exit code, the printed matrix and the JSON."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from counting import counting
from rich.console import Console

from rocketproof_model import Bool, Property, RocketproofError, symbolic
from rocketproof_model.language import const
from rocketproof_model.result import Outcome
from rocketproof_properties.catalogue.table import CASES
from rocketproof_properties.catalogue.themes import OTHER, THEMES, theme_of
from rocketproof_properties.commands.checks import show, summary
from rocketproof_properties.commands.checks.matrix import CheckReport, Gap
from rocketproof_properties.commands.checks.rows import Fairness, VerdictRow, _note
from rocketproof_properties.reports.output import Page

# The cases of the fixture `catalogue` and the way to run a command are in conftest.py.
Run = Callable[..., Any]
KEYS = [
    "property", "sentence", "profile", "condition", "engine", "scope", "verdict", "reason", "expected", "states", "transitions", "depth",
    "seconds", "witness", "trace", "invariants", "certificate", "fairness", "cached",
]  # fmt: skip

COUNTER = counting(
    'm.always("below two", n < 2, "the counter stays below two")',
    'm.step("grows", after(n) > n, "every step counts")',
    'm.reachable("full", n == N, "the counter can be full")',
    'm.eventually("fills", n == N, "the counter gets full")',
    'm.deadlock_free("ends full", "it stops only when it is full", unless=n == N)',
)


def rows_of(path: str | Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(Path(path).read_text())
    for row in rows:
        assert list(row) == KEYS
    return rows


def test_the_catalogue_with_all_verdicts_as_expected(catalogue: ModuleType, rocketproof: Run) -> None:
    done = rocketproof("check", "--all", "--json", "out.json")
    assert done.code == 0, done.out + done.err
    rows = rows_of("out.json")
    assert [(r["property"], r["engine"], r["verdict"]) for r in rows] == [
        ("D-1", "explicit", "holds"),
        ("D-1", "explicit", "violated"),
        ("D-2", "explicit", "holds"),
        ("D-2", "symbolic", "holds"),
        ("D-3", "explicit", "holds"),
        ("D-3", "symbolic", "holds"),
        ("D-4", "explicit", "holds"),
        ("D-5", "symbolic", "holds"),
        ("D-7", "symbolic", "violated"),
    ]
    assert rows[0]["states"] == 8 and rows[0]["profile"] == "P49" and rows[0]["scope"] == "small"
    assert done.out.splitlines()[-1].startswith("9 verdicts, all as expected, ")
    assert "blast never happened: no state passed its guard 'huge' (the door is huge)" in " ".join(done.out.split())
    assert "n = 2147483647" in done.out, "the values that refute a lemma should be printed"
    assert "a locked door is shut" in done.out


def test_a_witness_is_saved_named_and_shown(catalogue: ModuleType, rocketproof: Run) -> None:
    done = rocketproof("check", "--property", "D-1", "--json", "out.json", "--workers", "1")
    path = ".rocketproof/witnesses/D-1-P49-broken-lock.itf.json"
    assert rows_of("out.json")[1]["witness"] == path
    assert f"rocketproof show {path}" in done.out
    shown = rocketproof("show", path)
    assert shown.code == 0
    assert "enter" in shown.out and "a locked door is shut" in shown.out and "fails" in shown.out
    assert not Path(".rocketproof/witnesses/D-1-P49.itf.json").exists(), "a property that holds has no witness"


def test_outdated_witness_is_removed(catalogue: ModuleType, rocketproof: Run) -> None:
    folder = Path("w")
    folder.mkdir()
    old = folder / "D-1-P49.itf.json"
    old.write_text("{}")
    assert rocketproof("check", "--property", "D-1", "--witnesses", "w", "--workers", "1").code == 0
    assert sorted(p.name for p in folder.iterdir()) == ["D-1-P49-broken-lock.itf.json"]


def test_a_verdict_that_differs_is_exit_code_1(catalogue: ModuleType, rocketproof: Run) -> None:
    catalogue.CASES = tuple(replace(c, expected="holds") for c in catalogue.CASES if c.condition)
    done = rocketproof("check", "--json", "out.json")
    assert done.code == 1
    assert re.search(r"^  ! P49 +explicit +violated +holds", done.out, re.M), done.out
    assert "expected because a broken lock holds nothing" in " ".join(done.out.split())
    assert "1 not as expected" in done.out.splitlines()[-1]


def test_a_violation_that_has_vanished_is_exit_code_1(catalogue: ModuleType, rocketproof: Run) -> None:
    catalogue.CASES = tuple(replace(c, expected="violated") for c in catalogue.CASES if c.property == "D-4")
    assert rocketproof("check").code == 1


def test_a_vacuous_property_is_exit_code_1(catalogue: ModuleType, rocketproof: Run) -> None:
    case = catalogue.CASES[0]
    catalogue.CASES = (replace(case, property="D-6", claim="D-6", sentence="a door that was blown up is open"),)
    done = rocketproof("check")
    assert done.code == 1
    assert "vacuous: its premise never held" in " ".join(done.out.split())
    assert done.out.splitlines()[-1].startswith("1 verdict, 1 vacuous")


def test_profiles_with_the_same_switches_share_one_search(catalogue: ModuleType, rocketproof: Run) -> None:
    case = catalogue.CASES[0]
    catalogue.CASES = (case, replace(case, profile="P45"))
    done = rocketproof("check", "--all", "--json", "out.json")
    assert done.code == 0
    assert re.search(r"^ +P49 P45 +explicit +holds", done.out, re.M), done.out
    assert [r["profile"] for r in rows_of("out.json")] == ["P49", "P45"]
    assert "[1/1]" in done.err


def test_contradiction_between_engines_is_an_error(catalogue: ModuleType, rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(instance: Any, claim: Any, **_: Any) -> Outcome:
        return Outcome(claim, "symbolic", "violated")

    monkeypatch.setattr(symbolic, "induction", wrong)
    done = rocketproof("check", "--property", "D-2", "--workers", "1")
    assert done.code == 1
    assert "error: D-2 P49 small: explicit says holds, symbolic says violated; one engine is wrong" in done.out


def test_failing_engine_loses_only_its_own_verdicts(catalogue: ModuleType, rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Outcome:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(symbolic, "induction", fails)
    done = rocketproof("check", "--property", "D-2", "--workers", "1", "--json", "out.json")
    assert done.code == 1
    assert "failed: ZeroDivisionError: a mistake of ours" in done.out
    assert [(r["verdict"], r["reason"]) for r in rows_of("out.json")] == [("holds", ""), ("unknown", "engine gave up")]


def test_a_scope_whose_model_cannot_be_built(catalogue: ModuleType, rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    def refuses(name: str) -> Any:
        raise RocketproofError(f"scope {name} has 0 brokers; give it at least 1")

    monkeypatch.setattr(sys.modules["rocketproof_spec"], "part", refuses)
    done = rocketproof("check", "--scope", "tiny")
    assert (done.code, done.err.splitlines()[-1]) == (2, "rocketproof: scope tiny has 0 brokers; give it at least 1")


def test_a_model_file(rocketproof: Run) -> None:
    Path("counter.py").write_text(COUNTER)
    done = rocketproof("check", "counter.py", "--json", "out.json")
    assert done.code == 0, done.out + done.err
    rows = rows_of("out.json")
    assert [(r["property"], r["verdict"], r["expected"], r["states"]) for r in rows] == [
        ("below two", "violated", "violated", 4),
        ("grows", "holds", "holds", 4),
        ("full", "holds", "holds", 4),
        ("fills", "holds", "holds", 4),
        ("ends full", "holds", "holds", 4),
    ]
    assert rows[0]["witness"] == ".rocketproof/witnesses/counter-below-two.itf.json"
    assert rows[0]["profile"] == "" and rows[0]["scope"] == "small"
    assert "below two fails after step 2" in rocketproof("show", rows[0]["witness"]).out
    explained = rocketproof("explain", rows[0]["witness"], "--step", "1", "--why-not", "up")
    assert explained.code == 0 and "up() is enabled" in explained.out
    assert rocketproof("picture", rows[0]["witness"], "--output", "x.svg").code == 0
    assert Path("x.svg").read_text().startswith("<svg")


def test_another_scope_of_a_model_file(rocketproof: Run) -> None:
    Path("counter.py").write_text(COUNTER)
    rocketproof("check", "counter.py", "--scope", "large", "--json", "out.json")
    assert {r["states"] for r in rows_of("out.json")} == {7}


def test_all_engines_on_a_model_file_in_two_processes(rocketproof: Run) -> None:
    Path("counter.py").write_text(COUNTER)
    done = rocketproof("check", "counter.py", "--engine", "all", "--workers", "2", "--json", "out.json", "--seed", "7")
    assert done.code == 0, done.out + done.err
    said = {(r["property"], r["engine"]): r["verdict"] for r in rows_of("out.json")}
    assert len(said) == 5 + 4 + 4
    assert said["full", "simulate"] == "holds" and said["full", "symbolic"] == "holds"
    assert said["below two", "simulate"] == "violated" and said["below two", "symbolic"] == "violated"
    assert said["grows", "symbolic"] == "holds", "proved by induction"
    assert said["grows", "simulate"] == "unknown"
    again = rocketproof("check", "counter.py", "--engine", "all", "--workers", "1", "--json", "one.json", "--seed", "7")
    assert again.code == 0

    def timeless(path: str) -> list[dict[str, Any]]:
        return [{k: v for k, v in r.items() if k != "seconds"} for r in rows_of(path)]

    assert timeless("one.json") == timeless("out.json")


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
def test_value_outside_its_type_is_reported_with_its_path(engine: str, rocketproof: Run) -> None:
    Path("counter.py").write_text(COUNTER.replace("n < N,", "n <= N,"))
    done = rocketproof("check", "counter.py", "--engine", engine, "--json", "out.json")
    assert done.code == 2
    suffix = "" if engine == "explicit" else "-symbolic"
    assert done.err.splitlines()[-1] == (
        "rocketproof: counter.py: n becomes 4 by up(), outside Int(0, 3), after 3 steps, in state n=3; fix the model: give the variable "
        "a wider type, or the action a guard; its path: rocketproof show "
        f".rocketproof/witnesses/counter-small-model-error{suffix}.itf.json"
    )
    rows = {row["property"]: (row["verdict"], row["reason"]) for row in rows_of("out.json")}
    assert ("violated", "") in rows.values(), rows
    assert ("unknown", "model error") in rows.values()
    assert "the model has an error" in " ".join(done.out.split())
    shown = rocketproof("show", f".rocketproof/witnesses/counter-small-model-error{suffix}.itf.json")
    assert shown.code == 0
    assert "up() gives the variables values of their types" in shown.out
    assert shown.out.count("up()") >= 4
    assert "fails" in shown.out


@pytest.mark.parametrize("width", [80, 110, 160])
@pytest.mark.parametrize("options", [(), ("--all",)])
def test_output_fits_the_terminal(
    width: int, options: tuple[str, ...], catalogue: ModuleType, rocketproof: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    catalogue.CASES = tuple(replace(c, sentence=f"{c.sentence}, {'and so on ' * 12}") for c in catalogue.CASES)
    done = rocketproof("check", *options)
    long = [line for line in done.out.splitlines() if len(line.rstrip()) > width and "rocketproof show" not in line]
    assert not long
    assert "broken lock" in done.out


def test_few_properties_have_a_line_each(catalogue: ModuleType, rocketproof: Run) -> None:
    done = rocketproof("check")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:6] == [
        "       holds  violated as documented",
        "  D-1      1                       1  a locked door is shut",
        "  D-2      2                          the count never falls",
        "  D-3      2                          the door can be open",
        "  D-4      1                          an open door falls shut again",
        "  D-5      1                          n & 7 is between 0 and 7",
    ]
    assert any(re.fullmatch(r"D-1  a locked door is shut \(P49: broken lock, \d steps?\)", line) for line in lines)
    assert "        rocketproof show .rocketproof/witnesses/D-1-P49-broken-lock.itf.json" in lines
    assert "1 action never happened in some scope:  rocketproof check --all" in lines
    assert "guards that never refused" not in done.out


def test_many_properties_are_counted_by_theme(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [case for case in CASES if case.profile == "P49" and case.kind == "always" and case.expected == "holds"]
    rows = [VerdictRow(case.property, case.sentence, case.kind, "P49", "", "explicit", case.scope, "holds", "", "holds") for case in cases]
    summary.render(CheckReport(rows=[*rows, replace(rows[0], verdict="violated"), replace(rows[0], verdict="unknown", reason="time")]))
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r" +properties  holds  violated as documented  unexpected  undecided", lines[0])
    assert [re.split(r"  +", line)[0] for line in lines[1 : len(THEMES) + 1]] == list(THEMES)
    total = f"all +{len({row.id for row in rows})} +{len(rows)} +0 +1 +1"
    assert re.fullmatch(total, lines[len(THEMES) + 1])
    assert "Not as expected:" in lines


def test_every_property_of_the_catalogue_has_a_theme() -> None:
    assert {case.property for case in CASES if theme_of(case.property, case.sentence) == OTHER} == set()
    assert len(CASES) > 1_000


def test_an_unexpected_verdict_is_printed_in_full(catalogue: ModuleType, rocketproof: Run) -> None:
    catalogue.CASES = tuple(replace(c, expected="holds") if c.condition else c for c in catalogue.CASES)
    done = rocketproof("check")
    assert done.code == 1
    assert re.search(r"^! D-1 +1 +1  a locked door is shut$", done.out, re.M), done.out
    assert [line.split()[:5] for line in done.out.splitlines() if re.match(r"  [!?] P", line)] == [
        ["!", "P49", "explicit", "violated", "holds"]
    ]
    stopped = rocketproof("check", "--time", "1e-9")
    assert stopped.code == 3
    assert re.search(r"^\? D-2 +2  the count never falls$", stopped.out, re.M), stopped.out
    assert "? 9 undecided: stopped by the time limit" in stopped.out.splitlines()


def test_actions_stopped_by_the_same_guard_share_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    stopped = [Gap("P49", name, "huge", "the door is huge", "action") for name in ("blast", "burst")]
    report = CheckReport(gaps=[*stopped, Gap("P49", "paint", "dry", "the door is dry", "action")], covered={"P49": (3, 6)})
    report.actions = {"blast": "the door is blown up", "burst": "the door bursts", "paint": ""}
    show.print_coverage(report, Page(Console(width=100)))
    assert capsys.readouterr().out.splitlines()[3:] == [
        "    blast, burst never happened: no state passed their guard 'huge' (the door is huge)",
        "      blast: the door is blown up",
        "      burst: the door bursts",
        "    paint never happened: no state passed its guard 'dry' (the door is dry)",
    ]


WORKERS = '''
from rocketproof_model import Bool, Model, forall


def model(N=4):
    m = Model("workers")
    worker = m.index("Worker", N, symmetric=True)
    done = m.var("done", Bool, over=worker, init=False)

    @m.action(w=worker, fair="weak")
    def work(a, w):
        """A worker does its work."""
        a.guard("idle", ~done[w], "the work is to be done")
        a.set(done[w], True)

    m.reachable("all", forall(worker, lambda w: done[w]), "all can be done")
    m.eventually("ends", forall(worker, lambda w: done[w]), "all get done")
    return m
'''


def test_symmetry_is_used_reported_and_can_be_disabled(rocketproof: Run, tmp_path: Path) -> None:
    path = tmp_path / "workers.py"
    path.write_text(WORKERS)
    short = rocketproof("check", str(path), "--property", "all")
    assert (short.code, "5 states up to symmetry of Worker" in " ".join(short.out.split())) == (0, True), short
    whole = rocketproof("check", str(path), "--property", "all", "--no-symmetry", "--json", str(tmp_path / "rows.json"))
    assert (whole.code, "symmetry" in whole.out) == (0, False)
    assert [row["states"] for row in rows_of(tmp_path / "rows.json")] == [16]
    live = rocketproof("check", str(path))
    assert live.out.count("16 states without the symmetry of Worker: fairness is each element's own") == 2


FAIR = """
from rocketproof_model import Int, Model


def model():
    m = Model("fair")
    at = m.var("at", Int(0, 2), init=0)
    for name, fair, source, target in (("go", "weak", 0, 1), ("back", None, 1, 0), ("leave", "strong", 1, 2), ("rest", "weak", 2, 0)):

        @m.action(fair=fair, name=name)
        def step(a, source=source, target=target):
            "One step."
            a.guard("here", at == source, "it is here")
            a.set(at, target)

    m.leads_to("left", at == 0, at == 2, "who starts leaves in the end")
    m.leads_to("gone", at == 0, at >= 0, "who starts is somewhere")
    m.leads_to("left again", at == 1, at == 0, "who is there comes back by itself")
    m.always("small", at < 3, "there are three places")
    return m
"""


def test_relevant_fairness_is_printed_and_in_the_row(rocketproof: Run) -> None:
    Path("fair.py").write_text(FAIR)
    done = rocketproof("check", "fair.py", "--json", "rows.json")
    said = {row["property"]: row["fairness"] for row in rows_of("rows.json")}
    assert said == {
        "left": {"needed": ["go", "leave"], "enough": ["go", "leave"], "strengthen": {}},
        "gone": {"needed": [], "enough": [], "strengthen": {}},
        "left again": {"needed": ["leave", "rest"], "enough": ["leave", "rest"], "strengthen": {}},
        "small": None,
    }
    text = " ".join(done.out.split())
    assert "needs fairness of go, leave" in text and "needs no fairness" in text
    Path("fair.py").write_text(FAIR.replace('"strong"', '"weak"'))
    rocketproof("check", "fair.py", "--json", "rows.json")
    assert {row["property"]: row["fairness"] for row in rows_of("rows.json")}["left"]["strengthen"] == {"leave": "strong"}


def test_one_of_several_sufficient_fairness_sets_is_reported() -> None:
    details = {"needs_fairness": ["go"], "enough_fairness": ["go", "one"]}
    claim = Property("left", "", "leads_to", const(1, Bool), const(1, Bool))
    fairness = Fairness.of(Outcome(claim, "explicit", "holds", details=details))
    assert fairness is not None
    assert fairness.note == "needs fairness of go; fairness of go, one suffices"
    assert replace(fairness, needed=()).note == "fairness of go, one suffices"


def test_row_undecided_for_memory_states_the_needed_memory() -> None:
    row = VerdictRow("left", "", "leads_to", "", "", "explicit", "", "unknown", "memory", "holds", note="its fair loops need 3,072 MB")
    assert show.remark(row) == "stopped by the memory limit; its fair loops need 3,072 MB"
    claim = Property("left", "", "leads_to", const(1, Bool), const(1, Bool))
    assert _note(Outcome(claim, "explicit", "unknown", "memory", details={"needs_bytes": 3 << 30})) == row.note
