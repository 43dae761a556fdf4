"""A model file with an error is refused in one line with its location, the problem and the fix, with exit code 2."""

import re
from pathlib import Path

import pytest

from rocketproof_properties.catalogue.modelfile import load
from rocketproof_properties.commands import run
from rocketproof_properties.reports.choices import InputError

GOOD = '''
from rocketproof_model import Int, Model

SCOPES = {"small": {"N": 2}, "large": {"N": 5}}
EXPECTED = {"never two": "violated"}


def model(N=3):
    m = Model("counter")
    n = m.var("n", Int(0, N), init=0)

    @m.action()
    def up(a):
        """The counter goes up."""
        a.guard("room", n < N, "there is room")
        a.set(n, n + 1)

    m.always("never two", n != 2, "the counter is never two")
    return m
'''

# The change in the valid file, and the place and words of the refusal.
BROKEN = {
    "syntax": ("def model(N=3):", "def model(N=3:", "8:14", "syntax"),
    "import": ("import Int, Model", "import Int, Modell", "2:1", "ImportError: cannot import name 'Modell'"),
    "name": ("n < N", "n < M", "15:29", "NameError: name 'M' is not defined"),
    "unknown variable": (
        "init=0)", "init=0)\n    x = Model('other').var('x', Int(0, 1), init=0)\n    m.always('p', x == 0, 's')", "12:5", "x",
    ),
    "out of its type": ("init=0)", "init=7)", "10:9", "7"),
    "no sentence": ('"there is room"', '""', "15:9", "no sentence"),
    "written twice": ("a.set(n, n + 1)", "a.set(n, n + 1)\n        a.set(n, 0)", "17:9", "written twice"),
    "truth value": ("n < N,", "n < N and n >= 0,", "15:25", "truth value"),
    "nothing returned": ("    return m\n", "", "8:1", "returned NoneType"),
    "no model": ("def model(", "def modell(", "1:1", "no model in this file"),
    "foreign size": ('{"N": 2}', '{"K": 2}', "8:1", "unexpected keyword argument 'K'"),
    "scopes": ('{"small": {"N": 2}, "large": {"N": 5}}', "[2, 5]", "4:1", "SCOPES is not a dict"),
    "expected id": ('"never two": "violated"', '"never too": "violated"', "5:1", "never two"),
    "expected verdict": ('"violated"}', '"maybe"}', "5:1", "holds, violated, unknown"),
    "no properties": ('    m.always("never two", n != 2, "the counter is never two")\n', "", "8:1", "no properties"),
    "exit": ("SCOPES =", "raise SystemExit(5)\nSCOPES =", "4:1", "SystemExit: 5"),
    "recursion": ("SCOPES =", "def f(): f()\nf()\nSCOPES =", "4:10", "RecursionError"),
    "assertion": ("SCOPES =", "assert 1 > 2\nSCOPES =", "4:8", "AssertionError"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_the_refusal_names_line_column_and_problem(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, place, words = BROKEN[name]
    assert old in GOOD
    file = tmp_path / "mine.py"
    file.write_text(GOOD.replace(old, new, 1).replace("EXPECTED", "EXPECTED") if name.startswith("expected") else
                    GOOD.replace('EXPECTED = {"never two": "violated"}', "").replace(old, new, 1))  # fmt: skip
    assert run(["check", str(file)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1 and printed.err.startswith("rocketproof: "), f"expected a single line instead of:\n{printed.err}"
    assert f"{file}:{place}: " in printed.err, f"{place} should be named:\n{printed.err}"
    assert words in printed.err
    assert re.search(r"[;:] (\w+ )*(use|write|name|define|correct|give|declare|say|end|choose|the|check|make)", printed.err), (
        f"the line should state the fix:\n{printed.err}"
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("mine.py", b"\xff\xfe\x00", "not UTF-8"),
        ("mine.py", b"x = 1\x00", "null bytes"),
        ("mine.py", b"", "no model in this file"),
        ("mine.py", b'{"a": true}', "NameError"),
        ("w.itf.json", b"{}", "rocketproof show"),
    ],
)
def test_other_files_are_no_model_files(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError, match=words):
        load(str(file))


def test_error_for_a_missing_file_suggests_a_similar_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counter.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no such file conter\.py; use counter\.py"):
        load("conter.py")
    with pytest.raises(InputError, match="is a directory"):
        load(".")


def test_the_first_scope_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "counter.py"
    file.write_text(GOOD)
    assert load(str(file)).scope == "small"
    assert load(str(file), "large").model.variable("n").type.hi == 5
    assert load(str(file)).expected == {"never two": "violated"}
    with pytest.raises(InputError, match="unknown scope 'larg'; use large, small"):
        load(str(file), "larg")


def test_a_model_without_scopes(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text(GOOD.replace("SCOPES", "SIZES") + "\nmodel = model(4)\n")
    assert load(str(file)).scope == "default"
    with pytest.raises(InputError, match="has no SCOPES"):
        load(str(file), "small")


def test_a_file_may_use_dataclasses_and_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "my_sizes.py").write_text("N = 4\n")
    file = tmp_path / "counter.py"
    head = "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom my_sizes import N\n"
    head += "@dataclass\nclass A:\n    x: int = N\n"
    file.write_text(head + GOOD)
    assert load(str(file)).model.name == "counter"


OTHERS = """
from rocketproof import Bool, Model
def build() -> Model:
    m = Model("other")
    lock = m.var("lock", Bool, init=False)
    @m.action()
    def take(a):
        "It is taken."
        a.guard("free", ~lock, "it is free")
        a.set(lock, True)
    m.reachable("taken", lock, "it can be taken")
    return m
def sized(n):
    return build()
"""


def test_a_file_may_hold_models_under_other_names(tmp_path: Path) -> None:
    file = tmp_path / "several.py"
    file.write_text(OTHERS + "first = build()\n", "utf-8")
    with pytest.raises(InputError, match=rf"no model in this file; give {re.escape(str(file))}::first, or define `def model"):
        load(str(file))
    assert load(f"{file}::first").model.name == load(f"{file}::build").model.name == "other"
    file.write_text(OTHERS, "utf-8")
    with pytest.raises(InputError, match=r"no model in this file; give .*several\.py::build, or define"):
        load(str(file))
    with pytest.raises(
        InputError, match=r"a call without sizes does not fit: sized missing 1 .* 'n'; give each parameter a default, or add SCOPES"
    ):
        load(f"{file}::sized")
    assert load(f"{file}::sized", given={"n": 1}).model.name == "other"
    page = tmp_path / "page.html"
    assert run(["explore", f"{file}::build", "--html", str(page), "--property", "taken"]) == 0
    assert "it can be taken" in page.read_text("utf-8")
    with pytest.raises(InputError, match=r"several\.py:1:1: no nothing in this file"):
        load(f"{file}::nothing")


def test_columns_count_characters_of_the_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text('s = "ü"; missing\n', "utf-8")
    with pytest.raises(InputError, match=r"mine\.py:1:10: NameError"):
        load(str(file))
