"""A killed broker builds its queues from the commit log again, with the messages of a topic that was deleted before."""

STEPS = [
    ("send", {"topic": "A"}),
    ("delete", {"topic": "A"}),
    ("topic", {"topic": "A"}),
    ("send", {"topic": "B"}),
    ("crash", {}),
    ("pull", {"topic": "A"}),
]


def shows(answers):
    return len(answers[6].messages) > 0
