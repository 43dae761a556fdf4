"""apache/rocketmq#5388: a subscription to two tags gets only one of them."""

STEPS = [
    ("send", {"topic": "A", "properties": {"TAGS": "A"}}),
    ("send", {"topic": "A", "properties": {"TAGS": "B"}}),
    ("pull", {"topic": "A", "tags": "A || B"}),
]


def shows(answers):
    return len(answers[3].messages) != 2
