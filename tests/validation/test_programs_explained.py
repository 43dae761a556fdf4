"""Programs that a true broker was accused for: what the reference implementation answers to them is explained."""

from __future__ import annotations

from pathlib import Path

import pytest
from performing import judged

from rocketproof_properties.brokers.inprocess import InProcess


@pytest.mark.behaviour("BACK-01", "REM-04")
@pytest.mark.parametrize("profile", ["P40", "P49", "P494", "P533"])
def test_undecodable_send_back_creates_no_topic(profile: str, tmp_path: Path) -> None:
    back = ("back", {"record": 0, "altered": ("offset", str(2**63))})
    with InProcess(profile).open() as running:
        found = judged(running, tmp_path, ("send", {"topic": "A"}), back)
    assert [(one.property, one.known) for one in found.deviations] == [("PRO-92", True)]


@pytest.mark.behaviour("REM-05", "HAZ-26")
def test_unserved_transaction_end_gets_response(tmp_path: Path) -> None:
    half = ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}})
    with InProcess("P40").open() as running:
        found = judged(running, tmp_path, half, ("end", {"commit": True}))
    assert [(one.property, one.known) for one in found.deviations] == [("INV-03", True)]


@pytest.mark.behaviour("BAT-04")
@pytest.mark.parametrize("cut", [0, 1, 6])
@pytest.mark.parametrize("more", [-400, -2, 1, 2**20])
@pytest.mark.parametrize("profile", ["P45", "P494", "P533"])
def test_batch_with_wrong_body_lengths_is_error(profile: str, more: int, cut: int, tmp_path: Path) -> None:
    """The sizes of its messages add up, but a broker uses the lengths of bodies and properties."""
    batch = ("send", {"items": [("a", {}), ("bb", {"TAGS": "t"})], "more": more, "cut": cut})
    with InProcess(profile).open() as running:
        found = judged(running, tmp_path, batch)
    assert [(one.property, one.known) for one in found.deviations] == [("PRO-92", True)]
