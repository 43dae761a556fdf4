"""The tests on the page about tests of applications pass, and have at most ten lines."""

from pathlib import Path

import pytest
from session import ROOT, blocks, follow

PAGE = ROOT / "properties" / "docs" / "application-tests.md"


@pytest.mark.slow
def test_tests_of_the_page_pass(tmp_path: Path) -> None:
    follow(PAGE, tmp_path, "test_orders.py")


def test_tests_of_the_page_are_short() -> None:
    tests = [part for block in blocks(PAGE) if block.language == "python" for part in block.text.split("@pytest")[1:]]
    assert len(tests) == 4
    assert all(len(test.strip().splitlines()) <= 10 for test in tests)
