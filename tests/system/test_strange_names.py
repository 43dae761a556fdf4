"""Names that no client means well: the store stays in its folder, opens again, and keeps what was acknowledged."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Raw, parts

from rocketproof_impl.remoting.command import JSON, ROCKETMQ, Command
from rocketproof_impl.remoting.headers import (
    CreateTopicRequestHeader,
    SendMessageBackRequestHeader,
    SendMessageRequestHeader,
    encode,
    encode_v2,
    layout,
)
from rocketproof_properties.programs.frames import LONG_IN_BYTES, STRANGE_NAMES
from rocketproof_properties.programs.requests import batch_item
from rocketproof_properties.programs.values import ODD_NAMES
from rocketproof_protocol import codes
from rocketproof_protocol.properties import DELAY
from rocketproof_protocol.topics import SCHEDULE

NAMES = (*STRANGE_NAMES[:12], *LONG_IN_BYTES[:1], *ODD_NAMES[-3:])
"""Some of those that are drawn."""


def creating(name: str, stored: int) -> Iterator[Command]:
    """Yield requests that create objects with this name: a topic, a group, its retry topic, dead letters, keys of an index."""
    send = SendMessageRequestHeader("p", name, "TBW102", 4, 0, 0, 1, 0, "", 0, False, None)
    yield Command(codes.SEND_MESSAGE_V2, encode_v2(send), b"x")
    keyed = SendMessageRequestHeader(name, "Orders", "TBW102", 4, 0, 0, 1, 0, f"KEYS\x01{name}\x02TAGS\x01{name}\x02", 0, False, None)
    yield Command(codes.SEND_MESSAGE_V2, encode_v2(keyed), b"x")
    for level in (0, -1):
        back = SendMessageBackRequestHeader(stored, name, level, "id", "Orders", max_reconsume_times=16)
        yield Command(codes.CONSUMER_SEND_MSG_BACK, encode(back, layout(type(back))))
    topic = CreateTopicRequestHeader(name, "TBW102", 4, 4, 6, "SINGLE_TAG")
    yield Command(codes.UPDATE_AND_CREATE_TOPIC, encode(topic, layout(type(topic))))
    group = {"groupName": name, "retryQueueNums": 1, "retryMaxTimes": 16}
    yield Command(codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(group).encode())
    consumer = {
        "groupName": name,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": [{"topic": name, "subString": "*", "subVersion": 1}],
    }
    yield Command(codes.HEART_BEAT, {}, json.dumps({"clientID": "c", "producerDataSet": [], "consumerDataSet": [consumer]}).encode())


def send(raw: Raw, queue: int) -> int:
    """Send a message to an ordinary topic and return its log offset."""
    header = SendMessageRequestHeader("p", "Orders", "TBW102", 4, queue, 0, 1, 0, "", 0, False, None)
    answer = raw.ask(Command(codes.SEND_MESSAGE_V2, encode_v2(header), b"kept"))
    assert answer.code == codes.SUCCESS and answer.ext_fields is not None, answer.remark
    return int(answer.ext_fields["msgId"][16:], 16)


@pytest.mark.parametrize("profile", ["P49", "P494", "P533"])
def test_any_names_let_store_reopen_and_stay_inside(profile: str, tmp_path: Path) -> None:
    store = tmp_path / "broker-a"
    with parts(tmp_path) as cluster:
        port = cluster.broker(profile=profile).settings.listen_port
        with Raw(port) as raw:
            stored = send(raw, 0)
        for name in NAMES:
            for command in creating(name, stored):
                for form in (JSON, ROCKETMQ):
                    with Raw(port) as raw:  # the broker sends requests to clients that sent a heartbeat
                        raw.ask(command, form)
        with Raw(port) as raw:
            send(raw, 1)
        cluster.stop("broker-a")
        assert [path.name for path in tmp_path.iterdir()] == [store.name]
        assert [path.name for path in (store / "commitlog").iterdir() if path.is_dir()] == []
        with Raw(cluster.broker(profile=profile).settings.listen_port) as raw:
            answer = raw.ask(Command(codes.GET_MAX_OFFSET, {"topic": "Orders", "queueId": "1"}))
            assert answer.ext_fields == {"offset": "1"}
            send(raw, 1)


def test_configured_name_does_not_affect_next(tmp_path: Path) -> None:
    with parts(tmp_path) as cluster:
        node = cluster.broker(profile="P494")
        with Raw(node.settings.listen_port) as raw:
            for name in ("half \ud800", "whole"):
                group = {"groupName": name, "retryQueueNums": 1, "retryMaxTimes": 16}
                raw.ask(Command(codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, json.dumps(group).encode()))
        written = json.loads((tmp_path / "broker-a" / "config" / "subscriptionGroup.json").read_bytes())
        assert {"half ?", "whole"} <= written["subscriptionGroupTable"].keys()


def test_queue_id_below_0_is_found_again(tmp_path: Path) -> None:
    with parts(tmp_path) as cluster:
        cluster.broker(profile="P494")
        cluster.stop("broker-a")
        queues = tmp_path / "broker-a" / "consumequeue" / "Drawn"
        for name in ("-1", "3", "x", "²"):
            (queues / name).mkdir(parents=True)
        found = cluster.broker(profile="P494").broker.store.queues.queues
        assert found.keys() == {("Drawn", -1), ("Drawn", 3)}


def asked(port: int, code: int, fields: dict[str, str], body: bytes = b"") -> Command:
    """Build a request whose header is JSON with escapes, which can encode half a surrogate pair."""
    header = json.dumps({"code": code, "language": "JAVA", "version": 399, "opaque": 1, "flag": 0, "extFields": fields}).encode()
    with Raw(port) as raw:
        raw.send(struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body)
        while (answer := raw.command()) is not None and not answer.is_response:
            pass
    assert answer is not None
    return answer


def test_lone_surrogate_group_does_not_block_registration(tmp_path: Path) -> None:
    with parts(tmp_path) as cluster:
        port = cluster.broker(profile="P494").settings.listen_port
        heartbeat = {"clientID": "c", "consumerDataSet": [{"groupName": "\ud800", "subscriptionDataSet": []}]}
        assert asked(port, codes.HEART_BEAT, {}, json.dumps(heartbeat).encode()).code == codes.SUCCESS
        header = CreateTopicRequestHeader("Later", "TBW102", 4, 4, 6, "SINGLE_TAG")
        assert asked(port, codes.UPDATE_AND_CREATE_TOPIC, encode(header, layout(type(header)))).code == codes.SUCCESS
        for topic in ("Later", "%RETRY%?"):
            assert asked(cluster.name_server.port, codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}).code == codes.SUCCESS


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kept"), [('a"b', 'a"b'), ("a\nb\\", "a\nb\\"), ("\ud800", "?")])
def test_offsets_of_group_with_any_name_are_read_again(name: str, kept: str, tmp_path: Path) -> None:
    with parts(tmp_path) as cluster:
        for times in (1, 2):  # the second stop backs up the file of the first
            node = cluster.broker(profile="P494")
            fields = {
                "consumerGroup": name, "topic": "TBW102", "queueId": "0", "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "5",
                "commitOffset": str(times), "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0", "expressionType": "TAG",
            }  # fmt: skip
            asked(node.settings.listen_port, codes.PULL_MESSAGE, fields)
            cluster.stop("broker-a")
        assert cluster.broker(profile="P494").broker.offsets.table == {f"TBW102@{kept}": {0: 2}}


def test_numeric_group_name_is_text(tmp_path: Path) -> None:
    with parts(tmp_path) as cluster:
        for _ in (1, 2):
            port = cluster.broker(profile="P494").settings.listen_port
            assert asked(port, codes.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b'{"groupName":5,"retryMaxTimes":3}').code == codes.SUCCESS
            cluster.stop("broker-a")
        assert cluster.broker(profile="P494").broker.groups.table["5"].retry_max_times == 3


def test_record_without_entry_is_skipped_and_later_ones_dispatch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In 4.0 to 4.6 a client can send a batch to the schedule topic, where an item's level need not be a number."""
    with parts(tmp_path) as cluster:
        port = cluster.broker(profile="P40").settings.listen_port
        header = SendMessageRequestHeader("p", SCHEDULE, "TBW102", 4, 0, 0, 1, 0, "", 0, False, None, True)
        body = batch_item(b"x", f"{DELAY}\x01soon\x02")
        assert asked(port, codes.SEND_BATCH_MESSAGE, encode_v2(header), body).code == codes.SUCCESS
        with Raw(port) as raw:
            send(raw, 0)
        cluster.stop("broker-a")
        assert "the record at 0 in " in caplog.text and "soon" in caplog.text
        port = cluster.broker(profile="P40").settings.listen_port
        assert asked(port, codes.GET_MAX_OFFSET, {"topic": "Orders", "queueId": "0"}).ext_fields == {"offset": "1"}
