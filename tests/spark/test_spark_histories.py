"""Spark's judge of many histories finds the same rows as the local one, whatever happens to its tasks."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from many_histories import PROFILE, history, write, write_parquet
from test_judged_rules import RULES

from rocketproof_model import interrupts
from rocketproof_properties.catalogue.ownrules import load
from rocketproof_properties.commands import run
from rocketproof_traces.audit.fields import JUDGED_ROWS
from rocketproof_traces.audit.own import OwnRules
from rocketproof_traces.bulk import local
from rocketproof_traces.bulk.verdicts import judge_calls
from rocketproof_traces.bulk.work import JudgingJob
from rocketproof_traces.checker.steps import SearchBound
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.history import Header
from rocketproof_traces.spark import histories

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def order(tmp: Path, name: str, *sources: Path) -> JudgingJob:
    return JudgingJob(tuple(map(str, sources)), PROFILE, str(tmp / name / "out"), str(tmp / name / "cache"))


def fill(folder: Path) -> Path:
    """Write a correct history, a wrong one, a truncated one, two in Parquet, and a compressed and truncated one."""
    folder.mkdir()
    right = write(folder / "right.ndjson", *history())
    (folder / "small.ndjson.gz").write_bytes(gzip.compress(right.read_bytes())[:-20])
    write(folder / "wrong.ndjson", *history(wrong="T1", lost=True))
    write(folder / "cut.ndjson", *history(), tail='{"v": 1')
    write_parquet(folder / "two.parquet", {"a": history(wrong="T2")[1], "b": history()[1]})
    return folder


def test_folder_that_grows(spark: SparkSession, tmp_path: Path) -> None:
    """Later histories are judged later; pieces of a history may arrive late and in any order; nothing is judged twice."""
    folder = fill(tmp_path / "in")
    wanted, plain = order(tmp_path, "spark", folder), order(tmp_path, "local", folder)
    assert histories.judge(spark, wanted).data() == local.judge(plain).data()
    before = set((tmp_path / "spark" / "out" / "verdicts").iterdir())
    header, events = history(wrong="T0")
    named = Header({**header.origin, "history": "pieces"})
    write(folder / "late-2.ndjson", named, events[70:])
    waiting = histories.judge(spark, wanted)
    assert waiting.unknown == ["pieces: events 0 to 69 did not come yet"]
    write(folder / "late-1.ndjson", named, events[:80])
    judged = histories.judge(spark, wanted)
    assert judged.data() == local.judge(plain).data()
    assert len(judged.findings) == 5 and not judged.unknown
    after = set((tmp_path / "spark" / "out" / "verdicts").iterdir())
    histories.judge(spark, wanted)
    assert len(after - before) == 2 and set((tmp_path / "spark" / "out" / "verdicts").iterdir()) == after


def test_new_histories_are_judged_as_they_come(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`judge --follow`: each file once, also after Ctrl-C; the verdicts are those of the local engine."""
    found = {}
    for engine in ("spark", "local"):
        folder, out, saved = (tmp_path / engine / name for name in ("in", "out", "found.json"))
        folder.mkdir(parents=True)
        write(folder / "right.ndjson", *history(sends=3))
        words = ["judge", folder, "--profile", PROFILE, "--engine", engine, "--out", out, "--follow", "--json", saved]
        pauses(monkeypatch, nothing, partial(write, folder / "wrong.ndjson", *history(sends=3, wrong="T1")), nothing, nothing)
        assert run([str(word) for word in words]) == 1
        judged = sorted((out / "verdicts").iterdir())
        assert len(judged) == 2
        pauses(monkeypatch, nothing)
        assert run([str(word) for word in words]) == 1
        assert sorted((out / "verdicts").iterdir()) == judged, "nothing was judged again"
        found[engine] = json.loads(saved.read_text().replace(str(tmp_path / engine), ""))
    assert found["spark"] == found["local"] and found["local"]["findings"]


def nothing() -> None: ...


def stop() -> None:
    raise KeyboardInterrupt


def pauses(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """Do a step in each pause between two rounds. After the last there is Ctrl-C."""
    left = iter(steps)
    monkeypatch.setattr(interrupts, "pause", lambda _: next(left, stop)())


def test_rules_of_user_have_equal_results(spark: SparkSession, tmp_path: Path) -> None:
    """Workers get the formulas: the file cannot be imported there."""
    (tmp_path / "rules.py").write_text(RULES)
    own = load([tmp_path / "rules.py"], JUDGED_ROWS, "the judge")
    (tmp_path / "rules.py").unlink()
    folder = fill(tmp_path / "in")
    there, here = (replace(order(tmp_path, name, folder), own=own) for name in ("spark", "local"))
    judged = histories.judge(spark, there)
    assert judged.data() == local.judge(here).data()
    assert judged.rules.keys() == {"SLOW", "LOST.answer", "PARTS"}


def test_worker_that_dies_changes_nothing(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "wrong.ndjson", *history(topics=4, wrong="T1"))
    died = tmp_path / "died"

    def dying(calls: pa.Table, profile: str, bound: SearchBound, own: OwnRules) -> pa.Table:
        verdict = judge_calls(calls, profile, bound, own)
        if calls["part"][0].as_py() == 2:
            try:
                died.touch(exist_ok=False)
            except FileExistsError:
                return verdict
            os.kill(os.getpid(), signal.SIGKILL)
        return verdict

    monkeypatch.setattr(histories, "judge_calls", dying)
    judged = histories.judge(spark, order(tmp_path, "spark", path))
    assert died.exists()
    assert judged.data() == local.judge(order(tmp_path, "local", path)).data()


def test_stopped_run_resumes(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run stopped between writing pieces and verdicts; the next run judges the pieces once."""
    folder = fill(tmp_path / "in")
    wanted = order(tmp_path, "spark", folder)

    def stop(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(histories, "_judge_batch", stop)
        with pytest.raises(TraceError, match=r"Spark: gave up: .*No space left on device"):
            histories.judge(spark, wanted)
    assert histories.judge(spark, wanted).data() == local.judge(order(tmp_path, "local", folder)).data()
