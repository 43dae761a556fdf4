"""apache/rocketmq#11037: a delayed message is delivered with the property DELAY."""

STEPS = [
    ("send", {"topic": "A", "properties": {"DELAY": "1"}}),
    ("wait", 2.5),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return any("DELAY" in message.properties for message in answers[3].messages)
