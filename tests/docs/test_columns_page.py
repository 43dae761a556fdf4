"""The examples of the page about rules over tables are sessions that run."""

from pathlib import Path

from session import ROOT, blocks, follow


def test_the_examples_run(tmp_path: Path) -> None:
    page = ROOT / "model" / "docs" / "columns.md"
    assert {block.language for block in blocks(page)} == {"pycon"}
    follow(page, tmp_path, "unused.py")
