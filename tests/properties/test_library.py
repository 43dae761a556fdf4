"""A user's test checks and asserts a model: accepted arguments, the output of a failure, and refused arguments."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import rocketproof
from rocketproof import (
    Bool,
    Int,
    Limits,
    Model,
    Refuted,
    RocketproofError,
    Undecided,
    assert_holds,
    assert_violated,
    check,
    exists,
    implies,
)
from rocketproof_properties import commands as cli


def lock(processes: int = 2, guarded: bool = True) -> Model:
    """Processes enter if the room is empty. Without the constant `atomic` they look first and enter later."""
    m = Model("lock")
    P = m.index("P", processes)
    atomic = m.constant("atomic", Bool, guarded)
    looked = m.var("looked", Bool, over=P, init=False)
    inside = m.var("inside", Bool, over=P, init=False)
    count = m.var("count", Int(0, processes), init=0)

    @m.action(p=P)
    def look(a: Any, p: Any) -> None:
        """It sees that nobody is inside."""
        a.guard("not yet", ~looked[p] & ~inside[p], "it has not looked")
        a.guard("free", count == 0, "nobody is inside")
        a.set(looked[p], True)

    @m.action(p=P)
    def enter(a: Any, p: Any) -> None:
        """It enters."""
        a.guard("looked", looked[p], "it has looked")
        a.guard("still free", ~atomic | (count == 0), "nobody has entered since, where that is one step")
        a.set(looked[p], False)
        a.set(inside[p], True)
        a.set(count, count + 1)

    m.always("exclusion", count < 2, "at most one process is inside")
    m.reachable("entered", exists(P, lambda p: inside[p]), "a process can enter")
    m.reachable("crowd", count == processes, "all are inside")
    m.always("never asked", implies(count > 1, count < processes), "two are never all")
    m.leads_to("progress", looked[0], inside[0], "who has looked enters")
    return m


FINISHED = lock(guarded=False)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def inner() -> Callable[[], Model]:
    def build() -> Model:
        return lock(guarded=False)

    return build


# check


FORMS: dict[str, Any] = {"builder": lock, "model": lock(), "instance": lock().given(atomic=True), "file": f"{__file__}::lock"}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)
def test_model_can_be_builder_model_instance_or_file(given: Any) -> None:
    results = check(given)
    assert [(result.property.id, result.verdict) for result in results] == [
        ("exclusion", "holds"),
        ("entered", "holds"),
        ("crowd", "violated"),
        ("never asked", "holds"),
        ("progress", "violated"),
    ]
    assert (results["exclusion"].states, len(results["entered"].witness or ())) == (8, 2)
    assert results.vacuous == {"never asked"}
    assert not results.held and [result.property.id for result in results.violated] == ["crowd", "progress"] and not results.undecided
    assert results["at most one  process is inside"] is results["exclusion"] is results[0]


def test_sizes_and_constants_are_given_by_name() -> None:
    assert check(lock, property="exclusion", processes=3)[0].states > check(lock, property="exclusion")[0].states
    assert check(lock, property=["exclusion", "a process can enter"], processes=3, atomic=False)["exclusion"].verdict == "violated"
    assert check(lock(), property="exclusion", atomic=False)[0].verdict == "violated"
    assert check(f"{__file__}::lock", property="exclusion", processes=1, atomic=False)[0].verdict == "holds"


def test_specification_is_checked_in_scope_under_profile() -> None:
    results = check(property="REA-55", scope="flush", profile="P49")
    assert [result.verdict for result in results] == ["holds"]


@pytest.mark.parametrize(("engine", "verdict"), [("symbolic", "holds"), ("simulate", "unknown")])
def test_other_engines_decide_supported_properties(engine: Any, verdict: str) -> None:
    assert check(lock, property="exclusion", engine=engine)[0].verdict == verdict


def test_outcomes_are_no_truth() -> None:
    """Otherwise `assert check(model)` would pass for every outcome."""
    with pytest.raises(TypeError, match=r"ask \.held, or use assert_holds"):
        assert check(lock, property="exclusion")


WRONG = {
    "unknown size": (lambda: check(lock, proceses=3), "proceses is no size and no constant of model lock; use processes, guarded, atomic"),
    "constant out of type": (lambda: check(lock, atomic="perhaps"), "constants of model lock: "),
    "unknown property": (lambda: check(lock, property="exclusoin"), "unknown property 'exclusoin'; use exclusion"),
    "no property named": (lambda: check(lock, property=[]), "no property; name one"),
    "no model": (lambda: check(7), "int is no model; give a Model, a function"),  # type: ignore[arg-type]  # wrong on purpose
    "no Model returned": (lambda: check(lambda: None), "returned NoneType; end it with `return m`"),  # type: ignore[arg-type,return-value]  # so is this
    "size missing": (lambda: check(lambda n: lock(n)), "cannot be called so: missing a required argument: 'n'; give its sizes"),
    "no properties": (lambda: check(_bare()), "model bare has no properties; state some"),
    "no variables": (lambda: check(Model("empty")), "model empty has no variables"),
    "scope of a model": (lambda: check(lock, scope="tiny"), "scope='tiny' with a model of your own"),
    "no such file": (lambda: check("nowhere.py"), "no such file nowhere.py"),
    "no such name": (lambda: check(f"{__file__}::lok"), "no lok in this file"),
    "engine": (lambda: check(lock, engine="explict"), "unknown engine 'explict'"),  # type: ignore[arg-type]  # and this
    "not by this engine": (lambda: check(lock, engine="symbolic"), "symbolic does not decide progress (leads_to)"),
    "workers": (lambda: check(lock, workers=0), "workers=0 is not positive"),
    "not asked": (lambda: check(lock, property="crowd")["exclusion"], "'exclusion' was not asked for; those that were: crowd"),
}


def _bare() -> Model:
    m = Model("bare")
    n = m.var("n", Int(0, 1), init=0)

    @m.action()
    def up(a: Any) -> None:
        """It goes up."""
        a.guard("low", n == 0, "it is low")
        a.set(n, 1)

    return m


@pytest.mark.parametrize("case", WRONG)
def test_unsuitable_arguments_are_refused_in_one_line(case: str) -> None:
    call, said = WRONG[case]
    with pytest.raises(RocketproofError, match=re.escape(said)) as refused:
        call()
    assert "\n" not in str(refused.value)


# Assertions


def test_property_is_asserted_by_id_sentence_or_object() -> None:
    model = lock()
    for named in ("exclusion", "At most one process is inside", model.property("exclusion")):
        assert assert_holds(model, named).held


EXPECTED = """\
'exclusion' is violated in lock with processes=2, atomic=False

exclusion (always)
at most one process is inside
"""


def test_failure_shows_shortest_witness_and_command_to_repeat(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError) as failed:
        assert_holds(lock, "exclusion", processes=2, atomic=False)
    text = str(failed.value)
    assert text.startswith(EXPECTED)
    assert isinstance(failed.value, Refuted) and failed.value.outcome.witness is not None and len(failed.value.outcome.witness) == 4
    assert "exclusion fails after step 4" in text
    command = text.splitlines()[-1].split()
    assert command[:2] == ["rocketproof", "show"] and command[2] == failed.value.file
    assert cli.run([*command[1:], "--width", "100"]) == 0
    shown = "".join(line.rstrip() + "\n" for line in capsys.readouterr().out.splitlines()[:-1])
    assert shown.rstrip() in text


@pytest.mark.parametrize("model", [FINISHED, lock().given(atomic=False)], ids=["of the module", "an instance of nobody"])
def test_witness_of_finished_model_keeps_known_location(model: Any) -> None:
    with pytest.raises(Refuted) as failed:
        assert_holds(model, "exclusion")
    file = failed.value.file
    assert file is not None
    origin = json.loads(Path(file).read_text("utf-8"))["#meta"]["rocketproof"]["origin"]
    assert (origin["file"] if origin else None) == (f"{__file__}::FINISHED" if model is FINISHED else None)
    assert len(rocketproof.load_witness(file, model)) == 4


def test_witness_of_local_model_is_read_with_its_model() -> None:
    with pytest.raises(Refuted, match=r"rocketproof\.load_witness\('.*lock-exclusion.itf.json', model\) reads it") as failed:
        assert_holds(inner(), "exclusion")
    file = str(failed.value.file)
    with pytest.raises(RocketproofError, match="does not say which model it belongs to; read it with that"):
        rocketproof.load_witness(file)
    assert len(rocketproof.load_witness(file, inner())) == 4


def test_without_names_all_properties_are_asserted_and_violations_listed() -> None:
    with pytest.raises(Refuted) as failed:
        assert_holds(lock)
    assert "also violated: progress: who has looked enters" in str(failed.value)
    assert "'crowd' is violated in lock\nall are inside\nno reachable state of 8 is such" in str(failed.value)


def test_vacuously_true_property_does_not_pass() -> None:
    with pytest.raises(Refuted, match="'never asked' holds in lock only because its premise is true in no reachable state: two"):
        assert_holds(lock, "never asked")


def test_known_violation_is_asserted_and_its_witness_returned() -> None:
    witness = assert_violated(lock, "exclusion", atomic=False)
    assert witness is not None and [move.action for move in witness.moves] == ["look", "look", "enter", "enter"]
    assert assert_violated(lock, "crowd") is None
    with pytest.raises(Refuted, match="'exclusion' holds in lock, in 8 states: at most one process is inside"):
        assert_violated(lock, "exclusion")


@pytest.mark.parametrize("asserted", [assert_holds, assert_violated])
def test_limit_raises_its_own_error(asserted: Callable[..., object]) -> None:
    with pytest.raises(Undecided, match=r"'exclusion' of lock with processes=3 is unknown \(states\)") as open_:
        asserted(lock, "exclusion", limits=Limits(states=3), processes=3)
    assert not isinstance(open_.value, AssertionError) and open_.value.outcome.reason == "states"


def test_unsaved_witness_is_still_shown(tmp_path: Path) -> None:
    (tmp_path / ".rocketproof").write_text("a file", "utf-8")
    with pytest.raises(Refuted, match=r"(?s)fails after step 4.*not kept: .* cannot be written") as failed:
        assert_holds(lock, "exclusion", atomic=False)
    assert failed.value.file is None


# Brokers, histories, stores

DATA = Path(__file__).resolve().parents[1] / "data"


def test_target_and_judge_return_clients_and_verdicts(tmp_path: Path) -> None:
    with rocketproof.Target("inprocess", profile="P494", histories=tmp_path / "kept") as target:
        client = target.client()
        answer = client.send(topic="orders", body="one")
        assert answer is not None and answer.code == 0
        judged = target.judge(client)
        assert judged.findings == [] and judged.path.parent == tmp_path / "kept"
    found = rocketproof.judge(judged.path, profile="p494")
    assert (found.verdict, found.findings) == ("ok", ()) and found.explained > 0
    with pytest.raises(RocketproofError, match="target inprocess is not open; use it in a with statement"):
        target.client()


def test_folder_of_histories_can_be_used_again(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with rocketproof.Target("inprocess", profile="P494", histories=tmp_path) as target:
            assert target.perform([("send", {"topic": "orders"}), ("topic", {"topic": "orders"})]).findings == []
        assert sorted(path.name for path in tmp_path.iterdir()) == [f"{index:05}.ndjson" for index in range(1, number + 1)]


def test_targets_histories_and_stores_that_are_none_are_refused() -> None:
    for call, said in (
        (lambda: rocketproof.Target("inprocess", profile="P4"), "unknown profile 'P4'"),
        (lambda: rocketproof.Target("nonsense").__enter__(), "--target nonsense"),
        (lambda: rocketproof.judge("nowhere", profile="P494"), "nowhere is no file"),
        (lambda: rocketproof.judge(DATA, profile="P494"), "is no file"),
        (lambda: rocketproof.audit(), "no store"),
        (lambda: rocketproof.audit(DATA, property="INV-99"), "INV-99"),
    ):
        with pytest.raises(RocketproofError, match=re.escape(said)):
            call()


# The explorer


def document(file: Path) -> Any:
    """Return the document embedded in a page."""
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', file.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_witness_counterexample_and_walk_are_written_as_pages(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    rocketproof.explore(lock, "exclusion", html=page, atomic=False)
    of_model = document(page)
    assert [step["action"] for step in of_model["steps"]] == ["look", "look", "enter", "enter"]
    rocketproof.explore(assert_violated(lock, "exclusion", atomic=False), html=page)
    assert document(page)["states"] == of_model["states"]
    with pytest.raises(Refuted) as failed:
        assert_holds(lock, "exclusion", atomic=False)
    rocketproof.explore(failed.value.file, html=str(page))
    assert document(page)["steps"] == of_model["steps"]
    rocketproof.explore(lock, html=page)
    assert (document(page)["steps"], len(document(page)["states"])) == ([], 1)
    rocketproof.explore(lock, "exclusion", html=page)
    assert "There is no trace to show (exclusion: holds)" in document(page)["note"]


def test_unsuitable_objects_cannot_be_explored(tmp_path: Path) -> None:
    witness = assert_violated(lock, "exclusion", atomic=False)
    (tmp_path / "file").touch()
    for call, said in (
        (lambda: rocketproof.explore(witness, "exclusion"), "a witness is opened as it is"),
        (lambda: rocketproof.explore("nowhere.itf.json"), "nowhere.itf.json"),
        (lambda: rocketproof.explore(lock, html=tmp_path / "file" / "page.html"), "is a file and no folder"),
        (lambda: rocketproof.explore(lock, port=70_000), "port=70000 is no port"),
    ):
        with pytest.raises(RocketproofError, match=re.escape(said)):
            call()


def test_show_writes_document_of_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refuted) as failed:
        assert_holds(lock, "exclusion", atomic=False)
    assert cli.run(["show", str(failed.value.file), "--json", "trace.json"]) == 0
    assert "exclusion fails after step 4" in capsys.readouterr().out
    made = json.loads(Path("trace.json").read_text("utf-8"))
    schema = json.loads((DATA.parents[1] / "traces/docs/trace.schema.json").read_text("utf-8"))
    jsonschema.validate(made, schema)
    assert (made["kind"], len(made["steps"]), made["live"]) == ("trace", 4, None)
    Path("found.py").write_text("def test_it() -> None: ...\n", "utf-8")
    assert cli.run(["show", "found.py", "--json", "trace.json"]) == 2
    assert "a program of messages is a test and has no states" in capsys.readouterr().err


def test_failing_test_shows_only_its_line_and_witness(tmp_path: Path) -> None:
    Path("test_mine.py").write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_library import lock\nfrom rocketproof import assert_holds\n\n"
        "def test_race():\n    assert_holds(lock, 'exclusion', atomic=False)\n\n"
        "def test_typo():\n    assert_holds(lock, 'exclusoin')\n\n"
        "def test_size():\n    assert_holds(lock, 'exclusion', proceses=2)\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert "3 failed" in said and "E       rocketproof.Refuted: 'exclusion' is violated in lock with atomic=False" in said
    assert "unknown property 'exclusoin'" in said and "proceses is no size" in said
    assert "rocketproof_properties/" not in said
