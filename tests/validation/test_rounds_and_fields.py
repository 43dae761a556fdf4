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
from rocketproof_impl.broker.locks import RebalanceLockManager
from rocketproof_impl.nameserver import NameServer
from rocketproof_impl.store import reading
from rocketproof_lab.mutation.generated import sampling
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.pool import sampled_context
from rocketproof_properties.programs.vocabulary import Step, request_of
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


ROUTE: Step = ("route", {"topic": "A"})
TOPICS = {"A": (8, 2, 4), "B": (4, 4, 6)}
FIELDS: dict[str, tuple[str, str, list[Step]]] = {
    "topic:table_from_data attribute defaults.perm": ("topic", "broker", [("register", {"topics": TOPICS, "lacking": "perm"}), ROUTE]),
    "topic:table_from_data attribute defaults.topic_sys_flag": (
        "topic", "broker", [("register", {"topics": TOPICS, "lacking": "topicSysFlag"}), ROUTE],
    ),
    "broker/groups:group_from_data attribute defaults.retry_max_times": ("broker/groups", "broker", [("group", {"retries": None})]),
}  # fmt: skip
"""Changes that only a request without a field of its body shows, with such a request."""


@pytest.mark.slow
@pytest.mark.parametrize("begin", FIELDS)
def test_absent_field_of_body_has_its_default(begin: str, running: Deployment, tmp_path: Path) -> None:
    module, part, steps = FIELDS[begin]
    (change,) = [each for each in sampling.changes(module, part) if each.id.startswith(begin)]
    found = judged(running, tmp_path, *steps)
    assert not found.findings and not found.unconfirmed
    with change.ready().applied():
        path = performed(running, tmp_path, *steps)
    assert judge_file(path, PROFILE).findings


def test_packed_registration_has_every_field() -> None:
    bodies = [
        request_of(("register", {"topics": TOPICS, "packed": True, "lacking": lacking}), sampled_context(PROFILES[PROFILE]))
        for lacking in ("", "perm")
    ]
    assert bodies[0] is not None and bodies[0] == bodies[1]
