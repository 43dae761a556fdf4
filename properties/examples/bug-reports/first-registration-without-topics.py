"""apache/rocketmq#4522 and #9411: after a first registration with one topic, the full one with the same version adds nothing."""

STEPS = [
    ("register", {"topics": {"A": (4, 4, 6)}}),
    ("register", {"topics": {"A": (4, 4, 6), "B": (4, 4, 6)}}),
    ("route", {"topic": "B"}),
]


def shows(answers):
    return answers[2].code == 0 and answers[3].name == "TOPIC_NOT_EXIST"
