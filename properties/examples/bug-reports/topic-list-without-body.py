"""apache/rocketmq#10008: a request that creates several topics, without a body, ends with a NullPointerException."""

STEPS = [("unknown", {"code": 18, "one_way": False})]


def shows(answers):
    return "NullPointerException" in answers[1].remark
