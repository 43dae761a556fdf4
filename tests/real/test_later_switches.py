"""Differences between a real 5.3.3 and a real 4.9.4 that no recording shows: each switch on both, and on the reference under their
profiles.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store import record
from rocketproof_profiles.switches import OF_NAME_SERVERS
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import Connection
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.reference.comparison import route
from rocketproof_properties.programs.call import Context
from rocketproof_properties.programs.names import ProgramNames
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_properties.programs.vocabulary import request_of
from rocketproof_protocol import codes
from rocketproof_protocol.fastjson import loads
from rocketproof_protocol.properties import REAL_TOPIC
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE

COMMANDS = ("java", "mvn")
SECONDS = 5.0
BROKER = "broker-a"
HERE, THERE = "10.0.0.1:1", "10.0.0.2:1"
EARLIER: Mapping[str, Any] = {
    "wants_topic": (1, "The specified topic is blank."),
    "wants_origin": (0, 0),
    "dlq_while_locked": ["%RETRY%", "%RETRY%"],
    "keeps_order": [False, False],
    "skips_equal_topic": 1,
    "masks_alone": [4, 4],
    "refuses_single_topic": 0,
    "takes_unknown_topics": 17,
    "leaves_by_address": ["1"],
    "lives_in_cluster": [True, True],
    "registers_updated_alone": [17, 0],
    "registers_created_alone": [0, 0],
    "retries_are_ordinary": ["the half topic", "the half topic"],
    "min_offset_remark": None,
    "null_fields": 17,
    "check_groups": [0, 0, 0],
    "deletes_offsets": ["5", "6"],
    "heeds_one_way": [0],
}
LATER: Mapping[str, Any] = {
    "wants_topic": (1, "java.lang.NullPointerException"),
    "wants_origin": (1, 0),
    "dlq_while_locked": ["%DLQ%", "%RETRY%"],
    "keeps_order": [True, False],
    "skips_equal_topic": 0,
    "masks_alone": [0, 4],
    "refuses_single_topic": 1,
    "takes_unknown_topics": 0,
    "leaves_by_address": ["0"],
    "lives_in_cluster": [True, False],
    "registers_updated_alone": [17, 17],
    "registers_created_alone": [17, 17],
    "retries_are_ordinary": ["its own", "the half topic"],
    "min_offset_remark": "",
    "null_fields": 17,
    "check_groups": [0, 26, 26],
    "deletes_offsets": [None, "6"],
    "heeds_one_way": [],
}

OLD_BESIDE_NEW = EARLIER | {name: LATER[name] for name in OF_NAME_SERVERS if name in LATER} | {"registers_updated_alone": [17, 17]}
"""Of 4.9.4 beside a name server of 5.3.3, which refuses the one topic that a broker which it has forgotten tells of."""
NEW_BESIDE_OLD = LATER | {name: EARLIER[name] for name in OF_NAME_SERVERS if name in EARLIER}
NEW_BESIDE_OLD |= {"registers_updated_alone": [17, 0], "registers_created_alone": [17, 0]}
"""Of 5.3.3 beside a name server of 4.9.4, which takes such a topic, and has a route for it alone: neither release alone does this of a
topic that a message has made."""


class Asking:
    """Send steps of a program as requests to a running target; a missing broker has its own permanent connection."""

    def __init__(self, running: Deployment) -> None:
        self.deployment = running
        self.context = Context(ProgramNames("later-", 1), BROKER)
        self.lines: dict[str, Connection] = {}

    def __call__(self, step: str, /, **args: Any) -> Command:
        call = request_of((step, args), self.context)
        assert call is not None
        return self.line(call.line or call.to, call.to).ask(call.command(), SECONDS)

    def line(self, key: str, to: str) -> Connection:
        if key not in self.lines:
            self.lines[key] = self.deployment.connect(to)
        return self.lines[key]

    def table(self) -> dict[str, Any]:
        answer = self.line(BROKER, BROKER).ask(Command(codes.GET_ALL_TOPIC_CONFIG), SECONDS)
        found: dict[str, Any] = json.loads(answer.body or b"")
        return found

    def permission(self, topic: str) -> int:
        ((perm, *_),) = route(self("route", topic=topic).body, str.isascii)["queueDatas"]
        return int(perm[1])


@contextmanager
def asking(running: Deployment) -> Iterator[Asking]:
    ask = Asking(running)
    try:
        yield ask
    finally:
        for line in ask.lines.values():
            line.close()


def seen(running: Deployment) -> dict[str, Any]:
    """Return the observable effect of each switch."""
    with running, asking(running) as ask:
        nameless = ask("send", without="topic")
        kind = re.split("[:,]", str(nameless.remark))[0]  # a Java machine leaves out the rest if it likes
        found: dict[str, Any] = {"wants_topic": (nameless.code, kind), "wants_origin": given_up(ask)}
        found["dlq_while_locked"] = under_lock(ask)
        found["check_groups"] = [sent_back(ask, group) for group in ("g|%_-", "g.h", "é")]
        found["retries_are_ordinary"] = [delayed(ask, times) for times in (1, 0)]
        found["keeps_order"] = [ordered(ask, "O"), ordered(ask, "%RETRY%g")]
        found["skips_equal_topic"] = changes(ask)
        found["deletes_offsets"] = remembered(ask)
        found["heeds_one_way"] = heard(ask)
        running.configure(BROKER, {"brokerPermission": "4"})
        ask("topic", topic="W", perm=2)
        ask("topic", topic="R", perm=6)
        found["masks_alone"] = [ask.permission("W"), ask.permission("R")]
        found["refuses_single_topic"] = ask("register", name="x", topics={"S": (4, 4, 6)}).code
        both = {"A": (4, 4, 6), "B": (4, 4, 6)}
        ask("register", name="y", topics=both)
        ask("register", name="y", topics=both | {"C": (4, 4, 6)})
        found["takes_unknown_topics"] = ask("route", topic="C").code
        ask("register", name="z", address=HERE, topics={"D": (4, 4, 6), "E": (4, 4, 6)})
        ask("register", name="z", address=THERE, broker_id=1)
        ask("unregister", name="z", address=THERE, broker_id=0)
        found["leaves_by_address"] = left(ask)
        ask("register", name="v", address=HERE)
        slaves = [ask("register", name="v", address=THERE, broker_id=1, cluster=cluster) for cluster in ("cluster", "other")]
        found["lives_in_cluster"] = ["masterAddr" in (answer.ext_fields or {}) for answer in slaves]
        first = Command(codes.GET_MIN_OFFSET, {"topic": "T", "queueId": "0"})
        found["min_offset_remark"] = ask.line(BROKER, BROKER).ask(first, SECONDS).remark
        found["null_fields"] = ask.line("other", NAME_SERVER).ask(Command(codes.GET_ROUTEINFO_BY_TOPIC, {}), SECONDS).code
        forgotten(ask, "T")
        ask("topic", topic="U")
        found["registers_updated_alone"] = [ask("route", topic=name).code for name in "TU"]
        ask("send", topic="N")
        soon(lambda: ask("route", topic="N").code == 0, 2)  # a one-way registration takes effect later
        found["registers_created_alone"] = [ask("route", topic=name).code for name in "TN"]
        return found


def forgotten(ask: Asking, topic: str) -> None:
    """Create a topic and make the name server forget the broker, as if restarted: a client unregisters the broker in its name."""
    ask("topic", topic=topic)
    (broker,) = loads(ask("route", topic=topic).body or b"")["brokerDatas"]
    (address,) = broker["brokerAddrs"].values()
    leaving = {"brokerName": broker["brokerName"], "clusterName": broker["cluster"], "brokerAddr": address, "brokerId": "0"}
    ask.line("other", NAME_SERVER).ask(Command(codes.UNREGISTER_BROKER, leaving), SECONDS)
    soon(lambda: ask("route", topic=topic).code != 0, 10)


def soon(true: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.05)


def given_up(ask: Asking) -> tuple[int, int]:
    """Return the codes of two send-backs to the dead letters, without and with a topic."""
    answer = ask("send", topic="A")
    place = int((answer.ext_fields or {})["msgId"][16:], 16)
    return ask("back", offset=place, level=-1, named=False).code, ask("back", offset=place, level=-1).code


def under_lock(ask: Asking) -> list[str]:
    """Return the prefixes of the topics in which a retry is stored, while its group holds a lock and after it has freed the queue."""
    topics = []
    for step in ("lock", "unlock"):
        ask(step, group="l")
        sent = ask("send", topic="%RETRY%l")
        stored = ask("view", place=int((sent.ext_fields or {})["msgId"][16:], 16))
        message = record.decode(stored.body or b"", exact=False)
        assert message is not None
        topics.append(message.topic[: message.topic.rindex("%") + 1])
    return topics


def sent_back(ask: Asking, group: str) -> int:
    """Return the response code of a send-back for an unknown group."""
    answer = ask("send", topic="A")
    return ask("back", offset=int((answer.ext_fields or {})["msgId"][16:], 16), level=1, group=group).code


def delayed(ask: Asking, times: int) -> str:
    """Return the target queue of a message with TRAN_MSG and a delay after `times` retries."""
    answer = ask("send", topic="%RETRY%g", properties={"TRAN_MSG": "true", "DELAY": "18", "PGROUP": "p"}, times=times)
    stored = ask("view", place=int((answer.ext_fields or {})["msgId"][16:], 16))
    message = record.decode(stored.body or b"", exact=False)
    assert message is not None and message.topic == SCHEDULE
    return "the half topic" if message.properties[REAL_TOPIC] == HALF_TOPIC else "its own"


def ordered(ask: Asking, topic: str) -> bool:
    """Return whether a topic is still ordered after an administrator set that and a message was sent back."""
    ask("topic", topic=topic, order=True)
    answer = ask("send", topic="A")
    assert ask("back", offset=int((answer.ext_fields or {})["msgId"][16:], 16), level=1).code == 0
    return bool(ask.table()["topicConfigTable"][ask.context.names.topic(topic)]["order"])


def changes(ask: Asking) -> int:
    """Return the number of versions that an update without changes creates."""
    ask("topic", topic="E")
    before = ask.table()["dataVersion"]["counter"]
    ask("topic", topic="E")
    return int(ask.table()["dataVersion"]["counter"]) - int(before)


def remembered(ask: Asking) -> list[str | None]:
    """Return a group's offsets in two topics, of which the first was deleted and created again."""
    ask("group", group="g")
    for offset, topic in ((5, "M"), (6, "MM")):
        ask("topic", topic=topic)
        assert ask("commit", topic=topic, group="g", offset=offset).code == 0
    ask("delete", topic="M")  # a broker of 5.3.3 without a timer wheel deletes it, and fails afterwards
    ask("topic", topic="M")
    return [(ask("progress", topic=topic, group="g").ext_fields or {}).get("offset") for topic in ("M", "MM")]


def heard(ask: Asking) -> list[int]:
    """Return the codes of responses to a held one-way pull."""
    ask("send", topic="H", queue=0)
    line = ask.line("pull", BROKER)
    last = Command(codes.GET_MAX_OFFSET, {"topic": ask.context.names.topic("H"), "queueId": "0"})
    soon(lambda: (line.ask(last, SECONDS).ext_fields or {})["offset"] == "1", 5)
    call = request_of(("pull", {"topic": "H", "offset": 1, "hold": 10_000, "one_way": True}), ask.context)
    assert call is not None
    line.send_one_way(call.command())
    line.listen(0.3)  # otherwise the message may arrive before the pull
    ask("send", topic="H", queue=0)
    line.listen(2)
    return [answer.code for answer in line.strays]


def left(ask: Asking) -> list[str]:
    """Return the remaining ids of the broker; a name server of 5.x removes them later."""
    until = time.monotonic() + 10
    while True:
        ((*_, addresses),) = route(ask("route", topic="D").body, lambda name: name.endswith("-z"))["brokerDatas"]
        if len(addresses) == 1 or time.monotonic() > until:
            return [number for number, _ in addresses]
        time.sleep(0.05)


@pytest.mark.parametrize(("version", "profile", "expected"), [("4.9.4", "P494", EARLIER), ("5.3.3", "P533", LATER)])
@pytest.mark.behaviour(
    *("BACK-12", "CHK-02", "DLQ-07", "NS-02", "NS-03", "NS-08", "NS-11", "NS-12", "TCM-20", "TCM-30", "TCM-34", "TRX-01", "HAZ-47")
)
def test_each_switch_is_visible_on_real_broker_and_reference(version: str, profile: str, expected: Mapping[str, Any]) -> None:
    assert seen(Apache(version).open()) == expected
    assert seen(InProcess(profile).open()) == expected


@pytest.mark.parametrize(
    ("broker", "name_server", "profile", "expected"),
    [("4.9.4", "5.3.3", "P494+P533", OLD_BESIDE_NEW), ("5.3.3", "4.9.4", "P533+P494", NEW_BESIDE_OLD)],
)
@pytest.mark.behaviour("NS-02", "NS-03", "NS-08", "TCM-30", "TCM-34")
def test_pair_has_brokers_switches_and_name_servers(broker: str, name_server: str, profile: str, expected: Mapping[str, Any]) -> None:
    assert seen(Apache(broker, name_server=name_server).open()) == expected
    assert seen(InProcess(profile).open()) == expected


def registered_alone(running: Deployment) -> tuple[list[int], bool]:
    """Return the response codes of immediate route queries for a topic made by an administrator and for one made by a message.

    Also return whether the client that created each waited for 3 s.
    """
    with running, asking(running) as ask:
        began = time.monotonic()
        codes_ = [ask(step, topic=name).code or ask("route", topic=name).code for step, name in (("topic", "T"), ("send", "N"))]
        return codes_, time.monotonic() - began > 6


@pytest.mark.parametrize(
    ("target", "profile", "expected"),
    [
        (Apache("5.3.3"), "P533", ([0, 0], False)),
        (Apache("5.3.3", name_server="4.9.4"), "P533+P494", ([17, 17], True)),
    ],
    ids=lambda given: given.name if isinstance(given, Apache) else None,
)
@pytest.mark.behaviour("TCM-17", "TCM-30", "TCM-34", "REM-05")
def test_topic_is_registered_by_request_unknown_to_old_name_server(target: Apache, profile: str, expected: tuple[list[int], bool]) -> None:
    """The name server does not respond, and broker and clients wait."""
    alone = Setup(settings={"enableSingleTopicRegister": "true"})
    assert registered_alone(target.open(alone)) == expected
    assert registered_alone(InProcess(profile).open(alone)) == expected
