"""What `validate` prints for two planted bugs, as snapshots: a reader who has not seen the code can act on it.

The recorded programs in `tests/data/pairs` are judged again, so the output needs no broker. After an intended change,
`ROCKETPROOF_SNAPSHOTS=write pytest tests/validation/test_reports_of_pairs.py` writes them again; review the difference.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from proportion import few

DATA = Path(__file__).parents[1] / "data" / "pairs"
PAIRS = sorted(folder.name for folder in DATA.iterdir())
FOLDER = Path(__file__).with_name("snapshots")
WRITE = "ROCKETPROOF_SNAPSHOTS"


def normal(text: str, report: Path) -> str:
    """Remove the folder of the report, ports and times."""
    text = re.sub(r"127\.0\.0\.1:[0-9]+", "127.0.0.1:PORT", text.replace(str(report), "REPORT"))
    text = re.sub(r"[0-9.]+ s$", "0.0 s", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("pair", few(PAIRS, 3))
def test_report_on_two_planted_bugs(pair: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    report = Path(shutil.copytree(DATA / pair, tmp_path / "report"))
    assert judged_again(report) == 1
    text = normal(capsys.readouterr().out, report)
    file = FOLDER / f"{pair}.txt"
    if os.environ.get(WRITE) == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8"), f"{file.name} differs; {WRITE}=write writes it again"
    assert re.findall(r"cause [12] of 2", text) == ["cause 1 of 2", "cause 2 of 2"]
    labels = re.findall(r"^    (field|expected|found): +\S", text, re.MULTILINE)
    assert labels == ["field", "expected", "found"] * (len(labels) // 3) and labels


def judged_again(report: Path) -> int:
    from rocketproof_properties.commands import run

    return run(("validate", "--again", str(report)))
