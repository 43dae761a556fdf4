"""A delayed message of a deleted topic is delivered to the topic that is created again."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("topic", {"topic": "A"}),
    ("send", {"topic": "A", "properties": {"DELAY": "1"}}),
    ("delete", {"topic": "A"}),
    ("wait", 1.5),
    ("max_offset", {"topic": "A"}),
    ("topic", {"topic": "A"}),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return len(answers[7].messages) > 0
