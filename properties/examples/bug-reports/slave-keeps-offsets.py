"""apache/rocketmq#7263: a slave keeps the offsets of a group that was deleted on its master."""

BROKERS = 2
BROKER_SETTINGS = {"broker-b": {"brokerName": "broker-a", "brokerId": 1, "brokerRole": "SLAVE"}}
STEPS = [
    ("topic", {"topic": "A"}),
    ("group", {"group": "g"}),
    ("send", {"topic": "A"}),
    ("commit", {"topic": "A", "group": "g", "offset": 1}),
    ("wait", 12),
    ("progress", {"topic": "A", "group": "g", "broker": "broker-b"}),
    ("delete_group", {"group": "g", "offsets": True}),
    ("wait", 12),
    ("progress", {"topic": "A", "group": "g"}),
    ("progress", {"topic": "A", "group": "g", "broker": "broker-b"}),
]


def shows(answers):
    before, master, slave = (answer.fields["offset"] for answer in answers.named("progress"))
    return before == "1" and master != "1" and slave == "1"
