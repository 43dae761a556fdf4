"""A program asks for a route again that the name server does not have: a broker's registration may be on its way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.runs import client
from rocketproof_properties.runs.client import ASKED_AGAIN, SETTLING, Client
from rocketproof_protocol.codes import SUCCESS, TOPIC_NOT_EXIST


class Waiting(Client):
    """A client whose name server knows the topic when it has been asked `missed` times."""

    def __init__(self, missed: int) -> None:
        context: Any = None
        super().__init__(0, context, context, context)
        self.codes = [*[TOPIC_NOT_EXIST] * missed, SUCCESS]

    def call(self, call: Any) -> Command | None:
        del call
        return Command(self.codes.pop(0))


@pytest.mark.behaviour("HAZ-37")
@pytest.mark.parametrize(("missed", "pauses"), [(0, []), (2, [2, 4]), (ASKED_AGAIN, [2, 4, 8])])
def test_a_route_is_asked_for_again_later_each_time(missed: int, pauses: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(client, "time", SimpleNamespace(sleep=waited.append))
    route: Any = None
    Waiting(missed)._route(route)
    assert waited == [SETTLING * pause for pause in pauses]
