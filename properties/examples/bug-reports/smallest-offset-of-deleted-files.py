"""apache/rocketmq#8753: the smallest offset stays 0 after all files of a queue's messages were deleted."""

SETTINGS = {"mappedFileSizeCommitLog": 65536, "fileReservedTime": 0}
STEPS = [
    ("send", {"topic": "A"}),
    [("send", {"topic": "B", "size": 40000})] * 3,
    ("unknown", {"code": 329, "one_way": False}),
    ("wait", 90),
    ("pull", {"topic": "A"}),
    ("min_offset", {"topic": "A"}),
]


def shows(answers):
    return answers[5].code == 0 and not answers[7].messages and answers[8].fields["offset"] == "0"
