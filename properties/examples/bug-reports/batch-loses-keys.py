"""A batch's header has a key of its own: every message gets it, and none is found by its own key (5.3.3)."""

STEPS = [
    ("send", {"items": [("a", {"UNIQ_KEY": "ID1"}), ("b", {"UNIQ_KEY": "ID2"})], "properties": {"UNIQ_KEY": "HEAD"}}),
    ("pull", {"topic": "A"}),
    ("find", {"topic": "A", "key": "ID1"}),
]


def shows(answers):
    return answers[2].code == 0 and [message.properties["UNIQ_KEY"] for message in answers[2].messages] != ["ID1", "ID2"]
