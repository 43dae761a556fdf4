"""apache/rocketmq#7884: a topic that was deleted on its broker keeps its route."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("topic", {"topic": "A"}),
    ("wait", 0.5),
    ("route", {"topic": "A"}),
    ("delete", {"topic": "A"}),
    ("wait", 2),
    ("route", {"topic": "A"}),
]


def shows(answers):
    return answers[3].code == answers[4].code == answers[6].code == 0
