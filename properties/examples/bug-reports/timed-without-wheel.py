"""apache/rocketmq#5207 and #5646: a message with a time of delivery is delivered at once."""

STEPS = [
    ("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "10"}}),
    ("wait", 0.5),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return answers[1].code == 0 and len(answers[3].messages) == 1
