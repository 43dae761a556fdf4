"""apache/rocketmq#6779: a delayed message is in its light queue at once, and again after its delay."""

SETTINGS = {"enableLmq": True, "enableMultiDispatch": True}
STEPS = [
    ("send", {"topic": "A", "properties": {"INNER_MULTI_DISPATCH": "%LMQ%delayed", "DELAY": "2"}}),
    ("wait", 1),
    ("max_offset", {"altered": ("topic", "%LMQ%delayed")}),
    ("wait", 6),
    ("max_offset", {"altered": ("topic", "%LMQ%delayed")}),
]


def shows(answers):
    return answers[3].fields["offset"] == "1" or answers[5].fields["offset"] == "2"
