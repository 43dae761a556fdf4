"""The README's counterexample is what a user sees."""

from pathlib import Path

import pytest
from session import ROOT, blocks, follow


@pytest.mark.slow
def test_the_counterexample_is_printed_as_shown(tmp_path: Path) -> None:
    assert any(block.language == "console" for block in blocks(ROOT / "README.md"))
    follow(ROOT / "README.md", tmp_path, "unused.py")
