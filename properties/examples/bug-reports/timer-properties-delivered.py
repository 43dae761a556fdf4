"""apache/rocketmq#11037: a timed message is delivered with TIMER_DELAY_SEC."""

SETTINGS = {"timerWheelEnable": True}
STEPS = [
    ("send", {"topic": "A", "properties": {"UNIQ_KEY": "U1", "TIMER_DELAY_SEC": "2"}}),
    ("wait", 6),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    found = [message.properties for message in answers[3].messages]
    return any("TIMER_DELAY_SEC" in properties and "TIMER_OUT_MS" in properties for properties in found)
