"""`check --engine spark`: its rows equal the explicit engine's. The driver alone decides such small models, so no Spark is needed here."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocketproof_model import RocketproofError
from rocketproof_properties.commands.checks import decide
from rocketproof_traces.spark.cluster import SparkCluster

Run = Callable[..., Any]

LIFT = """
from rocketproof_model import Int, Model

EXPECTED = {"low": "violated", "ends": "violated"}


def model():
    m = Model("lift")
    floor = m.var("floor", Int(0, 5), init=0)
    going = m.var("going", Int(0, 1), init=1)

    @m.action(fair="weak")
    def rise(a):
        'It goes up.'
        a.guard("room", (floor < 5) & (going == 1), "there is a floor above")
        a.set(floor, floor + 1)

    @m.action()
    def halt(a):
        'It stops.'
        a.guard("high", (floor > 2) & (going == 1), "it moves above the second floor")
        a.set(going, 0)

    m.always("low", floor < 4, "it stays below the fourth floor")
    m.reachable("top", floor == 5, "it can reach the top")
    m.deadlock_free("ends", "it goes on")
    m.leads_to("arrives", going == 1, floor == 5, "it arrives")
    return m
"""


@pytest.fixture
def _no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkCluster, "session", lambda self: None)


def rows(path: str) -> dict[str, dict[str, Any]]:
    return {row["property"]: row for row in json.loads(Path(path).read_text())}


@pytest.mark.usefixtures("_no_session")
def test_rows_equal_those_of_the_explicit_engine(rocketproof: Run) -> None:
    Path("lift.py").write_text(LIFT)
    done = rocketproof("check", "lift.py", "--engine", "spark", "--scratch", ".", "--json", "spark.json", "--witnesses", "spark")
    assert done.code == 0, done.out + done.err
    assert rocketproof("check", "lift.py", "--json", "explicit.json").code == 1  # an endless stop: `arrives` is violated there
    spark, explicit = rows("spark.json"), rows("explicit.json")
    for name in ("low", "top", "ends"):
        for key in ("verdict", "states", "transitions", "depth"):
            assert spark[name][key] == explicit[name][key], name
        shown = [Path(found[name]["witness"]).read_text() for found in (spark, explicit)]
        assert shown[0] == shown[1]
    assert (spark["arrives"]["verdict"], spark["arrives"]["expected"]) == ("unknown", "unknown")
    assert spark["arrives"]["reason"] == decide.LOCAL and spark["arrives"]["states"] is None
    assert {row["engine"] for row in spark.values()} == {"spark"}


OBSERVED = """
    m.within("soon", floor == 3, floor == 5, "it is up in two steps", steps=2)
    m.until("below", floor < 5, floor == 5, "it is below until it is up")
    m.until("low until up", floor < 4, floor == 5, "it stays low until it is up")
    m.until("under", floor < 5, floor == 5, "it is under the top until it is up", weak=True)
    m.eventually_always("rests", floor == 5, "it stays up")
    return m
"""


@pytest.mark.usefixtures("_no_session")
def test_observed_properties_are_decided_except_for_fair_loops(rocketproof: Run) -> None:
    Path("lift.py").write_text(LIFT.replace("    return m\n", OBSERVED))
    names = {"soon": "violated", "low until up": "violated", "under": "holds", "below": "unknown", "rests": "unknown"}
    asked = [word for name in names for word in ("--property", name)]
    rocketproof("check", "lift.py", *asked, "--engine", "spark", "--json", "spark.json", "--witnesses", "spark")
    rocketproof("check", "lift.py", *asked, "--json", "explicit.json")
    spark, explicit = rows("spark.json"), rows("explicit.json")
    assert {name: spark[name]["verdict"] for name in names} == names
    for name, verdict in names.items():
        if verdict == "unknown":
            assert spark[name]["reason"] == decide.LOCAL and explicit[name]["verdict"] == "violated"
        else:
            for key in ("verdict", "states", "transitions", "depth"):
                assert spark[name][key] == explicit[name][key], (name, key)
            shown = [Path(found[name]["witness"]).read_text() for found in (spark, explicit) if found[name]["witness"]]
            assert len(set(shown)) == (verdict == "violated")


@pytest.mark.usefixtures("_no_session")
def test_liveness_alone_starts_no_search(rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketproof_traces.spark import search

    monkeypatch.setattr(search, "explore", None)
    Path("lift.py").write_text(LIFT)
    done = rocketproof("check", "lift.py", "--engine", "spark", "--property", "arrives")
    assert done.code == 0 and "--engine explicit" in " ".join(done.out.split())


@pytest.mark.usefixtures("_no_session")
def test_limits_and_an_invalid_folder(rocketproof: Run) -> None:
    Path("lift.py").write_text(LIFT)
    assert rocketproof("check", "lift.py", "--engine", "spark", "--time", "1e-9").code == 3
    done = rocketproof("check", "lift.py", "--engine", "spark", "--scratch", "nowhere")
    assert done.code == 2 and done.err.splitlines()[-1].startswith("rocketproof: nowhere: cannot hold the states")


def test_no_spark_is_one_line(rocketproof: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: SparkCluster) -> None:
        raise RocketproofError("Spark: needs Java 17 or newer and there is none; get one")

    monkeypatch.setattr(SparkCluster, "session", refuse)
    Path("lift.py").write_text(LIFT)
    done = rocketproof("check", "lift.py", "--engine", "spark")
    assert (done.code, done.out) == (2, "") and done.err.splitlines()[-1].startswith("rocketproof: Spark: needs Java")
