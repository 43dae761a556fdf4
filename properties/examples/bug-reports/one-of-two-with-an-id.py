"""apache/rocketmq#6917: of two messages with the same id, a query by the id returns one."""

STEPS = [
    [("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1"}})] * 2,
    ("wait", 1),
    ("find", {"topic": "A", "key": "U1", "unique": True}),
]


def shows(answers):
    return len(answers[4].messages) == 1
