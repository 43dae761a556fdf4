"""The tasks that a request selects, and the errors for unknown names."""

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.commands.checks.plan import CheckRequest, expectation, plan
from rocketproof_properties.reports.choices import InputError


def chosen(request: CheckRequest) -> list[tuple[str, str, str]]:
    return [(t.property, t.engine, t.condition) for t in plan(request).tasks]


def test_the_catalogue_names_the_engines(catalogue: ModuleType) -> None:
    assert len(plan(CheckRequest()).tasks) == 9
    assert chosen(CheckRequest(properties=("D-2",))) == [("D-2", "explicit", ""), ("D-2", "symbolic", "")]


def test_filters(catalogue: ModuleType) -> None:
    assert chosen(CheckRequest(profiles=("P45",))) == [("D-7", "symbolic", "")]
    assert chosen(CheckRequest(properties=("D-1",), condition="broken")) == [("D-1", "explicit", "broken lock")]
    assert chosen(CheckRequest(properties=("D-1",), condition="")) == [("D-1", "explicit", "")]
    assert chosen(CheckRequest(properties=("d-1", "D-4"), engine="explicit")) == [
        ("D-1", "explicit", ""),
        ("D-1", "explicit", "broken lock"),
        ("D-4", "explicit", ""),
    ]


def test_all_engines_that_can_decide(catalogue: ModuleType) -> None:
    assert [e for _, e, _ in chosen(CheckRequest(properties=("D-3",), engine="all"))] == ["explicit", "symbolic", "simulate", "stateful"]
    assert [e for _, e, _ in chosen(CheckRequest(properties=("D-5",), engine="all"))] == ["symbolic"]


def test_spark_decides_everything_but_liveness(catalogue: ModuleType) -> None:
    tasks = plan(CheckRequest(engine="spark")).tasks
    assert {(t.property, t.expected) for t in tasks} == {
        ("D-1", "holds"), ("D-1", "violated"), ("D-2", "holds"), ("D-3", "holds"), ("D-4", "unknown"),
    }  # fmt: skip
    assert {t.engine for t in tasks} == {"spark"}


def test_equal_scopes_share_expected_verdicts() -> None:
    small, large = (plan(CheckRequest(scope=scope, engine="spark")).tasks for scope in ("store", "large"))
    assert {t.source.scope for t in large} == {"large"}
    assert [replace(t, source=replace(t.source, scope="store")) for t in large] == list(small)


def test_a_scope_replaces_the_catalogue_s(catalogue: ModuleType) -> None:
    assert {t.source.scope for t in plan(CheckRequest(scope="tiny")).tasks} == {"tiny"}


def test_engines_that_do_not_decide_are_named(catalogue: ModuleType) -> None:
    assert plan(CheckRequest(engine="symbolic")).left_out == ("symbolic does not decide D-4 (leads_to); use --engine explicit",)
    assert plan(CheckRequest(properties=("D-4",), engine="all")).left_out == (
        "symbolic, simulate and stateful do not decide D-4 (leads_to)",
    )
    with pytest.raises(InputError, match="explicit does not decide D-5 \\(lemma\\); use --engine symbolic"):
        plan(CheckRequest(properties=("D-5",), engine="explicit"))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (CheckRequest(properties=("D-11",)), "unknown property 'D-11'; use D-1"),
        (CheckRequest(profiles=("P94",)), f"unknown profile 'P94'; the nearest of {len(PROFILES)} are P494"),
        (CheckRequest(scope="smal"), "unknown scope 'smal'; use small, tiny, huge"),
        (CheckRequest(engine="explict"), "unknown engine 'explict'; use explicit"),
        (CheckRequest(condition="borken"), "unknown condition 'borken'"),
        (CheckRequest(properties=("D-7",), profiles=("P49",)), "no verdict on D-7 for P49; use --profile P45"),
    ],
)
def test_unknown_names(request_: CheckRequest, words: str, catalogue: ModuleType) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        plan(request_)


def test_options_that_a_model_file_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--profile P49 with a model file"):
        plan(CheckRequest(file="x.py", profiles=("P49",)))
    with pytest.raises(InputError, match="--condition with a model file"):
        plan(CheckRequest(file="x.py", condition="x"))


@pytest.mark.parametrize(
    ("kind", "engine", "method", "expected", "due"),
    [
        ("always", "explicit", "", "holds", "holds"),
        ("always", "symbolic", "bounded:8", "holds", "unknown"),
        ("always", "symbolic", "bounded:8", "violated", "violated"),
        ("always", "symbolic", "induction:1", "holds", "holds"),
        ("step", "simulate", "", "holds", "unknown"),
        ("step", "simulate", "", "violated", "violated"),
        ("reachable", "simulate", "", "holds", "holds"),
        ("reachable", "symbolic", "bounded:8", "violated", "unknown"),
    ],
)
def test_expected_verdict_of_a_refuting_engine(kind: str, engine: str, method: str, expected: str, due: str) -> None:
    assert expectation(kind, engine, method, expected) == due


def test_scope_decides_only_its_own_properties() -> None:
    from rocketproof_properties.catalogue.source import specified

    found = plan(CheckRequest(scope="tiny"))
    assert found.tasks
    assert {task.claim for task in found.tasks} <= {claim.id for claim in specified("tiny")}
    assert all(task.source.exists for task in found.tasks)
    assert found.left_out[-1].startswith("scope tiny does not state ")
    assert "INV-30 (topic with read 2, write 1)" in found.left_out[-1]
