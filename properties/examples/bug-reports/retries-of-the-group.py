"""apache/rocketmq#6369: the group's maximum of retries has no effect, because each client sends its own."""

STEPS = [
    ("group", {"group": "g", "retries": 0}),
    ("send", {"topic": "A"}),
    ("back", {"group": "g", "level": 1, "most": 16}),
    ("wait", 0.5),
    ("max_offset", {"topic": "%DLQ%g"}),
]


def shows(answers):
    return answers[3].code == 0 and answers[5].fields["offset"] in (None, "0")
