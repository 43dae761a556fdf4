"""apache/rocketmq#5376: with a limit of 30 days, every timed message is refused."""

SETTINGS = {"timerWheelEnable": True, "timerMaxDelaySec": 2592000}
STEPS = [("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "3"}})]


def shows(answers):
    return answers[1].code == 13
