"""Restore the broker's state before a recording that does not start with an empty broker, as far as its cases show it.

The log continues at the place of the first stored message, a queue at its first message, and a topic has the recorded entry. Records stored
before are missing. Requests that refer to earlier records (send-back, end of a transaction) find them only in a recording from the start.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocketproof_impl.broker.broker import Broker
from rocketproof_impl.topic import TopicConfig, table_from_data
from rocketproof_protocol.codes import UPDATE_AND_CREATE_TOPIC

from .cases import ReplayCase


def first_place(cases: Sequence[ReplayCase]) -> int:
    """Return the place of the first message in the log. It is 0 in a recording from the start."""
    return next((case.positions[0] for case in cases if case.positions), 0)


def begin_log_at(broker: Broker, place: int) -> None:
    """Let the empty log continue at a place, as if the bytes before it existed."""
    store = broker.store
    mapped = store.commit_log.files.last_or_next(place)
    assert mapped is not None, "the simulated disk has room"
    mapped.wrote_position = mapped.flushed_position = place - mapped.file_from_offset
    store.dispatched_to = place


def recall(broker: Broker, case: ReplayCase) -> None:
    """Restore a topic and the next offset of its queue as they were before this case, unless they are known."""
    config = case.config
    if isinstance(config, dict) and case.code != UPDATE_AND_CREATE_TOPIC and broker.topics.select(case.topic) is None:
        broker.topics.table[case.topic] = _topic(case.topic, config)
    if case.queue is not None:
        topic, queue_id, queue_offset = case.queue
        broker.store.topic_queue_table.setdefault(f"{topic}-{queue_id}", queue_offset)


def _topic(name: str, config: dict[str, object]) -> TopicConfig:
    table, _ = table_from_data({"topicConfigTable": {name: {**config, "topicName": name}}})
    return table[name]
