"""Campaigns on Spark: the shards' results equal those of this process, and a lost worker loses no result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark import TaskContext

from rocketproof_properties.commands import run as command
from rocketproof_properties.commands.campaign.run import answer, parts, shards
from rocketproof_properties.commands.checks.programs import tasks
from rocketproof_traces.spark import daemon
from rocketproof_traces.spark.spread import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def dies_once(item: str) -> str:
    """Return the item; the first caller over all processes is killed."""
    folder, word = item.split("|")
    try:
        os.open(os.path.join(folder, "died"), os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return word
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_shards_equal_those_of_this_process(spark: SparkSession) -> None:
    few = [task for task in tasks("P49") if task.source.scope in ("flush", "answers")]
    items = [json.dumps(shard.data()) for shard in shards(parts(few), 90, 4)]
    there = sorted(spread(spark, answer, items, 2, 2))
    assert there == sorted(map(answer, items))
    assert len(there) == len(items) > 2


def test_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """This runs in a separate process: one local task may fail there, as the command's session allows."""
    program = (
        "import sys; from rocketproof_traces.spark.session import session; from rocketproof_traces.spark.spread import spread\n"
        "from test_spread import dies_once\n"
        f"items = [r'{tmp_path}|' + str(n) for n in range(5)]\n"
        "print(sorted(spread(session(cores=2), dies_once, items, 3, 3)))\n"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "['0', '1', '2', '3', '4']", done.stderr
    assert (tmp_path / "died").exists()


def origin(item: str) -> tuple[str, int, str]:
    """Return the item, the number of its task, and the origin of its process."""
    context = TaskContext.get()
    assert context is not None
    return item, context.partitionId(), Path(f"/proc/{os.getppid()}/cmdline").read_text()


def test_items_share_tasks_in_processes_that_have_all_loaded(spark: SparkSession) -> None:
    found = list(spread(spark, origin, list("abcdefg"), 4, 2))
    assert [(item, task) for item, task, _ in found] == [*zip("abcd", (0, 0, 1, 1), strict=True), *zip("efg", (0, 1, 1), strict=True)]
    assert {daemon.__name__ in parent for _, _, parent in found} == {True}


def test_refusal_of_shard_is_one_line(spark: SparkSession) -> None:
    item = json.dumps({"source": {"scope": "none", "profile": "P49", "given": {}}, "expected": {}, "seed": 0, "first": 0, "programs": 1})
    (said,) = spread(spark, answer, [item], 1, 1)
    assert "none" in json.loads(said)["error"]


def test_command_uses_existing_session(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [task for task in tasks("P49") if task.source.scope == "flush"]
    monkeypatch.setattr("rocketproof_properties.commands.checks.programs.tasks", lambda profile: few)
    given = ["--programs", "40", "--seed", "2", "--out", str(tmp_path / "c"), "--json", str(tmp_path / "c.json")]
    assert command(["campaign", *given]) == 0
    assert "nothing unexpected" in capsys.readouterr().out
    assert (tmp_path / "c.json").read_text() == (tmp_path / "c" / "findings.json").read_text()
    kept = [json.loads(line) for line in (tmp_path / "c" / "shards.jsonl").read_text().splitlines()]
    assert [line["programs"] for line in kept] == [40]
