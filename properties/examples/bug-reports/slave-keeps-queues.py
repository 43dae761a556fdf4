"""apache/rocketmq#7264: a slave keeps the queues of a topic that was deleted on its master."""

BROKERS = 2
BROKER_SETTINGS = {"broker-b": {"brokerName": "broker-a", "brokerId": 1, "brokerRole": "SLAVE"}}
STEPS = [
    ("topic", {"topic": "A"}),
    ("send", {"topic": "A"}),
    ("wait", 12),
    ("max_offset", {"topic": "A", "broker": "broker-b"}),
    ("delete", {"topic": "A"}),
    ("wait", 12),
    ("max_offset", {"topic": "A"}),
    ("max_offset", {"topic": "A", "broker": "broker-b"}),
]


def shows(answers):
    before, master, slave = (answer.fields["offset"] for answer in answers.named("max_offset"))
    return before == "1" and master in (None, "0") and slave == "1"
