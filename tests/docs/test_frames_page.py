"""The page about DataFrames lists the columns of the code. Its programs are run in tests/spark."""

from __future__ import annotations

from session import ROOT

import rocketproof.spark
from rocketproof_traces.spark import frames

PAGE = (ROOT / "traces" / "docs" / "frames.md").read_text("utf-8")


def test_columns_of_page_are_those_of_the_code() -> None:
    assert PAGE.endswith("\n".join(frames.described()).rstrip() + "\n")


def test_page_names_each_function() -> None:
    assert all(f"| `{name}(" in PAGE for name in rocketproof.spark.__all__)
