"""Hooks of sends and of send-backs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from marks import behaviour, earlier, every
from sending import Stand, batch_request, send_request

from rocketproof_impl.broker.hooks import ConsumeMessageContext, SendMessageContext, counts
from rocketproof_impl.message import parse_properties, properties_text
from rocketproof_impl.remoting.command import Command
from rocketproof_impl.store.result import AppendMessageStatus, AppendResult, PutMessageStatus, PutResult


class Hook:
    """Copies each context that it is called with; may throw."""

    def __init__(self, events: list[tuple[str, SendMessageContext]], name: str = "", *, throws: bool = False) -> None:
        self.events = events
        self.name = name
        self.throws = throws

    def _see(self, when: str, context: SendMessageContext) -> None:
        self.events.append((self.name + when, replace(context)))
        if self.throws:
            raise RuntimeError("hook")

    def send_message_before(self, context: SendMessageContext) -> None:
        self._see("before", context)

    def send_message_after(self, context: SendMessageContext) -> None:
        self._see("after", context)


def hooked(profile: str = "P49", **settings: Any) -> tuple[Stand, list[tuple[str, SendMessageContext]]]:
    stand = Stand(profile, **settings)
    events: list[tuple[str, SendMessageContext]] = []
    stand.broker.hooks.send.append(Hook(events))
    return stand, events


@every
@behaviour("SEND-03")
def test_before_hook_sees_the_request(profile: str) -> None:
    stand, events = hooked(profile, region_id="R")
    stand.send(properties="UNIQ_KEY\x01u\x02", born_timestamp=9)
    when, seen = events[0]
    expected = SendMessageContext("pg", "T", "UNIQ_KEY\x01u\x02", "127.0.0.1:50001", "127.0.0.1:10911", "R", 9, "u")
    assert (when, seen) == ("before", expected)
    stand.send(properties="")
    assert [seen.msg_unique_key for when, seen in events if when == "before"] == ["u", ""]


@every
@behaviour("SEND-03", "HAZ-19", "INV-56")
def test_hook_changes_the_stored_message(profile: str) -> None:
    stand, _ = hooked(profile, trace_on=False)
    stand.send(properties="TAGS\x01a\x02")
    added = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "false"}
    stored = stand.last().properties
    assert added.items() <= stored.items()
    stand.broker.hooks.send.clear()
    stand.send(properties="TAGS\x01a\x02")
    plain = stand.last().properties
    assert {name: value for name, value in stored.items() if name not in added} == plain
    assert stand.last().properties_text is not None
    assert parse_properties(stand.last().properties_text, exact=False) == plain


@earlier
@behaviour("SEND-03", "SEND-25", "HAZ-19", "SEND-04")
def test_throwing_hook_still_adds_properties_in_earlier_brokers(profile: str) -> None:
    stand = Stand(profile)
    events: list[tuple[str, SendMessageContext]] = []
    stand.broker.hooks.send.append(Hook(events, throws=True))
    stand.send(properties=None)
    (_, before), (_, after) = events
    assert (before.msg_props, after.msg_id) == (None, stand.last().msg_id)
    assert stand.last().properties_text == properties_text({"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}, trailing=True)


@behaviour("HAZ-19")
def test_a_hook_can_make_a_message_illegal() -> None:
    text = f"K\x01{'v' * 32_735}\x02"  # with CLUSTER at most 32767; the hook's properties exceed it
    stand = Stand(broker_cluster_name="c")
    assert stand.send(properties=text).code == 0
    stand, _ = hooked(broker_cluster_name="c")
    assert stand.send(properties=text).code == 13


@every
@behaviour("SEND-04")
def test_hooks_run_in_order_and_errors_stop_no_request(profile: str) -> None:
    stand = Stand(profile)
    events: list[tuple[str, SendMessageContext]] = []
    stand.broker.hooks.send += [Hook(events, "1", throws=True), Hook(events, "2")]
    assert stand.send().code == 0
    assert [name for name, _ in events][:2] == ["1before", "2before"]


@pytest.mark.parametrize("make", [send_request, batch_request])
@pytest.mark.parametrize(("profile", "names"), [("P40", 2), ("P45", 2), ("P49", 1), ("P494", 1)])
@behaviour("SEND-06")
def test_after_hooks_run_in_earlier_brokers_only(profile: str, names: int, make: Callable[[], Command]) -> None:
    stand, events = hooked(profile)
    stand.request(make())
    assert [name for name, _ in events] == ["before", "after"][:names]


@earlier
@behaviour("SEND-06", "SEND-43", "SEND-45")
def test_hook_after_success_sees_the_offset_and_no_code(profile: str) -> None:
    stand, events = hooked(profile)
    stand.topic(write=4)
    stand.ask(send_request(queue_id=2, owner="me"))
    seen, message = events[1][1], stand.last()
    assert (seen.msg_id, seen.queue_id, seen.queue_offset) == (message.msg_id, 2, 0)
    assert (seen.code, seen.error_msg) == (None, None)
    assert (seen.commercial_send_stats, seen.commercial_send_times) == ("SEND_SUCCESS", 1)
    assert (seen.commercial_send_size, seen.commercial_owner) == (message.store_size, "me")


@earlier
@behaviour("SEND-06")
def test_after_a_refusal_a_hook_sees_the_code(profile: str) -> None:
    stand, events = hooked(profile)
    answer = stand.send(queue_id=99)
    seen = events[1][1]
    assert (seen.code, seen.error_msg, seen.commercial_send_stats) == (1, answer.remark, None)
    stand.put_gives(PutResult(PutMessageStatus.UNKNOWN_ERROR))
    stand.send()
    assert events[3][1].commercial_send_stats == "SEND_FAILURE"


@pytest.mark.parametrize(("size", "times"), [(1, 1), (65_535, 1), (65_536, 1), (65_537, 2), (0, 0)])
@behaviour("SEND-43", "M-72")
def test_each_started_64_kib_counts(size: int, times: int) -> None:
    assert counts(size) == times


@earlier
@behaviour("SEND-43", "SEND-44", "M-71", "M-72")
def test_the_base_count_is_for_successes(profile: str) -> None:
    stand, events = hooked(profile, commercial_base_count=3)
    stand.put_gives(PutResult(PutMessageStatus.PUT_OK, AppendResult(AppendMessageStatus.PUT_OK, 0, 65_537)))
    stand.send(body=b"x")
    stand.put_gives(PutResult(PutMessageStatus.UNKNOWN_ERROR))
    stand.ask(send_request(body=b"x" * 65_537, owner="me"))
    good, bad = events[1][1], events[3][1]
    assert (good.commercial_send_times, good.commercial_send_size) == (6, 65_537)
    assert (bad.commercial_send_times, bad.commercial_send_size, bad.commercial_owner) == (2, 65_537, "me")


@pytest.mark.parametrize(("profile", "answered"), [("P40", True), ("P45", True), ("P49", False), ("P494", False)])
@behaviour("SEND-44", "HAZ-24", "REM-09")
def test_failed_put_without_body_is_a_null_pointer_with_hooks(profile: str, answered: bool) -> None:
    stand, _ = hooked(profile)
    stand.put_gives(PutResult(PutMessageStatus.UNKNOWN_ERROR))
    answer = stand.request(send_request(body=None))
    if answered:
        assert answer is not None
        assert str(answer.remark).startswith("java.lang.NullPointerException, ")
    else:
        assert answer is None
    stand.broker.hooks.send.clear()
    assert stand.ask(send_request(body=None)).remark == "UNKNOWN_ERROR"


# Send-backs


class ConsumeHook:
    def __init__(self, seen: list[ConsumeMessageContext], *, throws: bool = False) -> None:
        self.seen = seen
        self.throws = throws

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        self.seen.append(context)
        if self.throws:
            raise RuntimeError("hook")


@every
@behaviour("BACK-02")
def test_consume_hook_sees_a_send_back_before_its_checks(profile: str) -> None:
    stand = Stand(profile, auto_create_subscription_group=False)
    seen: list[ConsumeMessageContext] = []
    stand.broker.hooks.consume += [ConsumeHook(seen, throws=True), ConsumeHook(seen)]
    answer = stand.call(36, offset=0, group="G", delayLevel=0, originMsgId="ID", originTopic="T", Owner="me")
    assert answer.code == 26
    assert seen == [ConsumeMessageContext("G", "T", "SEND_BACK", 1, "me")] * 2


@pytest.mark.parametrize("origin", [None, "", "  "])
@behaviour("BACK-02")
def test_a_consume_hook_is_not_called_without_the_messages_id(origin: str | None) -> None:
    stand = Stand()
    seen: list[ConsumeMessageContext] = []
    stand.broker.hooks.consume.append(ConsumeHook(seen))
    stand.send_back(origin_msg_id=origin)
    assert seen == []
