"""Strange names and sizes over the wire, a kill after each round: nothing that was acknowledged is lost but where a profile loses it."""

from __future__ import annotations

import pytest

from rocketproof_properties.validation.fuzz import fuzz


@pytest.mark.parametrize("profile", ["P40", "P49", "P494", "P533"])
def test_a_store_outlives_frames_that_nobody_means_well(profile: str) -> None:
    found = fuzz(profile, 12_000, seed=5, per_round=3000)
    assert found.findings == []
    assert found.frames == 12_000 and found.kills == 4
    assert found.acknowledged > 500 and len(found.kinds) > 12
