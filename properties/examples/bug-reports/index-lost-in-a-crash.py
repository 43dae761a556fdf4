"""apache/rocketmq#8007: after a crash, messages in the last index file are not found by their keys."""

SETTINGS = {"maxIndexNum": 50}
STEPS = [
    [("send", {"topic": "A", "properties": {"KEYS": f"k{number}"}}) for number in range(3)],
    ("wait", 1),
    ("crash", {}),
    [("find", {"topic": "A", "key": f"k{number}"}) for number in range(3)],
]


def shows(answers):
    return any(not answer.messages for answer in answers.named("find"))
