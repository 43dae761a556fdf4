"""A timed message is cancelled by its key alone; 5.3.3 needs its topic too."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("send", {"properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "3"}}),
    ("send", {"properties": {"UNIQ_KEY": "X", "TIMER_DELAY_SEC": "3", "TIMER_DEL_UNIQKEY": "U1"}}),
    ("wait", 6),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return answers[1].code == answers[2].code == 0 and "U1" not in [message.properties["UNIQ_KEY"] for message in answers[4].messages]
