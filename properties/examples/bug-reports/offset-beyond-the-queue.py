"""A group commits an offset after the end of the queue, and the broker keeps it."""

STEPS = [
    ("send", {"topic": "A"}),
    ("group", {"group": "g"}),
    ("commit", {"topic": "A", "group": "g", "offset": 5}),
    ("progress", {"topic": "A", "group": "g"}),
]


def shows(answers):
    return answers[4].fields["offset"] == "5"
