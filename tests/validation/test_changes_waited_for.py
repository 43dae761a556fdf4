"""A program continues after a topic change only when the topic is changed, also if the broker answers earlier (HAZ-60)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.runs.client import ProgramClient
from rocketproof_properties.programs.call import Context, RecordedCall
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_protocol.codes import SUCCESS, SYSTEM_ERROR, UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, UPDATE_AND_CREATE_TOPIC

CHANGE = RecordedCall("update_topic", "broker-a", UPDATE_AND_CREATE_TOPIC, {"topic": "T"})
GROUP = RecordedCall("update_group", "broker-a", UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {})


class Line:
    """A connection to a broker with these responses; a `deaf` one does not answer requests without fields."""

    def __init__(self, events: list[str], code: int, *, deaf: bool = False) -> None:
        self.events, self.code, self.deaf = events, code, deaf
        self.strays: list[Command] = []

    def ask(self, command: Command, seconds: float) -> Command:
        del seconds
        self.events.append(f"asked {command.code} with {len(command.ext_fields or {})} fields")
        if self.deaf and not command.ext_fields:
            raise TimedOut("nobody answers")
        return Command(self.code)


def events(profile: str, call: RecordedCall, code: int = SUCCESS, *, deaf: bool = False) -> list[str]:
    """Return the requests and the recorded events, in order."""
    found: list[str] = []
    recording: Any = SimpleNamespace(add=lambda kind, *_: (found.append(kind), SimpleNamespace(seq=0))[1])
    deployment: Any = SimpleNamespace(address=lambda to: "here", connect=lambda part: Line(found, code, deaf=deaf))
    client = ProgramClient(0, deployment, Context(ProgramNames("r0-0-", 0), "broker-a", profile=PROFILES[profile]), recording)
    client.call(call)
    return found


@pytest.mark.parametrize("deaf", [False, True])
@pytest.mark.parametrize("profile", ["P452", "P460", "P470"])
@pytest.mark.behaviour("TCM-30", "HAZ-60")
def test_refused_second_change_shows_first_change_is_over(profile: str, deaf: bool) -> None:
    assert events(profile, CHANGE, deaf=deaf) == ["invoke", "asked 17 with 1 fields", "asked 17 with 0 fields", "ok"]


@pytest.mark.parametrize(("profile", "call", "code"), [("P471", CHANGE, SUCCESS), ("P470", GROUP, SUCCESS), ("P470", CHANGE, SYSTEM_ERROR)])
@pytest.mark.behaviour("TCM-30")
def test_done_or_refused_changes_are_not_awaited(profile: str, call: RecordedCall, code: int) -> None:
    assert len([event for event in events(profile, call, code) if event.startswith("asked")]) == 1
