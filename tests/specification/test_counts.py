"""State counts of the specification are golden numbers; kernel, interpreter and z3 agree on its small scopes."""

from dataclasses import replace
from typing import Any

import pytest

from rocketproof_model import Instance, Int, interpreter, search, symbolic
from rocketproof_model.specification import SCOPES, Scope, build, constants, specify
from rocketproof_properties import catalogue

OFF = {"auto_create": False, "template_in_file": True}
GOLDEN = {
    # (scope, profile, given): distinct states, transitions with the initial state, levels
    ("tiny", "P49", ""): (30, 41, 18),
    ("small", "P49", ""): (331124, 1312231, 46),
    ("small", "P49", "sends=0"): (147969, 599731, 45),
    ("creation", "P49", ""): (688311, 1889931, 20),
    ("creation", "P49", "auto_create=False,template_in_file=True"): (483029, 1284499, 25),
    ("restart", "P49", ""): (51842, 152177, 30),
}


def explore(instance: Instance, **options: Any) -> search.Exploration:
    return search.explore(instance, [], **options)


@pytest.mark.parametrize(("key", "expected"), GOLDEN.items(), ids=["-".join(k) for k in GOLDEN])
def test_golden_counts(key: tuple[str, str, str], expected: tuple[int, int, int]) -> None:
    scope, profile, given = key
    found = explore(build(scope).model.given(**constants(profile, **eval(f"dict({given})"))))
    assert (found.states, found.transitions, found.depth) == expected


def reachable(instance: Instance, limit: int = 20_000) -> tuple[int, int, int]:
    """Breadth-first search on the interpreter: the second opinion."""
    first = interpreter.initial(instance)
    seen, level, generated, depth = {first}, [first], 1, 0
    while level:
        fresh = []
        for state in level:
            for step in interpreter.successors(instance, state):
                generated += 1
                if step.state not in seen:
                    seen.add(step.state)
                    fresh.append(step.state)
        assert len(seen) <= limit, "the scope is not small"
        level, depth = fresh, depth + 1
    return len(seen), generated, depth


SMALL: dict[str, tuple[Scope, dict[str, Any]]] = {
    "tiny": (SCOPES["tiny"], {}),
    "tiny-off": (SCOPES["tiny"], OFF),
    "tiny-P40": (SCOPES["tiny"], {"check_names": False, "signed_random": True}),
    "two brokers": (
        replace(SCOPES["small"], producers=1, queues=1, counts=Int(0, 1), numbers=Int(0, 1), queue_ids=Int(-1, 0)),
        {"sends": 1},
    ),
    "two brokers, off": (SCOPES["small"], {**OFF, "sends": 0}),
    "lost": (replace(SCOPES["small"], producers=1), {"loss_budget": 1, "retries": 1, "sends": 1, "template_write": 1}),
    "round robin": (
        replace(SCOPES["skew"], queues=2, counts=Int(0, 2), numbers=Int(0, 2), queue_ids=Int(-1, 1), sends=3),
        {"round_robin": True, "burst": 1, "sends": 2},
    ),
    "one client": (replace(SCOPES["creation"], producers=1), {}),
    "restart": (replace(SCOPES["restart"], producers=1), {}),
    "names": (
        replace(
            SCOPES["names"],
            topics=("template", "retry", "long"),
            queues=1,
            counts=Int(0, 1),
            numbers=Int(1, 1),
            queue_ids=Int(-1, 0),
            draws=Int(0, 0),
            updates=False,
        ),
        {**OFF, "sends": 1},
    ),
    "store": (replace(SCOPES["store"], sizes=Int(1, 3), queue_ids=Int(0, 0)), {"existing": True, "sends": 1}),
}


@pytest.fixture(params=SMALL, ids=list(SMALL))
def small(request: pytest.FixtureRequest) -> tuple[Instance, Any]:
    scope, given = SMALL[request.param]
    specification = specify(scope)
    return specification.model.given(**constants("P49", **given)), specification


@pytest.mark.parametrize("workers", [1, 2])
def test_kernel_and_interpreter_agree(small: tuple[Instance, Any], workers: int) -> None:
    instance, _ = small
    found = explore(instance, workers=workers)
    assert (found.states, found.transitions, found.depth) == reachable(instance)


def test_bounded_checking_agrees_with_search(small: tuple[Instance, Any]) -> None:
    instance, specification = small
    depth = 4
    claims = [c for c in catalogue.properties(specification) if c.kind in ("always", "step", "reachable", "deadlock_free")]
    searched = {o.property.id: o for o in search.explore(instance, claims).outcomes}
    for outcome in symbolic.bounded(instance, claims, depth=depth):
        other = searched[outcome.property.id]
        near = other.witness is not None and len(other.witness) <= depth
        decided = {"reachable": "holds"}.get(outcome.property.kind, "violated")
        assert outcome.verdict == (decided if near else "unknown"), f"{outcome.property.id}: {outcome.verdict} and {other.verdict}"
        if near:
            assert outcome.witness is not None and other.witness is not None
            assert len(outcome.witness) == len(other.witness), outcome.property.id
