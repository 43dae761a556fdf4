"""A topic is deleted when its messages are in their queues: a busy broker needs a while for that (HAZ-62)."""

from __future__ import annotations

from types import SimpleNamespace, TracebackType
from typing import Any, Self

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.remoting.errors import TimedOut
from rocketproof_properties.brokers.runs import client
from rocketproof_properties.brokers.runs.client import ProgramClient
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.vocabulary import Step
from rocketproof_protocol import codes

ID = "7F00000100002A9F0000000000000000"
DELETE: Step = ("delete", {"topic": "A"})


class Broker:
    """A broker connection on which messages are dispatched after `late` queries, unless the broker is `deaf` to them."""

    def __init__(self, late: int, *, deaf: bool = False) -> None:
        self.late, self.deaf = late, deaf
        self.asked: list[int] = []
        self.strays: list[Command] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def ask(self, command: Command, seconds: float) -> Command:
        del seconds
        self.asked.append(command.code)
        if command.code == codes.SEND_MESSAGE_V2:
            return Command(codes.SUCCESS, {"msgId": ID, "queueId": "0", "queueOffset": "4"})
        if command.code == codes.GET_MAX_OFFSET:
            if self.deaf:
                raise TimedOut("nobody answers")
            self.late -= 1
            return Command(codes.SUCCESS, {"offset": "4" if self.late >= 0 else "5"})
        return Command(codes.SUCCESS)


def asked(broker: Broker, *steps: Step) -> list[int]:
    """Return the codes of the requests of these steps, including those that wait for them."""
    recording: Any = SimpleNamespace(add=lambda *_: SimpleNamespace(seq=0))
    deployment: Any = SimpleNamespace(address=lambda to: "here", connect=lambda part: broker)
    performing = ProgramClient(0, deployment, Context(ProgramNames("r0-0-", 0), "broker-a"), recording)
    for step in steps:
        performing.step(step)
    return broker.asked


@pytest.mark.behaviour("REC-04", "TCM-31")
@pytest.mark.parametrize("late", [0, 1, 3])
def test_deletion_waits_for_last_message_and_only_once(late: int) -> None:
    looks = [codes.GET_MAX_OFFSET] * (late + 1)
    assert asked(Broker(late), ("send", {}), DELETE, DELETE) == [
        codes.SEND_MESSAGE_V2,
        *looks,
        codes.DELETE_TOPIC_IN_BROKER,
        codes.DELETE_TOPIC_IN_BROKER,
    ]


@pytest.mark.behaviour("REC-04", "TCM-31")
@pytest.mark.parametrize("broker", [Broker(0, deaf=True), Broker(10**9)])
def test_deletion_takes_effect_without_notification(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "BEHIND", 0.01)
    assert asked(broker, ("send", {}), DELETE)[-1] == codes.DELETE_TOPIC_IN_BROKER


@pytest.mark.parametrize(
    "step",
    [
        ("send", {"properties": {"DELAY": "3"}}),
        ("send", {"properties": {"TRAN_MSG": "true"}}),
        ("send", {"properties": {"TIMER_DELAY_SEC": "3"}}),
        ("send", {"sys_flag": 4}),
        ("send", {"topic": "%RETRY%g", "times": 16}),
        ("view", {}),
    ],
)
@pytest.mark.behaviour("REC-04", "HAZ-15")
def test_messages_outside_answered_position_are_not_awaited(step: Step) -> None:
    assert codes.GET_MAX_OFFSET not in asked(Broker(0), step, DELETE)
