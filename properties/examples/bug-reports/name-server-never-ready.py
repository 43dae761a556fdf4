"""apache/rocketmq#9182: with needWaitForService the name server is not ready again after the first route."""

NAME_SERVER_SETTINGS = {"needWaitForService": True, "waitSecondsForService": 2}
STEPS = [
    ("topic", {"topic": "A"}),
    ("wait", 4),
    ("route", {"topic": "A"}),
    ("route", {"topic": "A"}),
]


def shows(answers):
    return answers[4].remark == "name server not ready"
