"""How far groups are in queues: what is told, what is asked, and what a deletion leaves (ConsumerOffsetManager)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from sending import Stand

from rocketproof_impl.broker.groups import SubscriptionGroupConfig
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_protocol.codes import QUERY_NOT_FOUND, SUCCESS, SYSTEM_ERROR, TOPIC_NOT_EXIST


def stand(profile: str = "P494") -> Stand:
    """A broker with one message in queue 0 of T, and the groups that commit."""
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
def test_a_group_goes_on_where_it_said_that_it_is_and_begins_with_a_queue(profile: str, empty: tuple[int, str | None]) -> None:
    at = stand(profile)
    assert progress(at) == (SUCCESS, "0")
    assert at.ask(plain("commit", topic="T", group="cg", offset=5)).code == SUCCESS
    assert progress(at) == (SUCCESS, "5")
    assert progress(at, group="other") == (SUCCESS, "0")
    assert progress(at, queue=2) == empty


@pytest.mark.parametrize(
    ("profile", "first"), [("P494", (SUCCESS, "0")), ("P500", (QUERY_NOT_FOUND, None)), ("P533", (QUERY_NOT_FOUND, None))]
)
def test_a_group_that_wants_no_zero_gets_none_where_a_release_asks(profile: str, first: tuple[int, str | None]) -> None:
    at = stand(profile)
    wants_none = ("setZeroIfNotFound", "false")
    assert progress(at, altered=wants_none) == first
    assert progress(at, altered=("setZeroIfNotFound", "true")) == (SUCCESS, "0")
    for told in (5, 0):  # a zero that the group told is none that is set
        at.ask(plain("commit", topic="T", group="cg", offset=told))
        assert progress(at, altered=wants_none) == (SUCCESS, str(told))


def test_a_group_without_a_beginning_is_told_why_there_is_none() -> None:
    """Consumers log it; the words are those of 5.3.3."""
    at = stand("P533")
    told = {of: at.ask(plain("progress", topic="T", group="cg", **given)).remark for of, given in _WITHOUT.items()}
    assert told == {
        "no zero wanted": "Not found, do not set to zero, maybe this group boot first",
        "no queue": "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
    }


_WITHOUT: Final[Mapping[str, Mapping[str, Any]]] = {"no zero wanted": {"altered": ("setZeroIfNotFound", "false")}, "no queue": {"queue": 2}}


@pytest.mark.parametrize(("begin", "told"), [(0, (SUCCESS, "0")), (1, (QUERY_NOT_FOUND, None)), (2, (QUERY_NOT_FOUND, None))])
def test_a_group_begins_at_0_only_with_a_queue_that_has_its_first_message(begin: int, told: tuple[int, str | None]) -> None:
    at = stand()
    queue = at.broker.store.queues.find("T", 0)
    assert queue is not None
    queue.min_offset = begin
    assert progress(at) == told


def test_a_deleted_group_leaves_nothing_of_how_far_it_was_if_that_is_wanted() -> None:
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
def test_a_commit_that_lacks_a_number_is_told_which_and_in_5_0_0_an_exception(profile: str, names: bool, field: str, called: str) -> None:
    at = stand(profile)
    answer = at.ask(plain("commit", topic="T", group="cg", without=field))
    assert answer.code == SYSTEM_ERROR
    assert (answer.remark or "").startswith(f"{called} is null, topic is T" if names else "java.lang.NullPointerException")
    assert at.ask(plain("commit", topic="nowhere", group="cg", without=field)).code == TOPIC_NOT_EXIST
    assert at.broker.offsets.table == {}


def test_a_commit_that_is_refused_has_an_empty_header() -> None:
    at = stand("P533")
    for changed in ({"topic": "nowhere"}, {"group": "nobody"}, {"without": "queueId"}):
        answer = at.ask(plain("commit", **{"topic": "T", "group": "cg", **changed}))
        assert answer.code != SUCCESS
        assert answer.ext_fields == {}
