"""Programs of a validation that releases have answered: the implementation answers, stores and routes the same, in every field."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.judging.reference.differences import differences

DATA = Path(__file__).parents[1] / "data"
"""Made by `choose_programs.py`, of `rocketproof validate --target apache:RELEASE --programs 500`."""
RELEASES = {"4.9.4": "P494", "5.3.3": "P533"}
PARTS = 8


@cache
def histories(release: str) -> list[str]:
    """Split the file into histories; each starts with a header line."""
    text = lzma.decompress((DATA / f"programs-{release}.ndjson.xz").read_bytes()).decode()
    begin = '{"v": 1, "type": "header"'
    return [begin + rest for rest in text.split(begin)[1:]]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("release", RELEASES)
def test_implementation_repeats_program_of_release(release: str, part: int, tmp_path: Path) -> None:
    found = []
    for number, text in list(enumerate(histories(release)))[part::PARTS]:
        path = tmp_path / f"{number}.ndjson"
        path.write_text(text, "utf-8")
        history = load(path)
        found += [f"{history.program.steps}: {difference}" for difference in differences(history, PROFILES[RELEASES[release]])]
    assert found == []


@pytest.mark.parametrize("release", RELEASES)
def test_programs_use_every_request(release: str, tmp_path: Path) -> None:
    kinds = set()
    for text in histories(release):
        path = tmp_path / "one.ndjson"
        path.write_text(text, "utf-8")
        kinds |= {exchange.op for exchange in load(path).exchanges}
    assert {
        "send",
        "batch",
        "send_back",
        "end_transaction",
        "update_topic",
        "update_group",
        "delete_topic",
        "pull",
        "find",
        "route",
    } <= kinds
