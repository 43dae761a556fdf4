"""The command `audit`: its files and exit codes, and its messages about files that cannot be read or written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import rocketproof_model
import rocketproof_properties
import rocketproof_traces
from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_properties.catalogue.stored import stored_rules
from rocketproof_properties.commands import run
from rocketproof_properties.commands.audits import command, show
from rocketproof_traces.audit import run as engine
from rocketproof_traces.audit.findings import AuditFinding
from rocketproof_traces.audit.task import LogRange
from rocketproof_traces.common import pools

SOURCE_FOLDERS = [str(Path(str(p.__file__)).parents[1]) for p in (rocketproof_model, rocketproof_traces, rocketproof_properties)]
FILES = 4


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("audited") / "store"
    fabricate(root, StorePlan(350_000, topics=3, queues=2, bodies=(100, 300), file_size=100_000, queue_file_size=20_000))
    assert len(list((root / "commitlog").iterdir())) == FILES
    return root


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "store")
    return tmp_path / "store"


def local(*tokens: str | Path) -> int:
    return run(["audit", *map(str, tokens), "--engine", "local", "--cores", "1"])


def logs(store: Path) -> list[Path]:
    return sorted((store / "commitlog").iterdir())


def spoil(store: Path, number: int = 1) -> Path:
    """Make the reconsume times of a record negative."""
    path = logs(store)[number]
    with path.open("r+b") as file:
        file.seek(72)
        file.write(b"\xff" * 4)
    return path


def test_a_sound_store(sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found"
    assert local(sound, "--out", out, "--json", tmp_path / "found.json", "--report", f"run:{tmp_path / 'found.run'}") == 0
    results = json.loads((tmp_path / "found.run").read_text())["results"]
    assert [one["id"] for one in results if one["outcome"] == "ok"] == [rule.id for rule in stored_rules()]
    assert json.loads((tmp_path / "found.json").read_text()) == []
    assert pq.read_table(out / "findings.parquet").num_rows == 0
    summary = json.loads((out / "summary.json").read_text())
    assert {rule["count"] for rule in summary["rules"]} == {0}
    assert len(summary["rules"]) == len(stored_rules())
    assert sorted(path.name for path in out.iterdir()) == ["findings.parquet", "summary.json"]
    assert "none broken" in capsys.readouterr().out


def test_finding_has_the_same_content_in_all_formats(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = spoil(store), tmp_path / "found"
    assert local(store, "--out", out, "--json", tmp_path / "found.json") == 1
    rows = json.loads((tmp_path / "found.json").read_text())
    assert pq.read_table(out / "findings.parquet").to_pylist() == rows
    (found,) = map(AuditFinding.of, rows)
    assert (found.property, found.file, found.offset, found.found) == ("APP-08.reconsumeTimes", str(path), int(path.name), "-1")
    said = capsys.readouterr().out
    assert f"first in {path} at {int(path.name):,}" in said
    assert "APP-08.reconsumeTimes  warning, 1 time" in said


def test_several_stores(store: Path, sound: Path, tmp_path: Path) -> None:
    spoil(store)
    assert local(store, sound, sound, "--out", tmp_path / "found") == 1
    stores = json.loads((tmp_path / "found" / "summary.json").read_text())["stores"]
    assert [(each["store"], each["counts"]) for each in stores] == [(str(store), {"APP-08.reconsumeTimes": 1}), (str(sound), {})]


def test_one_property_of_many(store: Path) -> None:
    spoil(store)
    assert local(store, "--property", "inv-37") == 0
    assert local(store, "--property", "INV-37", "--property", "APP-08.reconsumeTimes") == 1


BAD: dict[str, tuple[Callable[[Path], Sequence[str | Path]], str]] = {
    "no store": (lambda p: [], "no store; give the folder that has commitlog in it"),
    "an empty name": (lambda p: [""], "'': is no folder; give a store's folder"),
    "a setting that no rule asks for": (lambda p: [p, "--set", "messageDelayLevel"], "such as maxMessageSize="),
    "no folder": (lambda p: [p / "nowhere"], "is no folder; give a store's folder"),
    "a file": (lambda p: [logs(p)[0]], "is no folder"),
    "no commit log": (lambda p: [p / "config"], "has no commit log"),
    "unknown profile": (lambda p: [p, "--profile", "P50"], "unknown profile 'P50'"),
    "unknown property": (lambda p: [p, "--property", "INV-99"], "no rule about stored data has this id"),
    "no limit": (lambda p: [p, "--limit", "0"], "--limit 0 is not a positive number"),
    "a master for this machine": (lambda p: [p, "--master", "local"], "leave out one of them"),
    "json below a file": (lambda p: [p, "--json", logs(p)[0] / "x.json"], "is a file and no folder"),
    "out is a file": (lambda p: [p, "--out", logs(p)[0]], "cannot be written"),
    "no such scheme": (lambda p: ["nothing://there"], "nothing://there"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line(name: str, sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokens, said = BAD[name]
    assert local(*tokens(sound)) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "a name beyond all offsets": (lambda p: (p / "commitlog" / ("9" * 20)).touch(), f"{'9' * 20}: is named by an offset beyond 8 bytes"),
    "a queue's": (lambda p: (next(p.glob("consumequeue/*/*")) / ("9" * 20)).touch(), f"{'9' * 20}: is named by an offset"),
    "a pipe": (lambda p: os.mkfifo(p / "commitlog" / f"{1 << 40:020d}"), "is no regular file"),
    "a folder": (lambda p: (p / "commitlog" / f"{1 << 40:020d}").mkdir(), "is no regular file; take it away"),
    "a table that is no JSON": (lambda p: (p / "config" / "topics.json").write_text("{"), "topics.json: is no JSON"),
    "a deep table": (
        lambda p: (p / "config" / "topics.json").write_text("[" * 200_000),
        "topics.json: is no JSON (its values are nested too deeply)",
    ),
    "a pipe as table": (lambda p: _pipe(p / "config" / "topics.json"), "topics.json: is no regular file"),
    "a number beyond 8 bytes": (lambda p: _huge(p / "config" / "topics.json"), "has an entry of another form"),
    "the same of a group": (
        lambda p: (p / "config" / "subscriptionGroup.json").write_text('{"subscriptionGroupTable": {"g": {"retryMaxTimes": 1e400}}}'),
        "subscriptionGroup.json: ",
    ),
}


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _huge(path: Path) -> None:
    path.write_text(path.read_text().replace('"perm": 6', f'"perm": {10**30}', 1))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")
@pytest.mark.parametrize("name", BROKEN)
def test_impossible_store_is_reported_in_one_line(name: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, said = BROKEN[name]
    change(store)
    assert local(store) == 2
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("folder", ["", "commitlog"])
def test_store_without_a_log_file_is_refused_without_output(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    assert local(tmp_path, "--out", tmp_path / "found") == 2
    assert "has no commit log" in capsys.readouterr().err
    assert not (tmp_path / "found").exists()


def test_files_without_a_byte(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / ("0" * 20)).touch()
    assert local(tmp_path, "--property", "INV-37") == 0


def test_a_log_without_queues_and_table(store: Path, tmp_path: Path) -> None:
    """Comparisons that need the missing files are skipped."""
    shutil.rmtree(store / "consumequeue")
    shutil.rmtree(store / "config")
    assert local(store, "--json", tmp_path / "found.json") == 1
    assert [row["property"] for row in json.loads((tmp_path / "found.json").read_text())] == ["INV-28.stored"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_reported(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs(store)[1].chmod(0)
    assert local(store) == 2
    assert "cannot be read (Permission denied)" in capsys.readouterr().err


def first(change: Callable[[Path], object], path: Path) -> pools.WorkerPool:
    """Return a worker pool that first changes a file."""

    def spread(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        change(path)
        return pools.on_processes(1)(function, items)

    return spread


@pytest.mark.parametrize("what", ["deleted", "cut"])
def test_file_lost_during_the_audit_is_reported(what: str, store: Path, tmp_path: Path) -> None:
    """The other files are audited, and nothing is concluded from the missing file."""
    path = logs(store)[1]
    change: Callable[[Path], object] = Path.unlink if what == "deleted" else lambda p: os.truncate(p, 1000)
    spoil(store, 3)
    plan = command.plan_of("P494", (), 100)
    audited = command.run((str(store),), plan, "P494", tmp_path / "found", first(change, path), lambda done, all_: None)
    assert audited.exit_code == 2
    assert [found.property for found in audited.findings] == ["APP-08.reconsumeTimes"]
    (problem,) = audited.problems
    assert problem.startswith(f"{path}: {'cannot be read' if what == 'deleted' else 'has become shorter'}")


def test_a_full_disk(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(self: engine.SavedAnswers, task: LogRange, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(engine.SavedAnswers, "add", full)
    assert local(store, "--out", tmp_path / "found") == 2
    assert "cannot be written (No space left on device); make room there" in capsys.readouterr().err


def test_stopped_audit_resumes(store: Path, tmp_path: Path) -> None:
    """Completed files are saved, reported, and not audited again. The final findings equal an uninterrupted audit's."""
    spoil(store, 0), spoil(store, 2)
    plan = command.plan_of("P494", (), 100)
    done: list[str] = []

    def stops(after: int) -> pools.WorkerPool:
        def spread(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
            for number, item in enumerate(items):
                if number == after:
                    raise KeyboardInterrupt
                done.append(item)
                yield function(item)

        return spread

    def go(spread: pools.WorkerPool, out: Path | None) -> command.Audited:
        return command.run((str(store),), plan, "P494", out, spread, lambda done, all_: None)

    out = tmp_path / "found"
    stopped = go(stops(2), out)
    assert stopped.exit_code == 1, "unread files do not hide a finding"
    assert [found.offset for found in stopped.findings] == [0]
    assert show.closing(stopped).endswith(" bytes, the same command goes on")
    assert show.closing(go(stops(0), None)).endswith(" bytes, with --out the same command would go on")
    assert pq.read_table(out / "findings.parquet").num_rows == 1
    with (out / command.KEPT).open("a") as file:
        file.write('{"plan": "cut')  # as a killed process leaves it
    whole = go(stops(100), out)
    assert len(done) == FILES
    assert whole.exit_code == 1
    assert whole.findings == go(pools.on_processes(1), None).findings
    assert not (out / command.KEPT).exists()


def test_saved_answers_for_another_file_are_not_used(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "found"
    out.mkdir()
    plan = command.plan_of("P494", (), 100)
    kept = engine.SavedAnswers(out / command.KEPT)

    def keeps(function: Callable[[str], str], items: Sequence[str]) -> Iterator[str]:
        yield function(items[0])
        raise KeyboardInterrupt

    engine.audit(plan, [str(store)], keeps, kept, lambda done, all_: None)
    assert (out / command.KEPT).exists()
    path = spoil(store, 0)
    os.utime(path, ns=(1, 1))
    assert local(store, "--out", out) == 1


@pytest.mark.slow
def test_ctrl_c_ends_with_3(tmp_path: Path) -> None:
    store = tmp_path / "store"
    fabricate(store, StorePlan(200_000_000, bodies=(64, 64), file_size=1_000_000))
    text = "from rocketproof_properties.commands import main; main()"
    child = subprocess.Popen(
        [sys.executable, "-c", text, "audit", str(store), "--engine", "local", "--cores", "1", "--out", str(tmp_path / "found")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(SOURCE_FOLDERS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    kept = tmp_path / "found" / command.KEPT
    while not kept.exists() and child.poll() is None:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate()
    assert child.returncode == 3, errors
    assert "stopped by Ctrl-C" in output
    assert "Traceback" not in errors
    assert pq.read_table(tmp_path / "found" / "findings.parquet").num_rows == 0
