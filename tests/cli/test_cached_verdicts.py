"""Verdicts of an earlier run are reused, with all their files, while nothing that they depend on has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from counting import counting

from rocketproof_properties.commands.checks import verdictcache

Run = Callable[..., Any]
MODEL = counting(
    'm.always("below two", n < 2, "the counter stays below two")',
    'm.always("in range", n <= N, "the counter stays in its range")',
    'm.eventually("fills", n == N, "the counter gets full")',
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, which commands use."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ROCKETPROOF_CACHE", str(folder))
    monkeypatch.delenv("ROCKETPROOF_FRESH")
    return folder


@pytest.fixture
def rocketproof(rocketproof: Run) -> Run:
    """Run commands in a folder with the model `m.py`."""
    Path("m.py").write_text(MODEL)
    return rocketproof


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the engines that run after the list was cleared."""
    asked: list[str] = []
    decide = verdictcache.decide

    def noted(unit: Any, *rest: Any) -> Any:
        asked.append(f"{unit.engine} {len(unit.tasks)}")
        return decide(unit, *rest)

    monkeypatch.setattr(verdictcache, "decide", noted)
    return asked


def rows(path: str = "out.json") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(path).read_text())
    return found


def files(folder: str) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in Path(folder).rglob("*") if path.is_file()}


def test_second_run_decides_nothing_and_prints_the_same(catalogue: ModuleType, rocketproof: Run, decided: list[str]) -> None:
    first = rocketproof("check", "--all", "--json", "first.json", "--witnesses", "one", "--certificates", "proofs")
    asked = decided.copy()
    decided.clear()
    second = rocketproof("check", "--all", "--json", "second.json", "--witnesses", "two", "--certificates", "again")
    assert asked and not decided
    assert (first.code, second.code) == (0, 0)
    assert [row["cached"] for row in rows("first.json")] == [False] * 9
    assert [row["cached"] for row in rows("second.json")] == [True] * 9
    own = {"cached": None, "witness": None, "trace": None, "certificate": None}
    assert [row | own for row in rows("first.json")] == [row | own for row in rows("second.json")]
    assert files("one") == files("two") and len(files("one")) == 3
    assert files("proofs") == files("again") and files("proofs")
    assert "9 verdicts, all as expected, 9 cached, " in second.out and "cached" not in first.out
    assert "8 states, cached" in second.out
    coverage = [done.out[done.out.index("Coverage") : done.out.index("verdicts, all")] for done in (first, second)]
    assert coverage[0] == coverage[1] and "blast never happened" in coverage[1]


def test_reports_of_cached_verdicts_are_complete(rocketproof: Run) -> None:
    first = rocketproof("check", "m.py", "--report", "run:first.json", "--html", "one")
    second = rocketproof("check", "m.py", "--report", "run:second.json", "--html", "two")
    assert first.code == second.code == 0
    assert files("one").keys() == files("two").keys()
    told = [json.loads(Path(name).read_text())["results"] for name in ("first.json", "second.json")]
    for one, two in zip(*told, strict=True):
        assert two["properties"].pop("cached") == "True"
        assert "cached: an earlier run" in two["details"] and "cached" not in one["details"]
        two["details"] = one["details"]
        assert one == two


def test_fresh_decides_again_and_replaces_cached_verdicts(rocketproof: Run, decided: list[str]) -> None:
    rocketproof("check", "m.py")
    decided.clear()
    assert rocketproof("check", "m.py", "--fresh", "--json", "out.json").code == 0
    assert decided == ["explicit 3"] and not any(row["cached"] for row in rows())
    rocketproof("check", "m.py", "--json", "out.json")
    assert all(row["cached"] for row in rows())


@pytest.mark.parametrize(
    ("old", "new"),
    [("n < N, ", "n <= N - 1, "), ("n <= N, ", "n < N + 1, "), ("init=0", "init=1"), ('"N": 3', '"N": 4'), ("gets full", "fills up")],
    ids=["guard", "claim", "start", "size", "sentence"],
)
def test_changed_inputs_are_decided_again(rocketproof: Run, decided: list[str], old: str, new: str) -> None:
    rocketproof("check", "m.py")
    Path("m.py").write_text(MODEL.replace(old, new))
    decided.clear()
    rocketproof("check", "m.py", "--json", "out.json")
    assert decided == ["explicit 3"] and not any(row["cached"] for row in rows())
    Path("m.py").write_text("\n\n# moved\n" + MODEL)
    rocketproof("check", "m.py", "--json", "out.json")
    assert len(decided) == 1 and all(row["cached"] for row in rows()), "lines do not matter, and both states stay"


def test_a_changed_claim_leaves_other_proofs_in_the_cache(rocketproof: Run, decided: list[str]) -> None:
    rocketproof("check", "m.py", "--engine", "symbolic")
    decided.clear()
    Path("m.py").write_text(MODEL.replace("n <= N, ", "n < N + 1, "))
    rocketproof("check", "m.py", "--engine", "symbolic", "--json", "out.json")
    assert decided == ["symbolic 1"]
    assert [(row["property"], row["cached"]) for row in rows()] == [("below two", True), ("in range", False)]


def test_engine_options_are_part_of_the_cache_key(rocketproof: Run, decided: list[str]) -> None:
    for options in (["--engine", "simulate"], ["--engine", "simulate", "--seed", "1"], ["--proof", "spacer"], ["--no-symmetry"], []):
        decided.clear()
        rocketproof("check", "m.py", *options)
        assert decided, options
        decided.clear()
        rocketproof("check", "m.py", *options)
        assert not decided, options


def test_limits_do_not_matter_to_complete_verdicts(rocketproof: Run, decided: list[str]) -> None:
    rocketproof("check", "m.py", "--workers", "2", "--memory", "500")
    decided.clear()
    rocketproof("check", "m.py", "--workers", "1", "--time", "60", "--checkpoint", "c", "--json", "out.json")
    assert not decided and all(row["cached"] for row in rows())


def test_verdicts_cut_short_by_a_limit_are_not_cached(rocketproof: Run, cache: Path) -> None:
    assert rocketproof("check", "m.py", "--time", "0.000001", "--json", "out.json").code == 3
    assert not list(cache.glob("verdicts-*/*"))


def test_partial_search_with_a_violation_is_not_cached(rocketproof: Run, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketproof_model import search
    from rocketproof_model.result import Limits

    explore = search.explore

    def cut(*args: Any, **options: Any) -> Any:
        return explore(*args, **options | {"limits": Limits(states=3)})

    monkeypatch.setattr(search, "explore", cut)
    rocketproof("check", "m.py", "--property", "below two", "--json", "out.json")
    assert [row["verdict"] for row in rows()] == ["violated"] and not list(cache.glob("verdicts-*/*"))


@pytest.mark.parametrize("change", ["cut off", "a flipped bit", "another entry's", "others may write", "of other code"])
def test_untrusted_cache_file_is_ignored(
    rocketproof: Run, cache: Path, decided: list[str], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    rocketproof("check", "m.py")
    (file,) = cache.glob("verdicts-*/*.json")
    whole = bytearray(file.read_bytes())
    if change == "cut off":
        file.write_bytes(whole[:-20])
    elif change == "a flipped bit":
        whole[-20] ^= 4
        file.write_bytes(whole)
    elif change == "another entry's":
        rocketproof("check", "m.py", "--scope", "large")
        (other,) = set(cache.glob("verdicts-*/*.json")) - {file}
        file.write_bytes(other.read_bytes())
    elif change == "others may write":
        file.chmod(0o666)
    else:
        monkeypatch.setattr(verdictcache, "engine_code", lambda: "0" * 64)
    decided.clear()
    assert rocketproof("check", "m.py", "--json", "out.json").code == 0
    assert decided == ["explicit 3"] and not any(row["cached"] for row in rows())


def test_without_a_cache_every_verdict_is_decided(rocketproof: Run, cache: Path, decided: list[str]) -> None:
    cache.write_text("a file in the place of the folder")
    for _ in range(2):
        assert rocketproof("check", "m.py").code == 0
    assert decided == ["explicit 3"] * 2


def test_expected_verdict_is_not_cached(rocketproof: Run, decided: list[str]) -> None:
    assert rocketproof("check", "m.py").code == 0
    decided.clear()
    Path("m.py").write_text(MODEL.replace('"violated"', '"holds"'))
    done = rocketproof("check", "m.py")
    assert done.code == 1 and not decided and "1 not as expected" in done.out


def test_old_files_are_removed(rocketproof: Run, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdictcache, "MOST", 3)
    for size in range(2, 7):
        rocketproof("check", "m.py", "--set", f"N={size}")
        for age, file in enumerate(sorted(cache.glob("verdicts-*/*"), key=lambda path: -path.stat().st_mtime)):
            os.utime(file, (1000 - age, 1000 - age))
    assert len(list(cache.glob("verdicts-*/*"))) == 3
