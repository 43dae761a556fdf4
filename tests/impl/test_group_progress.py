"""Offsets of groups: commits, queries, and the state after a deletion (ConsumerOffsetManager)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from sending import Stand

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import QUERY_NOT_FOUND, SUCCESS, SYSTEM_ERROR, TOPIC_NOT_EXIST


def stand(profile: str = "P494") -> Stand:
    """Return a broker with one message in queue 0 of T; these groups commit offsets."""
    made = Stand(profile)
    for group in ("cg", "g", "T"):
        made.broker.groups.table[group] = SubscriptionGroupConfig(group)
    made.topic()
    made.send(body=b"a", queue_id=0)
    made.broker.store.dispatch()
    made.scheduler.settle()
    made.channel.written.clear()
    return made


def progress(at: Stand, **of: Any) -> tuple[int, str | None]:
    answer = at.ask(plain("progress", **{"topic": "T", "group": "cg", **of}))
    return answer.code, (answer.ext_fields or {}).get("offset")


@pytest.mark.parametrize(("profile", "empty"), [("P494", (SUCCESS, "0")), ("P500", (SUCCESS, "0")), ("P533", (QUERY_NOT_FOUND, None))])
def test_group_continues_at_its_commit_or_at_the_queue_start(profile: str, empty: tuple[int, str | None]) -> None:
    at = stand(profile)
    assert progress(at) == (SUCCESS, "0")
    assert at.ask(plain("commit", topic="T", group="cg", offset=5)).code == SUCCESS
    assert progress(at) == (SUCCESS, "5")
    assert progress(at, group="other") == (SUCCESS, "0")
    assert progress(at, queue=2) == empty


@pytest.mark.parametrize(
    ("profile", "first"), [("P494", (SUCCESS, "0")), ("P500", (QUERY_NOT_FOUND, None)), ("P533", (QUERY_NOT_FOUND, None))]
)
def test_group_that_declines_0_gets_no_offset(profile: str, first: tuple[int, str | None]) -> None:
    at = stand(profile)
    wants_none = ("setZeroIfNotFound", "false")
    assert progress(at, altered=wants_none) == first
    assert progress(at, altered=("setZeroIfNotFound", "true")) == (SUCCESS, "0")
    for told in (5, 0):  # a committed zero counts as an offset
        at.ask(plain("commit", topic="T", group="cg", offset=told))
        assert progress(at, altered=wants_none) == (SUCCESS, str(told))


def test_missing_first_offset_has_a_remark() -> None:
    """Consumers log the remark; its text is that of 5.3.3."""
    at = stand("P533")
    told = {of: at.ask(plain("progress", topic="T", group="cg", **given)).remark for of, given in _WITHOUT.items()}
    assert told == {
        "no zero wanted": "Not found, do not set to zero, maybe this group boot first",
        "no queue": "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
    }


_WITHOUT: Final[Mapping[str, Mapping[str, Any]]] = {"no zero wanted": {"altered": ("setZeroIfNotFound", "false")}, "no queue": {"queue": 2}}


@pytest.mark.parametrize(("begin", "told"), [(0, (SUCCESS, "0")), (1, (QUERY_NOT_FOUND, None)), (2, (QUERY_NOT_FOUND, None))])
def test_group_starts_at_0_only_if_the_first_message_exists(begin: int, told: tuple[int, str | None]) -> None:
    at = stand()
    queue = at.broker.store.queues.find("T", 0)
    assert queue is not None
    queue.min_offset = begin
    assert progress(at) == told


def test_group_deletion_removes_its_offsets_on_request() -> None:
    at = stand()
    for group in ("cg", "g", "T"):
        at.ask(plain("commit", topic="T", group=group, offset=3))
    kept = plain("delete_group", group="g")
    kept.ext_fields = {"groupName": "g", "removeOffset": "false"}
    at.ask(plain("delete_group", group="cg"))
    at.ask(kept)
    assert at.broker.offsets.table == {"T@g": {0: 3}, "T@T": {0: 3}}


@pytest.mark.parametrize(("profile", "names"), [("P500", False), ("P510", True)])
@pytest.mark.parametrize(("field", "called"), [("queueId", "QueueId"), ("commitOffset", "Offset")])
def test_commit_without_a_number_names_it_or_throws(profile: str, names: bool, field: str, called: str) -> None:
    at = stand(profile)
    answer = at.ask(plain("commit", topic="T", group="cg", without=field))
    assert answer.code == SYSTEM_ERROR
    assert (answer.remark or "").startswith(f"{called} is null, topic is T" if names else "java.lang.NullPointerException")
    assert at.ask(plain("commit", topic="nowhere", group="cg", without=field)).code == TOPIC_NOT_EXIST
    assert at.broker.offsets.table == {}


def test_refused_commit_has_an_empty_header() -> None:
    at = stand("P533")
    for changed in ({"topic": "nowhere"}, {"group": "nobody"}, {"without": "queueId"}):
        answer = at.ask(plain("commit", **{"topic": "T", "group": "cg", **changed}))
        assert answer.code != SUCCESS
        assert answer.ext_fields == {}
