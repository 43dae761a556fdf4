"""Phrases by which a lost field, a second round, a limit or a removal shows: correct responses give no finding, and wrong ones do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from performing import judged, performed
from test_told_programs import ordinary

from rocketproof_impl import routeinfo
from rocketproof_impl.broker import batch, rebalance, sendback
from rocketproof_impl.broker.rebalance import RebalanceLockManager
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.store import reading
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_protocol.properties import RETRY_TOPIC, WAIT

PROFILE = "P494"


def marked(original: Any) -> None:
    """Name the topic of the last round."""
    original.properties[RETRY_TOPIC] = original.topic
    original.properties[WAIT] = "false"


SENT = ("a property that the broker writes", "an unusual text of properties", "a tag that a consumer selects")
WRONG: dict[str, tuple[Any, str, Callable[..., Any] | int]] = {
    "a retry that is sent back again": (sendback, "mark", marked),
    "each kind of message to a topic with other settings": (batch, "sys_flag_of", lambda flag, _: flag),
    "a pull of many messages": (reading, "MOST_MESSAGES", 100),
    "a cluster that brokers leave": (NameServer, "_clean", lambda *_: None),
    "queues that are locked": (RebalanceLockManager, "unlock", lambda *_: None),
    "members of a group": (rebalance, "refuse", lambda *_: None),
    "write permission in a name server": (routeinfo, "WRITE", 3),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Deployment]:
    with InProcess(PROFILE).open() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("name", [*WRONG, *SENT])
def test_correct_programs_have_no_findings(name: str, running: Deployment, tmp_path: Path) -> None:
    found = judged(running, tmp_path, *ordinary(name))
    assert "reference" in found.by and not found.findings and not found.unconfirmed


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_wrong_responses_are_found(name: str, running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, otherwise = WRONG[name]
    with monkeypatch.context() as changed:
        changed.setattr(owner, attribute, otherwise)
        path = performed(running, tmp_path, *ordinary(name))
    judged = judge_file(path, PROFILE)
    assert [*judged.findings, *judged.unconfirmed]
