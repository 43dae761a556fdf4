"""apache/rocketmq#10425: of a registration in two parts with one version, the second part changes no topic."""

STEPS = [
    ("register", {"topics": {"A": (4, 4, 6), "B": (4, 4, 6)}, "version": 1}),
    ("register", {"topics": {"A": (8, 8, 6)}, "version": 2}),
    ("register", {"topics": {"B": (8, 8, 6)}, "version": 2}),
    ("route", {"topic": "B"}),
]


def shows(answers):
    return answers[4].code == 0 and answers[4].value["queueDatas"][0]["readQueueNums"] == 4
