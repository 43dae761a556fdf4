"""The audit on Spark: the findings of this process, row for row; a worker that dies costs nothing; a large store."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from damaged_stores import DAMAGES, Damaged, copied, made
from ledger_stores import OTHERS, OWN, as_ledger

from rocketproof_lab.bench.fabricate import StorePlan as Made
from rocketproof_properties.catalogue.ownrules import load
from rocketproof_properties.catalogue.stored import settings, stored_rules
from rocketproof_properties.commands import run
from rocketproof_properties.commands.audits import command
from rocketproof_traces.audit.fields import AUDITED_ROWS
from rocketproof_traces.audit.programs import AuditPlan
from rocketproof_traces.audit.run import AuditOutcome, SavedAnswers, audit
from rocketproof_traces.common.pools import WorkerPool, on_processes
from rocketproof_traces.spark.spread import on_spark
from rocketproof_traces.stored.segments import RANGE_SIZE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN = AuditPlan(stored_rules, tuple(settings("P494").items()), every=True)


def outcome(root: Path, spread: WorkerPool, size: int = RANGE_SIZE) -> AuditOutcome:
    return audit(PLAN, [str(root)], spread, SavedAnswers(None), lambda done, all_: None, size)


def damaged(root: Path, seed: int, plan: Made | None = None) -> tuple[Damaged, list[tuple[str, int | None]]]:
    """Return a store with damage of every kind, and the expected findings by offset."""
    store = Damaged(*(made(root) if plan is None else made(root, plan)), random.Random(seed))
    return store, [(damage.property, damage.do(store)) for damage in DAMAGES if not damage.whole]


@pytest.mark.slow
def test_spark_finds_same_as_this_process(spark: SparkSession, tmp_path: Path) -> None:
    store, places = damaged(tmp_path / "store", 21)
    there, here = outcome(store.root, on_spark(spark), 50_000), outcome(store.root, on_processes(1), 50_000)
    assert there.totals == here.totals
    assert set(places) <= {(found.property, found.offset) for found in there.totals[0].findings}


def test_log_of_dledger(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "ledger"
    store = copied(root, as_ledger(*made(tmp_path / "plain"), root), tmp_path / "store", 21)
    places = {(damage.property, damage.do(store)) for damage in (*OTHERS, *OWN) if not damage.whole}
    there, here = outcome(store.root, on_spark(spark), 50_000), outcome(store.root, on_processes(1), 50_000)
    assert there.totals == here.totals
    assert places <= {(found.property, found.offset) for found in there.totals[0].findings}


def test_command_writes_same_files(spark: SparkSession, tmp_path: Path) -> None:
    """The command uses the existing session."""
    store, _ = damaged(tmp_path / "store", 22)
    assert run(["audit", str(store.root), "--out", str(tmp_path / "spark"), "--json", str(tmp_path / "spark.json")]) == 1
    assert run(["audit", str(store.root), "--engine", "local", "--out", str(tmp_path / "local")]) == 1
    tables = [pq.read_table(tmp_path / engine / command.FINDINGS) for engine in ("spark", "local")]
    assert tables[0].equals(tables[1])
    assert tables[0].to_pylist() == json.loads((tmp_path / "spark.json").read_text())
    summaries = [(tmp_path / engine / command.SUMMARY).read_text() for engine in ("spark", "local")]
    assert summaries[0] == summaries[1]


def test_event_log_names_store_and_rule(tmp_path: Path) -> None:
    """Event logs follow Spark's properties, as in any other application."""
    made(tmp_path / "store")
    (tmp_path / "events").mkdir()
    events = {"enabled": "true", "compress": "false", "dir": (tmp_path / "events").as_uri()}  # compressed by default
    conf = [word for name, value in events.items() for word in ("--conf", f"spark.eventLog.{name}={value}")]
    words = ["audit", str(tmp_path / "store"), "--property", "INV-37", "--cores", "1", *conf]
    done = subprocess.run([sys.executable, "-m", "rocketproof_properties.commands", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    logs = [file.read_text() for file in (tmp_path / "events").rglob("events_*") if file.is_file()]  # next to checksums
    written = [json.loads(line) for text in logs for line in text.splitlines() if line]
    named = [event["Properties"] for event in written if event["Event"] == "SparkListenerJobStart"]
    assert named
    assert {each["spark.jobGroup.id"] for each in named} == {"rocketproof audit"}
    assert all(each["spark.job.description"].startswith(f"{tmp_path}/store: INV-37") for each in named)


def dies_once(folder: str, function: Callable[[str], str], item: str) -> str:
    """Kill the first worker that runs this during its task; later ones return the result."""
    found = function(item)
    try:
        os.open(os.path.join(folder, "died"), os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return found
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


PROGRAM = """
import sys
from functools import partial
from pathlib import Path
from rocketproof_traces.spark.spread import on_spark
from rocketproof_traces.spark.session import session
from test_audit_spark import dies_once, outcome
spread = on_spark(session(cores=2))
found = outcome(Path(sys.argv[1]), lambda function, items: spread(partial(dies_once, sys.argv[2], function), items), 50_000)
print([each.data() for each in found.totals[0].findings] == eval(sys.stdin.read()))
"""


def test_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """This runs in a separate process: one local task may fail there, as the command's session allows."""
    store, _ = damaged(tmp_path / "store", 23)
    here = [found.data() for found in outcome(store.root, on_processes(1), 50_000).totals[0].findings]
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "properties")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(store.root), str(tmp_path)],
        input=repr(here), capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*folders, os.environ.get("PYTHONPATH", ""), *sys.path])},
    )  # fmt: skip
    assert (tmp_path / "died").exists(), done.stderr
    assert done.stdout.strip().endswith("True"), done.stderr


@pytest.mark.parametrize("engine", ["spark", "local"])
def test_store_of_gibibyte(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The sound store has no finding, and all damage at random offsets is found."""
    spread = on_spark(request.getfixturevalue("spark")) if engine == "spark" else on_processes(2)
    plan = Made(1 << 30, seed=7, bodies=(200, 1900), delayed=20, transactions=20, file_size=256 << 20)
    root, records = made(tmp_path / "store", plan)
    sound = outcome(root, spread, 64 << 20).totals[0]
    assert (sound.counts, sound.findings, sound.problems) == ({}, [], [])
    store = Damaged(root, records, random.Random(31))
    places = [(damage.property, damage.do(store)) for damage in DAMAGES if not damage.whole for _ in range(3)]
    totals = outcome(root, spread, 64 << 20).totals[0]
    assert set(places) <= {(found.property, found.offset) for found in totals.findings}
    assert len(places) == 3 * len([damage for damage in DAMAGES if not damage.whole]) >= 60


OWN_RULES = """
from rocketproof import after, implies
from rocketproof.rules import rule

@rule("SHOP-1", "messages of the first topic have a key")
def key(record):
    return implies(record.topic.like("*-000-*"), record.has("KEYS"))

@rule("SHOP-2", "the time of a queue's next record is later", over="line", severity="note")
def later(record):
    return after(record.storeTimestamp) > record.storeTimestamp
"""


def test_own_rules_have_equal_results(spark: SparkSession, tmp_path: Path) -> None:
    """Workers get the formulas: the file cannot be imported there."""
    made(tmp_path / "store")
    (tmp_path / "shop.py").write_text(OWN_RULES)
    own = load([tmp_path / "shop.py"], AUDITED_ROWS, "the audit")
    plan = replace(PLAN, own=own)
    (tmp_path / "shop.py").unlink()
    pools = on_spark(spark), on_processes(1)
    there, here = (audit(plan, [str(tmp_path / "store")], pool, SavedAnswers(None), lambda done, all_: None, 50_000) for pool in pools)
    assert there.totals == here.totals
    assert here.totals[0].counts.keys() == {"SHOP-1", "SHOP-2"}
