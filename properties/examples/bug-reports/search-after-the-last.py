"""apache/rocketmq#5752: a search for a time after the last message returns the offset of the last one."""

STEPS = [
    [("send", {"topic": "A"})] * 3,
    ("wait", 0.5),
    ("search", {"topic": "A", "time": 4102444800000}),
]


def shows(answers):
    return answers[5].fields["offset"] == "2"
