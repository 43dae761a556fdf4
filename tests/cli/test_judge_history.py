"""`rocketproof judge` on a history: the three verdicts as text, as JSON and as exit codes."""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocketproof_lab.bench.contention import Load, contend
from rocketproof_traces.history import event_line, header_line

Run = Callable[..., Any]


def write(path: Path, *, spoil: bool = False) -> None:
    header, events = contend(Load(events=60, topics=1), 1)
    if spoil:
        k = next(k for k, e in enumerate(events) if e.type == "ok" and e.value["code"] == 0)
        fields = {**events[k].value["fields"], "queueOffset": "40"}
        events[k] = replace(events[k], value={**events[k].value, "fields": fields})
    path.write_text("\n".join([header_line(header), *map(event_line, events)]) + "\n")


def test_the_three_verdicts(rocketproof: Run) -> None:
    write(Path("right.ndjson"))
    write(Path("wrong.ndjson"), spoil=True)
    right = rocketproof("judge", "right.ndjson", "--profile", "P49", "--json", "right.json")
    assert right.code == 0 and "Ok: the specification explains the history" in right.out
    assert json.loads(Path("right.json").read_text())["verdict"] == "ok"
    wrong = rocketproof("judge", "wrong.ndjson", "--profile", "P49", "--json", "wrong.json")
    assert wrong.code == 1 and "not explained: event" in wrong.out and "offset 40" in wrong.out
    found = json.loads(Path("wrong.json").read_text())["findings"][0]
    assert found["refused"]["sentence"].startswith("a stored message is answered with its queue")
    bound = rocketproof("judge", "right.ndjson", "--profile", "P49", "--limit", "3")
    assert bound.code == 3 and "3 expanded states are reached at event" in bound.out
    bound = rocketproof("judge", "right.ndjson", "--profile", "P49", "--time", "1e-9")
    assert bound.code == 3 and "1e-09 seconds are spent at event" in bound.out and "--time may decide" in bound.out


def test_invalid_bound_is_refused(rocketproof: Run) -> None:
    write(Path("right.ndjson"))
    done = rocketproof("judge", "right.ndjson", "--profile", "P49", "--limit", "0")
    assert (done.code, done.out) == (2, "") and "--limit 0 is not a positive number" in done.err


def test_many_histories_are_judged_and_bad_requests_refused(rocketproof: Run) -> None:
    write(Path("right.ndjson"))
    write(Path("wrong.ndjson"), spoil=True)
    done = rocketproof("judge", "right.ndjson", "wrong.ndjson", "--profile", "P49", "--out", "out", "--json", "found.json", "--cores", "1")
    assert done.code == 1 and "2 histories" in done.out and "not explained: wrong.ndjson, event" in done.out
    data = json.loads(Path("found.json").read_text())
    assert data["verdict"] == "illegal" and data["histories"] == {"ok": 1, "illegal": 1}
    assert [(one["history"], one["kind"]) for one in data["findings"]] == [(str(Path("wrong.ndjson").absolute()), "not explained")]
    Path("empty").mkdir()
    for told, *args in (
        ("give the folder that the findings go to", "right.ndjson", "wrong.ndjson"),
        ("no history", "--out", "out"),
        ("holds no files", "empty", "--out", "new"),
        ("nothing.ndjson is not there", "nothing.ndjson", "--out", "new"),
        ("nothing.parquet is not there", "nothing.parquet"),
        ("nothing is not there", "right.ndjson", "nothing", "--out", "new", "--engine", "spark"),
        ("--engine local with --master", "right.ndjson", "--out", "new", "--engine", "local", "--master", "local[2]"),
    ):
        refused = rocketproof("judge", *args, "--profile", "P49")
        assert refused.code == 2 and told in refused.err, told
    Path("text.ndjson").write_text("no history")
    unread = rocketproof("judge", "text.ndjson", "--profile", "P49", "--out", "unread", "--cores", "1")
    assert unread.code == 2 and "Nothing could be judged" in unread.out and "text.ndjson" in unread.out
    bound = rocketproof("judge", "right.ndjson", "--profile", "P49", "--out", "bound", "--limit", "3", "--cores", "1")
    assert bound.code == 3 and "3 expanded states are reached" in bound.out


def test_a_compressed_history(rocketproof: Run) -> None:
    write(Path("wrong.ndjson"), spoil=True)
    data = gzip.compress(Path("wrong.ndjson").read_bytes())
    Path("wrong.ndjson.gz").write_bytes(data)
    plain, packed = (rocketproof("judge", name, "--profile", "P49") for name in ("wrong.ndjson", "wrong.ndjson.gz"))
    assert (packed.code, packed.out) == (plain.code, plain.out) == (1, plain.out)
    Path("cut.ndjson.gz").write_bytes(data[: len(data) // 2])
    cut = rocketproof("judge", "cut.ndjson.gz", "--profile", "P49")
    said = r"rocketproof: cut\.ndjson\.gz:\d+: cannot be read \(its gzip data are cut off\); copy the file again, or record again"
    assert cut.code == 2 and re.fullmatch(said, cut.err.strip()), cut.err
    many = rocketproof("judge", "cut.ndjson.gz", "--profile", "P49", "--out", "out", "--cores", "1")
    assert many.code == 1 and "its gzip data are cut off" in " ".join(many.out.split()), many.out


def test_history_without_an_answer_to_judge_is_undecided(rocketproof: Run) -> None:
    """Nothing was contradicted, and nothing was explained: a recorder that lost all requests gives no green build."""
    header, _ = contend(Load(events=60, topics=1), 1)
    Path("empty.ndjson").write_text(header_line(header) + "\n")
    alone = rocketproof("judge", "empty.ndjson", "--profile", "P49", "--json", "empty.json")
    assert alone.code == 3 and "not decided: no answer could be judged" in alone.out and "Ok" not in alone.out
    assert json.loads(Path("empty.json").read_text())["verdict"] == "unknown"
    many = rocketproof("judge", "empty.ndjson", "--profile", "P49", "--out", "out", "--cores", "1")
    assert many.code == 3 and "no answer could be judged" in " ".join(many.out.split())
    write(Path("right.ndjson"))
    both = rocketproof("judge", "empty.ndjson", "right.ndjson", "--profile", "P49", "--out", "both", "--cores", "1")
    assert both.code == 0, both.out
