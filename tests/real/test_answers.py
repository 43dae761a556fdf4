"""The same requests to a real 4.9.4 and to `rocketproof serve`: codes, remarks, header fields and bodies of the answers are the same."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from rocketproof_impl.remoting.command import Command
from rocketproof_properties.brokers.apache import Apache
from rocketproof_properties.brokers.connection import TcpConnection
from rocketproof_properties.brokers.deployment import Deployment, Setup
from rocketproof_properties.brokers.served import Served
from rocketproof_properties.programs.parts import NAME_SERVER
from rocketproof_protocol import fastjson

COMMANDS = ("java", "mvn")
BROKER = "broker-a"
CONSUMER = {
    "groupName": "listening",
    "consumeType": "CONSUME_PASSIVELY",
    "messageModel": "CLUSTERING",
    "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
    "subscriptionDataSet": [
        {"topic": "T", "subString": "TagA", "tagsSet": ["TagA"], "codeSet": [2598919], "subVersion": 5, "expressionType": "TAG"}
    ],
    "unitMode": False,
}


class Asked(NamedTuple):
    """A request; `name` describes its special feature. It is repeated for some time until the response has the fields `until`."""

    name: str
    to: str
    code: int
    fields: dict[str, Any] | None = None
    body: Any = None
    until: dict[str, str] | None = None


def create(topic: str, **changed: Any) -> dict[str, Any]:
    return {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6,
        "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False, **changed,
    }  # fmt: skip


def send(number: int, tag: str, queue: int = 0, topic: str = "T") -> Asked:
    properties = f"TAGS\x01{tag}\x02KEYS\x01a b Aa\x02WAIT\x01true"
    fields = {
        "a": "pg",
        "b": topic,
        "c": "TBW102",
        "d": 4,
        "e": queue,
        "f": 0,
        "g": 1_700_000_000_000,
        "h": 0,
        "i": properties,
        "j": 0,
        "k": False,
        "m": False,
    }
    return Asked(f"send {number}", BROKER, 310, fields, tag)


def pull(name: str, **changed: Any) -> Asked:
    fields = {
        "consumerGroup": "cg", "topic": "T", "queueId": 0, "queueOffset": 0, "maxMsgNums": 32, "sysFlag": 4, "commitOffset": 0,
        "suspendTimeoutMillis": 0, "subscription": "*", "subVersion": 0, **changed,
    }  # fmt: skip
    return Asked(f"pull {name}", BROKER, 11, {key: value for key, value in fields.items() if value is not None})


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def found(name: str, **changed: Any) -> Asked:
    fields = {"topic": "T", "key": "a", "maxNum": 32, "beginTimestamp": 0, "endTimestamp": 2**63 - 1, **changed}
    return Asked(f"find {name}", BROKER, 12, {key: value for key, value in fields.items() if value is not None})


END = {"producerGroup": "pg", "tranStateTableOffset": 0, "commitLogOffset": 0, "commitOrRollback": 8, "msgId": "m"}
BACK = {"group": "cg", "offset": 0, "delayLevel": 1, "maxReconsumeTimes": 3}

REQUESTS = (
    Asked("create", BROKER, 17, create("T")),
    Asked("create one to read only", BROKER, 17, create("R", perm=4)),
    Asked("create one to write only", BROKER, 17, create("W", perm=2)),
    Asked("create with more queues to write", BROKER, 17, create("U", readQueueNums=1, writeQueueNums=3)),
    Asked("group", BROKER, 200, None, {"groupName": "closed", "consumeEnable": False}),
    Asked("group without broadcast", BROKER, 200, None, {"groupName": "listening", "consumeBroadcastEnable": False}),
    *(send(number, tag) for number, tag in enumerate(("TagA", "TagB", "TagA", "TagC"))),
    Asked("max offset", BROKER, 30, {"topic": "T", "queueId": 0}, until={"offset": "4"}),
    Asked("min offset", BROKER, 31, {"topic": "T", "queueId": 0}),
    Asked("min offset of nothing", BROKER, 31, {"topic": "nosuch", "queueId": 7}),
    Asked("view", BROKER, 33, {"offset": 0}),
    Asked("view nothing", BROKER, 33, {"offset": 1 << 40}),
    found("all"),
    found("another key", key="b"),
    found("one of its hash", key="BB"),
    found("none", key="c"),
    found("an empty one", key=""),
    found("of another topic", topic="U"),
    found("one", maxNum=1),
    found("no", maxNum=0),
    found("less than none", maxNum=-1),
    found("by a unique key", maxNum=0, _UNIQUE_KEY_QUERY="true"),
    found("by a unique key, with another word", maxNum=0, _UNIQUE_KEY_QUERY="TRUE"),
    found("of the past", endTimestamp=1_000_000_000_000),
    found("of the future", beginTimestamp=4_102_444_800_000),
    *(found(f"without {name}", **{name: None}) for name in ("topic", "key", "maxNum", "beginTimestamp", "endTimestamp")),
    found("a number that is none", maxNum="x"),
    Asked("stats", BROKER, 202, {"topic": "U"}),
    Asked("stats of one with messages", BROKER, 202, {"topic": "T"}),
    Asked("stats of nothing", BROKER, 202, {"topic": "nosuch"}),
    pull("all"),
    pull("without subscription", subscription=None),
    pull("two", maxMsgNums=2),
    pull("none", maxMsgNums=0),
    pull("from the middle", queueOffset=2),
    pull("a tag", subscription="TagA"),
    pull("two tags", subscription=" TagB||TagC "),
    pull("a tag that is not there", subscription="TagX"),
    pull("no tag", subscription="||"),
    pull("nothing but blanks", subscription=" || "),
    pull("by SQL", subscription="a > 5", expressionType="SQL92"),
    pull("by SQL without any", subscription="", expressionType="SQL92"),
    pull("at the end", queueOffset=4),
    pull("behind the end", queueOffset=5),
    pull("far behind the end", queueOffset=1000),
    pull("before the start", queueOffset=-3),
    pull("an empty queue", queueId=1),
    pull("an empty queue from further on", queueId=1, queueOffset=3),
    pull("no queue", queueId=4),
    pull("a negative queue", queueId=-1),
    pull("more queues to write", topic="U", queueId=1),
    pull("no topic", topic="nosuch"),
    pull("one that may not be read", topic="W"),
    pull("with a group that may not", consumerGroup="closed"),
    pull("without topic", topic=None),
    pull("without offset", queueOffset=None),
    pull("with a queue that is no number", queueId="x"),
    pull("waiting for nothing", queueOffset=4, sysFlag=6, suspendTimeoutMillis=100),
    pull("and commit", sysFlag=5, commitOffset=3),
    pull("without subscription of an unknown group", sysFlag=0),
    Asked("heart beat without body", BROKER, 34),
    Asked("heart beat of nobody", BROKER, 34, None, {"clientID": "me"}),
    Asked("heart beat", BROKER, 34, None, {"clientID": "me", "producerDataSet": [{"groupName": "pg"}], "consumerDataSet": [CONSUMER]}),
    pull("by the heart beat", consumerGroup="listening", sysFlag=0, subscription=None),
    pull("by an old heart beat", consumerGroup="listening", sysFlag=0, subVersion=6),
    pull("by the heart beat another topic", consumerGroup="listening", sysFlag=0, topic="U"),
    Asked(
        "heart beat of a broadcast", BROKER, 34, None, {"clientID": "me", "consumerDataSet": [CONSUMER | {"messageModel": "BROADCASTING"}]}
    ),
    pull("by a broadcast", consumerGroup="listening", sysFlag=0),
    Asked("retry topic of the consumer", BROKER, 202, {"topic": "%RETRY%listening"}),
    Asked("good-bye", BROKER, 35, {"clientID": "me", "producerGroup": "pg", "consumerGroup": "listening"}),
    Asked("good-bye without id", BROKER, 35, {"producerGroup": "pg"}),
    pull("behind the good-bye", consumerGroup="listening", sysFlag=0),
    Asked("settings", BROKER, 25, None, b"brokerPermission=2\n"),
    pull("from a broker that may not be read"),
    Asked("settings back", BROKER, 25, None, b"brokerPermission=6\n"),
    Asked("topics", BROKER, 21),
    Asked("delete", BROKER, 215, {"topic": "R"}),
    Asked("delete nothing", BROKER, 215, {"topic": "nosuch"}),
    *(Asked(f"code {code}", BROKER, code) for code in (0, 9, 4711)),
    *(
        Asked(f"code {code} without {gone or 'fields'}", BROKER, code, without(fields, gone) if gone else None)
        for code, fields, gones in (
            (17, create("N"), ("topic", "readQueueNums", "perm", "topicFilterType", "order", "")),
            (30, {"topic": "T", "queueId": 0}, ("topic", "queueId", "")),
            (31, {"topic": "T", "queueId": 0}, ("topic", "queueId", "")),
            (33, {"offset": 0}, ("",)),
            (11, {"topic": "T"}, ("",)),
            (35, {}, ("",)),
            (202, {"topic": "T"}, ("",)),
            (215, {"topic": "N"}, ("",)),
            (37, END, ("producerGroup", "tranStateTableOffset", "commitLogOffset", "commitOrRollback", "msgId", "")),
            (36, BACK, ("group", "offset", "delayLevel", "")),
        )
        for gone in gones
    ),
    Asked("max offset of a queue that is no number", BROKER, 30, {"topic": "T", "queueId": "x"}),
    Asked("group without body", BROKER, 200),
    Asked("group without name", BROKER, 200, None, {}),
    Asked("settings that are none", BROKER, 25, None, b"no such"),
    Asked("clusters", NAME_SERVER, 106),
    Asked("route", NAME_SERVER, 105, {"topic": "U"}),
    Asked("route of nothing", NAME_SERVER, 105, {"topic": "nosuch"}),
    Asked("forget for another cluster", NAME_SERVER, 216, {"topic": "R", "clusterName": "other"}),
    Asked("route of one that was deleted", NAME_SERVER, 105, {"topic": "R"}),
    Asked("forget for the cluster", NAME_SERVER, 216, {"topic": "R", "clusterName": "DefaultCluster"}),
    Asked("route of one that was forgotten", NAME_SERVER, 105, {"topic": "R"}),
    Asked("forget", NAME_SERVER, 216, {"topic": "W"}),
    Asked("route of another that was forgotten", NAME_SERVER, 105, {"topic": "W"}),
    Asked("forget nothing", NAME_SERVER, 216, {"topic": "nosuch"}),
    Asked("put", NAME_SERVER, 100, {"namespace": "N", "key": "k", "value": "v"}),
    Asked("namespace", NAME_SERVER, 219, {"namespace": "N"}),
    Asked("no namespace", NAME_SERVER, 219, {"namespace": "M"}),
    Asked("no permission to write", NAME_SERVER, 205, {"brokerName": BROKER}),
    Asked("route of one that may not be written", NAME_SERVER, 105, {"topic": "U"}),
    Asked("permission to write", NAME_SERVER, 327, {"brokerName": BROKER}),
    Asked(
        "version that nobody knows",
        NAME_SERVER,
        322,
        {"brokerName": "b", "brokerAddr": "127.0.0.1:1", "clusterName": "c", "brokerId": 0},
        {"counter": 1, "timestamp": 2},
    ),
)


def answers(running: Deployment) -> dict[str, Any]:
    """Return the response to each request, in order, over one connection to each part."""
    assert running.name_server is not None
    with ExitStack() as stack:
        connections = {
            NAME_SERVER: stack.enter_context(TcpConnection(running.name_server)),
            BROKER: stack.enter_context(TcpConnection(running.brokers[BROKER])),
        }
        found: dict[str, Any] = {}
        for asked in REQUESTS:
            answer = told(connections[asked.to].ask(command(asked), 20))
            end = time.monotonic() + 10
            while asked.until is not None and answer["fields"] != asked.until and time.monotonic() < end:
                answer = told(connections[asked.to].ask(command(asked), 20))
            found[asked.name] = answer
        return found


def command(asked: Asked) -> Command:
    fields = None if asked.fields is None else {name: text(value) for name, value in asked.fields.items()}
    body = (
        asked.body
        if asked.body is None or isinstance(asked.body, bytes)
        else asked.body.encode()
        if isinstance(asked.body, str)
        else json.dumps(asked.body).encode()
    )
    return Command(asked.code, fields, body)


def text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def told(answer: Command) -> dict[str, Any]:
    """Return a response without values that differ between runs."""
    fields = {name: masked(value) for name, value in (answer.ext_fields or {}).items()}
    if fields.get("indexLastUpdateTimestamp", "0") != "0":
        fields["indexLastUpdateTimestamp"] = "*"
    return {"code": answer.code, "remark": masked(answer.remark or ""), "fields": fields, "body": content(answer.body)}


def masked(told: str) -> str:
    """Remove addresses, times, ids, and the location of an exception."""
    told = re.sub(r"127\.0\.0\.1:\d+", "HOST", told)
    told = re.sub(r"\b[0-9A-F]{32}\b", "ID", told)
    told = re.sub(r"(NullPointerException).*", r"\1", told)  # a null error's text depends on the virtual machine
    return re.sub(r"(Exception(?:: [^,]*)?), .*", r"\1", told)


def content(body: bytes | None) -> Any:
    """Return a JSON body as its value, and any other body as records without times and hosts."""
    if body is None:
        return None
    if not body.startswith(b"{"):
        return len(body)
    keyed = re.sub(r'\{("brokerName":"[^"]*","queueId":(\d+),"topic":"[^"]*")\}:', r'"\2":', body.decode())
    return ordered(fastjson.loads(keyed))


def ordered(value: Any) -> Any:
    """Sort lists of named objects, and drop times, counters and addresses."""
    if isinstance(value, dict):
        return {
            name: "*" if name in ("timestamp", "counter") or (name == "lastUpdateTimestamp" and each) else ordered(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return sorted((ordered(each) for each in value), key=str)
    return masked(value) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def compared() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    with Apache("4.9.4").open(Setup()) as real, Served("P494").open(Setup()) as ours:
        yield answers(real), answers(ours)


@pytest.mark.parametrize("name", [asked.name for asked in REQUESTS])
def test_answers_are_real_brokers(compared: tuple[dict[str, Any], dict[str, Any]], name: str) -> None:
    real, ours = compared
    assert ours[name] == real[name]
