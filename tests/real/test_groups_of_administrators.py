"""Administrators create groups with illegal names, and delete them with or without offsets: releases compared with the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.deployment import Deployment
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import INVALID_PARAMETER, SUCCESS
from rocketproof_protocol.fastjson import loads

COMMANDS = ("java", "mvn")
SECONDS = 10.0
NAMES = ("", " ", "a b", "a.b", "täg", "a b" * 60, "x" * 120, "x" * 121, "x" * 255, "%RETRY%g", "g")
LONGEST = 120


def seen(deployment: Deployment, profile: str) -> Mapping[str, Any]:
    """Return the responses to an administrator by name, whether the group then exists, and the groups existing at deletion."""
    with deployment as running:
        return _seen(running, profile)


def _seen(running: Deployment, profile: str) -> Mapping[str, Any]:
    with running.connect("broker-a") as line:

        def ask(name: str, **args: Any) -> Command:
            return line.ask(plain(name, PROFILES[profile], **args), SECONDS)

        def there(group: str) -> bool:
            return group in loads(ask("groups").body or b"")["subscriptionGroupTable"]

        made = {name: ((answer := ask("group", group=name)).code, answer.remark, there(name)) for name in NAMES}
        unnamed = ask("group", named=False).code
        deleted = {}
        for group, offsets in (("%RETRY%g", True), ("g", False), ("nobody", True), ("somebody", False)):
            deleted[group] = (ask("delete_group", group=group, offsets=offsets).code, there(group))
    return {"made": made, "unnamed": unnamed, "deleted": deleted}


@pytest.mark.parametrize(("version", "profile"), [("5.3.3", "P533"), ("5.4.0", "P540"), ("5.5.0", "P550")])
@pytest.mark.behaviour("DLQ-02")
def test_release_accepts_groups_that_reference_accepts(version: str, profile: str) -> None:
    found = seen(Apache(version).open(), profile)
    assert found == seen(InProcess(profile).open(), profile)
    refused = {name for name, (code, _, _) in found["made"].items() if code == INVALID_PARAMETER}
    assert refused == (set() if version == "5.3.3" else {*NAMES[:6], "x" * (LONGEST + 1), "x" * 255})
    remade = {group for group, (code, there) in found["deleted"].items() if there and code == SUCCESS}
    assert remade == ({"g", "somebody"} if version == "5.5.0" else set())
