"""Folders of histories for the tests of judging many at once, with the findings of the judge of single histories."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rocketproof_traces.bulk import local
from rocketproof_traces.bulk.tables import JSON_COLUMNS, finding_row
from rocketproof_traces.bulk.work import JudgingJob
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.history import Event, Header, event_line, header_line

PROFILE = "P49"
TABLE = {"TBW102": {"readQueueNums": 8, "writeQueueNums": 8, "perm": 7}}
FIELDS = {"producerGroup": "g", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "sysFlag": "0", "bornTimestamp": "0", "flag": "0"}


def history(topics: int = 3, sends: int = 20, *, wrong: str = "", lost: bool = False) -> tuple[Header, list[Event]]:
    """Two clients that send to each topic in turn, overlapping; `wrong`: that topic's last response has another message's offset.

    The history also queries the broker's topics, and has a batch without content and requests that belong to no part.
    """
    events: list[Event] = []

    def add(type_: str, process: str, op: str, value: dict[str, Any]) -> None:
        events.append(Event(len(events), type_, process, op, value, len(events) * 1_000_000_000))

    add("state", "broker-a", "topics", {"topics": TABLE})
    add("invoke", "client 9", "route", {"to": "name server", "fields": {"topic": "T0"}})
    add("ok", "client 9", "route", {"code": 0, "fields": {}})
    for number in range(sends):
        for k in range(topics):
            topic = f"T{k}"
            for client in ("client 0", "client 1"):
                add("invoke", client, "send", {"to": "broker-a", "fields": {**FIELDS, "topic": topic, "queueId": "0"}, "bodySize": 1})
            offsets = [2 * number, 2 * number + 1]
            if wrong == topic and number == sends - 1:
                offsets[1] = 0
            for client, offset in zip(("client 1", "client 0"), offsets, strict=True):
                if lost and number == 3 and client == "client 0":
                    add("info", client, "send", {"error": "timeout"})
                else:
                    add("ok", client, "send", {"code": 0, "fields": {"queueId": "0", "queueOffset": str(offset)}})
        table = {f"T{k}": {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6} for k in range(topics)}
        add("state", "broker-a", "topics", {"topics": {**TABLE, **table}})
    return Header({"settings": {"autoCreateTopicEnable": "true"}}), events


def write(path: Path, header: Header, events: Sequence[Event], tail: str = "") -> Path:
    path.write_text("\n".join([header_line(header), *map(event_line, events)]) + "\n" + tail, encoding="utf-8")
    return path


def write_parquet(path: Path, histories: dict[str, Sequence[Event]]) -> Path:
    """Write bare events of several histories to one file, as another program would."""
    rows = [
        {
            "history": name,
            "seq": e.seq,
            "time": e.time,
            "process": e.process,
            "type": e.type,
            "op": e.op,
            "value": json.dumps(dict(e.value)),
        }
        for name, events in histories.items()
        for e in events
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def alone(name: str, header: Header, events: Sequence[Event], limit: int = 1_000_000) -> list[dict[str, Any]]:
    """Return the findings from judging only this history, in the rows' format."""
    rows = []
    for finding in judge_history(header, events, PROFILE, limit).findings:
        row = {"history": name, **finding_row(finding)}
        rows.append({**row, **{column: json.loads(row[column]) for column in JSON_COLUMNS}})
    return sorted(rows, key=lambda row: row["seq"])


def assert_judged_as_alone(folder: Path, header: Header, histories: Mapping[str, list[Event]]) -> None:
    """Require that judging the histories together equals judging each alone, and that they have one finding."""
    (folder / "in").mkdir()
    for name, events in histories.items():
        write(folder / "in" / f"{name}.ndjson", header, events)
    judged = local.judge(JudgingJob((str(folder / "in"),), PROFILE, str(folder / "out"), str(folder / "cache")))
    single = [judge_history(header, events, PROFILE) for events in histories.values()]
    assert len(judged.findings) == sum(len(verdict.findings) for verdict in single) == 1
    assert judged.explained == sum(verdict.explained for verdict in single)
    assert judged.out_of_reach == sum((Counter(verdict.out_of_reach) for verdict in single), Counter())
