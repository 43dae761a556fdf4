"""The examples of the implementation's page are sessions that run."""

from pathlib import Path

from session import ROOT, blocks, follow


def test_the_examples_run(tmp_path: Path) -> None:
    page = ROOT / "impl" / "README.md"
    assert {block.language for block in blocks(page)} == {"pycon"}
    follow(page, tmp_path, "unused.py")
