"""apache/rocketmq#8158, claim 3: a producer whose commit follows the first check is asked again."""

SETTINGS = {"transactionCheckInterval": 1000, "transactionTimeOut": 1000, "fileReservedTime": 1000000}
STEPS = [
    ("heartbeat", {"group": "producers"}),
    ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}),
    ("question", {}),
    ("end", {"commit": True, "one_way": False}),
    ("wait", 5),
    ("question", {}),
]


def shows(answers):
    asked = [answer.fields["commitLogOffset"] for answer in answers.named("question")]
    return None not in asked and answers[4].code == 0
