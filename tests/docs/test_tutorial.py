"""The session of the tutorial runs as written, and an error in a document is detected."""

from pathlib import Path

import pytest
from session import ROOT, blocks, follow, missing, patched

TUTORIAL = ROOT / "model" / "docs" / "tutorial.md"
EXAMPLE = ROOT / "model" / "examples" / "two_phase_commit.py"


def test_the_built_model_is_the_example() -> None:
    built = "\n".join(block.text for block in blocks(TUTORIAL) if block.language == "python")
    assert built == EXAMPLE.read_text(), f"{EXAMPLE.name} and the Python blocks of {TUTORIAL.name} differ; copy one of them into the other"


def test_an_action_and_a_property_take_under_twenty_lines() -> None:
    added = [
        block.text for block in blocks(TUTORIAL) if block.language == "diff" and "@m.action" in block.text and "m.reachable" in block.text
    ]
    assert len(added) == 1
    assert sum(line.startswith("+") for line in added[0].splitlines()) < 20


@pytest.mark.slow
def test_the_session_runs_as_written(tmp_path: Path) -> None:
    follow(TUTORIAL, tmp_path, EXAMPLE.name)


@pytest.mark.parametrize(
    ("expected", "printed", "lacks"),
    [
        (["holds  288"], "x\n holds 288 \n", None),
        (["a", "b"], "b\na\n", "b"),
        (["288 states in 0.2 s"], "288 states in 13.75 s", None),
        (["288 states"], "289 states", "288 states"),
        (["...288..."], "about 288 states", None),
    ],
)
def test_different_output_is_detected(expected: list[str], printed: str, lacks: str | None) -> None:
    assert missing(expected, printed) == lacks


def test_diff_without_a_match_is_detected() -> None:
    assert patched("one\ntwo\n", " one\n-two\n+three\n", "here") == "one\nthree\n"
    with pytest.raises(AssertionError, match="occur 0 times"):
        patched("one\n", "-two\n+three\n", "here")


def test_error_in_a_document_is_detected(tmp_path: Path) -> None:
    for text, error in [
        ("```console\n$ echo one\ntwo\n```\n", "no line like 'two'"),
        ("<!-- exit 1 -->\n```console\n$ true\n```\n", "expected exit code 1"),
        ("```pycon\n>>> 1 + 1\n3\n```\n", "Expected:\n    3"),
    ]:
        (tmp_path / "wrong.md").write_text(text)
        with pytest.raises(AssertionError, match=error):
            follow(tmp_path / "wrong.md", tmp_path, "file.py")
