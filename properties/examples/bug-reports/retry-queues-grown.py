"""apache/rocketmq#3953: after a group got a second retry queue, retries are stored in a queue that the retry topic does not have."""

TIMES = 4
STEPS = [
    ("group", {"group": "g", "queues": 1}),
    ("send", {"topic": "A"}),
    ("back", {"group": "g", "level": 1}),
    ("group", {"group": "g", "queues": 2}),
    [("back", {"group": "g", "level": 1})] * 3,
    ("wait", 2.5),
    ("topics", {}),
    ("max_offset", {"topic": "%RETRY%g", "queue": 1}),
]


def shows(answers):
    return answers[9].value["topicConfigTable"]["%RETRY%g"]["readQueueNums"] == 1 and answers[10].fields["offset"] not in (None, "0")
