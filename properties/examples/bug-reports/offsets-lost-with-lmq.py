"""apache/rocketmq#7087: committed offsets are lost when enableLmq is set."""

STEPS = [
    ("group", {"group": "g"}),
    ("send", {"topic": "A"}),
    ("commit", {"topic": "A", "group": "g", "offset": 1}),
    ("restart", {"settings": {"enableLmq": "true", "enableMultiDispatch": "true"}}),
    ("progress", {"topic": "A", "group": "g"}),
]


def shows(answers):
    return answers[3].code == 0 and answers[5].fields["offset"] != "1"
