"""apache/rocketmq#5214 and #5200: the offset of a light queue cannot be committed."""

SETTINGS = {"enableLmq": True, "enableMultiDispatch": True}
STEPS = [
    ("group", {"group": "g"}),
    ("commit", {"group": "g", "offset": 1, "altered": ("topic", "%LMQ%q")}),
]


def shows(answers):
    return answers[2].code != 0
