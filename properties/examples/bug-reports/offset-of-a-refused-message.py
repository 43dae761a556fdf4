"""apache/rocketmq#6570: a refused message takes an offset of its queue."""

STEPS = [
    ("send", {"topic": "A"}),
    ("send", {"topic": "A", "properties": {"p": "x" * 32767}}),
    ("send", {"topic": "A"}),
    ("wait", 0.5),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return answers[2].code != 0 and answers[3].fields["queueOffset"] != "1"
