"""apache/rocketmq#6533: the delay of a level is not kept."""

STEPS = [
    ("send", {"topic": "A", "properties": {"DELAY": "2"}}),
    ("wait", 4.5),
    ("pull", {"topic": "A"}),
    ("wait", 2),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return (len(answers[3].messages), len(answers[5].messages)) != (0, 1)
