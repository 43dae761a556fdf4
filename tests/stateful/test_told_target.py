"""What a name server is told by hand, performed on the implementation."""

from __future__ import annotations

import pytest

from rocketproof_impl.nameserver import NameServer
from rocketproof_properties.sources.source import Source
from rocketproof_properties.stateful.engine import target_of
from rocketproof_properties.stateful.follow import Finding
from rocketproof_properties.stateful.machine import Campaign, run

GIVEN = {"existing": True, "existing_read": 1, "existing_write": 1}


def found(profile: str) -> Finding | None:
    source = Source("told", profile, tuple(sorted(GIVEN.items())))
    subject = source.subject()
    return run(Campaign(subject.instance, target_of(source, subject)), 30, 1, shrink=False)


@pytest.mark.behaviour("TCM-34", "NS-04")
@pytest.mark.parametrize("profile", ["P40", "P45", "P49", "P494", "P533"])
def test_the_implementation_does_what_the_specification_allows(profile: str) -> None:
    assert found(profile) is None


@pytest.mark.behaviour("TCM-34")
@pytest.mark.parametrize("request_", ["register_topic", "delete_topic"])
def test_a_name_server_that_takes_no_notice_is_noticed(request_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NameServer, request_, lambda *_: None)
    finding = found("P533")
    assert finding is not None and "route[broker-a" in finding.text
