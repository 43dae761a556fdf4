"""Two masters of different releases in one cluster: clients get the same responses as from the reference implementation.

Each part of the reference has the profile of its release.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from waiting import until

from rocketproof_impl.remoting.command import Command
from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import call
from rocketproof_properties.brokers.deployment import Setup, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads

COMMANDS = ("java", "mvn")
FIRST, SECOND, SERVER = "broker-a", "broker-b", "name server"
CLUSTER = Command(codes.GET_BROKER_CLUSTER_INFO)
MADE, BOTH = plain("route", topic="Made"), plain("route", topic="Both")
PROGRAM: tuple[tuple[str, Command], ...] = (
    (SERVER, CLUSTER),
    (FIRST, plain("send", topic="Made", queue=0)),
    (SERVER, MADE),
    (SECOND, plain("send", topic="Made", queue=2)),
    (SERVER, MADE),
    (FIRST, plain("topic", topic="Both", read=2, write=3, perm=6)),
    (SECOND, plain("topic", topic="Both", read=5, write=4, perm=4)),
    (SERVER, BOTH),
    (FIRST, plain("send", topic="Both", queue=1)),
    (SECOND, plain("send", topic="Both", queue=1)),
    (FIRST, plain("delete", topic="Made")),
    (SERVER, MADE),
    (SECOND, plain("send", topic="Made", queue=2)),
    (SERVER, plain("route", topic="TBW102")),
    (SERVER, plain("route", topic="Nowhere")),
)
"""Who is asked what, in this order: a topic that the first message to each of them makes, one that an administrator makes differently on
both, a topic that only one of them deletes, the template's topic, and one that is not there."""
WITHOUT_WHEEL = {"timerWheelEnable": "false"}  # as the real ones are started: a deletion is answered otherwise then
MOMENT = 0.5  # seconds in which a broker has registered


def told(addresses: Mapping[str, str], request: Command, answer: Command) -> dict[str, Any]:
    """Return the content of a response, with names for addresses and in canonical order."""
    text = json.dumps(loads(answer.body), sort_keys=True) if answer.body else ""
    for name, address in addresses.items():
        text = text.replace(address, name)
    body = _sorted(json.loads(text)) if text else None
    fields = {name: value for name, value in (answer.ext_fields or {}).items() if name in ("queueId", "queueOffset")}
    return {"request": request.code, "code": answer.code, "fields": fields, "body": body}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(item) for name, item in value.items()}
    return sorted(map(_sorted, value), key=repr) if isinstance(value, list) else value


def answers(made: Callable[[str], ValidationTarget], first: str, second: str) -> Iterator[dict[str, Any]]:
    """Return the responses of two masters and the first one's name server: initially, after the second master stopped, and after its
    return.
    """
    with ExitStack() as stack:
        running = stack.enter_context(made(first).open(Setup(settings=WITHOUT_WHEEL)))
        joined = {**WITHOUT_WHEEL, "brokerName": SECOND, "namesrvAddr": str(running.name_server)}
        other = stack.enter_context(made(second).open(Setup(settings=joined)))
        addresses = {FIRST: running.brokers[FIRST], SECOND: other.brokers[FIRST]}
        parts = {**addresses, SERVER: str(running.name_server)}
        until(lambda: SECOND in str(told(addresses, CLUSTER, call(parts[SERVER], CLUSTER))), "the second is not known")
        for part, request in PROGRAM:
            if part == SERVER:
                time.sleep(MOMENT)
            yield told(addresses, request, call(parts[part], request))
        other.stop(FIRST)
        until(lambda: SECOND not in str(told(addresses, CLUSTER, call(parts[SERVER], CLUSTER))), "the second is still known")
        yield told(addresses, BOTH, call(parts[SERVER], BOTH))
        other.restart(FIRST)
        until(lambda: SECOND in str(told(addresses, BOTH, call(parts[SERVER], BOTH))), "the second does not come back")
        yield told(addresses, BOTH, call(parts[SERVER], BOTH))


@pytest.mark.behaviour("NS-02", "NS-04", "NS-05", "NS-06", "TCM-17", "TCM-30", "TCM-31")
@pytest.mark.parametrize(("first", "second"), [("4.9.4", "5.3.3"), ("5.3.3", "4.9.4")])
def test_masters_of_different_releases_follow_their_profiles(first: str, second: str) -> None:
    real = list(answers(Apache, first, second))
    assert real == list(answers(lambda version: InProcess(nearest_profile(version)), first, second))
    routes = [row["body"]["brokerDatas"] for row in real if row["request"] == MADE.code and row["body"]]
    named = ["".join(broker["brokerName"][-1] for broker in route) for route in routes]
    assert named == ["a", "ab", "ab", "ab", "ab", "a", "ab"], "a name server forgets no topic that one of its brokers deletes"
