"""Every judge considers that a request answered twice was served twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.judging.judging import judge_file
from rocketproof_traces.history import Header, Writer

Run = Callable[..., Any]
FIELDS = {
    "producerGroup": "producers",
    "topic": "A",
    "defaultTopic": "TBW102",
    "defaultTopicQueueNums": "4",
    "queueId": "0",
    "sysFlag": "0",
    "bornTimestamp": "1600000000000",
    "flag": "0",
    "properties": "",
    "reconsumeTimes": "0",
    "unitMode": "false",
    "maxReconsumeTimes": "16",
    "batch": "false",
}


def write(path: Path, *, again: bool) -> None:
    """Write two sends to a queue; the second offset shows a further message between them."""
    writer = Writer(path, Header({"broker": "broker-a", "profile": "P494"}, ""))
    asked = {"to": "broker-a", "code": 310, "fields": FIELDS, "version": 399, "oneWay": False, "bodySize": 1, "body": "YQ=="}

    def answer(offset: int) -> dict[str, Any]:
        return {"code": 0, "remark": None, "fields": {"queueId": "0", "queueOffset": str(offset)}, "bodySize": 0, "body": None}

    for number, offset in enumerate((0, 2)):
        writer.add("invoke", "client 0", "send", asked, number)
        writer.add("ok", "client 0", "send", answer(offset), number)
        if again and not offset:
            writer.add("info", "client 0", "stray", {"of": 0, **answer(1)}, number)
    writer.close()


@pytest.mark.parametrize(("again", "code"), [(False, 1), (True, 0)])
def test_every_judge_considers_a_request_served_twice(rocketproof: Run, tmp_path: Path, again: bool, code: int) -> None:
    path = tmp_path / "twice.ndjson"
    write(path, again=again)
    assert rocketproof("judge", str(path), "--profile", "P494").code == code
    assert rocketproof("judge", str(tmp_path), "--profile", "P494", "--out", "out").code == code, "with the other files of its folder"
    assert bool(judge_file(path, "P494", ("specification",)).deviations) is not again
    assert rocketproof("explore", str(path), "--profile", "P494", "--html", "page.html").code == 0
    assert ('"refusal":null' in Path("page.html").read_text("utf-8").replace(": ", ":")) is again
