"""A pull whose header has no sysFlag ends with a NullPointerException instead of the name of the field."""

STEPS = [
    ("send", {"topic": "A"}),
    ("pull", {"topic": "A", "without": "sysFlag"}),
]


def shows(answers):
    return "NullPointerException" in answers[2].remark
