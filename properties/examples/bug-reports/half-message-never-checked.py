"""A half message with a long immunity time is discarded, although its producer was never asked (apache/rocketmq#8311)."""

SETTINGS = {"transactionCheckInterval": 500, "transactionTimeOut": 500}
DISCARDED = "TRANS_CHECK_MAX_TIME_TOPIC"
STEPS = [
    ("heartbeat", {"group": "producers"}),
    ("send", {"properties": {"TRAN_MSG": "true", "PGROUP": "producers", "CHECK_IMMUNITY_TIME_IN_SECONDS": "2000000000"}}),
    ("question", {}),
    ("pull", {"topic": DISCARDED}),
]


def shows(answers):
    return answers[3].fields["commitLogOffset"] is None and len(answers[4].messages) > 0
