"""apache/rocketmq#8022: timed messages stay in the timer wheel and are never delivered."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "2"}}),
    ("wait", 6),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return answers[1].code == 0 and not answers[3].messages
