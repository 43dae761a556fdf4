"""apache/rocketmq#8158, claim 1: a transaction that is committed twice delivers its message twice."""

STEPS = [
    ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}),
    ("end", {"commit": True, "one_way": False}),
    ("end", {"commit": True, "one_way": False}),
    ("wait", 0.5),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return len(answers[5].messages) == 2
