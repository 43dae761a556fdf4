"""apache/rocketmq#7884 with deleteTopicWithBrokerRegistration: whether the name server removes the route with the next registration."""

NAME_SERVER_SETTINGS = {"deleteTopicWithBrokerRegistration": True}
SETTINGS = {"enableSingleTopicRegister": True, "registerNameServerPeriod": 10000}
STEPS = [
    ("topic", {"topic": "A"}),
    ("wait", 0.5),
    ("route", {"topic": "A"}),
    ("delete", {"topic": "A"}),
    ("wait", 12),
    ("route", {"topic": "A"}),
]


def shows(answers):
    return answers[3].code == answers[4].code == answers[6].code == 0
