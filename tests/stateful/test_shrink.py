"""The shrinker: the shrunk program still shows the failure, and no part of it can be removed or simplified."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis
from hypothesis import strategies as st

from rocketproof_properties.programs.shrink import shrink, simpler_steps, smaller_forms
from rocketproof_properties.programs.vocabulary import Step


@hypothesis.given(st.lists(st.integers(0, 9), max_size=40), st.sets(st.integers(0, 9), max_size=4))
def test_shrinking_leaves_only_needed_steps(parts: list[int], needed: set[int]) -> None:
    hypothesis.assume(needed <= set(parts))

    def shows(some: Sequence[int]) -> str | None:
        return "shown" if needed <= set(some) else None

    found, evidence = shrink(parts, "shown", shows)
    assert sorted(found) == sorted(needed) and evidence == "shown"


def test_parts_after_failure_are_not_tried_separately() -> None:
    tried: list[int] = []

    def shows(some: Sequence[int]) -> list[int] | None:
        tried.append(len(some))
        return list(some[: some.index(7) + 1]) if 7 in some else None

    found, _ = shrink(range(1000), list(range(8)), shows, needed=lambda used: used)
    assert found == [7] and max(tried) < 8


def test_arguments_and_properties_that_are_not_needed_are_left_out() -> None:
    steps: list[Step] = [("send", {"topic": "B", "queue": 3, "properties": {"WAIT": "true", "DELAY": "2"}}), ("time", {"millis": 5})]

    def shows(some: Sequence[Step]) -> bool | None:
        return any("DELAY" in (args.get("properties") or {}) for _, args in some) or None

    found, _ = shrink(steps, True, shows, simpler=simpler_steps)
    assert found == [("send", {"properties": {"DELAY": "2"}})]


def test_undecided_candidates_are_not_accepted() -> None:
    """Only the whole sequence and the one without its first part are decided: nothing else may be kept."""
    verdicts = {(1, 2, 3, 4): True, (2, 3, 4): True, (3, 4): None, (4,): None}

    def shows(some: Sequence[int]) -> bool | None:
        return verdicts.get(tuple(some))

    assert shrink([1, 2, 3, 4], True, shows) == ([2, 3, 4], True)


def test_forms_of_one_round_are_different_and_the_smallest_first() -> None:
    steps: list[Step] = [("send", {"queue": 1}), ("send", {"queue": 1}), ("delete", {"topic": "A"})]
    forms = list(smaller_forms(steps, simpler_steps))
    assert [len(form) for form in forms[:2]] == [1, 1] and len({repr(form) for form in forms}) == len(forms)
    assert (("send", {}), *steps[1:]) in forms and tuple(steps[:2]) in forms
    assert [*smaller_forms([("send", {})], simpler_steps)] == []
