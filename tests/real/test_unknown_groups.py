"""Heartbeats of groups that a broker neither knows nor creates: whether their clients become consumers and are notified, compared with the
reference.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.client import notified
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import SUCCESS

COMMANDS = ("java", "mvn")
SECONDS, SOON = 10.0, 1.0


def seen(deployment: Deployment) -> Mapping[str, list[str]]:
    """Return the groups whose consumer was notified: one group is created by a query, one is not."""
    with deployment as running, running.connect("broker-a") as line:

        def ask(name: str, **args: object) -> Command:
            return line.ask(plain(name, **args), SECONDS)

        ask("topic", topic="A")
        found = {}
        for made in ("true", "false"):
            ask("configure", line=f"autoCreateSubscriptionGroup={made}")
            assert ask("consumer", topic="A", group=made).code == SUCCESS
            line.listen(SOON)
            found[made], line.strays[:] = notified(line.strays), []
        return found


@pytest.mark.parametrize(("version", "profile", "heard"), [("4.9.4", "P494", True), ("5.1.0", "P510", True), ("5.3.3", "P533", False)])
@pytest.mark.behaviour("DLQ-02", "TCM-20")
def test_later_releases_ignore_unknown_groups(version: str, profile: str, heard: bool) -> None:
    found = seen(Apache(version).open())
    assert found == {"true": ["true"], "false": ["false"] if heard else []}
    assert found == seen(InProcess(profile).open())
