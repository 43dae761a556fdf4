"""The names and kinds of a header's fields follow from its class and equal the field names on the wire."""

from __future__ import annotations

import pytest
from marks import behaviour

from rocketproof_impl.java import parse_boolean, parse_int, parse_long
from rocketproof_impl.remoting import headers

KINDS = {headers.text: "text", parse_int: "int", parse_long: "long", parse_boolean: "boolean"}
WIRE = {
    headers.SendMessageRequestHeader: "producerGroup:text! topic:text! defaultTopic:text! defaultTopicQueueNums:int! queueId:int! "
    "sysFlag:int! bornTimestamp:long! flag:int! properties:text reconsumeTimes:int unitMode:boolean maxReconsumeTimes:int batch:boolean",
    headers.SendMessageBackRequestHeader: "offset:long! group:text! delayLevel:int! originMsgId:text originTopic:text unitMode:boolean "
    "maxReconsumeTimes:int",
    headers.PullMessageRequestHeader: "consumerGroup:text! topic:text! queueId:int! queueOffset:long! maxMsgNums:int! sysFlag:int! "
    "commitOffset:long! suspendTimeoutMillis:long! subVersion:long! subscription:text expressionType:text",
    headers.UnregisterClientRequestHeader: "clientID:text! producerGroup:text consumerGroup:text",
    headers.EndTransactionRequestHeader: "producerGroup:text! tranStateTableOffset:long! commitLogOffset:long! commitOrRollback:int! "
    "msgId:text! fromTransactionCheck:boolean transactionId:text",
    headers.CreateTopicRequestHeader: "topic:text! defaultTopic:text! readQueueNums:int! writeQueueNums:int! perm:int! "
    "topicFilterType:text! topicSysFlag:int order:boolean attributes:text",
    headers.QueueRequestHeader: "topic:text! queueId:int!",
    headers.ViewMessageRequestHeader: "offset:long!",
    headers.TopicRequestHeader: "topic:text!",
    headers.DeleteTopicRequestHeader: "topic:text!",
}
"""Each field with its kind; `!` marks required fields."""


@behaviour("REM-04")
@pytest.mark.parametrize("kind", WIRE, ids=lambda kind: kind.__name__)
def test_a_header_has_the_fields_of_the_wire(kind: type) -> None:
    made = [f"{name}:{KINDS[parse]}{'!' * (absent is headers.REQUIRED)}" for _, name, parse, absent in headers.layout(kind)]
    assert made == WIRE[kind].split()
