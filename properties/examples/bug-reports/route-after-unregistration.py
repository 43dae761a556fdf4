"""A broker unregisters, and a route names it afterwards."""

STEPS = [
    ("register", {"topics": {"A": (4, 4, 6)}}),
    ("unregister", {}),
    ("route", {"topic": "A"}),
]


def shows(answers):
    return answers[2].code == 0 and answers[3].code == 0
