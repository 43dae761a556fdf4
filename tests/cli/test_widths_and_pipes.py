"""Output fits the requested width, and a reader that closes the pipe changes only its own input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_properties.commands import run

DATA = Path(__file__).resolve().parents[1] / "data"
WIDTHS = (20, 27, 44, 60, 79, 80, 100, 160, 196, 200)
MODEL = """
from rocketproof_model import Int, Model

def counter():
    m = Model("counter")
    count = m.var("count", Int(0, 3), init=0)

    @m.action()
    def add(a):
        \"\"\"One more, as long as there is room for another one on the shelf.\"\"\"
        a.guard("room", count < 3, "there is room for another one on the shelf, and nobody has said otherwise")
        a.set(count, count + 1)

    @m.action()
    def remove(a):
        \"\"\"One less.\"\"\"
        a.guard("any", count > 2, "there are many")
        a.set(count, count - 1)

    m.always("few", count < 2, "there are never two of them, which is what everybody who reads this should believe")
    return m

model = counter()
scopes = {"small": {}}
"""


def too_long(text: str, width: int) -> list[str]:
    """Return the lines that are too long. Paths, commands and single words are not wrapped and do not count."""
    return [
        line for line in text.splitlines() if len(line) > width and "/" not in line and "rocketproof " not in line and len(line.split()) > 1
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "tokens",
    [
        ("hazard", "HAZ-03"),
        ("requirements", "CHK-10"),
        ("check", "few.py"),
        ("show", ".rocketproof/witnesses/few-small.itf.json"),
        ("explain", ".rocketproof/witnesses/few-small.itf.json", "--step", "1", "--why-not", "remove()"),
        ("diff", ".rocketproof/witnesses/few-small.itf.json", ".rocketproof/same.itf.json"),
        ("judge", str(DATA / "rocketmq-4.9.4.jsonl"), "--profile", "P49"),
    ],
    ids=lambda tokens: tokens[0],
)
def test_lines_fit_the_width(
    tokens: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("few.py").write_text(MODEL)
    if tokens[0] in ("show", "explain", "diff"):
        run(["check", "few.py"])
        witnesses = list(Path(".rocketproof/witnesses").glob("*.itf.json"))
        Path(".rocketproof/same.itf.json").write_bytes(witnesses[0].read_bytes())
        tokens = (tokens[0], str(witnesses[0]), *tokens[2:])
    capsys.readouterr()
    widths = (20,) if tokens[0] in ("check", "judge", "requirements") else WIDTHS
    for width in nonempty(widths):
        monkeypatch.setenv("COLUMNS", str(width))
        assert run(list(tokens)) in (0, 1)
        printed = capsys.readouterr()
        assert printed.out.strip() and "Traceback" not in printed.err
        assert not too_long(printed.out, width), f"too wide for {width} columns"
        assert "\x1b" not in printed.out, "colours in a pipe"


def test_closed_pipe_changes_neither_verdict_nor_files(tmp_path: Path) -> None:
    (tmp_path / "few.py").write_text(MODEL)
    command = [sys.executable, "-m", "rocketproof_properties.commands", "check", "few.py", "--json", "verdicts.json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(60)
    assert code == 1, said  # the property does not hold, with or without a reader
    assert "Traceback" not in said and "BrokenPipe" not in said
    assert json.loads((tmp_path / "verdicts.json").read_text())[0]["verdict"] == "violated"


def test_a_picture_is_svg_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("x.png", "x.pdf", "x"):
        assert run(["picture", "w.itf.json", "--output", str(tmp_path / name)]) == 2
        said = capsys.readouterr().err
        assert ".svg" in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())
