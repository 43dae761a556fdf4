"""The recorder on the page about histories runs, and its recording gets the page's verdict."""

from pathlib import Path

from session import ROOT, blocks, follow


def test_the_recorder_runs(tmp_path: Path) -> None:
    page = ROOT / "traces" / "docs" / "history.md"
    assert {block.language for block in blocks(page)} == {"json", "python", "console", "diff", "exit 1"}
    follow(page, tmp_path, "record.py")
