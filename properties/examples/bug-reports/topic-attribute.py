"""A topic keeps the attribute of its last update (5.x)."""

STEPS = [
    ("topic", {"topic": "A"}),
    ("topic", {"topic": "A", "attributes": "+message.type=NORMAL"}),
    ("topics", {}),
]


def shows(answers):
    attributes = answers[3].value["topicConfigTable"]["A"].get("attributes")
    return answers[2].code == 0 and attributes not in (None, {"message.type": "NORMAL"})
