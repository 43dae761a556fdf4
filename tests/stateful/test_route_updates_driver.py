"""Manual registrations at a name server, performed on the implementation."""

from __future__ import annotations

import pytest
from performed import FEW, found

from rocketproof_impl.nameserver import NameServer

GIVEN = {"existing": True, "existing_read": 1, "existing_write": 1}


@pytest.mark.behaviour("TCM-34", "NS-04")
@pytest.mark.parametrize("profile", ["P40", "P45", "P49", "P494", "P533"])
def test_implementation_follows_specification(profile: str) -> None:
    assert found("told", profile, GIVEN, FEW) is None


@pytest.mark.behaviour("TCM-34")
@pytest.mark.parametrize("request_", ["register_topic", "delete_topic"])
def test_name_server_ignoring_requests_is_noticed(request_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NameServer, request_, lambda *_: None)
    finding = found("told", "P533", GIVEN)
    assert finding is not None and "route[broker-a" in finding.text
