"""Registrations of changing topics on simulated brokers and name servers: each release in its way, and planted errors."""

from __future__ import annotations

from typing import Any

import pytest
from performed import FEW, found

from rocketproof_impl import nameserver
from rocketproof_impl.broker import topics
from rocketproof_impl.broker.registration import Registration
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour


@behaviour("TCM-17", "TCM-30", "TCM-34", "NS-02", "NS-03")
@pytest.mark.parametrize("profile", ["P494", "P533"])
@pytest.mark.parametrize("given", [{"asks": True}, {"loss": True, "restart": True}], ids=["asks", "faults"])
def test_release_registering_single_topics_follows_specification(profile: str, given: dict[str, Any]) -> None:
    assert found("registrations", profile, given, FEW) is None


@behaviour("TCM-34", "NS-04")
def test_release_with_unversioned_single_topics_follows_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that takes them from any broker is found."""
    given = {"bare": True, "loss": True, "restart": True}
    assert found("registrations", "P533", given, FEW) is None
    steps = ["create(t=A)", "restart(n=first)", "register(s=message)"]
    replay("registrations", "P533", [*steps, "refuse(n=first, s=message)"], given)
    monkeypatch.setattr(nameserver.NameServer, "register_topic", lambda self, topic, queues: self._update_queue_data(topic, queues[0]))
    with pytest.raises(ConformanceError, match="route"):
        replay("registrations", "P533", [*steps, "refuse(n=first, s=message)"], given)


HIDDEN = ["update(t=A, unit=False)", "create(t=B)", "register(s=administrator)", "take(n=first, s=administrator)", "register(s=message)"]


@behaviour("TCM-30", "NS-03", "INV-18", "HAZ-55")
def test_registration_version_is_that_of_its_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that remembers the version of the change would hide nothing."""
    replay("registrations", "P494", [*HIDDEN, "ignore(n=first, s=message)"])
    register = Registration._register_alone

    async def remembers(self: Registration, config: Any) -> None:
        version, self._topics.data_version = self._topics.data_version, self._topics.data_version.copy()
        await register(self, config)
        self._topics.data_version = version

    monkeypatch.setattr(Registration, "_register_alone", remembers)
    with pytest.raises(ConformanceError, match="version"):
        replay("registrations", "P494", HIDDEN)


@behaviour("NS-02", "HAZ-56")
def test_name_server_refusing_no_single_topic_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["restart(n=first)", "update(t=A, unit=False)", "register(s=administrator)"]
    replay("registrations", "P494", [*steps, "take(n=first, s=administrator)"], {"restart": True})
    with pytest.raises(ConformanceError):
        replay("registrations", "P533", [*steps, "take(n=first, s=administrator)"], {"restart": True})
    monkeypatch.setattr(nameserver.NameServer, "is_topic_config_changed", lambda self, address, version: True)
    with pytest.raises(ConformanceError, match="route"):
        replay("registrations", "P494", [*HIDDEN, "ignore(n=first, s=message)"])


@behaviour("TCM-31", "TCM-32", "PERM-02", "NS-12")
@pytest.mark.parametrize(
    ("where", "name", "steps"),
    [
        (topics.TopicConfigManager, "_changed", ["update(t=A, unit=False)"]),
        (topics.TopicConfigManager, "delete", ["create(t=A)", "delete(t=A)"]),
        (nameserver.NameServer, "wipe_write_perm", ["create(t=A)", "register(s=message)", "take(n=first, s=message)", "wipe(n=first)"]),
        (topics.TopicConfigManager, "update_order", ["create(t=A)", "apply_order()"]),
    ],
)
def test_change_that_is_none_is_finding(where: type, name: str, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    replay("registrations", "P49", steps, {"wipe": True})
    monkeypatch.setattr(where, name, lambda self, *args: None)
    with pytest.raises(ConformanceError):
        replay("registrations", "P49", steps, {"wipe": True})
