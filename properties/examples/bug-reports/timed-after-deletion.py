"""apache/rocketmq#8537: a timed message of a deleted topic is written into the topic's queue."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("topic", {"topic": "A"}),
    ("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "3"}}),
    ("delete", {"topic": "A"}),
    ("wait", 7),
    ("max_offset", {"topic": "A"}),
    ("topic", {"topic": "A"}),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return answers[2].code == answers[3].code == 0 and len(answers[7].messages) > 0
