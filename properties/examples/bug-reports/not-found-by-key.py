"""apache/rocketmq#10291: a query by key finds no message."""

STEPS = [
    ("send", {"topic": "A", "properties": {"KEYS": "k1"}}),
    ("wait", 1),
    ("find", {"topic": "A", "key": "k1"}),
]


def shows(answers):
    return not answers[3].messages
