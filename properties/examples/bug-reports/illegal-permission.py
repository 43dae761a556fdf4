"""apache/rocketmq#4257: a topic gets a permission that does not exist."""

STEPS = [
    ("topic", {"topic": "A", "perm": 9}),
    ("topics", {}),
]


def shows(answers):
    return answers[1].code == 0 and answers[2].value["topicConfigTable"]["A"]["perm"] == 9
