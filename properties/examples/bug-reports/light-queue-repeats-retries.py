"""apache/rocketmq#6473: a message that is sent back is put into its light queues again."""

SETTINGS = {"enableLmq": True, "enableMultiDispatch": True}
STEPS = [
    ("send", {"topic": "A", "properties": {"INNER_MULTI_DISPATCH": "%LMQ%retried"}}),
    ("wait", 0.5),
    ("max_offset", {"altered": ("topic", "%LMQ%retried")}),
    ("back", {"group": "g", "level": 1}),
    ("wait", 3),
    ("max_offset", {"altered": ("topic", "%LMQ%retried")}),
]


def shows(answers):
    return answers[3].fields["offset"] == "1" and answers[6].fields["offset"] not in (None, "1")
