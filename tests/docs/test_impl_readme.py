"""The example of the implementation's page is a session that runs."""

from pathlib import Path

from session import HOUSE, blocks, follow


def test_the_example_runs(tmp_path: Path) -> None:
    page = HOUSE / "impl" / "README.md"
    assert [block.language for block in blocks(page)] == ["pycon"]
    follow(page, tmp_path, "unused.py")
