"""apache/rocketmq#8158, claim 2: a half message that was rolled back is delivered when it is committed later."""

PROPERTY = "PRO-85"
STEPS = [
    ("send", {"topic": "A", "properties": {"TRAN_MSG": "true", "PGROUP": "producers"}}),
    ("end", {"commit": False, "one_way": False}),
    ("end", {"commit": True, "one_way": False}),
    ("wait", 0.5),
    ("pull", {"topic": "A"}),
]
