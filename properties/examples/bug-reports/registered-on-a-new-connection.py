"""A broker registers on a new connection right after it has closed the old one: sometimes its route disappears (5.3.3)."""

TIMES = 50
REGISTER = ("register", {"topics": {"A": (4, 4, 6), "B": (4, 4, 6)}})
STEPS = [
    REGISTER,
    ("lose", {"pause": False}),
    REGISTER,
    ("wait", 0.05),
    ("route", {"topic": "A"}),
]


def shows(answers):
    return answers[3].code == 0 and answers[5].name == "TOPIC_NOT_EXIST"
