"""The search on real workers counts and finds what the local search does, also when a worker is killed in the middle."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from one_process import summary

import routing
from rocketproof_model import Instance
from rocketproof_model import search as local
from rocketproof_properties.catalogue.table import properties
from rocketproof_spec import build, constants, part
from rocketproof_traces.common.errors import TraceError
from rocketproof_traces.spark import jobs, search, shares

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def specified(scope: str) -> Instance:
    of = part(scope)
    return of.model.given(**constants("P49", type(of)))


def test_every_level_on_workers(spark: "SparkSession", tmp_path: Path) -> None:
    instance = specified("answers")
    claims = properties(part("answers"))
    result = search.explore(spark, instance, claims, scratch=tmp_path, alone=0)
    assert summary(result) == summary(local.explore(instance, claims))
    assert result.states == 6860 and all(level.tasks for level in result.levels)
    assert any(outcome.witness for outcome in result.outcomes)
    assert not list(tmp_path.iterdir())


def test_worker_killed_in_middle_costs_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    mark = tmp_path / "killed"

    def perform(work: Any) -> Any:
        done = shares.perform(work)
        if isinstance(work, shares.ShardTask) and work.level == 5:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return done
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    instance = specified("answers")
    result = search.explore(spark, instance, scratch=tmp_path, alone=500, perform=perform)
    assert mark.exists()
    assert summary(result) == summary(local.explore(instance))


def test_folder_that_only_driver_has_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    def perform(work: Any) -> Any:
        raise AssertionError("no task may start")

    workers = jobs.Workers(spark, perform)
    with pytest.raises(TraceError, match=r"is not reached by the worker on .*No such file or directory.*--scratch"):
        workers.prepare(tmp_path / "elsewhere", lambda: None)


def test_more_than_million_states(spark: "SparkSession", tmp_path: Path) -> None:
    """The store's scope: the driver expands small levels, workers large ones."""
    instance = specified("store")
    claims = properties(part("store"))
    result = search.explore(spark, instance, claims, scratch=tmp_path, alone=200_000)
    assert result.states > 1_000_000 and {bool(level.tasks) for level in result.levels} == {False, True}
    assert summary(result) == summary(local.explore(instance, claims))


def test_more_than_two_million_states(spark: "SparkSession", tmp_path: Path) -> None:
    """The routing model with three brokers; three other checkers gave its counts."""
    instance = routing.model(**routing.SCOPES["three"]).given()
    result = search.explore(spark, instance, scratch=tmp_path, alone=100_000)
    assert (result.states, result.transitions, result.depth) == (2_836_801, 13_660_153, 18)
    assert summary(result) == summary(local.explore(instance, workers=2))


def test_large_scope(spark: "SparkSession", tmp_path: Path) -> None:
    instance = build("large").model.given(**constants("P49"))
    claims = properties(part("large"))
    result = search.explore(spark, instance, claims, scratch=tmp_path)
    assert result.states > 2_000_000 and any(level.tasks for level in result.levels)
    assert summary(result) == summary(local.explore(instance, claims, workers=2))
