"""apache/rocketmq#4890 and #5445: a search by the time of a batch ends inside the batch."""

PROPERTY = "PRO-69"
STEPS = [("send", {"topic": "A", "items": [(str(number), {}) for number in range(8)]})]
