"""`rocketproof replay` and `rocketproof test` without a recording: what they print, write and exit with."""

import json
from pathlib import Path

import pytest

from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_properties.commands import run
from rocketproof_properties.commands.checks import programs
from rocketproof_properties.commands.checks.decide import decide
from rocketproof_properties.commands.checks.matrix import units
from rocketproof_properties.commands.checks.plan import CheckRequest, plan
from rocketproof_properties.commands.checks.units import Budget, UnitResult
from rocketproof_spec import FAULTS


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def witness(here: Path) -> str:
    """A search's witness of INV-31 on a topic with more queues to read than to write."""
    chosen = plan(CheckRequest(properties=("INV-31",), profiles=("P49",), condition="topic with read 2, write 1", engine="explicit"))
    (unit,) = units(chosen.tasks, here)
    answer: UnitResult = decide(unit, Budget(), lambda progress: None)
    (row,) = answer.rows.values()
    assert row.witness is not None
    return row.witness


def test_witness_is_replayed(witness: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", witness, "--json", "replayed.json"]) == 0
    printed = capsys.readouterr().out
    assert "1  request(p=client 0" in printed
    assert "the implementation violates it too" in printed
    said = json.loads((here / "replayed.json").read_text())
    steps = said["steps"]
    assert said == {
        "property": "INV-31",
        "profile": "P49",
        "scope": "creation",
        "steps": steps,
        "done": steps,
        "shown": True,
        "finding": None,
    }


def test_replay_leaving_model_names_step(witness: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TopicConfigManager, "select", lambda self, topic: None)
    assert run(["replay", witness]) == 1
    printed = capsys.readouterr().out
    assert "should lead elsewhere" in printed
    assert "The implementation left the model after" in printed


def test_witness_of_user_model_has_no_implementation(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mine.py").write_text(
        "from rocketproof_model import Int, Model\n\nm = model = Model('mine')\nx = m.var('x', Int(0, 2), init=0)\n\n\n"
        "@m.action()\ndef up(a):\n    '''It rises.'''\n    a.guard('low', x < 2, 'it is low')\n    a.set(x, x + 1)\n\n\n"
        "m.always('LOW', x < 2, 'it stays low')\n"
    )
    assert run(["check", "mine.py"]) == 1
    found = next(Path(".rocketproof/witnesses").iterdir())
    capsys.readouterr()
    assert run(["replay", str(found)]) == 2
    assert "only the specification has an implementation" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["replay", "nothing.json"], ["test", "--profile", "P48"], ["test", "--profile", "P49", "--programs", "0"]]
)
def test_bad_input_is_one_line(arguments: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_every_profile_has_programs() -> None:
    """P494 has few verdicts in the catalogue and inherits the others from P49."""
    assert {task.source.profile for task in programs.tasks("P494")} == {"P494"}
    earlier, own = ({(task.source.scope, task.claim, task.condition) for task in programs.tasks(profile)} for profile in ("P49", "P494"))
    assert earlier < own
    assert {scope for scope, *_ in own - earlier} <= set(FAULTS)


def test_programs_give_matrix(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Covers one instance and the messages; test_catalogue.py has the verdicts of all."""
    few = [task for task in programs.tasks("P45") if task.source.scope == "answers" or dict(task.source.given).get("programs") == ""]
    monkeypatch.setattr(programs, "tasks", lambda profile: few)
    assert (
        run(
            [
                "test",
                "--profile",
                "P45",
                "--programs",
                "20",
                "--seed",
                "7",
                "--workers",
                "1",
                "--json",
                "rows.json",
                "--report",
                "run:r.run",
            ]
        )
        == 0
    )
    rows = json.loads((here / "rows.json").read_text())
    made = json.loads((here / "r.run").read_text())
    assert [result["verdict"] for result in made["results"]] == [row["verdict"] for row in rows]
    assert {row["label"] for row in made["covered"]} == {"P45"} and made["covered"][0]["actions"][0]["sentence"]
    assert {row["engine"] for row in rows} == {"stateful"}
    assert {row["scope"] for row in rows} == {"answers", "messages"}
    assert any(row["verdict"] == row["expected"] == "violated" for row in rows)
    assert "all as expected" in capsys.readouterr().out


def test_kept_program_of_messages_is_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "kept.py").write_text("def test_inv_45():\n    '''told'''\n")
    assert run(["show", "kept.py"]) == 0
    assert "told" in capsys.readouterr().out
    assert run(["show", "none.py"]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["haz-3", "HAZ3", "haz-003"])
def test_id_is_offered_by_its_number(typed: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hazard", typed]) == 2
    assert "HAZ-03" in capsys.readouterr().err.partition("are ")[2].split(",")[0]
