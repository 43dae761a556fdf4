"""A recording that begins in the middle: what its broker had before the first case, as far as the cases show it.

The log goes on where the first answered message lies, a queue where its first message does, and a topic that a case names is
as the case shows it. What was stored before is not there: requests that look back (send-back, the end of a transaction) can
find it only in a recording from the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_protocol.codes import UPDATE_AND_CREATE_TOPIC

from .cases import RecordedCase


def first_place(cases: Sequence[RecordedCase]) -> int:
    """Where the first message lies in the log; a recording from the start has it at 0."""
    return next((case.positions[0] for case in cases if case.positions), 0)


def begin_log_at(broker: Broker, place: int) -> None:
    """Let the empty log go on at a place, as if the bytes before it had been there."""
    store = broker.store
    mapped = store.commit_log.files.last_or_next(place)
    assert mapped is not None, "the simulated disk has room"
    mapped.wrote_position = mapped.flushed_position = place - mapped.file_from_offset
    store.dispatched_to = place


def recall(broker: Broker, case: RecordedCase) -> None:
    """What the broker knew before this case and had not been asked for yet: a topic, and where its queue goes on."""
    config = case.config
    if isinstance(config, dict) and case.code != UPDATE_AND_CREATE_TOPIC and broker.topics.select(case.topic) is None:
        broker.topics.table[case.topic] = _topic(case.topic, config)
    if case.queue is not None:
        topic, queue_id, queue_offset = case.queue
        broker.store.topic_queue_table.setdefault(f"{topic}-{queue_id}", queue_offset)


def _topic(name: str, config: dict[str, object]) -> TopicConfig:
    table, _ = table_from_data({"topicConfigTable": {name: {**config, "topicName": name}}})
    return table[name]
