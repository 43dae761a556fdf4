"""Deleting a topic empties the queue of transactions that have ended (4.7.1)."""

OPERATIONS = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
STEPS = [
    ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}),
    ("end", {"commit": True}),
    ("wait", 0.5),
    ("max_offset", {"topic": OPERATIONS}),
    ("send", {"topic": "B"}),
    ("delete", {"topic": "B"}),
    ("max_offset", {"topic": OPERATIONS}),
]


def shows(answers):
    return int(answers[7].fields["offset"]) < int(answers[4].fields["offset"])
