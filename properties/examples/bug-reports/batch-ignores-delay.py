"""apache/rocketmq#7719 and #10093: a batch with a delayed message is accepted, and the message is delivered at once."""

STEPS = [
    ("send", {"topic": "A", "items": [("a", {"DELAY": "3"}), ("b", {})]}),
    ("wait", 0.5),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return answers[1].code == 0 and len(answers[3].messages) == 2
