"""The program on the page about bug reports shows what the page says."""

from pathlib import Path

from session import ROOT, blocks, follow


def test_the_program_of_the_report_runs(tmp_path: Path) -> None:
    page = ROOT / "properties" / "docs" / "run.md"
    assert {block.language for block in blocks(page)} == {"python", "console", "exit 1"}
    follow(page, tmp_path, "report.py")
