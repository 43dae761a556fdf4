"""Frames that no client sends: acknowledged messages survive a kill, and servers stay within their bounds and continue.

The number of hostile frames is ROCKETPROOF_FRAMES, 5,000 by default; a million takes about half an hour:

ROCKETPROOF_FRAMES=1000000 pytest -n0 tests/long/test_fuzzed_frames.py -k "hostile and P494"
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hostileclients import attack, send_and_pull
from hostileservers import LIMITS, servers
from rocketproof_properties.reports.output import tell
from rocketproof_properties.validation.fuzz import fuzz

FRAMES = int(os.environ.get("ROCKETPROOF_FRAMES", "5000"))
MEMORY = 512 * 1024
"""Maximum KiB of a process with a name server and a broker."""
HELD_UP = 5.0
"""Maximum seconds of processor time for which a request blocks all others; a registration of 90,000 topics takes about one."""


@pytest.mark.parametrize("profile", ["P40", "P49", "P494", "P533"])
def test_store_survives_hostile_frames(profile: str) -> None:
    found = fuzz(profile, 12_000, seed=5, per_round=3000)
    assert found.findings == []
    assert found.frames == 12_000 and found.kills == 4
    assert found.acknowledged > 500 and len(found.kinds) > 12


@pytest.mark.parametrize("profile", ["P40", "P494", "P533"])
def test_servers_stay_within_bounds_under_hostile_frames(profile: str, tmp_path: Path) -> None:
    with servers(tmp_path, profile) as running:
        send_and_pull(running.broker, "Before")
        sent = attack(running, FRAMES, seed=7)
        found = running.measured()
        tell(f"{sent}\n{found}")
        send_and_pull(running.broker, "After")
        assert found.errors == []
        assert sent.frames >= FRAMES and len(sent.kinds) > 15
        assert sent.unread, "no connection has exceeded its bound"
        assert 0 < found.unread <= LIMITS.unread
        assert found.unread_total <= LIMITS.unread_total
        assert found.peak < MEMORY
        assert found.held_up < HELD_UP
