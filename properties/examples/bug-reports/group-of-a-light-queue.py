"""apache/rocketmq#8647: a group of a light queue cannot commit its offset."""

SETTINGS = {"enableLmq": True, "enableMultiDispatch": True, "autoCreateSubscriptionGroup": False}
STEPS = [
    ("topic", {"topic": "A"}),
    ("commit", {"topic": "A", "offset": 1, "altered": ("consumerGroup", "%LMQ%g")}),
]


def shows(answers):
    return answers[2].code != 0
