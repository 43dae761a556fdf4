"""`check --proof` and `--certificates`, and the answers of `certificate` about files: valid, edited, of another model, truncated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.commands import run

MODEL = """
from rocketproof import Int, Model

def model(step=1):
    m = Model("pair")
    x = m.var("x", Int(0, 9), init=0)
    y = m.var("y", Int(0, 9), init=0)

    @m.action()
    def both(a):
        "Both go on."
        a.guard("room", x < 9, "there is room")
        a.set(x, x + 1)
        a.set(y, y + step)

    m.always("less", (x < 5) | (y > 3), "who is far is followed")
    return m
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the certificate of a proof, in the folder of its model."""
    monkeypatch.chdir(tmp_path)
    Path("pair.py").write_text(MODEL)
    assert run(["check", "pair.py", "--engine", "symbolic", "--certificates", "c"]) == 3, "induction alone does not close"
    assert run(["check", "pair.py", "--proof", "spacer", "--certificates", "c", "--json", "rows.json"]) == 0
    (row,) = json.loads(Path("rows.json").read_text())
    assert row["verdict"] == "holds" and row["invariants"]
    return Path(row["certificate"])


@pytest.mark.slow
def test_certificate_is_accepted_and_reported_as_json(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["certificate", str(kept), "--json", "check.json", "--smt2", "x.smt2"]) == 0
    assert "accepted: pair.py" in capsys.readouterr().out
    assert json.loads(Path("check.json").read_text())["verdict"] == "accepted"
    assert Path("x.smt2").read_text().count("(check-sat)") == 3
    assert run(["check", "pair.py", "--proof", "invariants", "--certificates", "c"]) == 0
    assert run(["certificate", str(kept)]) == 0


def _edit(**more: Any) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), **more})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "code", "said"),
    [
        pytest.param(_edit(invariants=[]), 1, "out of the invariant", id="too little"),
        pytest.param(_edit(invariants=["x <= 3"]), 1, "both() leads from", id="a wrong invariant"),
        pytest.param(_edit(invariants=["y == 1"]), 1, "the initial state {", id="false at the start"),
        pytest.param(_edit(invariants=["x +"]), 2, "invariant 1: column", id="no term"),
        pytest.param(_edit(invariants=["x + 1"]), 2, "invariant 1 is no formula about a state", id="no formula"),
        pytest.param(_edit(invariants=["after(x) == x"]), 2, "invariant 1 is no formula about a state", id="about a step"),
        pytest.param(_edit(invariants=[3]), 2, "invariant 1 is 3, no text", id="no text"),
        pytest.param(_edit(invariants="x"), 2, "its invariants is x, not a list", id="no list"),
        pytest.param(_edit(claim="(x < 4)"), 2, "about another model: its claim is (x < 4)", id="another claim"),
        pytest.param(_edit(model="triple"), 2, "about another model: its model is triple", id="another model"),
        pytest.param(_edit(property="more"), 2, "its model cannot be built", id="another property"),
        pytest.param(_edit(schema=9), 2, "has schema 9", id="a later schema"),
        pytest.param(_edit(widen={"z": 3}), 2, "its model cannot be built", id="an unknown variable"),
        pytest.param(lambda text: text[: len(text) // 2], 2, "is cut off", id="cut off"),
        pytest.param(lambda _: "[" * 100_000, 2, "is no JSON", id="nested beyond reason"),
        pytest.param(lambda _: "{}", 2, "is no certificate", id="another file"),
    ],
)
def test_an_edited_certificate_is_refused(
    kept: Path, edit: Callable[[str], str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.write_text(edit(kept.read_text()))
    capsys.readouterr()
    assert run(["certificate", str(kept)]) == code
    shown = capsys.readouterr()
    assert said in " ".join((shown.out if code == 1 else shown.err).split()) and "Traceback" not in shown.err


def test_a_changed_model_refuses_its_old_certificate(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pair.py").write_text(MODEL.replace("y + step", "y"))
    assert run(["certificate", str(kept)]) == 1
    assert "out of the invariant" in " ".join(capsys.readouterr().out.split())


def test_counterexample_to_induction_names_its_first_state(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "pair.py", "--proof", "induction"]) == 3
    assert run(["show", ".rocketproof/witnesses/pair-less-symbolic.itf.json"]) == 0
    shown = capsys.readouterr().out
    assert "starts elsewhere" in shown and "its first state may be unreachable" in shown


def test_other_engines_do_not_prove(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "pair.py", "--proof", "spacer", "--engine", "explicit"]) == 2
    assert "only the symbolic engine proves" in capsys.readouterr().err
    assert run(["check", "pair.py", "--proof", "guess"]) == 2
