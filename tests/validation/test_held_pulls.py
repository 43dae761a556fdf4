"""Pulls that a broker holds: an arriving message answers them, and the broker must neither forget them nor answer early."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from performing import judged, profile_of

from rocketproof_impl.broker import pull
from rocketproof_impl.broker.hold import PullRequestHoldService
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client
from rocketproof_properties.brokers.runs.parsed import held_millis, load, served_at
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.reference.program import ReferenceReplay
from rocketproof_properties.programs import requests
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.pool import PHRASES, phrases
from rocketproof_properties.programs.program import ProgramOptions, generate

(HELD,) = (phrase for phrase in PHRASES if phrase.name == "a pull that is held")
STEPS = tuple((name, {key: of[0] for key, of in values.items()}) for name, values in HELD.steps)


@pytest.fixture(scope="module", params=["P494", "P533"])
def running(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    with InProcess(request.param).open() as made:
        yield made


def test_held_pull_gets_arriving_message(running: Deployment, tmp_path: Path) -> None:
    for number in range(5):  # on a busy machine a pull may arrive after its message
        folder = tmp_path / str(number)
        folder.mkdir()
        found = judged(running, folder, *STEPS)
        assert "reference" in found.by and not found.findings and not found.unconfirmed
        (one,) = (asked for asked in load(found.path).exchanges if asked.op == "pull")
        assert one.code == 0 and one.fields["suspendTimeoutMillis"] == "1000"
        assert held_millis(one) is not None and served_at(one) == one.end > one.seq
        if held_millis(one) > 100:
            return
    pytest.fail("no pull was held for the time that passes before its message")


def test_unwanted_held_pull_response_is_accepted_up_to_5_0(running: Deployment, tmp_path: Path) -> None:
    pull = ("pull", {"topic": "W", "offset": 1, "hold": 1000, "one_way": True, "client": 1})
    later = ("time", {"millis": 500, "client": 1}), ("topic", {"topic": "X", "client": 1})
    found = judged(running, tmp_path, ("send", {"topic": "W"}), ("meet", {}), pull, ("meet", {}), ("send", {"topic": "W"}), *later)
    (asked,) = (exchange for exchange in load(found.path).exchanges if exchange.op == "pull")
    assert len(asked.strays) == (0 if PROFILES[profile_of(running)].heeds_one_way else 1)
    assert not found.findings and not found.unconfirmed
    if asked.strays:
        assert "INV-03" in [one.property for one in judge_file(found.path, "P533").deviations]


def test_reference_answers_held_pull_of_last_message(running: Deployment, tmp_path: Path) -> None:
    pull = ("pull", {"topic": "W", "offset": 1, "hold": 1000, "one_way": True, "client": 1})
    history = load(judged(running, tmp_path, ("send", {"topic": "W"}), ("meet", {}), pull, ("meet", {}), ("send", {"topic": "W"})).path)
    *_, last = history.exchanges
    unknown = replace(last, closed="info", outcome={"error": "the connection was closed"})
    history.items[history.items.index(last)] = unknown  # its outcome is unknown, so nothing follows it
    reference = ReferenceReplay(history, PROFILES[history.origin["profile"]], history.items)
    assert [difference.field for difference in reference.compare()] == ["answer"]
    del reference
    gc.collect()  # a thread that never started would raise a warning here


@pytest.mark.slow
def test_forgotten_pull_is_reported(running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PullRequestHoldService, "_wake", lambda self, pull: None)
    found = judged(running, tmp_path, *STEPS)
    assert [*found.deviations, *found.unconfirmed]


def test_pull_not_held_is_reported(running: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "PULL_SUSPENDS", 0)
    found = judged(running, tmp_path, *STEPS)
    assert [finding.property for finding in found.findings] == ["pull.waits"]


def test_pulls_are_held_in_programs_of_several_clients_alone() -> None:
    assert HELD in phrases(PROFILES["P494"]) and HELD.concurrent and HELD.waits
    several, single = (generate(ProgramOptions("P494", 200, 2, concurrent=concurrent)) for concurrent in (True, False))
    assert any(args.get("hold") for made in several for _, args in made.steps)
    alone = {args["hold"] for made in single for _, args in made.steps if args.get("hold") and not args.get("one_way")}
    assert alone <= {300, 3000} and not any(made.concurrent for made in single)  # until their time is over


def test_holding_client_waits_longer_for_response() -> None:
    context = Context(ProgramNames("t", 0), "broker-a")
    assert client.patience(requests.pull(context, "broker-a")) == client.PATIENCE
    assert client.patience(requests.pull(context, "broker-a", hold=3000)) == client.PATIENCE + client.LOOKS + 3
    assert client.patience(requests.send(context, "broker-a")) == client.PATIENCE
