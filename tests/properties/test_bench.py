"""The rows of the benchmarks: their keys, equal counts, and the report for a missing peer."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from rocketproof_lab.bench import audit_speed, disk_curve, disk_speed, liveness_speed, peers, scan_speed, search_speed, start_speed
from rocketproof_lab.bench.fabricate import StorePlan, fabricate
from rocketproof_lab.bench.measure import measure
from rocketproof_model import RocketproofError
from rocketproof_model.result import Limits
from rocketproof_properties import commands as cli

KEYS = {
    "tool", "version", "model", "scope", "threads", "distinct", "generated", "cpu_seconds", "wall_seconds", "compile_seconds",
    "bytes_per_state", "peak_rss_bytes", "distinct_per_cpu_second",
}  # fmt: skip


@pytest.mark.slow
def test_rows_have_their_keys_and_known_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The specification is measured in this process: an empty cache, which compiles everything, is sufficient."""
    monkeypatch.setenv("PATH", str(tmp_path))
    apart = search_speed._measured
    monkeypatch.setattr(search_speed, "_measured", lambda order, cache: apart(order, cache) if "file" in order else measure(order))
    told: list[str] = []
    rows = search_speed.run_search_bench(["small"], [1], True, repeats=1, specification_scopes=["tiny"], reach_seconds=0, tell=told.append)
    assert [(r["tool"], r["model"], r["scope"], r["threads"]) for r in rows] == [
        ("rocketproof", "routing", "small", 1),
        ("rocketproof", "specification", "tiny", 1),
    ]
    for row in rows:
        assert row.keys() >= KEYS
        assert row["cpu_seconds"] >= 0
        assert row["compile_seconds"] > 0
    assert (rows[0]["distinct"], rows[0]["generated"]) == (326684, 1506411)
    assert rows[0]["bytes_per_state"] <= 40
    for tool, program in (("spin", "spin"), ("stateright", "cargo"), ("tlc", "java")):
        assert any(f"{tool}: left out, {program} is not installed" in line for line in told), told
    text = search_speed.TABLE.text(rows).splitlines()
    assert len(text) == 4
    assert "326,684" in text[2]


@pytest.mark.skipif(not (shutil.which("spin") and shutil.which("gcc")), reason="SPIN is not installed")
def test_spin_counts_same_states() -> None:
    with peers.spin(search_speed.MODELS, (2, 2, 2, 2, 1), [1]) as (peer, folder):
        run = peer.run(1, folder)
    assert (run["distinct"], run["generated"]) == (326684, 1506411)
    assert peer.version[0].isdigit()
    assert run["cpu_seconds"] > 0


@pytest.mark.slow
def test_audit_benchmark_compares_with_zlib_on_slower_processor(tmp_path: Path) -> None:
    fabricate(tmp_path, StorePlan(1 << 20))
    found = audit_speed._alone(str(tmp_path))
    assert found["findings"] == 0 and found["cpu_seconds"] > 0 and found["of_zlib"] > 0


def test_tools_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """One peer fails in its second round and another runs only once. Figures are compared round by round."""
    order: list[str] = []
    spent = iter((1.0, 2.0, 4.0))

    def measured(order_: dict[str, object], cache: str) -> dict[str, object]:
        order.append("rocketproof")
        mine = {"cpu_seconds": next(spent), "compile_seconds": 0.5, "process_cpu_seconds": 4.0, "bytes_per_state": 8.0}
        return {**mine, "distinct": 7, "generated": 9, "wall_seconds": 1.0, "peak_rss_bytes": 1 << 20}

    class Scripted(peers.Peer):
        def run(self, threads: int, folder: Path) -> dict[str, object]:
            order.append(self.name)
            if order.count(self.name) == 2 and self.name == "odd":
                raise peers.PeerError("it broke")
            return {"distinct": 7, "generated": 9, "cpu_seconds": 12.0, "wall_seconds": 12.0, "peak_rss_bytes": 2 << 20}

    @contextmanager
    def prepared(name: str, repeat: bool) -> Iterator[tuple[peers.Peer, Path]]:
        yield Scripted(name, "1.0", ("", ""), compile_seconds=3.0, repeat=repeat), Path()

    monkeypatch.setattr(search_speed, "_measured", measured)
    known = {"even": True, "odd": True, "once": False}
    monkeypatch.setattr(search_speed, "PEERS", {name: lambda *_, n=name, r=repeat: prepared(n, r) for name, repeat in known.items()})
    told: list[str] = []
    rows = search_speed.run_search_bench(["four"], [1], True, specification_scopes=[], reach_seconds=0, tell=told.append)
    assert order == ["rocketproof", "even", "odd", "once", "odd", "even", "rocketproof", "rocketproof", "even"]
    assert [row["tool"] for row in rows] == ["rocketproof", "even", "odd", "once"] and "odd: left out, it broke" in told
    own, even, odd, once = rows
    assert (own["cpu_seconds"], own["of_ours"], own["cold_cpu_seconds"]) == (2.0, None, 4.0)
    assert (even["of_ours"], even["cold_cpu_seconds"], even["cold_of_ours"]) == (6.0, 15.0, 3.75)
    assert (odd["of_ours"], once["of_ours"]) == (12.0, 12.0)
    assert "of ours" in search_speed.TABLE.text(rows) and "  1.0  " in search_speed.TABLE.text(rows)
    assert cli.run(["bench", "search", "--scope", "nowhere"]) == 2


def test_different_counts_are_error() -> None:
    row = {"tool": "a", "model": "m", "scope": "s", "distinct": 3, "generated": 9}
    search_speed.disagreement([row, {**row, "tool": "b"}, {**row, "scope": "t", "distinct": 4}])
    with pytest.raises(RocketproofError, match="b counts 8 generated states of m s, a 9"):
        search_speed.disagreement([row, {**row, "tool": "b", "generated": 8}])


def test_failing_peer_is_reported(tmp_path: Path) -> None:
    false = shutil.which("false")
    if false is None:
        pytest.skip("no program that fails")
    with pytest.raises(peers.PeerError, match="ended with code 1"):
        peers.spend([false], tmp_path)
    made = peers.Peer("tool", "1", ("(a)", "(b)"), {1: [shutil.which("true") or "true"]})
    with pytest.raises(peers.PeerError, match="tool did not finish"):
        made.run(1, tmp_path)


def test_scan_is_measured_work_by_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabricate(tmp_path / "store", StorePlan(1 << 20))
    rows = scan_speed.measure(str(tmp_path / "store"), rounds=1)
    assert [tuple(row) for row in rows] == [scan_speed.TABLE.keys] * 7
    assert {row["records"] for row in rows} == {rows[0]["records"]} and rows[0]["records"] > 100
    assert rows[3]["of_zlib"] == 1 and all(row["bytes_per_cpu_second"] > 0 for row in rows)
    assert cli.run(["bench", "scan", str(tmp_path / "store"), "--json", str(tmp_path / "rows.json")]) == 0
    assert "scan without CRC" in capsys.readouterr().out and len(json.loads((tmp_path / "rows.json").read_text())) == 7


def test_disk_search_benchmark_compares_with_memory_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_speed, "WORKS", {name: disk_speed.WORKS[name] for name in ("in memory", "in files")})
    monkeypatch.setattr(disk_speed, "apart", lambda function, order, places: function(order))  # in this process
    rows = disk_speed.variants("routing, small", {"file": str(disk_speed.MODELS / "routing.py"), "scope": "small"}, 1, lambda line: None)
    assert [tuple(row) for row in rows] == [disk_speed.TABLE.keys] * 2 and {row["distinct"] for row in rows} == {326_684}
    memory, files = rows
    assert (memory["file_bytes"], memory["cpu_of_memory"]) == (0, None) and files["cpu_of_memory"] > 0
    assert files["memory_bytes"] < memory["memory_bytes"] / 2 and 0 < files["file_bytes_per_state"] < 8
    assert "in files" in disk_speed.TABLE.text(rows)


def test_long_disk_search_reports_its_curve(tmp_path: Path) -> None:
    measure = partial(disk_curve.measure, tmp_path / "kept", scope="small", sends=1)
    first = measure(limits=Limits(states=10_000))
    rows = measure(limits=Limits(memory=1, disk=1 << 30))
    assert rows[: len(first)] == first and [row["finished"] for row in rows] == [False] * (len(rows) - 1) + [True]
    assert (rows[-1]["distinct"], rows[-1]["levels"]) == (26_603, 37) and rows[-1]["file_bytes"] > 0
    assert rows[-1]["cpu_seconds"] >= rows[0]["cpu_seconds"] > 0 and "26,603" in disk_curve.TABLE.text(rows)
    assert cli.run(["bench", "curve", str(tmp_path), "--scope", "huge"]) == 2


@pytest.mark.slow
def test_fair_loop_benchmark_measures_with_and_without_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness_speed, "apart", lambda function, order, places: function(order))  # in this process
    rows = liveness_speed.measure(scopes=["small"], threads=2)
    assert [tuple(row) for row in rows] == [liveness_speed.TABLE.keys] * 2 and {row["distinct"] for row in rows} == {326_684}
    assert [(row["unfair"], row["verdict"]) for row in rows] == [("", "holds"), ("register", "violated")]
    assert [(row["steps"], row["loop"]) for row in rows] == [(None, None), (7, 7)]
    assert "violated" in liveness_speed.TABLE.text(rows)


@pytest.mark.slow
def test_startup_benchmark_measures_cold_and_warm_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_speed, "COMMANDS", {"version": ("--version",)})
    told: list[str] = []
    (found,) = start_speed.measure(runs=2, tell=told.append)
    assert tuple(found) == start_speed.TABLE.keys and (found["command"], found["runs"]) == ("version", 2) and len(told) == 1
    assert 0 < found["cpu_min"] <= found["cpu_median"] <= found["cpu_max"]
    assert found["cold_cpu_seconds"] > found["cpu_min"], "the first one compiles its bytecode"
    assert "version" in start_speed.TABLE.text([found]).splitlines()[2]
    monkeypatch.setattr(start_speed, "COMMANDS", {"wrong": ("no such command",)})
    with pytest.raises(peers.PeerError, match="ended with code 2"):
        start_speed.measure(runs=1)
