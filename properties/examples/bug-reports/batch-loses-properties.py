"""apache/rocketmq#9195: the messages of a batch arrive without their properties."""

STEPS = [
    ("send", {"topic": "A", "items": [("a", {"name": "value"}), ("b", {"name": "value"})], "properties": {"name": "value"}}),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return any(message.properties.get("name") != "value" for message in answers[2].messages)
