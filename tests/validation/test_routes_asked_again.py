"""A program asks again for a route that is not there, and waits before it changes a topic: registrations may be on their way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from performing import judged

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client
from rocketproof_properties.brokers.runs.client import ASKED_AGAIN, SETTLING, ProgramClient
from rocketproof_properties.programs.call import RecordedCall
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_protocol.codes import GET_ROUTEINFO_BY_TOPIC, SUCCESS, TOPIC_NOT_EXIST

ROUTE = RecordedCall("route", NAME_SERVER, GET_ROUTEINFO_BY_TOPIC, {"topic": "A"})


class Waiting(ProgramClient):
    """A client whose name server knows the topic after `missed` queries."""

    def __init__(self, missed: int) -> None:
        context: Any = None
        super().__init__(0, context, context, context)
        self.codes = [*[TOPIC_NOT_EXIST] * missed, SUCCESS]

    def call(self, call: Any) -> Command | None:
        del call
        return Command(self.codes.pop(0))


@pytest.mark.behaviour("HAZ-37")
@pytest.mark.parametrize(("missed", "pauses"), [(0, []), (2, [2, 4]), (ASKED_AGAIN, [2, 4, 8])])
def test_route_query_is_retried_with_growing_delays(missed: int, pauses: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(client.interrupts, "pause", waited.append)
    Waiting(missed)._route(ROUTE)
    assert waited == [SETTLING * pause for pause in pauses]


def test_route_query_is_not_retried_if_the_step_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(client.interrupts, "pause", waited.append)
    client_ = Waiting(2)
    client_._route(replace(ROUTE, again=False))
    assert not waited and len(client_.codes) == 2


@pytest.mark.behaviour("HAZ-37", "TCM-17")
@pytest.mark.parametrize(("step", "waits"), [("topic", 1), ("group", 0)])
def test_topic_changes_only_after_its_creation_could_register(
    step: str, waits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real 4.9.4 kept the older entry in its name server after 3 of 40 updates that immediately followed a first message, and after none
    of 120 that waited.
    """
    waited: list[float] = []
    monkeypatch.setattr(client, "interrupts", SimpleNamespace(pause=waited.append))
    with InProcess("P494").open() as running:
        judged(running, tmp_path, ("send", {"topic": "A"}), (step, {}))
    assert len(waited) == waits
