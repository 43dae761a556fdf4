"""apache/rocketmq#10872: a delay of 2^63-1 seconds is accepted and the message is delivered at once."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "9223372036854775807"}}),
    ("wait", 2),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return answers[1].code == 0 and len(answers[3].messages) == 1
