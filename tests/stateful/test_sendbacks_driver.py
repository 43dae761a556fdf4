"""Send-backs on the simulated broker: it follows the specification under each condition, and a planted error is a finding."""

from __future__ import annotations

from typing import Any

import pytest

from rocketproof_impl.broker import checking, retry, sendback
from rocketproof_impl.store import delay
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour

BACK = ["back_retry(level=0, q=0)", "register()", "deliver()", "look()"]
SENT = ["send_retry(q=0)", "register()", "deliver()", "look()"]
BACKS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "a lookup creates the group": ("P49", {"group_known": False}, BACK),
    "no group": ("P49", {"group_known": False, "makes_groups": False, "way": "either"}, ["back_no_group()", "send_no_group()"]),
    "a send to a broker that forbids a send-back": ("P49", {"writable": False, "way": "either"}, ["back_no_broker()", *SENT]),
    "a send to a topic that forbids a send-back": (
        "P49", {"existing": 1, "existing_perm": 4, "way": "either"}, ["back_no_topic()", "send_retry(q=0)", "deliver()", "look()"],
    ),
    "given up": ("P49", {"group_queues": 0}, ["back_no_queues()"]),
    "the record is gone": ("P49", {"in_log": False}, ["back_no_record()", "register()"]),
    "no limit": ("P45", {"names_limit": False, "way": "either"}, ["back_no_limit()", "send_no_limit()"]),
    "no limit of a send": (
        "P492", {"names_limit": False, "group_limit": 0, "way": "either"}, ["send_no_limit()", "back_bury(level=0)"],
    ),
    "a group's limit": ("P49", {"names_limit": False, "group_limit": 0}, ["back_bury(level=0)"]),
    "no limit of an old client": ("P45", {"names_limit": False, "version": 120, "group_limit": 0}, ["back_bury(level=1)"]),
    "a dead letter that waits": ("P45", {"limit": 1}, [*BACK, "back_bury(level=0)", "deliver()"]),
    "a dead letter of a send": ("P49", {"limit": 1, "way": "sends"}, ["send_bury(q=1)", "deliver()"]),
    "a dead letter of a send, one retry later": ("P533", {"limit": 1, "way": "sends"}, [*SENT, "send_bury(q=1)"]),
    "a queue lock": ("P533", {"locked": True, "way": "either"}, [*BACK, "send_bury(q=0)"]),
    "a queue lock, in a release that ignores it": ("P510", {"locked": True, "way": "sends"}, SENT),
    "no topic of the record": ("P533", {"names_topic": False, "limit": 0}, ["back_no_origin(level=0)"]),
    "given up without the record's topic": ("P533", {"names_topic": False}, ["back_no_origin(level=-1)"]),
    "no topic of the record, in a release that wants none": ("P494", {"names_topic": False, "limit": 0}, ["back_bury(level=0)"]),
    "a half message": ("P49", {"prepared": True}, ["back_retry(level=0, q=0)"]),
    "a flush that never comes": ("P49", {"flushes": False, "way": "either"}, [*BACK, "send_retry(q=0)"]),
    "unit mode": ("P49", {"unit_mode": True, "template": 0, "way": "sends"}, SENT),
    "another number of queues": ("P49", {"change_budget": 1}, [*BACK, "change_group(queues=2)", "back_retry(level=1, q=1)", "deliver()"]),
}  # fmt: skip


@behaviour(
    "BACK-03",
    "BACK-04",
    "BACK-05",
    "BACK-08",
    "BACK-09",
    "BACK-11",
    "BACK-12",
    "BACK-17",
    "DLQ-02",
    "DLQ-03",
    "DLQ-06",
    "DLQ-07",
    "CHK-06",
    "HAZ-46",
)
@pytest.mark.parametrize("name", BACKS)
def test_message_is_sent_back_as_specified(name: str) -> None:
    profile, given, steps = BACKS[name]
    replay("backs", profile, steps, given)


AGAIN, RETRY = sendback.copy_for_retry, sendback.retry_topic


def one_more(found: Any, delay_level: int, most: int) -> bool:
    return found.reconsume_times > most or delay_level < 0


def uncounted(broker: Any, found: Any) -> Any:
    made = AGAIN(broker, found)
    made.reconsume_times = found.reconsume_times
    return made


async def topic_by_group(broker: Any, *arguments: Any) -> str | None:
    """A broker that creates the retry topic with the group's current number of queues."""
    made = await RETRY(broker, *arguments)
    if made is not None:
        broker.topics.table[made].read_queue_nums = broker.topics.table[made].write_queue_nums = arguments[1].retry_queue_nums
    return made


PLANTED: dict[str, tuple[Any, str, Any, str]] = {
    "one retry more": (sendback, "is_dead", one_more, "a group's limit"),
    "a retry that is not counted": (sendback, "copy_for_retry", uncounted, "a lookup creates the group"),
    "the first level is another": (sendback, "FIRST_DELAY_LEVEL", 4, "a lookup creates the group"),
    "dead letters over two queues": (retry, "DLQ_NUMS_PER_GROUP", 2, "a group's limit"),
    "every send keeps its topic": (retry, "DLQ_PREFIX", "%DEAD%", "a dead letter of a send"),
    "the flag of other topics": (checking, "UNIT_SUB", 1, "unit mode"),
    "a topic that grows with its group": (sendback, "retry_topic", topic_by_group, "another number of queues"),
    "a level that is lost": (delay, "delay_level", lambda message: 0, "a lookup creates the group"),
    "a store that is not asked": (sendback, "is_writeable", lambda perm: True, "a send to a topic that forbids a send-back"),
}


@behaviour("BACK-12", "BACK-13", "BACK-14", "BACK-08", "DLQ-04", "TCM-20", "INV-47", "INV-48", "LIV-06", "CL-02")
@pytest.mark.parametrize("name", PLANTED)
def test_another_way_back_is_finding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, attribute, planted, program = PLANTED[name]
    profile, given, steps = BACKS[program]
    monkeypatch.setattr(module, attribute, planted)
    with pytest.raises(ConformanceError):
        replay("backs", profile, steps, given)
