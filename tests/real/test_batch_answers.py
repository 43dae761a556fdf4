"""How often 4.1.0 and 4.2.0 answer a batch, compared with the reference under their profiles: ROCKETMQ-234."""

from __future__ import annotations

import pytest

from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.vocabulary import plain

COMMANDS = ("java", "mvn")
SECONDS = 10.0
ITEMS = [["a", {}], ["b", {}]]


def answers(deployment: Deployment) -> list[list[int]]:
    """Return the codes of all responses to a message, to a stored batch, and to a batch refused for its queue."""
    found = []
    with deployment as running:
        for asked in (plain("send"), plain("send", items=ITEMS), plain("send", items=ITEMS, queue=99)):
            with running.connect("broker-a") as line:
                first = line.ask(asked, SECONDS)
                line.listen(1.0)
                found.append([first.code, *(stray.code for stray in line.strays if stray.is_response and stray.opaque == first.opaque)])
    return found


@pytest.mark.parametrize(("version", "profile", "stored"), [("4.1.0-incubating", "P410", [0, 0]), ("4.2.0", "P420", [0])])
@pytest.mark.behaviour("SEND-42", "BAT-01", "INV-01", "INV-02")
def test_stored_batch_gets_response_count_of_its_profile(version: str, profile: str, stored: list[int]) -> None:
    assert answers(Apache(version).open()) == answers(InProcess(profile).open()) == [[0], stored, [1]]
