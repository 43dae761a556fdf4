"""The benchmark of the simulated cluster: its rows, the work that each workload performs, and the process whose time counts."""

from __future__ import annotations

import cProfile
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nonempty import nonempty
from rocketproof_lab.bench import speed
from rocketproof_lab.bench.shares import part_of, shares
from rocketproof_properties import commands as cli

KEYS = {
    "work", "unit", "size", "rounds", "cpu_min", "cpu_median", "cpu_max", "wall_min", "wall_median", "wall_max",
    "target", "limit", "of_limit", "parts",
}  # fmt: skip
SMALL = {"hand-over": 3, "packing": 3, "unpacking": 3, "send": 3, "first send": 3, "batches of 10": 20, "append": 3, "dispatch": 3}


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> dict[str, speed.Workload]:
    """Return tiny workloads, without the stateful engine's, which takes seconds to build."""
    monkeypatch.setattr(speed, "programs", lambda: speed.sends)
    known = speed.kinds()
    return {name: replace(known[name], size=size) for name, size in SMALL.items()}


def test_rows_have_their_keys_in_ordered_rates(works: dict[str, speed.Workload]) -> None:
    rows = speed.measure(seconds=0.001, rounds=2, works=works)
    assert [(r["work"], r["unit"], r["size"]) for r in rows] == [
        ("hand-over", "hand-overs", 3),
        ("packing", "records", 3),
        ("unpacking", "records", 3),
        ("send", "sends", 3),
        ("first send", "first sends", 3),
        ("batches of 10", "messages", 20),
        ("append", "appends", 3),
        ("dispatch", "records", 3),
    ]
    for row in rows:
        assert row.keys() == KEYS
        assert row["rounds"] == 2
        assert 0 < row["cpu_min"] <= row["cpu_median"] <= row["cpu_max"]
        assert 0 < row["wall_min"] <= row["wall_median"] <= row["wall_max"]
        assert (row["of_limit"] is None) == (row["limit"] is None)
        assert sum(row["parts"].values()) == pytest.approx(1)
    assert {r["work"]: r["target"] for r in rows if r["target"]} == {"send": 8000, "append": 30_000}
    assert {"producer", "wire and headers", "broker", "store", "simulator"} <= rows[3]["parts"].keys()
    assert rows[6]["parts"].keys() <= {"store", "simulator", "rest"}
    assert json.loads(json.dumps(rows)) == rows
    text = speed.text(rows).splitlines()
    assert len(text) == 2 + 8 + 2 + 8
    assert "30,000" in text[8]


def test_each_workload_does_what_it_counts(works: dict[str, speed.Workload]) -> None:
    for name, kind in nonempty(works.items()):
        (count,) = kind.prepare(kind.size, 1)().values()
        assert count == kind.size, name


def test_stateful_engine_s_programs_and_steps_are_counted() -> None:
    done = speed.programs()(1, 7)()
    assert done["programs"] >= 1
    assert done["steps"] >= 1


def test_command_writes_its_rows(works: dict[str, speed.Workload], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(speed, "kinds", lambda: {"send": replace(works["send"], limit=None)})
    file = tmp_path / "rows.json"
    assert cli.run(["bench", "simulate", "--seconds", "0.001", "--json", str(file)]) == 0
    (row,) = json.loads(file.read_text())
    assert row.keys() == KEYS
    assert (row["work"], row["rounds"]) == ("send", 3)


def test_time_outside_of_all_parts_is_its_callers(works: dict[str, speed.Workload]) -> None:
    profiler = cProfile.Profile(time.process_time)  # other processes of the machine do not count
    profiler.runcall(works["append"].prepare(200, 0))
    found = shares(profiler)
    assert sum(found.values()) == pytest.approx(1)
    assert found["store"] > 0.3
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/a/impl/rocketproof_impl/store/record.py", "store"),
        ("C:\\a\\rocketproof_impl\\tasks.py", "simulator"),
        ("/a/rocketproof_impl/java.py", None),
        ("~", None),
    ],
)
def test_file_belongs_to_part(path: str, part: str | None) -> None:
    assert part_of(path) == part


def test_ctrl_c_keeps_measured_results(works: dict[str, speed.Workload]) -> None:
    def stops(size: int, number: int) -> speed.Ready:
        if number == 2:
            raise KeyboardInterrupt
        return speed.appends(size, number)

    rows: list[dict[str, object]] = []
    with pytest.raises(KeyboardInterrupt):
        speed.measure(seconds=0.001, works={"packing": works["packing"], "append": replace(works["append"], prepare=stops)}, into=rows)
    assert [(r["work"], r["rounds"], r["parts"]) for r in rows] == [("packing", 2, {}), ("append", 1, {})]
    assert rows[1]["of_limit"] is not None
