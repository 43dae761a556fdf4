"""The plain send of the fault targets: a message whose request says nothing out of the ordinary."""

from __future__ import annotations

from rocketproof_impl.remoting.command import Command
from rocketproof_protocol import codes
from rocketproof_protocol.topics import TEMPLATE


def plain_send(topic: str, **more: str) -> Command:
    """Request 10 with a small body, to queue 0 of a topic that may have to be made of the template; `more` are further header fields."""
    header = {
        "producerGroup": "group",
        "topic": topic,
        "defaultTopic": TEMPLATE,
        "defaultTopicQueueNums": "4",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": "1700000000000",
        "flag": "0",
        "properties": "",
        "reconsumeTimes": "0",
    }
    return Command(codes.SEND_MESSAGE, {**header, **more}, b"hello")
