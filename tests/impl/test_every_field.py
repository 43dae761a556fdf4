"""Each field of a JSON file is read from its own name, with its own default, independent of the other fields."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from simulated import Simulated, present

from rocketproof_impl.broker.answering import failure
from rocketproof_impl.broker.groups import SubscriptionGroupConfig, group_from_data
from rocketproof_impl.broker.subscription import SubscriptionData, subscription_from_data
from rocketproof_impl.route import decode_queues
from rocketproof_impl.store.checkpoint import StoreCheckpoint
from rocketproof_impl.store.result import PutMessageStatus
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_protocol.codes import MESSAGE_ILLEGAL

Read = Callable[[Mapping[str, Any]], object]
READ: Final[dict[str, tuple[Read, Callable[..., object], dict[str, tuple[str, Any, Any]]]]] = {
    "topic": (
        lambda data: table_from_data({"topicConfigTable": {"T": data}})[0]["T"],
        TopicConfig,
        {
            "topicName": ("topic_name", "U", "T"),
            "readQueueNums": ("read_queue_nums", 3, 16),
            "writeQueueNums": ("write_queue_nums", 5, 16),
            "perm": ("perm", 4, 6),
            "topicFilterType": ("topic_filter_type", "MULTI_TAG", "SINGLE_TAG"),
            "topicSysFlag": ("topic_sys_flag", 2, 0),
            "order": ("order", True, False),
            "attributes": ("attributes", {"a": "b"}, None),
        },
    ),
    "group": (
        lambda data: group_from_data("g", data),
        SubscriptionGroupConfig,
        {
            "groupName": ("group_name", "h", "g"),
            "consumeEnable": ("consume_enable", False, True),
            "consumeFromMinEnable": ("consume_from_min_enable", False, True),
            "consumeBroadcastEnable": ("consume_broadcast_enable", False, True),
            "retryQueueNums": ("retry_queue_nums", 7, 1),
            "retryMaxTimes": ("retry_max_times", 3, 16),
            "brokerId": ("broker_id", 9, 0),
            "whichBrokerWhenConsumeSlowly": ("which_broker_when_consume_slowly", 5, 1),
            "notifyConsumerIdsChangedEnable": ("notify_consumer_ids_changed_enable", False, True),
        },
    ),
    "subscription": (
        lambda data: subscription_from_data({"topic": "T", **data}),
        lambda **fields: SubscriptionData("T", **fields),
        {
            "subString": ("sub_string", "a || b", "*"),
            "codeSet": ("code_set", frozenset((97, 98)), frozenset[int]()),
            "subVersion": ("sub_version", 8, 0),
            "expressionType": ("expression_type", "SQL92", "TAG"),
        },
    ),
}
"""Per class: how to read it, the result, and by the field's name in JSON the attribute, an unusual value, and the default."""


@pytest.mark.parametrize("kind", READ)
def test_each_field_has_its_own_name_and_default(kind: str) -> None:
    read, make, rows = READ[kind]
    given = {name: sorted(value) if isinstance(value, frozenset) else value for name, (_, value, _) in rows.items()}
    assert read(given) == make(**{field: value for field, value, _ in rows.values()})
    for missing in rows:
        expected = {field: usual if name == missing else value for name, (field, value, usual) in rows.items()}
        assert read({name: value for name, value in given.items() if name != missing}) == make(**expected)
        alone = {field: value if name == missing else usual for name, (field, value, usual) in rows.items()}
        assert read({missing: given[missing]}) == make(**alone)


def test_timer_refusal_names_the_longest_delay_in_milliseconds() -> None:
    stand = Simulated("P533", timer_max_delay_sec=60)
    code, remark = failure(PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL, stand.profile, stand.settings)
    assert code == MESSAGE_ILLEGAL
    assert "bigger than the max delay 60000ms" in remark


def test_a_checkpoint_maps_its_file_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Simulated("P494")
    mapped: list[str] = []
    map_ = stand.disk.map
    monkeypatch.setattr(stand.disk, "map", lambda path, size: (mapped.append(path), map_(path, size))[1])
    checkpoint = StoreCheckpoint(stand.disk, "checkpoint")
    checkpoint.load()
    for _ in range(3):
        checkpoint.flush()
    assert mapped == ["checkpoint"]


def test_checkpoint_has_each_time_at_its_own_offset() -> None:
    stand = Simulated("P494")
    checkpoint = StoreCheckpoint(stand.disk, "checkpoint")
    checkpoint.physic_msg_timestamp, checkpoint.logics_msg_timestamp, checkpoint.index_msg_timestamp = 1, 2, 3
    checkpoint.flush()
    assert struct.unpack(">3q", present(stand.disk.read("checkpoint"))[:24]) == (1, 2, 3)


def test_a_route_may_have_no_list_of_queues() -> None:
    assert decode_queues({"queueDatas": None}) == decode_queues({}) == []
