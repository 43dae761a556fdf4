"""An update that adds an attribute leaves the topic with other attributes than this one (5.x)."""

STEPS = [
    ("topic", {"topic": "A"}),
    ("topic", {"topic": "A", "attributes": "+message.type=NORMAL"}),
    ("topics", {}),
]


def shows(answers):
    attributes = answers[3].value["topicConfigTable"]["A"].get("attributes")
    return answers[2].code == 0 and attributes not in (None, {"message.type": "NORMAL"})
