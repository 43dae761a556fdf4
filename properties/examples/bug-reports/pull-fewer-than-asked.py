"""A pull for at most three of five messages returns two (4.1.0)."""

STEPS = [
    [("send", {"topic": "A"})] * 5,
    [("pull", {"topic": "A", "most": most}) for most in (1, 2, 3, 5, 6)],
]


def shows(answers):
    return [len(answer.messages) for answer in answers.named("pull")] != [1, 2, 3, 5, 5]
