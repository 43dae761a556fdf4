"""apache/rocketmq#4215: a pull after the end of a queue is sent back to its start."""

STEPS = [
    [("send", {"topic": "A"})] * 2,
    ("pull", {"topic": "A", "offset": 10}),
]


def shows(answers):
    return answers[3].fields["nextBeginOffset"] == "0"
