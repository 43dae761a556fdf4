"""Requests that the specification speaks of in part: what they store elsewhere, their topics it knows."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from rocketproof_traces.checker.histories import HistoryVerdict, judge_history
from rocketproof_traces.history import Event, Header

SEND = {
    "producerGroup": "p",
    "defaultTopic": "TBW102",
    "defaultTopicQueueNums": "4",
    "queueId": "0",
    "sysFlag": "0",
    "bornTimestamp": "1",
    "flag": "0",
    "properties": "",
    "reconsumeTimes": "0",
    "unitMode": "false",
    "maxReconsumeTimes": "16",
    "batch": "false",
}
HEADER = Header({"settings": {"autoCreateTopicEnable": "true"}})


class Story:
    """One client's requests, one after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def _add(self, type_: str, process: str, op: str, value: dict[str, Any]) -> None:
        self.events.append(Event(len(self.events), type_, process, op, value))

    def send(
        self,
        code: int,
        offset: int | None = None,
        *,
        op: str = "send",
        without: str = "",
        told: dict[str, str] | None = None,
        body: bytes = b"\0\0\0\x16" + bytes(18),
        size: int = 1,
        place: int = 0,
        **fields: Any,
    ) -> Story:
        asked = {name: value for name, value in (SEND | {"topic": "A"} | fields).items() if name != without}
        body = body if op == "batch" else bytes(size)
        value = {"to": "broker-a", "code": 320 if op == "batch" else 310, "fields": asked, "version": 399, "oneWay": False}
        self._add("invoke", "client 0", op, value | {"bodySize": len(body), "body": b64encode(body).decode()})
        answer = {} if offset is None else {"queueId": "0", "queueOffset": str(offset), "msgId": f"{place:032X}"}
        self._add("ok", "client 0", op, {"code": code, "fields": answer | (told or {})})
        return self

    def back(self, code: int, *, without: str = "", **fields: Any) -> Story:
        """Group g, which retries twice, sends back the record at `place` 0."""
        asked = {"offset": "0", "group": "g", "delayLevel": "0", "originTopic": "A", "maxReconsumeTimes": "2"} | fields
        asked = {name: value for name, value in asked.items() if name != without}
        self._add("invoke", "client 0", "send_back", {"to": "broker-a", "code": 36, "fields": asked, "version": 399, "oneWay": False})
        self._add("ok", "client 0", "send_back", {"code": code, "fields": {}})
        return self

    def end(self, code: int, offset: int, how: int = 8) -> Story:
        """Commit the half message at place 0, or roll it back (12): `offset` is its offset in its queue."""
        asked = {
            "producerGroup": "p",
            "tranStateTableOffset": str(offset),
            "commitLogOffset": "0",
            "commitOrRollback": str(how),
            "msgId": "",
        }
        self._add("invoke", "client 0", "end_transaction", {"to": "broker-a", "code": 37, "fields": asked, "version": 399, "oneWay": False})
        self._add("ok", "client 0", "end_transaction", {"code": code, "fields": {}})
        return self

    def delete(self, topic: str, code: int = 0) -> Story:
        self._add("invoke", "client 0", "delete_topic", {"to": "broker-a", "fields": {"topic": topic}})
        self._add("ok", "client 0", "delete_topic", {"code": code, "fields": {}})
        return self

    def group(self, queues: int) -> Story:
        """Group g gets this number of retry queues."""
        body = json.dumps({"groupName": "g", "retryMaxTimes": 2, "retryQueueNums": queues}).encode()
        self._add("invoke", "client 0", "update_group", {"to": "broker-a", "fields": {}, "body": b64encode(body).decode()})
        self._add("ok", "client 0", "update_group", {"code": 0, "fields": {}})
        return self

    def max_offset(self, topic: str, queue: int, offset: int) -> Story:
        asked = {"topic": topic, "queueId": str(queue)}
        self._add("invoke", "client 0", "max_offset", {"to": "broker-a", "fields": asked})
        self._add("ok", "client 0", "max_offset", {"code": 0, "fields": {"offset": str(offset)}})
        return self

    def topics(self, **topics: int) -> Story:
        """The broker's final topics, each with its number of queues."""
        table = {name.replace("_", "%"): {"readQueueNums": n, "writeQueueNums": n, "perm": 6} for name, n in topics.items()}
        self._add("state", "broker-a", "topics", {"topics": table})
        return self

    def judged(self, profile: str = "P494") -> HistoryVerdict:
        return judge_history(HEADER, self.events, profile)


@pytest.mark.parametrize("properties", ["DELAY\x011", "TRAN_MSG\x01true"], ids=["delayed", "half"])
@pytest.mark.behaviour("CHK-05", "INV-12")
def test_message_that_is_stored_elsewhere_makes_its_topic(properties: str) -> None:
    """It takes no offset in the queues of that topic."""
    assert Story().send(0, 7, properties=properties).send(0, 0).topics(A=4).judged().verdict == "ok"
    assert Story().send(0, 7, properties=properties).topics(A=3).judged().verdict == "illegal"
    assert Story().send(0, 7, properties="TRAN_MSG\x01true").send(0, 1).judged().verdict == "illegal"


@pytest.mark.behaviour("CHK-08")
def test_two_dead_letters_create_two_retry_topics_under_lock() -> None:
    """The first creation still holds the lock when the second begins, so the model must release it."""
    retried: dict[str, Any] = {"reconsumeTimes": "16", "defaultTopic": "nowhere"}

    def verdict(**topics: int) -> str:
        story = Story().send(0, 0, topic="%RETRY%g", **retried).send(0, 0, topic="%RETRY%h", **retried)
        return story.topics(**topics).judged().verdict

    dead = {"_DLQ_g": 1, "_DLQ_h": 1}
    assert verdict(_RETRY_g=1, _RETRY_h=1, **dead) == "ok"
    assert verdict(_RETRY_g=1, _RETRY_h=2, **dead) == "illegal"
    assert verdict(_RETRY_g=1, _RETRY_h=1) == "illegal"


@pytest.mark.behaviour("BAT-04")
def test_batch_over_limit_creates_topic_and_stores_nothing() -> None:
    assert Story().send(13, op="batch").send(0, 0).topics(A=4).judged().verdict == "ok"
    assert Story().send(13, op="batch").send(0, 1).judged().verdict == "illegal"


def test_undecodable_header_ends_only_its_topic() -> None:
    odd = Story().send(0, 5).send(1, without="sysFlag").judged()
    assert odd.verdict == "illegal"
    unreadable = Story().send(1, without="sysFlag").send(0, 5).send(0, 0, topic="B").send(0, 9, topic="B").judged()
    assert unreadable.verdict == "illegal"
    assert [f.part for f in unreadable.findings] == ["B at broker-a"]


def test_properties_are_as_long_as_their_bytes() -> None:
    assert Story().send(13, properties="p\x01" + "ä" * 16380).judged().verdict == "ok"


@pytest.mark.behaviour("APP-05", "SEND-25")
def test_trace_in_response_counts_with_its_length() -> None:
    """A broker without traces states that with one more letter. A half message created the topic, so that all steps judge it."""

    def verdict(code: int, trace: str) -> str:
        half = Story().send(0, 0, properties="TRAN_MSG\x01true", topic="A")
        long: dict[str, Any] = {"properties": "p\x01" + "v" * 32660, "told": {"MSG_REGION": "DefaultRegion", "TRACE_ON": trace}}
        return half.send(code, None if code else 0, **long).judged("P533").verdict

    assert [verdict(code, "true") for code in (0, 13)] == ["ok", "illegal"]
    assert [verdict(code, "false") for code in (0, 13)] == ["illegal", "ok"]


@pytest.mark.behaviour("BACK-01", "REM-04")
@pytest.mark.parametrize("limit", ["0", "2"])
def test_send_back_without_level_fails_for_any_limit(limit: str) -> None:
    """If fields may be null, its retry topic exists afterwards, and no dead letter topic."""

    def verdict(profile: str, code: int, **topics: int) -> str:
        story = Story().send(0, 0).back(code, without="delayLevel", maxReconsumeTimes=limit)
        return story.topics(A=4, **topics).judged(profile).verdict

    dead = {"_DLQ_g": 1}
    for profile in ("P494", "P533"):
        assert verdict(profile, 1, _RETRY_g=1) == "ok"
        assert verdict(profile, 0, _RETRY_g=1) == "illegal"
        assert verdict(profile, 1) == "illegal"
        assert verdict(profile, 1, _RETRY_g=1, **dead) == "illegal"
    assert verdict("P49", 1) == "ok"
    assert verdict("P49", 1, _RETRY_g=1) == "illegal"


@pytest.mark.behaviour("APP-05", "BACK-16")
def test_message_with_too_long_properties_is_not_put_again() -> None:
    """No response shows their new length: near the limit both responses are correct, far from it only one."""

    def verdicts(size: int, times: int) -> list[str]:
        sent = [Story().send(0, 0, properties="p\x01" + "v" * size, reconsumeTimes=times) for _ in range(2)]
        return [story.back(code).judged().verdict for code, story in enumerate(sent)]

    assert verdicts(32600, 0) == ["ok", "ok"]
    assert verdicts(32600, 2) == ["ok", "ok"]
    assert verdicts(20000, 0) == ["ok", "illegal"]


@pytest.mark.behaviour("APP-06", "BACK-16")
def test_too_large_record_is_not_put_again_under_record_limit() -> None:
    """Up to 4.9.3. Near the limit both responses are correct, far from it only one."""

    def verdicts(profile: str, size: int) -> list[str]:
        stories = [Story().send(0, 0, size=size) for _ in range(2)]
        return [story.back(code).judged(profile).verdict for code, story in enumerate(stories)]

    assert verdicts("P493", (4 << 20) - 200) == ["ok", "ok"]
    assert verdicts("P493", 1 << 20) == verdicts("P494", (4 << 20) - 200) == ["ok", "illegal"]


@pytest.mark.parametrize("named", ["TRUE", "true"])
def test_header_only_batch_is_omitted_also_with_records_elsewhere(named: str) -> None:
    """The response depends on its body, which the judge does not read."""
    for code in (0, 1, 13):
        assert Story().send(code, batch=named).back(0).judged().verdict == "ok"


@pytest.mark.behaviour("DLQ-04")
def test_delay_level_of_5_dead_letter_is_ignored() -> None:
    """It is -1 by then. Earlier, and for a retry, a non-numeric text is an error."""
    for profile, times, code, verdict in (
        ("P533", "3", 0, "ok"),
        ("P533", "3", 1, "illegal"),
        ("P533", "1", 0, "illegal"),
        ("P533", "1", 1, "ok"),
        ("P494", "3", 0, "illegal"),
        ("P494", "3", 1, "ok"),
    ):
        story = Story().send(
            code, 0 if code == 0 else None, topic="%RETRY%g", reconsumeTimes=times, maxReconsumeTimes="2", properties="DELAY\x01x"
        )
        assert story.judged(profile).verdict == verdict, (profile, times, code)


@pytest.mark.behaviour("STO-02")
@pytest.mark.parametrize("fields", [{"sysFlag": "128"}, {"properties": "INNER_NUM\x012"}], ids=["flag", "property"])
def test_inner_batch_creates_topic_and_later_releases_refuse(fields: dict[str, str]) -> None:
    for story, before, later in (
        (Story().send(13, **fields).send(0, 0), "illegal", "ok"),
        (Story().send(0, 0, **fields).send(0, 1), "ok", "illegal"),
        (Story().send(13, **fields).send(0, 1), "illegal", "illegal"),
    ):
        story.topics(A=4)
        assert (story.judged().verdict, story.judged("P533").verdict) == (before, later)


@pytest.mark.behaviour("STO-02", "BACK-16")
def test_later_releases_do_not_put_bodiless_batch_message_again() -> None:
    def verdicts(profile: str, size: int) -> list[str]:
        item = (22 + size).to_bytes(4, "big") + bytes(12) + size.to_bytes(4, "big") + bytes(size + 2)
        stories = [Story().send(0, 0, op="batch", body=item) for _ in range(2)]
        return [story.back(code).judged(profile).verdict for code, story in enumerate(stories)]

    assert verdicts("P533", 0) == ["illegal", "ok"]
    assert verdicts("P533", 1) == verdicts("P494", 0) == ["ok", "illegal"]


@pytest.mark.behaviour("BAT-04", "BACK-12")
@pytest.mark.parametrize(
    ("profile", "properties", "code"),
    [
        ("P491", b"DELAY\x013", 1),
        ("P491", b"DELAY\x013\x02", 0),
        ("P492", b"DELAY\x013", 0),
        ("P452", b"DELAY\x013", 0),
        ("P491", b"a\x01b", 0),
    ],
)
def test_dead_letter_keeps_delay_level_for_later_puts(profile: str, properties: bytes, code: int) -> None:
    """The level is "3CLUSTER" where no separator divides a message's properties from its batch's. It is ignored where it is removed. A
    retry has another level.
    """
    item = (23 + len(properties)).to_bytes(4, "big") + bytes(12) + b"\0\0\0\1a" + len(properties).to_bytes(2, "big") + properties

    def verdict(answered: int, level: str) -> str:
        return Story().send(0, 0, op="batch", body=item).back(answered, delayLevel=level).judged(profile).verdict

    assert [verdict(answered, "-1") for answered in (code, 1 - code)] == ["ok", "illegal"]
    assert [verdict(answered, "1") for answered in (0, 1)] == ["ok", "illegal"]


@pytest.mark.behaviour("BACK-16", "APP-05")
def test_unreported_message_may_be_too_long_to_send_back() -> None:
    """The send-back finds it but does not store it. The retry topic then exists, and for a dead letter also the dead letter topic."""

    def verdict(code: int, level: str, **topics: int) -> str:
        return Story().back(code, without="originTopic", delayLevel=level).topics(**topics).judged().verdict

    assert verdict(1, "-1", _RETRY_g=1, _DLQ_g=1) == "ok"
    assert verdict(1, "0", _RETRY_g=1) == "ok"
    assert verdict(1, "0", _RETRY_g=2) == "illegal"
    assert verdict(0, "-1", _RETRY_g=1) == "illegal"


@pytest.mark.behaviour("APP-08", "BACK-09", "HAZ-51")
@pytest.mark.parametrize(("flag", "verdict"), [("16", "ok"), ("32", "ok"), ("64", "illegal"), ("0", "illegal")])
def test_record_with_hosts_read_as_longer_may_be_missing(flag: str, verdict: str) -> None:
    assert Story().send(0, 0, sysFlag=flag).back(1).topics(A=4, _RETRY_g=1).judged().verdict == verdict
    assert Story().send(0, 0, sysFlag=flag).back(0).topics(A=4, _RETRY_g=1).judged().verdict == "ok"


@pytest.mark.behaviour("BAT-04", "HAZ-51")
@pytest.mark.parametrize(
    ("flag", "profile", "failing"), [("16", "P494", True), ("32", "P533", True), ("64", "P494", False), ("16", "P45", False)]
)
def test_batch_with_hosts_read_as_longer_fails_without_offset(flag: str, profile: str, failing: bool) -> None:
    """Its topic is created. If the flag has no meaning, the batch is stored."""
    error = Story().send(1, op="batch", sysFlag=flag).send(0, 0).topics(A=4)
    assert error.judged(profile).verdict == ("ok" if failing else "illegal")
    stored = Story().send(0, 0, op="batch", sysFlag=flag).topics(A=4)
    assert stored.judged(profile).verdict == ("illegal" if failing else "ok")


@pytest.mark.behaviour("TRX-03", "INV-34")
def test_half_message_offsets_may_decrease_when_others_delete_topics() -> None:
    """Deleting any topic removes the half topic's queue."""
    half = "TRAN_MSG\x01true"
    for offsets in ((0, 1), (1, 0), (5, 6, 0, 1), (2, 0, 2)):
        story = Story()
        for offset in offsets:
            story.send(0, offset, properties=half)
        assert story.topics(A=4).judged().verdict == "ok"


@pytest.mark.behaviour("HAZ-39", "TRX-04", "CL-02")
@pytest.mark.parametrize("profile", ["P452", "P494", "P533"])
def test_committed_delayed_half_message_waits_again(profile: str) -> None:
    """It takes an offset of its level, but none in its original topic, which is lost. Without a level it behaves normally."""

    def verdict(waits: str, end: int, offset: int, level: int) -> str:
        """Judge these offsets of a message and a delayed one, after a half message that `waits` or not is committed or rolled back."""
        story = Story().send(0, 0, properties=f"TRAN_MSG\x01true\x02PGROUP\x01p\x02{waits}").end(0, 0, end)
        story.send(0, offset, place=1).send(0, level, properties="DELAY\x013\x02", place=2)
        return story.judged(profile).verdict

    late = "DELAY\x013\x02"
    assert verdict(late, 8, 0, 2) == "ok"
    assert verdict(late, 8, 1, 2) == verdict(late, 8, 0, 1) == "illegal"
    assert verdict(late, 12, 0, 1) == "ok"
    assert verdict("", 8, 1, 0) == "ok"
    assert verdict("", 8, 0, 0) == "illegal"


@pytest.mark.behaviour("HAZ-39", "TRX-04")
def test_committed_half_message_with_time_joins_half_messages() -> None:
    timed = "TRAN_MSG\x01true\x02PGROUP\x01p\x02TIMER_DELAY_SEC\x01100\x02"
    for offset, expected in ((0, "ok"), (1, "illegal")):
        story = Story().send(0, 0, properties=timed).end(0, 0).send(0, offset, place=1)
        assert story.judged("P533").verdict == expected


@pytest.mark.behaviour("TCM-31", "BACK-06", "BACK-07")
def test_send_back_recreates_deleted_retry_topic() -> None:
    """The group remains, and so do its dead letters."""
    story = Story().send(0, 0).back(0).delete("%RETRY%g").back(0)
    assert story.topics(A=4, _RETRY_g=1).judged().verdict == "ok"
    assert Story().send(0, 0).back(0).delete("%RETRY%g").topics(A=4, _RETRY_g=1).judged().verdict == "illegal"
    assert Story().send(0, 0).back(0).delete("%RETRY%g").topics(A=4).judged().verdict == "ok"
    buried = Story().send(0, 0).back(0, delayLevel="-1").delete("%DLQ%g")
    assert buried.topics(A=4, _RETRY_g=1).judged().verdict == "ok"
    assert buried.topics(A=4, _RETRY_g=1, _DLQ_g=1).judged().verdict == "illegal"


@pytest.mark.behaviour("BACK-06", "BACK-07")
def test_retry_may_be_in_queue_its_topic_lacks() -> None:
    """Its queue is drawn from the group's number of queues, and the retry topic keeps its own (apache/rocketmq#3953)."""

    def verdict(queues: int, queue: int, offset: int) -> str:
        story = Story().send(0, 0).back(0).group(queues).back(0)
        return story.max_offset("%RETRY%g", queue, offset).topics(A=4, _RETRY_g=1).judged().verdict

    assert [verdict(2, queue, 1) for queue in (0, 1, 2)] == ["ok", "ok", "illegal"]
    assert verdict(1, 1, 1) == "illegal"
    assert verdict(2, 1, 3) == "illegal"


@pytest.mark.behaviour("TCM-31", "CL-02")
def test_delayed_message_reaches_deleted_topic() -> None:
    """It takes an offset there, in a queue that restarts or continues. Queues of delay levels are never deleted."""
    late = "DELAY\x011\x02"
    for offset, expected in ((0, "ok"), (1, "ok"), (2, "ok"), (3, "illegal")):
        story = Story().send(0, 0).send(0, 0, properties=late).delete("A").send(0, offset)
        assert story.judged().verdict == expected
    assert Story().send(0, 0, properties=late).delete("A").send(0, 0, properties=late).judged().verdict == "illegal"


@pytest.mark.parametrize("profile", ["P494", "P533"])
@pytest.mark.behaviour("REM-06", "REM-10")
def test_request_that_busy_broker_rejects_has_not_begun(profile: str) -> None:
    """Rejected send-backs, sends and deletions have no effect; the offsets of other requests continue."""
    verdict = Story().send(0, 0).back(2).send(2).delete("A", code=2).send(0, 1).judged(profile)
    assert (verdict.verdict, verdict.out_of_reach.get("a busy broker")) == ("ok", 3)
    assert Story().send(0, 0).back(2).send(0, 0).judged(profile).verdict == "illegal"


@pytest.mark.behaviour("CL-02", "BACK-09")
@pytest.mark.parametrize(("sys_flag", "code"), [("4", 0), ("0", 1)], ids=["bits of a half message", "plain"])
def test_only_messages_that_take_an_offset_are_delayed(sys_flag: str, code: int) -> None:
    """P500 compares the topic of a send-back with the record's: A, unless the message waits on its delay level."""
    for answered, verdict in ((code, "ok"), (1 - code, "illegal")):
        story = Story().send(0, 0, sysFlag=sys_flag, properties="DELAY\x013\x02").back(answered, originTopic="A")
        assert story.judged("P500").verdict == verdict


@pytest.mark.behaviour("BACK-12")
@pytest.mark.parametrize(("without", "verdict"), [("", "ok"), ("originTopic", "illegal")])
def test_dead_letter_needs_an_original_topic_that_may_be_empty(without: str, verdict: str) -> None:
    assert Story().send(0, 0).back(0, without=without, originTopic="", delayLevel="-1").judged("P533").verdict == verdict
