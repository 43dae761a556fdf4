"""Topics and bodies that the client refuses before it sends a request."""

from __future__ import annotations

import pytest
from client_doubles import Field
from marks import behaviour

from rocketproof_impl.message import Message
from rocketproof_impl.producer.errors import ClientError
from rocketproof_impl.producer.settings import ProducerSettings
from rocketproof_impl.producer.validate import check_message, check_topic
from rocketproof_protocol.codes import MESSAGE_ILLEGAL
from rocketproof_protocol.topics import SYSTEM_TOPICS

MIB4 = 4 * 1024 * 1024
ILLEGAL = "The specified topic[{}] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
NINE = {
    "TBW102",
    "SCHEDULE_TOPIC_XXXX",
    "BenchmarkTest",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT",
}


def refusal(topic: str | None) -> str:
    with pytest.raises(ClientError) as caught:
        check_topic(topic)
    assert caught.value.code == -1
    return caught.value.message


@behaviour("CLI-09")
def test_blank_topic_is_refused() -> None:
    for topic in (None, "", " ", "\t\n", "\u2003"):
        assert refusal(topic) == "The specified topic is blank"


@behaviour("CLI-09", "CLI-11")
@pytest.mark.parametrize("topic", ["a b", "a.b", "a/b", "a:b", "ä", "a\x00", "Ａ", "١", "\xa0", "a$", "^a", " a"])
def test_illegal_characters_are_refused(topic: str) -> None:
    assert refusal(topic) == ILLEGAL.format(topic)


@behaviour("CLI-11", "CHK-02", "M-15")
def test_the_whole_name_counts_to_its_last_newline() -> None:
    assert refusal("TopicTest\n") == ILLEGAL.format("TopicTest\n")
    assert refusal("\nTopicTest") == ILLEGAL.format("\nTopicTest")


@behaviour("CLI-09")
def test_topics_have_127_characters_at_most() -> None:
    check_topic("t" * 127)
    assert refusal("t" * 128) == "The specified topic is longer than topic max length 127."


@behaviour("CLI-09")
def test_checks_have_a_fixed_order() -> None:
    assert refusal("ä" * 128) == ILLEGAL.format("ä" * 128)


@behaviour("CLI-10")
def test_nine_names_are_reserved_and_no_others() -> None:
    assert SYSTEM_TOPICS == NINE
    for topic in NINE:
        assert refusal(topic) == f"The topic[{topic}] is conflict with system topic."
        for accepted in (topic.swapcase(), f"{topic}_", f"x{topic}"):
            check_topic(accepted)


@behaviour("CLI-09")
@pytest.mark.parametrize("topic", ["T", "%RETRY%TBW102", "a|b", "0-_", "%", "DefaultCluster", "DEFAULT_PRODUCER"])
def test_legal_topics_are_accepted(topic: str) -> None:
    check_topic(topic)


@behaviour("CLI-12")
@pytest.mark.parametrize(
    ("message", "text", "code"),
    [
        (None, "the message is null", MESSAGE_ILLEGAL),
        (Message("a b", body=None), ILLEGAL.format("a b"), -1),
        (Message("T", body=None), "the message body is null", MESSAGE_ILLEGAL),
        (Message("T", body=b""), "the message body length is zero", MESSAGE_ILLEGAL),
        (Message("T", body=bytes(MIB4 + 1)), f"the message body size over max value, MAX: {MIB4}", MESSAGE_ILLEGAL),
    ],
    ids=["null", "topic", "no body", "empty", "large"],
)
def test_illegal_messages_are_refused(message: Message | None, text: str, code: int) -> None:
    with pytest.raises(ClientError) as caught:
        check_message(message, MIB4)
    assert (caught.value.message, caught.value.code) == (text, code)


@behaviour("CLI-12")
def test_the_largest_and_the_smallest_body() -> None:
    for size in (1, MIB4):
        message = Message("T", body=bytes(size))
        assert check_message(message, ProducerSettings().max_message_size) is message


@behaviour("CLI-12", "CLI-34")
def test_body_limit_is_a_setting_and_counts_uncompressed_bytes() -> None:
    field = Field()
    producer = field.producer(settings=ProducerSettings(max_message_size=5000))
    for size, refusal in ((5001, "the message body size over max value, MAX: 5000"), (5000, "No route info")):
        with pytest.raises(ClientError, match=refusal):
            field.run(producer.send(Message("T", body=b"a" * size)))


@behaviour("CLI-08")
def test_producer_state_is_checked_before_the_message() -> None:
    field = Field()
    with pytest.raises(ClientError, match="service state not OK"):
        field.run(field.new().send(None))
    with pytest.raises(ClientError, match="the message is null"):
        field.run(field.producer("other").send(None))
    assert field.server.asked == [], "a refused message causes no route query"
