"""apache/rocketmq#4774: a topic that is created again has the committed offsets of its predecessor."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("group", {"group": "g"}),
    [("send", {"topic": "A"})] * 2,
    ("commit", {"topic": "A", "group": "g", "offset": 2}),
    ("delete", {"topic": "A"}),
    ("topic", {"topic": "A"}),
    ("progress", {"topic": "A", "group": "g"}),
]


def shows(answers):
    return answers[7].fields["offset"] == "2"
