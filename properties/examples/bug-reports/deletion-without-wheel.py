"""After a change for apache/rocketmq#9313, deleting a topic ends with a NullPointerException if timerWheelEnable is false."""

SETTINGS = {"timerWheelEnable": False}
STEPS = [
    ("topic", {"topic": "A"}),
    ("delete", {"topic": "A"}),
]


def shows(answers):
    return answers[2].name == "SYSTEM_ERROR" and "null" in answers[2].remark
