"""A model of one number, for tests that need a file with any."""

COUNTER = """
from rocketproof import Int, Model

model = Model("counter")
count = model.var("count", Int(0, 3), init=0)

@model.action()
def add(a):
    "One more."
    a.guard("room", count < 3, "there is room")
    a.set(count, count + 1)

model.always("few", count < 2, "there are few")
scopes = {"small": {}}
"""
