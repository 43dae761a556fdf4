"""Names of a request's fields. A send has two forms: full names (request 10), and one letter per field (310 and 320) (REM-04)."""

from __future__ import annotations

from typing import Final

SHORT_NAMES: Final = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
}
"""The fields of a send in the order of the header, each with its letter."""

FULL_NAMES: Final = {letter: name for name, letter in SHORT_NAMES.items()}

REQUIRED_OF_A_SEND: Final = frozenset(
    {"producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag"}
)

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"
"""The namespace in a name server whose keys are order topics."""
