"""apache/rocketmq#9499: a slave lacks a topic that has attributes."""

BROKERS = 2
BROKER_SETTINGS = {"broker-b": {"brokerName": "broker-a", "brokerId": 1, "brokerRole": "SLAVE"}}
STEPS = [
    ("topic", {"topic": "A", "attributes": "+message.type=NORMAL"}),
    ("wait", 12),
    ("topics", {}),
    ("topics", {"broker": "broker-b"}),
]


def shows(answers):
    master, slave = (answer.value["topicConfigTable"] for answer in answers.named("topics"))
    return "A" in master and "A" not in slave
