"""The tutorial's model has the published state counts of the protocol."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from proportion import few
from rocketproof_model import interpreter, search

EXAMPLE = Path(__file__).resolve().parents[2] / "model" / "examples" / "two_phase_commit.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("rms", "states"), few([(3, 288), (5, 8832)], 1))
def test_the_interpreter_reaches_the_published_states(example: ModuleType, rms: int, states: int) -> None:
    instance = example.model(rms).given()
    seen = {interpreter.initial(instance)}
    frontier = list(seen)
    while frontier:
        fresh = {step.state for state in frontier for step in interpreter.successors(instance, state)} - seen
        seen |= fresh
        frontier = list(fresh)
    assert len(seen) == states


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "states"), [("three", 288), ("five", 8832), ("seven", 296_448)])
def test_the_search_reaches_the_published_states(example: ModuleType, scope: str, states: int) -> None:
    instance = example.model(**example.SCOPES[scope]).given()
    exploration = search.explore(instance, workers=2)
    assert (exploration.finished, exploration.states) == (True, states)
