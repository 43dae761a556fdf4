"""The recorder that the page about histories shows runs, and what it records is judged as the page says."""

from pathlib import Path

from session import ROOT, blocks, follow


def test_the_recorder_runs(tmp_path: Path) -> None:
    page = ROOT / "traces" / "docs" / "history.md"
    assert {block.language for block in blocks(page)} == {"json", "python", "console", "diff", "exit 1"}
    follow(page, tmp_path, "record.py")
