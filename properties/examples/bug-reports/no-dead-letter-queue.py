"""apache/rocketmq#5439: a message whose retries are used up is in no dead letter queue."""

STEPS = [
    ("group", {"group": "g", "retries": 0}),
    ("send", {"topic": "A"}),
    ("back", {"group": "g", "most": 0}),
    ("wait", 0.5),
    ("max_offset", {"topic": "%DLQ%g"}),
]


def shows(answers):
    return answers[3].code == 0 and answers[5].fields["offset"] in (None, "0")
