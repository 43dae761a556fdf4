"""A witness becomes a test that passes today, needs nothing but `import rocketproof`, and fails when a guard or the property changes."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rocketproof
from nonempty import nonempty
from rocketproof import Int, Model, Refuted, RocketproofError, assert_shows
from rocketproof_properties import commands as cli
from rocketproof_properties.brokers.runs import client as session

MODEL = """
from rocketproof import Int, Model

def counter(top=3):
    m = Model("counter")
    n = m.var("n", Int(0, top + 1), init=0)
    @m.action(fair="weak")
    def up(a):
        "It counts."
        a.guard("below", n < top, "the count is below the top")
        a.set(n, n + 1)
    @m.action()
    def start_again(a):
        "It starts again."
        a.guard("begun", n > 0, "it has counted")
        a.set(n, 0)
    m.always("low", n < 2, "the count stays low")
    m.reachable("three", n == 3, "it counts to three")
    m.step("never two down", n < 2, "it never falls from two")
    m.deadlock_free("on", "it goes on")
    m.leads_to("top", n == 0, n == top, "it comes to the top")
    return m

def model():
    return counter()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counting.py").write_text(MODEL, "utf-8")
    return tmp_path


def written(property: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    kept = Path(".rocketproof/witnesses")
    cli.run(["check", *more, "--property", property, "--engine", "explicit"])
    (file,) = [path for path in kept.iterdir() if property.replace(" ", "-") in path.name]
    capsys.readouterr()
    assert cli.run(["to-test", str(file)]) == 0
    return capsys.readouterr().out


def outcome(source: str, tmp_path: Path) -> Callable[[], dict[str, str]]:
    """Return a function that runs the functions of a test: "" for a passed one, otherwise the error."""
    names: dict[str, Any] = {}
    exec(compile(source, str(tmp_path / "test_it.py"), "exec"), names)

    def run() -> dict[str, str]:
        said = {}
        for name, function in names.items():
            if name.startswith("test_"):
                try:
                    function()
                    said[name] = ""
                except (AssertionError, RocketproofError) as error:
                    said[name] = f"{type(error).__name__}: {error}"
        return said

    return run


CHANGES = [
    (
        "low",
        'n < top, "the count',
        'n < 1, "the count',
        "step 2 of counter, up(), is refused by guard 'below' (the count is below the top)",
    ),
    ("low", 'm.always("low", n < 2', 'm.always("low", n < 3', "the steps do not show 'low' of counter: at the end it holds"),
    ("three", "n + 1", "n", "at the end it not yet"),
    ("never two down", 'm.step("never two down", n < 2', 'm.step("never two down", n < 9', "at the end it holds"),
    ("top", "@m.action()\n    def start", '@m.action(fair="weak")\n    def start', ""),
    ("top", 'm.leads_to("top", n == 0, n == top', 'm.leads_to("top", n == 0, n == 1', "in the loop it is not always waited for"),
]


@pytest.mark.parametrize(("property", "before", "after", "said"), CHANGES, ids=[f"{row[0]} {k}" for k, row in enumerate(CHANGES)])
def test_test_passes_and_fails_when_model_changes(
    folder: Path, capsys: pytest.CaptureFixture[str], property: str, before: str, after: str, said: str
) -> None:
    run = outcome(written(property, capsys, "counting.py"), folder)
    assert list(run().values()) == [""]
    assert MODEL.count(before) == 1
    (folder / "counting.py").write_text(MODEL.replace(before, after), "utf-8")
    (error,) = run().values()
    assert said in error and bool(said) == bool(error)


def test_it_runs_as_file_of_pytest_without_our_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "test_it.py").write_text(written("low", capsys, "counting.py"), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_witness_of_specification_is_also_performed_on_implementation(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = written("REA-55", capsys, "--scope", "flush", "--profile", "P49")
    assert source.startswith('"""REA-55 can be reached, in ') and 'on="implementation"' in source
    run = outcome(source, folder)
    assert list(run()) == ["test_rea_55_in_the_model", "test_rea_55_on_the_implementation"] and set(run().values()) == {""}
    from rocketproof_properties.conformance.drivers.flushing import FlushingDriver

    monkeypatch.setattr(FlushingDriver, "perform", lambda *_: None)
    said = run()
    assert said["test_rea_55_in_the_model"] == "" and "Refuted: implementation does otherwise" in said["test_rea_55_on_the_implementation"]


def test_program_of_messages_is_test_already(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("found.py").write_text("def test_inv_01() -> None: ...\n", "utf-8")
    assert cli.run(["to-test", "found.py"]) == 0
    assert capsys.readouterr().out == "def test_inv_01() -> None: ...\n"


def test_witness_that_no_test_can_show_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written("low", capsys, "counting.py")
    (file,) = Path(".rocketproof/witnesses").glob("*low*")
    whole = json.loads(file.read_text("utf-8"))
    whole["states"] = whole["states"][1:]
    whole["#meta"]["rocketproof"]["moves"] = whole["#meta"]["rocketproof"]["moves"][1:]
    file.write_text(json.dumps(whole), "utf-8")
    assert cli.run(["to-test", str(file)]) == 2
    assert "does not begin in the initial state" in capsys.readouterr().err
    assert cli.run(["to-test", "nowhere.itf.json"]) == 2


def test_steps_that_are_none_are_refused(folder: Path) -> None:
    model = "counting.py"
    wrong: tuple[tuple[list[str], dict[str, Any], str], ...] = (
        (["down()"], {}, "no action 'down'"),
        (["up(1)"], {}, "up has 0 parameters"),
        (["up()"], {"loop": 2}, "loop=2 is the number of no state"),
        (["up()", "up()"], {"on": "implementation"}, "only the specification has an implementation"),
    )
    for steps, options, said in nonempty(wrong):
        with pytest.raises(RocketproofError, match=said):
            assert_shows(model, "low", steps, **options)


@pytest.mark.parametrize(
    ("steps", "loop", "said"),
    [
        ([], None, "a loop is missing"),
        (["up()", "start_again()"], 0, ""),
        (["up()"], 1, "up() is weakly fair, and never happens in the loop"),
        (["up()", "up()"], 1, "no step leads from the last state back to state 1"),
        (["up()", "up()", "up()"], 0, "in the loop it is not always waited for"),
    ],
)
def test_lasso_closes_waits_forever_and_is_fair(folder: Path, steps: list[str], loop: int | None, said: str) -> None:
    if not said:
        assert rocketproof.assert_shows("counting.py", "top", steps, loop=loop).loop == loop
        return
    with pytest.raises(Refuted) as failed:
        assert_shows("counting.py", "top", steps, loop=loop)
    assert said in str(failed.value)


def test_stuttering_step_does_not_satisfy_fairness() -> None:
    m = Model("flicker")
    at = m.var("at", Int(0, 2), init=0)

    @m.action(fair="weak")
    def tick(a: Any) -> None:
        """Between 0 and 1."""
        a.guard("not at 2", at < 2, "2 is not reached")
        a.set(at, 1 - at, when=at < 2)

    @m.action(fair="strong")
    def act(a: Any) -> None:
        """From 1 to 2, nothing else."""
        a.set(at, 2, when=at == 1)

    claim = m.eventually("two", at == 2, "2 is reached")
    for steps in (["tick()", "tick()"], ["act()", "tick()", "tick()", "act()"]):
        with pytest.raises(Refuted, match="act\\(\\) is strongly fair, and never happens in the loop"):
            assert_shows(m, claim, steps, loop=0)


def test_recorded_program_is_performed_again_on_target(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [("send", {"topic": "A"}), ("time", {"millis": 100}), ("send", {"topic": "A", "client": 1})]
    with rocketproof.Target("inprocess", profile="P494", histories=folder / "kept") as target:
        path = target.perform(steps).path
    assert cli.run(["to-test", str(path)]) == 0
    source = capsys.readouterr().out
    assert source.startswith('"""3 steps by 2 clients, recorded of ')
    run = outcome(source, folder)
    assert run() == {"test_program": ""}
    right = session.answer_data
    monkeypatch.setattr(session, "answer_data", lambda answer: right(answer) | {"remark": "all is well", "code": 1})
    assert "AssertionError: " in run()["test_program"]


def test_script_and_history_without_program_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("finding-1.py").write_text("main(steps=[])\n", "utf-8")
    assert cli.run(["to-test", "finding-1.py"]) == 2
    assert "is no test; give the history of its program" in capsys.readouterr().err
    with rocketproof.Target("inprocess", profile="P494", histories="kept") as target:
        client = target.client()
        assert cli.run(["to-test", str(client.history)]) == 2
        assert "its header has no program" in capsys.readouterr().err


def test_program_that_needs_configuration_is_performed_under_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [("send", {"topic": "A", "properties": {"TRAN_MSG": "true"}})]
    with rocketproof.Target("inprocess", profile="P494", histories=folder / "kept", needs="no transactional messages") as target:
        path = target.perform(steps).path
    assert '"code": 16' in path.read_text("utf-8")  # NO_PERMISSION, to the send
    assert cli.run(["to-test", str(path)]) == 0
    source = capsys.readouterr().out
    assert 'Target(TARGET, profile="P494", needs="no transactional messages")' in source
    assert outcome(source, folder)() == {"test_program": ""}
    with pytest.raises(rocketproof.RocketproofError, match="unknown configuration 'no rights'"):
        rocketproof.Target("inprocess", needs="no rights").__enter__()
